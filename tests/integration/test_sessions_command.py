"""What was said in runs, as a person looks for it, and as a run does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli
from tests.sessions_rig import Talk, overwrite_page

JOB = "---\nschedule: every day 9am\ntimezone: UTC\ntools: [{tools}]\n---\n{prompt}\n"


@pytest.fixture
def thirty(home: Home) -> list[str]:
    talk = Talk(home)
    runs = [talk.run(f"walrus number {number}", cause="manual") for number in range(30)]
    talk.app.close()
    return runs


def env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}


def test_a_run_is_found_by_what_it_said(home: Home, run_cli: RunCli) -> None:
    (home.jobs / "j.md").write_text(JOB.format(tools="now", prompt="look at the 海象"))
    with StubServer([{"text": "It sleeps, can't wake it."}]) as stub:
        run = json.loads(run_cli("run", "j", "--json", env=env(stub)).out)["run_id"]
    told = json.loads(run_cli("sessions", "search", "can't", "wake", "--json").out)
    assert [(hit["run_id"], hit["role"], hit["job"]) for hit in told["hits"]] == [(run, "assistant", "j")]
    shown = run_cli("sessions", "search", "海象")
    assert run in shown.out
    assert "assistant: It sleeps" in shown.out
    assert "[1] user" in run_cli("sessions", "show", run).out
    assert (
        run_cli("sessions", "search", "海象", "-wake", "--job", "j", "--state", "ok", "--since", "1h").out == shown.out
    )
    assert run_cli("sessions", "search", "sleeps", "-wake").out == "No message says that.\n"


def test_ten_are_shown_or_as_many_as_asked_for(run_cli: RunCli, thirty: list[str]) -> None:
    told = json.loads(run_cli("sessions", "search", "walrus", "--json").out)
    assert (len(told["hits"]), told["count"], told["newest_only"]) == (10, 30, False)
    assert [hit["rank"] for hit in told["hits"]] == list(range(1, 11))
    assert run_cli("sessions", "search", "walrus").out.startswith("30 messages\n\n1. run ")
    newest = json.loads(run_cli("sessions", "search", "walrus", "--limit", "12", "--sort", "newest", "--json").out)
    assert [hit["run_id"] for hit in newest["hits"]] == thirty[:-13:-1]


@pytest.mark.parametrize("typed", ['"', "-", "*", "OR", "NEAR(", "a:b ^c {d}", "--", "'; DROP TABLE runs", "\\", "🚀"])
def test_nothing_that_is_typed_is_an_error(run_cli: RunCli, thirty: list[str], typed: str) -> None:
    done = run_cli("sessions", "search", "--", typed)
    assert (done.rc, done.err) == (0, "")


def test_a_run_is_taken_elsewhere_line_by_line(home: Home, run_cli: RunCli, thirty: list[str], tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    told = json.loads(run_cli("sessions", "export", thirty[0], str(file), "--json").out)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert told == {"file": str(file), "lines": 2}
    assert [(row["seq"], row["role"], row["run_id"]) for row in rows] == [
        (0, "header", thirty[0]),
        (1, "user", thirty[0]),
    ]
    assert rows[1]["message"] == {"role": "user", "content": "walrus number 0"}
    assert run_cli("sessions", "export", thirty[0]).out == file.read_text(encoding="utf-8")
    again = run_cli("sessions", "export", thirty[0], str(file))
    assert again.rc != 0
    assert "already exists" in again.err


def test_a_damaged_index_is_told_with_the_command_that_mends_it(home: Home, run_cli: RunCli, thirty: list[str]) -> None:
    talk = Talk(home)
    assert talk.count("walrus") == 30
    talk.app.close()
    overwrite_page(home.store)
    done = run_cli("sessions", "search", "walrus")
    assert done.rc != 0
    assert "hermes-cron sessions reindex" in done.err
    assert run_cli("sessions", "reindex", "--check").rc == 1
    assert "made anew" in run_cli("sessions", "reindex").out
    assert run_cli("sessions", "reindex", "--check").rc == 0
    assert run_cli("sessions", "search", "walrus").out.startswith("30 messages")


def test_an_agent_finds_what_an_earlier_run_said_and_reads_around_it(
    home: Home, run_cli: RunCli, thirty: list[str]
) -> None:
    (home.jobs / "j.md").write_text(JOB.format(tools="session_search", prompt="what was it?"))
    (home.jobs / "plain.md").write_text(JOB.format(tools="now", prompt="what was it?"))
    talk = Talk(home)
    anchor = f"{talk.find('walrus 7').hits[0].within.session}:1"
    talk.app.close()

    def asks(**arguments: object) -> dict[str, object]:
        return {"tool_calls": [{"name": "session_search", "arguments": arguments}]}

    script = [asks(query="walrus 7"), asks(anchor=anchor), asks(anchor="nonsense"), {"text": "number 7"}]
    with StubServer(script) as stub:
        told = json.loads(run_cli("run", "j", "--json", env=env(stub)).out)
        bodies = [request.json() for request in stub.requests]
    assert told["state"] == "ok"
    found, read, refused = (bodies[at]["messages"][-1]["content"] for at in (1, 2, 3))
    assert found.startswith("1 messages\n1. user, ")
    assert f"run {thirty[7]} of prompt (cli, ok), anchor {anchor}\n   > walrus number 7" in found
    assert read == f"run {thirty[7]} of prompt (cli, ok)\n--- {anchor} user\nwalrus number 7"
    assert "SESSION:NUMBER" in refused
    with StubServer([{"text": "x"}]) as stub:
        run_cli("run", "plain", env=env(stub))
        assert "session_search" not in json.dumps(stub.requests[0].json())

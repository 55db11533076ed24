"""What was said in runs, as a person looks for it, and as a run does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_cron.domain.session import Wanted
from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.agent_rig import call, calls
from tests.conftest import RunCli, clean_env
from tests.runner_rig import Rig
from tests.serving import until
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


def test_what_was_found_is_summed_up_by_the_auxiliary_model_on_the_books(
    home: Home, run_cli: RunCli, thirty: list[str]
) -> None:
    home.config.write_text(
        'timezone = "UTC"\n[model]\nname = "dear"\nauxiliary = "cheap"\n'
        "[prices.cheap]\ninput = 1.0\noutput = 2.0\n[budget]\ntokens_per_day = 100_000\n"
    )
    said = {"text": "It is number 7 [1].", "usage": {"prompt_tokens": 1_000, "completion_tokens": 10}}
    with StubServer([said]) as stub:
        keys = env(stub)
        del keys["HERMES_CRON_MODEL"]
        plain = run_cli("sessions", "search", "walrus 7", env=keys)
        assert (plain.rc, stub.requests) == (0, [])  # no model unless it is asked for
        assert run_cli("sessions", "search", "zebra", "--summarize", env=keys).out == "No message says that.\n"
        assert stub.requests == []  # nothing to sum up
        done = run_cli("sessions", "search", "walrus 7", "--summarize", env=keys)
        (body,) = [request.json() for request in stub.requests]
    assert done.rc == 0
    assert done.out.startswith("Summary by cheap, 0.0010 USD (run ")
    assert "It is number 7 [1].\n\n1 message\n\n1. run " in done.out
    assert (body["model"], "tools" in body) == ("cheap", False)
    assert (
        f"[1] run {thirty[7]} of prompt (ok, 2026-11-30 12:08 UTC)\nuser: walrus number 7"
        in body["messages"][1]["content"]
    )
    used = json.loads(run_cli("usage", "--by", "phase", "--json").out)
    assert [(row["phase"], row["tokens"]["input"]) for row in used["lines"]] == [("summary", 1_000)]
    summary = json.loads(run_cli("runs", "list", "--json").out)["runs"][0]["run_id"]
    refused = run_cli("runs", "feedback", summary, "It was number 8.")
    assert (refused.rc, "it summed up what a search found" in refused.err) == (5, True)
    assert f"hermes-cron runs show {summary}" in refused.err
    again = json.loads(run_cli("sessions", "search", "walrus number 7", "--json").out)
    assert [hit["run_id"] for hit in again["hits"]] == [thirty[7]]  # what repeats others is not found


def test_a_summary_that_a_cap_forbids_is_not_asked_for(home: Home, run_cli: RunCli, thirty: list[str]) -> None:
    home.config.write_text('timezone = "UTC"\n[budget]\ntokens_per_day = 100\n')
    with StubServer([{"text": "x"}]) as stub:
        done = run_cli("sessions", "search", "walrus", "--summarize", env=env(stub))
        told = run_cli("sessions", "search", "walrus", "--summarize", "--json", env=env(stub))
        assert stub.requests == []
    assert done.rc == 1
    assert done.out.startswith("30 messages\n\n1. run ")  # what was found is told all the same
    assert "No summary: " in done.err
    assert "tokens_per_day" in done.err
    summary = json.loads(told.out)["summary"]
    assert (told.rc, summary["text"], summary["state"]) == (1, None, "budget_exhausted")


def test_a_summary_whose_command_was_killed_is_made_by_nobody(home: Home, run_cli: RunCli, thirty: list[str]) -> None:
    with StubServer([{"text": "never read", "delay_ms": 60_000}, "and now as a task"]) as stub:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "sessions", "search", "walrus 7", "--summarize"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **env(stub)}),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: stub.requests, "the model is asked")
        process.kill()
        process.wait()
        assert run_cli("serve", "--once", env=env(stub)).rc == 0
        assert len(stub.requests) == 1, "nobody waits for it any more"
    run = json.loads(run_cli("runs", "list", "--json").out)["runs"][0]
    assert (run["job"], run["state"], run["reason"]) == ("search", "interrupted", "owner_died")


def test_a_summary_without_a_model_names_the_remedy(home: Home, run_cli: RunCli, thirty: list[str]) -> None:
    done = run_cli("sessions", "search", "walrus", "--summarize")
    assert done.rc == 1
    assert "hermes-cron model set" in done.err
    assert json.loads(run_cli("runs", "list", "--json").out)["runs"][0]["job"] == "prompt"  # no run was begun


def test_after_twenty_runs_memory_has_what_was_saved_and_no_trail(home: Home) -> None:
    """Spec A7-5: what was said is found in sessions, and nothing of it went into memory by itself."""
    saves = calls(call("memory", {"action": "add", "content": "The walrus lives in hall 3."}))
    memory = home.memories / "MEMORY.md"
    with Rig(home) as rig:
        for number in range(20):
            (home.root / "note.txt").write_text(f"raw line {number}")
            reads = calls(call("read_file", {"path": "note.txt"}))
            lines = f"schedule: every day 9am\nmodel: test-model\nworkdir: {home.root}"
            taken = rig.begin(f"---\n{lines}\n---\nLook at the walrus, visit {number}.\n")
            rig.execute(taken, [reads, *([saves] if number == 7 else []), "It sleeps."])
            assert memory.exists() is (number >= 7)
        assert memory.read_text(encoding="utf-8") == "The walrus lives in hall 3.\n"
        assert rig.app.sessions.search(Wanted(words='"raw line"')).count == 20

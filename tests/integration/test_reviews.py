"""A run is looked back at, as a person meets it: by a scheduler, by one pass, or by the command that ran it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli, clean_env
from tests.receivers import Receiver, Reply
from tests.serving import Serving, until, write_job

MARK = "You look back at one run"
NOTHING = {"text": "Nothing to save."}
REPORT = {"text": "There are seven boxes."}
REMEMBER = {"tool_calls": [{"name": "memory", "arguments": {"action": "add", "content": "boxes are blue"}}]}


def script(*review: dict[str, Any], run: tuple[dict[str, Any], ...] = (REPORT,)) -> dict[str, Any]:
    """What the model says: in a look back, and in a run."""
    return {
        "conversations": [
            {"contains": MARK, "by": "turn", "replies": [*review]},
            {"by": "turn", "replies": [*run]},
        ]
    }


def never_done(count: int) -> list[dict[str, Any]]:
    return [
        {"tool_calls": [{"name": "memory", "arguments": {"action": "add", "content": f"shelf {n} holds tea"}}]}
        for n in range(count)
    ]


def config(home: Home, *, turns: int = 1, more: str = "") -> None:
    text = f'timezone = "UTC"\n[learning]\nmemory_turns = {turns}\nskill_iterations = 0\n{more}'
    home.config.write_text(text, encoding="utf-8")


def env(stub: StubServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}


def looked_back(stub: StubServer) -> int:
    return sum(MARK.encode() in body for body in stub.bodies)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_what_a_run_prints_is_the_same_with_its_look_back_and_without(run_cli: RunCli, home: Home) -> None:
    with StubServer(script(*never_done(30))) as stub:
        config(home, turns=1)
        with_it = run_cli("run", "--prompt", "count the boxes", env=env(stub))
        assert looked_back(stub) == 8, "it never stops by itself, so its limit stops it"
        config(home, turns=0)
        without = run_cli("run", "--prompt", "count the boxes", env=env(stub))
        assert looked_back(stub) == 8
    assert with_it.out == without.out == "There are seven boxes.\n"
    assert with_it.rc == without.rc == 0
    assert "looking back at the run" in with_it.err
    assert "the look back ended: exhausted" in with_it.err
    assert "look" not in without.err.replace("look ", "")


def test_json_is_the_same_too(run_cli: RunCli, home: Home) -> None:
    with StubServer(script(NOTHING)) as stub:
        found = []
        for turns in (1, 0):
            config(home, turns=turns)
            found.append(json.loads(run_cli("run", "--prompt", "count", "--json", env=env(stub)).out))
        for each in found:
            for what_differs in ("run_id", "output_path", "started_at", "ended_at"):
                del each[what_differs]
    assert found[0] == found[1]


def test_what_was_learned_is_there_and_shown(run_cli: RunCli, home: Home) -> None:
    config(home)
    with StubServer(script(REMEMBER, {"text": "Kept it."})) as stub:
        done = run_cli("run", "--prompt", "count the boxes", env=env(stub))
        assert "learned 1 thing" in done.err
        assert "boxes are blue" in run_cli("memory", "list").out
        shown = json.loads(run_cli("runs", "show", json_id(run_cli), "--json").out)
    (review,) = shown["reviews"]
    assert (review["state"], review["brief"], review["iterations"], review["changes"]) == ("ok", "memory", 2, 1)
    assert [change["actor"] for change in shown["learned"]] == ["review"]


def json_id(run_cli: RunCli) -> str:
    return str(json.loads(run_cli("runs", "list", "--json").out)["runs"][0]["run_id"])


def test_a_look_back_that_fails_changes_neither_result_nor_exit_code_and_is_shown(run_cli: RunCli, home: Home) -> None:
    config(home)
    with StubServer(script({"status": 400, "body": {"error": {"message": "not today"}}})) as stub:
        done = run_cli("run", "--prompt", "count the boxes", env=env(stub))
        assert (done.rc, done.out) == (0, "There are seven boxes.\n")
        assert "the look back ended: failed" in done.err
        assert "not today" in done.err
    shown = run_cli("runs", "show", json_id(run_cli)).out
    assert "failed" in shown
    assert "not today" in shown
    (learned,) = (line for line in run_cli("status").out.splitlines() if line.startswith("learned"))
    assert learned.split(maxsplit=1)[1] == "nothing; 1 review failed"
    assert "review 1 model call, 0 tokens, cost unknown" in shown, "nobody said what the call cost"


def test_a_step_of_a_look_back_is_never_shown_as_one_of_the_run(run_cli: RunCli, home: Home) -> None:
    config(home)
    shell = {"tool_calls": [{"name": "terminal", "arguments": {"command": "rm -rf /srv"}}]}
    with StubServer(script(shell, NOTHING)) as stub:
        run_cli("run", "--prompt", "count the boxes", env=env(stub))
    chains = run_cli("sessions", "show", json_id(run_cli), "--lineage").out.split("\n\n")
    assert ["a review: looks back at session" in chain for chain in chains if chain.strip()] == [False, True]
    for screen in ("show", "trace"):
        said = [line for line in run_cli("runs", screen, json_id(run_cli)).out.splitlines() if "rm -rf" in line]
        assert [line.split()[1:3] for line in said] == [["review:", "terminal"]]
    shown = run_cli("runs", "show", json_id(run_cli), "--lang", "zh").out
    assert "回顾：terminal" in shown
    assert "（主）" in shown
    assert "（回顾）" in shown


def test_ctrl_c_leaves_it_to_the_next_scheduler(home: Home) -> None:
    config(home)
    slow = {**REMEMBER, "delay_ms": 700}
    with StubServer(script(slow, NOTHING)) as stub:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "run", "--prompt", "count the boxes"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **env(stub)}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until(lambda: looked_back(stub), "the look back began")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "There are seven boxes.\n")
        assert "a scheduler goes on with it" in err
        once = subprocess.run(
            [sys.executable, "-m", "hermes_cron", "serve", "--once"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **env(stub)}),
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert once.returncode == 0, once.stderr
    assert "boxes are blue" in (home.memories / "MEMORY.md").read_text()


def test_one_whose_command_was_killed_waits_and_does_not_go_on(run_cli: RunCli, home: Home) -> None:
    config(home)
    with StubServer(script({**REMEMBER, "delay_ms": 60_000})) as stub:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "run", "--prompt", "count the boxes"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **env(stub)}),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: looked_back(stub), "the look back began")
        run_id = json_id(run_cli)
        assert "a review is going on" in run_cli("runs", "show", run_id).out
        process.kill()
        process.wait()
    assert "a review waits for a scheduler" in run_cli("runs", "show", run_id).out


# --- by a scheduler --------------------------------------------------------------------------------------------------


def serving(home: Home, stub: StubServer, *options: str) -> Serving:
    return Serving(home, options=options, env=env(stub))


def review_of(it: Serving) -> dict[str, Any] | None:
    found = it.rows("SELECT * FROM reviews ORDER BY number")
    return found[-1] if found else None


def ended(it: Serving) -> dict[str, Any]:
    until(lambda: (row := review_of(it)) and row["ended_at"], lambda: f"the look back ended: {review_of(it)}")
    row = review_of(it)
    assert row is not None
    return row


def test_it_begins_once_the_outcome_is_written_and_waits_for_no_receipt(home: Home) -> None:
    with StubServer(script(REMEMBER, NOTHING)) as stub, Receiver(otherwise=Reply(silent=True)) as target:
        config(home, more=f'[targets.ops]\nkind = "webhook"\nurl = "{target.url}"\ntimeout_s = 30\n')
        write_job(home, "j", "schedule: '0 12 * * *'", "deliver: [ops]", prompt="count the boxes")
        with serving(home, stub) as it:
            it.due("12:00", runs=1)
            review = ended(it)
            (delivery,) = it.rows("SELECT * FROM deliveries WHERE kind = 'report'")
            (run,) = it.runs("j")
            log = [json.loads(line) for line in (home.logs / "serve.log").read_text().splitlines()]
            assert (delivery["state"], delivery["sent_at"]) == ("queued", None), "nobody has answered yet"
            assert delivery["created_at"] == run["ended_at"] == review["queued_at"], "one transaction"
            it.process.kill()  # its sender would wait for the target
    assert review["state"] == "ok"
    order = [line["event"] for line in log if line["event"] in ("RunFinished", "ReviewStarted", "ReviewEnded")]
    assert order == ["RunFinished", "ReviewStarted", "ReviewEnded"]
    assert looked_back(stub) == 2


def test_nothing_to_save_changes_no_file_and_is_counted(home: Home) -> None:
    with StubServer(script(NOTHING)) as stub:
        config(home)
        write_job(home, "j", "schedule: '0 12 * * *'", prompt="count the boxes")
        with serving(home, stub) as it:
            it.due("12:00", runs=1)
            ended(it)
            metrics = it.cli("metrics").out
    assert "hermes_cron_review_noop_total 1.0" in metrics
    assert 'hermes_cron_reviews_total{outcome="noop"} 1.0' in metrics
    assert not (home.memories / "MEMORY.md").exists()


def test_another_tool_is_refused_and_logged(home: Home) -> None:
    shell = {"tool_calls": [{"name": "terminal", "arguments": {"command": f"touch {home.root}/harm"}}]}
    with StubServer(script(shell, NOTHING)) as stub:
        config(home)
        write_job(home, "j", "schedule: '0 12 * * *'", "tools: [now, terminal]", prompt="count the boxes")
        with serving(home, stub) as it:
            it.due("12:00", runs=1)
            ended(it)
            said = it.cli("logs").out
        answer = stub.requests[-1].messages[-1]
    assert not (home.root / "harm").exists()
    assert "no tool 'terminal'" in answer["content"]
    assert "ReviewToolRefused" in said
    assert "tool=terminal" in said


def test_a_due_job_never_waits_for_one(home: Home) -> None:
    """One place in the pool, and looks back that take long."""
    with StubServer(script({**REMEMBER, "delay_ms": 4_000}, NOTHING)) as stub:
        config(home)
        write_job(home, "learns", "schedule: '0 12 * * *'", prompt="count the boxes")
        write_job(home, "next", "schedule: '1 12 * * *'", "script: echo done")
        with serving(home, stub, "--concurrency", "1") as it:
            it.due("12:00", runs=1)
            until(lambda: looked_back(stub), "the look back is in the middle of a call")
            it.due("12:01", runs=2)
            (run,) = it.runs("next")
            assert run["state"] == "ok"
            review = review_of(it)
            assert review is not None
            assert review["ended_at"] is None, "it went on all the while"
            ended(it)


def test_the_owners_death_is_seen_at_once(home: Home) -> None:
    with StubServer(script({**REMEMBER, "delay_ms": 500}, NOTHING)) as stub:
        config(home)
        write_job(home, "j", "schedule: '0 12 * * *'", prompt="count the boxes")
        with serving(home, stub) as it:
            it.due("12:00", runs=1)
            until(lambda: looked_back(stub), "it has begun")
            it.kill()
            left = review_of(it)
            assert left is not None
            assert left["state"] == "running"
            it.start()
            row = ended(it)
    assert (row["state"], row["takeovers"], row["fence"]) == ("ok", 1, 2)
    assert (home.memories / "MEMORY.md").read_text().count("boxes are blue") == 1


@pytest.mark.parametrize("learn", ["off", "auto"])
def test_a_job_may_say_that_its_runs_teach_nothing(home: Home, learn: str) -> None:
    with StubServer(script(NOTHING)) as stub:
        config(home)
        write_job(home, "j", "schedule: '0 12 * * *'", f"learn: {learn}", prompt="count the boxes")
        with serving(home, stub) as it:
            it.due("12:00", runs=1)
            if learn == "auto":
                ended(it)
            assert bool(review_of(it)) == (learn == "auto")


def test_a_playbooks_run_is_never_looked_back_at(home: Home) -> None:
    import sqlite3

    config(home, more=f'[databases.shop]\nurl = "{home.root}/shop.db"\n')
    home.config.write_text(home.config.read_text().replace("skill_iterations = 0", "skill_iterations = 1"))
    sqlite3.connect(home.root / "shop.db").execute("create table t (x)").connection.close()
    write_job(home, "inspect", "schedule: '0 12 * * *'", "databases: [shop]", prompt="inspect shop db")
    with Serving(home) as it:
        it.due("12:00", runs=1)
        (run,) = it.runs("inspect")
        assert (run["state"], run["model"]) == ("ok", "playbook:inspect-database")
        assert review_of(it) is None
        assert it.rows("SELECT * FROM nudges") == []

"""The commands with which a person answers a run, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from hermes_cron.domain.run import Outcome, ParkedEffect, RunState
from hermes_cron.home import Home
from hermes_cron.store import runs
from hermes_cron.store.engine import Store
from tests.endings_rig import Ends, Typed, typed


def effect(seq: int, arguments: str = '{"to": "a@b.c"}') -> ParkedEffect:
    evidence = ("begun at 2026-11-27 01:00:02 UTC, no result was kept", "process group 4711 worked for it")
    return ParkedEffect(session_id="s1", seq=seq, tool="send_mail", arguments=arguments, evidence=evidence)


@pytest.fixture
def ends(home: Home) -> Iterator[Ends]:
    made = Ends(Store(home.store)).has()
    yield made
    made.store.close()


@pytest.fixture
def parked(ends: Ends) -> str:
    """A run that waits with two questions; its id."""
    return ends(Outcome(state=RunState.WAITING_APPROVAL, parked=(effect(3), effect(4, "{}\x1b[31m red"))))


@pytest.fixture
def cli(home: Home, ends: Ends, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    return typed(home, ends, capsys, monkeypatch)


def test_nothing_waits(cli: Typed) -> None:
    assert cli("approvals", "list")[:2] == (0, "Nobody waits for an answer.\n")
    assert cli("approvals", "list", "--all")[:2] == (0, "Nothing was asked yet.\n")
    assert json.loads(cli("approvals", "list", "--json")[1]) == {"approvals": []}


def test_list_has_what_is_asked_and_the_commands_that_answer(cli: Typed, parked: str) -> None:
    code, out, err = cli("approvals", "list")
    assert code == 0
    header, first, second = out.splitlines()
    assert header.split() == ["ID", "JOB", "RUN", "CALL", "ASKED", "ANSWER"]
    assert first.startswith("a1  ")
    assert parked in first
    assert 'send_mail {"to": "a@b.c"}' in first
    assert first.endswith("left")
    assert "\x1b" not in second
    assert "yes: hermes-cron approve ID     no: hermes-cron deny ID" in err


def test_show_says_what_is_known_and_what_an_answer_means(cli: Typed, parked: str) -> None:
    out = cli("approvals", "show", "a1")[1]
    assert out.splitlines()[0] == "a1"
    for said in (parked, "process group 4711", "no result was kept", "silence means no", "hermes-cron deny a1"):
        assert said in out
    told = json.loads(cli("approvals", "show", "1", "--json")[1])
    assert (told["id"], told["tool"], told["decision"]) == ("a1", "send_mail", None)
    assert len(told["evidence"]) == 2


def test_answers_reach_the_run_once_all_are_given(cli: Typed, ends: Ends, parked: str) -> None:
    code, out, err = cli("approve", "a1")
    assert (code, out) == (0, f"a1 approved: run {parked} does it and goes on\n")
    assert f"run {parked} still waits for a2" in err
    assert state(ends, parked) == "waiting_approval"
    code, out, err = cli("deny", "a2", "it is\nthere already")
    assert (code, out) == (0, f"a2 denied: run {parked} goes on without it\n")
    assert "nothing runs it now: hermes-cron serve" in err
    assert state(ends, parked) == "queued"
    shown = cli("approvals", "show", "a2")[1]
    assert "denied by oncall" in shown
    assert "it is there already" in shown
    assert "approve a2" not in shown


def state(ends: Ends, run_id: str) -> str:
    with ends.store.read() as conn:
        return str(runs.find(conn, run_id)["state"])


def test_an_answer_is_given_once_and_in_time(cli: Typed, ends: Ends, parked: str) -> None:
    assert parked
    cli("approve", "a1", "--json")
    code, _, err = cli("deny", "a1")
    assert code == 5
    assert "a1 was answered already: approved by oncall" in err
    ends.now += timedelta(days=2)
    code, _, err = cli("approve", "a2")
    assert code == 5
    assert "silence meant no" in err
    assert "no answer in time" in cli("approvals", "list")[1]
    code, _, err = cli("approve", "a9")
    assert code == 3
    assert "hermes-cron approvals list" in err
    assert cli("deny", "a2", "x" * 1001)[0] == 2


def test_in_chinese(cli: Typed, parked: str) -> None:
    assert "等待人回答" not in cli("approvals", "list", "--lang", "zh")[1]
    assert "编号" in cli("approvals", "list", "--lang", "zh")[1]
    assert f"a1 已批准：运行 {parked} 将执行它并继续" in cli("approve", "a1", "--lang", "zh")[1]
    assert "已批准，oncall" in cli("approvals", "list", "--all", "--lang", "zh")[1]

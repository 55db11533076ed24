"""The commands about incidents, as a person types them; the rows are made by runs that ended."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hermes_cron.domain.job import Deliver
from hermes_cron.home import Home
from hermes_cron.store.engine import Store
from tests.ended import failed, good
from tests.endings_rig import Ends, Typed, typed


@pytest.fixture
def ends(home: Home) -> Iterator[Ends]:
    made = Ends(Store(home.store)).has(deliver=Deliver(to=("ops-chat", "mail")))
    yield made
    made.store.close()


@pytest.fixture
def cli(home: Home, ends: Ends, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    return typed(home, ends, capsys, monkeypatch)


def test_nothing_is_said_when_there_is_nothing(cli: Typed) -> None:
    assert cli("incidents", "list")[:2] == (0, "No open incidents.\n")
    assert cli("incidents", "list", "--all")[:2] == (0, "No incidents yet.\n")
    assert json.loads(cli("incidents", "list", "--json")[1]) == {"incidents": []}


def test_list_has_the_open_ones_and_the_next_command(cli: Typed, ends: Ends) -> None:
    ends(failed(reason="model_auth", error="key refused"))
    ends(good())
    ends(failed())
    ends(failed())
    code, out, err = cli("incidents", "list")
    assert code == 0
    assert out.splitlines() == [
        "ID  JOB              KIND                  SINCE            RUNS  ACK  WHY",
        "i2  inspect-prod-db  database_unreachable  Sun 11-29 09:00     2  -    "
        "prod does not answer: connection refused by 10.0.3.17:5432",
    ]
    assert err.strip() == "look: hermes-cron incidents show ID     quiet until solved: hermes-cron incidents ack ID"
    assert [line.split()[0] for line in cli("incident", "ls", "--all")[1].splitlines()] == ["ID", "i2", "i1"]
    assert "Sat 11-28 09:00" in cli("incidents", "list", "--all")[1].splitlines()[2]


def test_show_tells_since_when_how_often_who_knows_and_what_to_look_at(cli: Typed, ends: Ends) -> None:
    first, last = ends(failed()), ends(failed())
    code, out, _ = cli("incidents", "show", "i1")
    assert code == 0
    assert (
        out
        == f"""\
i1
  job     inspect-prod-db
  kind    database_unreachable
  why     prod does not answer: connection refused by 10.0.3.17:5432
  since   Fri 2026-11-27 09:00:03 (Asia/Shanghai)
  failed  2 runs, {first} to {last}
  over    not yet
  ack     -
  told    ops-chat: failure, queued
          mail: failure, queued
  look    hermes-cron db test prod
"""
    )
    healed = ends(good())
    out = cli("incidents", "show", "1")[1]
    assert f"  over    Sun 2026-11-29 09:00:03, by run {healed}\n" in out
    assert "          ops-chat: recovery, queued\n" in out


def test_ack_is_a_persons_and_comes_once(cli: Typed, ends: Ends) -> None:
    ends(failed())
    assert cli("incidents", "ack", "i1")[:2] == (
        0, "i1 is oncall's: inspect-prod-db is quiet until it is solved\n",
    )  # fmt: skip
    code, out, _ = cli("incidents", "ack", "i1")
    assert (code, out) == (0, "i1 is oncall's already, since Sat 2026-11-28 09:00\n")
    assert "  oncall  " in cli("incidents", "list")[1]
    assert cli("incidents", "list")[2] == ""
    said = json.loads(cli("incidents", "ack", "i1", "--json")[1])
    assert (said["id"], said["job"], said["acked_by"], said["changed"]) == ("i1", "inspect-prod-db", "oncall", False)


def test_what_is_over_or_unknown_cannot_be_taken_on(cli: Typed, ends: Ends) -> None:
    ends(failed())
    run_id = ends(good())
    code, out, err = cli("incidents", "ack", "i1")
    assert (code, out) == (5, "")
    assert f"i1 is over: run {run_id} of inspect-prod-db went well" in err
    assert "hermes-cron incidents show i1" in err
    for verb in ("show", "ack"):
        code, out, err = cli("incidents", verb, "i7", "--json")
        assert (code, out) == (3, "")
        assert json.loads(err)["error"] == {
            "code": "NotFound", "message": 'no incident "i7"', "hint": "hermes-cron incidents list --all",
        }  # fmt: skip


def test_json_has_every_fact(cli: Typed, ends: Ends) -> None:
    first = ends(failed())
    (incident,) = json.loads(cli("incidents", "list", "--json")[1])["incidents"]
    assert incident == {
        "id": "i1", "job": "inspect-prod-db", "kind": "database_unreachable",
        "error": "prod does not answer: connection refused by 10.0.3.17:5432",
        "opened_at": "2026-11-27T01:00:03+00:00", "first_run": first, "last_run": first,
        "last_at": "2026-11-27T01:00:03+00:00", "failures": 1, "ended_at": None, "ended_run": None, "acked_at": None,
        "acked_by": None,
    }  # fmt: skip
    shown = json.loads(cli("incidents", "show", "i1", "--json")[1])
    assert shown["next_command"] == "hermes-cron db test prod"
    assert [(each["id"], each["target"], each["state"]) for each in shown["messages"]] == [
        ("d1", "ops-chat", "queued"),
        ("d2", "mail", "queued"),
    ]


def test_chinese(cli: Typed, ends: Ends) -> None:
    ends(failed())
    assert cli("incidents", "list", "--lang", "zh")[1].splitlines()[0].startswith("编号  任务")
    assert "解决" in cli("incidents", "ack", "i1", "--lang", "zh")[1]

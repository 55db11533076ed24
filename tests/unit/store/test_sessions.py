"""What is said in sessions is found, also while it is said; what is removed is not; a kill loses nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hermes_cron.domain.session import Source
from hermes_cron.home import Home
from hermes_cron.scheduler.indexing import Indexer
from hermes_cron.store import message_index, retention
from tests.scheduler_rig import until
from tests.sessions_rig import NOON, Talk, answer, call, result


@pytest.fixture
def talk(home: Home) -> Iterator[Talk]:
    made = Talk(home)
    yield made
    made.app.close()


def entries(talk: Talk) -> int:
    with talk.store.read() as conn:
        return int(conn.exec_driver_sql("SELECT count(*) FROM message_index_docsize").scalar_one())


def test_every_kind_of_message_is_found_with_its_neighbours(talk: Talk) -> None:
    journal = talk.begin("please look at the walrus")
    seq = call(journal, "terminal", '{"command": "kubectl get pods -n 海象"}')
    result(journal, seq, "pod otter is\nrunning")
    answer(journal, "The otter runs; the wolverine does not.")
    talk.end(str(journal.run_id))  # type: ignore[attr-defined]
    (hit,) = talk.find('"otter is running"').hits
    assert (hit.message.role, hit.message.tool, hit.message.seq) == ("tool", "terminal", seq)
    assert (hit.rank, hit.within.run_id, hit.within.state) == (1, journal.run_id, "ok")  # type: ignore[attr-defined]
    assert hit.snippet == "pod otter is running"
    assert [said.text for said in hit.before] == ["terminal\nkubectl get pods -n 海象"]
    assert [said.text for said in hit.after] == ["The otter runs; the wolverine does not."]
    assert [talk.count(words) for words in ("walrus", "海象", "kubectl pods", "wolver*", "otter")] == [1, 1, 1, 1, 2]
    assert talk.count("system prompt") == 0


def test_a_session_is_found_while_it_goes_on(talk: Talk) -> None:
    journal = talk.begin("first walrus")
    seq = call(journal, "terminal", "{}")
    assert talk.count("walrus") == 1
    result(journal, seq, "second walrus")
    assert talk.count("walrus") == 2
    answer(journal, "third walrus")
    assert talk.count("walrus") == 3
    talk.end(str(journal.run_id), "failed")  # type: ignore[attr-defined]
    assert talk.count("walrus") == 3
    assert entries(talk) == 4
    with talk.store.read() as conn:
        assert message_index._unindexed(conn) == []


def test_a_result_that_never_came_does_not_hide_what_came_after_it(talk: Talk) -> None:
    journal = talk.begin("go")
    call(journal, "terminal", "{}")
    answer(journal, "a late walrus")
    assert talk.count("walrus") == 0
    talk.end(str(journal.run_id), "failed")  # type: ignore[attr-defined]
    assert talk.count("walrus") == 1


def test_filters_and_orders(talk: Talk) -> None:
    talk.job("nightly")
    old = talk.run("walrus walrus walrus", job="nightly")
    new = talk.run("a walrus by hand", cause="manual", state="failed")
    typed = talk.run("a walrus of a prompt", cause="prompt")

    def found(**wanted: object) -> list[str]:
        return [hit.within.run_id for hit in talk.find("walrus", **wanted).hits]

    assert found()[0] == old
    assert found(newest=True) == [typed, new, old]
    assert found(jobs=("nightly",)) == [old]
    assert found(sources=(Source.SCHEDULE,)) == [old]
    assert found(sources=(Source.CLI,), newest=True) == [typed, new]
    assert found(states=("failed",)) == [new]
    assert found(since=NOON + timedelta(minutes=2), newest=True) == [typed, new]
    assert found(until=NOON + timedelta(minutes=2)) == [old]
    shanghai = ZoneInfo("Asia/Shanghai")
    assert found(until=(NOON + timedelta(minutes=2)).astimezone(shanghai)) == [old]
    assert found(jobs=("nightly",), states=("failed",)) == []
    assert found(limit=1) == [old]


def test_what_is_removed_is_not_found_and_its_words_are_gone(talk: Talk) -> None:
    gone = [talk.run(f"walrus {number} 海象 secret{number}") for number in range(5)]
    kept = talk.run("walrus stays")
    going_on = str(talk.begin("walrus goes on").run_id)  # type: ignore[attr-defined]
    assert talk.count("walrus") == 7
    talk.store.write(lambda conn: retention.forget(conn, [*gone, going_on]))
    assert [hit.within.run_id for hit in talk.find("walrus").hits] == [kept]
    assert talk.count("海象 OR secret*") == 0
    assert entries(talk) == 1
    assert talk.app.sessions.fault() is None
    again = talk.run("walrus anew")
    assert {hit.within.run_id for hit in talk.find("walrus").hits} == {kept, again}


def test_a_damaged_index_does_not_stop_retention(talk: Talk) -> None:
    run = talk.run("walrus")
    assert talk.count("walrus") == 1
    talk.store.write(lambda conn: conn.exec_driver_sql("UPDATE message_index_data SET block = X'a5a5a5a5'"))
    talk.store.write(lambda conn: retention.forget(conn, [run]))
    talk.app.sessions.rebuild()
    assert talk.count("walrus") == 0
    assert talk.app.sessions.fault() is None


def test_other_rules_for_words_mean_another_index(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = talk.run("walrus otter")
    assert talk.count("walrus") == 1
    monkeypatch.setattr(message_index, "_RULES", "2/99")
    monkeypatch.setattr(message_index, "words", lambda text: [f"{word}2" for word in text.split()])
    assert talk.count("walrus") == 0  # what is looked for is split by the rules of now, here those of before
    assert entries(talk) == 1
    talk.store.write(lambda conn: retention.forget(conn, [run]))
    assert talk.app.sessions.fault() is None
    assert entries(talk) == 0


def test_a_search_is_not_found_by_the_next_one(talk: Talk) -> None:
    talk.run("walrus")
    journal = talk.begin("look")
    seq = call(journal, "session_search", '{"query": "walrus"}')
    result(journal, seq, "1 messages\nwalrus")
    talk.end(str(journal.run_id))  # type: ignore[attr-defined]
    assert talk.count("walrus") == 1


def test_what_the_vault_learns_later_is_not_shown(talk: Talk) -> None:
    talk.run("before hunter2hunter2 after walrus", "and hunter2hunter2 again")
    talk.app.vault.set("token", "hunter2hunter2")
    (hit,) = talk.find("walrus").hits
    assert "hunter2" not in f"{hit.snippet}{hit.message.text}{hit.after}"
    assert "after walrus" in hit.snippet


def test_a_snippet_shows_what_was_found_however_far_it_is(talk: Talk) -> None:
    talk.run(f"{'x ' * 5000}the 海象 sleeps\x1b[31m\n{'y ' * 5000}")
    (hit,) = talk.find("海象").hits
    assert "the 海象 sleeps" in hit.snippet
    assert hit.snippet[0] == hit.snippet[-1] == "…"
    assert len(hit.snippet) <= 162
    assert hit.snippet.isprintable()


def test_several_indexers_put_in_each_message_once(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_index, "PIECE", 50)
    for number in range(30):
        talk.run(f"walrus {number}", "and more of it")
    workers = [threading.Thread(target=talk.app.sessions.put_in, args=(lambda: False,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (talk.count("walrus"), entries(talk)) == (30, 60)
    assert talk.app.sessions.fault() is None


def test_who_is_late_with_a_piece_does_not_undo_what_another_put_in(talk: Talk) -> None:
    """Else the words of what it did not know of would stay behind when the run is removed."""
    journal = talk.begin("walrus")
    assert talk.count("otter") == 0
    pieces = []
    for text in ("a marmot", "an otter"):
        answer(journal, text)
        with talk.store.read() as conn:
            pieces.append(message_index._next(conn, deque(message_index._unindexed(conn))))
    for piece in reversed(pieces):
        talk.store.write(lambda conn, piece=piece: message_index._put(piece, NOON, conn))
    assert entries(talk) == 3
    talk.store.write(lambda conn: retention.forget(conn, [journal.run_id]))  # type: ignore[attr-defined]
    assert talk.count("otter OR walrus OR marmot") == 0


def test_a_living_service_puts_in_what_is_said(talk: Talk) -> None:
    talk.run("walrus")
    indexer = Indexer(talk.app.sessions.put_in, every_s=0.01)
    indexer.start()
    try:
        until(lambda: entries(talk) == 1, "the words are in the index", 20)
        talk.run("walrus again")
        until(lambda: entries(talk) == 2, "the next words are in the index", 20)
    finally:
        indexer.stop()


PROGRAM = """
import sys
from pathlib import Path
from hermes_cron.home import Home
from hermes_cron.store import message_index
from tests.sessions_rig import Talk
message_index.PIECE = 50
talk = Talk(Home(Path(sys.argv[1])))
print("ready", flush=True)
while True:
    talk.app.sessions.put_in(lambda: False)
"""


def test_an_indexer_that_is_killed_at_any_point_is_gone_on_from(home: Home) -> None:
    talk = Talk(home)
    for number in range(60):
        talk.run(f"walrus {number} " + "filler " * 20)
    talk.app.close()
    for round_ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(home.root)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
        )
        assert child.stdout is not None
        child.stdout.readline()
        with closing(sqlite3.connect(home.store, timeout=20)) as conn:
            until(lambda: count(conn) > 15 * round_, "some are in", 20)  # noqa: B023  # called at once
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    again = Talk(home)
    assert (again.count("walrus"), entries(again)) == (60, 60)
    assert again.app.sessions.fault() is None
    again.app.close()


def count(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT count(*) FROM message_index_docsize").fetchone()[0])

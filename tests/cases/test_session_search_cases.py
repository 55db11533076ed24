"""The real faults of session-search.jsonl: what was said is found by the words it was said in, or a person is told."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.session import Source
from hermes_cron.errors import StoreDamaged
from hermes_cron.home import Home
from tests.sessions_rig import Talk, overwrite_page

CASES = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parent / "data" / "session-search.jsonl").read_text("utf-8").splitlines()
    )
}


@pytest.fixture
def talk(home: Home) -> Iterator[Talk]:
    made = Talk(home)
    yield made
    made.app.close()


@pytest.mark.parametrize("case", ["C173", "C176", "C177"])
def test_every_query_finds_its_message(talk: Talk, case: str) -> None:
    given: dict[str, Any] = CASES[case]["input"]
    queries = given.get("queries") or [given["query"]]
    expected = CASES[case]["expected"]["hits"]
    talk.run(given["message"])
    talk.run("something else entirely, 别的内容")
    assert [talk.count(query) for query in queries] == (expected if isinstance(expected, list) else [expected])


def test_c174_quotes_are_a_phrase(talk: Talk) -> None:
    given, expected = CASES["C174"]["input"], CASES["C174"]["expected"]
    for message in given["messages"]:
        talk.run(message)
    assert talk.count(given["query"]) == expected["hits"]
    assert talk.count("docker networking") == 2


def test_c179_the_source_separates_what_the_rank_does_not(talk: Talk) -> None:
    given = CASES["C179"]["input"]["sessions"]
    cli = {talk.run(f"deploy by hand {number}", cause="manual") for number in range(given["cli"])}
    for number in range(given["cron"]):
        talk.run(f"deploy {number}")
    assert talk.count("deploy") == given["cli"] + given["cron"]
    found = talk.find("deploy", sources=(Source.CLI,))
    assert {hit.within.run_id for hit in found.hits} == cli
    assert found.count == given["cli"]


def test_c179_of_more_than_2000_hits_the_newest_are_weighed_and_that_is_said(talk: Talk) -> None:
    oldest = talk.run("deploy deploy deploy")
    many = talk.begin()
    talk.store.write(
        lambda conn: [
            conn.exec_driver_sql(
                "INSERT INTO messages (session_id, seq, role, body) VALUES (?, ?, 'user', ?)",
                (many.session_id, seq, json.dumps({"role": "user", "content": f"deploy the part {seq}"}).encode()),
            )
            for seq in range(1, 2000)
        ]
    )
    talk.end(str(many.run_id))  # type: ignore[attr-defined]
    best = talk.find("deploy")
    assert best.count == 2000
    assert best.hits[0].within.run_id == oldest  # one more, and it is not among the newest 2,000 any more
    talk.run("a word of deploy")
    capped = talk.find("deploy")
    assert capped.count is None
    assert oldest not in {hit.within.run_id for hit in capped.hits}


def test_c180_a_session_that_begins_while_the_store_is_held_is_found(talk: Talk) -> None:
    held = threading.Event()
    with closing(sqlite3.connect(talk.app.home.store, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = threading.Thread(target=lambda: (held.set(), talk.run("one walrus", "two walrus", "three walrus")))
        begun.start()
        held.wait(20)
        time.sleep(0.2)  # it waits now
        other.execute("COMMIT")
        begun.join(20)
    assert talk.count("walrus") == 3


def test_c180_a_search_while_the_store_is_held_says_what_it_may_not_know(talk: Talk) -> None:
    talk.run("one walrus")
    assert talk.count("walrus") == 1
    talk.run("two walrus")
    writing = talk.store._writer._connection
    assert writing is not None
    writing.connection.driver_connection.execute("PRAGMA busy_timeout=50")  # type: ignore[union-attr]
    with closing(sqlite3.connect(talk.app.home.store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = talk.find("walrus")
        assert (found.count, found.behind) == (1, True)
    assert talk.count("walrus") == 2


def by_rows(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 100")


@pytest.mark.parametrize("damage", [by_rows, overwrite_page])
def test_c181_damage_is_seen_by_the_check_and_mended_from_the_messages(
    home: Home, damage: Callable[[Path], None]
) -> None:
    talk = Talk(home)
    for number in range(40):
        talk.run(f"walrus {number} 数据库 " + " ".join(f"w{number * n}" for n in range(50)))
    assert talk.app.sessions.fault() is None
    assert talk.count("walrus") == 40
    talk.app.close()

    damage(home.store)
    again = Talk(home)
    assert again.app.sessions.fault() is not None
    if damage is overwrite_page:  # zeroes alone read as an empty index, which only the check sees
        with pytest.raises(StoreDamaged) as caught:
            again.find("walrus")
        assert caught.value.hint == "hermes-cron sessions reindex"
    again.app.sessions.rebuild()
    assert again.app.sessions.fault() is None
    assert (again.count("walrus"), again.count("数据库")) == (40, 40)
    again.app.close()
    with closing(sqlite3.connect(home.store)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

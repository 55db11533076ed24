"""The page of outcome checks: its keys are the code's, and its examples say what it says they do."""

from __future__ import annotations

import http.server
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.checks.sql import DEFAULT_S
from hermes_cron.domain.check import KEYS, Check
from hermes_cron.domain.json_schema import not_understood
from hermes_cron.jobs.load import Known, parse_job
from tests.checks_rig import BAD, GOOD, Bench

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "checks.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(checks:.*?)```", PAGE, re.DOTALL)


def checks(example: str) -> tuple[Check, ...]:
    known = Known(databases=frozenset({"shop"}), targets=frozenset({"ops-chat"}))
    text = f"---\nschedule: every day 9am\n{example}---\nload the orders\n"
    now = datetime(2026, 12, 1, tzinfo=UTC)
    return parse_job(text.encode(), path="jobs/x.md", name="x", now=now, host_zone="UTC", known=known).checks


def test_every_key_of_every_kind_has_its_place() -> None:
    rows = {
        found[1]: set(re.findall(r"`(\w+)`", found[2])) for found in re.finditer(r"^\| `(\w+)` \| (.*)\|$", PAGE, re.M)
    }
    assert {kind: rows[kind] for kind in KEYS} == KEYS
    assert f"`timeout` ({DEFAULT_S:g}s)" in PAGE


def test_the_words_of_a_schema_are_those_that_are_understood() -> None:
    said = PAGE.partition("these words of JSON Schema: ")[2].partition(". Any other")[0]
    words = set(re.findall(r"`(\w+)`", said))
    assert f"known: {', '.join(sorted(words))}" == _sorted(not_understood({"oneOf": []}) or "")


def _sorted(message: str) -> str:
    words = message.partition("known: ")[2].split(", ")
    return f"known: {', '.join(sorted(words))}"


@pytest.fixture
def site() -> Iterator[list[int]]:
    """Statuses that the server answers with; its port is the last element."""
    answers = [200]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answers[0])
            self.end_headers()
            self.wfile.write(b'{"count": 2}' if answers[0] == 200 else b"")

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    answers.append(server.server_port)
    yield answers
    server.shutdown()
    server.server_close()
    thread.join()


def put(bench: Bench, *, done: bool) -> None:
    """What the task of the examples leaves behind when it is done, and when it is not."""
    with closing(sqlite3.connect(bench.folder / "shop.db", isolation_level=None)) as conn:
        conn.execute("delete from orders")
        if done:
            conn.execute("insert into orders values (1, 10, 'paid'), (2, 20, 'paid')")
        else:
            conn.executescript("with recursive n(i) as (select 1 union all select i + 1 from n where i < 600)"
                               "insert into orders select i, -1, 'paid' from n")  # fmt: skip
    (bench.folder / "out.csv").write_text("a\nb\nc\n" if done else "a\n")
    (bench.folder / "load.log").write_text("fine\n" if done else "ERROR\n")
    if not done:
        (bench.folder / "load.lock").touch()
    bench.report = 'Loaded 2 orders.\n\n```json\n{"orders": 2}\n```\n' if done else "Done."


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_hold_after_the_task_and_not_without_it(tmp_path: Path, site: list[int], example: str) -> None:
    bench = Bench(tmp_path / "work")
    put(bench, done=False)
    (bench.folder / "verify.sh").write_text('cmp -s expected.txt "$1"\n')
    (bench.folder / "expected.txt").write_text("a\nb\nc\n")
    (bench.folder / "schema.json").write_text('{"required": ["orders"]}')
    here = checks(example.replace(":8080", f":{site[1]}"))
    bench.pin(*here)
    site[0] = 503
    unmoved = {"/etc/hostname"}
    told = [
        result.verdict
        for check, result in zip(here, bench.judge(*here), strict=True)
        if check.params.get("path") not in unmoved and check.params.get("at_least") != 1
    ]
    assert set(told) <= {BAD}
    put(bench, done=True)
    (bench.folder / "load.lock").unlink()
    site[0] = 200
    assert [(result.verdict, result.detail) for result in bench.judge(*here) if result.verdict is not GOOD] == []

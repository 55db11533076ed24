"""Lines: whole, bounded, redacted, from several writers."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hermes_cron.domain.event import Event, RunFinished
from hermes_cron.domain.run import RunState
from hermes_cron.home import Home
from hermes_cron.observe.logs import LogFile, begin, render
from hermes_cron.testing import FixedClock

CLOCK = FixedClock(datetime(2026, 12, 1, 9, tzinfo=UTC))


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers[:] = before


def lines(home: Home) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(home.logs.glob("serve.log*")) for line in path.read_text().splitlines()]


def finished(error: str | None = None) -> Event:
    return RunFinished(run_id="r1", job="j", state=RunState.FAILED, reason="exit_code", duration_s=1.5, error=error)


def test_free_text_is_redacted_at_the_sink(home: Home) -> None:
    emit = begin(LogFile(home.logs), CLOCK, lambda text: text.replace("hunter2", "[secret:db]"))
    emit(finished("password hunter2 refused"))
    try:
        int("hunter2")
    except ValueError:
        logging.getLogger("hermes_cron.x").exception("failed with %s", "hunter2")
    assert "hunter2" not in (home.logs / "serve.log").read_text()
    event, record = lines(home)
    assert (event["event"], event["at"], event["error"]) == (
        "RunFinished", "2026-12-01T09:00:00.000+00:00", "password [secret:db] refused",
    )  # fmt: skip
    assert "ValueError: invalid literal" in str(record["message"])


def written_by_two(home: Home, *, max_bytes: int) -> list[dict[str, object]]:
    """1,000 lines of each of two writers that have the file open at the same time; what is still there."""
    both_open = threading.Barrier(2)

    def write(name: str) -> None:
        file = LogFile(home.logs, max_bytes=max_bytes, kept=3)
        both_open.wait()
        for number in range(1000):
            file.write(json.dumps({"by": name, "n": number, "pad": "x" * 50}))
        file.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lines(home)  # json.loads would refuse a line that two writers share


def test_two_writers_lose_no_line_while_the_file_is_turned_over(home: Home) -> None:
    found = written_by_two(home, max_bytes=60_000)  # 2,000 lines of 80 bytes fit into the four files
    assert len(list(home.logs.glob("serve.log*"))) >= 3
    assert sorted((str(line["by"]), int(str(line["n"]))) for line in found) == [
        (name, number) for name in "ab" for number in range(1000)
    ]


def test_two_writers_keep_the_newest_lines_and_the_files_bounded(home: Home) -> None:
    found = written_by_two(home, max_bytes=20_000)
    assert max(int(str(line["n"])) for line in found) == 999
    sizes = [path.stat().st_size for path in home.logs.glob("serve.log*")]
    assert len(sizes) == 4
    assert max(sizes) < 25_000


def test_a_line_for_people_names_the_event_and_its_facts() -> None:
    line = {"at": "2026-12-01T09:00:00+00:00", "level": "warning", "event": "E", "job": "j", "none": None, "s": "a b"}
    assert render(line) == '2026-12-01T09:00:00+00:00 warning E job=j s="a b"'

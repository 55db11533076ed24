"""How fast is a word found among 200,000 messages, how large is the index, and how fast are messages kept?

English and Chinese, words as frequent as in real text (Zipf), with planted ones whose number is known. Each probe goes
the whole way of ``sessions search``: bring the index up to date, parse, rank, read the hits and their neighbours.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import rig
from benchmarks.figures import Figure, spread
from hermes_cron.clock import SystemClock
from hermes_cron.domain.session import Wanted
from hermes_cron.settings import Settings
from hermes_cron.store.tables import MessageRow, RunRow, SessionRow
from hermes_cron.wiring import App

MESSAGES = 200_000
A_SESSION = 20
TIMES = 20
P99_MS = 10.0
SHARE = 0.8
WRITES = 3_000
WRITES_FLOOR = 5_000.0
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

PROBES = {
    "common": "deploy", "mid": "rollback", "rare": "walrus", "two common": "deploy error",
    "phrase": '"connection refused"',
    "or": "rollback OR walrus", "not": "deploy -rollback", "prefix": "migrat*", "1 Chinese": "库", "2 Chinese": "数据",
    "2 Chinese, rare": "海象", "5 Chinese": "数据库连接", "Chinese not": "数据 -连接", "mixed": "deploy 数据库",
    "punctuation": "app/run.py: can't (30%) #77 \"", "nothing": "zzzzzz",
}  # fmt: skip
PLANTED = (  # every so many messages
    (4, "deploy"), (7, "error"), (40, "rollback"), (20_000, "walrus"), (60, "connection refused"), (90, "migrating"),
    (150, "migration"), (4, "数据"), (50, "数据库连接"), (20_000, "海象"), (400, "山羊"), (700, "山羊会"),
    (300, "app/run.py can't 30% #77"),
)  # fmt: skip

RIGHT: dict[str, Callable[[str], bool]] = {
    "海象": lambda text: "海象" in text,
    "海 象": lambda text: "海" in text and "象" in text,
    "海象 -的": lambda text: "海象" in text and "的" not in text,
    "山羊 OR 海象": lambda text: "山羊" in text or "海象" in text,
    "山羊 会": lambda text: "山羊" in text and "会" in text,
    "山羊 -会": lambda text: "山羊" in text and "会" not in text,
    "山羊 数据": lambda text: "山羊" in text and "数据" in text,
    '"山羊会"': lambda text: "山羊会" in text,
    '山羊 -"山羊会" -数据': lambda text: "山羊" in text and "山羊会" not in text and "数据" not in text,
}
"""What a look at every text finds."""

_runs, _sessions, _messages = RunRow.__table__, SessionRow.__table__, MessageRow.__table__  # type: ignore[attr-defined]


def run() -> list[Figure]:
    with rig.fresh_home("") as home:
        app = App(home, Settings.load(home), SystemClock())
        try:
            writes, syncs = _writes(app), _syncs(home.root)
            text, expected = _fill(app)
            before = _pages(app)
            began = time.perf_counter()
            app.sessions.put_in(lambda: False)
            built = time.perf_counter() - began
            index = _pages(app) - before
            return [
                *_searches(app),
                _right(app, expected),
                Figure(
                    name="index of words, share of the text", value=index / text, unit="", limit=SHARE,
                    note=f"{index / 1e6:.1f} of {text / 1e6:.1f} MB, made in {built:.0f} s",
                ),
                Figure(
                    name="messages kept, three a commit", value=writes, unit="/s", floor=WRITES_FLOOR,
                    note=f"the disk alone: {syncs:.0f} syncs a second",
                ),
            ]  # fmt: skip
        finally:
            app.close()


def _searches(app: App) -> list[Figure]:
    took: dict[str, list[float]] = {name: [] for name in PROBES}
    for _ in range(TIMES):
        for name, words in PROBES.items():
            began = time.perf_counter()
            app.sessions.search(Wanted(words=words))
            took[name].append((time.perf_counter() - began) * 1000)
    every = sorted(value for values in took.values() for value in values)
    p99 = every[int(len(every) * 0.99)]
    slowest = sorted(took, key=lambda name: -sorted(took[name])[TIMES // 2])[:3]
    note = "; ".join(f"{name} {spread(took[name])}" for name in slowest)
    return [Figure(name=f"search of {MESSAGES:,} messages, p99", value=p99, unit="ms", limit=P99_MS, note=note)]


def _right(app: App, expected: dict[str, int]) -> Figure:
    found = {words: app.sessions.search(Wanted(words=words)).count for words in expected}
    wrong = [words for words, count in expected.items() if found[words] != count]
    note = ", ".join(f"{words} {count}" for words, count in expected.items())
    return Figure(name="  counts that are wrong", value=len(wrong), unit="", limit=0, note=note)


def _fill(app: App) -> tuple[int, dict[str, int]]:
    """Runs that ended, with their messages; the bytes that they say, and how often each of ``RIGHT`` is said."""
    said, text = _texts(), 0
    expected = dict.fromkeys(RIGHT, 0)
    for first in range(0, MESSAGES // A_SESSION, 100):
        runs, sessions, messages = [], [], []
        for number in range(first, min(first + 100, MESSAGES // A_SESSION)):
            at = BEGAN + timedelta(minutes=number)
            run_id, session = f"r{number:07}", f"{number:032x}"
            runs.append({
                "id": run_id, "job_name": f"job {number % 50}", "cause": "schedule", "spec": "{}", "state": "ok",
                "late": False, "queued_at": at, "ended_at": at, "fence": 1, "silent": False, "actor": "bench",
            })  # fmt: skip
            sessions.append({"id": session, "run_id": run_id, "kind": "main", "started_at": at, "ended_at": at})
            for seq in range(1, A_SESSION + 1):
                content = next(said)
                text += len(content.encode())
                for words, says in RIGHT.items():
                    expected[words] += says(content)
                role = ("user", "assistant", "tool", "assistant")[seq % 4]
                body = json.dumps({"role": role, "content": content}, ensure_ascii=False).encode()
                messages.append({"session_id": session, "seq": seq, "role": role, "body": body, "at": at})
        for table, rows in ((_runs, runs), (_sessions, sessions), (_messages, messages)):
            app.store.write(lambda conn, table=table, rows=rows: conn.execute(table.insert(), rows))
    return text, expected


def _texts() -> Iterator[str]:
    chance = random.Random(7)
    english = ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(2, 10))) for _ in range(20_000)]
    signs = [chr(0x4E00 + at) for at in chance.sample(range(20_000), 4_000)]
    chinese = ["".join(chance.choices(signs, k=chance.choice((1, 2, 2, 2, 3)))) for _ in range(20_000)]

    def word(of: list[str]) -> str:
        return of[min(len(of), int(chance.paretovariate(0.8))) - 1]

    for number in range(MESSAGES):
        if number % 2:
            parts = [word(english) for _ in range(chance.randint(10, 90))]
            glue = " "
        else:
            parts = [word(chinese) for _ in range(chance.randint(10, 90))]
            glue = "" if number % 4 else "，"
        for every, planted in PLANTED:
            if number % every == every // 2:
                parts.insert(chance.randrange(len(parts)), f" {planted} " if planted.isascii() else planted)
        yield glue.join(parts)


def _pages(app: App) -> int:
    with app.store.read() as conn:
        pages, free, size = (
            int(conn.exec_driver_sql(f"PRAGMA {name}").scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def _syncs(folder: Path) -> float:
    """How often the disk makes 12 KB durable in a second: a commit's bound."""
    count, began = 0, time.perf_counter()
    with (folder / "synced").open("wb") as file:
        while (took := time.perf_counter() - began) < 0.5:
            file.write(b"x" * 12_288)
            file.flush()
            os.fdatasync(file.fileno())
            count += 1
    return count / took


def _writes(app: App) -> float:
    """Messages a second, each commit durable and fenced as a run's own, beside no others."""
    from hermes_cron.domain.transcript import Header
    from hermes_cron.store.journal import _SAID, SqlJournal

    at = BEGAN - timedelta(days=1)
    row = {
        "id": "writes", "job_name": "writes", "cause": "manual", "spec": "{}", "state": "running", "late": False,
        "queued_at": at, "fence": 1, "silent": False, "actor": "bench",
    }  # fmt: skip
    app.store.write(lambda conn: conn.execute(_runs.insert(), row))
    journal = SqlJournal.begin(app.store, app.clock, run_id="writes", fence=1, header=Header(system=""))
    body = json.dumps({"role": "user", "content": "x" * 300}).encode()
    began = time.perf_counter()
    for seq in range(1, WRITES, 3):
        rows = [
            {"session_id": journal.session_id, "seq": at_seq, "role": "user", "body": body, "at": at}
            for at_seq in range(seq, seq + 3)
        ]
        journal._write(lambda conn, _now, rows=rows: _SAID.run_all(conn, rows))
    return WRITES / (time.perf_counter() - began)

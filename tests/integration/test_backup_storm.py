"""A backup that is taken while everything is being written is one moment's state of the store, and whole.

Three seconds in the suite; ``HERMES_CRON_STORM_S=60`` makes it the minute that was promised.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

from hermes_cron.home import Home
from hermes_cron.store.engine import Store
from tests.conftest import RunCli
from tests.serving import until

STORM_S = float(os.environ.get("HERMES_CRON_STORM_S", "3"))

WRITER = """
import itertools, sys
from pathlib import Path
from hermes_cron.clock import SystemClock
from hermes_cron.snapshots.repository import SnapshotRepository, Why, Write
from hermes_cron.store.engine import Store

root, me = Path(sys.argv[1]), sys.argv[2]
history = SnapshotRepository(root, SystemClock())
with Store(root / "state.db") as store:
    def both(conn):
        # what one transaction writes is in a backup whole or not at all
        conn.exec_driver_sql("INSERT INTO meta (key, value) VALUES (?, ?)", (f"{me}-{n}", "x" * 500))
        conn.exec_driver_sql("INSERT INTO counters (name, labels, value) VALUES (?, ?, 1)", (f"{me}-{n}", ""))

    for n in itertools.count():
        report = root / "outputs" / me / f"{n}.md"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(f"report {n} " * 50)
        store.write(both)
        if n % 20 == 0:
            edits = {f"jobs/{me}-{part}.md": Write(data=b"%d" % n) for part in "ab"}
            history.change(Why(actor="run", reason=f"change {n}"), edits)
"""


def test_a_backup_during_a_write_storm_restores_whole(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    Store(home.store).close()
    with ExitStack() as stack:
        writers = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", WRITER, str(home.root), name]))
            for name in ("one", "two", "three")
        ]
        try:
            until(lambda: len(list(home.jobs.glob("*-b.md"))) == 3, "all of them write")
            end = time.monotonic() + STORM_S
            made = []
            while not made or time.monotonic() < end:
                done = run_cli("backup", "create", str(tmp_path / f"{len(made)}.tar.gz"), "--json", timeout=120)
                assert done.rc == 0, done.err
                made.append(json.loads(done.out))
                assert [writer.poll() for writer in writers] == [None] * 3, "a writer was hurt"
        finally:
            for writer in writers:
                writer.kill()
    counts = [backup["store"]["rows"]["meta"] for backup in made]
    assert counts == sorted(counts)
    assert counts[0] > 0
    for number in {0, len(made) - 1}:
        proved = run_cli("backup", "verify", made[number]["file"], "--json")
        assert proved.rc == 0, proved.err
        whole(run_cli, made[number]["file"], tmp_path / f"new {number}", counts[number])


def whole(run_cli: RunCli, file: str, to: Path, rows: int) -> None:
    restored = run_cli("backup", "restore", file, "--to", str(to))
    assert restored.rc == 0, restored.err
    with closing(sqlite3.connect(to / "state.db")) as conn:
        keys = {key for (key,) in conn.execute("SELECT key FROM meta")}
        assert keys == {name for (name,) in conn.execute("SELECT name FROM counters")}
    assert len(keys) == rows
    reports = {f"{path.parent.name}-{path.stem}" for path in (to / "outputs").rglob("*.md")}
    assert keys <= reports, "a report that the store names is missing"
    for name in ("one", "two", "three"):
        parts = [(to / "jobs" / f"{name}-{part}.md").read_bytes() for part in "ab"]
        assert parts[0] == parts[1], "half of a change"
    listed = run_cli("list", "--json", at=Home(to))
    assert listed.rc == 0, listed.err

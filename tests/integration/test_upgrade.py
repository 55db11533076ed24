"""``upgrade``: what it says, what it keeps, whom it waits for, and what is there when it is killed on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.scheduler.owners import Owner
from hermes_cron.store.engine import Store
from hermes_cron.store.migrate import StoreLock, newest
from tests.conftest import Ran, RunCli, clean_env
from tests.old_stores import OLDER, contents, old_store, schema_of

STRACE = shutil.which("strace")
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "rename", "unlink", "ftruncate")
POINTS = 12
"""Of them, spread over all that an upgrade does; the first and the last among them."""


@pytest.fixture
def old(home: Home) -> Home:
    old_store(home.store, OLDER[0])
    (home.jobs / "a.md").write_text("---\nschedule: every day 9am\ntimezone: UTC\n---\nlook\n")
    (home.outputs / "a").mkdir(parents=True)
    (home.outputs / "a" / "r1.md").write_text("a report")
    return home


def backups(home: Home) -> list[Path]:
    folder = home.root / "backups"
    return sorted(path for path in folder.iterdir() if path.suffix == ".gz") if folder.exists() else []


def files(home: Home) -> dict[str, bytes]:
    """What is a person's."""
    return {
        str(path.relative_to(home.root)): path.read_bytes()
        for top in (home.jobs, home.skills, home.memories, home.outputs)
        for path in top.rglob("*")
        if path.is_file()
    } | {"config.toml": home.config.read_bytes()}


def test_a_dry_run_says_what_would_be_done_and_does_nothing(old: Home, run_cli: RunCli) -> None:
    before, store = sorted(old.root.rglob("*")), old.store.read_bytes()
    done = run_cli("upgrade", "--dry-run")
    assert done.rc == 0, done.err
    assert f"The store would go from schema {OLDER[0]} to {newest()}; nothing was changed." in done.out
    assert "brings  Runs that survive their owner, money, checks, deliveries and incidents" in done.out
    said = json.loads(run_cli("upgrade", "--dry-run", "--json").out)
    assert (said["found"], said["newest"], said["upgraded"]) == (OLDER[0], newest(), False)
    assert sorted(old.root.rglob("*")) == before
    assert old.store.read_bytes() == store


@pytest.mark.parametrize("schema", OLDER)
def test_counts_and_hashes_are_kept_and_the_backup_holds_the_old_home(
    home: Home, run_cli: RunCli, tmp_path: Path, schema: int
) -> None:
    old_store(home.store, schema)
    (home.jobs / "a.md").write_text("---\nschedule: every day 9am\ntimezone: UTC\n---\nlook\n")
    home.outputs.mkdir()
    before, texts = contents(home.store), files(home)
    done = run_cli("upgrade")
    assert done.rc == 0, done.err
    assert f"The store went from schema {schema} to {newest()}." in done.out
    rows = sum(len(found) for found in before["rows"].values())
    assert f"kept      {len(before['rows'])} tables with {rows} rows: every value as before" in done.out
    assert schema_of(home.store) == newest()
    assert contents(home.store, before["shape"]) == before
    assert files(home) == texts
    (backup,) = backups(home)
    assert str(backup) in done.out
    assert run_cli("backup", "restore", str(backup), "--to", str(tmp_path / "undone")).rc == 0
    assert schema_of(tmp_path / "undone" / "state.db") == schema
    assert contents(tmp_path / "undone" / "state.db") == before
    assert sorted(path.name for path in home.root.iterdir() if path.name.startswith("state.db")) == ["state.db"]
    again = run_cli("upgrade")
    assert (again.rc, again.out) == (0, f"Nothing to upgrade: the store has schema {newest()}.\n")
    assert backups(home) == [backup]


def test_the_home_as_it_was_is_a_snapshot(old: Home, run_cli: RunCli) -> None:
    said = json.loads(run_cli("upgrade", "--json").out)
    log = subprocess.run(
        ["git", f"--git-dir={old.root / 'snapshots.git'}", "log", "-1", "--format=%H %an %s"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    reason = f"before the upgrade from schema {OLDER[0]} to {newest()}"
    assert log.stdout == f"{said['snapshot']} upgrade {reason}\n"


def test_it_waits_for_nobody_and_says_how_to_stop_serve(old: Home, run_cli: RunCli) -> None:
    """With the locks that a scheduler of the version before holds: this version's would have upgraded the store."""
    lock = StoreLock(old.store)
    lock.share()
    try:
        with Owner(old.owners, kind="serve", started_at=datetime(2026, 11, 30, tzinfo=UTC)):
            refused = run_cli("upgrade", "--json")
    finally:
        lock.close()
    assert refused.rc == 5, refused.out
    said = json.loads(refused.err)["error"]
    assert said["message"] == f"`hermes-cron serve` (pid {os.getpid()}) has the store open; nothing was changed"
    assert said["hint"] == f"stop it, then repeat: kill {os.getpid()}"
    assert backups(old) == []
    assert schema_of(old.store) == OLDER[0]


def test_it_is_refused_while_a_command_has_the_store_open(old: Home, run_cli: RunCli) -> None:
    lock = StoreLock(old.store)
    lock.share()
    try:
        refused = run_cli("upgrade")
    finally:
        lock.close()
    assert refused.rc == 5
    assert "another hermes-cron has the store open; nothing was changed" in refused.err


def test_a_home_whose_backup_cannot_be_made_is_not_upgraded(old: Home, run_cli: RunCli) -> None:
    (old.root / "backups").write_text("a file where the folder belongs")
    before = contents(old.store)
    refused = run_cli("upgrade")
    assert refused.rc == 1
    assert contents(old.store) == before
    assert schema_of(old.store) == OLDER[0]


def test_the_first_command_after_an_install_upgrades_by_itself(old: Home, run_cli: RunCli) -> None:
    before = contents(old.store)
    assert run_cli("incidents", "list", "--json").rc == 0
    assert schema_of(old.store) == newest()
    assert contents(old.store, before["shape"]) == before
    assert schema_of(old.root / f"state.db.before-{newest()}") == OLDER[0]


# --- killed ----------------------------------------------------------------------------------------------------------


def traced(home: Home, *options: str) -> Ran:
    done = subprocess.run(
        [str(STRACE), "-f", "-qq", *options, sys.executable, "-m", "hermes_cron", "upgrade"],
        env=clean_env({"HERMES_CRON_HOME": str(home.root)}), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower() and "permitted" in done.stderr.lower():
        pytest.skip("this host forbids ptrace")
    return Ran(done.returncode, done.stdout, done.stderr)


def points(home: Home, trace: Path) -> list[str]:
    """Where an upgrade of a home writes, as strace counts: the nth call of a kind."""
    assert traced(home, "-o", str(trace), "-e", f"trace={','.join(CALLS)}").rc == 0
    count: Counter[str] = Counter()
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        if match := re.match(r"\d+ +(\w+)\(", line):
            count[match[1]] += 1
            found.append(f"{match[1]}:{count[match[1]]}")
    # the last write is what it prints
    return [found[round(at * (len(found) - 2) / (POINTS - 1))] for at in range(POINTS)]


@pytest.mark.skipif(STRACE is None, reason="needs strace, which kills at a chosen system call")
def test_killed_at_any_point_the_store_is_the_old_or_the_new_and_the_next_upgrade_says_which(
    tmp_path: Path, run_cli: RunCli
) -> None:
    first = fresh(tmp_path / "counted")
    before, texts = contents(first.store), files(first)
    seen: Counter[str] = Counter()
    for number, point in enumerate(points(first, tmp_path / "trace")):
        home = fresh(tmp_path / f"home {number}")
        call, _, when = point.partition(":")
        killed = traced(home, "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}")
        assert killed.rc != 0, f"{point}: the kill came too late to test anything"
        seen[_check_after_kill(home, run_cli, before, point)] += 1
        assert files(home) == texts
    assert min(seen[state] for state in ("old", "old, told", "new, told")) > 0, seen


def fresh(root: Path) -> Home:
    home = Home(root)
    home.jobs.mkdir(parents=True)
    home.config.write_text('timezone = "UTC"\n')
    (home.jobs / "a.md").write_text("---\nschedule: every day 9am\ntimezone: UTC\n---\nlook\n")
    old_store(home.store, OLDER[0])
    return home


def _check_after_kill(home: Home, run_cli: RunCli, before: dict[str, Any], point: str) -> str:
    told = (home.run / "upgrade.json").exists()
    for backup in backups(home):
        assert run_cli("backup", "verify", str(backup)).rc == 0, f"{point}: a backup with a name is whole"
    again = run_cli("upgrade", "--json", at=home)
    assert again.rc == 0, f"{point}: {again.err}"
    said = json.loads(again.out)
    state = "old" if said["upgraded"] else "new"
    assert said["found"] == (OLDER[0] if state == "old" else newest())
    if told:
        assert said["unfinished"]["store"] == state
        assert f"did not end; the store is the {state} one" in again.err
        assert Path(said["unfinished"]["backup"]).exists()
    else:
        assert said["unfinished"] is None
    assert schema_of(home.store) == newest()
    assert contents(home.store, before["shape"]) == before, point
    assert not (home.run / "upgrade.json").exists()
    with Store(home.store) as store, store.read() as conn:
        assert conn.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    return f"{state}, told" if told else state


def test_the_backup_of_an_upgrade_that_died_this_very_second_does_not_stop_the_next(tmp_path: Path) -> None:
    from hermes_cron.upgrade import _free

    wanted = tmp_path / "before.tar.gz"
    assert _free(wanted) == wanted
    wanted.touch()
    (tmp_path / "2-before.tar.gz").touch()
    assert _free(wanted) == tmp_path / "3-before.tar.gz"

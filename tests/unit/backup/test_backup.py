"""A backup holds what the home holds, says what it does not, and becomes the same home again."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_cron.backup import create as creating
from hermes_cron.backup import history
from hermes_cron.backup.create import Created, create, default_name
from hermes_cron.backup.manifest import Key
from hermes_cron.backup.restore import restore
from hermes_cron.backup.steady import Unreadable, steady
from hermes_cron.backup.verify import verify
from hermes_cron.errors import BackupDamaged, Conflict, NotFound, StoreDamaged
from hermes_cron.files import TEMP_PREFIX
from hermes_cron.home import Home
from hermes_cron.snapshots.repository import SnapshotRepository, Why
from hermes_cron.store.engine import Store
from hermes_cron.testing import FixedClock
from tests.kill_rig import until

AT = datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)
INSERT = "INSERT INTO meta (key, value) VALUES (?, ?)"
NOT_KEPT = {".git", "run", "work", "logs", "backups", "vault.key", "state.db", "state.db-wal", "state.db-shm"}


def backed_up(home: Home, name: str = "b.tar.gz", *, with_key: bool = False) -> Created:
    return create(home.root, home.root.parent / name, at=AT, version="9.9", with_key=with_key)


def tree(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """Everything below: mode, and a file's bytes or a link's target. Without what no backup has."""
    found = {}
    top = os.fsencode(root)
    for inner, folders, files in os.walk(top):
        for name in [*folders, *files]:
            place = os.path.join(inner, name)
            path = os.path.relpath(place, top)
            if path.split(b"/")[0].decode() in NOT_KEPT or path.endswith((b"hermes-cron.lock", b"hermes-cron-stat")):
                continue
            mode = os.lstat(place).st_mode
            if stat.S_ISLNK(mode):
                found[path] = (0, os.readlink(place))
            elif stat.S_ISREG(mode):
                found[path] = (stat.S_IMODE(mode), Path(os.fsdecode(place)).read_bytes())
            elif stat.S_ISDIR(mode):
                found[path] = (stat.S_IMODE(mode), b"")
    return found


@pytest.fixture
def odd(home: Home) -> Iterator[Home]:
    """Whatever a file system allows."""
    (home.jobs / "a.md").write_bytes(b"\xef\xbb\xbfwith a BOM\r\n")
    (home.jobs / "a.md").chmod(0o640)
    (home.jobs / "empty.md").touch()
    deep = home.skills / "ops" / "one" / "scripts"
    deep.mkdir(parents=True)
    (deep / "run.sh").write_text("#!/bin/sh\n")
    (deep / "run.sh").chmod(0o755)
    (home.skills / "nothing in it").mkdir()
    (home.skills / ("n" * 200) / ("m" * 200)).mkdir(parents=True)
    (home.skills / ("n" * 200) / ("m" * 200) / "长名字🦀.md").write_text("long")
    Path(os.fsdecode(os.fsencode(home.jobs) + b"/not utf-8 \xff\xfe\nline.md")).write_bytes(b"odd name")
    (home.skills / "out").symlink_to("/etc/hostname")
    (home.skills / "up").symlink_to("../../elsewhere")
    (home.skills / "nowhere").symlink_to("nothing-there")
    home.outputs.mkdir()
    (home.outputs / "large.bin").write_bytes(os.urandom(3_000_000))
    locked = home.outputs / "locked"
    locked.mkdir()
    (locked / "kept.md").write_text("kept")
    locked.chmod(0o555)
    home.logs.mkdir()
    (home.logs / "serve.log").write_text("a line\n")
    (home.root / "my-scripts").mkdir()
    (home.root / "my-scripts" / "x.py").write_text("x")
    (home.root / ".git").mkdir()
    (home.run / "owners" / "x.lock").touch()
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(home.jobs / "sock"))
        SnapshotRepository(home.root, FixedClock(AT)).create(Why(actor="cli", reason="first"))
        with Store(home.store) as store:
            store.write(lambda conn: conn.exec_driver_sql(INSERT, ("k", "v")))
        yield home
    locked.chmod(0o755)


def test_what_is_restored_is_what_was_there_by_path_mode_and_bytes(odd: Home, tmp_path: Path) -> None:
    made = backed_up(odd)
    done = restore(made.file, tmp_path / "new")
    assert tree(tmp_path / "new") == tree(odd.root)
    assert set(done.outside) == {"skills/out", "skills/up"}
    with Store(tmp_path / "new" / "state.db") as store, store.read() as conn:
        assert conn.exec_driver_sql("SELECT key, value FROM meta").all() == [("k", "v")]
    repository = SnapshotRepository(tmp_path / "new", FixedClock(AT))
    head = repository.head()
    assert head is not None
    assert head.reason == "first"
    assert repository.create(Why(actor="cli", reason="again")).after is None, "the restored files are the last commit's"
    (tmp_path / "new" / "outputs" / "locked").chmod(0o755)


def test_what_is_not_in_it_is_named(odd: Home) -> None:
    manifest = verify(backed_up(odd).file).manifest
    assert {each.path: each.why for each in manifest.left_out} == {
        "jobs/sock": "no plain file",
        ".git": "begins with a dot: no part of a home",
    }
    tops = {entry.path.split("/")[0] for entry in manifest.entries}
    assert not tops & (NOT_KEPT - {"state.db"})
    assert "my-scripts" in tops


def test_usual_tools_open_it(odd: Home, tmp_path: Path) -> None:
    file = backed_up(odd).file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert subprocess.run(["gzip", "-t", str(file)], check=False, capture_output=True).stderr == b""
    (tmp_path / "by tar").mkdir()
    done = subprocess.run(["tar", "xzpf", str(file), "-C", str(tmp_path / "by tar")], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    unpacked = tmp_path / "by tar" / "hermes-cron-backup" / "home"
    assert tree(unpacked) == tree(odd.root)
    (unpacked / "outputs" / "locked").chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_fault_that_is_named(home: Home) -> None:
    (home.jobs / "mine.md").write_text("x")
    (home.jobs / "mine.md").chmod(0)
    (left,) = backed_up(home).proof.manifest.left_out
    assert (left.path, left.fault) == ("jobs/mine.md", True)


def test_a_file_that_the_disk_does_not_give_is_told_from_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """The kernel gives no byte at the beginning of this one, as a broken disk would not."""
    with pytest.raises(Unreadable, match="error"), steady(b"/proc/self/mem", tmp_path):
        pass


GROW = """
import sys
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(b"y")
"""


def test_a_file_that_never_holds_still_is_said(home: Home) -> None:
    growing = home.root / "growing.log"
    growing.write_bytes(b"x" * 20_000_000)
    writer = subprocess.Popen([sys.executable, "-c", GROW, str(growing)])
    try:
        until(lambda: growing.stat().st_size > 20_000_000, "somebody writes")
        made = backed_up(home)
    finally:
        writer.kill()
        writer.wait()
    assert made.proof.manifest.changed == ("growing.log",)
    assert verify(made.file).manifest.changed == ("growing.log",)


@pytest.mark.parametrize("key", [*Key])
def test_where_the_key_is_is_said(home: Home, key: Key) -> None:
    if key is not Key.NONE:
        home.vault.write_text("{}")
    if key in (Key.INCLUDED, Key.LEFT_OUT):
        home.vault_key.write_text("k")
    made = backed_up(home, with_key=key is Key.INCLUDED)
    assert made.proof.manifest.key is key
    assert ("vault.key" in {entry.path for entry in made.proof.manifest.entries}) is (key is Key.INCLUDED)


def test_a_name_that_is_taken_is_left_alone(home: Home) -> None:
    taken = home.root.parent / "b.tar.gz"
    taken.write_text("mine")
    with pytest.raises(Conflict, match="is there already"):
        backed_up(home)
    assert taken.read_text() == "mine"


def test_a_damaged_store_makes_no_backup(home: Home) -> None:
    Store(home.store).close()
    whole = home.store.read_bytes()
    home.store.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises((BackupDamaged, StoreDamaged)):
        backed_up(home)
    assert [path for path in home.root.parent.iterdir() if path != home.root] == []


def loose_history(home: Home) -> Path:
    """A history with one commit of one file, each object a file of its own; the folder of the objects."""
    import pygit2

    repository = pygit2.init_repository(str(home.root / "snapshots.git"), bare=True, initial_head="main")
    builder = repository.TreeBuilder()
    builder.insert("a.md", repository.create_blob(b"x"), pygit2.enums.FileMode.BLOB)
    who = pygit2.Signature("cli", "cli@hermes-cron", int(AT.timestamp()), 0)
    repository.create_commit("refs/heads/main", who, who, "first", builder.write(), [])
    return home.root / "snapshots.git" / "objects"


def test_a_history_is_counted(home: Home) -> None:
    loose_history(home)
    found = backed_up(home).proof.history
    assert found is not None
    assert (found.commits, found.objects) == (1, 3)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("how", ["damaged", "missing", "another's"])
def test_a_history_that_is_not_whole_makes_no_backup(home: Home, which: int, how: str) -> None:
    objects = sorted(loose_history(home).glob("??/*"))
    objects[which].chmod(0o600)
    if how == "missing":
        objects[which].unlink()
    else:
        objects[which].write_bytes(b"nothing git writes" if how == "damaged" else objects[which - 1].read_bytes())
    with pytest.raises(BackupDamaged, match="no backup was made: the history in it is damaged"):
        backed_up(home)
    assert list(home.root.parent.iterdir()) == [home.root]


def test_a_change_that_is_under_way_is_waited_for(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a change is in no backup: whoever changes the home holds its history."""
    monkeypatch.setattr(history, "_WAIT_S", 0.1)
    snapshots = SnapshotRepository(home.root, FixedClock(AT))
    snapshots.create(Why(actor="cli", reason="first"))
    with snapshots.alone(), pytest.raises(Conflict, match="another hermes-cron has held"):
        backed_up(home)
    assert list(home.root.parent.iterdir()) == [home.root]
    assert backed_up(home).proof.history is not None


def test_what_a_killed_maker_left_goes_with_the_next_and_a_living_ones_stays(home: Home) -> None:
    beside = home.root.parent
    stray = beside / f"{TEMP_PREFIX}backup-0000"
    (stray / "proof").mkdir(parents=True)
    (stray / "proof" / "f").touch()
    (stray / "proof").chmod(0o500)
    from hermes_cron.backup.staging import staging

    with staging(beside) as living:
        assert not stray.exists()
        backed_up(home)
        assert living.exists()
    assert sorted(path.name for path in beside.iterdir()) == ["b.tar.gz", "home"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".hermes-cron", "hermes-cron-2026-11-30T120005Z.tar.gz"),
        ("home", "hermes-cron-home-2026-11-30T120005Z.tar.gz"),
        ("我的 home", "hermes-cron-我的-home-2026-11-30T120005Z.tar.gz"),
        ("", "hermes-cron-2026-11-30T120005Z.tar.gz"),
    ],
)
def test_the_name_says_which_home_and_when(name: str, expected: str) -> None:
    assert default_name(Path("/") / name, AT) == expected


# --- restore ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_empty_is_refused(home: Home, tmp_path: Path) -> None:
    file = backed_up(home).file
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    with pytest.raises(Conflict, match="is not empty"):
        restore(file, tmp_path / "there")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(Conflict, match="is not empty"):
        restore(file, tmp_path / "link")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]


def test_an_empty_folder_and_one_that_is_not_there_are_filled(home: Home, tmp_path: Path) -> None:
    file = backed_up(home).file
    (tmp_path / "empty").mkdir()
    for to in (tmp_path / "empty", tmp_path / "deeper" / "new"):
        restore(file, to)
        assert tree(to) == tree(home.root)


def test_a_restore_that_fails_leaves_nothing(home: Home, tmp_path: Path) -> None:
    file = backed_up(home).file
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BackupDamaged):
        restore(file, tmp_path / "new")
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verify(tmp_path / "none.tar.gz")


def test_a_home_without_store_and_history_is_backed_up_too(home: Home, tmp_path: Path) -> None:
    made = backed_up(home)
    assert (made.proof.store, made.proof.history) == (None, None)
    restore(made.file, tmp_path / "new")


def test_the_copied_store_is_one_moment_of_a_store_that_is_open(home: Home, tmp_path: Path) -> None:
    """Rows that lie in the write-ahead log only: a plain copy of the file would not have them."""
    with Store(home.store) as store:
        store.write(lambda conn: conn.exec_driver_sql(INSERT, ("in the log", "x")))
        assert (home.root / "state.db-wal").stat().st_size > 0
        file = backed_up(home).file
    restore(file, tmp_path / "new")
    with closing(sqlite3.connect(tmp_path / "new" / "state.db")) as conn:
        assert conn.execute("SELECT key FROM meta").fetchall() == [("in the log",)]


def test_a_home_is_found_wrong_where_the_manifest_counts_other_rows(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(home.store).close()
    facts = creating.store_copy.facts
    monkeypatch.setattr(
        creating.store_copy, "facts",
        lambda path: type(facts(path))(schema=2, rows={**facts(path).rows, "jobs": 7}) if "proof" not in str(path)
        else facts(path),
    )  # fmt: skip
    with pytest.raises(BackupDamaged, match="the store in it is damaged"):
        backed_up(home)

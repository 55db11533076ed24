"""A full disk and a home that cannot be written: a change is refused in one line, and nothing is changed."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron import files
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig
from tests.conftest import clean_env

SCRIPT = """
import sys
from pathlib import Path
from hermes_cron.errors import HermesCronError
from hermes_cron.snapshots.history import carry_out, plan_restore
from hermes_cron.snapshots.repository import Write
from tests import snapshots_rig as rig

snapshots = rig.repository(Path(sys.argv[1]))
size, act = int(sys.argv[2]), sys.argv[3]
try:
    if act == "change":
        text = bytes(__import__("random").Random(1).randbytes(size))
        snapshots.change(rig.run(), {f"jobs/{number}.md": Write(text + b"%d" % number) for number in range(20)})
    elif act == "create":
        snapshots.create(rig.cli())
    else:
        carry_out(snapshots, plan_restore(snapshots, list(snapshots.log())[-1], exact=True), rig.cli())
except HermesCronError as error:
    print(f"{error.code}|{error.message}|{error.hint}")
"""


def act(root: Path, size: int, what: str = "change", limit: int | None = None) -> str:
    """One act in a process of its own, perhaps with a limit for the size of a file; what it refused with."""

    def limited() -> None:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root), str(size), what], preexec_fn=limited, capture_output=True, text=True,
        env=clean_env(), cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def furnish(root: Path) -> None:
    rig.write(root, "config.toml", b"x = 1\n")
    for number in range(20):
        rig.write(root, f"jobs/{number}.md", b"old %d\n" % number)
    rig.repository(root).create(rig.cli("begin"))


def refused(said: str) -> None:
    code, message, hint = said.split("|")
    assert code in ("SnapshotFailed", "DiskFull", "NotWritable"), said
    assert "nothing was changed" in message
    assert "\n" not in said
    assert hint != "None"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root mounts")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "hermes-cron-test", str(folder)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("this host does not mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [5, 30, 60, 90])
def test_a_full_disk_is_met_before_anything_changed(small_disk: Path, kilobytes: int) -> None:
    """The disk is full at another moment each time: at the drafts, at the history."""
    root = small_disk / "home"
    furnish(root)
    free = shutil.disk_usage(small_disk).free
    (small_disk / "ballast").write_bytes(bytes(max(0, free - 600_000)))
    before = rig.state(root)
    said = act(root, kilobytes * 1000)
    if kilobytes == 5:
        assert said == ""
        assert rig.state(root) != before
    else:
        refused(said)
        assert "df -h" in said
        assert rig.state(root) == before
        assert not list(root.rglob(".hermes-cron-tmp-*"))
    (small_disk / "ballast").unlink()
    assert rig.repository(root).create(rig.cli()).after is None
    assert verify(rig.repository(root)).faults == ()
    assert rig.fsck(root) == []
    assert act(root, 1000) == ""


def test_a_hand_edit_that_cannot_be_kept_stops_the_change(small_disk: Path) -> None:
    root = small_disk / "home"
    furnish(root)
    rig.write(root, "jobs/hand.md", os.urandom(500_000))
    free = shutil.disk_usage(small_disk).free
    (small_disk / "ballast").write_bytes(bytes(free - 100_000))
    before = rig.state(root)
    refused(act(root, 10))
    refused(act(root, 10, "restore"))
    assert rig.state(root) == before
    (small_disk / "ballast").unlink()
    assert act(root, 10) == ""
    assert [commit.actor for commit in rig.repository(root).log()] == ["run", "user", "cli"]


@pytest.mark.parametrize("limit", [100, 3_000, 40_000])
def test_a_write_that_stops_half_way_is_no_change(tmp_path: Path, limit: int) -> None:
    root = tmp_path / "home"
    furnish(root)
    before = rig.state(root)
    refused(act(root, 50_000, limit=limit))
    assert rig.state(root) == before
    assert verify(rig.repository(root)).faults == ()
    assert rig.fsck(root) == []


def test_a_home_that_cannot_be_written_is_refused_and_can_be_looked_at(small_disk: Path) -> None:
    root = small_disk / "home"
    furnish(root)
    before = rig.state(root)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for what in ("change", "create", "restore"):
        refused(act(root, 10, what))
    assert rig.state(root) == before
    snapshots = rig.repository(root)
    assert [commit.reason for commit in snapshots.log()] == ["begin"]
    (fault,) = verify(snapshots).faults
    assert "Read-only" in fault.what
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert verify(snapshots).faults == ()


def test_a_full_disk_in_the_middle_of_putting_into_place_is_finished_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seldom, since what is to come lies ready; then the error says so and the next command goes on."""
    from hermes_cron.errors import SnapshotFailed
    from hermes_cron.snapshots.repository import Write

    root = tmp_path / "home"
    furnish(root)
    snapshots = rig.repository(root)
    exchange, count = files.exchange, iter(range(100))

    def full(one: bytes, other: bytes) -> bool:
        if next(count) == 3:
            raise OSError(28, "No space left on device")
        return exchange(one, other)

    with monkeypatch.context() as patch:
        patch.setattr(files, "exchange", full)
        with pytest.raises(SnapshotFailed, match="the next command finishes it"):
            snapshots.change(rig.run(), {f"jobs/{number}.md": Write(b"new\n") for number in range(8)})
    assert len({(root / f"jobs/{number}.md").read_bytes() == b"new\n" for number in range(8)}) == 2
    assert rig.repository(root).settle()
    assert {(root / f"jobs/{number}.md").read_bytes() for number in range(8)} == {b"new\n"}
    assert verify(snapshots).faults == ()


def command(root: Path, *argv: str) -> tuple[int, str]:
    """Its code and all that it said."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cron", "--home", str(root), *argv], env=clean_env(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def fill(disk: Path, *, but: int) -> None:
    """Leave so many kilobytes."""
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    ballast.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - but * 1024)))


def test_a_full_disk_harms_no_store(small_disk: Path) -> None:
    root = small_disk / "home"
    assert command(root, "init", "--no-input")[0] == 0
    assert command(root, "add", "every day 9am: x", "--name", "x")[0] == 0
    fill(small_disk, but=0)
    for argv in (["list"], ["status"], ["edit", "x", "--prompt", "y"], ["pause", "x"], ["remove", "x", "-y"]):
        code, said = command(root, *argv)
        assert code == 1, said
        assert said.startswith("error: the store cannot be read: "), said
        assert "df -h" in said
    said = command(root, "doctor")[1]
    assert "state.db cannot be read" in said
    assert "is damaged" not in said
    assert "mv " not in said
    (small_disk / "ballast").unlink()
    assert "FAIL" not in command(root, "doctor")[1]


def test_what_is_done_before_the_disk_is_full_is_not_told_as_refused(small_disk: Path) -> None:
    root = small_disk / "home"
    assert command(root, "init", "--no-input")[0] == 0
    assert command(root, "add", "every day 9am: x", "--name", "x")[0] == 0
    seen: set[str] = set()
    for kilobytes in range(20, 80, 8):
        fill(small_disk, but=kilobytes)
        code, said = command(root, "add", "every day 9am: x", "--name", f"n{kilobytes}")
        is_there = (root / f"jobs/n{kilobytes}.md").exists()
        assert (code == 0 or "the change is made" in said) == is_there, said
        seen.add("added" if code == 0 else "half" if is_there else "refused")
        newest = rig.git(root, "rev-parse", "main").strip()
        code, said = command(root, "undo", newest, "-y")
        moved = rig.git(root, "rev-parse", "main").strip() != newest
        assert (code == 0 or "it is done, as snapshot" in said) == moved, said
        (small_disk / "ballast").unlink()
        assert command(root, "list")[0] == 0
    assert "half" in seen
    assert verify(rig.repository(root)).faults == ()

"""Files change in one step, and a write that fails leaves everything as it was."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_cron import files
from hermes_cron.errors import Conflict, DiskFull, NotWritable


def _only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_creates_and_replaces_without_strays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.write_atomic(path, b"1")
    files.write_atomic(path, b"2")
    assert path.read_bytes() == b"2"
    assert _only(tmp_path) == ["a"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_replacing_keeps_the_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    path.chmod(mode)
    files.write_atomic(path, b"2")
    files.replace_if_unchanged(path, b"3", hashlib.sha256(b"2").hexdigest())
    assert path.stat().st_mode & 0o777 == mode


def test_a_mode_is_exact_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files.write_atomic(tmp_path / "a", b"", mode=0o644)
        files.create_new(tmp_path / "b", b"", mode=0o640)
    finally:
        os.umask(old)
    assert [(tmp_path / n).stat().st_mode & 0o777 for n in "ab"] == [0o644, 0o640]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"1")
    link.symlink_to(real)
    files.write_atomic(link, b"2")
    assert link.is_symlink()
    assert real.read_bytes() == b"2"


def test_of_many_makers_of_one_name_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "job.md"

    def make(n: int) -> bool:
        try:
            files.create_new(path, str(n).encode() * 1000)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(make, range(16)))
    assert sum(won) == 1
    assert path.read_bytes() == str(won.index(True)).encode() * 1000
    assert _only(tmp_path) == ["job.md"]


@pytest.mark.parametrize("name", ["x" * 255, "检" * 85], ids=["ascii", "chinese"])
def test_the_longest_name_can_be_written(tmp_path: Path, name: str) -> None:
    files.create_new(tmp_path / name, b"1")
    files.write_atomic(tmp_path / name, b"2")
    assert (tmp_path / name).read_bytes() == b"2"


def test_a_changed_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"by hand")
    with pytest.raises(Conflict):
        files.replace_if_unchanged(path, b"new", hashlib.sha256(b"old").hexdigest())
    assert path.read_bytes() == b"by hand"
    assert _only(tmp_path) == ["a"]


def test_a_removed_file_is_not_made_again_by_a_replace(tmp_path: Path) -> None:
    with pytest.raises(Conflict):
        files.replace_if_unchanged(tmp_path / "a", b"new", hashlib.sha256(b"old").hexdigest())
    assert _only(tmp_path) == []


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotWritable, match="nothing was changed"):
        files.write_atomic(tmp_path / "no" / "a", b"")


def test_a_full_disk_keeps_the_old_file_and_leaves_no_stray(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes write() fail half way, as a full disk does (EFBIG for ENOSPC)."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    script = (
        "import pathlib, sys\n"
        "from hermes_cron import files\nfrom hermes_cron.errors import DiskFull\n"
        "try: files.write_atomic(pathlib.Path(sys.argv[1]), b'x' * 100_000)\n"
        "except DiskFull as error: print(error.message); raise SystemExit(7)\n"
    )

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(path)], preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    assert str(path) in done.stdout
    assert path.read_bytes() == b"old"
    assert _only(tmp_path) == ["a"]
    assert DiskFull.exit_code == 1


def test_a_killed_writer_leaves_the_old_file_and_its_stray_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    script = (
        "import os, pathlib, signal, sys\nfrom hermes_cron import files\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomic(pathlib.Path(sys.argv[1]), b'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    stray = next(name for name in _only(tmp_path) if files.is_temporary(name))
    written = (tmp_path / stray).stat().st_mtime
    assert files.remove_strays(tmp_path, before=written) == 0
    assert files.remove_strays(tmp_path, before=written + 1) == 1
    assert _only(tmp_path) == ["a"]


def test_a_folder_is_private_and_made_once(tmp_path: Path) -> None:
    assert files.make_folder(tmp_path / "a" / "b")
    assert not files.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotWritable):
        files.make_folder(tmp_path / "file")

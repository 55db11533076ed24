"""A home with everything that a history must keep, and what proves that it did."""

from __future__ import annotations

import os
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from hermes_cron.snapshots.repository import SnapshotRepository, Why, Write
from hermes_cron.testing import FixedClock

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ROOTS = ("jobs", "skills", "memories", "config.toml")

State = dict[bytes, tuple[str, int, bytes]]
"""By path below the home: kind, mode bits, bytes (a link's target)."""


def repository(root: Path, **options: object) -> SnapshotRepository:
    return SnapshotRepository(root, FixedClock(NOON), **options)  # type: ignore[arg-type]


def state(root: Path) -> State:
    """What lies there. Folders count when they are empty; temporary files do not."""
    found: State = {}
    for name in ROOTS:
        _look(os.fsencode(root), os.fsencode(name), found)
    return found


def _look(root: bytes, path: bytes, found: State) -> None:
    place = os.path.join(root, path)
    if not os.path.lexists(place):
        return
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode):
        found[path] = ("link", 0, os.readlink(place))
    elif stat.S_ISDIR(status.st_mode):
        names = os.listdir(place)
        for name in names:
            _look(root, os.path.join(path, name), found)
        if not names and b"/" in path:
            found[path] = ("folder", 0, b"")
    elif stat.S_ISREG(status.st_mode):
        with open(place, "rb") as file:
            found[path] = ("file", stat.S_IMODE(status.st_mode), file.read())


def git(root: Path, *argv: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={root / 'snapshots.git'}", *argv], capture_output=True, text=True, check=False,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fsck(root: Path) -> list[str]:
    """What git itself has to say against the history; objects that nothing needs are no fault."""
    done = subprocess.run(
        ["git", f"--git-dir={root / 'snapshots.git'}", "fsck", "--strict", "--full"],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if not line.startswith(("dangling ", "notice: HEAD points to an unborn"))]


def cli(reason: str = "a change") -> Why:
    return Why(actor="cli", reason=reason)


def run(reason: str = "an automated change", name: str = "r1") -> Why:
    return Why(actor="run", reason=reason, run=name)


def write(root: Path, path: str | bytes, data: bytes, mode: int = 0o644) -> Path:
    place = os.path.join(os.fsencode(root), os.fsencode(path))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(data)
    os.chmod(place, mode)
    return Path(os.fsdecode(place))


def automated(snapshots: SnapshotRepository, **files: str) -> str:
    """One automated change of ``jobs/NAME``; the id of its commit."""
    edits = {f"jobs/{name}": Write(text.encode()) for name, text in files.items()}
    after = snapshots.change(run(), edits).after
    assert after is not None
    return after.id


def furnish(home: Path) -> None:
    """What check 1 of the issue names, and more of each kind."""
    outside = home.parent / "outside"
    write(outside.parent, "outside/secret.txt", b"not of the home\n")
    write(home, "config.toml", b'timezone = "UTC"\n', 0o600)
    write(home, "jobs/inspect-db.md", b"---\nschedule: every day 9am\n---\nlook\n")
    write(home, "jobs/crlf.md", b"---\r\nschedule: every day 9am\r\n---\r\nlook\r\n")
    write(home, "jobs/\u68c0\u67e5\u6570\u636e\u5e93.md", "\ufeff---\nschedule: 每天9点\n---\n看看\n".encode())
    skill = "skills/db/inspect"
    write(home, f"{skill}/SKILL.md", b"# Inspect\n")
    write(home, f"{skill}/.gitignore", b"*\n")
    write(home, f"{skill}/.gitattributes", b"* text eol=lf\n*.bin filter=lfs\n")
    write(home, f"{skill}/scripts/a.sh", b"#!/bin/sh\r\necho hi\r\n", 0o755)
    write(home, f"{skill}/scripts/private.sh", b"#!/bin/sh\n", 0o700)
    write(home, f"{skill}/with space.txt", b"1")
    write(home, f"{skill}/new\nline.txt", b"2")
    write(home, f"{skill}/\U0001f600.txt", b"3")
    write(home, f"{skill}/".encode() + b"\xff\xfe.txt", b"4")
    write(home, f"{skill}/empty", b"")
    write(home, f"{skill}/big.bin", os.urandom(1000) * 5000)
    write(home, f"{skill}/same-as-link", b"../ext/y")
    (home / skill / "nothing" / "in" / "here").mkdir(parents=True)
    (home / skill / "y").symlink_to("../ext/y")
    (home / skill / "x").symlink_to(outside.resolve() / "secret.txt")
    (home / skill / "folder").symlink_to(outside.resolve())
    nested = home / "skills" / "nested"
    write(home, "skills/nested/SKILL.md", b"# Nested\n")
    subprocess.run(["git", "init", "-q", str(nested)], check=True)
    write(home, "memories/MEMORY.md", "a\n§\nb\n".encode(), 0o600)

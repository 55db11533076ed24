"""A process that has imported everything and forks one that changes a home, so that a kill costs no second of start-up.

Reads one JSON object a line: ``home`` and ``act``. Answers with the new process's id; that process stops itself until
somebody watches it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pygit2  # noqa: F401  # before the fork

from hermes_cron.snapshots import history, retention, verify
from hermes_cron.snapshots.repository import Remove, Write
from hermes_cron.snapshots.trees import Mode
from tests import snapshots_rig as rig


def edits() -> dict[str, Write | Remove]:
    """50 files: changed, made, made in new folders, removed, a folder in place of a file and the other way round."""
    found: dict[str, Write | Remove] = {f"jobs/j{number:02}.md": Write(b"new %d\n" % number) for number in range(30)}
    found |= {f"skills/s{number}/scripts/run.sh": Write(b"#!/bin/sh\n", mode=Mode.EXECUTABLE) for number in range(8)}
    found |= {f"jobs/j{number:02}.md": Remove() for number in range(30, 40)}
    return {**found, "skills/was-file/SKILL.md": Write(b"a folder\n"), "skills/was-folder": Write(b"a file\n")}


def prepare(home: Path) -> list[str]:
    """A home with a history; the ids of what ``undo`` takes back."""
    for number in range(40):
        rig.write(home, f"jobs/j{number:02}.md", b"old %d\nline\n" % number, 0o600 if number % 9 == 0 else 0o644)
    rig.write(home, "config.toml", b"timezone = 'UTC'\n")
    rig.write(home, "skills/was-file", b"a file\n")
    rig.write(home, "skills/was-folder/SKILL.md", b"a folder\n", 0o755)
    (home / "skills/empty/folder").mkdir(parents=True)
    (home / "skills/link").symlink_to("/nowhere")
    snapshots = rig.repository(home)
    snapshots.create(rig.cli("begin"))
    ids = [rig.automated(snapshots, **{f"j{number:02}.md": f"tonight {number}\n" for number in range(5, 20)})]
    rig.write(home, "jobs/j00.md", b"by hand\n")
    snapshots.create(rig.cli("by hand"))
    ids += [rig.automated(snapshots, **{f"new{number}.md": "x\n" for number in range(10)}) for _ in range(1)]
    ids += [rig.automated(snapshots, **{"j25.md": f"{number}\n"}) for number in range(6)]
    rig.write(home, "jobs/by-hand.md", b"not yet seen\n")
    return ids


def act(home: Path, name: str, ids: list[str]) -> None:
    snapshots = rig.repository(home)
    if name == "change":
        snapshots.change(rig.run("fifty files"), edits())
    elif name == "undo":
        history.carry_out(snapshots, history.plan_undo(snapshots, ids), rig.cli("undo"))
    elif name == "restore":
        first = snapshots.find(ids[0])
        assert first.parent is not None
        history.carry_out(snapshots, history.plan_restore(snapshots, snapshots.find(first.parent)), rig.cli("restore"))
    elif name == "gc":
        snapshots.clock.advance(timedelta(days=200))  # type: ignore[attr-defined]
        retention.gc(snapshots)
    elif name == "settle":
        verify.verify(snapshots)
    else:
        raise ValueError(name)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                os.kill(os.getpid(), signal.SIGSTOP)
                act(Path(wanted["home"]), wanted["act"], wanted["ids"])
                os._exit(0)
            finally:
                os._exit(70)
        print(child, flush=True)


if __name__ == "__main__":
    main()

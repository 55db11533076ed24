"""Commit what lies in a home as its user's edits, and once a day thin the history out. Run by ``serve`` in a process of
its own.

So a look at ten thousand files takes neither memory nor turns from a scheduler. ``python -m hermes_cron.keep_hand_edits
HOME INSTANT`` prints the snapshot's id, or nothing when the last one has it all; a fault is one line on stderr, exit 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from hermes_cron.errors import HermesCronError, SnapshotFailed

_LONGEST_S = 600.0
_NICE = 10


def elsewhere(root: Path, now: datetime) -> str | None:
    """The same in another process; the snapshot's id. Raises ``SnapshotFailed``."""
    argv = [sys.executable, "-m", __name__, str(root), now.isoformat()]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=_LONGEST_S,
            check=False, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SnapshotFailed(f"hand edits were not kept: {error}", hint="hermes-cron snapshots create") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise SnapshotFailed(f"hand edits were not kept: {said[-1]}", hint="hermes-cron doctor")
    return done.stdout.strip() or None


def here(root: Path, now: datetime) -> str | None:
    """The snapshot's id, None when nothing was new. Finishes what a dead process left; thins out when it is time."""
    from hermes_cron.home import Home
    from hermes_cron.snapshots.held import BY_HAND
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.snapshots.retention import gc_when_due
    from hermes_cron.vault.vault import Vault

    clock = _At(now)
    snapshots = SnapshotRepository(root, clock, forbidden=Vault(Home(root), clock).finder)
    made = snapshots.create(BY_HAND).after
    gc_when_due(snapshots)
    return None if made is None else made.id


class _At:
    """The clock of whoever asked."""

    poll_s: float | None = None

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now


def main() -> int:
    root, now = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2])
    os.nice(_NICE)
    try:
        made = here(root, now)
    except HermesCronError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(made or "")
    return 0


if __name__ == "__main__":
    sys.exit(main())

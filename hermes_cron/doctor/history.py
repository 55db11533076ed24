"""The snapshots: can they be read, is nothing half done or locked, and what do they not hold?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.errors import HermesCronError

if TYPE_CHECKING:
    from hermes_cron.snapshots.repository import SnapshotRepository

MOST = 5
SMALL = 100_000_000
"""Of a history of so many bytes every object is read; of a larger one those of the newest snapshot."""


def history(patient: Patient) -> Iterator[Finding]:
    git = patient.home.history
    if not git.exists():
        yield warning("no_history", "hermes-cron snapshots create")
        return
    snapshots = patient.app.snapshots_within(patient.wait_s)
    if sum(path.stat().st_size for path in (git / "objects" / "pack").glob("*.pack")) > SMALL:
        yield from _newest(snapshots)
        return
    from hermes_cron.snapshots.verify import verify

    found = verify(snapshots)
    for fault in found.faults[:MOST]:
        yield failure("history_fault", fault.mend, what=fault.what)
    if len(found.faults) > MOST:
        yield failure("more_faults", "hermes-cron snapshots verify", count=len(found.faults) - MOST)
    if not found.faults:
        yield fine("history_one" if found.commits == 1 else "history", count=found.commits)


def _newest(snapshots: SnapshotRepository) -> Iterator[Finding]:
    snapshots.settle()
    head = snapshots.head()
    if head is None:
        yield warning("no_history", "hermes-cron snapshots create")
        return
    objects = snapshots.objects()
    missing = sum(not objects.has(entry.oid) for entry in objects.files(head.tree).values())
    if missing:
        yield failure("history_holes", "hermes-cron snapshots verify", count=missing, id=head.id[:7])
    else:
        yield fine("history_large", id=head.id[:7])


def left_out(patient: Patient) -> Iterator[Finding]:
    """Files that no snapshot holds cannot be had back, and no command changes them."""
    if not patient.home.history.exists():
        return
    try:
        with patient.app.snapshots_within(patient.wait_s).alone() as held:
            _, found = held.seen()
    except HermesCronError:  # the check of the history says it
        return
    for each in found[:MOST]:
        yield warning("left_out", _look(patient.home.root / each.path), path=each.path, why=each.why)
    if len(found) > MOST:
        yield warning("more_left_out", "hermes-cron snapshots diff", count=len(found) - MOST)
    if not found:
        yield fine("all_kept")


def _look(path: Path) -> str:
    """A file is for its editor; anything else is for a look."""
    return f"${{EDITOR:-vi}} {shlex.quote(str(path))}" if path.is_file() else shlex.join(["ls", "-ld", str(path)])

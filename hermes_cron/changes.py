"""How does a person's command change a file of the home? Through the history, in that person's name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_cron.domain.file_edit import Drop, Edits, Put
from hermes_cron.errors import Conflict

if TYPE_CHECKING:
    from hermes_cron.snapshots.held import Remove, Write
    from hermes_cron.snapshots.repository import SnapshotRepository


class Changes:
    """The ``Change`` of one home. Only the paths that change are looked at: a home of 10,000 jobs costs no more."""

    def __init__(self, snapshots: SnapshotRepository, person: Callable[[], str] | None) -> None:
        self._snapshots = snapshots
        self._person = person

    def __call__(self, reason: str, edits: Callable[[], Edits], /, *, job: str | None = None) -> str | None:
        from hermes_cron.snapshots.commits import CLI, Why

        why = Why(actor=CLI, reason=reason, job=job, by=None if self._person is None else self._person())
        done = self._snapshots.change(why, lambda: as_kept(edits()), scope="paths")
        if done.kept:
            raise Conflict(
                f"{', '.join(done.kept)} was changed by hand within these moments; that version is kept",
                hint="look at it, then try again",
            )
        return None if done.after is None else done.after.id


def as_kept(edits: Edits) -> dict[str, Write | Remove]:
    """The edits in the words of the history."""
    return {path: _as_kept(edit) for path, edit in edits.items()}


def _as_kept(edit: Put | Drop) -> Write | Remove:
    from hermes_cron.snapshots.held import Remove, Write
    from hermes_cron.snapshots.trees import Mode, blob_id

    expect = b"" if edit.before is None else blob_id(edit.before)
    if isinstance(edit, Drop):
        return Remove(expect=expect)
    if edit.link:
        return Write(edit.data, mode=Mode.LINK, expect=expect)
    bits = _new_bits() if edit.bits is None and edit.before is None else edit.bits
    return Write(edit.data, bits=bits, expect=expect)


def _new_bits() -> int:
    """What the umask leaves of 0666. It can only be read by setting it; for that moment nobody else may read."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask

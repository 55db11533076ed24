"""Which of the things that were learned stand, after an undo or a restore? What the history says, commit by commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermes_cron.domain.learning import Kind, Learned, LearnedState

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.store.engine import Store

    Changed = Callable[[Commit], set[str]]

TAKEN = (LearnedState.UNDONE, LearnedState.REJECTED)


def path_of(change: Learned) -> str:
    """Where in the home it lies."""
    return f"{'memories' if change.kind is Kind.MEMORY else 'skills'}/{change.name}"


def turn(store: Store, snapshots: SnapshotRepository, touched: Collection[str], *, rejects: bool) -> int:
    """After a change that ``touched`` these paths: what went is undone (or ``rejects``: rejected), what came again is
    applied. How many rows changed their state."""
    from hermes_cron.store import learned

    with store.read() as conn:
        rows = [row for row in learned.done(conn) if row.after is not None and _touches(touched, path_of(row))]
    if not rows:
        return 0
    commits = list(snapshots.log())[::-1]
    known = {commit.id for commit in commits}
    stand = standing(commits, {row.after or "": path_of(row) for row in rows}, _changed(snapshots, commits))
    gone = [row.number for row in rows if row.after in known - stand]
    again = [row.number for row in rows if row.after in stand]
    became = LearnedState.REJECTED if rejects else LearnedState.UNDONE

    def work(conn: Connection) -> int:
        back = sum(learned.turn(conn, again, LearnedState.APPLIED, was=state) for state in TAKEN)
        return back + learned.turn(conn, gone, became)

    return store.write(work)


def _changed(snapshots: SnapshotRepository, commits: Sequence[Commit]) -> Changed:
    objects, by_id = snapshots.objects(), {commit.id: commit for commit in commits}

    def changed(commit: Commit) -> set[str]:
        before = None if commit.parent is None else by_id[commit.parent].tree
        return {os.fsdecode(path) for path, _, _ in objects.changed(before, commit.tree)}

    return changed


def _touches(paths: Iterable[str], path: str) -> bool:
    return any(path == each or each.startswith(f"{path}/") for each in paths)


@dataclass(slots=True)
class _Turned:
    """What one undo or restore took back and brought back."""

    off: set[str] = field(default_factory=set)
    on: set[str] = field(default_factory=set)


def standing(
    commits: Sequence[Commit], learned: Mapping[str, str], changed: Callable[[Commit], set[str]]
) -> set[str]:  # fmt: skip
    """The commits among ``learned`` (with the path of each) whose work is there after the last of ``commits``.

    These are oldest first. ``changed`` tells which paths one changed; only those of restores are asked for.
    """
    place = {commit.id for commit in commits}
    restored = {commit.restores for commit in commits if commit.restores}
    now: set[str] = set()
    then: dict[str, set[str]] = {}
    turned: dict[str, _Turned] = {}
    for commit in commits:
        if commit.restores in place:
            mine = {it for it, path in learned.items() if it in turned and _touches(changed(commit), path)}
            stood = then[commit.restores or ""]
            did = _Turned(off=(mine & now) - stood, on=(mine & stood) - now)
        elif commit.undoes:
            did = _undoes(commit, learned, turned)
        else:
            did = _Turned(on={commit.id} & learned.keys())
        turned[commit.id] = did
        now = (now - did.off) | did.on
        if commit.id in restored:
            then[commit.id] = set(now)
    return now


def _undoes(commit: Commit, learned: Mapping[str, str], turned: Mapping[str, _Turned]) -> _Turned:
    """Of an undo that is undone, what it took back comes again; several commits go newest first."""
    did = _Turned()
    for taken in commit.undoes:
        was = turned.get(taken, _Turned(on={taken} & learned.keys()))
        did.off, did.on = (did.off - was.off) | was.on, (did.on - was.on) | was.off
    return did

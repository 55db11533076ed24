"""Which of the things that were learned does an undo or a restore take back, and which does it bring back?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_cron.domain.learning import Kind, Learned, LearnedState

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hermes_cron.desks.history_plan import Asked
    from hermes_cron.snapshots.commits import Commit

_AT_ONCE = 500
"""Snapshots in a question to the store."""

TAKEN = (LearnedState.UNDONE, LearnedState.REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """By snapshots: those whose work goes, and those whose work is there again."""

    gone: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Only what lies there; empty: everything."""
    state: LearnedState = LearnedState.UNDONE


def meant(asked: Asked, commits: Sequence[Commit]) -> Back:
    """``commits`` are those before it was carried out, newest first.

    An undo takes back what its commits brought; of one that was an undo itself, what that took back comes again. A
    restore does the same for all that came after its snapshot.
    """
    if asked.verb == "undo":
        taken = [it for it in commits if it.id in asked.undoes]
        state = LearnedState.REJECTED if asked.rejects else LearnedState.UNDONE
        return Back(gone=asked.undoes, again=tuple(_undone(taken)), state=state)
    newer = _newer(commits, asked.commit.id)
    return Back(gone=tuple(it.id for it in newer), again=tuple(_undone(newer)), paths=asked.paths)


def _newer(commits: Sequence[Commit], than: str) -> list[Commit]:
    found = []
    for commit in commits:
        if commit.id == than:
            break
        found.append(commit)
    return found


def _undone(commits: Sequence[Commit]) -> Iterator[str]:
    mine = {it.id for it in commits}
    for commit in commits:
        yield from (id_ for id_ in commit.undoes if id_ not in mine)


def turn(conn: Connection, back: Back) -> int:
    """Write it down; how many rows changed their state."""
    from hermes_cron.store import learned

    turned = 0
    for numbers in _rows(conn, back.gone, back.paths):
        turned += learned.turn(conn, numbers, back.state)
    for numbers in _rows(conn, back.again, back.paths):
        turned += sum(learned.turn(conn, numbers, LearnedState.APPLIED, was=state) for state in TAKEN)
    return turned


def _rows(conn: Connection, snapshots: Sequence[str], paths: Sequence[str]) -> Iterator[list[int]]:
    from hermes_cron.store import learned

    for at in range(0, len(snapshots), _AT_ONCE):
        found = learned.by_snapshots(conn, snapshots[at : at + _AT_ONCE])
        yield [it.number for it in found if _lies_in(it, paths)]


def _lies_in(change: Learned, paths: Sequence[str]) -> bool:
    """A file of a skill that is restored brings back what the skill had learned."""
    path = f"{'memories' if change.kind is Kind.MEMORY else 'skills'}/{change.name}"
    return not paths or any(
        path == wanted or path.startswith(f"{wanted}/") or wanted.startswith(f"{path}/") for wanted in paths
    )

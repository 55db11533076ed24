"""In whose name is a step written? In that of a run, or of a review of one, as long as its fence is the last that rose.

A session belongs to a run. Who may write to it is another matter: a run's own sessions are its owner's, and a review,
which begins when the run has ended, has an owner of its own. Both are taken over in the same way: the fence rises, and
whoever held the last one writes nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, bindparam, select, update

from hermes_cron.domain.review import ReviewState
from hermes_cron.domain.run import RunState
from hermes_cron.ports import Fenced
from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import ReviewRow, RunRow

_runs = RunRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_reviews = ReviewRow.__table__  # type: ignore[attr-defined]

_OWNED = Prepared(
    select(_runs.c.id).where(
        _runs.c.id == bindparam("run"), _runs.c.fence == bindparam("fence"), _runs.c.state == RunState.RUNNING.value
    )
)
_REVIEWED = Prepared(
    select(_reviews.c.number).where(
        _reviews.c.number == bindparam("review"),
        _reviews.c.fence == bindparam("fence"),
        _reviews.c.state == ReviewState.RUNNING.value,
    )
)


class Claim(Protocol):
    """``hears``: people may stop it and tell it something while it works. ``review``: its number, None of a run."""

    @property
    def run_id(self) -> str: ...
    @property
    def fence(self) -> int: ...
    @property
    def review(self) -> int | None: ...
    @property
    def hears(self) -> bool: ...

    def require(self, conn: Connection) -> None:
        """Raises ``Fenced`` unless it holds."""

    def begun(self, conn: Connection, session_id: str) -> None:
        """In the transaction that begins a session for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClaim:
    """A run that is executed under this fence."""

    run_id: str
    fence: int
    review: None = None
    hears: bool = True

    def require(self, conn: Connection) -> None:
        require_owned(conn, self.run_id, self.fence)

    def begun(self, conn: Connection, session_id: str) -> None:
        """Its newest open session is found by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewClaim:
    """A review of a run that has ended."""

    run_id: str
    fence: int
    review: int
    hears: bool = False

    def require(self, conn: Connection) -> None:
        if _REVIEWED.first(conn, {"review": self.review, "fence": self.fence}) is None:
            raise Fenced(f"review {self.review} of run {self.run_id} is no longer owned under fence {self.fence}")

    def begun(self, conn: Connection, session_id: str) -> None:
        """Whoever takes it over goes on with this session."""
        conn.execute(update(_reviews).where(_reviews.c.number == self.review).values(session_id=session_id))


def require_owned(conn: Connection, run_id: str, fence: int) -> None:
    """Raises ``Fenced`` unless the run is running under this fence."""
    if _OWNED.first(conn, {"run": run_id, "fence": fence}) is None:
        raise Fenced(f"run {run_id} is no longer owned under fence {fence}")

"""Who looks back at runs that ended, and when? One at leisure: beside the pool of runs, a few at a time.

A look back is due work for nobody: it holds no run's place, waits for no receipt, and is given up between two steps as
soon as its process shall end. What it began is in the store, so another process goes on there, at once after a
shutdown, and after a death as soon as the dead owner's lock is free.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.command import Halt
from hermes_cron.domain.event import Emit, Level, ReviewEnded, ReviewStarted, ReviewTakenOver, ReviewToolRefused
from hermes_cron.domain.fault import failed
from hermes_cron.domain.job import Limits
from hermes_cron.domain.review import Reviewed, ReviewState, TakenReview
from hermes_cron.errors import HermesCronError
from hermes_cron.ports import Clock, Fenced
from hermes_cron.scheduler import owners
from hermes_cron.store import reviews
from hermes_cron.store.engine import Store

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

THREADS = 2
STOP_S = 8.0
_STORE_RETRY_S = 1.0
_ERROR = 500
_LOG = logging.getLogger(__name__)

Refused = Callable[[str], None]
"""Told of a tool that a review asked for and may not have, by a name of ours."""

Execute = Callable[[TakenReview, Halt, Refused], Reviewed]
"""Does one. Looks at the halt between steps; a releasing one means: stop soon, and say ``queued``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """What a reviewer is made of. ``owners`` is the folder of living owners, ``limits`` what a run may use of what its
    job says nothing about. ``ended`` is called after each end: what was learned may have put messages into the outbox.

    ``only``: it does those of this run alone.
    """

    store: Store
    clock: Clock
    owners: Path
    execute: Execute
    emit: Emit
    limits: Callable[[], Limits] = Limits
    ended: Callable[[], None] = lambda: None
    only: str | None = None


class Reviewer:
    """The reviewer of one owner. Methods may be called on any thread; ``start`` and ``stop`` once each."""

    def __init__(self, parts: Reviewing) -> None:
        self._parts = parts
        self._owner = ""
        self._state = threading.Condition()
        self._halts: dict[int, Halt] = {}  # of those that are done now, by number
        self._kicked = False
        self._looking = False
        self._stopping = False
        self._looker: threading.Thread | None = None

    def start(self, owner: str) -> None:
        """Begin in the name of this owner, which must live as long as this process reviews."""
        self._owner = owner
        self._kicked = True
        self._looker = threading.Thread(target=self._look_on, name="reviews", daemon=True)
        self._looker.start()

    def kick(self) -> None:
        """One may be there, or its owner dead. Costs nothing here; safe before ``start`` and after ``stop``."""
        with self._state:
            self._kicked = True
            self._state.notify_all()

    def flush(self, limit_s: float | None = None) -> bool:
        """Wait until none is waiting and none is done; False when ``limit_s`` was not enough."""
        self.kick()
        with self._state:
            return self._state.wait_for(
                lambda: self._stopping or not (self._kicked or self._looking or self._halts), timeout=limit_s
            )

    def release(self) -> None:
        """Begin none any more, and give up those that are done now, each after its present step."""
        with self._state:
            self._stopping = True
            for halt in self._halts.values():
                halt.release()
            self._state.notify_all()

    def stop(self, limit_s: float = STOP_S) -> bool:
        """The same, and wait for them; False when one is still at its step then. It stays this owner's."""
        self.release()
        if self._looker is not None:
            self._looker.join()
        with self._state:
            if self._state.wait_for(lambda: not self._halts, timeout=limit_s):
                return True
            left = list(self._halts)
        try:
            self._parts.store.write(lambda conn: reviews.excuse(conn, left, self._owner))
        except HermesCronError as error:
            _LOG.warning("reviews that are left at their step count as if they had died: %s", error.message)
        return False

    # --- looking ----------------------------------------------------------------------------------------------------

    def _look_on(self) -> None:
        while True:
            with self._state:
                if self._stopping:
                    return
                self._kicked, self._looking = False, True
            looked = self._looked()
            with self._state:
                self._looking = False
                self._kicked = self._kicked or not looked
                self._state.notify_all()
                if looked:
                    self._state.wait_for(lambda: self._kicked or self._stopping)
                else:
                    self._state.wait_for(lambda: self._stopping, timeout=_STORE_RETRY_S)

    def _looked(self) -> bool:
        """False: it is to be tried again soon."""
        try:
            self._look()
        except HermesCronError as error:  # a full disk or a busy store passes by
            _LOG.warning("no run can be looked back at yet: %s", error.message)
        except Exception:  # noqa: BLE001  # logged; the next look tries again
            _LOG.exception("a look for runs to look back at failed")
        else:
            return True
        return False

    def _look(self) -> None:
        """Begin as many as there are places; a thread that ends kicks."""
        self._take_over()
        parts = self._parts
        while self._free():
            with parts.store.read() as conn:
                if not reviews.waiting(conn, only=parts.only):
                    return
            taken = parts.store.write(partial(self._take, parts.clock.now()))
            if taken is None:
                return
            self._begin(taken)

    def _take(self, now: datetime, conn: Connection) -> TakenReview | None:
        return reviews.take(conn, self._owner, now, self._parts.limits(), only=self._parts.only)

    def _free(self) -> bool:
        with self._state:
            return not self._stopping and len(self._halts) < THREADS

    def _take_over(self) -> None:
        """What was done by owners that died."""
        parts = self._parts
        with parts.store.read() as conn:
            named = reviews.owners(conn, but=self._owner)
        dead = {name for name in named if not owners.lives(parts.owners, name)}
        if not dead:
            return
        now = parts.clock.now()
        for row in parts.store.write(lambda conn: reviews.take_back(conn, dead, now)):
            number, run_id, job = row["number"], row["run_id"], row["job_name"]
            if row["ended_at"] is None:
                parts.emit(ReviewTakenOver(review=number, run_id=run_id, job=job, times=row["takeovers"]))
            else:
                self._tell(number, run_id, job, Reviewed(state=ReviewState(row["state"]), error=row["error"]), 0)

    # --- one of them ------------------------------------------------------------------------------------------------

    def _begin(self, taken: TakenReview) -> None:
        halt = Halt()
        with self._state:
            self._halts[taken.number] = halt
            if self._stopping:
                halt.release()
        self._parts.emit(ReviewStarted(review=taken.number, run_id=taken.run_id, job=taken.job.name, brief=taken.brief))
        name = f"review-{taken.number}"
        threading.Thread(target=self._work, args=(taken, halt), name=name, daemon=True).start()

    def _work(self, taken: TakenReview, halt: Halt) -> None:
        try:
            reviewed = self._reviewed(taken, halt)
            if reviewed is not None:
                self._stopped(taken, reviewed)
        finally:
            with self._state:
                del self._halts[taken.number]
                self._kicked = True
                self._state.notify_all()

    def _reviewed(self, taken: TakenReview, halt: Halt) -> Reviewed | None:
        """A review that fails is counted and told, and nothing else fails with it."""
        try:
            return self._parts.execute(taken, halt, partial(self._refused, taken))
        except Fenced:
            return None
        except Exception as error:  # noqa: BLE001  # whatever befalls a look back is that look back's end
            if not isinstance(error, HermesCronError):
                _LOG.exception("review %s crashed", taken.number)
            said = failed(error)
            return Reviewed(state=ReviewState.FAILED, reason=said.reason, error=one_line(said.error or "", _ERROR))

    def _refused(self, taken: TakenReview, tool: str) -> None:
        self._parts.emit(ReviewToolRefused(review=taken.number, run_id=taken.run_id, job=taken.job.name, tool=tool))

    def _stopped(self, taken: TakenReview, reviewed: Reviewed) -> None:
        """Write what became of it. A store that is full or busy is waited for, but not by a process that ends."""
        while True:
            work = partial(self._stop, taken, reviewed, self._parts.clock.now())
            try:
                made = self._parts.store.write(work)
            except Fenced:
                return
            except HermesCronError as error:
                _LOG.warning("review %s: its end cannot be written yet: %s", taken.number, error.message)
            else:
                if reviewed.state.ended:
                    self._tell(taken.number, taken.run_id, taken.job.name, reviewed, made)
                    self._parts.ended()
                return
            with self._state:
                if self._stopping:
                    return  # whoever finds this owner dead goes on with it
            time.sleep(_STORE_RETRY_S)

    def _stop(self, taken: TakenReview, reviewed: Reviewed, now: datetime, conn: Connection) -> int:
        return reviews.stop(conn, taken, reviewed, now)

    def _tell(self, number: int, run_id: str, job: str, reviewed: Reviewed, made: int) -> None:
        self._parts.emit(
            ReviewEnded(
                review=number,
                run_id=run_id,
                job=job,
                state=reviewed.state,
                reason=reviewed.reason,
                changes=made,
                iterations=reviewed.iterations,
                error=reviewed.error,
                level=Level.INFO if reviewed.state is ReviewState.OK else Level.WARNING,
            )
        )

"""How does a run start by hand, here or in a living scheduler?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from hermes_cron.domain.command import Flag
from hermes_cron.domain.fault import crashed
from hermes_cron.domain.job import Limits
from hermes_cron.domain.nudge import Nudge
from hermes_cron.domain.run import Outcome, RunState, TakenRun
from hermes_cron.errors import Conflict
from hermes_cron.home import Home
from hermes_cron.ports import Clock
from hermes_cron.scheduler.owners import Owner
from hermes_cron.store import approvals, endings, runs, takes
from hermes_cron.store.engine import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

Execute = Callable[[TakenRun, Flag], Outcome]


def queue(store: Store, start: runs.Start, clock: Clock) -> str:
    """A queued run for whichever scheduler comes first; its id. Raises ``Conflict`` when the job runs already."""
    now = clock.now()
    return store.write(lambda conn: runs.enqueue(conn, start, now))


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """How this process executes a run: ``begun`` is told once the run is its own, ``cancel`` stops it. ``nudge``: after
    how much its run is to be looked back at.
    """

    home: Home
    execute: Execute
    cancel: Flag
    begun: Callable[[TakenRun], None]
    answer_within: timedelta = approvals.ANSWER_WITHIN
    limits: Limits = takes.HOME
    nudge: Nudge | None = None


def run_here(store: Store, start: runs.Start, clock: Clock, here: Here) -> str:
    """Queue, take and execute in this process, which owns the run until its end; its id.

    An exception of ``execute`` ends the run as ``failed: crashed`` and goes on; one that says that a person leaves at
    once ends it as cancelled, so that no scheduler goes on with it. Raises ``Conflict`` when the job runs already.
    """
    with Owner(here.home.owners, kind="run", started_at=clock.now()) as owner:

        def work(conn: Connection) -> TakenRun:
            now = clock.now()
            run_id = runs.enqueue(conn, start, now)
            taken = takes.take_run(conn, run_id, owner.name, now, here.limits)
            if taken is None:
                raise Conflict(
                    f"{start.job.name} is running already, and its next run waits for that",
                    hint="hermes-cron run --detach queues one more",
                )
            return taken

        taken = store.write(work)
        here.begun(taken)
        since = monotonic()

        def end(outcome: Outcome) -> None:
            now, ran = clock.now(), timedelta(seconds=monotonic() - since)
            store.write(
                lambda conn: endings.end(
                    conn, taken, outcome, now, ran=ran, answer_within=here.answer_within, nudge=here.nudge
                )
            )

        try:
            outcome = here.execute(taken, here.cancel)
        except KeyboardInterrupt:
            end(Outcome(state=RunState.CANCELLED, reason="cancelled", error="left at once, in the middle of a step"))
            raise
        except Exception as error:
            end(crashed(error))
            raise
        end(outcome)
        return taken.id

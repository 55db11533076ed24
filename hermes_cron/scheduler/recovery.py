"""What becomes of runs whose owner died?

The processes that worked for them are ended first, then the rows change, by compare-and-set from ``running``: a run
that ended meanwhile stays as it ended. Then anybody may take them and go on at their step.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from hermes_cron.scheduler import owners
from hermes_cron.store import runs, takeovers
from hermes_cron.store.engine import Store
from hermes_cron.store.runs import LostRun
from hermes_cron.store.takeovers import TakenOver

if TYPE_CHECKING:
    from sqlalchemy import Connection

EndGroup = Callable[[int, str, str], object]
"""Process group, start time of its leader, boot id: ends exactly that group, if it lives."""


def recover(store: Store, folder: Path, *, me: str, now: datetime, end_group: EndGroup) -> list[TakenOver]:
    """Take over from owners that died; the runs that were taken over here.

    Ending a group may take seconds (a script that clears up after SIGTERM), so all groups are ended at once.
    """
    gone = owners.dead(folder, me)
    with store.read() as conn:
        running = runs.owned(conn, but=me)
    dead = {name for name in {run.owner for run in running} if not owners.lives(folder, name)}
    found = _taken_over(store, [run for run in running if run.owner in dead], now, end_group) if dead else []
    owners.forget(folder, gone)
    return found


def _taken_over(store: Store, lost: list[LostRun], now: datetime, end_group: EndGroup) -> list[TakenOver]:
    _end_groups(lost, end_group)

    def work(conn: Connection) -> list[TakenOver]:
        return [taken for run in lost if (taken := takeovers.take_over(conn, run, now)) is not None]

    return store.write(work)


def _end_groups(lost: list[LostRun], end_group: EndGroup) -> None:
    ends = [Thread(target=end_group, args=group, daemon=True) for run in lost for group in run.groups]
    for end in ends:
        end.start()
    for end in ends:
        end.join()

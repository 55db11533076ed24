"""What becomes of runs whose owner died?

The processes that worked for them are ended first, then the rows change, by compare-and-set from ``running``: a run
that ended meanwhile stays as it ended. A script is one effect and is never repeated on a guess, so its run ends as
``interrupted``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Thread

from hermes_cron.domain.occurrence import Reason
from hermes_cron.scheduler import owners
from hermes_cron.store import runs
from hermes_cron.store.engine import Store
from hermes_cron.store.runs import LostRun

EndGroup = Callable[[int, str, str], object]
"""Process group, start time of its leader, boot id: ends exactly that group, if it lives."""


def recover(store: Store, folder: Path, *, me: str, now: datetime, end_group: EndGroup) -> list[LostRun]:
    """Interrupt the runs of owners that died; those that were interrupted here.

    Ending a group may take seconds (a script that clears up after SIGTERM), so all groups are ended at once.
    """
    with store.read() as conn:
        running = runs.owned(conn, but=me)
    dead = {name for name in {run.owner for run in running} if not owners.lives(folder, name)}
    lost = [run for run in running if run.owner in dead]
    if not lost:
        return []
    ends = [Thread(target=end_group, args=group, daemon=True) for run in lost for group in run.groups]
    for end in ends:
        end.start()
    for end in ends:
        end.join()
    ended = store.write(lambda conn: runs.interrupt(conn, lost, Reason.OWNER_DIED, now))
    owners.forget_dead(folder)
    return ended

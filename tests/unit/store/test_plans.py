"""What a scheduler asks at every look costs the same however many runs are kept."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_cron.store import claims, takes
from hermes_cron.store.engine import Store
from hermes_cron.store.prepared import Prepared

VALUES = {"now": datetime(2026, 12, 1, tzinfo=UTC), "slots": 4, "uid": "u", "batch": 200}
ASKED = {
    "due jobs": claims._DUE,
    "next due job": claims._NEXT_DUE,
    "next delayed start": claims._NEXT_START,
    "who holds a job": claims._HOLDER,
    "who waits for a job": claims._WAITERS,
    "runs with a slot": takes._WITH_SLOT,
    "runs that wait": takes._WAITING,
}


@pytest.mark.parametrize("what", ASKED)
def test_no_look_of_the_scheduler_goes_through_the_runs_that_ended(tmp_path: Path, what: str) -> None:
    query: Prepared = ASKED[what]
    with Store(tmp_path / "state.db") as store, store.read() as conn:
        driver = conn.connection.driver_connection
        assert driver is not None
        plan = [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {query._sql}", query._bound(VALUES)).fetchall()]
    reads = [step for step in plan if step.startswith(("SCAN", "SEARCH"))]
    assert reads
    for step in reads:
        assert step == "SEARCH jobs" or any(
            index in step for index in ("jobs_next_due", "runs_active", "runs_slot", "runs_waiting")
        ), plan

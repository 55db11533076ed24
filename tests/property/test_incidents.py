"""Any sequence of ends: at most one open incident of each kind, a message for each start and for each end, no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.domain.run import Cause, Outcome, RunState
from hermes_cron.store import incident_desk
from hermes_cron.store.engine import Store
from tests.ended import NO_HEADING, PROVEN, UNREACHED, failed, good
from tests.endings_rig import Ends

GOOD = "good"
OUTCOMES: dict[str, Outcome] = {
    GOOD: good(),
    "verified": good(checks=(PROVEN,)),
    "silent": good(text="", silent=True),
    "check_failed": good(checks=(NO_HEADING, PROVEN)),
    "not_checkable": good(checks=(UNREACHED,)),
    "database_unreachable": failed(),
    "model_auth": failed(reason="model_auth"),
    "timeout": Outcome(state=RunState.TIMEOUT),
    "cancelled": Outcome(state=RunState.CANCELLED),
    "skipped": Outcome(state=RunState.SKIPPED, reason="gate"),
}
PROVES_IT_WORKS = {GOOD, "verified", "silent"}
PROVES_NOTHING = {"cancelled", "skipped"}
CHECKS = {"check_failed", "not_checkable"}
ENDS = st.tuples(st.sampled_from(sorted(OUTCOMES)), st.sampled_from([Cause.SCHEDULE, Cause.SCHEDULE, Cause.MANUAL]))
ACK = st.just(("ack", Cause.MANUAL))
_NUMBERS = count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder: Path = tmp_path_factory.mktemp("incidents")
    with Store(folder / "state.db") as made:
        yield made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(ENDS, ENDS, ENDS, ACK), max_size=14))
def test_messages_are_starts_and_ends(store: Store, steps: list[tuple[str, Cause]]) -> None:
    number = next(_NUMBERS)
    ends = Ends(store, uid=f"u{number}").has(name=f"job-{number}")
    still_open: Counter[str] = Counter()
    quiet = False
    expected: list[str] = []
    for word, cause in steps:
        if word == "ack":
            for each in _mine(ends):
                ends.store.write(lambda conn, each=each: incident_desk.ack(conn, each.id, by="x", now=ends.now))
                quiet = True
        else:
            ends(OUTCOMES[word], cause=cause)
            if word in PROVES_IT_WORKS:
                expected += ["recovery queued"] if still_open else []
                still_open.clear()
                quiet = False
            elif word not in PROVES_NOTHING and cause is Cause.SCHEDULE:
                if word not in still_open:
                    kind = "check_failed" if word in CHECKS else "failure"
                    expected.append(f"{kind} {'silent' if quiet else 'queued'}")
                still_open[word] += 1
        assert Counter({each.kind: each.failures for each in _mine(ends)}) == still_open
    told = [row for row in ends.rows() if row["job_uid"] == ends.uid and row["kind"] != DeliveryKind.REPORT]
    assert [f"{row['kind']} {row['state']}" for row in told] == expected


def _mine(ends: Ends) -> list[incident_desk.IncidentView]:
    return [each for each in ends.incidents(ended=False) if each.job_uid == ends.uid]

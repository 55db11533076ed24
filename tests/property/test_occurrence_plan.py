"""Against brute force: every due instant gets exactly one fate, however often and whenever somebody looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.domain.job import CatchUp
from hermes_cron.domain.occurrence import CATCH_UP_CAP, WINDOW, Reason, Timing, due_between, grace_of, plan_due
from hermes_cron.domain.run import OccurrenceState
from hermes_cron.domain.schedule.trigger import Cron, Interval, Once, any_of

START = datetime(2026, 10, 24, 12, tzinfo=UTC)  # the zone's clock goes back that night
TRIGGERS = st.sampled_from(
    [
        Cron("*/7 * * * *"),
        Cron("0 */3 * * *"),
        Cron("30 2 * * *"),
        Cron("15 9 * * 1-5"),
        Interval(timedelta(minutes=11), START - timedelta(minutes=3)),
        Once(START + timedelta(hours=20)),
        any_of((Cron("0 9 * * *"), Interval(timedelta(hours=5), START), Once(START + timedelta(hours=9)))),
    ]
)
HOURS = st.integers(min_value=0, max_value=80 * 60).map(lambda minutes: timedelta(minutes=minutes))


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    return Timing(
        trigger=draw(TRIGGERS),
        zone=ZoneInfo("Europe/Berlin"),
        catch_up=draw(st.sampled_from(CatchUp)),
        grace=draw(st.sampled_from([None, timedelta(0), timedelta(minutes=30), timedelta(hours=30)])),
        start=draw(st.sampled_from([None, START + timedelta(hours=10)])),
        until=draw(st.sampled_from([None, START + timedelta(hours=50)])),
        max_runs=draw(st.sampled_from([None, None, 1, 4])),
        blocked=draw(st.sampled_from([None, None, None, Reason.PAUSED])),
    )


@given(timing=timings(), looks=st.lists(HOURS, min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_each_due_instant_has_exactly_one_fate(timing: Timing, looks: list[timedelta]) -> None:
    settled, fired, fates = START, 0, []
    ended_at = None
    for now in sorted(START + look for look in looks):
        plan = plan_due(timing, uid="u", settled_until=settled, now=now, fired=fired)
        for span in plan.spans:
            inside = due_between(timing, span.first - timedelta(microseconds=1), span.last)
            assert (len(inside), inside[0], inside[-1]) == (span.count, span.first, span.last)
            fates += inside
        fates += [run.at for run in plan.runs]
        fired += len(plan.runs)
        settled = plan.settled_until
        if timing.max_runs is not None and fired >= timing.max_runs and ended_at is None:
            ended_at = plan.runs[-1].at
            assert plan.next_due is None
    last = max([START, *(START + look for look in looks)])
    assert sorted(fates) == list(due_between(timing, START, ended_at or last))


@given(timing=timings(), gap=HOURS)
@settings(max_examples=150, deadline=None)
def test_the_chosen_runs_are_those_of_the_plain_reading(timing: Timing, gap: timedelta) -> None:
    now = START + gap
    plan = plan_due(timing, uid="u", settled_until=START, now=now)
    due = due_between(timing, START, now)
    grace = grace_of(timing, START)
    inside = [at for at in due if now - at <= max(WINDOW, grace)]
    on_time = [at for at in inside if now - at <= grace]
    expected = {
        CatchUp.LATEST: inside[-1:],
        CatchUp.ALL: inside[: timing.max_runs][-CATCH_UP_CAP:],
        CatchUp.NONE: on_time[-1:],
    }[timing.catch_up]
    assert [run.at for run in plan.runs] == ([] if timing.blocked else expected)
    assert [run.late for run in plan.runs] == [now - run.at > grace for run in plan.runs]
    if timing.blocked:
        assert {span.state for span in plan.spans} <= {OccurrenceState.SKIPPED}

"""Whatever failed and however a job says it is tried again: the rules of waiting hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.job import Retries
from hermes_cron.domain.retry import LONGEST_WAIT, MODEL_WAITS, Next, Standing, Wait, after_failure, wanted
from hermes_cron.domain.run import Cause, Outcome, RunState

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
ENDS = [state for state in RunState if state.ended]
REASONS = ["rate_limited", "model_overloaded", "model_auth", "model_refused", "exit_code", "owner_died", "iterations"]
SPANS = st.integers(min_value=0, max_value=3 * 86_400).map(lambda seconds: timedelta(seconds=seconds))
PASSING = Outcome(state=RunState.FAILED, reason="model_overloaded", passing=True, model_fault=True)


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    return Outcome(
        state=draw(st.sampled_from(list(RunState))),
        reason=draw(st.sampled_from([None, *REASONS])),
        passing=draw(st.booleans()),
        model_fault=draw(st.booleans()),
        progressed=draw(st.booleans()),
        retry_after_s=draw(st.sampled_from([None, 0.0, 1.5, 3600.0, 1e5, 1e300, float("inf"), float("nan")])),
    )


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    return Standing(
        cause=draw(st.sampled_from(list(Cause))),
        attempt=draw(st.integers(min_value=1, max_value=60)),
        waits=draw(st.integers(min_value=0, max_value=4)),
        effects=draw(st.booleans()),
        script=draw(st.booleans()),
        next_due=draw(st.none() | SPANS.map(lambda span: NOW + span)),
        period=draw(st.none() | SPANS.filter(bool)),
    )


RETRIES = st.builds(
    Retries,
    attempts=st.integers(min_value=0, max_value=60),
    backoff=st.sampled_from([timedelta(seconds=1), timedelta(minutes=5), timedelta(days=400)]),
    on=st.lists(st.sampled_from([*REASONS, "failed", "interrupted", "timeout"]), max_size=3).map(tuple),
)


@given(outcomes(), RETRIES, standings())
def test_the_rules_of_waiting(outcome: Outcome, retries: Retries, standing: Standing) -> None:
    wait = after_failure(outcome, retries, standing, NOW)
    if wait is None:
        return
    assert standing.cause is Cause.SCHEDULE, "a run by hand does not wait"
    assert outcome.state in {RunState.FAILED, RunState.TIMEOUT, RunState.INTERRUPTED, RunState.UNKNOWN}
    assert outcome.reason not in {"model_auth", "model_refused"}, "asking again would be paid for again"
    assert wait.until > NOW or retries.backoff == timedelta(0)
    assert standing.next_due is None or wait.until < standing.next_due
    assert wait.until >= NOW + timedelta(seconds=outcome.retry_after_s or 0), "as long as the server asked for"
    if wait.next is Next.GO_ON:
        assert outcome.passing
        assert outcome.model_fault
        assert 1 <= wait.waits <= len(MODEL_WAITS)
        return
    assert standing.attempt <= retries.attempts
    assert wait.waits == 0
    assert wait.until - NOW <= max(standing.period or LONGEST_WAIT, timedelta(seconds=outcome.retry_after_s or 0))
    if wait.next is Next.FRESH:
        assert standing.script or not standing.effects, "a fresh transcript would do again what was done"
    else:
        assert outcome.model_fault


@given(outcomes(), standings())
def test_nothing_that_does_not_pass_is_tried_again_unless_the_job_names_it(
    outcome: Outcome, standing: Standing
) -> None:
    if not outcome.passing:
        assert after_failure(outcome, Retries(attempts=60), standing, NOW) is None


def at(attempt: int = 1, waits: int = 0, **more: object) -> Standing:
    given: dict[str, object] = {"effects": False, "script": False, **more}
    return Standing(cause=Cause.SCHEDULE, attempt=attempt, waits=waits, **given)  # type: ignore[arg-type]


def test_a_model_is_waited_for_5_15_and_30_minutes_and_then_it_is_an_attempt_that_failed() -> None:
    found = [after_failure(PASSING, Retries(), at(waits=waits), NOW) for waits in range(4)]
    minutes = [5, 15, 30]
    assert found[:3] == [
        Wait(next=Next.GO_ON, until=NOW + timedelta(minutes=minutes[n]), waits=n + 1) for n in range(3)
    ]
    assert found[3] == Wait(next=Next.RESUME, until=NOW + timedelta(minutes=5))


def test_a_step_that_went_well_in_between_is_another_step() -> None:
    progressed = Outcome(state=RunState.FAILED, passing=True, model_fault=True, progressed=True)
    assert after_failure(progressed, Retries(), at(waits=3), NOW) == Wait(
        next=Next.GO_ON, until=NOW + timedelta(minutes=5), waits=1
    )


@pytest.mark.parametrize(("attempt", "minutes"), [(1, 5), (2, 10), (3, 20), (4, 25), (9, 25)])
def test_the_backoff_doubles_up_to_the_period(attempt: int, minutes: int) -> None:
    failed = Outcome(state=RunState.FAILED, reason="exit_code")
    retries = Retries(attempts=9, on=("exit_code",))
    wait = after_failure(failed, retries, at(attempt, script=True, period=timedelta(minutes=25)), NOW)
    assert wait == Wait(next=Next.FRESH, until=NOW + timedelta(minutes=minutes))


def test_a_script_whose_owner_died_is_repeated_only_where_the_job_says_so() -> None:
    cut = Outcome(state=RunState.INTERRUPTED, reason="owner_died")
    standing = at(script=True, effects=True)
    assert after_failure(cut, Retries(), standing, NOW) is None
    found = after_failure(cut, Retries(on=("interrupted",)), standing, NOW)
    assert found is not None
    assert found.next is Next.FRESH


@given(outcome=outcomes(), on=st.lists(st.sampled_from([*REASONS, "failed", "timeout"]), max_size=3))
def test_what_a_screen_is_told_of_another_try_is_what_the_rules_do(outcome: Outcome, on: list[str]) -> None:
    retries = Retries(attempts=3, on=tuple(on))
    standing = Standing(cause=Cause.SCHEDULE, attempt=1, waits=len(MODEL_WAITS), effects=False, script=False)
    ended = replace(outcome, progressed=False, retry_after_s=None)
    if ended.state.ended:
        told = wanted(ended.reason, ended.state, retries, passing=ended.passing)
        assert told == (after_failure(ended, retries, standing, NOW) is not None)


def test_a_refused_key_is_not_tried_again_though_the_job_says_failed() -> None:
    assert not wanted("model_auth", RunState.FAILED, Retries(on=("failed",)), passing=False)
    assert wanted("exit_code", RunState.FAILED, Retries(on=("failed",)), passing=False)

"""A run survives its process: killed anywhere it ends as the undisturbed run does, and nothing happens twice.

The tools of the job append to a file outside the home; a person who is asked answers by looking at that file.
``HERMES_CRON_ALL_KILLS=1`` kills at every write of the run, before and after its commit; else some are chosen.
"""

from __future__ import annotations

import random
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_cron.home import Home
from hermes_cron.store import runs
from hermes_cron.testing import StubServer
from tests.kill_rig import ALL, CLEAN, Rig, Zygote, calls, chosen, share_their_prefix, steps, until

WRITES = 18
"""Of the undisturbed run's own threads; a test below counts them."""
POINTS = [(number, side) for number in range(1, WRITES + 1) for side in ("before", "after")]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


Make = Callable[..., Rig]


@pytest.fixture
def rig(zygote: Zygote, home: Home, tmp_path: Path) -> Iterator[Make]:
    made: list[Rig] = []

    def make(script: object = None, **more: object) -> Rig:
        folder = tmp_path / "outside"
        folder.mkdir()
        outside = folder / "counter.txt"
        stub = StubServer(steps(outside) if script is None else script).start()
        made.append(Rig(zygote=zygote, home=home, outside=outside, stub=stub, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()
        each.stub.stop()


def as_if_nothing_had_happened(it: Rig, run_id: str, *, more_calls: int) -> None:
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == ("ok", None), ended
    assert it.lines() == CLEAN
    assert len(it.stub.requests) <= 7 + more_calls
    assert it.asked <= {"send", "slow", "terminal"}, "what can be repeated or looked up is asked of nobody"
    share_their_prefix(it.stub.bodies)
    tools = [step for step in it.steps(run_id) if step["step"] == "tool"]
    assert len(tools) == 9
    assert all(step["result_bytes"] is not None for step in tools)
    assert (it.home.root / ended["output_path"]).read_text().strip() == "All of it is done."


def test_the_undisturbed_run(rig: Make) -> None:
    it = rig()
    run_id = it.queue()
    it.serve()
    as_if_nothing_had_happened(it, run_id, more_calls=0)


@pytest.mark.parametrize(("write", "side"), chosen(POINTS, 1, 7))
def test_killed_at_a_write_and_started_again(rig: Make, write: int, side: str) -> None:
    it = rig()
    run_id = it.queue()
    first = it.serve(write=write, side=side)
    until(lambda: it.gone(first), "the scheduler died")
    it.serve()
    as_if_nothing_had_happened(it, run_id, more_calls=1)


@pytest.mark.parametrize(("write", "side"), chosen(POINTS, 2, 3))
def test_killed_at_a_write_while_another_scheduler_lives(rig: Make, write: int, side: str) -> None:
    it = rig()
    run_id = it.queue()
    first = it.serve(write=write, side=side)
    until(lambda: it.gone(first) or it.row(run_id)["state"] == "running", "the run was taken")
    it.serve()
    until(lambda: it.gone(first), "the scheduler died")
    died = time.monotonic()
    if it.row(run_id)["ended_at"] is None:
        until(lambda: it.row(run_id)["fence"] > 1 or it.open_questions(), "the run was taken over")
        assert time.monotonic() - died < 2 + 3  # three for a machine that does much else
    as_if_nothing_had_happened(it, run_id, more_calls=1)


def test_the_writes_are_as_many_as_are_killed(rig: Make) -> None:
    it = rig()
    run_id = it.queue()
    first = it.serve(write=WRITES + 1)
    as_if_nothing_had_happened(it, run_id, more_calls=0)
    assert not it.gone(first)


@pytest.mark.parametrize("seed", range(20 if ALL else 2))
def test_killed_at_random_moments(rig: Make, seed: int) -> None:
    """One of two schedulers is killed and started again, three times."""
    it, chance = rig(), random.Random(seed)
    run_id = it.queue()
    living = [it.serve(), it.serve()]
    for _ in range(3):
        time.sleep(chance.uniform(0.05, 0.9))
        victim = chance.choice(living)
        it.kill(victim)
        living.remove(victim)
        living.append(it.serve())
    as_if_nothing_had_happened(it, run_id, more_calls=3)


def test_what_kills_its_process_three_times_at_one_step_is_not_tried_again(rig: Make) -> None:
    it = rig([calls(("deadly", {})), {"text": "never"}])
    run_id = it.queue()
    for _ in range(3):
        pid = it.serve()
        until(lambda pid=pid: it.gone(pid), "it died")
    it.serve()
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == ("failed", "crashed")
    assert "died 3 times" in ended["error"]
    assert it.lines() == {"deadly": 3}
    assert len(it.stub.requests) == 1


# --- scripts ----------------------------------------------------------------------------------------------------------

SCRIPT = "echo begun >> {outside}; sleep 0.2; echo ended >> {outside}"
"""Its writes: session, intent, process group, receipt, end."""


@pytest.mark.parametrize(
    ("write", "side", "state", "lines"),
    [
        (1, "before", "ok", {"begun": 1, "ended": 1}),
        (2, "before", "ok", {"begun": 1, "ended": 1}),
        (2, "after", "ok", {"begun": 1, "ended": 1}),
        (3, "before", "ok", {"begun": 1, "ended": 1}),
        (4, "before", "interrupted", {"begun": 1, "ended": 1}),
        (4, "after", "ok", {"begun": 1, "ended": 1}),
        (5, "before", "ok", {"begun": 1, "ended": 1}),
        (5, "after", "ok", {"begun": 1, "ended": 1}),
    ],
)
def test_a_script_is_started_once_and_its_end_is_told_as_far_as_it_is_known(
    rig: Make, tmp_path: Path, write: int, side: str, state: str, lines: dict[str, int]
) -> None:
    it = rig([])
    run_id = it.queue(script=SCRIPT.format(outside=it.outside))
    first = it.serve(write=write, side=side)
    until(lambda: it.gone(first), "the scheduler died")
    it.serve()
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == (state, "owner_died" if state == "interrupted" else None)
    assert it.lines() == lines


def test_a_script_that_is_cut_off_is_ended_and_not_started_again(rig: Make) -> None:
    it = rig([])
    mark = secrets.token_hex(8)
    run_id = it.queue(script=f"echo begun >> {it.outside}; sleep 300; echo ended {mark} >> {it.outside}")
    first = it.serve()
    until(lambda: it.lines()["begun"], "the script runs")
    it.kill(first)
    it.serve()
    ended = it.settled(run_id)
    assert (ended["state"], ended["reason"]) == ("interrupted", "owner_died")
    assert it.lines() == {"begun": 1}
    assert subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout == b""


# --- who is not dead --------------------------------------------------------------------------------------------------


def test_a_stopped_owner_keeps_its_run(rig: Make) -> None:
    it = rig()
    run_id = it.queue()
    owner = it.serve()
    until(lambda: it.lines()["send"], "the run is in its middle")
    it.kill(owner, signal.SIGSTOP)
    it.serve()
    time.sleep(3)  # a dead owner's run would have been taken over by now
    assert it.row(run_id)["state"] == "running"
    assert it.row(run_id)["fence"] == 1
    it.kill(owner, signal.SIGCONT)
    as_if_nothing_had_happened(it, run_id, more_calls=0)
    assert not it.asked


def test_a_clock_that_jumps_takes_no_run_over_and_ends_none(rig: Make, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)

    def show(instant: datetime) -> None:
        draft = clock.with_suffix(".new")
        draft.write_text(instant.isoformat())
        draft.replace(clock)

    show(noon)
    it = rig(clock_file=clock, slow_s=1.0)
    run_id = it.queue()
    it.serve()
    it.serve()
    until(lambda: it.lines()["put"], "the run began")
    show(noon + timedelta(hours=2))
    until(lambda: it.lines()["send"], "the run goes on")
    show(noon - timedelta(hours=2))
    as_if_nothing_had_happened(it, run_id, more_calls=0)
    assert it.row(run_id)["fence"] == 1
    assert not it.asked


# --- stops ------------------------------------------------------------------------------------------------------------


def test_a_shutdown_gives_an_agents_run_up_between_two_steps(rig: Make) -> None:
    it = rig(slow_s=1.5)
    run_id = it.queue()
    first = it.serve()
    until(lambda: it.lines()["send"], "the run is in its middle")
    it.kill(first, signal.SIGTERM)
    until(lambda: it.gone(first), "the scheduler ended")
    left = it.row(run_id)
    assert (left["state"], left["owner"], left["takeovers"]) == ("queued", None, 0)
    it.serve()
    as_if_nothing_had_happened(it, run_id, more_calls=0)
    assert not it.asked


def test_a_run_that_waits_for_a_person_can_be_cancelled(rig: Make) -> None:
    it = rig(slow_s=1.5)
    run_id = it.queue()
    first = it.serve()
    until(lambda: any(step["step"] == "tool" and step["tool"] == "slow" for step in it.steps(run_id)), "it is begun")
    it.kill(first)
    it.serve()
    until(it.open_questions, "a person is asked")
    assert it.row(run_id)["state"] == "waiting_approval"
    it.store.write(lambda conn: runs.cancel(conn, run_id, by="test", now=it.now()))
    ended = it.row(run_id)
    assert (ended["state"], ended["error"]) == ("cancelled", "cancelled by test")
    assert it.open_questions() == []

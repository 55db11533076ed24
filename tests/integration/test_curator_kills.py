"""Killed at any step of a curator's run, a home is as before or as after, and the run is gone on with once.

Each step is a call into the system that changes a file, from the run's plan to its report; the process is a real one
and is killed by itself with SIGKILL. Thirty steps, drawn by a seed; ``HERMES_CRON_EVERY_KILL=1`` tries them all.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_cron.domain.command import Halt
from hermes_cron.domain.run import RunState
from hermes_cron.snapshots.verify import verify
from hermes_cron.store.runs import Start
from tests.conftest import RunCli
from tests.curator_rig import DAY, NOON, Rig
from tests.dying import dies

EVERY = os.environ.get("HERMES_CRON_EVERY_KILL") == "1"
SAMPLE = 30
ON = 3
"""Of them are gone on with by a scheduler."""


@dataclass(frozen=True)
class Template:
    """``before`` and ``after`` are the files, with their hashes."""

    root: Path
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    steps: int


def prepared(root: Path) -> None:
    """Five to archive, with files beside; two that become stale, one that came back, and one that a job holds."""
    with Rig(root) as rig:
        for name in ("a", "b", "c", "d", "e", "held", "back"):
            rig.learned(f"ops/{name}", references__x="x\n", scripts__run="echo\n")
        rig.job("roll", "---\nschedule: every day 9am\nskills: [held]\npaused: not now\n---\nroll it out\n")
        rig.clock.advance(15 * DAY)
        rig.night()
        rig.learned("ops/young")
        rig.learned("ops/younger")
        rig.clock.advance(DAY)
        rig.used("back", at=NOON + 31 * DAY)
        rig.app.keep_hand_edits()


def night(root: Path, *, fail_at: int | None) -> tuple[int, int]:
    """A run in a process of its own, as ``curator run`` has it: how it ended, and how many steps it made."""

    def work() -> Callable[[], None]:
        rig = at_night(root)
        start = Start(job=rig.app.curator.job(), job_uid=None, actor="test")

        def run() -> None:
            rig.app.runs.here(start, cancel=Halt(), begun=lambda _: None, emit=lambda *_: None)

        return run

    return dies(work, at=fail_at)


def at_night(root: Path) -> Rig:
    rig = Rig(root)
    rig.clock.set(NOON + 31 * DAY)
    return rig


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("kills") / "template"
    prepared(root)
    whole = copied(root, root.parent / "whole")
    code, steps = night(whole, fail_at=None)
    assert code == 0
    with at_night(root) as rig:
        before = rig.files()
    with at_night(whole) as rig:
        after = rig.files()
        assert rig.archived() == ["ops/a", "ops/b", "ops/c", "ops/d", "ops/e"]
        assert rig.stale() == ["ops/young", "ops/younger"]
    assert steps > SAMPLE
    return Template(root=root, before=before, after=after, steps=steps)


def copied(root: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True)
    return to


def points(template: Template) -> list[int]:
    everything = range(1, template.steps + 1)
    return list(everything) if EVERY else sorted(random.Random(6).sample(everything, SAMPLE))


def test_killed_anywhere_the_home_is_as_before_or_as_after_and_undo_gives_the_hash_before(
    template: Template, tmp_path: Path
) -> None:
    met = set()
    for point in points(template):
        root = copied(template.root, tmp_path / "killed")
        code, _ = night(root, fail_at=point)
        assert code == -signal.SIGKILL, point
        with at_night(root) as rig:  # the next command
            assert verify(rig.app.snapshots).faults == (), point
            now = rig.files()
            assert now in (template.before, template.after), point
            met.add(now == template.after)
            if now == template.after:
                rig.undo()
                assert rig.files() == template.before, point
    assert met == {False, True}


def test_a_scheduler_goes_on_with_the_killed_run_and_does_nothing_twice(
    template: Template, tmp_path: Path, run_cli: RunCli
) -> None:
    for point in [10, *random.Random(7).sample(range(11, template.steps), ON - 2), template.steps]:
        root = copied(template.root, tmp_path / "killed")
        night(root, fail_at=point)
        (root / "clock").write_text((NOON + 31 * DAY).isoformat())
        env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(root / "clock")}
        with at_night(root) as rig:
            assert run_cli("serve", "--once", at=rig.home, env=env).rc == 0
            assert rig.files() == template.after, point
            commits = [it for it in rig.app.history.commits() if it.actor == "curator"]
            last = rig.app.curator.last()
            assert last is not None
            assert (last["state"], len(commits)) == (RunState.OK, 2), point  # the night of the template, and this one
            record = rig.record(last["id"])
            assert (record["counts"]["archive"], record["counts"]["stale"]) == (5, 2), point
            assert commits[0].run == last["id"]
            report = rig.app.runs.report(last) or ""
            assert f"undo all: hermes-cron undo {commits[0].id[:7]}" in report

"""Killed at any step of a consolidation, a home is as before or as after, and the run is gone on with once.

Each step is a call into the system that changes a file, from the run's first to its report; thirty of them, drawn by a
seed. ``HERMES_CRON_EVERY_KILL=1`` tries them all. An answer of the model that was kept is not paid for twice.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from hermes_cron.domain.command import Halt
from hermes_cron.domain.run import RunState
from hermes_cron.errors import ModelUnreachable
from hermes_cron.home import Home
from hermes_cron.snapshots.verify import verify
from hermes_cron.store import endings, learned, runs, takeovers
from hermes_cron.store.runs import LostRun
from hermes_cron.store.tables import RunRow, UsageRow
from hermes_cron.testing import ScriptedModel
from tests import snapshots_rig
from tests.consolidation_rig import MODEL, Rig, merge, one
from tests.dying import dies

EVERY = os.environ.get("HERMES_CRON_EVERY_KILL") == "1"
SAMPLE = 30
MEMORY = (
    "prod db port is 5432", "The user likes tea", "No deploys until 2026-11-01", "prod db port is now 5433",
    "the user likes tea.", "staging is refreshed on Sundays at 03:00", "staging data is anonymised",
    "To restart the gateway: 1. drain it 2. restart it on gw1.acme.io 3. check /healthz",
)  # fmt: skip
USER = "Anna reads on a phone\n§\nAnna reads on a phone\n"
ANSWER = merge(one("staging is refreshed on Sundays at 03:00 with anonymised data", "M3", "M4"))
"""Of what is left then: tea, 5433, staging, staging, the method."""


@dataclass(frozen=True)
class Template:
    root: Path
    before: snapshots_rig.State
    after: snapshots_rig.State
    steps: int


def prepared(root: Path) -> None:
    home = Home(root / "home")
    for folder in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
        folder.mkdir(parents=True, exist_ok=True)
    home.config.write_text(f'timezone = "UTC"\n{MODEL}', encoding="utf-8")
    with Rig(home) as rig:
        uid = rig.job()
        rig.remember(*MEMORY)
        (home.memories / "USER.md").write_text(USER, encoding="utf-8")
        rig.app.keep_hand_edits()
        start = runs.Start(job=rig.app.runs.job(uid), job_uid=uid, actor="test")
        rig.app.store.write(lambda conn: runs.enqueue(conn, start, rig.clock.now()))


def goes_on(root: Path, answer: Any = ANSWER) -> Callable[[], Callable[[], None]]:
    """The queued run, from its start to its end."""

    def ready() -> Callable[[], None]:
        rig = Rig(Home(root / "home"))
        run_id = str(rows(rig)[0]["id"])

        def do() -> None:
            taken = rig._take(run_id)
            rig.app.model = ScriptedModel([answer] * 6)
            outcome = rig.app.running.runner.execute(taken, Halt())
            rig.app.store.write(lambda conn: endings.end(conn, taken, outcome, rig.clock.now()))

        return do

    return ready


def rows(rig: Rig) -> list[dict[str, Any]]:
    table = RunRow.__table__  # type: ignore[attr-defined]
    with rig.app.store.read() as conn:
        return [dict(row) for row in conn.execute(table.select()).mappings()]


def state(root: Path) -> snapshots_rig.State:
    return snapshots_rig.state(root / "home")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("kills") / "template"
    prepared(root)
    whole = copied(root, root.parent / "whole")
    code, steps = dies(goes_on(whole), at=None)
    assert code == 0
    assert steps > SAMPLE
    with Rig(Home(whole / "home")) as rig:
        assert rig.entries() == (
            "The user likes tea", "prod db port is now 5433",
            "staging is refreshed on Sundays at 03:00 with anonymised data", MEMORY[-1],
        )  # fmt: skip
    return Template(root=root, before=state(root), after=state(whole), steps=steps)


def copied(root: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True)
    return to


def points(template: Template) -> list[int]:
    everything = range(1, template.steps + 1)
    return list(everything) if EVERY else sorted(random.Random(6).sample(everything, SAMPLE))


def test_killed_anywhere_the_home_is_as_before_or_as_after_and_goes_on_once(template: Template, tmp_path: Path) -> None:
    met = set()
    for point in points(template):
        root = copied(template.root, tmp_path / "killed")
        code, _ = dies(goes_on(root), at=point)
        assert code == -signal.SIGKILL, point
        with Rig(Home(root / "home")) as rig:  # the next command
            assert verify(rig.app.snapshots).faults == (), point
            now = state(root)
            assert now in (template.before, template.after), point
            assert snapshots_rig.fsck(root / "home") == [], point
            met.add(now == template.after)
            taken_over_once(rig, point)
            assert state(root) == template.after, point
            made = rig.commits()
            assert len(made) == 1, point
            rig.app.history.carry_out(rig.app.history.to_undo(made[0].id), by="anna")
            assert state(root) == template.before, point
    assert met == {False, True}


def taken_over_once(rig: Rig, point: int) -> None:
    """Another process takes the run over, as a scheduler does, and does what is left of it."""
    (row,) = rows(rig)
    now = rig.clock.now()
    if row["state"] == RunState.RUNNING:
        lost = LostRun(id=row["id"], job_name=row["job_name"], owner=row["owner"], fence=row["fence"])
        rig.app.store.write(lambda conn: takeovers.take_over(conn, lost, now))
    with rig.app.store.read() as conn:
        paid = conn.execute(select(UsageRow.seq)).all()  # type: ignore[call-overload]
    if row["ended_at"] is None:
        answer = ModelUnreachable("it is asked a second time") if paid else ANSWER
        goes_on(rig.home.root.parent, answer)()()
    (row,) = rows(rig)
    assert row["state"] == RunState.OK, (point, row["error"])
    with rig.app.store.read() as conn:
        told = [(it.name, it.state.value) for it in learned.of_run(conn, row["id"])]
    assert told == [("MEMORY.md", "applied"), ("USER.md", "applied"), ("general/restart-the-gateway", "proposed")], (
        point
    )
    report = rig.app.runs.report(row) or ""
    assert "Memory: 4 kept, 4 merged, 2 dropped, 1 written." in report, (point, report)

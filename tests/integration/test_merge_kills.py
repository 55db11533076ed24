"""Killed at any step of a merge that a person said yes to, a home is as before or as after it; a yes again is one yes.

Some steps, drawn by a seed; ``HERMES_CRON_EVERY_KILL=1`` tries them all.
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

from hermes_cron.domain.learning import LearnedState
from hermes_cron.snapshots.verify import verify
from tests.dying import dies
from tests.second_rig import Second, answer, merge

EVERY = os.environ.get("HERMES_CRON_EVERY_KILL") == "1"
SAMPLE = 16


@dataclass(frozen=True)
class Template:
    root: Path
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    steps: int


def yes(root: Path) -> Callable[[], Callable[[], None]]:
    def prepared() -> Callable[[], None]:
        rig = Second(root, new=False)
        asked = rig.questions()[0].id
        return lambda: rig.app.runs.approve(asked, by="ann") and None

    return prepared


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    root = tmp_path_factory.mktemp("merges") / "template"
    with Second(root) as rig:
        rig.plays(answer(merge()))
        before = rig.files()
    whole = shutil.copytree(root, root.parent / "whole", symlinks=True)
    code, steps = dies(yes(whole), at=None)
    assert code == 0
    with Second(whole, new=False) as rig:
        after = rig.files()
    assert after != before
    assert steps > SAMPLE
    return Template(root=root, before=before, after=after, steps=steps)


def loads(rig: Second) -> list[str]:
    """What each job's skills are."""
    found = []
    for file in rig.app.jobs.scan():
        job = rig.app.source.parse(rig.app.jobs.read(file.name), file.file_name, rig.clock.now()).job
        assert job is not None
        found += [rig.app.skills_now().get(name).qualified for name in job.skills]
    return found


def test_a_merge_is_whole_or_not_at_all(template: Template, tmp_path: Path) -> None:
    everything = range(1, template.steps + 1)
    met = set()
    for point in everything if EVERY else sorted(random.Random(3).sample(everything, SAMPLE)):
        root = shutil.copytree(template.root, tmp_path / f"killed-{point}", symlinks=True)
        code, _ = dies(yes(root), at=point)
        assert code == -signal.SIGKILL, point
        with Second(root, new=False) as rig:  # the next command
            assert verify(rig.app.snapshots).faults == (), point
            now = rig.files()
            assert now in (template.before, template.after), point
            met.add(now == template.after)
            assert loads(rig) == ["news/briefing" if now == template.after else "news/radar"], point
            for asked in rig.questions():
                rig.app.runs.approve(asked.id, by="ann")
            assert rig.files() == template.after, point
            (row,) = rig.rows()
            assert row.state is LearnedState.APPLIED, point
            assert sum(it.call == f"{row.key}/yes" for it in rig.app.snapshots.log()) == 1, point
            rig.undo(row.after or "")
            assert rig.files() == template.before, point
        shutil.rmtree(root)
    assert met == {True, False}

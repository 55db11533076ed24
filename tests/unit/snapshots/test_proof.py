"""The hash that a restore is proved by sees every byte, mode, link, missing file and empty folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_cron.home import Home
from hermes_cron.snapshots import proof
from tests.history_rig import SKILL, Past


@pytest.fixture
def past(home: Home) -> Past:
    past = Past(home)
    (home.skills / "db/tidy/run.sh").write_text("#!/bin/sh\n")
    (home.skills / "db/tidy/run.sh").chmod(0o700)
    (home.skills / "db/tidy/link").symlink_to("/elsewhere")
    (home.skills / "db/tidy/assets").mkdir()
    past.by_hand()
    return past


def equal(past: Past) -> bool:
    head, objects = past.snapshots.head(), past.snapshots.objects()
    assert head is not None
    said = proof.of_tree(objects, head.tree)
    assert said.files == 6
    return said == proof.of_home(past.home.root, objects, head.tree)


def _byte(skill: Path) -> None:
    data = skill.read_bytes()
    skill.write_bytes(data[:-1] + b"!")


def _link(skill: Path) -> None:
    (skill.parent / "link").unlink()
    (skill.parent / "link").symlink_to("/elsewhere/else")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a byte": _byte,
    "a mode": lambda skill: (skill.parent / "run.sh").chmod(0o755),
    "a link": _link,
    "missing": lambda skill: skill.unlink(),
    "no longer empty": lambda skill: (skill.parent / "assets/x").touch(),
    "a folder that went": lambda skill: (skill.parent / "assets").rmdir(),
}


def test_the_home_is_what_the_snapshot_says(past: Past) -> None:
    assert equal(past)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_any_difference_is_seen(past: Past, damage: Callable[[Path], object]) -> None:
    damage(past.home.root / SKILL)
    assert not equal(past)

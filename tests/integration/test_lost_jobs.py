"""C091: jobs that vanish in number are missed, by name; nothing comes back by itself, and the said command works."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home
from hermes_cron.lost_jobs import Lost, lost_jobs
from hermes_cron.snapshots.commits import Why
from hermes_cron.snapshots.held import BY_HAND
from hermes_cron.snapshots.repository import Remove, SnapshotRepository
from hermes_cron.testing import FixedClock
from tests.conftest import Ran

RunCli = Callable[..., Ran]
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


def text(number: int) -> str:
    return f"---\nschedule: every day 9am\ntimezone: UTC\n---\nlook at {number}\n"


@pytest.fixture
def eighteen(home: Home) -> list[Path]:
    files = [home.jobs / f"j{number:02}.md" for number in range(18)]
    for number, path in enumerate(files):
        path.write_text(text(number))
    return files


@pytest.fixture
def snapshots(home: Home, eighteen: list[Path]) -> SnapshotRepository:
    made = SnapshotRepository(home.root, FixedClock(NOW))
    made.create(BY_HAND)
    return made


def later(snapshots: SnapshotRepository, hours: int) -> SnapshotRepository:
    return SnapshotRepository(snapshots.root, FixedClock(NOW + timedelta(hours=hours)))


def lost(snapshots: SnapshotRepository, home: Home, *, hours: int = 0) -> Lost | None:
    return lost_jobs(snapshots, home, NOW + timedelta(hours=hours))


def needs(run_cli: RunCli) -> list[dict[str, Any]]:
    said = json.loads(run_cli("status", "--json").out)["need_you"]
    return [need for need in said if need["kind"] in ("lost", "history")]


@pytest.mark.parametrize("kept", [False, True], ids=["not in the history yet", "in the history"])
def test_c091_seventeen_of_eighteen_are_missed_and_come_back_by_the_command(
    home: Home, eighteen: list[Path], run_cli: RunCli, kept: bool
) -> None:
    assert run_cli("snapshots", "create").rc == 0
    assert needs(run_cli) == []
    for path in eighteen[1:]:
        path.unlink()
    if kept:
        SnapshotRepository(home.root, FixedClock(datetime.now(UTC))).create(BY_HAND)
    shown = run_cli("status")
    assert "17 jobs present in the snapshot of " in shown.out
    (need,) = needs(run_cli)
    assert len(list(home.jobs.iterdir())) == 1, "nothing is restored by itself"
    done = run_cli(*shlex.split(need["command"])[1:], "-y")
    assert done.rc == 0, done.err
    assert [path.read_text() for path in eighteen] == [text(number) for number in range(18)]
    assert needs(run_cli) == []
    listed = json.loads(run_cli("list", "--json").out)["jobs"]
    assert len(listed) == 18


def test_jobs_that_a_command_removed_are_not_missed(home: Home, run_cli: RunCli, eighteen: list[Path]) -> None:
    assert run_cli("snapshots", "create").rc == 0
    for path in eighteen[:2]:
        assert run_cli("remove", path.stem, "-y").rc == 0
    assert needs(run_cli) == []


def test_one_that_somebody_deleted_is_no_alarm_and_is_still_known(home: Home, snapshots: SnapshotRepository) -> None:
    (home.jobs / "j03.md").unlink()
    found = lost(snapshots, home)
    assert found is not None
    assert found.files == ("j03.md",)
    head = snapshots.head()
    assert head is not None
    assert found.command == f"hermes-cron snapshots restore {head.id[:7]} jobs/j03.md --exact"


def test_a_loss_in_two_steps_is_told_with_the_snapshot_before_the_first(
    home: Home, snapshots: SnapshotRepository, eighteen: list[Path]
) -> None:
    first = snapshots.head()
    for hours, gone in ((1, eighteen[:5]), (2, eighteen[5:12])):
        for path in gone:
            path.unlink()
        later(snapshots, hours).create(BY_HAND)
    eighteen[12].unlink()
    found = lost(snapshots, home, hours=3)
    assert found is not None
    assert (len(found.files), found.snapshot) == (13, first)


def test_other_names_are_no_loss(home: Home, snapshots: SnapshotRepository, eighteen: list[Path]) -> None:
    for path in eighteen[:6]:
        path.rename(path.with_stem(f"moved-{path.stem}"))
    assert lost(snapshots, home) is None
    later(snapshots, 1).create(BY_HAND)
    for path in eighteen[6:9]:
        path.rename(path.with_stem(f"moved-{path.stem}"))
    assert lost(snapshots, home, hours=1) is None


def test_after_a_day_it_is_accepted(home: Home, snapshots: SnapshotRepository, eighteen: list[Path]) -> None:
    for path in eighteen:
        path.unlink()
    later(snapshots, 1).create(BY_HAND)
    found = lost(snapshots, home, hours=24)
    assert found is not None
    assert len(found.files) == 18
    assert lost(snapshots, home, hours=26) is None


def test_a_snapshot_that_a_person_makes_says_that_it_is_meant(
    home: Home, snapshots: SnapshotRepository, eighteen: list[Path]
) -> None:
    for path in eighteen[:9]:
        path.unlink()
    later(snapshots, 1).create(Why(actor="user", reason="tidied up", by="ops"))
    assert lost(snapshots, home, hours=2) is None


def test_the_last_word_of_a_name_counts(home: Home, snapshots: SnapshotRepository, eighteen: list[Path]) -> None:
    """Lost, brought back, and removed by a command then; the other way round it is a loss."""
    eighteen[0].unlink()
    later(snapshots, 1).create(BY_HAND)
    eighteen[0].write_text(text(0))
    later(snapshots, 2).create(BY_HAND)
    later(snapshots, 3).change(Why(actor="cli", reason="remove j00"), {"jobs/j00.md": Remove()})
    assert lost(snapshots, home, hours=4) is None
    eighteen[0].write_text(text(0))
    later(snapshots, 5).create(BY_HAND)
    eighteen[0].unlink()
    found = lost(snapshots, home, hours=6)
    assert found is not None
    assert found.files == ("j00.md",)


def test_a_home_without_a_history_misses_nothing(home: Home) -> None:
    assert lost(SnapshotRepository(home.root, FixedClock(NOW)), home) is None


def test_a_history_that_cannot_be_read_is_said_by_status(
    home: Home, run_cli: RunCli, snapshots: SnapshotRepository
) -> None:
    (home.history / "HEAD").unlink()
    (need,) = needs(run_cli)
    assert (need["kind"], need["command"]) == ("history", "hermes-cron doctor")
    assert "the history cannot be read" in need["text"]
    shown = run_cli("status").out
    assert any(
        line.split()[0] == "history" and line.endswith("hermes-cron doctor") for line in shown.splitlines() if line
    )


def test_chinese(
    home: Home, eighteen: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    assert run(["snapshots", "create"]) == 0
    for path in eighteen[1:]:
        path.unlink()
    capsys.readouterr()
    run(["status", "--lang", "zh"])
    assert "17 个任务现已不在" in capsys.readouterr().out

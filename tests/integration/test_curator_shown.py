"""What people and a Prometheus see of the curator's nights: ``status``, and the series of skills and of what it did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.experience import skill_pins
from hermes_cron.home import Home
from tests.conftest import RunCli
from tests.curator_rig import DAY, NOON, Rig
from tests.integration.test_metrics import ON_ANY_PORT, fetched, series
from tests.serving import Serving, write_job


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as rig:
        yield rig


@pytest.fixture
def status(rig: Rig, run_cli: RunCli) -> Callable[[], str]:
    """The line of what was learned."""

    def said(*options: str) -> str:
        clock = rig.root / "clock"
        clock.write_text(rig.clock.now().isoformat())
        env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(clock)}
        out = run_cli("status", *options, at=rig.home, env=env).out
        return out if options else next(it for it in out.splitlines() if it.startswith("learned")).split(None, 1)[1]

    return said


def skills_by_state(rig: Rig) -> dict[str, float]:
    told = series(rig.app.metrics.text().decode())
    return {
        state: told[f"hermes_cron_skills[('state', '{state}')]"] for state in ("active", "stale", "archived", "pinned")
    }


def actions(rig: Rig) -> dict[str, float]:
    """Those that happened."""
    told = series(rig.app.metrics.text().decode())
    mark = "hermes_cron_curator_actions_total"
    assert len([name for name in told if name.startswith(mark)]) == 18, "each is there from the beginning"
    return {name.removeprefix(mark): value for name, value in told.items() if name.startswith(mark) and value}


def test_status_says_what_the_curator_moved_and_what_of_it_stands(rig: Rig, status: Callable[..., Any]) -> None:
    for name in ("ops/a", "ops/b", "ops/c"):
        rig.learned(name)
    rig.clock.advance(15 * DAY)
    assert status() == "-"
    rig.night()
    assert status() == "nothing; 3 stale; nothing archived"
    assert json.loads(status("--json"))["learned"]["curator"] == {"stale": 3}
    rig.clock.advance(2 * DAY)
    assert status() == "-", "that was the day before yesterday"
    rig.clock.advance(14 * DAY)
    rig.used("b")
    rig.night()
    assert status() == "nothing; 1 in use again; 2 archived"
    rig.undo()
    assert status() == "-", "what was undone is not told as if it stood"


def test_the_series_of_the_curator_and_of_the_states_of_skills(rig: Rig) -> None:
    shipped = skills_by_state(rig)["active"]
    assert actions(rig) == {}
    for name in ("ops/a", "ops/b", "ops/held"):
        rig.learned(name)
    (rig.home.skills / skill_pins.PINS).write_bytes(skill_pins.with_pin(None, "ops/held"))
    rig.clock.advance(15 * DAY)
    rig.night()
    fresh(rig)
    assert skills_by_state(rig) == {"active": shipped, "stale": 2, "archived": 0, "pinned": 1}
    assert actions(rig) == {"[('action', 'stale'), ('outcome', 'applied')]": 2}
    rig.clock.advance(16 * DAY)
    rig.night()
    fresh(rig)
    assert skills_by_state(rig) == {"active": shipped, "stale": 0, "archived": 2, "pinned": 1}
    assert actions(rig)["[('action', 'archive'), ('outcome', 'applied')]"] == 2
    rig.night(dry_run=True)
    assert sum(actions(rig).values()) == 4, "what is only said is not done"


def fresh(rig: Rig) -> None:
    """As another process sees it: what is read from files may be some seconds old in one that goes on."""
    rig.app.__dict__.pop("metrics", None)


def test_the_last_good_run_of_the_curator_is_that_of_its_job(home: Home) -> None:
    gauge = "hermes_cron_curator_last_success_timestamp_seconds[]"
    write_job(home, "curator-of-mine", "schedule: every day at 12:00", "action: curate")
    write_job(home, "other", "schedule: every day at 12:00", "script: echo fine")
    with Serving(home, env=ON_ANY_PORT) as serving:
        assert gauge not in series(fetched(serving)), "it never ran"
        serving.due("12:00", runs=2)
        assert series(fetched(serving))[gauge] == pytest.approx(NOON.timestamp(), abs=120)
        assert serving.cli("pause", "curator-of-mine").rc == 0
        assert gauge not in series(fetched(serving)), "a person paused it: nobody is to be alarmed"


@pytest.mark.parametrize("name", [".stale", ".pinned", ".redirects"])
def test_a_file_beside_the_skills_that_cannot_be_read_is_an_error_with_its_name(
    rig: Rig, run_cli: RunCli, name: str
) -> None:
    rig.learned("ops/a")
    rig.job("nightly-curator", "---\nschedule: every day 03:00\naction: curate\n---\n")
    assert run_cli("curator", "run", at=rig.home).rc == 0
    (rig.home.skills / name).unlink(missing_ok=True)
    (rig.home.skills / name).mkdir()
    for argv in (("skills", "list"), ("curator", "status"), ("skills", "pin", "a"), ("curator", "run")):
        said = run_cli(*argv, at=rig.home)
        assert "Traceback" not in said.err, argv
        assert said.rc == 0 or f"skills/{name} cannot be read: Is a directory" in said.err + said.out, argv
    status = run_cli("status", at=rig.home)
    assert "last 24 h" in status.out, status.err
    scrape = run_cli("metrics", at=rig.home)
    assert "hermes_cron_jobs{" in scrape.out, scrape.err
    if name != ".redirects":
        assert f"failed  nightly-curator: skills/{name} cannot be read" in status.out
        assert "hermes_cron_skills{" not in scrape.out  # not known is not nought


def test_a_dry_run_is_no_success_of_the_curator(home: Home, run_cli: RunCli) -> None:
    assert run_cli("init", "--no-input", "--tz", "UTC", at=home).rc == 0
    mark = "hermes_cron_curator_last_success_timestamp_seconds "
    assert run_cli("curator", "run", "--dry-run", at=home).rc == 0
    assert mark not in run_cli("metrics", at=home).out.replace("# HELP " + mark, "").replace("# TYPE " + mark, "")
    assert run_cli("curator", "run", at=home).rc == 0
    assert f"\n{mark}1" in run_cli("metrics", at=home).out

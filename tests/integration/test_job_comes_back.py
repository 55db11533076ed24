"""A removed job that an undo or a restore brings back has its history and its count, and nothing of the past fires."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.clock import FileClock
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.snapshots import history
from hermes_cron.wiring import App

LIMITED = ("add", "--name", "lim", "--max-runs", "1", "--script", "echo hi", "every day 9am")


class World:
    """A home and its clock."""

    def __init__(self, home: Home, run_cli: Callable[..., Any], clock: Path) -> None:
        self.home = home
        self.clock = clock
        self._run_cli = run_cli

    def at(self, instant: str) -> None:
        self.clock.write_text(f"2026-11-{instant}:00+00:00")

    def __call__(self, *argv: str) -> str:
        env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(self.clock)}
        ran = self._run_cli(*argv, env=env)
        assert ran.rc == 0, ran.err
        return str(ran.out)

    def rows(self, query: str) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.home.store)) as store:
            return store.execute(query).fetchall()

    def living(self) -> dict[str, tuple[str, str | None]]:
        """Identity and next due instant, by name."""
        rows = self.rows("SELECT name, uid, next_due FROM jobs WHERE removed_at IS NULL")
        return {name: (uid, None if due is None else due[:16]) for name, uid, due in rows}

    def newest(self) -> str:
        return str(json.loads(self("snapshots", "list", "--json"))["snapshots"][0]["id"])


@pytest.fixture
def world(home: Home, run_cli: Callable[..., Any], tmp_path: Path) -> World:
    made = World(home, run_cli, tmp_path / "clock")
    made.at("01T00:00")
    return made


@pytest.mark.parametrize("how", ["undo", "restore", "a scheduler that is quicker"])
def test_it_is_the_job_that_it_was(how: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world(*LIMITED)
    world("add", "--name", "more", "--script", "echo hi", "every day 9am")
    state = world.newest()
    world.at("01T09:00")
    world("serve", "--once")
    before = world.living()
    world("remove", "lim", "-y")
    world("remove", "more", "-y")
    assert world.living() == {}
    world.at("05T12:00")
    if how == "undo":
        for _ in range(2):  # the newest first; then what was before it and its undo
            removals = json.loads(world("snapshots", "list", "--json"))["snapshots"]
            undone = {taken for it in removals for taken in it["undoes"]}
            world(
                "undo",
                next(it["id"] for it in removals if it["reason"][:6] == "remove" and it["id"] not in undone),
                "-y",
            )
    elif how == "restore":
        world("snapshots", "restore", state, "-y")
    else:
        _slowly(world, state, monkeypatch)

    assert world.living() == {"lim": (before["lim"][0], None), "more": (before["more"][0], "2026-11-06 09:00")}
    assert "Sun 11-01 09:00" in world("history", "more")
    world.at("06T09:00")
    world("serve", "--once")
    assert world.rows("SELECT job_name, count(*) FROM runs GROUP BY 1 ORDER BY 1") == [("lim", 1), ("more", 2)]
    assert world.rows("PRAGMA foreign_key_check") == []


def _slowly(world: World, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore after whose files, and before whose word to the store, a scheduler looks."""
    carried = history.carry_out

    def carry_out(*args: Any) -> Any:
        changed = carried(*args)
        world("serve", "--once")
        assert set(world.living()) == {"lim", "more"}
        return changed

    monkeypatch.setattr(history, "carry_out", carry_out)
    with contextlib.closing(App(world.home, Settings(), FileClock(world.clock))) as app:
        desk = app.history
        desk.carry_out(desk.to_restore(desk.find(state)), by="tester")


def test_a_job_of_that_name_that_somebody_adds_is_a_new_one(world: World) -> None:
    world(*LIMITED)
    world.at("01T09:00")
    world("serve", "--once")
    first = world.living()["lim"]
    world("remove", "lim", "-y")
    world(*LIMITED)
    assert world.living()["lim"][0] != first[0]
    assert world.living()["lim"][1] == "2026-11-02 09:00"

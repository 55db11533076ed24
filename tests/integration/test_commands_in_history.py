"""Every command that writes in the home has the state before in the history, in a person's name, or writes nothing."""

from __future__ import annotations

import getpass
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.testing import FixedClock
from tests.snapshots_rig import NOON, state

Said = Callable[..., tuple[int, str, str]]

WRITES = (
    ("config", "set", "concurrency", "2"),
    ("config", "set", "--unset", "language"),
    ("model", "set", "gpt-x"),
    ("model", "set", "none"),
    ("db", "add", "shop", "--url", "sqlite:///{root}/shop.db"),
    ("db", "remove", "old", "-y"),
    ("targets", "add", "new", "--kind", "file", "--path", "told.md", "--no-test"),
    ("targets", "remove", "ops", "-y"),
    ("add", "every day 9am: look", "--name", "b"),
    ("edit", "a", "--prompt", "look again"),
    ("edit", "a", "--name", "c"),
    ("pause", "a", "holiday"),
    ("resume", "held"),
    ("remove", "a", "-y"),
    ("memory", "add", "prod is PostgreSQL 15"),
    ("memory", "replace", "one fact", "another fact"),
    ("memory", "remove", "one fact"),
)
REASONS = {
    ("config", "set", "concurrency"): "config set concurrency",
    ("config", "set", "--unset"): "config set language",
    ("model", "set", "gpt-x"): "model set gpt-x",
    ("model", "set", "none"): "model set none",
    ("db", "add", "shop"): "db add shop",
    ("db", "remove", "old"): "db remove old",
    ("targets", "add", "new"): "targets add new",
    ("targets", "remove", "ops"): "targets remove ops",
    ("add", "every day 9am: look", "--name"): "add b",
    ("edit", "a", "--prompt"): "edit a",
    ("edit", "a", "--name"): "rename a to c",
    ("pause", "a", "holiday"): "pause a",
    ("resume", "held"): "resume held",
    ("remove", "a", "-y"): "remove a",
    ("memory", "add", "prod is PostgreSQL 15"): "memory add: prod is PostgreSQL 15",
    ("memory", "replace", "one fact"): "memory replace: another fact",
    ("memory", "remove", "one fact"): "memory remove: one fact",
}


@pytest.fixture
def said(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    for name in ("HERMES_CRON_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("old.db", "shop.db"):
        with sqlite3.connect(home.root / name) as database:
            database.execute("create table t (id integer)")
        database.close()
    home.config.write_text(
        'timezone = "UTC"\nlanguage = "en"\n[model]\nname = "m"\n[databases.old]\nurl = "sqlite:///old.db"\n'
        '[targets.ops]\nkind = "file"\npath = "ops.md"\n'
    )
    (home.jobs / "a.md").write_text("---\nschedule: every day 9am\ntimezone: UTC\n---\nlook\n")
    (home.memories / "MEMORY.md").write_text("one fact\n")
    (home.jobs / "held.md").write_text("---\nschedule: every day 9am\ntimezone: UTC\npaused: why\n---\nlook\n")

    def call(*argv: str) -> tuple[int, str, str]:
        code = run([word.format(root=home.root) for word in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("argv", WRITES, ids=" ".join)
def test_the_state_before_is_the_parent_and_the_person_stands_in_it(
    home: Home, said: Said, argv: tuple[str, ...]
) -> None:
    before = state(home.root)
    code, out, err = said(*argv)
    assert code == 0, (out, err)
    snapshots = SnapshotRepository(home.root, FixedClock(NOON))
    made, found = list(snapshots.log())
    assert (made.actor, made.reason, made.by) == ("cli", REASONS[argv[:3]], getpass.getuser())
    assert (found.actor, found.reason, found.by) == ("user", "edited by hand", None)
    objects = snapshots.objects()
    kept = {path: objects.read(entry.oid) for path, entry in objects.files(found.tree).items()}
    assert kept == {path: data for path, (_, _, data) in before.items()}
    after = {path: objects.read(entry.oid) for path, entry in objects.files(made.tree).items()}
    assert after == {path: data for path, (_, _, data) in state(home.root).items()}
    assert after != kept


@pytest.mark.parametrize("argv", WRITES, ids=" ".join)
def test_without_a_snapshot_nothing_is_written(home: Home, said: Said, argv: tuple[str, ...]) -> None:
    assert said("list")[0] == 0
    home.history.write_text("no folder")
    before = state(home.root)
    code, out, err = said(*argv)
    assert (code, out) == (1, ""), err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 2, "the fact, and what to do"
    assert state(home.root) == before
    assert not home.vault.exists()
    for reader in (("list",), ("show", "a"), ("config", "get"), ("memory", "list")):
        assert said(*reader)[0] == 0


def test_a_change_that_changes_nothing_is_no_snapshot(home: Home, said: Said) -> None:
    assert said("pause", "held")[0] == 0
    assert said("edit", "a", "--prompt", "look")[0] == 0
    assert not home.history.exists()


def test_undo_takes_back_what_a_command_did_and_keeps_what_came_after(home: Home, said: Said) -> None:
    assert said("remove", "a", "-y")[1].splitlines()[0] == "a is removed; its history stays."
    removal = json.loads(said("snapshots", "list", "--json")[1])["snapshots"][0]["id"]
    assert said("add", "every day 9am: look", "--name", "b")[0] == 0
    assert said("undo", removal[:7], "-y")[0] == 0
    assert sorted(path.name for path in home.jobs.iterdir()) == ["a.md", "b.md", "held.md"]
    listed: list[dict[str, Any]] = json.loads(said("list", "--json")[1])["jobs"]
    assert [job["name"] for job in listed] == ["a", "b", "held"]


def test_what_init_makes_is_its_first_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "new"
    assert run(["--home", str(root), "init", "--no-input", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    snapshots = SnapshotRepository(root, FixedClock(NOON))
    (first,) = snapshots.log()
    assert (first.id, first.actor, first.reason, first.by) == (told["snapshot"], "cli", "init", getpass.getuser())
    objects = snapshots.objects()
    files = {path: objects.read(entry.oid) for path, entry in objects.files(first.tree).items()}
    assert files == {path: data for path, (_, _, data) in state(root).items()}
    assert b"config.toml" in files
    assert run(["--home", str(root), "init", "--no-input"]) == 0
    assert "snapshot" not in capsys.readouterr().out
    assert len(list(snapshots.log())) == 1


def test_what_init_adds_to_a_home_comes_after_its_hand_edits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "new"
    assert run(["--home", str(root), "init", "--no-input"]) == 0
    (root / "skills" / ".shipped.json").unlink()
    gone = next(path for path in (root / "skills").rglob("SKILL.md"))
    gone.unlink()
    assert run(["--home", str(root), "init", "--no-input"]) == 0
    assert f"snapshot {next(SnapshotRepository(root, FixedClock(NOON)).log()).id[:7]}" in capsys.readouterr().out
    reasons = [it.reason for it in SnapshotRepository(root, FixedClock(NOON)).log()]
    assert reasons == ["init", "edited by hand", "init"]
    assert gone.exists()

"""Each fault is planted, named by ``doctor`` with a command, and gone after that command."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.cli import doctor as screen
from hermes_cron.doctor import places
from hermes_cron.doctor.examine import CHECKS
from hermes_cron.doctor.finding import Patient
from hermes_cron.home import Home
from hermes_cron.recall import local
from hermes_cron.settings import Environment, Settings
from hermes_cron.testing import FixedClock, StubServer
from hermes_cron.wiring import App
from tests.conftest import Ran, clean_env

RunCli = Callable[..., Ran]
JOB = "---\nschedule: every day 9am\ntimezone: UTC\n---\nlook at the logs\n"


@pytest.fixture
def sound(home: Home, run_cli: RunCli) -> Home:
    """A home of which ``doctor`` has nothing to say."""
    home.root.chmod(0o700)
    assert run_cli("add", "every day 9am: look", "--name", "a").rc == 0
    return home


OF_THE_HOST = ("scheduler", "zones")
"""Nothing serves the homes of these tests, and whose machine it is may have old rules: they have tests of their own."""


def examined(run_cli: RunCli, **options: Any) -> tuple[int, list[dict[str, Any]]]:
    done = run_cli("doctor", "--json", **options)
    assert done.err == ""
    found = [each for each in json.loads(done.out)["findings"] if each["level"] != "ok"]
    wrong = [each for each in found if each["check"] not in OF_THE_HOST]
    if found and not wrong:
        assert done.rc == 6
        return 0, []
    return done.rc, wrong


def one(run_cli: RunCli, check: str, level: str) -> dict[str, Any]:
    """The only thing that is wrong."""
    code, wrong = examined(run_cli)
    assert [(each["check"], each["level"]) for each in wrong] == [(check, level)]
    assert code == {"WARN": 6, "FAIL": 1}[level]
    return wrong[0]


def follow(command: str, home: Home, *, answers: str = "", extra: tuple[str, ...] = ()) -> None:
    """As a person would: in a shell, with ``hermes-cron`` on the path; ``extra`` are options such as -y."""
    ours = f"{sys.executable} -m hermes_cron"
    line = " ".join((command.replace("hermes-cron", ours, 1) if command.startswith("hermes-cron") else command, *extra))
    env = clean_env({"HERMES_CRON_HOME": str(home.root), "EDITOR": str(home.root / "editor")})
    done = subprocess.run(
        ["sh", "-c", line], env=env, input=answers, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (0, 6), (line, done.stdout, done.stderr)


def editor(home: Home, script: str) -> None:
    """What the person does in the editor; ``$1`` is the file."""
    place = home.root / "editor"
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def well(run_cli: RunCli) -> None:
    assert examined(run_cli) == (0, [])


def test_a_sound_home_is_one_screen_of_ok(sound: Home, run_cli: RunCli) -> None:
    done = run_cli("doctor")
    assert done.rc == 6, done.out
    *lines, last = done.out.splitlines()
    serve = [line for line in lines if line.startswith("WARN  no scheduler runs: nothing starts by itself")]
    assert len(serve) == 1, "a job waits for its time and nobody would start it"
    assert {line[:6] for line in lines if line not in serve and "zone rules" not in line} == {"ok    "}
    assert last.endswith(("needs you", "need you"))
    assert len(lines) == len(CHECKS) - 1, "the check for lost jobs has nothing to say"
    assert f"ok    home {sound.root}, 0700, " in done.out
    assert "ok    history verified: 2 snapshots" in done.out


def test_what_is_wrong_stands_beside_its_command(sound: Home, run_cli: RunCli) -> None:
    sound.root.chmod(0o755)
    (sound.jobs / "bad.md").write_text("---\nshedule: x\n---\nx\n")
    done = run_cli("doctor")
    assert done.rc == 1
    lines = done.out.splitlines()
    wrong = [line for line in lines if not line.startswith("ok")]
    needed = sum(line.startswith(("WARN", "FAIL")) for line in lines)
    assert wrong[-1] == f"{needed} of {len(CHECKS) - 1} need you"
    assert wrong[0] == f"WARN  others may look into {sound.root} (0755)" or wrong[0].endswith(f"chmod 700 {sound.root}")
    assert "".join(wrong).count("hermes-cron edit bad") == 1
    assert any(line.startswith('FAIL  jobs/bad.md:2 unknown key "shedule"') for line in wrong)
    chinese = run_cli("doctor", "--lang", "zh")
    assert chinese.out.splitlines()[-1] == f"{len(CHECKS) - 1} 项中有 {needed} 项需要处理"


def test_every_text_is_there_in_both_languages() -> None:
    english, chinese = screen._TEXTS["en"], screen._TEXTS["zh"]
    assert english.keys() == chinese.keys()
    fields = lambda text: sorted(part.partition("}")[0] for part in text.split("{")[1:])  # noqa: E731
    assert {key: fields(text) for key, text in english.items()} == {key: fields(chinese[key]) for key in english}


# --- the folder -------------------------------------------------------------------------------------------------------


def test_a_home_that_others_can_read(sound: Home, run_cli: RunCli) -> None:
    sound.root.chmod(0o750)
    follow(one(run_cli, "home", "WARN")["command"], sound)
    well(run_cli)


@pytest.mark.parametrize("name, level", [("vault.json", "WARN"), ("vault.key", "FAIL")])
def test_secrets_that_others_can_read(sound: Home, run_cli: RunCli, name: str, level: str) -> None:
    assert run_cli("secrets", "set", "x", "--stdin", stdin="hunter2hunter2").rc == 0
    (sound.root / name).chmod(0o644)
    _, wrong = examined(run_cli)
    found = next(each for each in wrong if each["check"] == "permissions")
    assert (found["level"], found["fact"]) == (level, f"others can read {name} (0644)")
    follow(found["command"], sound)
    well(run_cli)


def test_a_missing_folder(sound: Home, run_cli: RunCli) -> None:
    (sound.jobs / "a.md").unlink()
    sound.jobs.rmdir()
    _, wrong = examined(run_cli)
    found = next(each for each in wrong if each["check"] == "writable")
    follow(found["command"], sound)
    assert stat.S_IMODE(sound.jobs.stat().st_mode) == 0o700
    assert [each["check"] for each in examined(run_cli)[1]] == ["lost"]


def test_a_home_that_cannot_be_written(sound: Home) -> None:
    """Files may grow to nothing: what a full disk and a full quota do to every write."""

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    import signal

    done = subprocess.run(
        [sys.executable, "-c",
         "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
         "from hermes_cron.cli.main import main; main(['doctor', '--json'])"],
        env=clean_env({"HERMES_CRON_HOME": str(sound.root)}), capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=no_room,
    )  # fmt: skip
    assert signal.SIGXFSZ
    assert done.returncode == 1, done.stderr
    found = [each for each in json.loads(done.stdout)["findings"] if each["check"] == "writable"]
    assert [each["level"] for each in found] == ["FAIL"]
    assert found[0]["fact"] == f"{sound.root} cannot be written: File too large"
    assert found[0]["command"] == f"df -h {sound.root}"
    assert not [path for path in sound.root.iterdir() if path.name.startswith(".hermes-cron-tmp")]


@pytest.mark.parametrize(
    "free, blocks, level",
    [(300, 1_000, "ok"), (150, 1_000, "WARN"), (400, 10_000, "WARN"), (30_000, 1_000_000, "ok")],
    ids=["room", "below 200 MB", "below 5 %", "5 % of a large disk"],
)
def test_room_on_the_disk(home: Home, free: int, blocks: int, level: str) -> None:
    megabyte = 1_000_000
    settings = Settings()
    clock = FixedClock(datetime(2026, 12, 1, tzinfo=UTC))
    patient = Patient(
        home=home, env=Environment(), clock=clock, settings=settings, app=App(home, settings, clock),
        space=lambda _: os.statvfs_result((megabyte, megabyte, blocks, free, free, 0, 0, 0, 0, 255)),
    )  # fmt: skip
    (found,) = places.disk(patient)
    assert found.level == level
    assert found.command == (None if level == "ok" else f"df -h {home.root}")


# --- what people wrote ------------------------------------------------------------------------------------------------


def test_settings_that_cannot_be_read(sound: Home, run_cli: RunCli) -> None:
    sound.config.write_text('timezone = "UTC"\nconcurency = 4\n')
    editor(sound, 'sed -i s/concurency/concurrency/ "$1"')
    found = one(run_cli, "settings", "FAIL")
    assert "config.toml:2: unknown key" in found["fact"]
    follow(found["command"], sound)
    well(run_cli)


def test_a_second_memory_without_its_engine(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.config.write_text('timezone = "UTC"\n[memory]\nprovider = "local"\n')
    settings = Settings.load(home)
    clock = FixedClock(datetime(2026, 12, 1, 12, tzinfo=UTC))
    patient = Patient(
        home=home, env=Environment(), clock=clock, settings=settings, app=App(home, settings, clock)
    )  # fmt: skip
    assert [finding.fact for finding in CHECKS["settings"](patient)] == ["settings"]
    monkeypatch.setattr(local, "_MODULE", "no_such_engine")
    said, told = CHECKS["settings"](patient)
    assert (said.fact, told.fact, told.command) == ("settings", "recall", "pip install 'hermes-cron[recall]'")


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer({"models": ["m"], "replies": []}) as server:
        yield server


def test_a_secret_that_is_named_and_not_kept(sound: Home, run_cli: RunCli, stub: StubServer) -> None:
    with sound.config.open("a") as config:
        config.write(f'[model]\nname = "m"\nkey = "secret:openai"\nbase_url = "{stub.base_url}"\n')
        config.write('[targets.ops]\nkind = "webhook"\nurl = "secret:ops-hook"\n')
    code, wrong = examined(run_cli)
    assert code == 1
    assert [each["fact"] for each in wrong] == [
        'model.key names the secret "openai", which is not kept',
        'targets.ops.url names the secret "ops-hook", which is not kept',
    ]
    for each in wrong:
        follow(each["command"], sound, answers="https://example.org/x", extra=("--stdin",))
    well(run_cli)


def test_a_lost_key_of_the_vault(sound: Home, run_cli: RunCli) -> None:
    assert run_cli("secrets", "set", "x", "--stdin", stdin="hunter2hunter2").rc == 0
    kept = sound.vault_key.read_bytes()
    sound.vault_key.unlink()
    _, wrong = examined(run_cli)
    found = next(each for each in wrong if each["check"] == "vault")
    assert found["fact"] == f"the key of {sound.vault} is missing: {sound.vault_key}"
    assert "put vault.key back from a backup" in found["command"]
    sound.vault_key.write_bytes(kept)
    sound.vault_key.chmod(0o600)
    well(run_cli)


def test_a_broken_job_file(sound: Home, run_cli: RunCli) -> None:
    (sound.jobs / "bad.md").write_text("---\nshedule: every day 9am\ntimezone: UTC\n---\nx\n")
    editor(sound, 'sed -i s/shedule/schedule/ "$1"')
    found = one(run_cli, "jobs", "FAIL")
    assert found["fact"].startswith('jobs/bad.md:2 unknown key "shedule"')
    follow(found["command"], sound)
    well(run_cli)


def test_many_broken_job_files_are_counted(sound: Home, run_cli: RunCli) -> None:
    for number in range(8):
        (sound.jobs / f"bad{number}.md").write_text("x")
    _, wrong = examined(run_cli)
    assert len(wrong) == 6
    assert (wrong[-1]["fact"], wrong[-1]["command"]) == ("3 more job files are broken", "hermes-cron check")


def test_a_job_that_vanished(sound: Home, run_cli: RunCli) -> None:
    (sound.jobs / "a.md").unlink()
    found = one(run_cli, "lost", "WARN")
    assert found["fact"].startswith("the job file a.md of the snapshot ")
    follow(found["command"], sound, extra=("-y",))
    assert (sound.jobs / "a.md").exists()
    well(run_cli)


# --- the store --------------------------------------------------------------------------------------------------------


def changed(home: Home, *statements: str) -> None:
    with sqlite3.connect(home.store) as store:
        for statement in statements:
            store.execute(statement)
    store.close()


def test_a_damaged_store(sound: Home, run_cli: RunCli) -> None:
    changed(sound, "PRAGMA journal_mode=DELETE")
    with sound.store.open("r+b") as file:
        file.write(b"no database at all")
    found = one(run_cli, "store", "FAIL")
    assert found["fact"].startswith("state.db is damaged: file is not a database.")
    follow(found["command"], sound)
    well(run_cli)
    assert [job["name"] for job in json.loads(run_cli("list", "--json").out)["jobs"]] == ["a"]


def test_pages_of_the_store_that_are_damaged(sound: Home, run_cli: RunCli) -> None:
    changed(sound, "PRAGMA journal_mode=DELETE")
    data = bytearray(sound.store.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 64] = b"\xff" * 64
    sound.store.write_bytes(data)
    assert one(run_cli, "store", "FAIL")["fact"].startswith("state.db is damaged: ")


def test_a_store_of_a_newer_version(sound: Home, run_cli: RunCli) -> None:
    changed(sound, "PRAGMA user_version = 99")
    assert one(run_cli, "store", "FAIL")["fact"].startswith("state.db has schema 99, this hermes-cron knows up to ")


def test_a_store_of_an_older_version(sound: Home, run_cli: RunCli) -> None:
    from hermes_cron.store.migrate import migrations

    sound.store.unlink()
    for beside in sound.root.glob("state.db-*"):
        beside.unlink()
    store = sqlite3.connect(sound.store)
    number, text = migrations()[0]
    store.executescript(text)
    store.execute(f"PRAGMA user_version = {number}")
    store.close()
    found = one(run_cli, "store", "WARN")
    assert found["command"] == "hermes-cron upgrade"
    follow(found["command"], sound)
    well(run_cli)


def test_runs_of_a_dead_process(sound: Home, run_cli: RunCli) -> None:
    assert run_cli("add", "every day 9am", "--script", "true", "--name", "s").rc == 0
    assert run_cli("run", "s").rc == 0
    changed(
        sound,
        "UPDATE runs SET state = 'running', ended_at = NULL, owner = 'serve-1-dead', reason = NULL,"
        " slot = (SELECT uid FROM jobs WHERE name = 's')",
    )
    found = one(run_cli, "owners", "WARN")
    assert found["fact"] == "1 run of a dead process waits for a scheduler"
    follow(found["command"], sound)
    assert not [each for each in examined(run_cli)[1] if each["check"] == "owners"]


def test_a_clock_that_was_set_back(sound: Home, run_cli: RunCli) -> None:
    assert run_cli("add", "every day 9am", "--script", "true", "--name", "s").rc == 0
    assert run_cli("run", "s").rc == 0
    changed(sound, "UPDATE runs SET ended_at = '2999-01-01 00:00:00.000000'")
    found = one(run_cli, "clock", "FAIL")
    assert "behind what was written last (2999-01-01 00:00 UTC)" in found["fact"]
    assert found["command"] == "timedatectl status"


@pytest.mark.parametrize("state", ["failed", "unknown"])
def test_a_message_that_did_not_arrive(sound: Home, run_cli: RunCli, state: str) -> None:
    assert run_cli("targets", "add", "ops", "--kind", "file", "--path", "told.md", "--no-test").rc == 0
    assert run_cli("add", "every day 9am", "--script", "echo hello", "--name", "s", "--deliver", "ops").rc == 0
    assert run_cli("run", "s").rc == 0
    changed(sound, f"UPDATE deliveries SET state = '{state}', error = 'nobody listens', receipt = NULL")
    found = one(run_cli, "deliveries", "WARN")
    assert found["fact"].endswith("s to ops: nobody listens")
    assert found["command"].startswith("hermes-cron outbox retry d")
    follow(found["command"], sound, extra=("-y",))
    well(run_cli)


# --- the history ------------------------------------------------------------------------------------------------------


def test_a_home_without_a_history(sound: Home, run_cli: RunCli) -> None:
    shutil.rmtree(sound.history)
    follow(one(run_cli, "history", "WARN")["command"], sound)
    well(run_cli)


def test_a_change_that_a_dead_process_left_and_that_cannot_be_finished(sound: Home, run_cli: RunCli) -> None:
    sound.unfinished_change.write_text("no json")
    _, wrong = examined(run_cli)
    found = next(each for each in wrong if each["check"] == "history")
    assert "hermes-cron-pending" in found["fact"]
    follow(found["command"], sound)
    well(run_cli)


def test_a_lock_that_a_dead_git_left(sound: Home, run_cli: RunCli) -> None:
    lock = sound.history / "refs" / "heads" / "main.lock"
    lock.touch()
    found = one(run_cli, "history", "FAIL")
    assert "refs/heads/main.lock is the lock of a git that died" in found["fact"]
    follow(found["command"], sound)
    assert not lock.exists()
    well(run_cli)
    lock.touch()
    old = time.time() - 3600
    os.utime(lock, (old, old))
    well(run_cli)
    assert not lock.exists(), "an old one is nobody's, and whoever looks removes it"


def test_a_process_that_holds_the_home_for_long(sound: Home, run_cli: RunCli) -> None:
    import fcntl

    from hermes_cron.snapshots.repository import LOCK

    with (sound.history / LOCK).open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(b"%d\n" % os.getpid())
        lock.flush()
        found = one(run_cli, "history", "FAIL")
    assert found["fact"] == f"history: process {os.getpid()} is changing the home for 3 s already"
    assert found["command"] == f"ps {os.getpid()}"
    well(run_cli)


def test_a_history_with_a_damaged_pack(sound: Home, run_cli: RunCli) -> None:
    pack = next((sound.history / "objects" / "pack").glob("*.pack"))
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.write_bytes(data)
    code, wrong = examined(run_cli)
    assert code == 1
    assert any(each["check"] == "history" and pack.name in each["fact"] for each in wrong)


def test_a_large_history_is_looked_at_where_it_is_needed_next(
    sound: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hermes_cron.cli.main import run
    from hermes_cron.doctor import history

    monkeypatch.setenv("HERMES_CRON_HOME", str(sound.root))
    monkeypatch.setattr(history, "SMALL", 0)
    capsys.readouterr()
    assert run(["doctor"]) == 6
    assert "ok    history: the newest snapshot " in capsys.readouterr().out


def test_a_file_that_no_snapshot_holds(sound: Home, run_cli: RunCli) -> None:
    assert run_cli("secrets", "set", "x", "--stdin", stdin="hunter2hunter2").rc == 0
    (sound.jobs / "told.md").write_text(JOB + "the password is hunter2hunter2\n")
    editor(sound, 'sed -i "s/hunter2hunter2/secret:x/" "$1"')
    found = one(run_cli, "left_out", "WARN")
    assert found["fact"] == 'in no snapshot: jobs/told.md: it holds the value of the secret "x"'
    for command in (("pause", "told"), ("remove", "told", "-y"), ("edit", "told", "--prompt", "other")):
        refused = run_cli(*command)
        assert (refused.rc, "hunter2" in refused.err) == (1, False)
        assert "is in no snapshot, so it stays as it is" in refused.err
    follow(found["command"], sound)
    well(run_cli)
    assert run_cli("remove", "told", "-y").rc == 0


def test_pipes_and_nested_repositories_are_named(sound: Home, run_cli: RunCli) -> None:
    os.mkfifo(sound.skills / "pipe")
    (sound.skills / "mine" / ".git").mkdir(parents=True)
    code, wrong = examined(run_cli)
    assert code == 6
    assert {each["fact"].split(": ")[1] for each in wrong} == {"skills/pipe", "skills/mine/.git"}
    assert {each["command"].split()[0] for each in wrong} == {"ls"}


def test_a_check_that_fails_is_a_finding(sound: Home, run_cli: RunCli) -> None:
    shutil.rmtree(sound.owners)
    sound.owners.write_text("no folder")
    code, wrong = examined(run_cli)
    assert code == 1
    assert [each["check"] for each in wrong] == ["owners"]
    assert "Not a directory" in wrong[0]["fact"]


def test_no_home(tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli("doctor", at=Home(tmp_path / "none"))
    assert (done.rc, done.out) == (78, "")

"""What ``doctor`` says of what is around a home: schedulers, the host, servers, databases. Each fault is planted."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.doctor import host, outside
from hermes_cron.doctor.finding import Finding, Patient
from hermes_cron.domain.database import Account
from hermes_cron.home import Home
from hermes_cron.scheduler.owners import Owner
from hermes_cron.settings import Environment, Settings
from hermes_cron.testing import FixedClock, StubServer
from hermes_cron.wiring import App
from tests.conftest import Ran, clean_env
from tests.receivers import Receiver, Reply, dead_port
from tests.serving import Serving, until, write_job

RunCli = Callable[..., Ran]
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def told(done: Ran, check: str) -> list[dict[str, Any]]:
    assert done.err == ""
    return [each for each in json.loads(done.out)["findings"] if each["check"] == check]


def only(done: Ran, check: str) -> dict[str, Any]:
    (found,) = told(done, check)
    return found


def patient(home: Home, *, answer_s: float = 60.0, now: datetime = NOW) -> Patient:
    settings, clock = Settings.load(home), FixedClock(now)
    return Patient(
        home=home, env=Environment(), clock=clock, settings=settings, app=App(home, settings, clock), answer_s=answer_s
    )


def said(found: Finding) -> tuple[str, str, str | None]:
    return found.level.value, found.fact, found.command


def follow(command: str, home: Home, env: dict[str, str] | None = None) -> None:
    """As a person would, in a shell."""
    line = command.replace("hermes-cron ", f"{sys.executable} -m hermes_cron ", 1)
    given = clean_env({"HERMES_CRON_HOME": str(home.root), **(env or {})})
    done = subprocess.run(["sh", "-c", line], env=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 6), (line, done.stdout, done.stderr)


def changed(home: Home, statement: str) -> None:
    with closing(sqlite3.connect(home.store)) as store, store:
        store.execute(statement)


# --- schedulers -------------------------------------------------------------------------------------------------------


def test_a_scheduler_that_goes_round_and_its_metrics(home: Home) -> None:
    write_job(home, "a", "schedule: every day at 12:00", "script: echo fine")
    with Serving(home, env={"HERMES_CRON_METRICS_LISTEN": "127.0.0.1:0"}) as serving:
        done = serving.cli("doctor", "--json")
        assert only(done, "scheduler")["fact"].startswith(f"scheduler {serving.process.pid} goes round, ")
        assert re.fullmatch(r"metrics on 127\.0\.0\.1:[1-9]\d*: \d{2,} series", only(done, "metrics")["fact"])
        assert {only(done, check)["level"] for check in ("scheduler", "metrics", "due")} == {"ok"}


def test_a_scheduler_that_hangs_is_ended_and_its_runs_go_on(home: Home) -> None:
    write_job(home, "a", "schedule: every day at 12:00", "script: echo fine")
    with Serving(home) as serving:
        serving.process.send_signal(signal.SIGSTOP)
        (lock,) = home.owners.glob("serve-*.lock")
        old = time.time() - 300
        os.utime(lock, (old, old))
        found = only(serving.cli("doctor", "--json"), "scheduler")
        assert found["level"] == "FAIL"
        assert found["fact"].startswith(f"scheduler {serving.process.pid} has not gone round for 0:05:0")
        follow(found["command"], home)
        serving.process.wait(60)
        assert only(serving.cli("doctor", "--json"), "scheduler")["fact"].startswith("no scheduler runs")


def test_a_home_whose_jobs_nobody_starts(home: Home, run_cli: RunCli) -> None:
    assert only(run_cli("doctor", "--json"), "scheduler")["fact"] == "no job starts by itself"
    write_job(home, "a", "schedule: every day at 12:00", "script: echo fine")
    assert run_cli("list").rc == 0
    found = only(run_cli("doctor", "--json"), "scheduler")
    assert (found["level"], found["command"].startswith("hermes-cron serv")) == ("WARN", True)
    assert run_cli("serve", "--once").rc == 0  # as a crontab does
    assert only(run_cli("doctor", "--json"), "scheduler")["fact"] == "a pass was made within ten minutes"
    log = home.logs / "serve.log"
    log.write_text(re.sub(r'"at": "20\d\d', '"at": "2020', log.read_text()))
    assert only(run_cli("doctor", "--json"), "scheduler")["level"] == "WARN"
    assert run_cli("pause", "a").rc == 0
    assert only(run_cli("doctor", "--json"), "scheduler")["level"] == "ok"


def test_a_job_that_is_overdue_begins_after_the_command(home: Home, run_cli: RunCli) -> None:
    write_job(home, "a", "schedule: every 5 minutes", "script: echo fine")
    assert run_cli("list").rc == 0
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    changed(home, f"UPDATE jobs SET next_due = '{long_ago:%Y-%m-%d %H:%M:%S.%f}'"
            f", settled_until = '{long_ago - timedelta(minutes=1):%Y-%m-%d %H:%M:%S.%f}'")  # fmt: skip
    found = only(run_cli("doctor", "--json"), "due")
    assert (found["level"], found["fact"]) == ("FAIL", f"a was due at {long_ago:%Y-%m-%d %H:%M} UTC and has not begun")
    follow(found["command"], home)
    assert only(run_cli("doctor", "--json"), "due")["level"] == "ok"


def test_a_job_that_missed_every_instant_so_far_has_never_run(home: Home) -> None:
    write_job(home, "a", "schedule: every day at 12:00", "catch_up: none", "script: echo fine")
    with Serving(home) as serving:
        serving.stop()
        serving.at("+1 20:00")
        serving.start()
        until(lambda: serving.rows("SELECT 1 FROM occurrence_spans WHERE state = 'missed'"), "the instants are missed")
        found = only(serving.cli("doctor", "--json"), "due")
        assert found["level"] == "WARN"
        assert re.fullmatch(r"a has never run: 2 instants missed since 2026-12-01 12:00 UTC", found["fact"])
        assert found["command"] == "hermes-cron run a"
        assert serving.cli("run", "a").rc == 0
        assert only(serving.cli("doctor", "--json"), "due")["level"] == "ok"


# --- metrics ----------------------------------------------------------------------------------------------------------


def listening(home: Home, address: str) -> dict[str, str]:
    with home.config.open("a") as config:
        config.write(f'[metrics]\nlisten = "{address}"\n')
    return {"HERMES_CRON_METRICS_LISTEN": ""}


def test_an_address_of_the_metrics_that_another_program_has(home: Home, run_cli: RunCli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        env = listening(home, address)
        found = only(run_cli("doctor", "--json", env=env), "metrics")
        assert found["fact"] == f"metrics could not be told on {address}: Address already in use"
        assert found["level"] == "WARN"
        with Owner(home.owners, kind="serve", started_at=NOW):
            alive = only(run_cli("doctor", "--json", env=env), "metrics")
        assert (alive["level"], alive["command"]) == ("FAIL", found["command"])
        assert alive["fact"].startswith("the scheduler tells no metrics: ")
        follow(found["command"], home, env)
        assert f"{taken.getsockname()[1] + 1}" in home.config.read_text()


def test_metrics_that_are_not_answered_by_the_scheduler(home: Home, run_cli: RunCli) -> None:
    with Receiver() as stranger, Owner(home.owners, kind="serve", started_at=NOW) as owner:
        owner.serves_metrics(stranger.root.removeprefix("http://"))
        found = only(run_cli("doctor", "--json"), "metrics")
    assert (found["level"], found["command"]) == ("FAIL", "hermes-cron logs")
    assert found["fact"].endswith("are not told: another program answers there (200)")


def test_a_scheduler_that_answers_nobody_is_not_waited_for(home: Home) -> None:
    with socket.socket() as deaf, Owner(home.owners, kind="serve", started_at=NOW) as owner:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        owner.serves_metrics(f"127.0.0.1:{deaf.getsockname()[1]}")
        (found,) = outside.metrics(patient(home, answer_s=0.2))
    assert (found.level.value, found.fact) == ("FAIL", "metrics_silent")


# --- the host ---------------------------------------------------------------------------------------------------------


def jumped(home: Home, *jumps: tuple[datetime, float]) -> None:
    home.logs.mkdir(exist_ok=True)
    lines = [{"at": at.isoformat(), "level": "warning", "event": "ClockJumped", "by_s": by_s} for at, by_s in jumps]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (home.logs / "serve.log").write_text(f"not JSON, ClockJumped\n{text}")


def test_a_clock_that_was_set_back_a_while_ago(home: Home, run_cli: RunCli) -> None:
    now = datetime.now(UTC)
    jumped(home, (now - timedelta(days=2), -9_000), (now - timedelta(hours=2), 3_600), (now - timedelta(hours=1), -9))
    found = only(run_cli("doctor", "--json"), "clock")
    assert found["fact"] == "clock in step, zone UTC; it moved 2 times within a day, as after sleep"
    jumped(home, (now - timedelta(hours=2), -7_200.4))
    found = only(run_cli("doctor", "--json"), "clock")
    assert (found["level"], found["command"]) == ("WARN", "timedatectl set-ntp true")
    assert found["fact"].startswith("the clock was set back by 2:00:00 at ")


def test_zone_rules_that_are_old(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "zoneinfo"
    rules.mkdir()
    (rules / "UTC").write_bytes(b"TZif")
    monkeypatch.setattr(zoneinfo, "TZPATH", (str(tmp_path / "none"), str(rules)))
    (found,) = host.zones(patient(home))
    assert (found.level.value, found.fact) == ("ok", "zones_unknown")
    for version, level in (("2024b", "WARN"), ("2025b", "ok"), ("2026a", "ok")):
        (rules / "tzdata.zi").write_text(f"# version {version}\nR d 1916 o\n")
        (found,) = host.zones(patient(home))
        assert (found.level.value, found.said["version"]) == (level, version)
        assert (found.command is None) == (level == "ok")
    monkeypatch.setattr(zoneinfo, "TZPATH", ())
    (found,) = host.zones(patient(home, now=datetime(2099, 1, 1, tzinfo=UTC)))
    assert said(found) == ("WARN", "zones_old", "pip install --upgrade tzdata")


@pytest.fixture
def systemd(tmp_path: Path) -> dict[str, str]:
    """A person's folder for units, and a systemctl that says what the test wrote."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(
        f'#!/bin/sh\ncase "$*" in *is-active*) cat {tmp_path}/active;; *is-enabled*) echo enabled;;'
        f" *restart*) echo active > {tmp_path}/active;; esac\n"
    )
    (programs / "systemctl").chmod(0o755)
    (tmp_path / "active").write_text("active\n")
    return {"HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}"}


def test_units_that_another_version_wrote(
    home: Home, run_cli: RunCli, systemd: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> dict[str, Any]:
        return only(run_cli("doctor", "--json", env=systemd), "service")

    assert found()["fact"] == "not a service of this host"
    assert run_cli("service", "install", "--user", "-y", "--drain", "7", env=systemd).rc == 0
    assert found()["fact"] == "service of the user: active, written by this version" or "log-out" in found()["fact"]
    (unit,) = (tmp_path / ".config/systemd/user").iterdir()
    unit.write_text(unit.read_text().replace("UMask=0077\n", ""))
    stale = found()
    assert stale["fact"] == f"{unit} is not what this version writes"
    assert stale["command"] == "hermes-cron service install --user --drain 7"
    follow(f"{stale['command']} -y", home, systemd)
    assert found()["level"] == "ok" or "log-out" in found()["fact"]
    (tmp_path / "active").write_text("failed\n")
    down = found()
    assert (down["level"], down["command"]) == ("FAIL", "systemctl --user restart hermes-cron.service")
    follow(down["command"], home, systemd)
    assert found()["level"] == "ok" or "log-out" in found()["fact"]
    other = Home(tmp_path / "other")
    assert run_cli("init", "--no-input", at=other).rc == 0
    assert only(run_cli("doctor", "--json", at=other, env=systemd), "service")["fact"] == "not a service of this host"


def test_a_service_that_ends_with_its_session_and_a_timer(
    home: Home, run_cli: RunCli, systemd: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lingers = tmp_path / "systemd" / "linger"
    lingers.parent.mkdir()
    monkeypatch.setattr(host, "_LINGER", lingers)
    for name, value in systemd.items():
        monkeypatch.setenv(name, value)
    assert run_cli("service", "install", "--user", "-y", "--timer", env=systemd).rc == 0
    (found,) = host.service(patient(home))
    assert said(found) == ("FAIL", "service_ends", "loginctl enable-linger")
    lingers.mkdir()
    import getpass

    (lingers / getpass.getuser()).touch()
    (found,) = host.service(patient(home))
    assert said(found) == ("ok", "service", None)
    (found,) = host.scheduler(patient(home))
    assert said(found) == ("ok", "timer", None)


# --- the model --------------------------------------------------------------------------------------------------------


def with_model(home: Home, base_url: str, name: str = "m", more: str = "") -> None:
    home.config.write_text(f'timezone = "UTC"\n[model]\nname = "{name}"\nbase_url = "{base_url}"\n{more}')


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer({"models": ["m", "Maker/large", "small:7b"], "replies": []}) as server:
        yield server


@pytest.mark.parametrize("name, level", [("m", "ok"), ("large", "ok"), ("Small", "ok"), ("gpt-6-minni", "WARN")])
def test_a_model_is_asked_for_without_a_call_that_costs(home: Home, stub: StubServer, name: str, level: str) -> None:
    with_model(home, stub.base_url, name)
    (found,) = outside.model(patient(home))
    assert found.level.value == level
    assert found.command == (None if level == "ok" else "hermes-cron model list")
    assert stub.requests == []


def test_a_server_without_a_list_of_models_answers_all_the_same(home: Home) -> None:
    for reply in (Reply(status=404), Reply(body=b"<html>hello</html>")):
        with Receiver(otherwise=reply) as server:
            with_model(home, server.root)
            (found,) = outside.model(patient(home))
            assert said(found) == ("ok", "model", None)
            assert [got.path for got in server.got] == ["/models"]


def test_a_server_that_does_not_take_the_key(home: Home) -> None:
    with Receiver(otherwise=Reply(status=401)) as server:
        with_model(home, server.root)
        (found,) = outside.model(patient(home))
        assert found.fact == "model_key"
        assert found.command is not None
        assert found.command.startswith("hermes-cron secrets set model-key && ")
        with_model(home, server.root, more='key = "secret:openai"\n')
        App(home, Settings.load(home), FixedClock(NOW)).vault.set("openai", "sk-wrong-wrong")
        (found,) = outside.model(patient(home))
        assert said(found) == ("FAIL", "model_key", "hermes-cron secrets set openai")
        assert "sk-wrong" not in str(found)


def test_a_server_that_is_not_there_and_one_that_never_answers(home: Home) -> None:
    with_model(home, f"http://127.0.0.1:{dead_port()}/v1")
    (found,) = outside.model(patient(home))
    assert said(found) == ("FAIL", "model_silent", "hermes-cron model list")
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        with_model(home, f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        began = time.monotonic()
        (found,) = outside.model(patient(home, answer_s=0.3))
        assert (found.level.value, found.fact) == ("FAIL", "model_silent")
        assert time.monotonic() - began < 20


# --- databases --------------------------------------------------------------------------------------------------------


def test_databases_that_answer_and_one_that_is_gone(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    for name in ("shop", "news"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as made:
            made.execute("create table a (b)")
        assert run_cli("db", "add", name, "--url", str(tmp_path / f"{name}.db")).rc == 0
    found = only(run_cli("doctor", "--json"), "databases")
    assert found["fact"] == "2 databases answer, their accounts can only read"
    (tmp_path / "news.db").unlink()
    gone, rest = told(run_cli("doctor", "--json"), "databases")
    assert (gone["level"], gone["command"]) == ("FAIL", "hermes-cron db test news")
    assert gone["fact"].startswith("news: ")
    assert rest["fact"] == "the database answers, its account can only read"


@pytest.mark.parametrize("allowed", [False, True])
def test_an_account_that_was_given_more_than_reading(
    home: Home, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    """The real server's is in ``postgres/test_cli_db.py``."""
    word = "true" if allowed else "false"
    home.config.write_text(
        f'timezone = "UTC"\n[databases.prod]\nurl = "postgresql://w@127.0.0.1/x"\nallow_writable_account = {word}\n'
    )
    account = Account(
        name="w", engine="postgresql", version="15", tls=False, tables=1, rights=(), powers=("may write to 1 tables",)
    )
    monkeypatch.setattr("hermes_cron.databases.connect.probe", lambda *_, **__: account)
    found = next(iter(outside.databases(patient(home))))
    expected = ("ok", "database_allowed", None) if allowed else ("FAIL", "database_writes", "hermes-cron db test prod")
    assert said(found) == expected


def test_a_database_that_never_answers_does_not_hold_the_doctor(home: Home) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"postgresql://w@127.0.0.1:{deaf.getsockname()[1]}/x"
        home.config.write_text(f'timezone = "UTC"\n[databases.slow]\nurl = "{url}"\n')
        found = next(iter(outside.databases(patient(home, answer_s=0.3))))
    assert (found.level.value, found.fact, found.said["why"]) == ("FAIL", "database_fault", "no answer within 0.3 s")

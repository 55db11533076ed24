"""The service as systemd sees it: its words on the socket, its units, its commands (a stand-in for systemctl)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.home import Home
from tests.conftest import Ran, RunCli, clean_env
from tests.scheduler_rig import Rig
from tests.serving import Serving, until, write_job


class Manager:
    """The socket of a service manager, and what was said to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)
        self.said: list[str] = []

    def heard(self) -> list[str]:
        while True:
            try:
                self.said += self._socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.said

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    made = Manager(tmp_path / "notify")
    yield made
    made.close()


def test_systemd_is_told_ready_alive_and_stopping(home: Home, manager: Manager) -> None:
    env = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "300000"}
    with Serving(home, env=env) as serving:
        until(lambda: manager.heard().count("WATCHDOG=1") >= 3, "three signs of life")
        assert manager.said[0] == "READY=1"
        assert manager.said[1] == f"STATUS=serving {home.root}"
        assert "STOPPING=1" not in manager.said
        assert serving.stop() == 0
        assert "STOPPING=1" in manager.heard()


def test_ready_comes_after_the_first_look_at_the_jobs(home: Home, manager: Manager) -> None:
    write_job(home, "good", "schedule: every day at 12:00", "script: echo fine")
    with Serving(home, env={"NOTIFY_SOCKET": str(manager.path)}) as serving:
        until(lambda: "READY=1" in manager.heard(), "it is ready")
        assert serving.rows("SELECT name FROM jobs") == [{"name": "good"}]
        assert "WATCHDOG=1" not in manager.said, "nobody asked for signs of life"


def test_a_watchdog_of_another_process_is_not_fed(home: Home, manager: Manager) -> None:
    env = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
    with Serving(home, env=env):
        until(lambda: "READY=1" in manager.heard(), "it is ready")
    assert "WATCHDOG=1" not in manager.heard()


def test_jobs_do_not_get_the_socket(home: Home, manager: Manager) -> None:
    write_job(home, "nosy", "schedule: every day at 12:00", 'script: echo "[$NOTIFY_SOCKET$WATCHDOG_USEC]"')
    env = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "60000000"}
    with Serving(home, env=env) as serving:
        serving.due("12:00", runs=1)
        (report,) = (home.outputs / "nosy").glob("*.md")
        assert report.read_text().strip() == "[]"


class Notes:
    """What the loop says, with the number of rounds at which it said so."""

    def __init__(self) -> None:
        self.rounds = 0
        self.said: list[str] = []

    def ready(self, status: str) -> None:
        self.said.append("ready")

    def goes_round(self) -> None:
        self.rounds += 1

    def stopping(self) -> None:
        self.said.append("stopping")


def test_a_loop_that_hangs_gives_no_sign_of_life(home: Home) -> None:
    """Other threads live on: a run, the timers. Only the loop's own going round counts."""
    import threading

    from hermes_cron.scheduler.timers import Wake

    notes, hangs, go_on = Notes(), threading.Event(), threading.Event()

    def housekeep(_now: object) -> None:
        if rig.service.passes:
            hangs.set()
            go_on.wait(30)

    rig = Rig(home, notifier=notes, housekeep=housekeep)
    with rig:
        until(lambda: notes.rounds > 2, "it goes round")
        rig.service.wakes.put(Wake.HOUSEKEEPING)
        assert hangs.wait(30)
        before = notes.rounds
        hangs.clear()
        threading.Event().wait(2.5)  # two and a half of the loop's looks, of which none happens
        assert notes.rounds == before
        go_on.set()
        until(lambda: notes.rounds > before, "it goes round again")
    assert notes.said == ["ready", "stopping"]


def test_c295_a_job_that_restarts_its_own_service_is_refused_where_it_is_added(run_cli: RunCli, home: Home) -> None:
    write_job(home, "again", "schedule: every day at 12:00", "script: systemctl --user restart hermes-cron")
    done = run_cli("check")
    assert done.rc == 2
    assert "jobs/again.md:4" in done.err + done.out
    assert "would end the service that runs it" in done.err + done.out


# --- installation ---------------------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A home folder of a person, and a systemctl that writes down what it was asked."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
        f'case "$*" in *is-active*) cat {tmp_path}/active 2>/dev/null || {{ echo inactive; exit 3; }};; '
        "*is-enabled*) echo enabled;; esac\n"
        f'[ ! -e {tmp_path}/broken ] || {{ echo "Failed to connect to bus" >&2; exit 1; }}\n'
    )
    (programs / "systemctl").chmod(0o755)
    return tmp_path


def service(host: Path, home: Home, *argv: str) -> Ran:
    env = clean_env({"HERMES_CRON_HOME": str(home.root), "HOME": str(host)})
    env["PATH"] = f"{host}/bin:{env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cron", "service", *argv], env=env, capture_output=True, text=True, timeout=60,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


def units(host: Path) -> Path:
    return host / ".config" / "systemd" / "user"


def asked(host: Path) -> list[str]:
    return (host / "asked").read_text().splitlines() if (host / "asked").exists() else []


def test_a_service_is_installed_looked_at_and_removed(host: Path, home: Home) -> None:
    assert service(host, home, "status").rc == 1
    done = service(host, home, "install", "--user", "-y")
    assert done.rc == 0, done.err
    text = (units(host) / "hermes-cron.service").read_text()
    assert f"--home {home.root} serve --drain 90" in text
    assert asked(host)[-3:] == [
        "--user daemon-reload", "--user enable hermes-cron.service", "--user restart hermes-cron.service",
    ]  # fmt: skip
    assert "enable-linger" in done.err
    stands = json.loads(service(host, home, "status", "--json").out)["services"]
    assert [(it["manager"], it["active"], it["current"]) for it in stands] == [("user", "inactive", True)]
    (host / "active").write_text("active\n")
    assert service(host, home, "status").rc == 0
    (units(host) / "hermes-cron.service").write_text(text.replace("UMask=0077\n", ""))
    assert "not what this version writes" in service(host, home, "status").out
    gone = service(host, home, "uninstall", "--user", "-y")
    assert gone.rc == 0, gone.err
    assert not (units(host) / "hermes-cron.service").exists()
    assert home.config.exists()
    assert service(host, home, "uninstall", "--user", "-y").rc == 3


def test_a_timer_takes_the_place_of_the_process_and_back(host: Path, home: Home) -> None:
    assert service(host, home, "install", "--user", "-y", "--timer").rc == 0
    assert "serve --once" in (units(host) / "hermes-cron.service").read_text()
    assert "OnCalendar=*:0/1" in (units(host) / "hermes-cron.timer").read_text()
    assert asked(host)[-1] == "--user restart hermes-cron.timer"
    assert service(host, home, "install", "--user", "-y").rc == 0
    assert not (units(host) / "hermes-cron.timer").exists()
    assert "--user disable --now hermes-cron.timer" in asked(host)


def test_a_dry_run_writes_nothing_and_asks_nobody(host: Path, home: Home) -> None:
    done = service(host, home, "install", "--user", "--dry-run")
    assert done.rc == 0
    assert "[Service]" in done.out
    assert f"write {units(host)}/hermes-cron.service" in done.out
    assert not units(host).exists()
    assert asked(host) == []
    system = json.loads(service(host, home, "render", "--system", "--json").out)["units"]
    assert "User=hermes-cron" in system["hermes-cron.service"]


def test_the_system_service_is_of_the_home_that_is_named_and_refuses_one_that_it_cannot_see(
    host: Path, home: Home
) -> None:
    made = service(host, home, "render", "--system")  # HERMES_CRON_HOME names it
    assert f"--home {home.root} serve" in made.out
    done = service(host, home, "install", "--system", "--dry-run")
    if any(home.root.is_relative_to(place) for place in ("/tmp", "/home", "/root")):  # where tests lie
        assert done.rc == 2
        assert f"the system's service does not see {home.root}" in done.err
        assert "chown" not in done.out


def test_a_systemd_that_does_not_answer_is_told_with_its_words(host: Path, home: Home) -> None:
    (host / "broken").touch()
    done = service(host, home, "install", "--user", "-y")
    assert done.rc == 1
    assert "Failed to connect to bus" in done.err
    assert "Traceback" not in done.err


def test_without_a_home_nothing_is_installed(host: Path, tmp_path: Path) -> None:
    done = service(host, Home(tmp_path / "none"), "install", "--user", "-y")
    assert done.rc == 78
    assert "init" in done.err
    assert not units(host).exists()


def test_nobody_to_ask_is_a_refusal(host: Path, home: Home) -> None:
    done = service(host, home, "install", "--user")
    assert done.rc == 2
    assert "-y" in done.err
    assert not units(host).exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_only_root_changes_the_system(run_cli: RunCli) -> None:
    assert run_cli("service", "uninstall", "--system", "-y").rc in {2, 3}

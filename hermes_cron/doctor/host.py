"""The host: does a scheduler live and go round, is its service that of this version, are the zone rules of now?"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import shlex
import shutil
import zoneinfo
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.clock import SystemClock
from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.doctor.kept import serving, usable

if TYPE_CHECKING:
    from hermes_cron.service.host import Standing
    from hermes_cron.service.units import Plan

SILENT = timedelta(seconds=120)
"""A loop that goes round says so every ten seconds; a first look at thousands of new files takes longer."""

PASSES = timedelta(minutes=10)
"""Longer ago, a pass was somebody's who wanted one."""

_TAIL = 100_000  # bytes of the log
_LINGER = Path("/var/lib/systemd/linger")
_UP = frozenset({"active", "activating", "reloading", "unknown"})
_AT_START = frozenset({"enabled", "enabled-runtime", "static", "linked", "unknown"})


def scheduler(patient: Patient) -> Iterator[Finding]:
    """The heartbeat is the host's time, whatever clock the scheduler goes by."""
    now, lives = SystemClock().now(), serving(patient)
    for each in lives:
        silent = now - each.heartbeat
        if silent > SILENT:
            yield failure("hangs", f"kill -9 {each.pid}", pid=each.pid, span=str(silent).split(".", maxsplit=1)[0])
        else:
            yield fine("lives", pid=each.pid, ago=f"{max(0.0, silent.total_seconds()):.0f}")
    if lives:
        return
    installed = _installed(patient)
    if any(plan.timer for plan in installed):
        yield fine("timer")
    elif _passed(patient):
        yield fine("passes")
    elif not installed and _scheduled(patient):
        systemd = shutil.which("systemctl") is not None and Path("/run/systemd/system").is_dir()
        yield warning("nobody_serves", f"hermes-cron {'service install' if systemd else 'serve'}")
    elif not installed:
        yield fine("nothing_to_serve")


def _passed(patient: Patient) -> bool:
    """Whether somebody's timer made a pass a moment ago: a crontab with ``serve --once`` is a way to run it, too."""
    from hermes_cron.domain.event import ServeStarted
    from hermes_cron.observe import logs

    try:
        with (patient.home.logs / logs.NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in reversed(lines):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            if said["event"] == ServeStarted.__name__ and str(said["owner"]).startswith("once-"):
                return patient.clock.now() - datetime.fromisoformat(said["at"]) < PASSES
    return False


def _scheduled(patient: Patient) -> int:
    """Jobs that start by themselves."""
    if not usable(patient) or not patient.home.store.exists():
        return 0
    from hermes_cron.store import due

    with patient.app.store.read() as conn:
        return due.scheduled(conn)


# --- the service ------------------------------------------------------------------------------------------------------


def service(patient: Patient) -> Iterator[Finding]:
    """Units of this home that an older version wrote, that are not started, or that end with the session."""
    plans = _installed(patient)
    for plan in plans:
        yield _stands(plan)
    if not plans:
        yield fine("no_service")


def _stands(plan: Plan) -> Finding:
    standing = _standing(plan)
    said = {"unit": str(standing.unit), "manager": plan.manager.value}
    systemctl = "systemctl --user" if plan.manager.value == "user" else "systemctl"
    if not standing.current:
        return warning("service_stale", _install(plan), **said)
    if standing.active not in _UP:
        return failure("service_down", f"{systemctl} restart {plan.starts}", active=standing.active, **said)
    if standing.enabled not in _AT_START:
        return warning("service_not_at_start", f"{systemctl} enable {plan.starts}", **said)
    if plan.manager.value == "user" and _LINGER.parent.is_dir() and not (_LINGER / getpass.getuser()).exists():
        return failure("service_ends", "loginctl enable-linger", **said)
    return fine("service", active=standing.active, **said)


def _installed(patient: Patient) -> list[Plan]:
    """Of this home alone: a host may have services of others."""
    from hermes_cron.service import host, units

    found = []
    home = patient.home.root.absolute()
    for manager in units.Manager:
        plan = units.Plan(manager=manager, program=host.program(), home=home)
        try:
            text = (plan.folder / f"{units.NAME}.service").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        plan = units.as_written(plan, text)
        if plan.home == home:
            found.append(plan)
    return found


def _standing(plan: Plan) -> Standing:
    """Written by whichever of its commands started this version."""
    from hermes_cron.service import host

    standings = [next(host.standings([replace(plan, program=program)])) for program in host.programs()]
    return next((each for each in standings if each.current), standings[0])


def _install(plan: Plan) -> str:
    """The same again, with the options that it has."""
    options = [f"--{plan.manager}", *(["--timer"] if plan.timer else []), "--drain", str(plan.drain_s)]
    key = [] if plan.key is None else ["--key", str(plan.key)]
    return shlex.join(["hermes-cron", "service", "install", *options, *key])


# --- the rules of time zones ------------------------------------------------------------------------------------------


def zones(patient: Patient) -> Iterator[Finding]:
    """Governments change their clocks several times a year: rules of the year before last are wrong somewhere."""
    name = "UTC" if patient.settings is None else patient.settings.timezone
    version, place = rules(name)
    if version is None:
        yield fine("zones_unknown", place=place)
        return
    old = patient.clock.now().year - int(version[:4]) > 1
    if old:
        yield warning("zones_old", _newer(place), version=version, place=place)
    else:
        yield fine("zones", version=version, place=place)


def rules(zone: str) -> tuple[str | None, str]:
    """(``2026b``, where it lies) of what Python takes for this zone: the system's before the package's."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / zone).is_file():
            return _version(folder), str(folder)
    from hermes_cron.store.revisions import tzdata_version

    version = tzdata_version()
    return (version if version[:4].isdecimal() else None), "tzdata"


def _version(folder: Path) -> str | None:
    for name, mark in (("tzdata.zi", "# version "), ("+VERSION", "")):
        try:
            with (folder / name).open(encoding="ascii", errors="replace") as file:
                first = file.readline().strip()
        except OSError:
            continue
        version = first.removeprefix(mark)
        if first.startswith(mark) and version[:4].isdecimal():
            return version[:20]
    return None


def _newer(place: str) -> str:
    if place == "tzdata":
        return "pip install --upgrade tzdata"
    managers = {"apt-get": "apt-get install --only-upgrade tzdata", "dnf": "dnf upgrade tzdata"}
    found = next((command for program, command in managers.items() if shutil.which(program)), None)
    return f"sudo {found}" if found else "PYTHONTZPATH= hermes-cron doctor"

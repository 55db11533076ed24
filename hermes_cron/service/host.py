"""How do the units get to the host's systemd, and how does the service stand there?"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_cron import files
from hermes_cron.errors import NotFound, ServiceFailed, Usage
from hermes_cron.service.units import ACCOUNT, NAME, Manager, Plan, render

_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A unit file."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"write {self.path}"


@dataclass(frozen=True, slots=True)
class Call:
    """A command of the host."""

    argv: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.argv)


Step = Write | Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one manager has the service. ``enabled`` and ``active`` are systemd's words. ``current``: the units are those
    that this version writes."""

    manager: Manager
    unit: Path
    enabled: str
    active: str
    current: bool


def program() -> tuple[str, ...]:
    """How this program is started, as absolute paths."""
    started = Path(sys.argv[0])
    if started.name == NAME and started.is_absolute() and os.access(started, os.X_OK):
        return (str(started),)
    return (sys.executable, "-m", "hermes_cron")


def programs() -> tuple[tuple[str, ...], ...]:
    """Every command that starts this installation, the one that started this process first."""
    script = Path(sys.executable).with_name(NAME)
    ways = [program(), (sys.executable, "-m", "hermes_cron"), *([(str(script),)] if script.is_file() else [])]
    return tuple(dict.fromkeys(ways))


def installing(plan: Plan) -> list[Step]:
    """What an installation does, in order. Raises ``Usage`` where this user may not, or the home is not one."""
    steps: list[Step] = []
    if plan.manager is Manager.SYSTEM:
        if not _has_account():
            shell = "/usr/sbin/nologin"
            steps.append(Call(("useradd", "--system", "--home-dir", str(plan.home), "--shell", shell, ACCOUNT)))
        steps.append(Call(("chown", "-R", f"{ACCOUNT}:{ACCOUNT}", str(plan.home))))
    steps += [Write(path=plan.folder / name, text=text) for name, text in render(plan).items()]
    stale = plan.folder / f"{NAME}.timer"
    if not plan.timer and stale.exists():
        steps.append(Call((*_systemctl(plan.manager), "disable", "--now", stale.name)))
        steps.append(Call(("rm", str(stale))))
    steps.append(Call((*_systemctl(plan.manager), "daemon-reload")))
    steps.append(Call((*_systemctl(plan.manager), "enable", plan.starts)))
    steps.append(Call((*_systemctl(plan.manager), "restart", plan.starts)))
    return steps


def uninstalling(manager: Manager, folder: Path) -> list[Step]:
    """The home stays as it is. Raises ``NotFound``."""
    units = [path for path in (folder / f"{NAME}.timer", folder / f"{NAME}.service") if path.exists()]
    if not units:
        raise NotFound(f"no {NAME} service is installed for this {manager}", hint="hermes-cron service status")
    begins = Call((*_systemctl(manager), "disable", "--now", *(unit.name for unit in units)))
    gone = [Call(("rm", str(unit))) for unit in units]
    return [begins, *gone, Call((*_systemctl(manager), "daemon-reload"))]


def carry_out(steps: Sequence[Step]) -> None:
    """One after the other. Raises ``ServiceFailed`` at the first that does not go well, ``NotWritable``."""
    for step in steps:
        match step:
            case Write(path=path, text=text):
                files.make_folder(path.parent, mode=0o755)
                files.write_atomic(path, text.encode(), mode=0o644)
            case Call(argv=argv):
                _call(argv)


def _call(argv: Sequence[str]) -> None:
    if shutil.which(argv[0]) is None:
        raise ServiceFailed(f"there is no {argv[0]} on this host", hint="hermes-cron serve, under your own supervisor")
    done = subprocess.run(
        list(argv), capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[:500] or "it said nothing"
        what = f"{shlex.join(argv)} ended with {done.returncode}: {said}"
        raise ServiceFailed(what, hint=f"journalctl -u {NAME} -n 20")


def standings(plans: Sequence[Plan]) -> Iterator[Standing]:
    """Of each plan whose unit is on this host. A plan stands for a manager; its details are compared."""
    for plan in plans:
        unit = plan.folder / f"{NAME}.service"
        if not unit.exists():
            continue
        written = {name: _read(plan.folder / name) for name in render(plan)}
        yield Standing(
            manager=plan.manager,
            unit=unit,
            enabled=_ask(plan.manager, "is-enabled", plan.starts),
            active=_ask(plan.manager, "is-active", plan.starts),
            current=written == render(plan),
        )


def refuse_wrong_user(manager: Manager) -> None:
    """Raises ``Usage`` where the system's units cannot be changed."""
    if manager is Manager.SYSTEM and os.geteuid() != 0:
        raise Usage("the system's units belong to root", hint="sudo hermes-cron service install --system, or --user")


def _ask(manager: Manager, *question: str) -> str:
    """systemd's word; ``unknown`` where there is none to ask."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [*_systemctl(manager), *question], capture_output=True, text=True, timeout=_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout.strip() or "unknown"
    return "unknown"


def _systemctl(manager: Manager) -> tuple[str, ...]:
    return ("systemctl", "--user") if manager is Manager.USER else ("systemctl",)


def _has_account() -> bool:
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        return False
    return True


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None

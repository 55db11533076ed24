"""Which units make the scheduler a service of the host, or of one user?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

NAME = "hermes-cron"
ACCOUNT = "hermes-cron"
"""Whose the system's service is. No dynamic user: people change jobs in its name (``sudo -u``), so it must stay."""
STATE = Path("/var/lib/hermes-cron")
"""The home of the system's service."""
_WRITTEN_WITH = "X-HermesCron"
"""A key that systemd leaves to others: the options of the installation."""
MARGIN_S = 30
"""Between the end of the drain and systemd's SIGKILL: scripts are told to stop and their ends are written."""


class Manager(StrEnum):
    """Whose systemd it is."""

    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be a service.

    ``program`` is the command as an absolute path and its first arguments. ``timer``: a pass a minute instead of a
    process that stays. ``drain_s`` is how long running jobs may go on after a stop. ``key``: a file with the vault's
    master key that systemd hands over.
    """

    manager: Manager
    program: tuple[str, ...]
    home: Path
    timer: bool = False
    drain_s: int = 90
    key: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the units belong."""
        if self.manager is Manager.SYSTEM:
            return Path("/etc/systemd/system")
        return Path.home() / ".config" / "systemd" / "user"

    @property
    def starts(self) -> str:
        """The unit that is enabled and started."""
        return f"{NAME}.timer" if self.timer else f"{NAME}.service"


def render(plan: Plan) -> dict[str, str]:
    """File name -> content."""
    units = {f"{NAME}.service": _service(plan)}
    if plan.timer:
        units[f"{NAME}.timer"] = _timer()
    return units


def as_written(plan: Plan, text: str) -> Plan:
    """The plan with the options that a unit says it was written with; as it is where the unit does not say."""
    found = re.search(rf"^{_WRITTEN_WITH}=(.*)$", text, re.MULTILINE)
    try:
        said = json.loads(found[1]) if found is not None else {}
        key = said["key"]
        return replace(
            plan, home=Path(said["home"]), timer=bool(said["timer"]), drain_s=int(said["drain_s"]),
            key=None if key is None else Path(key),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError):
        return plan


def _options(plan: Plan) -> str:
    key = None if plan.key is None else str(plan.key)
    said = {"home": str(plan.home), "timer": plan.timer, "drain_s": plan.drain_s, "key": key}
    return json.dumps(said, ensure_ascii=True)


def _service(plan: Plan) -> str:
    serve = ["serve", "--once"] if plan.timer else ["serve", "--drain", str(plan.drain_s)]
    command = " ".join(_word(word) for word in (*plan.program, "--home", str(plan.home), *serve))
    unit = ["Description=hermes-cron: agent jobs on a schedule", "StartLimitIntervalSec=300", "StartLimitBurst=5"]
    unit.append(f"{_WRITTEN_WITH}={_options(plan)}")
    if plan.manager is Manager.SYSTEM:
        unit += ["Wants=network-online.target", "After=network-online.target"]
    service = ["Type=oneshot"] if plan.timer else list(_STAYS)
    service.append(f"ExecStart={command}")
    if not plan.timer:
        # 2 and 78: what a person must mend first. A new start would say the same again.
        service += ["ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure", "RestartSec=5s",
                    "RestartPreventExitStatus=2 78"]  # fmt: skip
    service += ["KillMode=mixed", f"TimeoutStopSec={plan.drain_s + MARGIN_S}s", "UMask=0077"]
    if plan.key is not None:
        service.append(f"LoadCredential=master-key:{_specifier(str(plan.key))}")
    service += _SYSTEM if plan.manager is Manager.SYSTEM else _USER
    if plan.manager is Manager.SYSTEM and plan.home != STATE:
        service.append(f"ReadWritePaths={_quoted(str(plan.home))}")
    parts = [("Unit", unit), ("Service", service)]
    if not plan.timer:
        wanted = "multi-user.target" if plan.manager is Manager.SYSTEM else "default.target"
        parts.append(("Install", [f"WantedBy={wanted}"]))
    return _text(parts)


def _timer() -> str:
    return _text(
        [
            ("Unit", ["Description=hermes-cron: a pass a minute"]),
            # What was due while the host slept is caught up by the pass itself, by each job's own rule.
            ("Timer", ["OnCalendar=*:0/1", "AccuracySec=1s", "Persistent=true"]),
            ("Install", ["WantedBy=timers.target"]),
        ]
    )


_STAYS = ("Type=notify", "NotifyAccess=main", "TimeoutStartSec=10min", "WatchdogSec=60s")
"""It says when it is ready: after its first look at all job files, which takes a while where thousands are new."""

_USER = ["NoNewPrivileges=yes", "LockPersonality=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
         "SystemCallArchitectures=native"]  # fmt: skip
"""More needs the system's own manager."""

_SYSTEM = [
    f"User={ACCOUNT}", f"Group={ACCOUNT}", "StateDirectory=hermes-cron", "StateDirectoryMode=0700",
    "NoNewPrivileges=yes", "CapabilityBoundingSet=", "AmbientCapabilities=",
    "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes", "PrivateUsers=yes",
    "ProtectClock=yes", "ProtectControlGroups=yes", "ProtectHostname=yes", "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes", "ProtectKernelTunables=yes", "ProtectProc=invisible", "ProcSubset=all",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", "RestrictNamespaces=yes", "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes", "LockPersonality=yes", "RemoveIPC=yes", "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged",
]  # fmt: skip
"""What a scheduler and its scripts do not need. A job that needs more gets it by a drop-in: ``systemctl edit``."""

_UNSEEN = tuple(map(Path, ("/home", "/root", "/run/user", "/tmp", "/var/tmp")))  # noqa: S108  # names, nothing is put there
"""What ``ProtectHome`` and ``PrivateTmp`` take from the system's service."""


def unseen(plan: Plan) -> Path | None:
    """The home or the program where the service cannot see it, links followed; None when it sees both."""
    if plan.manager is not Manager.SYSTEM:
        return None
    program = Path(plan.program[0])
    for path in (plan.home, plan.home.resolve(), program, program.resolve()):
        if any(path.is_relative_to(place) for place in _UNSEEN):
            return path
    return None


def _text(parts: list[tuple[str, list[str]]]) -> str:
    return "\n\n".join("\n".join([f"[{name}]", *lines]) for name, lines in parts) + "\n"


def _word(text: str) -> str:
    """One argument of a command line of systemd, where specifiers, variables and quotes are plain letters."""
    return _quoted(text.replace("$", "$$"))


def _quoted(text: str) -> str:
    """One word of a list."""
    plain = _specifier(text).replace("\\", "\\\\")
    if plain and not any(letter in plain for letter in " \t\"';"):
        return plain
    return '"' + plain.replace('"', '\\"') + '"'


def _specifier(text: str) -> str:
    return text.replace("%", "%%")

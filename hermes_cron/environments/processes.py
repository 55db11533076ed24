"""Which process group is this, and is it still the one that was noted down?

A number alone proves nothing: the kernel hands it out again. The group is named by its number, its leader's start
time (field 22 of ``/proc/PID/stat``, clock ticks since boot, proc(5)) and the boot id.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.domain.command import ProcessGroup

_PROC = Path("/proc")
_BOOT_ID = _PROC / "sys/kernel/random/boot_id"
_ZOMBIE_STATES = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    pgrp: int
    session: int
    started: str


def boot_id() -> str:
    """The kernel's random name of this boot; empty where the kernel has none."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def start_time(pid: int) -> str | None:
    """Clock ticks since boot as text, None when there is no such process."""
    stat = _stat(pid)
    return stat.started if stat else None


def group_of(pid: int) -> ProcessGroup:
    """The group that ``pid`` leads (a child begun in a session of its own)."""
    return ProcessGroup(pgid=pid, started=start_time(pid) or "", boot_id=boot_id())


def members(pgid: int) -> list[int]:
    """Living processes of the group; one that ended and was not waited for does not count."""
    return [pid for pid, stat in _processes() if stat.pgrp == pgid and stat.state not in _ZOMBIE_STATES]


def still_ours(group: ProcessGroup) -> bool:
    """Whether living processes of exactly this group are left.

    When the leader is gone and others remain, the number still belongs to the same group: the kernel gives a number
    out again only after nobody uses it as pid, group or session.
    """
    if group.boot_id != boot_id() or not members(group.pgid):
        return False
    leader = _stat(group.pgid)
    return leader is None or not group.started or leader.started == group.started


def end_group(group: ProcessGroup, *, grace_s: float = 2.0) -> bool:
    """SIGTERM, then SIGKILL after ``grace_s``; True when something was there to end. Another's group is left alone."""
    if not still_ours(group):
        return False
    send(group.pgid, signal.SIGTERM)
    if not wait_gone(group.pgid, grace_s):
        send(group.pgid, signal.SIGKILL)
        wait_gone(group.pgid, grace_s)
    return True


def send(pgid: int, number: signal.Signals) -> None:
    """A group that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def wait_gone(pgid: int, limit_s: float) -> bool:
    """True as soon as the group has no living member, False when ``limit_s`` passed first."""
    end = time.monotonic() + limit_s
    while members(pgid):
        if time.monotonic() >= end:
            return False
        time.sleep(0.01)
    return True


def _processes() -> Iterator[tuple[int, _Stat]]:
    for entry in os.scandir(_PROC):
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            yield int(entry.name), stat


def _stat(pid: int) -> _Stat | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[2]), int(fields[3]), fields[19]) if len(fields) > 19 else None

"""How is each intended change made to the files of the home? One function a move; the desk makes one change of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes_cron.errors import Conflict, NotFound
from hermes_cron.experience import lifecycle
from hermes_cron.experience.curation import Intended, Move
from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.desks.curator_files import HomeFiles

Carry = Callable[["HomeFiles", Intended, "datetime"], None]
"""Puts and drops files. Raises ``HermesCronError`` for what no longer fits: then nothing of all is done."""

_STALE = f"skills/{lifecycle.STALE_FILE}"


def stale(home: HomeFiles, it: Intended, now: datetime) -> None:
    """A line in ``skills/.stale``."""
    _mark(home, it.skill, lifecycle.Mark(since=now, cause=lifecycle.Cause(str(it.details["cause"]))))


def active(home: HomeFiles, it: Intended, now: datetime) -> None:
    """The line goes."""
    _mark(home, it.skill, None)


def archive(home: HomeFiles, it: Intended, now: datetime) -> None:
    """Into ``skills/.archive``, byte for byte; the line in ``skills/.stale`` goes."""
    folder = f"skills/{it.skill}"
    if SKILL_FILE not in home.folder(folder):
        raise NotFound(f"there is no skill {it.skill} any more", hint="hermes-cron skills list")
    home.move(folder, home.free(f"skills/{ARCHIVE}/{it.skill}"))
    _mark(home, it.skill, None)


def restore(home: HomeFiles, it: Intended, now: datetime) -> None:
    """Out of the archive, byte for byte; of several the one that was archived last."""
    to, base = f"skills/{it.skill}", f"skills/{ARCHIVE}/{it.skill}"
    if home.folder(to):
        raise Conflict(f"there is a skill {it.skill} already", hint=f"hermes-cron skills show {it.skill}")
    number, place = 2, base
    while home.folder(f"{base}.{number}"):
        place = f"{base}.{number}"
        number += 1
    if SKILL_FILE not in home.folder(place):
        raise NotFound(f"{it.skill} lies in the archive no more", hint="hermes-cron skills list --archived")
    home.move(place, to)


def _mark(home: HomeFiles, skill: str, mark: lifecycle.Mark | None) -> None:
    file = home.read(_STALE)
    data = None if file is None else file.data
    if mark is None and skill not in lifecycle.marks(data):
        return
    home.put(_STALE, lifecycle.marked(data, [(skill, mark)]))


CARRY: Mapping[Move, Carry] = {
    Move.ACTIVE: active, Move.STALE: stale, Move.ARCHIVE: archive, Move.RESTORE: restore,
}  # fmt: skip

"""How is a schedule written into a file, so that it means the same tomorrow?"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule.phrase import language, parse
from hermes_cron.domain.schedule.trigger import Interval, Once, Trigger
from hermes_cron.domain.schedule.words import words
from hermes_cron.errors import HermesCronError

_LIST = re.compile(r"\s*[;；]\s*")
_LATER = timedelta(days=8, hours=5)
"""Neither whole days nor weeks, so that whatever counts from now counts differently then."""


def written(phrase: str, *, now: datetime, zone: ZoneInfo) -> list[str]:
    """The phrases to write, one for each part of ``phrase`` (``;`` between).

    One-shots become an instant with its offset, "every other friday" gets its first date, and what means the same
    whenever it is read stays as typed; an interval too, its beginning is the store's, unless it names one of its own
    ("starting at 8am").
    """
    return [_written(piece, now, zone) for piece in _LIST.split(phrase.strip()) if piece]


def _written(piece: str, now: datetime, zone: ZoneInfo) -> str:
    trigger = parse(piece, now=now, zone=zone)
    if isinstance(trigger, Once):
        return instant_text(trigger.at, zone)
    if _lasting(piece, trigger, now, zone):
        return piece
    return words(trigger, lang=language(piece), zone=zone)


def instant_text(at: datetime, zone: ZoneInfo) -> str:
    """``2026-12-02T10:00+08:00``; seconds where there are any, UTC where the offset has some."""
    local = at.astimezone(zone)
    offset = local.utcoffset() or timedelta()
    if offset % timedelta(minutes=1):
        local = at
    return local.isoformat(timespec="seconds" if local.second else "minutes")


def _lasting(piece: str, trigger: Trigger, now: datetime, zone: ZoneInfo) -> bool:
    try:
        anchor = now if isinstance(trigger, Interval) else None
        return parse(piece, now=now + _LATER, zone=zone, anchor=anchor) == trigger
    except HermesCronError:
        return False

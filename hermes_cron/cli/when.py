"""How is an instant or a length of time shown to a person? In the job's zone, whose name stands beside it."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_DAYS = {"en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), "zh": tuple(f"周{day}" for day in "一二三四五六日")}
_FAR = timedelta(days=300)
"""Beyond it a date without its year would be taken for another year's."""


def whole(instant: datetime, zone: ZoneInfo, lang: str) -> str:
    """``Tue 2026-12-01 09:00``, ``2026-12-01 周二 09:00``."""
    local = instant.astimezone(zone)
    return _with_day(f"{local:%Y-%m-%d}", local, lang)


def due(instant: datetime, zone: ZoneInfo, lang: str, *, now: datetime) -> str:
    """``Tue 12-01 09:00``; with the year where it is not clear."""
    local = instant.astimezone(zone)
    return _with_day(f"{local:%Y-%m-%d}" if abs(instant - now) > _FAR else f"{local:%m-%d}", local, lang)


def brief(instant: datetime, zone: ZoneInfo, *, now: datetime) -> str:
    """``10:45`` today, ``12-06 02:30`` on another day, ``2028-02-29 09:00`` in another year."""
    local = instant.astimezone(zone)
    if local.date() == now.astimezone(zone).date():
        return clock(local)
    return f"{local:%Y-%m-%d} {clock(local)}" if abs(instant - now) > _FAR else f"{local:%m-%d} {clock(local)}"


def clock(local: datetime) -> str:
    """Seconds only where there are any."""
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def length(span: timedelta) -> str:
    """``0.1 s``, ``41 s``, ``15 min``, ``2.8 h``, ``12 days``: two significant digits of the unit that suits."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        hours = seconds / 3600
        return f"{hours:.1f} h" if hours < 9.95 else f"{hours:.0f} h"
    return f"{seconds / 86400:.0f} days"


def _with_day(date: str, local: datetime, lang: str) -> str:
    day = _DAYS[lang][local.weekday()]
    return f"{date} {day} {clock(local)}" if lang == "zh" else f"{day} {date} {clock(local)}"

"""How is an instant or a length of time said to a person? In the job's zone, on a screen and in a message alike."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_DAYS = {"en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), "zh": tuple(f"周{day}" for day in "一二三四五六日")}
_FAR = timedelta(days=300)
"""Beyond it a date without its year would be taken for another year's."""
_WEEK = timedelta(days=6)
"""Within it the name of a day is enough."""
_UNITS = {"zh": {"s": "秒", "min": "分钟", "h": "小时", "days": "天"}}


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
    if same_day(instant, now, zone):
        return clock(local)
    return f"{local:%Y-%m-%d} {clock(local)}" if abs(instant - now) > _FAR else f"{local:%m-%d} {clock(local)}"


def near(instant: datetime, zone: ZoneInfo, lang: str, *, now: datetime) -> str:
    """``10:45`` today, ``Thu 09:00`` within the week, ``Tue 12-15 09:00`` further off."""
    local = instant.astimezone(zone)
    if same_day(instant, now, zone):
        return clock(local)
    if abs(instant - now) <= _WEEK:
        return f"{_DAYS[lang][local.weekday()]} {clock(local)}"
    return due(instant, zone, lang, now=now)


def same_day(one: datetime, other: datetime, zone: ZoneInfo) -> bool:
    """Whether the zone's clocks show the same date."""
    return one.astimezone(zone).date() == other.astimezone(zone).date()


def day(instant: datetime, zone: ZoneInfo, lang: str) -> str:
    """``Tue 2026-12-01``, ``2026-12-01 周二``."""
    local = instant.astimezone(zone)
    name, date = _DAYS[lang][local.weekday()], f"{local:%Y-%m-%d}"
    return f"{date} {name}" if lang == "zh" else f"{name} {date}"


def clock(local: datetime) -> str:
    """Seconds only where there are any."""
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def length(span: timedelta, lang: str = "en") -> str:
    """``0.1 s``, ``41 s``, ``15 min``, ``2.8 h``, ``12 days``: two significant digits of the unit that suits."""
    number, unit = _measured(max(span.total_seconds(), 0.0))
    return f"{number} {_UNITS.get(lang, {}).get(unit, unit)}"


def _measured(seconds: float) -> tuple[str, str]:
    if seconds < 99.5:
        return f"{seconds:.1f}" if seconds < 9.95 else f"{seconds:.0f}", "s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f}", "min"
    if seconds < 48 * 3600:
        hours = seconds / 3600
        return f"{hours:.1f}" if hours < 9.95 else f"{hours:.0f}", "h"
    return f"{seconds / 86400:.0f}", "days"


def _with_day(date: str, local: datetime, lang: str) -> str:
    name = _DAYS[lang][local.weekday()]
    return f"{date} {name} {clock(local)}" if lang == "zh" else f"{name} {date} {clock(local)}"

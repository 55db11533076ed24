"""Is this a cron line, and what do its five fields mean?

Vixie rules as Debian ships them, read by cronsim: names, lists, ranges, steps, 0 and 7 for Sunday, ``L`` and ``LW``
in the day field, ``5L`` and ``1#1`` in the weekday field. A day field and a weekday field that are both restricted are
joined by OR; a field that starts with ``*`` does not restrict (crontab(5)).
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from hermes_cron.errors import ScheduleInvalid, ScheduleNeverFires

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = (
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of month", "1-31, L or LW"),
    ("month", "1-12 or jan-dec"),
    ("weekday", "0-7 or sun-sat, 0 and 7 are Sunday; 1#2 the second Monday, 5L the last Friday"),
)
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"[0-9*/,#?LW-]+|(?:[0-9*/,#L-]|" + "|".join(_MONTHS + _WEEKDAYS) + r")+", re.IGNORECASE)


def looks_like_cron(text: str) -> bool:
    """Whether ``text`` is meant as a cron line, be it a valid one or not."""
    tokens = text.split()
    if text.startswith("@") and len(tokens) == 1 and text[1:2].isalpha():
        return True
    if len(tokens) < 4 or not all(_TOKEN.fullmatch(token) for token in tokens):
        return False
    return len(tokens) >= 5 or "*" in text


def normalise(text: str) -> str:
    """The line with macros expanded, names as numbers, single blanks, no leading zeros.

    Raises ScheduleInvalid for anything but five valid fields, ScheduleNeverFires for 30 February and its kind.
    """
    line = text.strip()
    if line.startswith("@"):
        return _macro(line)
    parts = line.upper().split()
    if len(parts) != 5:
        raise _wrong_count(line, len(parts))
    parts = [_numbered(part, _MONTHS, 1) if at == 3 else part for at, part in enumerate(parts)]
    parts[4] = _numbered(parts[4], _WEEKDAYS, 0)
    expression = " ".join(re.sub(r"\b0+(?=\d)", "", part) for part in parts)
    read(expression)
    return expression


@dataclass(frozen=True, slots=True, kw_only=True)
class CronLine:
    """The five fields of a valid line, read. ``minutes`` and ``hours`` are ascending."""

    minutes: array[int]
    hours: array[int]
    months: frozenset[int]
    sim: CronSim
    fixed: bool
    """Neither minute nor hour starts with ``*``: Debian cron's test for a job at a specific time."""

    def matches(self, day: date) -> bool:
        return day.month in self.months and self.sim.match_day(day)


@lru_cache(maxsize=2048)
def read(expression: str) -> CronLine:
    """Read five fields. Raises as ``normalise`` does."""
    parts = expression.upper().split()
    if len(parts) != 5:
        raise _wrong_count(expression, len(parts))
    _check_fields(expression, parts)
    try:
        sim = CronSim(expression, _SOME_DAY)
    except CronSimError as error:  # every field alone is valid: only the pair of day and month can be at fault
        raise _never(expression) from error
    if not _has_a_day(sim):
        raise _never(expression)
    return CronLine(
        minutes=array("H", sorted(sim.minutes)),
        hours=array("H", sorted(sim.hours)),
        months=frozenset(sim.months),
        sim=sim,
        fixed=not parts[0].startswith("*") and not parts[1].startswith("*"),
    )


def _macro(line: str) -> str:
    name = line.lower()
    if name in MACROS:
        return MACROS[name]
    if name == "@reboot":
        raise ScheduleInvalid(
            '"@reboot" is not a time: jobs start by a clock, not by a boot of the machine',
            hint='for a run at start: hermes-cron run NAME from a systemd unit; or a schedule: "@hourly", "@daily"',
            details={"understood": "", "left_over": line, "examples": ["@hourly", "@daily", "0 9 * * *"]},
        )
    raise ScheduleInvalid(
        f'"{line}" is no schedule',
        hint="known: " + ", ".join(MACROS),
        details={"understood": "", "left_over": line, "examples": ["@hourly", "@daily", "@weekly"]},
    )


def _wrong_count(line: str, count: int) -> ScheduleInvalid:
    if count == 6:
        hint = 'seconds are not a field here; for less than a minute write "every 30 seconds"'
    else:
        hint = 'minute hour day month weekday, such as "0 9 * * 1-5"'
    return ScheduleInvalid(
        f'"{line}" has {count} fields, a cron line has 5',
        hint=hint,
        details={"understood": "", "left_over": line, "examples": ["0 9 * * *", "0 9 * * 1-5", "*/15 * * * *"]},
    )


def _numbered(part: str, names: list[str], first: int) -> str:
    return re.sub(
        r"[A-Z]{3}", lambda found: str(names.index(found[0]) + first) if found[0] in names else found[0], part
    )


def _check_fields(expression: str, parts: list[str]) -> None:
    for at, (part, (name, allowed)) in enumerate(zip(parts, _FIELDS, strict=True)):
        alone = ["*"] * 5
        alone[at] = part
        try:
            CronSim(" ".join(alone), _SOME_DAY)
            refused = re.search(r"L\w*/", part) is not None
        except CronSimError:
            refused = True
        if refused:
            raise ScheduleInvalid(
                f'{name} "{part}" is out of range or no cron field, in "{expression}"',
                hint=f"{name}: {allowed}; lists 1,2, ranges 1-5, steps */5",
                details={"understood": "", "left_over": part, "examples": ["0 9 * * *", "0 9 * * 1-5", "*/15 * * * *"]},
            )


def _has_a_day(sim: CronSim) -> bool:
    """False for days such as 30 February, and for weekday patterns that no month of the list can hold."""
    numbered = [day for day in sim.days if day > 0]
    if len(numbered) != len(sim.days) or min(numbered) <= 28 or not sim.day_and:
        return True
    return any(day <= _LONGEST_MONTH[month - 1] for day in numbered for month in sim.months)


def _never(expression: str) -> ScheduleNeverFires:
    return ScheduleNeverFires(
        f'"{expression}" never fires: no month of it has such a day',
        hint='for the last day of a month write L: "0 0 L 2 *"',
    )

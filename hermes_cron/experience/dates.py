"""Which days does a text name? As they stand there, with the first and the last day that each may mean."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Day:
    """A date in a text, from ``begin`` to ``end``. A month is its first to its last day; what can be read in two ways
    reaches to the later one."""

    begin: int
    end: int
    first: date
    last: date

    @property
    def key(self) -> str:
        """The same for every way to write it."""
        return self.first.isoformat() if self.first == self.last else f"{self.first}..{self.last}"


_NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_W = "A-Za-z0-9_"  # Chinese stands right beside a date
_Y = r"(?P<y>(?:19|20)\d\d)"
_FORMS = (
    re.compile(rf"(?<![{_W}.-]){_Y}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?![{_W}-]|\.\d)"),
    re.compile(rf"(?<!\d){_Y}\s*年\s*(?P<m>\d{{1,2}})\s*月\s*(?P<d>\d{{1,2}})\s*[日号]?"),
    re.compile(
        rf"(?<![{_W}.])(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?P<mon>{_NAMES})\.?,?\s+{_Y}(?![{_W}])", re.I
    ),
    re.compile(rf"(?<![{_W}])(?P<mon>{_NAMES})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_Y}(?![{_W}])", re.I),
    re.compile(rf"(?<![{_W}./])(?P<a>\d{{1,2}})(?P<sep>[/.])(?P<b>\d{{1,2}})(?P=sep){_Y}(?![{_W}/])"),
    re.compile(rf"(?<!\d){_Y}\s*年\s*(?P<m>\d{{1,2}})\s*月(?:份|底|末)?"),
    re.compile(rf"(?<![{_W}])(?P<mon>{_NAMES})\.?\s+{_Y}(?![{_W}])", re.I),
    re.compile(rf"(?<![{_W}.-]){_Y}-(?P<m>\d{{2}})(?![{_W}-]|\.\d)"),
    re.compile(rf"(?<![{_W}.])q(?P<q>[1-4])[ /-]?{_Y}(?![{_W}])", re.I),
    re.compile(rf"(?<!\d){_Y}\s*年(?:底|末|年底|年末)"),
)


@lru_cache(maxsize=4096)
def found(text: str) -> tuple[Day, ...]:
    """In order; none within another. What is no day of the calendar is none."""
    taken: list[Day] = []
    for form in _FORMS:
        for match in form.finditer(text):
            if any(match.start() < day.end and day.begin < match.end() for day in taken):
                continue
            spans = sorted(_spans(match.groupdict()))
            if spans:
                last = max(end for _, end in spans)
                taken.append(Day(match.start(), match.end(), spans[-1][0], last))
    return tuple(sorted(taken, key=lambda day: day.begin))


def _spans(found: dict[str, str | None]) -> Iterator[tuple[date, date]]:
    """First and last day of each way to read it."""
    year = int(found["y"] or 0)
    if found.get("a") is not None:
        one, other = int(found["a"] or 0), int(found["b"] or 0)
        yield from _day(year, one, other)
        yield from _day(year, other, one)
        return
    if found.get("q") is not None:
        last = 3 * int(found["q"] or 0)
        yield date(year, last - 2, 1), date(year, last, calendar.monthrange(year, last)[1])
        return
    name = found.get("mon")
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(found.get("m") or 0)
    if found.get("d") is not None:
        yield from _day(year, month, int(found["d"] or 0))
    elif month == 0:
        yield date(year, 1, 1), date(year, 12, 31)
    elif 1 <= month <= 12:
        yield date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _day(year: int, month: int, day: int) -> Iterator[tuple[date, date]]:
    if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
        it = date(year, month, day)
        yield it, it

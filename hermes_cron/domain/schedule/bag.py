"""Which parts of a phrase are still to be used?"""

from __future__ import annotations

from typing import TypeVar

from hermes_cron.domain.schedule import parts as p
from hermes_cron.domain.schedule.refusal import Setting, not_understood

T = TypeVar("T")

SELECTORS = (p.Weekdays, p.NthWeekdays, p.NthWorkdays, p.DaysOfMonth, p.NamedDays)

ONE_DAY = (p.Moment, p.In, p.RelativeDay, p.WeekdayOf, p.DayOfNextMonth, p.CalendarDate, p.UnclearDate)


class Bag:
    """The parts by type; two of one type, or parts that no shape wants, are refused."""

    def __init__(self, parts: tuple[p.Part, ...], setting: Setting) -> None:
        self._parts: dict[type, p.Part] = {}
        self._setting = setting
        for part in parts:
            if type(part) in self._parts and self._parts[type(part)] != part:
                raise not_understood(setting, "it says two things of one kind")
            self._parts[type(part)] = part

    def take(self, wanted: type[T]) -> T | None:
        part = self._parts.pop(wanted, None)
        return part if isinstance(part, wanted) else None

    def take_one_of(self, wanted: tuple[type[p.Part], ...]) -> p.Part | None:
        """The first that is there, in the order of ``wanted``."""
        return next((self._parts.pop(each) for each in wanted if each in self._parts), None)

    def put_back(self, part: p.Part) -> None:
        self._parts[type(part)] = part

    def has(self, *wanted: type) -> bool:
        return any(each in self._parts for each in wanted)

    def done(self) -> None:
        if self._parts:
            raise not_understood(self._setting, "its parts do not go together")

"""Which minutes of the day do written times mean?

``9am``, ``17:00``, 下午3点 are plain. An hour alone is read on the 24-hour clock (``at 9`` is 09:00) unless a word
such as ``evening`` says the half of the day; where a word leaves two readings the phrase is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from hermes_cron.domain.schedule.parts import ClockWord, Daypart
from hermes_cron.errors import ScheduleAmbiguous, ScheduleInvalid

# (first hour, last hour, what to add) as said; an hour in none of the rows contradicts the word
_Row: TypeAlias = tuple[int, int, int]
_HOURS: dict[Daypart, tuple[_Row, ...]] = {
    Daypart.SMALL_HOURS: ((0, 6, 0), (12, 12, -12)),
    Daypart.MORNING: ((1, 11, 0),),
    Daypart.MIDDAY: ((11, 15, 0), (1, 3, 12)),
    Daypart.AFTERNOON: ((12, 19, 0), (1, 7, 12)),
    Daypart.EVENING: ((5, 11, 12), (16, 23, 0)),
    Daypart.NIGHT: ((6, 11, 12), (18, 23, 0), (1, 5, 0)),
}
_TWO_SIDED: dict[Daypart, tuple[int, ...]] = {
    Daypart.MORNING: (0, 12),
    Daypart.EVENING: (0, 12),
    Daypart.NIGHT: (0, 12),
}


def minutes_of(
    words: tuple[ClockWord, ...], daypart: Daypart | None, *, once: bool, daily: bool = False
) -> tuple[int, ...]:
    """Minutes after midnight, ascending, each once.

    ``once``: the phrase is for one date, so the small hours of a night are unclear. ``daily``: it is for every day, so
    it does not matter on which side of midnight "12 at night" lies.

    Raises ScheduleInvalid for a time that does not exist, ScheduleAmbiguous where both halves of the day are meant.
    """
    shared = _shared_meridiem(words)
    if daily:
        shared = tuple(_at_midnight(word, daypart) for word in shared)
    resolved = [_minute(word, daypart, once=once) for word in shared]
    _check_inherited(words, resolved)
    return tuple(sorted(set(resolved)))


def clock_text(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _at_midnight(word: ClockWord, daypart: Daypart | None) -> ClockWord:
    if word.meridiem is None and word.hour == 12 and (word.daypart or daypart) in {Daypart.EVENING, Daypart.NIGHT}:
        return replace(word, hour=0, daypart=Daypart.SMALL_HOURS)
    return word


def _minute(word: ClockWord, daypart: Daypart | None, *, once: bool) -> int:
    if word.minute > 59:
        raise ScheduleInvalid(f'"{word.text}" is no time: minutes are 0-59', hint='such as "9:30"')
    return _hour(word, word.daypart or daypart, once=once) * 60 + word.minute


def _hour(word: ClockWord, daypart: Daypart | None, *, once: bool) -> int:
    if once and word.text in {"midnight", "12 midnight", "午夜"}:
        raise _two_sided(word, Daypart.NIGHT)
    if word.meridiem is not None:
        return _twelve_hour(word, daypart)
    if word.hour == 24:
        raise ScheduleInvalid(
            f'"{word.text}" is no time of a day: the day ends where the next begins',
            hint="write 00:00 of the next day",
        )
    if word.hour > 23:
        raise ScheduleInvalid(f'"{word.text}" is no time: hours are 0-23', hint='such as "9am", "17:00"')
    if daypart is None:
        return word.hour
    if word.hour in _TWO_SIDED.get(daypart, ()) or (once and daypart is Daypart.NIGHT and word.hour < 6):
        raise _two_sided(word, daypart)
    for first, last, shift in _HOURS[daypart]:
        if first <= word.hour <= last:
            return word.hour + shift
    raise ScheduleInvalid(
        f'"{word.text}" contradicts itself: {word.hour} is not in the {daypart.value}', hint='such as "9am", "17:00"'
    )


def _twelve_hour(word: ClockWord, daypart: Daypart | None) -> int:
    if not 1 <= word.hour <= 12:
        raise ScheduleInvalid("hour must be 1-12 with am/pm", hint=f'"{word.text}": write 9am, 9pm or 17:00')
    hour = word.hour % 12 + (12 if word.meridiem == "pm" else 0)
    if (daypart is Daypart.MORNING and hour >= 12) or (daypart in _EVENING_SIDE and 6 <= hour < 12):
        raise ScheduleInvalid(f'"{word.text}" is not in the {daypart.value}', hint='such as "9am", "17:00"')
    return hour


_EVENING_SIDE = (Daypart.AFTERNOON, Daypart.EVENING, Daypart.NIGHT)


def _two_sided(word: ClockWord, daypart: Daypart) -> ScheduleAmbiguous:
    noon = daypart is Daypart.MORNING
    other = f"12:{word.minute:02}" if noon else f"{word.hour % 12:02}:{word.minute:02} of the next day"
    first = f"{word.hour % 12:02}:{word.minute:02}"
    return ScheduleAmbiguous(
        f'"{word.text or word.hour}" can mean two things',
        hint=f"write {first}, or {other}",
        details={"part": word.text, "readings": [["this", first], ["that", other]]},
    )


def _shared_meridiem(words: tuple[ClockWord, ...]) -> tuple[ClockWord, ...]:
    """``9 and 11am``: a time without am/pm takes the one that follows, if only one of am and pm comes before it."""
    if not any(word.meridiem for word in words):
        return words
    result: list[ClockWord] = []
    following: ClockWord | None = None
    for word in reversed(words):
        if word.meridiem is not None or word.hour > 12 or word.hour == 0 or word.daypart is not None:
            following = word
            result.append(word)
            continue
        fitting = [half for half in ("am", "pm") if following is not None and _before(word, half, following)]
        if len(fitting) != 1:
            texts = [f"{word.text}{half}" if word.bare else f"{word.text} {half}" for half in ("am", "pm")]
            raise ScheduleAmbiguous(
                f'"{word.text}" can mean two things beside am or pm',
                hint=f"{texts[0]}, or {texts[1]}",
                details={"part": word.text, "readings": [["morning", texts[0]], ["evening", texts[1]]]},
            )
        following = replace(word, meridiem=fitting[0])
        result.append(following)
    return tuple(reversed(result))


def _before(word: ClockWord, half: str, following: ClockWord) -> bool:
    mine = _twelve_hour(replace(word, meridiem=half), None) * 60 + word.minute
    return mine < _minute(following, None, once=False)


def _check_inherited(words: tuple[ClockWord, ...], minutes: list[int]) -> None:
    """A time that took the half of the day from the one before must come after it."""
    for at in range(1, len(words)):
        inherited = words[at].bare and words[at].daypart is not None and words[at].daypart == words[at - 1].daypart
        if inherited and minutes[at] <= minutes[at - 1]:
            raise ScheduleAmbiguous(
                f'"{words[at].text}" can mean two things after "{words[at - 1].text}"',
                hint=f"{clock_text(minutes[at])}, or {clock_text((minutes[at] + 720) % 1440)}",
                details={
                    "part": words[at].text,
                    "readings": [["this", clock_text(minutes[at])], ["that", clock_text((minutes[at] + 720) % 1440)]],
                },
            )

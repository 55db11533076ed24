"""How is a trigger said, so that the words parse back to the same trigger?

``words`` proves it each time: a sentence for a cron line is used only if ``parse`` returns the very same line, else the
line itself is shown. Anchors are part of the words, so ``now`` plays no part.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule import days_in_words, phrase
from hermes_cron.domain.schedule.days import CronDays, Days, EveryDays, EveryMonths, EveryWeeks
from hermes_cron.domain.schedule.days_in_words import daily, hour_list, joined, numbers
from hermes_cron.domain.schedule.refusal import Language
from hermes_cron.domain.schedule.times import clock_text
from hermes_cron.domain.schedule.timetable import canonical
from hermes_cron.domain.schedule.trigger import AnyOf, Cron, Interval, Once, Rule, Times, Trigger, Window
from hermes_cron.domain.schedule.wallclock import exists, is_repeated
from hermes_cron.errors import HermesCronError

MOST_TIMES = 12
_EARLY = datetime(1971, 1, 1, tzinfo=UTC)
_UNITS = {
    "en": (("hour", "hours", 3600), ("minute", "minutes", 60), ("second", "seconds", 1)),
    "zh": (("小时", "小时", 3600), ("分钟", "分钟", 60), ("秒", "秒", 1)),
}


def words(trigger: Trigger, *, lang: Language, zone: ZoneInfo) -> str:
    """The normalised phrase; ``parse`` reads it back to ``canonical(trigger)`` at any ``now`` before a ``Once``."""
    match trigger:
        case Cron(expression):
            return _proved(_cron_phrases(expression, lang), trigger, zone) or expression
        case Interval(every, anchor):
            return _length(every, lang) + _begin(_instant_text(anchor, zone), lang)
        case Once(at):
            return _once(at, lang, zone)
        case Rule(days=days, clock=clock):
            return _rule(days, clock, lang, zone)
        case AnyOf(triggers):
            return ("；" if lang == "zh" else "; ").join(words(part, lang=lang, zone=zone) for part in triggers)


def _rule(days: Days, clock: Times | Window, lang: Language, zone: ZoneInfo) -> str:
    said = canonical(Rule(days=days, clock=clock))
    if not isinstance(said, Rule):
        return words(said, lang=lang, zone=zone)
    found = _proved(_rule_phrases(said.days, said.clock, lang), said, zone)
    assert found is not None, said  # noqa: S101 - the last phrase names the days by their cron fields
    return found


def _proved(phrases: list[str], trigger: Trigger, zone: ZoneInfo) -> str | None:
    for text in phrases:
        try:
            if phrase.parse(text, now=_EARLY, zone=zone) == trigger:
                return text
        except HermesCronError:
            continue
    return None


# --- cron lines and rules ---------------------------------------------------------------------------------------------


def _cron_phrases(expression: str, lang: Language) -> list[str]:
    minute, hour, days, months, weekdays = expression.split()
    found = CronDays(days=days, months=months, weekdays=weekdays)
    minutes, hours = numbers(minute), numbers(hour)
    if minutes and hours and len(minutes) * len(hours) <= MOST_TIMES:
        times = tuple(sorted(at * 60 + past for at in hours for past in minutes))
        return [_at(found, times, lang)]
    if minutes and (hour == "*" or hour.startswith("*/")):
        step = 1 if hour == "*" else int(hour[2:])
        return _past_the_hour(found, minutes, step, lang)
    window = _cron_window(minute, hour, lang)
    return [_with_days(text, found, lang) for text in window]


def _cron_window(minute: str, hour: str, lang: Language) -> list[str]:
    step = 1 if minute == "*" else int(minute[2:]) if minute.startswith("*/") else 0
    if step > 59:
        return []
    if hour == "*" and step:
        return [_by_the_clock(step, lang)]
    low, high, hours = hour_list(hour)
    if low is None or high is None:
        return []
    if step and hours == 1:
        return [_window(step, low * 60, high * 60 + 60 - step, lang)]
    if minute.isdigit():
        past = int(minute)
        return [_window(hours * 60, low * 60 + past, high * 60 + past, lang)]
    return []


def _rule_phrases(days: Days, clock: Times | Window, lang: Language) -> list[str]:
    plain, every, first = days_in_words.apart(days)
    begin = "" if first is None else _begin(first.isoformat(), lang)
    if isinstance(clock, Window):
        whole = _whole_day(clock, lang) or _window(clock.step, clock.first, clock.last, lang)
        named = [_with_days(whole, plain, lang)] if every == 1 else []
        if isinstance(plain, CronDays):
            named.append(_with_days(whole, plain, lang, by_fields=True))
        return [text + begin for text in named]
    return [text + begin for text in _times_phrases(days, plain, every, clock.minutes, lang)]


def _times_phrases(
    days: Days, plain: days_in_words.Plain, every: int, minutes: tuple[int, ...], lang: Language
) -> list[str]:
    times = joined([clock_text(minute) for minute in minutes], lang)
    lead = days_in_words.every_nth(days, plain, every, lang)
    at = " at " if lang == "en" else " "
    found = [lead + at + times]
    if isinstance(plain, CronDays):
        found.append(days_in_words.by_fields(plain, every, lang) + at + times)
    return found


def _at(days: CronDays, minutes: tuple[int, ...], lang: Language) -> str:
    times = joined([clock_text(minute) for minute in minutes], lang)
    return f"{daily(days, lang)} at {times}" if lang == "en" else f"{daily(days, lang)} {times}"


def _past_the_hour(days: CronDays, minutes: list[int], step: int, lang: Language) -> list[str]:
    past = joined([str(minute) for minute in minutes], lang)
    if lang == "zh":
        return [_with_days(_past_the_hour_zh(minutes, step), days, lang)]
    length = "every hour" if step == 1 else f"every {step} hours"
    if minutes == [0]:
        return [_with_days(f"{length} {'on the hour' if step == 1 else 'by the clock'}", days, lang)]
    return [_with_days(f"{length} at minute{'s' if len(minutes) > 1 else ''} {past}", days, lang)]


def _past_the_hour_zh(minutes: list[int], step: int) -> str:
    if minutes == [0]:
        return "每小时整点" if step == 1 else _by_the_clock(step * 60, "zh")
    if step == 1:
        return f"每小时{'、'.join(f'{minute}分' for minute in minutes)}"
    return f"每 {step} 小时{'、'.join(f'第{minute}分' for minute in minutes)}"


def _by_the_clock(minutes: int, lang: Language) -> str:
    length = _length(timedelta(minutes=minutes), lang)
    return f"按钟点{length}" if lang == "zh" else f"{length} by the clock"


def _whole_day(clock: Window, lang: Language) -> str | None:
    if clock.first == 0 and clock.last + clock.step >= 1440 and 1440 % clock.step == 0:
        return _by_the_clock(clock.step, lang)
    return None


def _window(step: int, first: int, last: int, lang: Language) -> str:
    length = _length(timedelta(minutes=step), lang)
    if lang == "zh":
        return f"{clock_text(first)} 到 {clock_text(last)} {length}"
    return f"{length} between {clock_text(first)} and {clock_text(last)}"


def _with_days(text: str, days: days_in_words.Plain, lang: Language, *, by_fields: bool = False) -> str:
    """A window on days: 工作日 09:00 到 17:00 每 15 分钟; every 15 minutes ... on workdays."""
    named = days_in_words.by_fields(days, 1, lang) if by_fields and isinstance(days, CronDays) else None
    named = named or days_in_words.on_days(days, lang)
    if not named:
        return text
    return f"{named} {text}" if lang == "zh" else f"{text} {named}"


# --- instants and lengths ---------------------------------------------------------------------------------------------


def _length(length: timedelta, lang: Language) -> str:
    seconds = int(length.total_seconds())
    one, many, size = next(unit for unit in _UNITS[lang] if seconds % unit[2] == 0)
    count = seconds // size
    if lang == "zh":
        return f"每{one}" if count == 1 else f"每 {count} {one}"
    return f"every {one}" if count == 1 else f"every {count} {many}"


def _begin(text: str, lang: Language) -> str:
    return f"，从 {text} 起" if lang == "zh" else f" from {text}"


def _instant_text(instant: datetime, zone: ZoneInfo) -> str:
    """With the zone's offset; seconds only if there are any; in UTC where the offset has seconds."""
    local = instant.astimezone(zone)
    offset = local.utcoffset() or timedelta()
    if offset % timedelta(minutes=1):
        local = instant
    text = local.isoformat(timespec="auto" if local.microsecond else "seconds")
    return text.replace(":00+", "+").replace(":00-", "-") if local.second == 0 and not local.microsecond else text


def _once(at: datetime, lang: Language, zone: ZoneInfo) -> str:
    local = at.astimezone(zone).replace(tzinfo=None, fold=0)
    if local.second or local.microsecond or is_repeated(local, zone) or not exists(local, zone):
        return _instant_text(at, zone)
    return f"{local:%Y-%m-%d %H:%M}" if lang == "zh" else f"on {local:%Y-%m-%d} at {local:%H:%M}"


# --- the column of `list` ---------------------------------------------------------------------------------------------


def short(trigger: Trigger, zone: ZoneInfo) -> str:
    """For a narrow column: ``Sun 02:30``, ``workday 09:00``, ``every 5 min``, ``2 h, 08-20 h``."""
    match trigger:
        case Interval(every, _):
            return f"every {_short_length(every)}"
        case Once(at):
            return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
        case AnyOf(triggers):
            return f"{short(triggers[0], zone)}, {len(triggers) - 1} more"
        case Cron(expression):
            return _short_cron(expression) or expression
        case Rule(days=days, clock=clock):
            return _short_rule(days, clock)


def _short_length(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    for size, name in ((3600, "h"), (60, "min")):
        if seconds % size == 0:
            return f"{seconds // size} {name}"
    return f"{seconds} s"


def _short_cron(expression: str) -> str | None:
    minute, hour, days, months, weekdays = expression.split()
    found = CronDays(days=days, months=months, weekdays=weekdays)
    minutes, hours = numbers(minute), numbers(hour)
    named = days_in_words.short_days(found)
    if named is None:
        return None
    if minutes and hours:
        return f"{named} {_short_times(sorted(at * 60 + past for at in hours for past in minutes))}"
    step = _short_step(minute, hour)
    if step is None:
        return None
    return step if named == "daily" else f"{step}, {named}"


def _short_step(minute: str, hour: str) -> str | None:
    """The clock of a cron line whose minute or hour is a step or a range."""
    if hour == "*" and minute.isdigit():
        return f"hourly :{int(minute):02}"
    if minute == "0" and hour.startswith("*/"):
        return f"every {hour[2:]} h"
    if hour == "*":
        return f"every {minute[2:] or '1'} min" if minute.startswith("*") else None
    low, high, step = hour_list(hour)
    if low is None or high is None or not (minute == "0" or minute.startswith("*/")):
        return None
    length = f"{step} h" if minute == "0" else f"{minute[2:]} min"
    return f"{length}, {low:02}-{high:02} h"


def _short_rule(days: Days, clock: Times | Window) -> str:
    plain, every, _ = days_in_words.apart(days)
    named = days_in_words.short_days(plain) or "some days"
    if every > 1:
        unit = {EveryDays: "d", EveryWeeks: "wk", EveryMonths: "mo"}[type(days)]
        named = f"{every} {unit}" if named == "daily" else f"{every} {unit} {named}"
    if isinstance(clock, Times):
        return f"{named} {_short_times(list(clock.minutes))}"
    low, high = clock_text(clock.first), clock_text(clock.last)
    if low.endswith(":00") and high.endswith(":00"):
        low, high = low[:2], f"{high[:2]} h"
    tail = "" if named == "daily" else f", {named}"
    return f"{_short_length(timedelta(minutes=clock.step))}, {low}-{high}{tail}"


def _short_times(minutes: list[int]) -> str:
    if len(minutes) > 3:
        return f"{clock_text(minutes[0])}, {len(minutes) - 1} more"
    return ", ".join(clock_text(minute) for minute in minutes)

"""Which trigger does a phrase mean, and where does the schedule end and the prompt begin?

A closed grammar: cron lines, ISO instants, English, Chinese. What is not wholly understood is refused with what was
understood and what was left over; what can mean two things is refused with both spellings. Nothing is guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from hermes_cron.domain.schedule import cron, phrase_en, phrase_zh
from hermes_cron.domain.schedule.assemble import assemble
from hermes_cron.domain.schedule.refusal import Language, Setting, not_understood
from hermes_cron.domain.schedule.trigger import Cron, Trigger, any_of
from hermes_cron.errors import HermesCronError, PromptEmpty, ScheduleAmbiguous, ScheduleInvalid

LONGEST = 200
_CJK = re.compile(r"[\u3400-\u9fff]")
_COLON = re.compile(r"[:：]")
_LIST = re.compile(r"\s*[;；]\s*")
_CONNECTOR = re.compile(r"\s*,\s*and\s+|\s+and\s+|\s*,\s*|、|和|以及|还有")


def language(text: str) -> Language:
    """``zh`` when the phrase holds a Chinese character."""
    return "zh" if _CJK.search(text) else "en"


def parse(text: str, *, now: datetime, zone: ZoneInfo, anchor: datetime | None = None) -> Trigger:
    """The trigger of a schedule phrase, or of several with ``;`` between.

    ``anchor`` is where intervals and "every other friday" count from, default ``now`` cut to the second; "in 30m" and
    "tomorrow" are always read against ``now``. Raises ScheduleInvalid, ScheduleAmbiguous, ScheduleInPast,
    ScheduleNeverFires.
    """
    if len(text) > LONGEST:
        raise ScheduleInvalid(
            f"a schedule has at most {LONGEST} characters, this one has {len(text)}",
            hint='such as "every weekday 09:00"',
        )
    pieces = [piece for piece in _LIST.split(_tidy(text)) if piece]
    since = (anchor or now).replace(microsecond=0)
    if not pieces:
        raise ScheduleInvalid("the schedule is empty", hint='such as "every weekday 09:00"')
    try:
        return any_of(tuple(_piece(piece, now=now, zone=zone, anchor=since) for piece in pieces))
    except OverflowError:  # numbers of any length can be typed; instants end with the year 9999
        raise ScheduleInvalid(
            f'"{text}" goes beyond what a calendar can say', hint='from "every 1 second" to "every 3660 days"'
        ) from None


def parse_many(texts: Sequence[str], *, now: datetime, zone: ZoneInfo, anchor: datetime | None = None) -> Trigger:
    """The union of several phrases; one phrase gives its own trigger."""
    if not texts:
        raise ScheduleInvalid("an empty list of schedules", hint='such as "every weekday 09:00"')
    return any_of(tuple(parse(text, now=now, zone=zone, anchor=anchor) for text in texts))


def split(text: str, *, now: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """(schedule, prompt) of ``SCHEDULE: PROMPT``.

    The first colon that leaves a schedule which parses is the border; a colon between two digits belongs to a time.
    Raises PromptEmpty when nothing follows, else the error of the most telling head.
    """
    refused: list[HermesCronError] = []
    for colon in _COLON.finditer(text, 0, LONGEST + 1):
        if _inside_a_time(text, colon.start()):
            continue
        head, prompt = text[: colon.start()].strip(), text[colon.end() :].strip()
        try:
            parse(head, now=now, zone=zone)
        except HermesCronError as error:
            error.details["prompt"] = prompt
            refused.append(error)
            continue
        if not prompt:
            raise _empty(head)
        return head, prompt
    raise _best(refused) if refused else _without_colon(text, now=now, zone=zone)


def _inside_a_time(text: str, colon: int) -> bool:
    """Between two digits. A full-width colon is a border all the same where no hour stands before it: ``9:30：5``."""
    before, after = text[colon - 1 : colon], text[colon + 1 : colon + 2]
    if not (before.isdigit() and after.isdigit()):
        return False
    return text[colon] == ":" or re.search(r"(?:^|[^\d:：/.-])\d{1,2}$", text[:colon]) is not None


def _without_colon(text: str, *, now: datetime, zone: ZoneInfo) -> HermesCronError:
    try:
        parse(text, now=now, zone=zone)
    except HermesCronError as error:
        return error
    return _empty(text.strip())


def _empty(head: str) -> PromptEmpty:
    return PromptEmpty(f'nothing to do after "{head}:"', hint=f'"{head}: what to do"')


def _best(refused: list[HermesCronError]) -> HermesCronError:
    """The first head that was understood as something, else the first."""
    telling = [error for error in refused if not error.message.startswith("schedule not understood")]
    return (telling or refused)[0]


def _tidy(text: str) -> str:
    """Compatible characters, outer quotes, closing punctuation and "please" removed."""
    plain = unicodedata.normalize("NFKC", text).strip().strip("\"'“”‘’「」").strip().rstrip(".,;!?。、").strip()
    return re.sub(r"^please,?\s+|\s*,?\s+please$|^请", "", plain, flags=re.IGNORECASE)


def _piece(text: str, *, now: datetime, zone: ZoneInfo, anchor: datetime) -> Trigger:
    if cron.looks_like_cron(text):
        return Cron(text)
    lang = language(text)
    setting = Setting(text=text, lang=lang, now=now, anchor=anchor, zone=zone)
    try:
        return _phrase(text, setting)
    except ScheduleInvalid as error:
        both = _two_phrases(text, setting)
        if both is None:
            raise error from None
        return both


def _phrase(text: str, setting: Setting) -> Trigger:
    lowered = " ".join(text.lower().split())
    try:
        return _read(lowered, setting)
    except ScheduleAmbiguous as error:
        _say_whole_phrases(error, lowered, setting)
        raise


def _read(lowered: str, setting: Setting) -> Trigger:
    scan = phrase_zh.scan(lowered) if setting.lang == "zh" else phrase_en.scan(lowered)
    if scan.left_over or not scan.parts:
        raise not_understood(setting, understood=scan.understood, left_over=scan.left_over or lowered)
    return assemble(scan.parts, setting)


def _say_whole_phrases(error: ScheduleAmbiguous, text: str, setting: Setting) -> None:
    """A time with two readings was refused by the word: offer the phrase with each in its place, if both parse."""
    part, readings = error.details.pop("part", None), error.details.get("readings")
    if not isinstance(part, str) or not isinstance(readings, list):
        return
    offered = [(label, text.replace(part, time, 1)) for label, time in readings]
    try:
        for _, phrase in offered:
            _read(phrase, setting)
    except HermesCronError:
        del error.details["readings"]
        return
    error.details["readings"] = [list(reading) for reading in offered]
    error.hint = ("，或 " if setting.lang == "zh" else ", or ").join(phrase for _, phrase in offered)


def _two_phrases(text: str, setting: Setting) -> Trigger | None:
    """``mondays at 9am and fridays at 5pm``: both sides of a connector are whole phrases that come again."""
    for connector in _CONNECTOR.finditer(text):
        sides = (text[: connector.start()], text[connector.end() :])
        try:
            return any_of(tuple(_recurring(side, setting) for side in sides))
        except HermesCronError:
            continue
    return None


def _recurring(text: str, setting: Setting) -> Trigger:
    from hermes_cron.domain.schedule.trigger import Interval, Once

    trigger = _phrase(text.strip(), setting)
    if isinstance(trigger, Once | Interval):
        raise not_understood(setting)
    return trigger

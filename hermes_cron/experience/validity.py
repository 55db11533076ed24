"""Has an entry said of itself until when it holds, and is that day past?

Only plain words count: *until 2026-11-01*, *expires on*, *valid through*, 有效期至, 到…为止; a stay of a state from one
day to another (*on leave from … to …*); *only on* a day. A date alone ends nothing: most facts with a date stay true.
An entry that says more than what has ended is not judged here: it is named, for a person or a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from hermes_cron.experience import dates
from hermes_cron.experience.dates import Day
from hermes_cron.experience.facts import normal
from hermes_cron.experience.same import clauses

_UNTIL: Final = re.compile(
    r"(?:\b(?:(?:valid|good|holds?|applies|in\s+(?:force|effect))\s+)?(?:until|till|through|thru|up\s+to)"
    r"|\b(?:expires?|expired|expiry|expiring|ends?|ending|valid\s+to|not\s+after|no\s+longer\s+(?:valid|needed|true)\s+after)"
    r"(?:\s+(?:on|at|in|by))?)\s*[:：]?\s*(?:the\s+)?(?:end\s+of\s+)?$",
    re.I,
)
_UNTIL_ZH: Final = re.compile(
    r"(?:有效期?[:：]?\s*(?:至|到|为)?|有效[至到]|直[到至]|截止(?:日期|时间)?(?:[至到是为:：])?\s*)\s*$"
)
_THEN_ZH: Final = re.compile(r"^\s*(?:[之以]?前有效|为止|止|到期|失效|过期|作废|结束)")
_RANGE: Final = re.compile(r"^\s*(?:to|until|till|through|and|-|–|—|~|至|到)\s*$", re.I)
_AWAY: Final = re.compile(
    r"\b(?:on\s+(?:leave|holiday|vacation|call|duty)|away|out\s+of\s+office|closed|frozen|freeze|maintenance|unavailable|"
    r"down|offline|stands?\s+in|covers?\s+for|read-only)\b|休假|请假|出差|停机|维护|封网|冻结|值班|不可用|放假|停用|代班|关闭",
    re.I,
)
_ONLY: Final = re.compile(r"\bonly\s+(?:on|for)\s*$|(?:仅限?|只在)\s*$", re.I)
_ONLY_AFTER: Final = re.compile(r"^\s*only\b|^\s*(?:当天)?(?:仅限|有效)", re.I)
_PAST: Final = re.compile(
    r"\b(?:was|were|had|did|been|used\s+to|formerly|previously)\b|(?<!is )(?<!are )(?<!be )(?<!stays )"
    r"(?<!remains )\b[a-z]{2,}ed\b|曾|以前|原来|当时|过去",
    re.I,
)
_BEGINS: Final = re.compile(
    r"(?:\bnot|n't|\bcannot|\bnever)\b.{0,30}\b(?:start|begin|available|ready|possible|run|open|live|supported|work|"
    r"launch|exist|use|known|before)|(?:不|没|未)[^，。]{0,6}(?:开始|可用|上线|启用|支持|开放|运行|生效)",
    re.I,
)
_REASON: Final = re.compile(
    r"^\s*(?:[.。!！]*\s*$|[,，、;；(（]|and\b|then\b|but\b|because\b|due\s+to\b|for\b|owing\s+to\b|by\b|at\s+the\s+latest|inclusive|因|由)",
    re.I,
)
"""What may stand behind the day; anything else, and the day is of a thing that is spoken of: *invoices until ... lie
in /srv*."""
_ON: Final = re.compile(
    r"\b(?:then|after|afterwards|from|later|but|while|and|when)\b|[,，、;；]|之后|然后|随后|再|起|后", re.I
)
_VERB: Final = re.compile(r"\b(?:is|are|has|have|uses?|runs?|lives?|can|must|needs?|listens?|stands?|goes|go)\b", re.I)
_BRACKETS: Final = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_OPEN, _CLOSE = "([（【", ")]）】"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """``day`` is the last one on which it held. ``whole``: all that the entry says ended with it."""

    day: date
    whole: bool


def ended(entry: str, today: date) -> Ended | None:
    """What ended before ``today``; None for what holds, or does not say."""
    parts = clauses(entry)
    found = [_of_clause(part, today, whole=normal(entry)) for part in parts]
    past = [it for it in found if it is not None]
    if not past:
        return None
    day = max(it.day for it in past)
    if any(it.day_of_all for it in past) and not any(it.holds for it in past):
        return Ended(day=day, whole=True)
    whole = len(past) == len(parts) and all(it.alone and not it.holds for it in past)
    return Ended(day=day, whole=whole) if any(not it.holds for it in past) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    day: date
    alone: bool = False  # the clause says nothing else
    day_of_all: bool = False  # a bracket at the end, a line of its own: of the whole entry
    holds: bool = False  # it tells of the past, or of a beginning


def _of_clause(clause: str, today: date, *, whole: str) -> _Found | None:
    days = dates.found(clause)
    for at, day in enumerate(days):
        before, after = clause[: day.begin], clause[day.end :]
        began = _began(clause, days, at)
        mark = _UNTIL.search(before) or _UNTIL_ZH.search(before) or _ONLY.search(before)
        said = before[: mark.start()] if mark is not None else before
        if mark is None and began is not None:
            said, after = f"{clause[: began.begin]} {after}", ""
        elif mark is None and not (_THEN_ZH.search(after) or _ONLY_AFTER.search(after)):
            continue
        if day.last >= today:
            return None
        after = _ONLY_AFTER.sub("", _THEN_ZH.sub("", after))
        return _judged(said, after, day, whole=whole, clause=clause)
    return None


def _began(clause: str, days: tuple[Day, ...], at: int) -> Day | None:
    """The first day of a stay that ends with this one."""
    if at == 0 or _AWAY.search(clause) is None or _RANGE.search(clause[days[at - 1].end : days[at].begin]) is None:
        return None
    return days[at - 1]


def _judged(said: str, after: str, day: Day, *, whole: str, clause: str) -> _Found:
    bare = said.strip().strip(_OPEN).strip(" -*•:：")
    if not bare and not after.strip(f" .。!！{_CLOSE}"):  # "(until D)", "until: D" on a line of its own, "Expires D."
        return _Found(day=day.last, alone=True, day_of_all=True, holds=_PAST.search(whole) is not None)
    if said.rstrip() and said.rstrip()[-1] in _OPEN and not after.strip(f" .。{_CLOSE}"):
        text = said.rstrip()[:-1]
        at_the_end = whole.rstrip().endswith(clause.rstrip())
        holds = _PAST.search(text) is not None or _BEGINS.search(text) is not None
        return _Found(
            day=day.last, alone=not _says_two(text), day_of_all=at_the_end and not _says_two(text), holds=holds
        )
    if not bare:  # "Until D deploys are frozen"
        said, after = after.lstrip(" ,，"), "的" * after.startswith("的")  # the data until D
    holds = _PAST.search(said) is not None or _BEGINS.search(said) is not None or _REASON.match(after) is None
    return _Found(day=day.last, alone=not _says_two(said) and _ON.search(_BRACKETS.sub("", after)) is None, holds=holds)


def _says_two(text: str) -> bool:
    bare = _BRACKETS.sub("", text)
    return re.search(r"[,，、;；]", bare) is not None or len(_VERB.findall(bare)) > 1

"""Is an entry a fact, or is it an order or a way of working, which belong elsewhere? And does another one say the same?

Orders are only warned of, with the fact that they may mean: a rule that reads words can be wrong. A way of working in
numbered steps is refused: it belongs into a skill, which is found when it is needed and costs nothing when it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hermes_cron.domain.entries import Entry
from hermes_cron.experience.memory import Target, alike, folded


class Fault(StrEnum):
    """What is wrong with an entry."""

    ORDER = "order"
    METHOD = "method"
    DUPLICATE = "duplicate"
    ALIKE = "alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """``refused``: such an entry is not written. ``suggestion`` is the fact that an order may mean, ``other`` an entry
    that says the same."""

    fault: Fault
    refused: bool = False
    suggestion: str | None = None
    other: str | None = None

    @property
    def message(self) -> str:
        """For a model, or a person who reads English."""
        return _MESSAGES[self.fault].format(suggestion=self.suggestion, other=self.other)


_MESSAGES = {
    Fault.ORDER: "an order, not a fact; later runs read it as a command. As a fact: {suggestion}",
    Fault.METHOD: "a way of working, not a fact: it belongs into a skill, as steps that are found when they are needed",
    Fault.DUPLICATE: "the same as: {other}",
    Fault.ALIKE: "nearly the same as: {other}",
}


def remarks(entry: str, target: Target, others: Sequence[str] = ()) -> tuple[Remark, ...]:
    """What is to be said of one entry. ``others`` are those that it would stand beside."""
    return tuple(_remarks(entry, target, others))


def _remarks(entry: str, target: Target, others: Sequence[str]) -> Iterator[Remark]:
    method = _method(entry)
    if method is not None:
        yield Remark(fault=Fault.METHOD, refused=method)
    else:
        suggestion = _fact(entry, target)
        if suggestion is not None:
            yield Remark(fault=Fault.ORDER, suggestion=suggestion)
    for other in others:
        if folded(entry) == folded(other):
            yield Remark(fault=Fault.DUPLICATE, other=other)
            return
    near = next((other for other in others if alike(entry, other)), None)
    if near is not None:
        yield Remark(fault=Fault.ALIKE, other=near)


def lint(entries: Sequence[Entry], target: Target) -> tuple[tuple[Entry, Remark], ...]:
    """Of a whole file; of two entries that say the same the later one is named."""
    before: list[str] = []
    found = []
    for entry in entries:
        found += [(entry, remark) for remark in remarks(entry.text, target, before)]
        before.append(entry.text)
    return tuple(found)


# --- orders -----------------------------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？；\n]+")
_VERBS = re.compile(
    r"(?:add|answer|ask|avoid|begin|build|call|check|commit|confirm|connect|create|delete|deploy|do|ensure|escalate|"
    r"exclude|explain|follow|format|give|ignore|include|inspect|install|keep|log|make|notify|open|prefer|print|push|"
    r"put|read|reboot|remember|remove|reply|report|respond|restart|run|save|say|send|set|show|skip|speak|start|stop|"
    r"store|summari[sz]e|tell|test|treat|try|update|use|verify|wait|warn|write)\b",
    re.I,
)
_TO_THE_PERSON = re.compile(
    r"(?:answer|reply|respond|write|speak|say|tell|explain|summari[sz]e|report|give|show|print|format|call|include|"
    r"begin|ask|be)\b",
    re.I,
)
"""Verbs of what a person likes in an answer."""

_STRONG = re.compile(
    r"(?:please\s+)?(?:you\s+)?"
    r"(?P<how>always|never|do\s+not|don['’]t|must\s+not|must\s+never|must\s+always|must|should\s+not|should\s+never|"
    r"should\s+always|should|have\s+to|need\s+to|make\s+sure\s+to|be\s+sure\s+to|remember\s+to)\s+(?P<rest>\w.*)",
    re.I | re.S,
)
_THAT = re.compile(r"(?:please\s+)?(?:make\s+sure|be\s+sure|ensure|remember)(?:\s+that)?\s+(?P<rest>\w.*)", re.I | re.S)
_PLAIN = re.compile(r"(?:please\s+)?(?P<rest>[A-Za-z]+\s+\S.*)", re.I | re.S)
_A_NOUN = re.compile(
    r"[A-Za-z]+\s+(?:of\s|[\w./-]+:\s|(?:\w+\s+)?by\s|(?:[\w./-]+\s+){0,3}(?:is|are|was|were|has|have|had|"
    r"can|cannot|may|will|does|goes|lags?|lives?|runs?|takes?|needs?|uses?|works?|fails?|starts?|begins?|ends?|stays?|"
    r"contains?|requires?|belongs?|comes?|expires?|rotates?|listens?)\b)"
)
"""``Test database is on port 5433``, ``Use of sudo is logged``, ``Run by cron``."""
_NOT = ("never", "not", "don", "mustn")
_CHINESE = re.compile(
    r"(?:请|你)?(?P<how>总是|始终|一律|永远|务必|必须|一定要|记得|记住要|应该|应当|不要|别|禁止|切勿|严禁|不得|不准|绝不要|永远不要|请)"
    r"(?P<rest>[^，。的].*)",
    re.S,
)
_CHINESE_NOT = frozenset({"不要", "别", "禁止", "切勿", "严禁", "不得", "不准", "绝不要", "永远不要"})
_CHINESE_EVER = frozenset({"总是", "始终", "一律", "永远"})
_CHINESE_ANSWERS = re.compile("回答|回复|答复|报告|说明|解释|简短|简洁|语气|中文|英文|语言")


def _fact(entry: str, target: Target) -> str | None:
    """The entry with its orders as facts and all else as it is, or whoever takes the suggestion loses the rest; None
    without an order. Bare verbs count at the start only."""
    spans = list(_sentences(entry))
    parts, at = [], 0
    for number, (start, end) in enumerate(spans):
        text = entry[start:end]
        fact = _strong(text, target) or _chinese(text, target) or (_plain(text, target) if number == 0 else None)
        if fact is not None:
            parts += [entry[at:start], fact]
            at = end
    if not parts:
        return None
    return parts[1] if len(spans) == 1 else "".join([*parts, entry[at:]])


def _sentences(entry: str) -> Iterator[tuple[int, int]]:
    """From where to where, without bullets and the sign at the end."""
    at = 0
    for found in [*_SENTENCE.finditer(entry), None]:
        start, end = at, len(entry) if found is None else found.start()
        at = end if found is None else found.end()
        text = entry[start:end]
        start += len(text) - len(text.lstrip("-*• \t"))
        end -= len(text) - len(text.rstrip(".;!。；！ \t"))
        if start < end:
            yield start, end


def _strong(text: str, target: Target) -> str | None:
    order = _STRONG.fullmatch(text)
    if order is not None:
        how = " ".join(order["how"].lower().replace("’", "'").split())
        return _said(how, order["rest"], target)
    that = _THAT.fullmatch(text)
    return None if that is None else f"The expectation here is that {that['rest']}"


def _said(how: str, rest: str, target: Target) -> str:
    likes = _likes(rest, target)
    if any(word in how for word in _NOT):
        never = "never" in how
        if likes:
            return f"The user {'never wants' if never else 'does not want'} the agent to {rest}"
        return f"The convention here is {'never' if never else 'not'} to {rest}"
    always = "always" in how
    if likes:
        return f"The user {'always wants' if always else 'wants'} the agent to {rest}"
    return f"The convention here is to {'always ' if always else ''}{rest}"


def _plain(text: str, target: Target) -> str | None:
    order = _PLAIN.fullmatch(text)
    rest = "" if order is None else order["rest"]
    if not _VERBS.match(rest) or _A_NOUN.match(rest):
        return None
    return _said("", rest[0].lower() + rest[1:], target)


def _likes(rest: str, target: Target) -> bool:
    return target is Target.USER or _TO_THE_PERSON.match(rest) is not None


def _chinese(text: str, target: Target) -> str | None:
    order = _CHINESE.fullmatch(text)
    if order is None:
        return None
    how, rest = order["how"], order["rest"]
    likes = target is Target.USER or _CHINESE_ANSWERS.search(rest) is not None
    if how in _CHINESE_NOT:
        return f"用户不希望{rest}" if likes else f"这里的惯例是不{rest}"
    ever = "始终" if how in _CHINESE_EVER else ""
    return f"用户希望{ever}{rest}" if likes else f"这里的惯例是{ever}{rest}"


# --- ways of working --------------------------------------------------------------------------------------------------

_CJK = "\u3400-\u9fff"
_DIGITS = "零一二三四五六七八九十"
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩"
_NUMBERED = re.compile(
    rf"(?:^|(?<=[\s:：;；,，。(（]))(?P<n>\d{{1,2}})(?:\.(?:\s+(?=\S)|(?=[{_CJK}*`]))|[、．]\s*(?=\S))"
)
_BRACKETED = re.compile(r"(?P<n>\d{1,2})[)）]\s*(?=\S)")
_BRACKETED_LINE = re.compile(r"^\s*[(（]?(?P<n>\d{1,2})[)）]\s*(?=\S)", re.M)
_STEP = re.compile(r"\bstep\s+(?P<n>\d{1,2})\b", re.I)
_CHINESE_STEP = re.compile(rf"第(?P<n>[{_DIGITS}\d]{{1,2}})步|(?P<circled>[{_CIRCLED}])")
_HOW_TO = re.compile(
    r"\s*(?:how\s+(?:to|we|you)\b|steps?\s+(?:to|for)\b|procedure\b|workflow\b|to\s+\w+[^.\n]{0,60}[:,]\s|"
    r"如何|怎么|怎样|操作步骤|步骤|流程[:：])",
    re.I,
)
_AND_THEN = re.compile(
    r"\b(?:then|after\s+that|afterwards|next,|finally|lastly)\b|然后|接着|随后|之后再|最后|(?:->|→|=>)", re.I
)
_FIRST = re.compile(r"\b(?:first|firstly)\b|首先|第一步", re.I)
_BULLET = re.compile(r"^\s*[-*•]\s+(?P<rest>[A-Za-z].*)", re.M)


def _method(entry: str) -> bool | None:
    """True for steps in order, False for what only sounds like them, None for what does not."""
    if any(_counts_up(found) for found in (*_numbered(entry), _chinese_steps(entry))):
        return True
    later = len(_AND_THEN.findall(entry))
    bullets = sum(_VERBS.match(found["rest"]) is not None for found in _BULLET.finditer(entry))
    if bullets >= 3 or (_HOW_TO.match(entry) and (later or bullets or _counts_up(_digits(_BRACKETED, entry)))):
        return True
    return False if later and (_FIRST.search(entry) or later >= 2) else None


def _numbered(entry: str) -> Iterator[Iterator[int]]:
    """``a) this or b) that`` is a sentence with an order in it; lines that begin so are steps."""
    yield from (_digits(pattern, entry) for pattern in (_NUMBERED, _STEP, _BRACKETED_LINE))


def _digits(pattern: re.Pattern[str], entry: str) -> Iterator[int]:
    return (int(found["n"]) for found in pattern.finditer(entry))


def _chinese_steps(entry: str) -> Iterator[int]:
    for found in _CHINESE_STEP.finditer(entry):
        if found["circled"]:
            yield _CIRCLED.index(found["circled"]) + 1
        else:
            yield int(found["n"]) if found["n"].isdecimal() else _DIGITS.find(found["n"][-1])


def _counts_up(numbers: Iterator[int]) -> bool:
    """Whether a 1 is followed by a 2, whatever stands between."""
    return any(number == 1 for number in numbers) and any(number == 2 for number in numbers)

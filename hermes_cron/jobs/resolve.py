"""Which databases does a prompt name?

Two rules, of different strictness. A *known* name counts wherever it stands as a word of its own: what is granted is
reading, and `add` shows it. An *unknown* name is an error only where the sentence cannot mean anything else than a
database: a name right before "db", "database" or 数据库 (or in quotes beside it) that ends its phrase, as the object of
a verb such as "inspect" or behind "on", "in", "from". So "inspect prdo db" is refused and "summarise db news" is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermes_cron.errors import JobFileError
from hermes_cron.jobs.nearest import nearest

_SPELLED = r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*"
_ELSEWHERE = re.compile(r"\S*://\S*|\S+@\S+|(?<![\w.])(?:~|\.{1,2})?/[\w./-]+")
"""URLs, addresses and paths: a host or a folder is not a database."""

_VERBS = (
    "inspect|check|examine|analy[sz]e|diagnose|review|audit|monitor|query|watch|tune|optimi[sz]e|profile|scan|"
    "report on|look at|health-?check"
)
_BEFORE = rf"(?:\b(?:{_VERBS})|\b(?:on|in|of|from|for|against|into|at|to|with))"
_JOIN = r"\s*(?:,\s*(?:and\s+)?|\s(?:and|or|&)\s|、|和|与|及)\s*"
_NAMES = rf"(?P<names>{_SPELLED}(?:{_JOIN}{_SPELLED})*)"
_ENDS = (
    r"(?=\s*(?:$|[.,;:!?)。，；：！？）、\n]|\b(?:and|or|for|every|each|on|in|at|then|to|with|by|using|via|daily|hourly|"
    r"weekly|nightly|now|today|please|but|if|when|while|before|after|as|is|are|has|have)\b))"
)
_WORD = r"(?:dbs?|databases?)"
_PLAIN_EN = re.compile(rf"{_BEFORE}\s+(?P<article>(?:the|our|my|your|this|that)\s+)?{_NAMES}\s+{_WORD}{_ENDS}", re.I)
_TURNED_EN = re.compile(rf"\b{_WORD}\s+(?P<names>{_SPELLED}){_ENDS}", re.I)
_QUOTED = re.compile(
    rf"\b{_WORD}\s+[\"'`“](?P<a>{_SPELLED})[\"'`”]|[\"'`“](?P<b>{_SPELLED})[\"'`”]\s+{_WORD}\b"
    rf"|数据库\s*[\"'`“「](?P<c>{_SPELLED})[\"'`”」]|[\"'`“「](?P<d>{_SPELLED})[\"'`”」]\s*(?:数据)?库",
    re.I,
)
_VERBS_ZH = "巡检|检查|分析|诊断|查看|看一?看|看一?下|监控|审查|体检|查询|优化|扫描|统计|在|对|从|给"
_PLAIN_ZH = re.compile(
    rf"(?:{_VERBS_ZH})(?:一下|下)?\s*{_NAMES}\s*(?:这个|那个)?(?:数据库|库)"
    r"(?=\s*(?:$|[.,;:!?。，；：！？）、\n]|并|然后|再|每|是否|有没有|里|中|上))"
)
_TURNED_ZH = re.compile(rf"数据库\s*(?P<names>{_SPELLED})(?=\s*(?:$|[.,;:!?。，；：！？\n]))")

_NOT_NAMES = frozenset(
    word
    for group in (
        "a an the our my your this that these those its their all each every any some both which whose whole entire",
        "one two three other another same",
        # what a database is like, not what it is called
        "new old local remote main primary secondary live slow big large small empty production staging development",
        "relational vector graph nosql time-series document cloud embedded in-memory open-source",
        # engines
        "sql postgres postgresql pg mysql mariadb sqlite oracle mssql sqlserver redis mongo mongodb cassandra",
        "dynamodb clickhouse duckdb snowflake elasticsearch neo4j db dbs database databases",
    )
    for word in group.split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """``known`` in the order of the prompt; ``unknown`` are names that clearly mean a database which is not set up."""

    known: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def databases_named(prompt: str, known: Iterable[str]) -> Named:
    """What the prompt names. Names compare without regard to case and come back as they are set up."""
    text = _ELSEWHERE.sub(" ", prompt)
    by_key = {name.casefold(): name for name in known}
    found: dict[int, str] = {}
    for match in re.finditer(_SPELLED, text):
        name = by_key.get(match[0].casefold())
        if name is not None:
            found.setdefault(match.start(), name)
    for key, name in by_key.items():
        if not re.fullmatch(_SPELLED, name) and (at := text.casefold().find(key)) >= 0:
            found[at] = name
    unknown = [name for name in _claimed(text, by_key) if name.casefold() not in by_key]
    return Named(known=tuple(dict.fromkeys(found[at] for at in sorted(found))), unknown=tuple(dict.fromkeys(unknown)))


def no_database(name: str, known: Sequence[str]) -> JobFileError:
    """The error for a name that no database has; the known ones are listed, the nearest first."""
    listed = nearest(name, known, limit=len(known), at_least=0)
    return JobFileError(
        f'no database "{name}"', details={"known": listed or "none yet", "add_one": f"hermes-cron db add {name}"}
    )


def no_target(name: str, known: Sequence[str]) -> JobFileError:
    """The same for a target."""
    listed = nearest(name, known, limit=len(known), at_least=0)
    return JobFileError(
        f'no target "{name}"', details={"known": listed or "none yet", "add_one": f"hermes-cron targets add {name}"}
    )


def _claimed(text: str, known: Iterable[str]) -> list[str]:
    """Names in places where only a database's name can stand."""
    known = tuple(known)
    claimed = [(match.start(), next(filter(None, match.groups()))) for match in _QUOTED.finditer(text)]
    for pattern in (_PLAIN_EN, _PLAIN_ZH):
        for match in pattern.finditer(text):
            loose = bool(match.groupdict().get("article"))
            claimed += [
                (match.start("names"), name)
                for name in re.split(_JOIN, match["names"])
                if name and (not loose or _surely_a_name(name, known))
            ]
    for pattern in (_TURNED_EN, _TURNED_ZH):
        claimed += [
            (match.start("names"), match["names"])
            for match in pattern.finditer(text)
            if _surely_a_name(match["names"], known)
        ]
    return [name for _, name in sorted(claimed) if name.casefold() not in _NOT_NAMES and not name.isdigit()]


def _surely_a_name(word: str, known: Sequence[str]) -> bool:
    """Where an ordinary word could stand too ("the customer database", "database backups"): it looks like an
    identifier, or like a known name with two letters swapped or one letter wrong."""
    if re.search(r"[-_]|[A-Za-z]\d|\d[A-Za-z]", word):
        return True
    return len(word) >= 4 and any(_one_slip(word.casefold(), name) for name in known)


def _one_slip(one: str, other: str) -> bool:
    """Equal but for one letter or one swap of neighbours, of equal length: longer and shorter words are other words."""
    if len(one) != len(other):
        return False
    wrong = [at for at in range(len(one)) if one[at] != other[at]]
    if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
        return one[wrong[0]] == other[wrong[1]] and one[wrong[1]] == other[wrong[0]]
    return len(wrong) == 1

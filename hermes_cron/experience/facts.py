"""Which facts does a text name that must not get lost when it is said anew? Numbers, names, paths, URLs and hosts.

Two readings of one text. What it *requires* is taken whole: of ``https://wiki.acme.io:8443/ops`` the address, of
``30 minutes`` the number with its unit. What it *has* is generous: of that address the host and the port as well. So
what is said in another form counts as said, and another number, unit or case of a path does not.

A name is what looks like one: a word with a capital (common words that begin a sentence aside), with digits or signs in
it, in quotes or backquotes, a weekday or month, a Chinese surname with what follows it. A *not* counts too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from hermes_cron.experience import dates
from hermes_cron.experience.facts_words import (
    COMMON,
    EXCEPT,
    MONTHS,
    NAMING,
    NOT,
    NUMBERS,
    PAIRS,
    UNITS,
    WEEKDAYS,
    ZH_EXCEPT,
    ZH_NAME,
    ZH_NOT,
    ZH_NUMBER,
    ZH_PLACE,
    ZH_WEEKDAY,
    zh_value,
)


class Kind(StrEnum):
    """What a fact is. ``negation`` is a *not*, an *except*: without it a sentence says the opposite."""

    NUMBER = "number"
    NAME = "name"
    PATH = "path"
    URL = "url"
    HOST = "host"
    NEGATION = "negation"


@dataclass(frozen=True, slots=True)
class Fact:
    """``key`` is what two ways to say it have in common, ``text`` how it stands there."""

    kind: Kind
    key: str
    text: str


_L = "A-Za-z0-9_\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
_CJK = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(
    rf"""
    (?P<url>[A-Za-z][A-Za-z0-9+.-]{{1,15}}://[^\s<>"'`{_CJK}。；、）】」』]+)
  | (?P<email>[{_L}.+-]+@[{_L}-]+(?:\.[{_L}-]+)+)
  | (?P<windows>(?<![{_L}])[A-Za-z]:\\[^\s"'<>|{_CJK}]+|\\\\[^\s"'<>|{_CJK}]+)
  | (?P<path>(?<![{_L}./])(?:~[{_L}-]*|\.{{1,2}})?/(?:[{_L}{_CJK}.-]+(?=/)|[{_L}.@%+*{{}}$~-]+)
        (?:/(?:[{_L}{_CJK}.-]+(?=/)|[{_L}.@%+*{{}}$~-]*))*
      |(?<![{_L}./])[{_L}.*-]+(?:/[{_L}.*@-]+)+/?|(?<![{_L}./])[{_L}-]+/(?![{_L}]))
  | (?P<ip>(?<![{_L}.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![{_L}]|\.\d))
  | (?P<ip6>(?<![{_L}:])(?=[0-9a-fA-F:]*(?:::|[a-fA-F]))(?:[0-9a-fA-F]{{0,4}}:){{2,7}}[0-9a-fA-F]{{0,4}}(?![{_L}:]))
  | (?P<host>(?<![{_L}.])(?:[{_L}](?:[{_L}-]*[{_L}])?\.)+[A-Za-z]{{2,}}(?![{_L}]))
  | (?P<time>(?<![{_L}.:])\d{{1,2}}(?::[0-5]\d(?::[0-5]\d)?)?\s?[ap]\.?m\b
      |(?<![{_L}.:])[0-2]?\d:[0-5]\d(?::[0-5]\d)?(?![{_L}:]))
  | (?P<number>(?<![{_L}.])[-+]?[$€£¥]?(?:\d{{1,3}}(?:,\d{{3}})+(?![\d,])|\d+)(?:\.\d+)*)
      (?P<unit>[^\S\n]?(?:{UNITS.pattern})(?![{_L}])|[^\S\n]?%|)(?![{_L}])
  | (?P<word>--?[A-Za-z][{_L}-]*|[$@\#]?[{_L}]+(?:[-.’'@\#+:=][{_L}]+)*(?:\+\+|\#)?)
  | (?P<cjk>[{_CJK}]+)
  | (?P<sign>!=|!(?=[{_L}])|[^\s.,;:!()\[\]{{}}"'`“”‘’«»…—–_/\\\-，。；：！（）【】「」『』《》、·•*])
    """,
    re.X | re.I,
)
_QUOTED = re.compile(
    r"`([^`\n]{1,120})`|\"([^\"\n]{1,60})\"|“([^”\n]{1,60})”|「([^」\n]{1,60})」|『([^』\n]{1,60})』|《([^》\n]{1,60})》"
)
_STARTS = re.compile(r"(?:[.!?:;。！？：；\n]|[-*•]\s|\()\s*\Z")
_PIECE = re.compile(rf"[{_L}]+")
_TRAILING = ".,;:!?)]}'\"’*"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text. ``said`` is its form for comparison, ``begins``: a sentence begins with it."""

    what: str
    text: str
    said: str
    begins: bool = False


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """In order. Of writing without blanks each run of characters is one."""
    plain = normal(text)
    return tuple(_tokens(plain))


def normal(text: str) -> str:
    """NFKC, with one apostrophe; what is no UTF-8 is U+FFFD."""
    known = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return unicodedata.normalize("NFKC", known).replace("’", "'").replace("n't", " not")


def _tokens(plain: str) -> Iterator[Token]:
    covered = {at: found for found in dates.found(plain) for at in (found.begin,)}
    at = 0
    while at < len(plain):
        day = covered.get(at)
        if day is not None:
            yield Token("date", plain[day.begin : day.end], day.key)
            at = day.end
            continue
        match = _TOKEN.match(plain, at)
        if match is None:
            at += 1
            continue
        end = _before_a_date(match.end(), at, covered)
        yield _token(match, plain[at:end], begins=_begins(plain, at))
        at = max(end, at + 1)


def _begins(plain: str, at: int) -> bool:
    near = plain[max(0, at - 4) : at]
    return _STARTS.search(near) is not None or (at < 4 and not near.strip())


def _before_a_date(end: int, at: int, covered: dict[int, dates.Day]) -> int:
    """A run of characters ends where a date begins: ``有效期至2026年11月1日``."""
    return min((begin for begin in covered if at < begin < end), default=end)


def _token(match: re.Match[str], text: str, *, begins: bool) -> Token:
    what = str(match.lastgroup)
    if what in ("unit", "number"):
        return Token("number", text.strip(), _number(text, match["unit"]))
    if what in ("url", "path", "windows", "host", "email", "word"):
        text = text.rstrip(_TRAILING) or text
        if what == "path" and text.casefold() in PAIRS:
            what = "word"
    if what == "time":
        return Token(what, text, _time(text))
    return Token(what, text, _said(what, text), begins)


def _said(what: str, text: str) -> str:
    if what == "url":
        scheme, _, rest = text.partition("://")
        host, slash, path = rest.partition("/")
        return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")
    if what in ("path", "windows"):
        return text.rstrip("/\\") or text
    return text if what in ("cjk", "sign") else text.casefold().removesuffix("'s")


def _number(text: str, unit: str | None) -> str:
    digits = text[: len(text) - len(unit or "")].strip().replace(",", "").lstrip("+")
    money = next((sign for sign in "$€£¥" if sign in digits), "")
    bare = digits.replace(money, "") if money else digits
    named = _unit(unit or "") or {"$": "usd", "€": "eur", "£": "gbp", "¥": "yuan"}.get(money, "")
    return f"{bare} {named}".strip()


def _unit(text: str) -> str:
    word = text.strip().casefold()
    return "%" if word in ("%", "percent") else UNITS.names.get(word, word)


def _time(text: str) -> str:
    half = re.search(r"([ap])\.?m", text, re.I)
    parts = [int(piece) for piece in re.findall(r"\d+", text)]
    if half is not None:
        parts[0] = parts[0] % 12 + (12 if half[1].lower() == "p" else 0)
    return ":".join(f"{part:02}" for part in (*parts, 0)[: max(2, len(parts))])


# --- what it requires -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def required(text: str) -> tuple[Fact, ...]:
    """What must be found again, each once, in order."""
    found: dict[str, Fact] = {}
    for fact in (*_quoted(text), *_required(text), *_negations(text)):
        found.setdefault(fact.key, fact)
    return tuple(found.values())


_PLAIN = {"url": (Kind.URL, "u"), "path": (Kind.PATH, "p"), "windows": (Kind.PATH, "p"), "email": (Kind.NAME, "w"),
          "ip": (Kind.HOST, "w"), "ip6": (Kind.HOST, "w"), "host": (Kind.HOST, "w"), "date": (Kind.NUMBER, "d"),
          "time": (Kind.NUMBER, "t"), "number": (Kind.NUMBER, "n")}  # fmt: skip


def _required(text: str) -> Iterator[Fact]:
    found = tokens(text)
    for before, token, following in zip((None, *found), found, (*found[1:], None), strict=False):
        if token.what in _PLAIN:
            kind, prefix = _PLAIN[token.what]
            yield Fact(kind, f"{prefix}:{token.said}", token.text)
        elif token.said in NUMBERS:
            unit = "" if following is None else UNITS.names.get(following.said, "")
            yield Fact(Kind.NUMBER, f"n:{NUMBERS[token.said]} {unit}".strip(), token.text)
        elif token.what == "word" and before is not None and before.said in NAMING:
            yield Fact(Kind.NAME, f"w:{token.said}", token.text)
        elif token.what == "word":
            yield from _word(token)
        elif token.what == "cjk":
            yield from _chinese(token.text)
    for place in ZH_PLACE.finditer(normal(text)):
        yield Fact(Kind.NAME, f"q:{place[0]}", place[0])


def _word(token: Token) -> Iterator[Fact]:
    said = token.said
    if said in WEEKDAYS:
        yield Fact(Kind.NAME, f"day:{WEEKDAYS[said]}", token.text)
    elif said in MONTHS and (token.text[0].isupper() and said not in ("may", "march")):
        yield Fact(Kind.NAME, f"month:{MONTHS[said]}", token.text)
    elif "=" in said or ":" in said:
        for piece in re.split(r"[=:]", token.text):
            kind = Kind.NUMBER if piece.isdecimal() else Kind.NAME
            yield Fact(kind, f"n:{piece}" if piece.isdecimal() else f"w:{piece.casefold()}", piece)
    elif _is_name(token):
        yield Fact(Kind.NAME, f"w:{said}", token.text)


def _is_name(token: Token) -> bool:
    text = token.text
    if any(map(str.isdigit, text)) or re.search(r"[-_.@#$+]", text):
        return True
    if not text[0].isupper():
        return any(map(str.isupper, text))
    return len(text) > 1 and (token.said not in COMMON if token.begins else token.said not in ("i", "i'm"))


def _chinese(text: str) -> Iterator[Fact]:
    for found in ZH_WEEKDAY.finditer(text):
        yield Fact(Kind.NAME, f"day:{min(7, '一二三四五六日天'.index(found[1]) + 1)}", found[0])
    for found in ZH_NUMBER.finditer(text):
        unit = UNITS.names.get(found[2], "")
        yield Fact(Kind.NUMBER, f"n:{zh_value(found[1])} {unit}".strip(), found[0])
    for found in ZH_NAME.finditer(text):
        name = found["name"] or found["title"]
        yield Fact(Kind.NAME, f"q:{name}", name)


def _quoted(text: str) -> Iterator[Fact]:
    for found in _QUOTED.finditer(normal(text)):
        inside = next(group for group in found.groups() if group is not None).strip()
        if inside:
            yield Fact(Kind.NAME, f"q:{_folded(inside)}", inside)


def _negations(text: str) -> Iterator[Fact]:
    words = {token.said for token in tokens(text) if token.what == "word"}
    plain = normal(text)
    if words & NOT or ZH_NOT.search(plain):
        yield Fact(Kind.NEGATION, "not", "not")
    if words & EXCEPT or ZH_EXCEPT.search(plain):
        yield Fact(Kind.NEGATION, "except", "except")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


# --- what it has ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _present(text: str) -> tuple[frozenset[str], str]:
    return frozenset(_keys(text)), _folded(normal(text))


def _keys(text: str) -> Iterator[str]:
    for fact in required(text):
        yield fact.key
        if fact.key.startswith("n:"):
            yield fact.key.partition(" ")[0]
    for token in tokens(text):
        yield f"w:{token.said}"
        if token.what in ("url", "path", "windows", "email", "host", "word"):
            yield from _pieces(token)


def _pieces(token: Token) -> Iterator[str]:
    """What stands inside: the host, the port and the path of an address, the name of a file."""
    bare = token.text.partition("://")[2] or token.text
    if token.what == "url":
        host, slash, path = bare.partition("/")
        yield f"w:{host.casefold().partition(':')[0].rpartition('@')[2]}"
        yield f"p:{slash}{path.rstrip('/')}"
    for piece in re.split(r"[/\\?&=:@\s]+", bare):
        yield f"w:{piece.casefold()}"
    for piece in _PIECE.findall(bare):
        yield f"w:{piece.casefold()}"
        if piece.isdecimal():
            yield f"n:{piece}"


def missing(old: Iterable[str], new: str) -> tuple[Fact, ...]:
    """What the old texts require and the new one has not, each once."""
    keys, folded = _present(new)
    gone = {fact.key: fact for text in old for fact in required(text) if not _has(fact, keys, folded)}
    return tuple(gone.values())


def _has(fact: Fact, keys: frozenset[str], folded: str) -> bool:
    if fact.key in keys:
        return True
    prefix, _, said = fact.key.partition(":")
    if prefix == "q":
        return said in folded
    if prefix == "w" and re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)+", said):  # long-term, long term
        return all(f"w:{piece}" in keys for piece in said.split("-"))
    return prefix == "w" and fact.text.istitle() and _one_more_or_less(said, keys)


def _one_more_or_less(said: str, keys: frozenset[str]) -> bool:
    """``Reports`` that begin a sentence, and a report."""
    return said.isalpha() and (f"w:{said}s" in keys or (said.endswith("s") and f"w:{said[:-1]}" in keys))

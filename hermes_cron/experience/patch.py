"""Where in a file does a piece stand that somebody remembers, and what is the file once it is exchanged?

First the exact text, then the same words with other blanks, then what is nearly the same: 85 % alike, no other place
within five points of it, and no number, no short word and no *not* that differs. Lines that the change does not touch
stay byte for byte: their ends, their indent, a byte-order mark.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from hermes_cron.errors import PatchAmbiguous, PatchNoMatch, SkillEncodingError
from hermes_cron.experience.near import FUZZY_CHARACTERS, alike, nearest, paired, same_but_for_typos

PREVIEW = 500
"""Characters of the file that a refusal shows."""

_BOM = "\ufeff"
_ENDS = re.compile(r"\r\n|\r|\n")
_ESCAPES = {r"\\": "\\", r"\r\n": "\n", r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'"}
_ESCAPED = re.compile(r"\\\\|\\r\\n|\\[nt\"']")
_PATH = re.compile(
    r"(?:\b[A-Za-z]:|(?<!\\)\\\\[\w.-]+)\\"  # a drive, a share, or a file's name at the end
    r"|\w\\(?:[\w.-]+\\)*[\w-]+\.(?:bat|cmd|com|exe|dll|msi|ps1|ini|inf|reg|cfg|conf|log|txt|md|py|sh|json|ya?ml)\b"
)
_PLACES_TOLD = 10


class How(StrEnum):
    """How the place was found. ``escapes``: the piece had a backslash and an n where the file has a line end."""

    EXACT = "exact"
    ESCAPES = "escapes"
    BLANKS = "blanks"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """``line`` is where the first of ``places`` changes begins, from 1."""

    data: bytes
    line: int
    places: int
    how: How


class _Span(NamedTuple):
    """Of the text with plain line feeds."""

    start: int
    end: int


def patch(data: bytes, old: str, new: str, *, shown: str, replace_all: bool = False) -> Patched:
    """The file with ``old`` exchanged for ``new``; ``replace_all`` takes each that is exact or differs by blanks.

    Raises ``PatchNoMatch``, ``PatchAmbiguous`` with the nearest lines and the beginning of the file,
    ``SkillEncodingError`` for what is no UTF-8.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillEncodingError(f"{shown}: not UTF-8 (byte {error.start})", hint="save as UTF-8") from error
    file = _File(text, shown)
    old, new = _plain(old), _plain(new)
    if not old.strip():
        raise PatchNoMatch(f"{shown}: there is no text to look for", hint="copy some lines of the file into `old`")
    found = _found(file, old, new, replace_all=replace_all)
    if len(found.spans) > 1 and not replace_all:
        raise file.ambiguous([file.line_of(span.start) for span in found.spans])
    parts, at, places = [], 0, 0
    for span in found.spans:
        if span.start < at:  # of two places that overlap the first
            continue
        text, end = _exchanged(file, span, found)
        parts += [file.raw(at, span.start), text]
        at, places = end, places + 1
    body = "".join([*parts, file.raw(at, len(file.plain))])
    return Patched(
        data=(file.mark + body).encode("utf-8"),
        line=file.line_of(found.spans[0].start),
        places=places,
        how=found.how,
    )


# --- where it stands --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """``old`` and ``new`` as they are meant, with plain line feeds."""

    how: How
    spans: tuple[_Span, ...]
    old: str
    new: str


def _found(file: _File, old: str, new: str, *, replace_all: bool) -> _Found:
    meant = _unescaped(old, new, file) if _ESCAPED.search(old) else None
    for how, (wanted, put), look in (
        (How.EXACT, (old, new), _exact),
        (How.ESCAPES, meant or ("", ""), _exact),
        (How.BLANKS, (old, new), _blanks),
        (How.ESCAPES, meant or ("", ""), _blanks),
    ):
        if wanted.strip() and (spans := look(file.plain, wanted)):
            if put is None:
                raise _two_readings(file.shown)
            return _whole_lines(file, spans, how, wanted, put)
    if replace_all or meant is not None or len(old) > FUZZY_CHARACTERS:
        raise file.no_match(old)
    wanted, put = old.strip("\n"), new.strip("\n")  # a fuzzy place is a block of whole lines
    return _whole_lines(file, [_fuzzy(file, wanted)], How.FUZZY, wanted, put)


def _whole_lines(file: _File, spans: Sequence[_Span], how: How, old: str, new: str) -> _Found:
    """When nothing is put there: neither an empty line is left, nor the indent of a line that went."""
    if not new and old.endswith("\n"):
        spans = [_Span(file.before_indent(span.start), span.end) for span in spans]
    elif not new and how is not How.EXACT and all(map(file.is_lines, spans)):
        spans, old = [_Span(span.start, span.end + 1) for span in spans], old + "\n"
    return _Found(how=how, spans=tuple(spans), old=old, new=new)


def _exact(text: str, old: str) -> list[_Span]:
    """Every place, one after the other; of two that overlap both, since either could be meant."""
    found, at = [], text.find(old)
    while at != -1:
        found.append(_Span(at, at + len(old)))
        at = text.find(old, at + 1)
    return found


def _blanks(text: str, old: str) -> list[_Span]:
    """The same words line by line, whatever blanks are between and around them; from the first one's indent on."""
    lines = [line.split() for line in old.split("\n")]
    words = [r"[^\S\n]+".join(map(re.escape, line)) for line in lines]
    begin = r"(?<!\S)" if words[0] else ""
    pattern = r"[^\S\n]*\n".join(rf"[^\S\n]*{line}" if line and at else line for at, line in enumerate(words))
    end = r"(?!\S)" if words[-1] else ""
    one, found, at = re.compile(begin + pattern + end), [], 0
    while (match := one.search(text, at)) is not None:  # of two that overlap both, as in ``_exact``
        found.append(_Span(_indent_start(text, match.start()), _blanks_end(text, match.end())))
        at = match.start() + 1
    return found


def _fuzzy(file: _File, old: str) -> _Span:
    """The one block of whole lines that is nearly this. Raises ``PatchNoMatch``, ``PatchAmbiguous``."""
    lines = file.lines
    ranked = alike(lines, old.split("\n"))
    if not ranked:
        raise file.no_match(old)
    best, rivals = ranked[0], ranked[1:]
    if rivals:
        raise file.ambiguous([at.first + 1 for at in (best, *rivals)], nearly=True)
    if not same_but_for_typos(old, "\n".join(lines[best.first : best.last])):
        raise file.no_match(old)
    starts = file.starts
    return _Span(starts[best.first], starts[best.last - 1] + len(lines[best.last - 1]))


def _unescaped(old: str, new: str, file: _File) -> tuple[str, str | None]:
    """Both, with the escapes that ``old`` has made what they stand for; others in ``new`` are its own.

    So is what stands in the file as it is written. None where a line end could be part of a path.
    """
    kinds = set(_ESCAPED.findall(old))
    kinds |= {r"\n"} if r"\r\n" in kinds else set()
    two_readings = False

    def meant(found: re.Match[str]) -> str:
        nonlocal two_readings
        if found[0] not in kinds:
            return found[0]
        word = _word_around(found.string, found.span())
        if found[0] != r"\\" and found.string is new:
            if word in file.plain:
                return found[0]
            two_readings = two_readings or (r"\\" not in kinds and _PATH.search(word) is not None)
        return _ESCAPES[found[0]]

    wanted, put = (_ESCAPED.sub(meant, text) for text in (old, new))
    return wanted, None if two_readings else put


def _word_around(text: str, span: tuple[int, int]) -> str:
    """What stands there between blanks."""
    before, after = text[: span[0]].rsplit(maxsplit=1), text[span[1] :].split(maxsplit=1)
    head = before[-1] if before and not text[span[0] - 1].isspace() else ""
    tail = after[0] if after and not text[span[1]].isspace() else ""
    return head + text[span[0] : span[1]] + tail


def _two_readings(shown: str) -> PatchAmbiguous:
    """``C:\\new`` beside line ends that were written as a backslash and an n: either reading damages the other."""
    return PatchAmbiguous(
        f"{shown}: in the new text a backslash and a letter may be a line end or part of a path",
        hint="write line ends as line ends, in `old` and in `new`",
    )


# --- what stands there then -------------------------------------------------------------------------------------------


def _exchanged(file: _File, span: _Span, found: _Found) -> tuple[str, int]:
    """The text of one place after the change, with the file's own line ends, and where the rest begins.

    Lines that are the same in ``old`` and ``new`` stay as the file has them, and so do lines of the file that ``old``
    did not name.
    """
    here = file.pieces(span)
    old, new = found.old.split("\n"), found.new.split("\n")
    match = _paired(old, [piece.text for piece in here])
    shift = _Indents(old, [piece.text for piece in here], match)
    out: list[_Piece] = []
    kept = -1  # the last line of the file that was dealt with

    def until(number: int) -> None:
        nonlocal kept
        known = set(match.values())
        out.extend(here[at] for at in range(kept + 1, number) if at not in known)
        kept = max(kept, number - 1)

    for same, lines, put in _changes(old, new):
        for at in lines:
            if at in match:
                until(match[at])
                if same:
                    out.append(here[match[at]])
                kept = match[at]
        if not same:
            out.extend(_Piece(shift.of(new[at], first=at == 0), None) for at in put)
    until(len(here))
    style = file.ending_at(span)
    *others, last = out
    text = "".join(piece.text + (piece.ending or style) for piece in others) + last.text
    if last.ending and file.is_line_end(span.end):  # the lines behind it went, and it keeps its own end
        return text + last.ending, span.end + 1
    return text, span.end


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, range, range]]:
    """What is the same and what is not, in order: lines of each. The end first: its last line may be a part of one."""
    most = min(len(old), len(new))
    behind = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    most -= behind
    before = next((at for at in range(most) if old[at] != new[at]), most)
    mine, yours = old[before : len(old) - behind], new[before : len(new) - behind]
    yield True, range(before), range(before)
    for what, a, b, c, d in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        yield what == "equal", range(before + a, before + b), range(before + c, before + d)
    yield True, range(len(old) - behind, len(old)), range(len(new) - behind, len(new))


def _paired(old: Sequence[str], here: Sequence[str]) -> dict[int, int]:
    """Which line of the file each line of ``old`` is; of a fuzzy place some may have none."""
    if len(old) == len(here):
        return {at: at for at in range(len(old))}
    return paired(old, here)


class _Piece(NamedTuple):
    """A line and its end; None for one that is new."""

    text: str
    ending: str | None


class _Indents:
    """How an indent that was written looks in the file: by the lines that are in both."""

    def __init__(self, old: Sequence[str], here: Sequence[str], match: dict[int, int]) -> None:
        pairs = [
            (_indent(old[at]), _indent(here[there]))
            for at, there in match.items()
            if old[at].strip() and here[there].strip()
        ]
        self._first = pairs[0] if pairs and 0 in match and old[0].strip() else None
        self._known: dict[str, str] = {}
        for written, there in [*pairs[1:], *pairs[:1]]:  # the first line may have been copied from its middle
            self._known.setdefault(written, there)
        self._units = self._unit()

    def of(self, line: str, *, first: bool) -> str:
        """The line with the file's indent. ``first``: where the piece begins, what is before it stays."""
        written = _indent(line)
        if not line.strip():
            return line
        if first and self._first is not None and written == self._first[0]:
            return self._first[1] + line[len(written) :]
        return self._shifted(written) + line[len(written) :]

    def _shifted(self, written: str) -> str:
        if written in self._known:
            return self._known[written]
        base = max((it for it in self._known if written.startswith(it)), key=len, default=None)
        if base is None:
            return written
        rest, (unit, theirs) = written[len(base) :], self._units
        if unit and rest and len(rest) % len(unit) == 0 and rest == unit * (len(rest) // len(unit)):
            rest = theirs * (len(rest) // len(unit))
        return self._known[base] + rest

    def _unit(self) -> tuple[str, str]:
        """One step inwards as it was written and as the file has it."""
        steps = sorted(self._known.items(), key=lambda pair: len(pair[0]))
        for (one, mine), (other, yours) in pairwise(steps):
            if other.startswith(one) and yours.startswith(mine) and yours != mine:
                return other[len(one) :], yours[len(mine) :]
        return "", ""


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_start(text: str, at: int) -> int:
    begin = text.rfind("\n", 0, at) + 1
    return at if text[begin:at].strip(" \t") else begin


def _blanks_end(text: str, at: int) -> int:
    """The end of the line where nothing but blanks is left of it: they belong to what stands before them."""
    end = text.find("\n", at)
    end = len(text) if end == -1 else end
    return at if text[at:end].strip(" \t") else end


def _plain(text: str) -> str:
    return _ENDS.sub("\n", text.removeprefix(_BOM))


class _File:
    """A text, looked at with plain line feeds and cut with its own."""

    def __init__(self, text: str, shown: str) -> None:
        self.shown = shown
        self.mark = _BOM if text.startswith(_BOM) else ""
        self._text = text[len(self.mark) :]
        self.plain = _ENDS.sub("\n", self._text)
        self.lines = self.plain.split("\n")
        self._ends: list[str] = _ENDS.findall(self._text)
        self.starts = list(_starts(self.lines))

    def line_of(self, at: int) -> int:
        """From 1."""
        return self.plain.count("\n", 0, at) + 1

    def raw(self, start: int, end: int) -> str:
        """The file's own characters between two places of the plain text."""
        return self._text[self._own(start) : self._own(end)]

    def _own(self, at: int) -> int:
        before = self.plain.count("\n", 0, at)
        return at + sum(len(end) - 1 for end in self._ends[:before])

    def pieces(self, span: _Span) -> list[_Piece]:
        """The lines of a place, the last one without its end."""
        first = self.line_of(span.start) - 1
        texts = self.plain[span.start : span.end].split("\n")
        ends = [*self._ends[first : first + len(texts) - 1], ""]
        return [_Piece(text, end) for text, end in zip(texts, ends, strict=True)]

    def ending_at(self, span: _Span) -> str:
        """What ends a new line there: what ends the line at the place, else the one before, else any."""
        if not self._ends:
            return "\n"
        return self._ends[min(bisect_left(self.starts, span.start + 1) - 1, len(self._ends) - 1)]

    def is_line_end(self, at: int) -> bool:
        """Whether a line ends there and another begins."""
        return self.plain[at : at + 1] == "\n"

    def is_lines(self, span: _Span) -> bool:
        """Whether it is whole lines with another one behind them."""
        return self.is_line_end(span.end) and self.plain[span.start - 1 : span.start] in ("", "\n")

    def before_indent(self, at: int) -> int:
        """The line's beginning where only its indent stands between; else the place itself."""
        return _indent_start(self.plain, at)

    # --- refusals ---------------------------------------------------------------------------------------------------

    def no_match(self, old: str) -> PatchNoMatch:
        """Shows what is like it, and how the file begins."""
        blocks = nearest(self.lines, old.strip("\n").split("\n"))
        like = f"; nearest:\n{blocks}" if blocks else "; nothing in the file is like it"
        return PatchNoMatch(
            f"{self.shown}: the text to replace is not there{like}\n{self._preview()}",
            hint="copy `old` from the file as it is now",
        )

    def ambiguous(self, lines: Sequence[int], *, nearly: bool = False) -> PatchAmbiguous:
        """Shows each place."""
        told = list(dict.fromkeys(lines))[:_PLACES_TOLD]
        more = " ..." if len(set(lines)) > _PLACES_TOLD else ""
        said = "is nearly the same at" if nearly else "stands at"
        shown = "\n".join(f"line {line:,}: {self.lines[line - 1][:160]}" for line in told)
        return PatchAmbiguous(
            f"{self.shown}: the text to replace {said} {len(lines)} places:\n{shown}{more}\n{self._preview()}",
            hint="give more of the lines around the one that is meant, or replace_all for all of them",
        )

    def _preview(self) -> str:
        cut = "" if len(self.plain) <= PREVIEW else f" (the first {PREVIEW} of {len(self.plain):,} characters)"
        return f"the file begins{cut}:\n{self.plain[:PREVIEW]}"


def _starts(lines: Sequence[str]) -> Iterator[int]:
    at = 0
    for line in lines:
        yield at
        at += len(line) + 1

"""Where in a text does a piece stand that someone remembers, perhaps with other blanks?

First the exact text, then whole lines that are equal but for blanks; either must stand at one place only. Nothing
is replaced on likeness: what is merely near is shown in the error.
"""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz import fuzz

from hermes_cron.errors import PatchAmbiguous, PatchNoMatch

_NEAREST = 3
_WORTH_SHOWING = 40.0
_PREVIEW_LINES = 6
_PREVIEW_WIDTH = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """``line`` is where the first change begins, from 1. ``how``: ``exact`` or ``blanks``."""

    text: str
    line: int
    how: str


def replace_once(text: str, old: str, new: str, *, shown: str) -> Replaced:
    """Everything beside the found place stays byte for byte, line ends included.

    Raises ``PatchNoMatch`` with the nearest lines, ``PatchAmbiguous`` with the line of each place.
    """
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    starts = _exact(text, old)
    if len(starts) > 1:
        raise _ambiguous(shown, [text.count("\n", 0, at) + 1 for at in starts])
    if starts:
        at = starts[0]
        return Replaced(text=text[:at] + new + text[at + len(old) :], line=text.count("\n", 0, at) + 1, how="exact")
    return _by_lines(text, old, new, shown)


def holds(text: str, piece: str) -> bool:
    """Whether ``piece`` stands somewhere in ``text``, as it is or as whole lines that are equal but for blanks."""
    if not piece.strip():
        return False
    text, piece = text.replace("\r\n", "\n"), piece.replace("\r\n", "\n")
    bare = [_bare(line) for line in piece.strip("\n").splitlines()]
    return piece in text or bool(_windows(text.splitlines(), bare))


def _exact(text: str, old: str) -> list[int]:
    """Every place, overlapping ones too: ``aa`` stands twice in ``aaa``."""
    found, at = [], text.find(old)
    while at != -1:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _by_lines(text: str, old: str, new: str, shown: str) -> Replaced:
    lines = text.splitlines(keepends=True)
    wanted = old.strip("\r\n").splitlines()
    bare = [_bare(line) for line in wanted]
    places = [] if not any(bare) else _windows(lines, bare)
    if not places:
        raise PatchNoMatch(f"{shown}: the text to replace is not there{_nearest(lines, wanted)}")
    if len(places) > 1:
        raise _ambiguous(shown, [at + 1 for at in places])
    at = places[0]
    end = at + len(wanted)
    ending = lines[end - 1][len(lines[end - 1].rstrip("\r\n")) :]
    body = _shifted(new.strip("\r\n"), _indent(wanted), _indent(lines[at:end]))
    # Replacing lines by nothing takes their line end along, else an empty line would stay.
    middle = body + ending if body else ""
    return Replaced(text="".join(lines[:at]) + middle + "".join(lines[end:]), line=at + 1, how="blanks")


def _windows(lines: list[str], bare: list[str]) -> list[int]:
    here = [_bare(line) for line in lines]
    return [at for at in range(len(here) - len(bare) + 1) if here[at : at + len(bare)] == bare]


def _bare(line: str) -> str:
    return " ".join(line.split())


def _indent(lines: list[str]) -> str:
    first = next(line for line in lines if line.strip())
    return first[: len(first) - len(first.lstrip(" \t"))]


def _shifted(text: str, written: str, found: str) -> str:
    """``text`` with the indent that was written exchanged for the one that was found."""
    if written == found:
        return text
    lines = text.splitlines(keepends=True)
    if not all(line.startswith(written) for line in lines if line.strip()):
        return text
    return "".join(found + line[len(written) :] if line.strip() else line for line in lines)


def _ambiguous(shown: str, lines: list[int]) -> PatchAmbiguous:
    places = ", ".join(f"{line:,}" for line in lines[:10]) + (" ..." if len(lines) > 10 else "")
    return PatchAmbiguous(
        f"{shown}: the text to replace stands at {len(lines)} places: lines {places}",
        hint="give more of the lines around the one that is meant",
    )


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """The likest windows with their line numbers, best first; empty when nothing is like it."""
    size, target = max(1, len(wanted)), "\n".join(wanted)
    scored = sorted(
        (
            (fuzz.ratio(target, "".join(lines[at : at + size]).rstrip("\r\n"), score_cutoff=_WORTH_SHOWING), at)
            for at in range(max(1, len(lines) - size + 1))
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    best: list[tuple[float, int]] = []
    for score, at in scored:
        if score <= 0 or len(best) == _NEAREST:
            break
        if all(abs(at - other) >= size for _, other in best):
            best.append((score, at))
    if not best:
        return "; nothing in the file is like it"
    blocks = [f"line {at + 1:,} ({score:.0f} % alike):\n{_preview(lines[at : at + size])}" for score, at in best]
    return "; nearest:\n" + "\n".join(blocks)


def _preview(lines: list[str]) -> str:
    shown = [line.rstrip("\r\n")[:_PREVIEW_WIDTH] for line in lines[:_PREVIEW_LINES]]
    more = [f"[... {len(lines) - _PREVIEW_LINES} more lines]"] if len(lines) > _PREVIEW_LINES else []
    return "\n".join([*shown, *more])

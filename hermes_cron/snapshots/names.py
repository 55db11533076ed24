"""Which names does git refuse in a tree, so that no history that people push or check with git may have them?

``git fsck --strict`` refuses whatever some file system could take for ``.git``: other cases, ``git~1`` (short names of
Windows), trailing blanks and dots, characters that macOS ignores, also behind a backslash. Links named ``.gitmodules``
and ``.gitmodules`` that could make a clone run something are refused too, and ``.gitattributes`` with lines so long
that git does not read them. fsck.c and utf8.c of git say how.
"""

from __future__ import annotations

import re

ROOTS = (b"jobs", b"skills", b"memories", b"config.toml")
"""What a history is of. Other names at the root of a pulled history are kept in it and never put into the home."""

MAX_DEPTH = 100

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # by macOS, within a name
_NO_CHARACTER = re.compile("[\udc80-\udcff\ufffe\uffff]")  # where git's decoder stops: bytes that are no UTF-8
_DOTGIT = re.compile(r"(\.git|git~1)[. ]*([:\\].*)?", re.DOTALL)
_FIRST = frozenset({b".", b"g", b"G", b"\xe2", b"\xef"})  # bytes that such a name can begin with
_MODULES = re.compile(r"(\.gitmodules|gitmod~\d|gi7eb[0-9a-f]~\d|gi7e[0-9a-f]{2}~\d)[. ]*(:.*)?", re.DOTALL)
_ATTRIBUTES = re.compile(r"(\.gitattributes|gitatt~\d|gi7d2[0-9a-f]~\d|gi7d[0-9a-f]{2}~\d)[. ]*(:.*)?", re.DOTALL)
_RISKY_MODULES = re.compile(rb'\.\.|[=\s"]-|=\s*"?!|\\|%0a|::', re.IGNORECASE)
_LONGEST_ATTRIBUTE = 2047


def is_dotgit(name: bytes) -> bool:
    """Whether some file system could take a name for ``.git``."""
    if name[:1] not in _FIRST and b"\\" not in name:
        return False
    text = name.decode("utf-8", "surrogateescape")
    seen = _IGNORED.sub("", _NO_CHARACTER.split(text, maxsplit=1)[0]).lower()
    if seen == ".git" or _DOTGIT.fullmatch(text.lower()) is not None:
        return True
    return any(_DOTGIT.fullmatch(part) is not None for part in _after_backslashes(text.lower()))


def _after_backslashes(text: str) -> list[str]:
    return [text[at + 1 :] for at, character in enumerate(text) if character == "\\"]


def refused(name: bytes, *, link: bool, data: bytes) -> bool:
    """Whether git refuses this file or link though its name is not ``.git``."""
    folded = _IGNORED.sub("", name.decode("utf-8", "surrogateescape")).lower()
    forms = [folded, *_after_backslashes(folded)]
    if any(_MODULES.fullmatch(form) for form in forms):
        return link or _RISKY_MODULES.search(data) is not None
    if any(_ATTRIBUTES.fullmatch(form) for form in forms):
        return any(len(line) > _LONGEST_ATTRIBUTE for line in data.split(b"\n"))
    return False


def below_roots(path: bytes) -> bool:
    """Whether a path of a tree is one of the home."""
    root, _, rest = path.partition(b"/")
    return root in ROOTS and bool(rest) == (root != b"config.toml")


def fits(path: bytes, *, link: bool) -> bool:
    """Whether a file, or a link, may lie there: ``config.toml`` may only be a link that a person laid."""
    return below_roots(path) and not (link and path in ROOTS)


def sane(path: bytes) -> bool:
    """Whether a path may be written below the home, wherever it came from."""
    parts = path.split(b"/")
    if len(parts) > MAX_DEPTH or b"\0" in path:
        return False
    return not any(part in (b"", b".", b"..") or is_dotgit(part) for part in parts)

"""Read letter by letter as the server does: is there anything but one statement outside the quotes?

The guard's tree and its tokens come from one library. This reading is independent of it: if that library and the server
ever disagreed where a text ends, the rest would stand here outside the quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hermes_cron.databases.dialects import DialectName

_PLAIN: Final = r"'(?:[^']|'')*'"
_BACKSLASHED: Final = r"'(?:[^'\\]|''|\\.)*'"
_QUOTED: Final = r'"(?:[^"]|"")*"'
_TICKED: Final = r"`(?:[^`]|``)*`"
_SQUARE: Final = r"\[(?:[^\]]|\]\])*\]"

# What is skipped as a whole, in the spelling that the guard writes and with the server's own escapes.
_SKIPPED: Final = {
    "postgres": re.compile(rf"(?<!\w)[eE]{_BACKSLASHED}|{_PLAIN}|{_QUOTED}", re.DOTALL),
    "sqlite": re.compile(rf"{_PLAIN}|{_QUOTED}|{_TICKED}", re.DOTALL),
    "mysql": re.compile(rf'{_BACKSLASHED}|"(?:[^"\\]|""|\\.)*"|{_TICKED}', re.DOTALL),
    "tsql": re.compile(rf"{_PLAIN}|{_QUOTED}|{_SQUARE}", re.DOTALL),
}
_FORBIDDEN: Final = re.compile(r"--|/\*|\*/|[;'\"`\\\x00#]|\$\w*\$")


def without_quotes(text: str, dialect: DialectName) -> str:
    """The text with a blank for every quoted part."""
    return _SKIPPED[dialect].sub(" ", text)


def stray(text: str, dialect: DialectName) -> str | None:
    """What stands outside the quotes and may not: a comment, a semicolon, an open quote; None when all is well."""
    outside = without_quotes(text, dialect)
    allowed = {"#"} if dialect == "postgres" else set()  # PostgreSQL's exclusive or; MySQL's comment
    return next((found for found in _FORBIDDEN.findall(outside) if found not in allowed), None)

"""Which words does a text have, for whoever looks for one?

A word is a run of letters and digits. In writing without blanks (Chinese, Japanese, Korean syllables, Thai, ...) each
character is a word, and so is each emoji or symbol: a longer one is a phrase of those, found wherever it stands. Case,
width and forms (NFKC) are folded, and the accents of Latin letters: ``CAFÉ`` is ``cafe``, but ``が`` is not ``か``.

SQLite's own tokenizer is not asked: its table of letters ends with Unicode 6.1 and throws newer signs away. It gets
these words with a blank between them, so what is indexed and what is looked for are split by the same rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

RULES = f"1/{unicodedata.unidata_version}"
"""Changes whenever the same text could give other words: what was indexed under other rules is indexed anew."""

LONGEST = 64
"""Characters of a word that count: a line of base64 is not worth more."""

_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
    "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"  # arrows, signs, emoji
)
_MARKS = (  # belong to the word they stand in, although they are no letters
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff"
)
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}][^\W_{_ALONE}{_MARKS}]*(?:[{_MARKS}]+[^\W_{_ALONE}{_MARKS}]*)*")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ACCENTED = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_ACCENTS = re.compile("([a-z])[\u0300-\u036f]+")


def words(text: str) -> list[str]:
    """In order, folded."""
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        found = _WORD.findall(_folded(unicodedata.normalize("NFKC", text)))
    return [word[:LONGEST] for word in found]


def places(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word of a text that is in NFKC already, folded, with where it begins and ends."""
    for match in _WORD.finditer(text):
        piece = match[0]
        if piece.isascii():
            yield piece.lower()[:LONGEST], match.start(), match.end()
        elif len(piece) == 1:
            yield _folded(piece), match.start(), match.end()
        else:
            yield from ((word, match.start(), match.end()) for word in words(piece))


def _folded(text: str) -> str:
    text = text.casefold()
    if _ACCENTED.search(text):
        text = unicodedata.normalize("NFC", _ACCENTS.sub(r"\1", unicodedata.normalize("NFD", text)))
    return text

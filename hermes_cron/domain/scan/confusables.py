"""Which letters of other scripts look like a Latin one? The part of Unicode's confusables that words are faked with."""

from __future__ import annotations

_PAIRS = (
    ("абвгдеёзіїјкмнорстухѕԁһԛԝѵь", "a6brдee3iijkmhopctyxsdhqwvb"),
    ("АВЕЗІЈКМНОРСТУХЅԚԜ", "ab" + "e3ijkmhopctyxsqw"),
    ("αβγεηικνορτυχωϲϳ", "abyenikvoptuxwcj"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx"),
    ("ɑɡɩıȷʟɴʀʏɪɢʜʙᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱꜰɛօոսհց", "agiijlnryighbacdejkmoptuvwzsfeonuhg"),
)
_NOT_ALIKE = frozenset("вгдзмнкт" + "γβηω")
"""Folded for matching, but too common beside Latin letters, or too unlike them, to be a disguise by themselves."""

LATIN: dict[str, str] = {other: latin for others, latins in _PAIRS for other, latin in zip(others, latins, strict=True)}
LATIN |= {chr(0x1F170 + n): chr(ord("a") + n) for n in range(26)}  # negative squared letters
LATIN |= {chr(0x1F1E6 + n): chr(ord("a") + n) for n in range(26)}  # regional indicators
LATIN |= {chr(0x1F150 + n): chr(ord("a") + n) for n in range(26)}  # negative circled letters

DISGUISES = frozenset(letter for letter in LATIN if letter not in _NOT_ALIKE and ord(letter) < 0x530)
"""Greek and Cyrillic letters that a reader takes for a Latin one."""

"""What does a working folder tell an agent about itself?

Hermes' order: ``.hermes.md``, ``AGENTS.md``, ``CLAUDE.md``, ``.cursorrules``, in the folder itself; the first one that
is there wins and the others are not read. Its text is data for the prompt, which fences it; one that the scanner blocks
is not used, and no other stands in for it.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from hermes_cron.domain.scan import Finding, Purpose, scan

NAMES = (".hermes.md", "AGENTS.md", "CLAUDE.md", ".cursorrules")
CAP_CHARACTERS = 20_000
_BYTES_A_CHARACTER = 4  # the most that UTF-8 takes

_log = logging.getLogger(__name__)


class ContextFile(NamedTuple):
    """``text`` is cut to ``CAP_CHARACTERS`` and then says so in its last line. ``blocked``: it must not be used."""

    name: str
    text: str
    blocked: Finding | None = None


def find(folder: Path) -> ContextFile | None:
    """The folder's notes; None when there are none or the first file is blank, unreadable or points outside."""
    for name in NAMES:
        path = folder / name
        if path.is_symlink() or path.exists():
            return _read(path, folder)
    return None


def _read(path: Path, folder: Path) -> ContextFile | None:
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            _log.warning("%s is not used: it is a link that leaves the folder", path)
            return None
        if not real.is_file():
            _log.warning("%s is not used: it is no plain file", path)
            return None
        with real.open("rb") as file:
            data = file.read(CAP_CHARACTERS * _BYTES_A_CHARACTER + 1)
        size = real.stat().st_size
    except (OSError, RuntimeError) as error:
        _log.warning("%s is not used: %s", path, error)
        return None
    text = data.decode("utf-8-sig", "replace").strip()
    if not text:
        return None
    used = text[:CAP_CHARACTERS]
    return ContextFile(path.name, _cut(text, size), scan(_as_lined(data, used), Purpose.CONTEXT).blocked)


def _as_lined(data: bytes, used: str) -> str:
    """What is used, with the empty lines before it, so that a finding has its line of the file."""
    whole = data.decode("utf-8-sig", "replace")
    return "\n" * whole[: len(whole) - len(whole.lstrip())].count("\n") + used


def _cut(text: str, size: int) -> str:
    if len(text) <= CAP_CHARACTERS:
        return text
    return f"{text[:CAP_CHARACTERS]}\n[cut here: the first {CAP_CHARACTERS:,} characters of a file of {size:,} bytes]"

"""Which of a skill's files attack the agent that would use it?

Every file is read, for any of them can enter a prompt or be run: SKILL.md, references, templates, scripts, playbooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_cron.domain.scan import Finding, Purpose, Verdict, scan

_MAX_FILES = 2_000
_MAX_BYTES = 4_194_304
_SKIPPED = frozenset({".git", "__pycache__"})

Mark = tuple[tuple[str, int, int, int, int], ...]
"""Name, times, size and inode of every file: another mark is another skill."""


class SkillFinding(NamedTuple):
    """``file`` is the path below the skill's folder."""

    file: str
    finding: Finding

    @property
    def place(self) -> str:
        return f"{self.file}:{self.finding.line}"


class SkillScreens:
    """What was found in folders of skills; one is read again when a file of it changed. Thread-safe."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[Mark, tuple[SkillFinding, ...]]] = {}

    def findings(self, folder: Path) -> tuple[SkillFinding, ...]:
        """The worst first, then by file; ``allow`` is left out."""
        mark = tuple(_marks(folder))
        kept = self._kept.get(folder)
        if kept is None or kept[0] != mark:
            kept = self._kept[folder] = (mark, screen(folder))
        return kept[1]

    def blocked(self, folder: Path) -> SkillFinding | None:
        """The first finding that blocks."""
        found = self.findings(folder)
        return found[0] if found and found[0].finding.verdict is Verdict.BLOCK else None


def screen(folder: Path) -> tuple[SkillFinding, ...]:
    """As ``SkillScreens.findings``, read now."""
    found = [
        SkillFinding(name, finding)
        for name, text in texts(folder)
        for finding in scan(text, Purpose.SKILL).findings
        if finding.verdict is not Verdict.ALLOW
    ]
    return tuple(sorted(found, key=lambda it: (-it.finding.verdict.rank, it.file, it.finding.line)))


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file's path below the folder and its text."""
    for path in files_of(folder):
        yield path.relative_to(folder).as_posix(), _text(path)


def files_of(folder: Path) -> Iterator[Path]:
    """All files, in order; links that leave the folder are not followed, as no reader of a skill follows them."""
    root, count = folder.resolve(), 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(here, name)
            if path.is_file() and path.resolve().is_relative_to(root):
                yield path
                count += 1
                if count == _MAX_FILES:
                    return


def _marks(folder: Path) -> Iterator[tuple[str, int, int, int, int]]:
    for path in files_of(folder):
        try:
            stat = path.stat()
        except OSError:
            continue
        yield str(path), stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


def _text(path: Path) -> str:
    """ "" for what is no text: no prompt takes it, and a program in machine code is not to be judged by its letters."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES)
    except OSError:
        return ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return "" if b"\x00" in data[:8192] else data.decode("utf-8-sig", "replace")

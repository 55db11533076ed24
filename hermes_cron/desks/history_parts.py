"""Which file, job or skill of the home's history does a word on the command line mean?"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.desks.history_plan import SKILL_FILE, parts_of, skills_of
from hermes_cron.domain.home_part import Kind, Part
from hermes_cron.errors import NameAmbiguous, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_cron.snapshots.repository import SnapshotRepository

_MEMORY = Part(Kind.MEMORY, "memory", "memories")
_SETTINGS = Part(Kind.SETTINGS, "config.toml", "config.toml")
_WORDS = {"memory": _MEMORY, "memories": _MEMORY, "settings": _SETTINGS, "config": _SETTINGS}

_ARCHIVED = "skills/.archive/"
"""What lies there is called by its path: the name is that of the skill whose versions came before."""

_Parts = dict[Part, list[str]]


def path_of(root: Path, word: str) -> str:
    """A path as the history has it: relative to the home, however it was typed."""
    path = Path(word).expanduser()
    if path.is_absolute() and path.is_relative_to(root):
        path = path.relative_to(root)
    return os.path.normpath(path)


def part(snapshots: SnapshotRepository, word: str) -> Part:
    """A path, ``memory``, a job (or its unique beginning) or a skill; also of what was removed since.

    Raises ``NotFound``, ``NameAmbiguous``.
    """
    if word in _WORDS:
        return _WORDS[word]
    path = path_of(snapshots.root, word)
    names: set[str] = set()
    begun: dict[str, Part] = {}
    for parts in _known(snapshots):
        found = _at(parts, path) or _named(parts, word, {Kind.JOB, Kind.SKILL})
        if found is not None:
            return found
        names |= {it.name for it in parts if it.kind in {Kind.JOB, Kind.SKILL}}
        begun |= {it.path: it for it in parts if it.kind is Kind.JOB and word and it.name.startswith(word)}
    if len(begun) == 1:
        return next(iter(begun.values()))
    raise _unknown(f'no file, job or skill "{word}" in the history', word, names, "hermes-cron snapshots list")


def skill(snapshots: SnapshotRepository, word: str) -> Part:
    """A skill by name or category/name, also one that was removed since. Raises ``NotFound``, ``NameAmbiguous``."""
    names: set[str] = set()
    for parts in _known(snapshots):
        found = _named(parts, word, {Kind.SKILL})
        if found is not None:
            return found
        names |= {it.name for it in parts if it.kind is Kind.SKILL}
    raise _unknown(f'no skill "{word}" in the history of this home', word, names, "hermes-cron skills list")


def _known(snapshots: SnapshotRepository) -> Iterator[_Parts]:
    """What the newest snapshot has, then what lies in the home, then, if that was not enough, what there ever was."""
    head = snapshots.head()
    if head is None:
        return
    objects = snapshots.objects()
    yield parts_of([os.fsdecode(path) for path in objects.files(head.tree)], skills_of(objects, head.tree))
    yield _lying(snapshots.root)
    commits = {it.id: it for it in snapshots.log()}
    paths = {
        os.fsdecode(path)
        for it in commits.values()
        for path, _, _ in objects.changed(None if it.parent is None else commits[it.parent].tree, it.tree)
    }
    skills = {path.removesuffix(SKILL_FILE) for path in paths if path.endswith(SKILL_FILE)}
    yield parts_of(sorted(paths), skills)


def _lying(root: Path) -> _Parts:
    found = [path for name in ("jobs", "skills", "memories") for path in (root / name).rglob("*") if path.is_file()]
    paths = sorted(str(path.relative_to(root)) for path in found)
    return parts_of(paths, {path.removesuffix(SKILL_FILE) for path in paths if path.endswith(SKILL_FILE)})


def _at(parts: _Parts, path: str) -> Part | None:
    """The part that lies there; a file of a skill, or a folder, is a part by itself."""
    for it, files in parts.items():
        if path == it.path:
            return it
        if any(file == path or file.startswith(path + "/") for file in files):
            return Part(Kind.FILE, path, path)
    return None


def _named(parts: _Parts, word: str, kinds: set[Kind]) -> Part | None:
    wanted = word.casefold()
    found = [
        it for it in parts
        if it.kind in kinds and wanted in (it.name.casefold(), it.path.partition("/")[2].casefold())
        and (not it.path.startswith(_ARCHIVED) or wanted != it.name.casefold())
    ]  # fmt: skip
    if len(found) > 1:
        raise NameAmbiguous(
            f'"{word}" may be {", ".join(it.path for it in found)}', hint="say the path, or category/name of a skill"
        )
    return found[0] if found else None


def _unknown(message: str, word: str, names: set[str], hint: str) -> NotFound:
    near = difflib.get_close_matches(word, sorted(names), n=3, cutoff=0.6)
    return NotFound(message, hint=f"did you mean {', '.join(near)}?" if near else hint, details={"near": near})

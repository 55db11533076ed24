"""What is a file of the home to a person: a job, a skill, memory, or the settings?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The word that a screen begins the line with."""

    JOB = "job"
    SKILL = "skill"
    MEMORY = "memory"
    SETTINGS = "settings"
    FILE = "file"


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """``path`` is the file, or the skill's folder, relative to the home; ``name`` what people call it."""

    kind: Kind
    name: str
    path: str


def part_of(path: str, skills: Collection[str]) -> Part:
    """The part that a file belongs to. ``skills`` are the folders, below the home, that have a SKILL.md."""
    root, _, rest = path.partition("/")
    if path == "config.toml":
        return Part(Kind.SETTINGS, path, path)
    if root == "jobs" and rest.endswith(".md") and "/" not in rest:
        return Part(Kind.JOB, rest.removesuffix(".md"), path)
    if root == "memories" and rest:
        return Part(Kind.MEMORY, rest, path)
    folder = skill_of(path, skills) if root == "skills" else None
    if folder is not None:
        return Part(Kind.SKILL, folder.rpartition("/")[2], folder)
    return Part(Kind.FILE, path, path)


def skill_of(path: str, skills: Collection[str]) -> str | None:
    """The innermost skill's folder that a path lies in, or is."""
    while path:
        if path in skills:
            return path
        path = path.rpartition("/")[0]
    return None

"""What is in a skill's folder now, which paths may be in one, and what is it after some operations?

A state is values: nothing is written here. Links are never followed nor written through.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_cron.errors import Conflict, Refused, SkillNameInvalid, SkillOutsideRoot
from hermes_cron.experience.skills import MAX_DEPTH, SKILL_FILE

FOLDERS = ("references", "templates", "scripts", "assets")
"""Beside SKILL.md and playbooks; agentskills.io and our ``templates``."""

FILE_BYTES = 1_048_576
_SKILL_BYTES = 10_000_000
_FILES = 200
_PART = re.compile(r"\w(?:[\w .-]{0,98}[\w-])?")
_PLAYBOOK = re.compile(r"playbook(?:\.[a-z0-9_-]{1,40})?\.yaml")
_RESERVED = frozenset(
    "con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class File:
    """``bits`` are the mode's. A ``link``'s bytes are where it leads to."""

    data: bytes
    bits: int | None = None
    link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Files by path below the folder, with ``/``."""

    files: Mapping[str, File] = field(default_factory=dict)

    @property
    def skill(self) -> bytes:
        """The SKILL.md."""
        return self.files[SKILL_FILE].data

    def put(self, path: str, data: bytes) -> State:
        """With these bytes there; an old file's mode stays. Raises ``SkillOutsideRoot`` for a link."""
        old = self.files.get(path)
        if old is not None and old.link:
            raise SkillOutsideRoot(f"{path} is a link; nothing is written through it", hint="write another file")
        made = File(data) if old is None else replace(old, data=data)
        return State(files={**self.files, path: made})

    def without(self, path: str) -> State:
        """With that file gone."""
        return State(files={name: file for name, file in self.files.items() if name != path})


def read_state(folder: Path, root: Path) -> State:
    """What lies in a skill's folder; a nested ``.git`` is no part of a skill.

    Raises ``SkillOutsideRoot`` for a folder that a link leads to: what lies behind it belongs elsewhere.
    """
    refuse_links(folder, root)
    files: dict[str, File] = {}
    for here, folders, names in os.walk(folder):
        linked = [name for name in folders if Path(here, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name != ".git" and name not in linked)
        for name in sorted([*names, *linked]):
            path = Path(here, name)
            file = _read(path)
            if file is not None:
                files[path.relative_to(folder).as_posix()] = file
    return State(files=files)


def _read(path: Path) -> File | None:
    if path.is_symlink():
        return File(os.fsencode(path.readlink()), link=True)
    if not path.is_file():  # a pipe would be waited for
        return None
    return File(path.read_bytes(), path.stat().st_mode & 0o777)


def refuse_links(folder: Path, root: Path) -> None:
    """Raises ``SkillOutsideRoot`` where the way from the skills' folder to this one has a link or leaves it."""
    parts = folder.relative_to(root).parts
    for count in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:count])
        if place.is_symlink():
            raise SkillOutsideRoot(
                f"{root.name}/{place.relative_to(root)} is a link to {place.readlink()}; a skill is not written "
                "through a link",
                hint="write the skill that lies there, or one of another name",
            )


def path_in_skill(path: str) -> str:
    """The path of a file in a skill, as it is kept. Raises ``SkillOutsideRoot``, ``Refused``."""
    plain = unicodedata.normalize("NFC", path.strip())
    parts = plain.removeprefix("./").split("/")
    if plain.startswith(("/", "~")) or "\\" in plain or ".." in parts or re.match(r"[A-Za-z]:", plain):
        raise SkillOutsideRoot(f"{path!r} lies outside the skill", hint=_PATHS)
    known = parts == [SKILL_FILE] or (len(parts) == 1 and _PLAYBOOK.fullmatch(parts[0]))
    if not known and (len(parts) != 2 or parts[0] not in FOLDERS or not _fit(parts[1])):
        raise Refused(f"{path!r} is no place for a file of a skill", hint=_PATHS)
    return "/".join(parts)


_PATHS = f"{SKILL_FILE}, playbook.yaml, or a file in {', '.join(FOLDERS)}: references/limits.md"


def _fit(name: str) -> bool:
    return _PART.fullmatch(name) is not None and name.partition(".")[0].casefold() not in _RESERVED


def refuse_too_much(state: State) -> None:
    """Raises ``Refused`` for a file or a skill that is too large, and for two names that one file system calls one."""
    for path, file in state.files.items():
        if len(file.data) > FILE_BYTES:
            raise Refused(f"{path} has {len(file.data):,} bytes, at most {FILE_BYTES:,}", hint="keep data elsewhere")
    total = sum(len(file.data) for file in state.files.values())
    if total > _SKILL_BYTES or len(state.files) > _FILES:
        raise Refused(
            f"{len(state.files)} files of {total:,} bytes, at most {_FILES} of {_SKILL_BYTES:,}",
            hint="a skill is a method; keep data elsewhere",
        )
    seen: dict[str, str] = {}
    for path in state.files:
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            raise Refused(f"{path} and {other} differ in case only", hint="one name for one file")


def refuse_hidden(folder: Path, root: Path) -> None:
    """For a new skill. Raises ``SkillNameInvalid``, ``Conflict`` where nobody would find it, or it would hide others:
    folders are searched so deep, and not below a SKILL.md."""
    parts = folder.relative_to(root).parts
    name = "/".join(parts)
    if len(parts) > MAX_DEPTH:
        raise SkillNameInvalid(
            f"{name} lies {len(parts)} folders deep, and {MAX_DEPTH} are searched", hint="category/name"
        )
    for count in range(1, len(parts)):
        above = root.joinpath(*parts[:count])
        if os.path.lexists(above / SKILL_FILE):
            raise Conflict(
                f"{'/'.join(parts[:count])} is a skill, and inside of one no other is found",
                hint="patch that one, or take another category",
            )
    below = next((Path(here) for here, _, names in os.walk(folder) if SKILL_FILE in names), None)
    if below is not None and below != folder:
        raise Conflict(
            f"{name} is a category of skills ({below.relative_to(root)}), which a skill there would hide",
            hint="another name",
        )

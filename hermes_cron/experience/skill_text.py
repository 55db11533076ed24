"""What does whoever views a skill read: its body with a list of its files, or one of those files?"""

from __future__ import annotations

from pathlib import Path

from hermes_cron.domain.clip import one_line
from hermes_cron.errors import HermesCronError, NotFound, SkillEncodingError, SkillOutsideRoot
from hermes_cron.experience.skill_screen import files_of
from hermes_cron.experience.skills import SKILL_FILE, Skill, SkillLibrary
from hermes_cron.files import inside

_FILES = 100
_FILE_BYTES = 1_048_576


def find(library: SkillLibrary, name: str, file: str | None) -> Skill:
    """As ``library.get``; a broken one too when its SKILL.md itself is asked for: whoever mends it must see it."""
    try:
        return library.get(name)
    except HermesCronError:
        broken = [skill for skill in library.all() if skill.fault is not None and name in (skill.name, skill.qualified)]
        if file == SKILL_FILE and len(broken) == 1 and not isinstance(broken[0].fault, SkillOutsideRoot):
            return broken[0]
        raise


def body(skill: Skill) -> str:
    """What it is, which files it has, then its text below the front matter."""
    version = f" {one_line(skill.version, 40)}" if skill.version else ""
    lines = [f"{skill.qualified}{version}: {one_line(skill.description, 1_024)}"]
    names = files(skill)
    if names:
        more = f", {len(names) - _FILES:,} more" if len(names) > _FILES else ""
        lines.append(f"Files, each read with skill_view and its path: {', '.join(names[:_FILES])}{more}")
    return "\n".join([*lines, "", skill.body.strip("\n")])


def files(skill: Skill) -> list[str]:
    """Paths below the folder, SKILL.md left out; what a link leads out of it is not the skill's."""
    names = [path.relative_to(skill.folder).as_posix() for path in files_of(skill.folder)]
    return [name for name in names if name != SKILL_FILE]


def file_text(skill: Skill, file: str) -> str:
    """Raises ``SkillOutsideRoot``, ``NotFound`` with the files that there are, ``SkillEncodingError`` for no text."""
    place = inside(skill.folder / file, skill.folder)
    if Path(file).is_absolute() or place is None:
        raise SkillOutsideRoot(f"{file} lies outside of the skill {skill.name}", hint="a path below the skill's folder")
    if not place.is_file():
        there = ", ".join(files(skill)[:_FILES]) or "none but SKILL.md"
        raise NotFound(f"{skill.name} has no file {file}", hint=f"files: {there}")
    try:
        with place.open("rb") as opened:
            data = opened.read(_FILE_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{file} of {skill.name} cannot be read: {error.strerror}") from error
    if b"\x00" in data[:8_192]:
        raise SkillEncodingError(f"{file} of {skill.name} is no text", hint="a tool that takes bytes can copy it")
    text = data[:_FILE_BYTES].decode("utf-8-sig", "replace")
    return text if len(data) <= _FILE_BYTES else f"{text}\n[the first {_FILE_BYTES:,} bytes; the file is longer]"

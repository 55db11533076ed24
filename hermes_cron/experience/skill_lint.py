"""Does a skill keep the standard's every rule (agentskills.io), as one that is shared must?

Reading is lenient (skills.py); this is strict. Each fault has its file and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.domain.scan import Verdict
from hermes_cron.errors import HermesCronError, NotFound, SkillFrontmatterError
from hermes_cron.experience import frontmatter
from hermes_cron.experience.skill_screen import screen
from hermes_cron.experience.skills import SKILL_FILE
from hermes_cron.files import inside

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME_CHARACTERS = 64
_DESCRIPTION_CHARACTERS = 1024
_COMPATIBILITY_CHARACTERS = 500
_BODY_LINES = 500
_BODY_TOKENS = 5000
_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)\s]+)\)|`((?:references|scripts|assets|templates)/[^`\s]+)`")
_CJK = re.compile(r"[\u3400-\u9fff]")
_NOT_TEXT = re.compile(r"[-+]?\d+(\.\d+)?|true|false|null|~", re.IGNORECASE)

CheckPlaybook = Callable[[Path, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """``line`` counts from 1."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def lint(path: Path, check_playbook: CheckPlaybook) -> list[Fault]:
    """All faults of a skill's folder (or its SKILL.md), of every skill below a folder of skills.

    ``check_playbook`` gets a file and its shown name and raises for what is wrong. Raises ``NotFound`` for a path
    with no skill in it.
    """
    if path.name == SKILL_FILE and path.is_file():
        path = path.parent
    folders = skill_folders(path)
    if not folders:
        raise NotFound(f"no {SKILL_FILE} in {path}", hint="name a skill, its folder, or a folder of skills")
    return [fault for folder in folders for fault in (*_hidden(folder, path), *_skill(folder, check_playbook))]


def skill_folders(path: Path) -> list[Path]:
    """The folder itself where it is a skill, else the skills below it; not what is archived there."""
    if (path / SKILL_FILE).is_file():
        return [path]
    found = (Path(here) for here, folders, names in os.walk(path) if SKILL_FILE in folders or SKILL_FILE in names)
    return sorted(it for it in found if not any(part.startswith(".") for part in it.relative_to(path).parts))


def _skill(folder: Path, check_playbook: CheckPlaybook) -> Iterator[Fault]:
    file = folder / SKILL_FILE
    try:
        front = frontmatter.parse(frontmatter.decode(_data(file), str(file)), str(file))
    except HermesCronError as error:
        yield _from_error(file, error)
    else:
        yield from _fields(file, front)
        yield from _metadata(file, front)
        yield from _body(file, front)
    yield from _blocked(folder)
    for playbook in sorted(folder.glob("playbook*.yaml")):
        try:
            check_playbook(playbook, str(playbook))
        except HermesCronError as error:
            yield _from_error(playbook, error)


def _hidden(folder: Path, top: Path) -> Iterator[Fault]:
    parts = folder.relative_to(top).parts
    ways = (top.joinpath(*parts[:count]) for count in range(len(parts)))
    above = next((it for it in ways if os.path.lexists(it / SKILL_FILE)), None)
    if above is not None:
        message = f"lies inside the skill {above.name!r}, where no skill is found"
        yield Fault(path=folder / SKILL_FILE, line=1, message=message)


def _data(file: Path) -> bytes:
    if not file.is_file():  # a pipe would be waited for
        raise SkillFrontmatterError(f"{file}: no plain file")
    try:
        return file.read_bytes()
    except OSError as error:
        raise SkillFrontmatterError(f"{file}: cannot be read: {error.strerror}") from error


def _blocked(folder: Path) -> Iterator[Fault]:
    for file, found in screen(folder):
        if found.verdict is Verdict.BLOCK:
            yield Fault(path=folder / file, line=found.line, message=f"blocked, {found.kind.words}: {found.excerpt}")


def _from_error(path: Path, error: HermesCronError) -> Fault:
    found = re.match(rf"{re.escape(str(path))}:(\d+): (.*)", error.message, re.DOTALL)
    if found:
        return Fault(path=path, line=int(found[1]), message=found[2])
    return Fault(path=path, line=1, message=error.message.removeprefix(f"{path}: "))


def _fields(file: Path, front: frontmatter.Front) -> Iterator[Fault]:
    def fault(key: str, message: str) -> Fault:
        return Fault(path=file, line=front.lines.get(key, 1), message=message)

    for key in front.fields:
        if key not in KEYS:
            yield fault(key, f'"{key}" is no key of the standard; put it under metadata')
    for warning in front.warnings:
        yield _from_error(file, HermesCronError(warning))
    yield from _name(file, front)
    for key, limit, needed in (
        ("description", _DESCRIPTION_CHARACTERS, True),
        ("compatibility", _COMPATIBILITY_CHARACTERS, False),
        ("license", _DESCRIPTION_CHARACTERS, False),
    ):
        value = front.fields.get(key)
        if value is None and not (needed or key in front.fields):
            continue
        if not isinstance(value, str) or not value.strip():
            yield fault(key, f'"{key}" is missing' if value is None else f'"{key}" is not a text')
        elif len(value) > limit:
            yield fault(key, f'"{key}" has {len(value):,} characters, at most {limit:,}')
    if not isinstance(front.fields.get("allowed-tools", ""), str):
        yield fault("allowed-tools", '"allowed-tools" is one text, names separated by spaces')


def _name(file: Path, front: frontmatter.Front) -> Iterator[Fault]:
    name, line = front.fields.get("name"), front.lines.get("name", 1)
    if not isinstance(name, str) or not name:
        yield Fault(path=file, line=line, message='"name" is missing')
        return
    wrong = [c for c in name if not ((c.isalnum() and c == c.lower()) or c == "-")]
    if wrong or name[0] == "-" or name[-1] == "-" or "--" in name or len(name) > _NAME_CHARACTERS:
        rule = f"1 to {_NAME_CHARACTERS} lowercase letters, digits and single -, none at an end"
        yield Fault(path=file, line=line, message=f"name {name!r}: {rule}")
    if name != file.parent.name:
        yield Fault(path=file, line=line, message=f"name {name!r} differs from its folder {file.parent.name!r}")


def _metadata(file: Path, front: frontmatter.Front) -> Iterator[Fault]:
    metadata, line = front.fields.get("metadata"), front.lines.get("metadata", 1)
    if metadata is not None and not isinstance(metadata, dict):
        yield Fault(path=file, line=line, message='"metadata" is not a list of `key: value` lines')
        return
    for key, value in (metadata or {}).items():
        at = front.lines.get(f"metadata.{key}", line)
        written_as_text = front.quoted.get(f"metadata.{key}", False)
        if not isinstance(value, str) or (not written_as_text and _NOT_TEXT.fullmatch(value)):
            yield Fault(path=file, line=at, message=f'metadata "{key}" is not a text; write it in quotes')
    if "version" not in (metadata or {}):
        yield Fault(path=file, line=line, message='metadata "version" is missing')


def _body(file: Path, front: frontmatter.Front) -> Iterator[Fault]:
    lines = front.body.split("\n")
    if not front.body.strip():
        yield Fault(path=file, line=front.body_line, message="nothing stands below the front matter")
    if len(lines) > _BODY_LINES:
        yield Fault(path=file, line=front.body_line, message=f"{len(lines)} lines, at most {_BODY_LINES}")
    wide = len(_CJK.findall(front.body))
    tokens = wide + (len(front.body) - wide) // 4
    if tokens > _BODY_TOKENS:
        yield Fault(path=file, line=front.body_line, message=f"about {tokens:,} tokens, at most {_BODY_TOKENS:,}")
    for number, text in enumerate(lines, start=front.body_line):
        for match in _LINK.finditer(text):
            target = (match[1] or match[2]).partition("#")[0]
            yield from _reference(file, number, target)


def _reference(file: Path, line: int, target: str) -> Iterator[Fault]:
    place = inside(file.parent / target, file.parent)
    if place is None:
        yield Fault(path=file, line=line, message=f"{target} lies outside the skill")
    elif not place.exists():
        yield Fault(path=file, line=line, message=f"there is no file {target}")
    elif len(Path(target).parts) > 2:
        yield Fault(path=file, line=line, message=f"{target} lies deeper than one level")

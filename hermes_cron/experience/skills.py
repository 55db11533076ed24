"""Which skills are there, under which name, and where does each lie?

A broken skill is listed as broken with file:line; none vanishes. A home's skill hides a shipped one of the same name.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import escape
from pathlib import Path

from hermes_cron.errors import (
    HermesCronError,
    NotFound,
    SkillAmbiguous,
    SkillFrontmatterError,
    SkillNameInvalid,
    SkillNameMissing,
    SkillOutsideRoot,
)
from hermes_cron.experience import frontmatter, matching, skill_pins, skill_redirects
from hermes_cron.experience.skill_screen import SkillFinding, SkillScreens
from hermes_cron.files import inside

SKILL_FILE = "SKILL.md"
ARCHIVE = ".archive"
"""In a home's ``skills/``: what was archived, by category and name. Folders with such a name are not looked into."""

MAX_DEPTH = 6  # agentskills.io: clients look 4 to 6 levels deep ...
_MAX_FOLDERS = 2000  # ... and into 2,000 folders at most
_MAX_BYTES = 1_048_576
_log = logging.getLogger(__name__)
_NAME = re.compile(r"[^\W_](?:[\w.-]{0,62}[^\W_])?")  # lenient: the strict rule is lint's


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder of skills. ``bundled``: it came with the program and is not written to."""

    path: Path
    bundled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One folder with a SKILL.md. When ``fault`` is set the skill is broken and only name and place are known.

    ``category`` is the path from the root to the folder's parent, "" when there is none. ``body`` is Markdown.
    ``shadows`` is the shipped folder that this one hides. ``pinned``: no run changes it.
    """

    name: str
    folder: Path
    category: str
    bundled: bool
    description: str = ""
    version: str = ""
    body: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    fault: HermesCronError | None = None
    warnings: tuple[str, ...] = ()
    shadows: Path | None = None
    pinned: bool = False

    @property
    def qualified(self) -> str:
        """``databases/inspect-database``: unique within a root, made from folders."""
        return f"{self.category}/{self.folder.name}" if self.category else self.folder.name

    @property
    def path(self) -> Path:
        """The SKILL.md."""
        return self.folder / SKILL_FILE


class Readings:
    """What SKILL.md files said when they were last read: a service reads a file again only after it changed.

    One that cannot be understood any more, half written or broken by hand, leaves the version before in use; a warning
    says so. Thread-safe: entries are replaced whole, and two readers of one file find the same.
    """

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[tuple[int, ...], Skill]] = {}
        self.screens = SkillScreens()

    def read(self, folder: Path, root: Root) -> Skill:
        """As ``read``. Compares time, size and inode, so an edit that keeps the size is seen too."""
        try:
            stat = (folder / SKILL_FILE).stat()
        except OSError:
            return read(folder, root)
        mark = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
        kept = self._kept.get(folder)
        if kept is None or kept[0] != mark:
            skill = read(folder, root)
            if skill.fault is not None and kept is not None and kept[1].fault is None:
                skill = _before(kept[1], skill.fault)
            kept = self._kept[folder] = (mark, skill)
        return kept[1]


def _before(good: Skill, fault: HermesCronError) -> Skill:
    _log.warning("%s; the version before stays in use", fault.message)
    return replace(good, warnings=(f"{fault.message}; the version before stays in use",))


class SkillLibrary:
    """All skills of the roots, first root first. Reads the disk once; make a new one to look again.

    ``readings`` lets one library after the other parse only what changed.
    """

    def __init__(self, roots: Sequence[Root], readings: Readings | None = None) -> None:
        self._roots = tuple(roots)
        self._readings = readings or Readings()

    @cached_property
    def _found(self) -> tuple[Skill, ...]:
        by_name: dict[str, Skill] = {}
        found: list[Skill] = []
        for root in self._roots:
            here = [self._marked(skill) for skill in _scan(root, self._readings) if not self._is_put_away(skill)]
            for skill in here:
                earlier = by_name.get(skill.name)
                if earlier is None or skill.fault is not None:
                    found.append(skill)
                elif earlier.shadows is None:
                    at = found.index(earlier)
                    found[at] = replace(earlier, shadows=skill.folder)
            for skill in here:
                if skill.fault is None:
                    by_name.setdefault(skill.name, skill)
        return tuple(sorted(found, key=lambda skill: (skill.category, skill.name, str(skill.folder))))

    @cached_property
    def _homes(self) -> tuple[Path, ...]:
        return tuple(root.path for root in self._roots if not root.bundled)

    @cached_property
    def _pins(self) -> frozenset[str]:
        return frozenset[str]().union(*map(skill_pins.pinned, self._homes))

    def _marked(self, skill: Skill) -> Skill:
        return replace(skill, pinned=True) if skill.qualified in self._pins else skill

    def _is_put_away(self, skill: Skill) -> bool:
        """A shipped skill that was archived here: the archive holds it, and it is not to come back by itself."""
        return skill.bundled and any((home / ARCHIVE / skill.qualified).is_dir() for home in self._homes)

    def all(self) -> tuple[Skill, ...]:
        """Good and broken ones, by category and name."""
        return self._found

    @cached_property
    def _good(self) -> Mapping[str, tuple[Skill, ...]]:
        """By name."""
        found: dict[str, list[Skill]] = {}
        for skill in self._found:
            if skill.fault is None:
                found.setdefault(skill.name, []).append(skill)
        return {name: tuple(skills) for name, skills in found.items()}

    def names(self) -> tuple[str, ...]:
        """Names of skills that ``get`` answers; a name that two skills carry is not among them."""
        return tuple(sorted(name for name, skills in self._good.items() if len(skills) == 1))

    def former_names(self) -> tuple[str, ...]:
        """Names that ``get`` answers with another skill: what each was merged into."""
        olds = dict.fromkeys(name for old in self._redirects for name in (old, old.rpartition("/")[2]))
        return tuple(name for name in olds if not self._hits(name) and self._led(name) is not None)

    @cached_property
    def _redirects(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for home in self._homes:
            found |= skill_redirects.redirects(home)
        return found

    def _led(self, name: str) -> Skill | None:
        """The skill that one of this name was merged into."""
        way = skill_redirects.way(self._redirects, name, lambda it: it in self._places)
        return self._places.get(way[-1]) if way and not skill_redirects.is_circle(way) else None

    @cached_property
    def _places(self) -> Mapping[str, Skill]:
        """Good skills by qualified name."""
        return {skill.qualified: skill for skill in self._found if skill.fault is None}

    def _hits(self, name: str) -> list[Skill]:
        return [s for s in self._found if name in (s.name, s.qualified)]

    def duplicates(self, skill: Skill) -> tuple[Skill, ...]:
        """Other good skills of the same name. ``skill`` may be of an earlier library."""
        return tuple(other for other in self._good.get(skill.name, ()) if other.folder != skill.folder)

    def get(self, name: str) -> Skill:
        """By name or ``category/name``; of one that was merged, the skill that has it now.

        Raises ``NotFound``, ``SkillAmbiguous``, or the broken skill's own fault.
        """
        hits = self._hits(name)
        good = [s for s in hits if s.fault is None]
        if len(good) > 1:
            places = ", ".join(sorted(s.qualified for s in good))
            raise SkillAmbiguous(f"several skills are called {name!r}: {places}", hint="name one with its category")
        if good:
            return good[0]
        if hits and hits[0].fault is not None:
            raise hits[0].fault
        if (led := self._led(name)) is not None:
            return led
        self._refuse_lost(name)
        if any(next((home / ARCHIVE).glob(f"**/{escape(name)}/{SKILL_FILE}"), None) for home in self._homes):
            raise NotFound(f"no skill {name!r}: it was archived", hint=f"hermes-cron skills restore {name}")
        near = difflib.get_close_matches(name, self.names(), n=3, cutoff=0.6)
        known = f"did you mean {', '.join(near)}?" if near else "hermes-cron skills list"
        raise NotFound(f"no skill {name!r}", hint=known, details={"near": near})

    def _refuse_lost(self, name: str) -> None:
        """Raises ``NotFound`` for a name whose redirects lead to no skill."""
        way = skill_redirects.way(self._redirects, name, lambda it: it in self._places)
        if not way:
            return
        said = " -> ".join(way)
        why = "lead in a circle" if skill_redirects.is_circle(way) else "end where no skill is"
        short = way[-1].rpartition("/")[2]
        raise NotFound(
            f"the skill {name!r} was merged, and its redirects {why}: {said}",
            hint=f"hermes-cron skills restore {short}   or edit skills/{skill_redirects.REDIRECTS}",
            details={"way": list(way)},
        )

    def blocked(self, skill: Skill) -> SkillFinding | None:
        """Why the scanner lets no run have this skill; None when it may be used. Reads its files when they changed."""
        return self._readings.screens.blocked(skill.folder)

    def playbook(self, skill: Skill, engine: str | None = None) -> Path | None:
        """The skill's playbook for this engine: ``playbook.ENGINE.yaml``, else ``playbook.yaml``, else None."""
        names = [*([f"playbook.{engine}.yaml"] if engine else []), "playbook.yaml"]
        return next((path for name in names if (path := skill.folder / name).is_file()), None)

    def playbooks(self, skill: Skill) -> tuple[Path, ...]:
        """Every playbook file of the skill, by name."""
        return tuple(sorted(skill.folder.glob("playbook*.yaml")))

    def match(self, prompt: str, *, databases: Sequence[str] = ()) -> Skill | None:
        """The one skill that the prompt plainly asks for; a tie or a weak likeness is None.

        ``databases`` are names of databases: in the prompt they stand for the word "database". A prompt that asks for
        a skill that was merged asks for the one that has it now.
        """
        usable = [s for s in self._found if s.fault is None and not self.duplicates(s)]
        found = matching.best(usable, prompt, databases=databases)
        if found is None and self._merged:
            former = matching.best([*usable, *(old for old, _ in self._merged)], prompt, databases=databases)
            found = next((new for old, new in self._merged if old is former), former)
        return found

    @cached_property
    def _merged(self) -> tuple[tuple[Skill, Skill], ...]:
        """Skills that were merged as the archive has them, each with the one that it is now."""
        pairs = []
        for home in self._homes:
            for name in skill_redirects.redirects(home):
                new, folder = self._led(name), home / ARCHIVE / name
                if new is not None and not self._hits(name) and (folder / SKILL_FILE).is_file():
                    old = self._readings.read(folder, Root(path=home / ARCHIVE))
                    pairs += [(old, new)] if old.fault is None else []
        return tuple(pairs)


def read(folder: Path, root: Root, *, read_bytes: Callable[[Path], bytes] = Path.read_bytes) -> Skill:
    """One skill, leniently. Never raises for what the file says: the fault is in the value."""
    file = folder / SKILL_FILE
    relative = folder.relative_to(root.path) if folder != root.path else Path(folder.name)
    category = "/".join(relative.parts[:-1])
    where = _shown(file, root)
    place = Skill(name=folder.name, folder=folder, category=category, bundled=root.bundled)
    try:
        if file.is_symlink() and inside(file, root.path) is None:
            raise SkillOutsideRoot(f"{where}: links to {os.path.realpath(file)}, outside the skills folder; ignored")
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise SkillFrontmatterError(f"{where}: no plain file")
        data = read_bytes(file)
        if len(data) > _MAX_BYTES:
            raise SkillFrontmatterError(f"{where}: {len(data):,} bytes, at most {_MAX_BYTES:,}")
        front = frontmatter.read(frontmatter.decode(data, where), where)
        return _understood(place, front, where)
    except HermesCronError as fault:
        return replace(place, fault=fault)
    except OSError as error:
        return replace(place, fault=SkillFrontmatterError(f"{where}: cannot be read: {error.strerror}"))


def _understood(place: Skill, front: frontmatter.Front, where: str) -> Skill:
    name, description = front.fields.get("name"), front.fields.get("description")
    line = front.lines.get("name", 1)
    if not isinstance(name, str) or not name.strip():
        raise SkillNameMissing(f"{where}:{line}: no name", hint=f"name: {place.folder.name}")
    if not _NAME.fullmatch(name):
        bad = next((c for c in name if not (c.isalnum() or c in "-_.")), "")
        because = {":": "a colon", " ": "a space", "/": "a slash"}.get(bad, repr(bad)) if bad else "its form"
        raise SkillNameInvalid(
            f"{where}:{line}: {name!r} is no name for a skill because of {because}",
            hint="1 to 64 lowercase letters, digits and -",
        )
    if not isinstance(description, str) or not description.strip():
        raise SkillFrontmatterError(
            f"{where}:{front.lines.get('description', 1)}: no description",
            hint="description: what the skill does and when to use it",
        )
    warnings = list(front.warnings)
    if name != place.folder.name:
        warnings.append(f"{where}:{line}: the name is {name!r}, the folder {place.folder.name!r}")
    raw = front.fields.get("metadata")
    metadata = {key: value for key, value in raw.items() if isinstance(value, str)} if isinstance(raw, dict) else {}
    top = front.fields.get("version")
    version = metadata.get("version") or (top if isinstance(top, str) else "")
    return replace(
        place, name=name, description=" ".join(description.split()), version=version, body=front.body,
        metadata=metadata, warnings=tuple(warnings),
    )  # fmt: skip


def _shown(path: Path, root: Root) -> str:
    """``skills/databases/x/SKILL.md``: short, and the same on every machine."""
    return f"{root.path.name}/{path.relative_to(root.path).as_posix()}"


def _scan(root: Root, readings: Readings) -> Iterator[Skill]:
    """Depth first, by name. Links are followed inside the root only, every folder once."""
    real_root = os.path.realpath(root.path)
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[str, int, bool]] = [(str(root.path), 0, root.path.is_symlink())]
    while pending:
        name, depth, linked = pending.pop()
        if linked and depth and not _lies_in(name, real_root):
            yield _outside(Path(name), root)
            continue
        try:
            stat = Path(name).stat()
            with os.scandir(name) as found:
                entries = sorted(found, key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue  # a dangling link, or a folder that is not ours to read: nothing of a skill to show
        if (stat.st_dev, stat.st_ino) in seen:
            continue
        if len(seen) == _MAX_FOLDERS:
            yield _too_many(Path(name), root)
            return
        seen.add((stat.st_dev, stat.st_ino))
        if any(entry.name == SKILL_FILE for entry in entries):
            yield readings.read(Path(name), root)
        elif depth < MAX_DEPTH:
            pending += [(e.path, depth + 1, e.is_symlink()) for e in entries if e.name[0] != "." and _is_folder(e)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Links that lead to each other, or that may not be followed, are an error of the system and no folder."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _lies_in(name: str, real_root: str) -> bool:
    real = os.path.realpath(name)
    return real == real_root or real.startswith(real_root + os.sep)


def _outside(folder: Path, root: Root) -> Skill:
    target = folder.resolve()
    fault = SkillOutsideRoot(f"{_shown(folder, root)}: links to {target}, outside the skills folder; ignored")
    return Skill(name=folder.name, folder=folder, category="", bundled=root.bundled, fault=fault)


def _too_many(folder: Path, root: Root) -> Skill:
    fault = SkillFrontmatterError(
        f"{_shown(folder, root)}: {root.path.name}/ has more than {_MAX_FOLDERS:,} folders; those from here on are "
        "not looked at",
        hint="hermes-cron skills archive NAME",
    )
    return Skill(name=folder.name, folder=folder, category="", bundled=root.bundled, fault=fault)

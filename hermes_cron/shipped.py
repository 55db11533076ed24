"""Where is the content that comes with the program, and how does a home get its copy?

In a wheel it lies in ``hermes_cron/shipped/KIND``, in a checkout or an editable install in the folder ``KIND`` beside
the package. A home's copy belongs to the person: what was edited is never overwritten, what was removed does not come
back. ``KIND/.shipped.json`` keeps the hash of each file as it was copied. So a skill that nobody touched is told from
an edited one: the former is brought up to a newer version, whole or not at all; of the latter is said that a newer one
is shipped.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes_cron import __version__, files
from hermes_cron.errors import Conflict
from hermes_cron.home import Home

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable

Kind = Literal["jobs", "skills", "memories", "dashboards"]

MANIFEST = ".shipped.json"
_SKILL = "SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedFile:
    """``path`` is relative to the kind's folder, with ``/``. ``program``: it had the right to be executed."""

    path: str
    data: bytes
    program: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Paths relative to the target folder: what was written, what was there and stayed, and what nobody had edited and
    is a newer version now."""

    new: tuple[str, ...]
    kept: tuple[str, ...]
    updated: tuple[str, ...] = ()


class Standing(StrEnum):
    """How a home's copy of a shipped skill stands to the one that is shipped now."""

    SAME = "same"
    EDITED = "edited"  # of the very version that is shipped
    OLDER = "older"  # nobody edited it
    EDITED_OLDER = "edited_older"

    @property
    def newer_is_shipped(self) -> bool:
        return self in (Standing.OLDER, Standing.EDITED_OLDER)


@dataclass(frozen=True, slots=True)
class _Copy:
    """One shipped skill and its copy: hashes by path, as it was copied, as it lies there, as it is shipped now."""

    copied: dict[str, str] = field(default_factory=dict)
    here: dict[str, str] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        if self.here == self.now:
            return Standing.SAME
        edited, older = self.here != self.copied, self.now != self.copied
        if edited:
            return Standing.EDITED_OLDER if older else Standing.EDITED
        return Standing.OLDER


def folder(kind: Kind) -> Traversable | None:
    """The shipped folder of a kind; None when nothing of the kind is shipped."""
    from importlib.resources import files as resources

    package = resources("hermes_cron")
    inside = package / "shipped" / kind
    if inside.is_dir():
        return inside
    if isinstance(package, Path) and (package.parent / "pyproject.toml").is_file():
        beside = package.parent / kind
        return beside if beside.is_dir() and not _is_a_persons(beside, kind) else None
    return None


def _is_a_persons(beside: Path, kind: Kind) -> bool:
    """In a checkout that is itself a home, jobs and memories are its owner's: another home must not start them too."""
    return kind in {"jobs", "memories"} and Home(beside.parent).is_home()


def contents(kind: Kind) -> tuple[ShippedFile, ...]:
    """Every shipped file of a kind, by path. Hidden files and byte code are not content."""
    top = folder(kind)
    return tuple(sorted(_walk(top, ""), key=lambda file: file.path)) if top is not None else ()


def pending(target: Path, kind: Kind, held: Collection[str] = ()) -> bool:
    """Whether ``copy_to`` would change anything."""
    if _is_shipped_one(target, kind):
        return False
    known, all_files = _hashes(target / MANIFEST), contents(kind)
    older = kind == "skills" and any(_older(_copies(target, known, all_files), held))
    return older or bool(_missing(target, kind, known, all_files))


def _missing(
    target: Path, kind: Kind, known: Mapping[str, str], all_files: Sequence[ShippedFile]
) -> tuple[ShippedFile, ...]:
    """What the home has never had. Of a skill that it had, or that is its own, no part is added alone."""
    taken = set(_taken(target, known, all_files)) if kind == "skills" else set()
    return tuple(
        file
        for file in all_files
        if file.path not in known and not (target / file.path).exists() and _folder(file.path) not in taken
    )


def _folder(path: str) -> str:
    """``databases/inspect-database`` of each of its files."""
    return "/".join(path.split("/")[:2])


def _taken(target: Path, known: Mapping[str, str], all_files: Sequence[ShippedFile]) -> Iterator[str]:
    """Folders that were copied once, or that hold something else. What was copied by halves holds nothing else."""
    yield from map(_folder, known)
    shipped = {file.path: file.data for file in all_files}
    for folder in {_folder(path) for path in shipped}:
        if any(shipped.get(path) != (target / path).read_bytes() for path, _ in _lying(target, folder)):
            yield folder


def _is_shipped_one(target: Path, kind: Kind) -> bool:
    top = folder(kind)
    return top is None or (isinstance(top, Path) and target.is_dir() and top.samefile(target))


def copy_to(target: Path, kind: Kind, held: Collection[str] = ()) -> Copied:
    """Give a home's folder the shipped files it has never had, and bring up skills that nobody edited.

    ``held``: folders of skills that stay as they are. Nothing when the folder is the shipped one itself.
    """
    if _is_shipped_one(target, kind):
        return Copied(new=(), kept=())
    manifest = target / MANIFEST
    known, all_files = _hashes(manifest), contents(kind)
    updated = _update(target, known, all_files, held) if kind == "skills" else []
    wanted = _missing(target, kind, known, all_files)
    new, kept = [], [file.path for file in all_files if file not in wanted and file.path not in updated]
    for file in wanted:
        place = target / file.path
        files.make_folder(place.parent)
        try:
            files.create_new(place, file.data, mode=0o755 if file.program else None)
        except Conflict:
            kept.append(file.path)  # someone else made it at this moment
            continue
        known[file.path] = _digest(file.data)
        new.append(file.path)
    if new or updated:
        body = {"format": 1, "version": __version__, "files": dict(sorted(known.items()))}
        files.write_atomic(manifest, json.dumps(body, indent=1, ensure_ascii=False).encode() + b"\n")
    kept_here = tuple(path for path in kept if (target / path).exists())
    return Copied(new=tuple(new), kept=kept_here, updated=tuple(updated))


def standings(target: Path) -> dict[str, Standing]:
    """Of the home's copies of shipped skills, by their folder (``databases/inspect-database``).

    A skill that was removed has none, and one that the home had before one of that name was shipped is no copy.
    """
    if _is_shipped_one(target, "skills"):
        return {}
    copies = _copies(target, _hashes(target / MANIFEST), contents("skills"))
    return {folder: copy.standing for folder, copy in copies.items()}


def _copies(target: Path, known: Mapping[str, str], all_files: Sequence[ShippedFile]) -> dict[str, _Copy]:
    found: dict[str, _Copy] = {}
    for file in all_files:
        folder = _folder(file.path)
        skill = f"{folder}/{_SKILL}"
        if skill in known and (target / skill).is_file():
            found.setdefault(folder, _Copy(here=dict(_lying(target, folder)))).now[file.path] = _digest(file.data)
    for path, digest in known.items():
        if (folder := _folder(path)) in found:
            found[folder].copied[path] = digest
    return found


def _older(copies: Mapping[str, _Copy], held: Collection[str]) -> Iterator[_Copy]:
    return (it for folder, it in copies.items() if it.standing is Standing.OLDER and folder not in held)


def _lying(target: Path, folder: str) -> Iterator[tuple[str, str]]:
    for path in sorted((target / folder).rglob("*")):
        if path.is_file() and not path.name.startswith(".") and "__pycache__" not in path.parts:
            yield path.relative_to(target).as_posix(), _digest(path.read_bytes())


def _update(
    target: Path, known: dict[str, str], all_files: Sequence[ShippedFile], held: Collection[str]
) -> list[str]:  # fmt: skip
    """Bring copies that nobody edited up to what is shipped now; the paths that changed. ``known`` is brought up too.

    Raises ``Conflict`` where somebody edits one at this very moment: what was not reached stays older.
    """
    shipped = {file.path: file for file in all_files}
    changed: list[str] = []
    for copy in _older(_copies(target, known, all_files), held):
        for path in sorted({*copy.now, *copy.copied}):
            if copy.now.get(path) == copy.copied.get(path):
                continue
            if path in copy.now:
                _put(target / path, shipped[path], copy.here.get(path))
                known[path] = copy.now[path]
            else:
                files.remove(target / path)
                del known[path]
            changed.append(path)
    return changed


def _put(place: Path, file: ShippedFile, here: str | None) -> None:
    files.make_folder(place.parent)
    if here is None:
        files.create_new(place, file.data, mode=0o755 if file.program else None)
    else:
        files.replace_if_unchanged(place, file.data, here)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _walk(top: Traversable, above: str) -> Iterator[ShippedFile]:
    for entry in top.iterdir():
        if entry.name.startswith(".") or entry.name == "__pycache__" or entry.name.endswith(".pyc"):
            continue
        if entry.is_dir():
            yield from _walk(entry, f"{above}{entry.name}/")
        else:
            program = isinstance(entry, Path) and bool(entry.stat().st_mode & 0o100)
            yield ShippedFile(path=above + entry.name, data=entry.read_bytes(), program=program)


def _hashes(manifest: Path) -> dict[str, str]:
    """What was copied before. A manifest that cannot be read counts as empty: files that exist are kept anyway."""
    try:
        stored = json.loads(manifest.read_bytes())["files"]
        return {str(path): str(digest) for path, digest in stored.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}

"""Where is the content that comes with the program, and how does a home get its copy?

In a wheel it lies in ``hermes_cron/shipped/KIND``, in a checkout or an editable install in the folder ``KIND`` beside
the package. A home's copy belongs to the person: a file that is there is never overwritten, one that was removed
does not come back. ``KIND/.shipped.json`` keeps the hash of each file as it was copied, so that a later version can
tell an edit from an old version.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes_cron import __version__, files
from hermes_cron.errors import Conflict
from hermes_cron.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

Kind = Literal["jobs", "skills", "memories", "dashboards"]

MANIFEST = ".shipped.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedFile:
    """``path`` is relative to the kind's folder, with ``/``. ``program``: it had the right to be executed."""

    path: str
    data: bytes
    program: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Paths relative to the target folder: what was written, and what was there and stayed."""

    new: tuple[str, ...]
    kept: tuple[str, ...]


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


def missing(target: Path, kind: Kind) -> tuple[ShippedFile, ...]:
    """What ``copy_to`` would write."""
    if _is_shipped_one(target, kind):
        return ()
    known = _hashes(target / MANIFEST)
    return tuple(file for file in contents(kind) if file.path not in known and not (target / file.path).exists())


def _is_shipped_one(target: Path, kind: Kind) -> bool:
    top = folder(kind)
    return top is None or (isinstance(top, Path) and target.is_dir() and top.samefile(target))


def copy_to(target: Path, kind: Kind) -> Copied:
    """Give a home's folder the shipped files it has never had. Nothing when the folder is the shipped one itself."""
    if _is_shipped_one(target, kind):
        return Copied(new=(), kept=())
    manifest = target / MANIFEST
    known = _hashes(manifest)
    wanted = missing(target, kind)
    new, kept = [], [file.path for file in contents(kind) if file not in wanted]
    for file in wanted:
        place = target / file.path
        files.make_folder(place.parent)
        try:
            files.create_new(place, file.data, mode=0o755 if file.program else None)
        except Conflict:
            kept.append(file.path)  # someone else made it at this moment
            continue
        known[file.path] = hashlib.sha256(file.data).hexdigest()
        new.append(file.path)
    if new:
        body = {"format": 1, "version": __version__, "files": dict(sorted(known.items()))}
        files.write_atomic(manifest, json.dumps(body, indent=1, ensure_ascii=False).encode() + b"\n")
    return Copied(new=tuple(new), kept=tuple(path for path in kept if (target / path).exists()))


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

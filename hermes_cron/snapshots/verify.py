"""Is the history whole, and may the next command rely on it?"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.errors import HermesCronError
from hermes_cron.snapshots.held import MARKER
from hermes_cron.snapshots.pack import Kind, Oid, ids_of, is_whole, object_id
from hermes_cron.snapshots.read import BRANCH, head_of
from hermes_cron.snapshots.repository import LOCK, SnapshotRepository
from hermes_cron.snapshots.trees import named

if TYPE_CHECKING:
    from pygit2 import Repository

_HEAD = f"ref: {BRANCH}\n"
_KINDS = {b"commit": Kind.COMMIT, b"tree": Kind.TREE, b"blob": Kind.BLOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong, and the command or step that mends it."""

    what: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """``objects`` that were read and whose hashes are right, of ``commits``."""

    faults: tuple[Fault, ...]
    commits: int
    objects: int


def verify(snapshots: SnapshotRepository) -> Verified:
    """Finish what a dead process left, then read everything and compare every hash."""
    faults: list[Fault] = []
    seen: dict[Oid, Kind] = {}
    if not snapshots.path.exists():
        return _verdict(faults, seen)
    faults += _packs(snapshots.path)
    if faults:  # libgit2 believes an index: with a wrong one it would read anywhere, and crash
        return _verdict(faults, seen)
    try:
        with snapshots.alone():
            pass
    except HermesCronError as error:
        faults.append(Fault(what=error.message, mend=error.hint or "hermes-cron doctor"))
    try:
        repository = snapshots.open()
    except Exception as error:  # noqa: BLE001  # libgit2 has an exception a kind of damage, and all are the finding
        return _verdict([*faults, Fault(what=f"it cannot be opened: {error}", mend=_back(snapshots.path))], seen)
    if repository is not None:
        faults += _files(snapshots.path)
        faults += _refs(repository, snapshots.path)
        faults += _reachable(repository, snapshots.path, seen)
    return _verdict(faults, seen)


def _verdict(faults: list[Fault], seen: dict[Oid, Kind]) -> Verified:
    commits = sum(kind is Kind.COMMIT for kind in seen.values())
    return Verified(faults=tuple(faults), commits=commits, objects=len(seen))


def _back(path: Path) -> str:
    return f"put {path.name} back from a backup; or move it away, and a new history begins"


def _files(git: Path) -> Iterator[Fault]:
    for lock in [*git.glob("*.lock"), *git.glob("refs/**/*.lock")]:
        if lock.name != LOCK:
            yield Fault(
                what=f"{lock.relative_to(git)} is the lock of a git that died or still works", mend=f"rm {lock}"
            )
    if (git / MARKER).exists():
        yield Fault(what="a change is not finished", mend="hermes-cron snapshots create")
    for loose in sorted((git / "objects").glob("[0-9a-f][0-9a-f]/*")):
        if len(loose.name) == 38 and not _is_good(loose):
            yield Fault(what=f"object {loose.parent.name}{loose.name} is damaged", mend=f"rm {loose}")


def _packs(git: Path) -> Iterator[Fault]:
    for pack in sorted((git / "objects" / "pack").glob("pack-*.pack")):
        if not pack.with_suffix(".idx").exists():  # begun or half removed when a process died; nothing looks into it
            continue
        try:
            good = is_whole(pack) and is_whole(pack.with_suffix(".idx"))
            ids_of(pack)
        except (OSError, ValueError):
            good = False
        if not good:
            yield Fault(what=f"{pack.name} or its index is damaged", mend=_back(git))


def _is_good(loose: Path) -> bool:
    try:
        head, _, data = zlib.decompress(loose.read_bytes()).partition(b"\0")
        kind, size = head.split(b" ")
        wanted = loose.parent.name + loose.name
        return kind not in _KINDS or (int(size) == len(data) and object_id(_KINDS[kind], data).hex() == wanted)
    except (OSError, ValueError, zlib.error):
        return False


def _refs(repository: Repository, git: Path) -> Iterator[Fault]:
    try:
        head = (git / "HEAD").read_text(encoding="utf-8")
    except (OSError, ValueError):
        head = ""
    if head != _HEAD:
        where = git / "HEAD"
        yield Fault(
            what=f"HEAD is not the branch main: {head.strip()[:60]!r}", mend=f"echo {_HEAD.strip()!r} > {where}"
        )
    try:
        head_of(repository)
    except HermesCronError as error:
        yield Fault(what=error.message, mend=error.hint or _back(git))
    except Exception as error:  # noqa: BLE001  # as above
        yield Fault(what=f"the branch main cannot be read: {error}", mend=_back(git))


def _reachable(repository: Repository, git: Path, seen: dict[Oid, Kind]) -> Iterator[Fault]:
    """Every object that a branch or tag needs; what was read is in ``seen``."""
    for oid, why in needed(repository, seen):
        yield Fault(what=f"object {oid.hex()} cannot be read: {why}", mend=_back(git))


def needed(repository: Repository, seen: dict[Oid, Kind]) -> Iterator[tuple[Oid, str]]:
    """Fill ``seen`` with every object that the references need; yields those that are missing or not themselves."""
    waiting = [bytes(oid) for oid in _tips(repository)]
    asked = set(waiting)
    while waiting:
        oid = waiting.pop()
        try:
            kind_number, data = repository.read(oid.hex())
            kind = Kind(int(kind_number))
            if object_id(kind, data) != oid:
                raise ValueError("it has another content")  # noqa: TRY301  # found here, told below
            further = _named(kind, data)
        except Exception as error:  # noqa: BLE001  # as above
            yield oid, str(error)
            continue
        seen[oid] = kind
        new = further - asked
        asked |= new
        waiting += new


def _tips(repository: Repository) -> Iterator[bytes]:
    import pygit2

    for name in repository.references:
        reference = repository.references[name]
        if isinstance(reference.target, pygit2.Oid):
            yield reference.target.raw
    if repository.head_is_detached:
        yield pygit2.Oid(hex=str(repository.head.target)).raw


def _named(kind: Kind, data: bytes) -> set[Oid]:
    """The objects that an object names."""
    if kind is Kind.TREE:
        return named(data)
    found: set[Oid] = set()
    if kind is Kind.BLOB:
        return found
    for line in data.split(b"\n\n", 1)[0].split(b"\n"):
        word, _, value = line.partition(b" ")
        if word in (b"tree", b"parent", b"object"):
            found.add(bytes.fromhex(value.decode("ascii")))
    return found

"""How does a history of years stay small without losing what anybody may want back?

Thinned out are snapshots of automated changes (``commits.AUTOMATED``) older than the policy. Kept whatever their age:
the states that a person made and the states before those (so that what the person changed stays what it was), the last
one of each day, the last one before each automated change of the last 30 days, what other branches, tags and pushes
know, and the newest. The history is written anew without the others; ``hermes-cron-moved`` says which commit has the
state of an old id now. Then everything that is needed becomes one pack.

A kill at any point loses nothing: the branch moves in one step, and nothing is removed before the new pack is durable.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from hermes_cron import files
from hermes_cron.errors import SnapshotFailed
from hermes_cron.snapshots.commits import Commit
from hermes_cron.snapshots.faults import explained
from hermes_cron.snapshots.held import Held
from hermes_cron.snapshots.pack import COMMIT, Kind, Oid, ids_of, is_whole, remove_packs
from hermes_cron.snapshots.read import BRANCH, walk
from hermes_cron.snapshots.repository import MOVED, SnapshotRepository
from hermes_cron.snapshots.verify import needed

_DRAFT = "hermes-cron-pack"
_COLLECTED = "hermes-cron-collected"
_A_DAY = timedelta(days=1)
_GRACE_NS = 3_600_000_000_000
"""What nothing needs stays this long: a person's own git may be writing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``days`` after which automated snapshots are thinned; what was before the changes of ``undo_days`` stays."""

    days: int = 90
    undo_days: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """``thinned`` snapshots of ``commits``, and the bytes that the history takes."""

    commits: int
    thinned: int
    bytes_before: int
    bytes_after: int


def gc(snapshots: SnapshotRepository, policy: Policy | None = None) -> Collected:
    """Thin out, and pack what is left. Raises ``SnapshotFailed`` for a damaged history; nothing is removed then."""
    with snapshots.alone() as held, explained():
        before = _size(held.path)
        everything = list(walk(held.repository))
        going = thinned(everything, policy or Policy(), snapshots.clock.now(), pinned=_pinned(held))
        if going:
            _rewrite(held, snapshots, everything, going)
        _pack(held)
        return Collected(commits=len(everything), thinned=len(going), bytes_before=before, bytes_after=_size(held.path))


def gc_when_due(snapshots: SnapshotRepository) -> Collected | None:
    """``gc`` with the usual policy, once a day; None when it was done within the last one."""
    mark = snapshots.path / _COLLECTED
    now = snapshots.clock.now()
    with contextlib.suppress(OSError, ValueError):
        if abs(now - datetime.fromisoformat(mark.read_text(encoding="ascii"))) < _A_DAY:
            return None
    done = gc(snapshots)
    files.write_atomic(mark, now.isoformat().encode("ascii"), mode=0o600)
    return done


def thinned(everything: Iterable[Commit], policy: Policy, now: datetime, *, pinned: Iterable[str] = ()) -> set[str]:
    """The ids that go; ``everything`` is newest first."""
    commits = list(everything)
    children: dict[str, list[Commit]] = {}
    for commit in commits:
        for parent in commit.parents:
            children.setdefault(parent, []).append(commit)
    edge, undo = now - timedelta(days=policy.days), now - timedelta(days=policy.undo_days)
    staying = set(pinned)
    days: set[object] = set()
    going: set[str] = set()
    for commit in commits:
        if not commit.automated or commit.at >= edge:
            continue
        day = commit.at.date()
        is_last = day not in days
        days.add(day)
        after = children.get(commit.id, [])
        needed_by = not after or any(not child.automated or child.at >= undo for child in after)
        if len(commit.parents) == 1 and not is_last and not needed_by and commit.id not in staying:
            going.add(commit.id)
    return going


def _pinned(held: Held) -> set[str]:
    """Commits that other references know."""
    from pygit2 import GitError
    from pygit2.enums import SortMode

    walker = None
    for name in held.repository.references:
        if name == BRANCH:
            continue
        with contextlib.suppress(GitError, ValueError, KeyError):  # a tag of a file
            target = held.repository.references[name].peel().id
            if walker is None:
                walker = held.repository.walk(target, SortMode.NONE)
            else:
                walker.push(target)
    return set() if walker is None else {str(commit.id) for commit in walker}


def _rewrite(held: Held, snapshots: SnapshotRepository, everything: list[Commit], going: set[str]) -> None:
    """The chain without those that go, then the map, then the branch in one step."""
    new: dict[str, str] = {}  # what a child takes as parent
    heirs: dict[str, str] = {}  # who has the state of one that goes
    waiting: dict[str, list[str]] = {}  # those that went just before
    counted: dict[str, int] = {}
    for commit in reversed(everything):
        gone = [it for parent in commit.parents for it in waiting.get(parent, [])]
        count = sum(counted[parent] for parent in commit.parents if parent in going) + commit.thinned
        if commit.id in going:
            new[commit.id] = new[commit.parents[0]]
            waiting[commit.id] = [*gone, commit.id]
            counted[commit.id] = count + 1
            continue
        parents = tuple(dict.fromkeys(new[parent] for parent in commit.parents))
        new[commit.id] = commit.id
        if parents != commit.parents:
            data = _with_parents(held.objects.read(bytes.fromhex(commit.id)), parents, count)
            new[commit.id] = held.objects.put(COMMIT, data).hex()
        heirs |= dict.fromkeys(gone, new[commit.id])
    held.objects.flush()
    moved = {old: heirs.get(old, it) for old, it in new.items() if old != it or old in heirs}
    known = {old: moved.get(it, it) for old, it in snapshots.moved().items()}
    lines = "".join(f"{old} {it}\n" for old, it in {**known, **moved}.items())
    files.write_atomic(snapshots.path / MOVED, lines.encode("ascii"), mode=0o600)
    held.point(new[everything[0].id], "thinned out")


def _with_parents(data: bytes, parents: tuple[str, ...], thinned_out: int) -> bytes:
    head, _, message = data.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if not line.startswith(b"parent ")]
    lines[1:1] = [b"parent " + parent.encode() for parent in parents]
    if thinned_out and re.search(rb"^Actor: ", message, re.MULTILINE):
        message = re.sub(rb"^Thinned: .*\n", b"", message, flags=re.MULTILINE)
        message = message.rstrip(b"\n") + b"\nThinned: %d\n" % thinned_out
    return b"\n".join(lines) + b"\n\n" + message


def _pack(held: Held) -> None:
    seen: dict[Oid, Kind] = {}
    for oid, why in needed(held.repository, seen):
        raise SnapshotFailed(
            f"the history is damaged, nothing was removed: object {oid.hex()}: {why}",
            hint="hermes-cron snapshots verify",
        )
    folder = held.path / "objects" / "pack"
    wanted = set(seen)
    kept = next((path for path in folder.glob("pack-*.pack") if _has_exactly(path, wanted)), None)
    kept = kept or _one_pack(held, folder, wanted)
    shutil.rmtree(held.path / "logs", ignore_errors=True)  # they name commits that go now
    edge_ns = held.now_ns - _GRACE_NS
    remove_packs([path for path in folder.glob("pack-*.pack") if path != kept and _may_go(path, wanted, edge_ns)])
    for path in folder.glob("*"):
        other = {".idx": ".pack", ".pack": ".idx"}.get(path.suffix)
        lonely = other is not None and not path.with_suffix(other).exists()
        if (lonely or path.name.startswith(("tmp_", "pack_"))) and path.stat().st_mtime_ns < edge_ns:
            path.unlink(missing_ok=True)
    for loose in (held.path / "objects").glob("[0-9a-f][0-9a-f]/*"):
        name = loose.parent.name + loose.name
        if (len(name) == 40 and bytes.fromhex(name) in wanted) or loose.stat().st_mtime_ns < edge_ns:
            loose.unlink(missing_ok=True)
    for empty in (held.path / "objects").glob("[0-9a-f][0-9a-f]"):
        with contextlib.suppress(OSError):
            empty.rmdir()


def _one_pack(held: Held, folder: Path, wanted: set[Oid]) -> Path | None:
    """libgit2 makes it, in a folder of its own, with differences in place of similar objects."""
    import pygit2

    if not wanted:
        return None
    draft = held.path / _DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    builder = pygit2.PackBuilder(held.repository)
    for oid in wanted:
        builder.add(pygit2.Oid(oid))
    builder.write(str(draft))
    (made,) = draft.glob("pack-*.pack")
    if not _has_exactly(made, wanted):
        raise SnapshotFailed("a new pack is not whole; nothing was removed", hint="hermes-cron snapshots verify")
    for path in (made, made.with_suffix(".idx")):  # the index last: git looks for packs by their index
        path.rename(folder / path.name)
    files.sync_folder(folder)
    shutil.rmtree(draft, ignore_errors=True)
    return folder / made.name


def _has_exactly(pack: Path, wanted: set[Oid]) -> bool:
    try:
        return set(ids_of(pack)) == wanted and is_whole(pack) and is_whole(pack.with_suffix(".idx"))
    except (OSError, ValueError):
        return False


def _may_go(pack: Path, wanted: set[Oid], edge_ns: int) -> bool:
    try:
        return pack.stat().st_mtime_ns < edge_ns or wanted.issuperset(ids_of(pack))
    except (OSError, ValueError):
        return False


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

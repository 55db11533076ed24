"""How is a change of the home made so that the state before it is always there, whenever the process dies?

Under one lock: what an earlier process left unfinished is finished, what lies in the home is committed (hand edits are
the user's), the new files are written beside their places, a marker names base and target, the branch moves, the files
are renamed into place, the marker goes. Whoever finds a marker finishes it. No commit before, no change.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_cron import files
from hermes_cron.errors import Conflict, HermesCronError, SnapshotFailed
from hermes_cron.snapshots import apply
from hermes_cron.snapshots.scan import NOTHING, Forbidden, LeftOut, StatCache, scan
from hermes_cron.snapshots.trees import Entry, Mode, Objects, Oid

if TYPE_CHECKING:
    from pygit2 import Repository

    from hermes_cron.ports import Clock

BRANCH = "refs/heads/main"
MARKER = "hermes-cron-pending"
USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """New content of a path. ``expect``: the id of what must lie there now (``trees.blob_id``), ``b""`` for nothing,
    None for whatever there is."""

    data: bytes
    mode: Mode = Mode.FILE
    expect: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A path that goes. ``expect`` as in ``Write``."""

    expect: bytes | None = None


Edits = Mapping[str, Write | Remove]
"""By path relative to the home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Who changes something, and why: a commit's author, subject and trailers."""

    actor: str
    reason: str
    run: str | None = None
    job: str | None = None

    def message(self) -> str:
        trailers = [f"{name}: {value}" for name, value in (("Run", self.run), ("Job", self.job)) if value]
        return "\n".join([_one_line(self.reason), "", f"Actor: {self.actor}", *trailers]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A snapshot. ``id`` is the commit's hex id."""

    id: str
    tree: Oid
    parent: str | None
    actor: str
    reason: str
    run: str | None
    job: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """``before`` is the commit that the change can be undone to; ``after`` None: nothing was different."""

    before: Commit
    after: Commit | None
    left_out: tuple[LeftOut, ...] = ()


class SnapshotRepository:
    """``snapshots.git`` of a home. Every method that writes is alone, across processes."""

    def __init__(self, root: Path, clock: Clock, *, forbidden: Callable[[], Forbidden] = lambda: NOTHING) -> None:
        self.root = root
        self.path = root / "snapshots.git"
        self._clock = clock
        self._forbidden = forbidden

    # --- writing ----------------------------------------------------------------------------------------------------

    def create(self, why: Why) -> Changed:
        """Commit what lies in the home; ``after`` is None when the last commit has it already."""
        with self._alone() as repository:
            return self._present(repository, why)

    def change(self, why: Why, edits: Edits) -> Changed:
        """Make the edits, all or none. Raises ``Conflict`` when a path is not as expected, ``SnapshotFailed``,
        ``DiskFull``, ``NotWritable``; nothing is changed then.
        """
        with self._alone() as repository:
            objects = Objects(repository)
            found = self._present(repository, Why(actor=USER, reason="edited by hand"))
            before = found.after or found.before
            wanted = self._edited(objects, before.tree, edits)
            return self._moved(repository, before, wanted, why, found.left_out)

    def move_to(self, why: Why, tree: Oid, *, base: str) -> Changed:
        """Make the home that tree, if ``base`` is still the newest commit and nothing was edited since."""
        with self._alone() as repository:
            found = self._present(repository, Why(actor=USER, reason="edited by hand"))
            before = found.after or found.before
            if before.id != base:
                raise Conflict("something was changed meanwhile; nothing was done", hint="look again, then repeat")
            return self._moved(repository, before, tree, why, found.left_out)

    def _edited(self, objects: Objects, tree: Oid, edits: Edits) -> Oid:
        wanted: dict[bytes, Entry | None] = {}
        for name, edit in edits.items():
            path = os.fsencode(name)
            there = objects.at(tree, path)
            if edit.expect is not None and edit.expect != (b"" if there is None else there.oid):
                raise Conflict(f"{name} was changed meanwhile; that version is kept", hint="look at it, then try again")
            wanted[path] = Entry(edit.mode, objects.write_blob(edit.data)) if isinstance(edit, Write) else None
        return objects.edited(tree, wanted)

    def _moved(
        self, repository: Repository, before: Commit, tree: Oid, why: Why, left_out: tuple[LeftOut, ...]
    ) -> Changed:
        if tree == before.tree:
            return Changed(before=before, after=None, left_out=left_out)
        objects = Objects(repository)
        staged = apply.stage(self.root, objects, before.tree, tree)
        try:
            after = self._commit(repository, why, tree, before.id, moves_branch=False)
            files.write_atomic(self._marker, json.dumps({"base": before.id, "target": after.id}).encode(), mode=0o600)
        except BaseException:
            staged.discard()
            raise
        try:
            self._point(repository, after.id)
        except BaseException:
            staged.discard()
            self._marker.unlink()
            raise
        staged.enter()
        files.remove(self._marker)
        return Changed(before=before, after=after, left_out=left_out)

    def _present(self, repository: Repository, why: Why) -> Changed:
        cache = StatCache.load(self.path / "hermes-cron-stat")
        found = scan(self.root, cache, forbidden=self._forbidden())
        head = self._head(repository)
        tree, trees = found.tree()
        made = None
        if head is None or head.tree != tree:
            with _explained():
                Objects(repository).write_many(found.fresh, trees)
            made = self._commit(repository, why, tree, None if head is None else head.id, moves_branch=True)
        with contextlib.suppress(OSError):  # only speed
            cache.save_if_changed()
        before = head or made
        assert before is not None  # noqa: S101  # one of the two is there
        return Changed(before=before, after=made, left_out=found.left_out)

    # --- reading ----------------------------------------------------------------------------------------------------

    def head(self) -> Commit | None:
        """The newest commit; None in a home that has none yet."""
        repository = self._open()
        return None if repository is None else self._head(repository)

    def log(self) -> Iterator[Commit]:
        """Newest first."""
        repository = self._open()
        at = None if repository is None else self._head(repository)
        while repository is not None and at is not None:
            yield at
            at = None if at.parent is None else _commit_of(repository[at.parent])

    def objects(self) -> Objects:
        """The object database. Raises ``NotFound`` when there is no history yet."""
        repository = self._open()
        if repository is None:
            raise SnapshotFailed("there is no snapshot yet", hint="hermes-cron snapshots create")
        return Objects(repository)

    # --- the repository ---------------------------------------------------------------------------------------------

    @property
    def _marker(self) -> Path:
        return self.path / MARKER

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Repository]:
        """The repository, made if need be, under the lock, with nothing unfinished in it."""
        with _explained():
            self.path.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.path / "hermes-cron.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with _explained():
                repository = self._open() or self._make()
                self._heal(repository)
            yield repository
        finally:
            os.close(lock)

    def _open(self) -> Repository | None:
        if not (self.path / "HEAD").exists():
            return None
        import pygit2

        pygit2.settings.enable_fsync_gitdir(True)
        pygit2.settings.owner_validation = False
        return pygit2.Repository(str(self.path), pygit2.enums.RepositoryOpenFlag.BARE)

    def _make(self) -> Repository:
        import pygit2

        pygit2.init_repository(str(self.path), bare=True, initial_head="main")
        repository = self._open()
        if repository is None:
            raise SnapshotFailed(f"{self.path} cannot be made", hint="hermes-cron doctor")
        repository.config["core.autocrlf"] = False
        repository.config["core.logAllRefUpdates"] = True
        return repository

    def _heal(self, repository: Repository) -> None:
        """Under the lock nobody else writes: a ``*.lock`` of git is a dead process's. Then the marker is finished."""
        for stale in [*self.path.glob("*.lock"), *self.path.glob("refs/**/*.lock")]:
            if stale.name != "hermes-cron.lock":
                stale.unlink(missing_ok=True)
        if not self._marker.exists():
            return
        marker = json.loads(self._marker.read_bytes())
        base, target = (_commit_of(repository[marker[name]]) for name in ("base", "target"))
        staged = apply.stage(self.root, Objects(repository), base.tree, target.tree)
        self._point(repository, target.id)
        staged.enter()
        files.remove(self._marker)

    def _head(self, repository: Repository) -> Commit | None:
        reference = repository.references.get(BRANCH)
        return None if reference is None else _commit_of(reference.peel())

    def _commit(self, repository: Repository, why: Why, tree: Oid, parent: str | None, *, moves_branch: bool) -> Commit:
        import pygit2

        now = int(self._clock.now().timestamp())
        signature = pygit2.Signature(why.actor, f"{why.actor}@hermes-cron", now, 0)
        with _explained():
            made = repository.create_commit(
                BRANCH if moves_branch else None,
                signature,
                signature,
                why.message(),
                pygit2.Oid(tree),
                [] if parent is None else [pygit2.Oid(hex=parent)],
            )
        return _commit_of(repository[made])

    def _point(self, repository: Repository, commit: str) -> None:
        import pygit2

        with _explained():
            repository.references.create(BRANCH, pygit2.Oid(hex=commit), force=True)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """libgit2's and the disk's faults, as facts: no commit, no change."""
    import pygit2

    try:
        yield
    except HermesCronError:
        raise
    except (OSError, pygit2.GitError) as error:
        raise SnapshotFailed(
            f"no snapshot could be made, so nothing was changed: {error}", hint="hermes-cron doctor"
        ) from error


def _commit_of(found: Any) -> Commit:
    subject, _, rest = found.message.partition("\n")
    trailers = dict(line.split(": ", 1) for line in rest.splitlines() if ": " in line)
    return Commit(
        id=str(found.id),
        tree=found.tree_id.raw,
        parent=str(found.parent_ids[0]) if found.parent_ids else None,
        actor=trailers.get("Actor", found.author.name),
        reason=subject,
        run=trailers.get("Run"),
        job=trailers.get("Job"),
        at=datetime.fromtimestamp(found.commit_time, UTC),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200] or "change"

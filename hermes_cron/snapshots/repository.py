"""How is a change of the home made so that the state before it is always there, whenever the process dies?

Under one lock: what an earlier process left unfinished is finished, what lies in the home is committed (hand edits are
the user's), the new files are written beside their places, a marker names base and target, the branch moves, the files
are put into place, the marker goes. Whoever finds a marker finishes it. No commit before, no change.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hermes_cron import files
from hermes_cron.errors import Conflict, NameAmbiguous, NotFound, SnapshotFailed
from hermes_cron.snapshots.commits import Commit, Why
from hermes_cron.snapshots.faults import explained, reading
from hermes_cron.snapshots.held import BY_HAND, MARKER, Changed, Edits, Held, Remove, Write
from hermes_cron.snapshots.pack import Kind, Oid
from hermes_cron.snapshots.read import head_of, walk
from hermes_cron.snapshots.scan import NOTHING, Forbidden, Rules
from hermes_cron.snapshots.trees import Objects

if TYPE_CHECKING:
    from pygit2 import Repository

    from hermes_cron.ports import Clock

__all__ = ["Changed", "Commit", "Remove", "SnapshotRepository", "Why", "Write"]

LOCK = "hermes-cron.lock"
FORMAT = "hermes-cron-format"
MOVED = "hermes-cron-moved"
"""What ``gc`` gave another id: a line ``OLD NEW`` each."""

PREFIX = 4
"""How many digits of an id are enough."""

_LOCK_S = 60.0
_STALE_LOCK_S = 60.0

Scope = Literal["all", "paths"]


class SnapshotRepository:
    """``snapshots.git`` of a home. Every method that writes is alone, across processes."""

    def __init__(
        self, root: Path, clock: Clock, *, forbidden: Callable[[], Forbidden] = lambda: NOTHING, wait_s: float = _LOCK_S
    ) -> None:
        self.root = root
        self.path = root / "snapshots.git"
        self.clock = clock
        self._forbidden = forbidden
        self._wait_s = wait_s

    # --- writing ----------------------------------------------------------------------------------------------------

    def create(self, why: Why) -> Changed:
        """Commit what lies in the home; ``after`` is None when the last commit has it already."""
        with self.alone() as held:
            return held.present(why)

    def change(self, why: Why, edits: Edits | Callable[[], Edits], *, scope: Scope = "all") -> Changed:
        """Make the edits, all or none. ``scope`` "paths" looks for hand edits at these paths only.

        A function is asked for them with the lock held: among writers, what it sees stays so until it is changed.

        Raises ``Conflict`` when a path is not as expected, ``SnapshotFailed``, ``DiskFull``, ``NotWritable``; nothing
        is changed then.
        """
        with self.alone() as held:
            edits = edits() if callable(edits) else edits
            paths = None if scope == "all" else [os.fsencode(name) for name in edits]
            found = held.present(BY_HAND, paths)
            before = found.newest
            return held.move(before, held.edited(before.tree, edits, found.left_out), why, found.left_out)

    def settle(self) -> bool:
        """Finish what a killed process left; whether there was anything. Costs one look when there is not."""
        if not self._marker.exists():
            return False
        with self.alone():
            return True

    # --- reading ----------------------------------------------------------------------------------------------------

    def head(self) -> Commit | None:
        """The newest commit; None in a home that has none yet."""
        with reading():
            repository = self.open()
            return None if repository is None else head_of(repository)

    def log(self) -> Iterator[Commit]:
        """Newest first; of histories that were brought together, one after the other."""
        with reading():
            repository = self.open()
            yield from () if repository is None else walk(repository)

    def find(self, prefix: str) -> Commit:
        """By the first digits of its id, at least four. An id from before a ``gc`` finds the commit that has its state
        now. Raises ``NotFound``, ``NameAmbiguous``."""
        wanted = prefix.lower()
        if re.fullmatch(rf"[0-9a-f]{{{PREFIX},40}}", wanted) is None:
            raise NotFound(f"{prefix!r} is no id of a snapshot", hint="hermes-cron snapshots list")
        everything = {commit.id: commit for commit in self.log()}
        moved = self.moved()
        ids = [it for it in everything if it.startswith(wanted)]
        ids = ids or sorted({moved[old] for old in moved if old.startswith(wanted) and moved[old] in everything})
        if not ids:
            raise NotFound(f"no snapshot {prefix}", hint="hermes-cron snapshots list")
        if len(ids) > 1:
            near = [it[:12] for it in ids[:5]]
            raise NameAmbiguous(f"{prefix} is {len(ids)} snapshots", hint="more digits", details={"near": near})
        return everything[ids[0]]

    def moved(self) -> dict[str, str]:
        """Which commit has the state of one that ``gc`` rewrote or thinned out, by old id."""
        try:
            lines = (self.path / MOVED).read_text(encoding="ascii").split("\n")
        except (OSError, ValueError):
            return {}
        pairs = dict(line.split(" ", 1) for line in lines if len(line) == 81)
        for old, new in pairs.items():
            seen = {old}
            while new in pairs and new not in seen:
                seen.add(new)
                new = pairs[new]  # noqa: PLW2901  # to the end of the chain
            pairs[old] = new
        return pairs

    def objects(self, new: Mapping[Oid, tuple[Kind, bytes]] | None = None) -> Objects:
        """The object database, with the ``new`` ones of a plan. Raises ``NotFound`` when there is no history yet."""
        with reading():
            repository = self.open()
            if repository is None:
                raise NotFound("there is no snapshot yet", hint="hermes-cron snapshots create")
            return Objects(repository, new)

    # --- the repository ---------------------------------------------------------------------------------------------

    @property
    def _marker(self) -> Path:
        return self.path / MARKER

    def open(self) -> Repository | None:
        """For reading; None when there is no history yet."""
        if not self._is_made():
            return None
        import pygit2

        pygit2.settings.enable_fsync_gitdir(True)
        pygit2.settings.owner_validation = False  # the home's owner is whoever may write it
        return pygit2.Repository(str(self.path), pygit2.enums.RepositoryOpenFlag.BARE)

    def _is_made(self) -> bool:
        """Whether there is a history, also when the file that says so is gone."""
        if self.path.is_file():
            raise SnapshotFailed(
                f"{self.path} is a file and no history", hint=shlex.join(["mv", str(self.path), f"{self.path}.old"])
            )
        return (self.path / FORMAT).exists() or any((self.path / "objects" / "pack").glob("pack-*.pack"))

    @contextlib.contextmanager
    def alone(self) -> Iterator[Held]:
        """The repository, made if need be, under the lock, with nothing unfinished in it."""
        with explained():
            self._is_made()
            files.make_folder(self.path)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(lock)
            with self._noted(lock) as died:
                with explained():
                    held = self._held(os.fstat(lock).st_mtime_ns, all_of_them=died)
                yield held
                with contextlib.suppress(SnapshotFailed), explained():  # what was to be done is done
                    held.tidy()
        finally:
            os.close(lock)

    @contextlib.contextmanager
    def _noted(self, lock: int) -> Iterator[bool]:
        """Our number is in the lock while we work: whoever finds one there comes after a process that died."""
        with explained():
            died = os.pread(lock, 1, 0) != b""
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
        try:
            yield died
        finally:
            with contextlib.suppress(OSError):
                if not self._marker.exists():
                    os.ftruncate(lock, 0)

    def _held(self, now_ns: int, *, all_of_them: bool) -> Held:
        self._clean(now_ns, all_of_them=all_of_them)
        repository = self.open() or self._make()
        held = Held(self.root, repository, self.clock, Rules(forbidden=self._forbidden()), now_ns=now_ns)
        held.finish()
        if all_of_them:
            held.sweep()
        return held

    def _take(self, lock: int) -> None:
        end = time.monotonic() + self._wait_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    pid = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
                    raise Conflict(
                        f"process {pid or '?'} is changing the home for {self._wait_s:.0f} s already",
                        hint=f"ps {pid}" if pid.isdecimal() else "hermes-cron doctor",
                    ) from None
                time.sleep(0.005)

    def _make(self) -> Repository:
        import pygit2

        pygit2.settings.enable_fsync_gitdir(True)
        repository = pygit2.init_repository(str(self.path), bare=True, initial_head="main")
        repository.config["core.autocrlf"] = False
        repository.config["core.logAllRefUpdates"] = True
        files.write_atomic(self.path / FORMAT, b"1\n", mode=0o600)
        return repository

    def _clean(self, now_ns: int, *, all_of_them: bool) -> None:
        """Locks of git that nobody holds: under our lock only people's own git writes too, and for moments."""
        stale = [*self.path.glob("*.lock"), *self.path.glob("refs/**/*.lock"), *self.path.glob("logs/**/*.lock")]
        if all_of_them:
            stale += self.path.glob("objects/**/*.lock")
            files.remove_strays(self.path, before=now_ns / 1e9 + 1)
        for lock in stale:
            with contextlib.suppress(FileNotFoundError):
                old = now_ns - lock.stat().st_mtime_ns > _STALE_LOCK_S * 1e9
                if lock.name != LOCK and (all_of_them or old):
                    lock.unlink()

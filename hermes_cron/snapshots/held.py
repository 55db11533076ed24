"""What may the holder of the lock do? Commit what lies in the home, and move the home to another state."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron import files
from hermes_cron.errors import Conflict, SnapshotFailed
from hermes_cron.snapshots import apply, commits, names, pack
from hermes_cron.snapshots.commits import USER, Commit, Why
from hermes_cron.snapshots.faults import explained
from hermes_cron.snapshots.pack import BLOB, COMMIT, Kind, Oid
from hermes_cron.snapshots.read import BRANCH, head_of
from hermes_cron.snapshots.scan import Known, LeftOut, Rules, StatCache, look_at, not_of_the_home, scan
from hermes_cron.snapshots.trees import EMPTY_FOLDER, PLAIN, Entry, Mode, Objects, plain_entry

if TYPE_CHECKING:
    from pygit2 import Repository

    from hermes_cron.ports import Clock

MARKER = "hermes-cron-pending"
BY_HAND = Why(actor=USER, reason="edited by hand")


@dataclass(frozen=True, slots=True)
class Write:
    """New content of a path. ``expect``: the id of what must lie there now (``trees.blob_id``), ``b""`` for nothing,
    None for whatever there is. ``mode`` None keeps the file's; ``bits`` are a new file's where they matter."""

    data: bytes
    _: KW_ONLY
    mode: Mode | None = None
    bits: int | None = None
    expect: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A file, link or folder that goes. ``expect`` as in ``Write``."""

    expect: bytes | None = None


Edits = Mapping[str, Write | Remove]
"""By path relative to the home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """``before`` is the commit that the change can be undone to; ``after`` None: nothing was different.

    ``left_out`` is what the snapshots do not hold. ``kept`` are paths that somebody changed within these moments: they
    are as that person made them, the commit says what was meant, and they are the user's next commit.
    """

    before: Commit
    after: Commit | None
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def newest(self) -> Commit:
        """The state that the home has now."""
        return self.after or self.before


class Held:
    """What the holder of the lock may do."""

    def __init__(self, root: Path, repository: Repository, clock: Clock, rules: Rules, *, now_ns: int) -> None:
        self.root = root
        self.path = Path(repository.path)
        self.clock = clock
        self.repository = repository
        self.objects = Objects(repository)
        self.rules = rules
        self.now_ns = now_ns
        self._cache: StatCache | None = None

    def head(self) -> Commit | None:
        """The newest commit."""
        with explained():
            return head_of(self.repository)

    def present(self, why: Why, paths: Iterable[bytes] | None = None) -> Changed:
        """Commit what lies in the home, of the whole or of some paths, if it is not the last commit's."""
        head = self.head()
        self._cache = None
        with explained():
            if paths is not None and head is not None:
                tree, left_out = self._looked(head.tree, paths)
            else:
                tree, left_out = self._scanned(head)
            made = None
            if head is None or head.tree != tree:
                made = self.commit(why, tree, () if head is None else (head.id,))
                self.point(made.id, why.reason)
            self.objects.new.clear()
            self._remember()
        before = head or made
        assert before is not None  # noqa: S101  # one of the two is there
        return Changed(before=before, after=made, left_out=left_out)

    def seen(self) -> tuple[Oid, tuple[LeftOut, ...]]:
        """What lies in the home, as a tree, and what is left out. It is in no history: ``objects`` has what is new."""
        head = self.head()
        with explained():
            return self._scanned(head)

    def edited(self, tree: Oid, edits: Edits, left_out: tuple[LeftOut, ...] = ()) -> Oid:
        """The tree with the edits. Raises ``Conflict``, ``SnapshotFailed`` for what no snapshot may hold."""
        outside = {it.path: it.why for it in left_out}
        wanted: dict[bytes, Entry | None] = {}
        for name, edit in edits.items():
            path = os.fsencode(name)
            if not names.below_roots(path) or not names.sane(path):
                raise SnapshotFailed(
                    f"{name} is nothing that snapshots are of", hint="jobs/ skills/ memories/ config.toml"
                )
            if name in outside:
                raise SnapshotFailed(
                    f"{name} is in no snapshot, so it stays as it is: {outside[name]}", hint="hermes-cron doctor"
                )
            there = self.objects.at(tree, path)
            if edit.expect is not None and edit.expect != (b"" if there is None else there.oid):
                raise Conflict(f"{name} was changed meanwhile; that version is kept", hint="look at it, then try again")
            if isinstance(edit, Write):
                wanted[path] = self._written(name, edit, there)
            elif there is not None and there.mode is Mode.FOLDER:
                wanted |= dict.fromkeys(self.objects.files(tree, below=path))
            else:
                wanted[path] = None
        return self.objects.edited(tree, wanted)

    def move(
        self,
        before: Commit,
        wanted: Oid | Commit,
        why: Why,
        left_out: tuple[LeftOut, ...] = (),
        parents: tuple[str, ...] = (),
    ) -> Changed:
        """Make the home ``wanted``, a tree or a commit that is there already; ``parents`` are more than ``before``."""
        tree = wanted.tree if isinstance(wanted, Commit) else wanted
        if tree == before.tree and not isinstance(wanted, Commit) and not parents:
            self.objects.new.clear()
            return Changed(before=before, after=None, left_out=left_out)
        with explained():
            staged = apply.stage(self.root, self.objects, self.objects.changed(before.tree, tree), self._ledger)
        try:
            with explained():
                after = wanted if isinstance(wanted, Commit) else self.commit(why, tree, (before.id, *parents))
                marker = json.dumps({"base": before.id, "target": after.id}).encode()
                files.write_atomic(self.marker, marker, mode=0o600)
        except BaseException:
            staged.discard()
            raise
        try:
            self.point(after.id, why.reason)
        except BaseException:
            staged.discard()
            self.marker.unlink()
            raise
        return self._entered(staged, before, after, left_out)

    def commit(self, why: Why, tree: Oid, parents: tuple[str, ...]) -> Commit:
        """Durable with all its objects, and not yet in the history."""
        data = commits.encode(why, tree, parents, self.clock.now())
        made = self.objects.put(COMMIT, data)
        self.objects.flush()
        return commits.decode(self.repository[made.hex()])

    def point(self, commit: str, reason: str) -> None:
        """Move the branch, in one step."""
        import pygit2

        with explained():
            oid = pygit2.Oid(hex=commit)
            reference = self.repository.references.get(BRANCH)
            if reference is None:
                self.repository.references.create(BRANCH, oid)
            else:
                reference.set_target(oid, reason)

    def finish(self) -> None:
        """Do the rest of a change whose process died, or remove what it had begun."""
        try:
            found = json.loads(self.marker.read_bytes())
            base, target = (commits.decode(self.repository[found[name]]) for name in ("base", "target"))
        except FileNotFoundError:
            apply.drop_new_folders(os.fsencode(self.root), self._ledger)
            return
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotFailed(
                f"{self.marker.name} names no change that could be finished", hint=f"rm {self.marker}"
            ) from error
        head = self.head() if BRANCH in self.repository.references else None  # one that is gone comes back by this
        if head is None or head.id == base.id:
            self.point(target.id, target.reason)
        elif head.id != target.id and self.repository.descendant_of(head.id, target.id):
            files.remove(self.marker)  # history went on from it, so it was finished
            return
        staged = apply.stage(self.root, self.objects, self.objects.changed(base.tree, target.tree), self._ledger)
        self._entered(staged, base, target, ())

    def sweep(self) -> None:
        """Remove the drafts of a process that died: every full look does."""
        self.seen()
        self.objects.new.clear()

    def tidy(self) -> None:
        """Many small packs become one."""
        pack.roll_up(self.path, self.objects.size, self._raw)

    @property
    def marker(self) -> Path:
        return self.path / MARKER

    @property
    def _ledger(self) -> Path:
        return self.path / "hermes-cron-folders"

    # --- inside -----------------------------------------------------------------------------------------------------

    def _entered(self, staged: apply.Staged, before: Commit, after: Commit, left_out: tuple[LeftOut, ...]) -> Changed:
        applied = staged.enter()
        files.remove(self.marker)
        kept = tuple(os.fsdecode(path) for path in applied.kept)
        return Changed(before=before, after=after, left_out=left_out, kept=kept)

    def _scanned(self, head: Commit | None) -> tuple[Oid, tuple[LeftOut, ...]]:
        cache = self._cache = StatCache.load(self.path / "hermes-cron-stat", self.rules)
        base = not_of_the_home(self.objects, None if head is None else head.tree)
        found = scan(self.root, self.objects, cache, self.rules, base, now_ns=self.now_ns)
        if not self._has_all(None if head is None else head.tree, found.tree):
            cache.known = Known()  # it knows of what is in no history: gone with a branch, or damage
            found = scan(self.root, self.objects, cache, self.rules, base, now_ns=self.now_ns)
        return found.tree, found.left_out

    def _remember(self) -> None:
        """Now that all of it is in the history."""
        if self._cache is not None:
            with contextlib.suppress(OSError):  # only speed
                self._cache.save_if_changed()

    def _has_all(self, old: Oid | None, new: Oid) -> bool:
        try:
            entries = [after for _, _, after in self.objects.changed(old, new) if after not in (None, EMPTY_FOLDER)]
            return all(self.objects.has(entry.oid) for entry in entries if entry is not None)
        except KeyError:
            return False

    def _looked(self, tree: Oid, paths: Iterable[bytes]) -> tuple[Oid, tuple[LeftOut, ...]]:
        left_out: list[LeftOut] = []
        wanted: dict[bytes, Entry | None] = {}
        for path in paths:
            there = self.objects.at(tree, path)
            found, out = look_at(self.root, self.objects, path, self.rules)
            if out is not None:
                left_out.append(out)
            if found != there and (there is None or there.mode is not Mode.FOLDER):
                wanted[path] = found
        return self.objects.edited(tree, wanted) if wanted else tree, tuple(left_out)

    def _written(self, name: str, edit: Write, there: Entry | None) -> Entry:
        why = self.rules.forbidden(edit.data)
        if why is not None:
            raise SnapshotFailed(f"{name} cannot be written: {why}", hint="name it as secret:NAME")
        if len(edit.data) > self.rules.max_bytes:
            raise SnapshotFailed(f"{name} would be larger than {self.rules.max_bytes:,} bytes")
        plain = there is not None and there.mode in PLAIN
        oid = self.objects.put(BLOB, edit.data)
        if edit.bits is not None:
            return plain_entry(edit.bits, oid)
        if edit.mode is None and plain and there is not None:
            return Entry(there.mode, oid, there.bits)
        return Entry(edit.mode or Mode.FILE, oid)

    def _raw(self, oid: Oid) -> tuple[Kind, bytes]:
        kind, data = self.repository.read(oid.hex())
        return Kind(int(kind)), bytes(data)

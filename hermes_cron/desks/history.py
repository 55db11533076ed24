"""What may a person do with the home's history: look at it, bring a state back, take a change back?"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from hermes_cron.desks.history_plan import Asked, Done, RunFacts, Task, Version
from hermes_cron.domain.delivery import DeliveryState
from hermes_cron.errors import (
    ConfigError,
    Conflict,
    DiskFull,
    HermesCronError,
    NameAmbiguous,
    NotFound,
    SecretInPlainSight,
    SnapshotFailed,
    StoreDamaged,
    Usage,
)
from hermes_cron.settings import Settings

if TYPE_CHECKING:
    from hermes_cron.domain.home_part import Part
    from hermes_cron.snapshots.blame import Line
    from hermes_cron.snapshots.commits import Commit, Why
    from hermes_cron.snapshots.held import Changed
    from hermes_cron.snapshots.history import Plan
    from hermes_cron.snapshots.proof import Proof
    from hermes_cron.snapshots.remotes import Login, Pulled
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.snapshots.retention import Collected
    from hermes_cron.snapshots.scan import LeftOut
    from hermes_cron.snapshots.text import FileDiff
    from hermes_cron.snapshots.verify import Verified
    from hermes_cron.wiring import App

SHORT = 7
"""Digits of an id on a screen."""

_AT_ONCE = 500
"""Names in a question to the store."""

_COMMIT = re.compile(r"[0-9a-fA-F]{4,40}")
_IN_THE_HOME = frozenset({"memory", "skill_manage"})
"""Tools whose effects are commits, which an undo takes back."""


class HistoryDesk:
    """The history of one home."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def _snapshots(self) -> SnapshotRepository:
        """With nothing unfinished in it: what a killed process left is finished by whoever looks next."""
        self._app.snapshots.settle()
        return self._app.snapshots

    # --- looking ----------------------------------------------------------------------------------------------------

    def commits(self) -> list[Commit]:
        """Newest first."""
        return list(self._snapshots.log())

    def find(self, word: str) -> Commit:
        """By the first digits of an id. Raises ``NotFound``, ``NameAmbiguous``."""
        return self._snapshots.find(word)

    def newest(self) -> Commit:
        """Raises ``NotFound`` when there is no snapshot yet."""
        head = self._snapshots.head()
        if head is None:
            raise NotFound("there is no snapshot yet", hint="hermes-cron snapshots create")
        return head

    def parent(self, commit: Commit) -> Commit | None:
        """The state before it."""
        return None if commit.parent is None else self._snapshots.find(commit.parent)

    def between(self, old: Commit | None, new: Commit, *, paths: Sequence[str] = ()) -> list[FileDiff]:
        """What differs from one snapshot to the other; None is nothing at all."""
        from hermes_cron.snapshots import text

        return text.diff(self._snapshots, old, new, paths)

    def here(self, old: Commit, *, paths: Sequence[str] = ()) -> tuple[list[FileDiff], tuple[LeftOut, ...]]:
        """What the home has now and the snapshot has not, and what no snapshot would hold. Keeps nothing."""
        from hermes_cron.snapshots import text
        from hermes_cron.snapshots.merge import below

        with self._snapshots.alone() as held:
            tree, left_out = held.seen()
            changes = below(held.objects.changed(old.tree, tree), tuple(os.fsencode(path) for path in paths))
            return list(text.shown(held.objects, changes)), left_out

    def is_new(self) -> bool:
        """Whether there is no snapshot yet."""
        return self._snapshots.head() is None

    def listed(self, limit: int) -> tuple[int, list[tuple[Commit, int]]]:
        """How many there are, and the newest with how many files each changed."""
        from hermes_cron.snapshots.read import differences

        everything = {it.id: it for it in self.commits()}
        if not everything:
            return 0, []
        objects = self._snapshots.objects()
        newest = list(everything.values())[:limit]
        parents = [None if it.parent is None else everything[it.parent] for it in newest]
        counted = [(it, len(differences(objects, it, old))) for it, old in zip(newest, parents, strict=True)]
        return len(everything), counted

    def proof(self, commit: Commit) -> Proof:
        """A hash over path, mode and bytes of what the snapshot holds."""
        from hermes_cron.snapshots import proof

        return proof.of_tree(self._snapshots.objects(), commit.tree)

    def is_id(self, word: str) -> bool:
        """Whether a word can be a snapshot's id, and no file of that name lies in the home.

        Of a job that has such a name (``face``) only if there is a snapshot too.
        """
        if _COMMIT.fullmatch(word) is None or (self._app.home.root / word).exists():
            return False
        if (self._app.home.jobs / f"{word}.md").exists():
            with contextlib.suppress(NameAmbiguous):
                return self._is_found(word)
        return True

    def _is_found(self, word: str) -> bool:
        try:
            self.find(word)
        except NotFound:
            return False
        return True

    def file(self, word: str) -> str:
        """The path of the file that a word means; of a skill its SKILL.md, of the memory MEMORY.md.

        Raises ``NotFound``, ``NameAmbiguous``.
        """
        found = self.part(word)
        if found.kind == "skill":
            return f"{found.path}/SKILL.md"
        return "memories/MEMORY.md" if found.path == "memories" else found.path

    def blame(self, path: str) -> list[Line]:
        """Each line with the snapshot that it came with. Raises ``NotFound``, and ``Usage`` for what is no text."""
        from hermes_cron.snapshots.blame import blame

        return blame(self._snapshots, path)

    def part(self, word: str) -> Part:
        """What a word means. Raises ``NotFound``, ``NameAmbiguous``."""
        from hermes_cron.desks import history_parts

        return history_parts.part(self._snapshots, word)

    def skill(self, word: str) -> Part:
        """A skill of the home. Raises ``NotFound``, ``NameAmbiguous``."""
        from hermes_cron.desks import history_parts

        return history_parts.skill(self._snapshots, word)

    def path(self, word: str) -> str:
        """A path as the history has it."""
        from hermes_cron.desks import history_parts

        return history_parts.path_of(self._app.home.root, word)

    def versions(self, path: str) -> list[Version]:
        """Oldest first."""
        from hermes_cron.desks.history_task import versions

        commits = {it.id: it for it in self.commits()}
        return versions(self._snapshots.objects(), commits, [path])[path] if commits else []

    def version(self, part: Part, number: int | None) -> tuple[Version | None, Version]:
        """The one before it, and the version with this number, or the newest. Raises ``NotFound``."""
        known = self.versions(part.path)
        if not known or not 1 <= (len(known) if number is None else number) <= len(known):
            said = f"{len(known)} version{'s' if len(known) > 1 else ''}" if known else "no version yet"
            raise NotFound(f"{part.name} has {said} in the history", hint=f"hermes-cron log {part.path}")
        at = (number or len(known)) - 1
        return known[at - 1] if at else None, known[at]

    # --- the history as a whole --------------------------------------------------------------------------------------

    def verify(self) -> Verified:
        """Read everything."""
        from hermes_cron.snapshots.verify import verify

        return verify(self._app.snapshots)

    def gc(self, days: int) -> Collected:
        """Thin out what automated changes left behind before so many days."""
        from hermes_cron.snapshots.retention import Policy, gc

        return gc(self._snapshots, Policy(days=days))

    def push(self, url: str, *, branch: str, login: str | None) -> Commit:
        """Send everything; the newest snapshot."""
        from hermes_cron.snapshots import remotes

        return remotes.push(self._snapshots, url, branch=branch, login=self._login(login))

    def pull(self, url: str, *, branch: str, login: str | None) -> Pulled:
        """Bring in what others changed, and tell the store."""
        from hermes_cron.snapshots import remotes

        done = remotes.pull(self._snapshots, url, branch=branch, login=self._login(login))
        if done.changed is not None and done.changed.after is not None:
            paths = [it.path for it in self.between(done.changed.before, done.changed.after)]
            _say_late(done.changed, self._late(lambda: self.follow(paths)))
        return done

    def _login(self, word: str | None) -> Login | None:
        """``USER:secret:NAME``. Raises ``Usage``, ``NotFound``."""
        from hermes_cron.snapshots.remotes import Login

        if word is None:
            return None
        user, _, reference = word.partition(":")
        if not user or not reference.startswith("secret:"):
            raise Usage("a login is USER:secret:NAME", hint="hermes-cron secrets set NAME")
        return Login(user, self._app.vault.resolve(reference))

    # --- planning ---------------------------------------------------------------------------------------------------

    def create(self, reason: str | None, *, by: str) -> Changed:
        """Keep what lies in the home now. It is the user's: a later restore keeps it as an edit by hand."""
        from hermes_cron.snapshots.commits import USER, Why

        return self._snapshots.create(Why(actor=USER, reason=reason or "edited by hand", by=by))

    def to_restore(self, commit: Commit, *, paths: Sequence[str] = (), exact: bool = False) -> Task:
        """Back to a snapshot, or some paths of it."""
        from hermes_cron.snapshots import history

        chosen = tuple(self.path(path) for path in paths)
        plan = history.plan_restore(self._snapshots, commit, paths=chosen, exact=exact)
        return self._task(Asked(verb="restore", commit=commit, paths=chosen, exact=exact), plan)

    def to_undo(self, word: str, *, rejects: bool = False) -> Task:
        """As if a commit, or all commits of a run, had not been. ``rejects``: what it taught is not wanted. ``curator``
        is its last run, and once that is undone the undo.

        Raises ``NotFound``, ``NameAmbiguous``.
        """
        from hermes_cron.snapshots import history

        taken, run = ([self.find(word)], None) if _COMMIT.fullmatch(word) else self._named(word)
        if any(it.parent is None for it in taken):
            raise Conflict(
                f"{taken[-1].id[:SHORT]} is the first snapshot: nothing came before it",
                hint="hermes-cron snapshots list",
            )
        ids = tuple(it.id for it in taken)
        plan = history.plan_undo(self._snapshots, ids)
        return self._task(Asked(verb="undo", commit=taken[0], undoes=ids, run=run, rejects=rejects), plan)

    def _task(self, asked: Asked, plan: Plan) -> Task:
        from hermes_cron.desks.history_task import described

        return described(self._snapshots, asked, plan, secret=self._app.vault.finder())

    def _named(self, word: str) -> tuple[list[Commit], RunFacts | None]:
        from hermes_cron.desks.curator import ACTOR

        if word != ACTOR:
            return self._of_run(word)
        found = _last_of(self.commits(), ACTOR)
        if found is None:
            raise NotFound("the curator has changed nothing yet", hint="hermes-cron curator status")
        return ([found], None) if found.undoes or found.run is None else self._of_run(found.run)

    def _of_run(self, word: str) -> tuple[list[Commit], RunFacts]:
        """A run's commits, newest first. A run that the store forgot is found by its whole id."""
        everything = self.commits()
        try:
            row = self._app.runs.row(word)
        except NotFound:
            taken = [it for it in everything if it.run == word]
            if not taken:
                raise NotFound(
                    f'no snapshot and no run "{word}"', hint="hermes-cron snapshots list   or hermes-cron runs list"
                ) from None
            return taken, RunFacts(id=word, job=taken[0].job or "-", at=taken[-1].at)
        run_id = row["id"]
        taken = [it for it in everything if it.run == run_id]
        if not taken:
            raise NotFound(f"run {run_id} changed nothing in the home", hint=f"hermes-cron runs show {run_id}")
        at = row["started_at"] or row["queued_at"]
        return taken, RunFacts(id=run_id, job=row["job_name"], at=at, outside=self._outside(run_id))

    def _outside(self, run_id: str) -> tuple[tuple[Literal["message", "call"], str, int], ...]:
        from hermes_cron.store import outbox, views

        with self._app.store.read() as conn:
            messages = outbox.of_runs(conn, [run_id]).get(run_id, [])
            effects = views.effects(conn, run_id).values()
        tools = Counter(row["tool"] for row in effects if row["tool"] not in _IN_THE_HOME)
        sent = Counter(it.target for it in messages if it.state in {DeliveryState.SENT, DeliveryState.UNKNOWN})
        return (
            *(("message", target, count) for target, count in sorted(sent.items())),
            *(("call", tool, count) for tool, count in sorted(tools.items())),
        )

    # --- doing ------------------------------------------------------------------------------------------------------

    def carry_out(self, task: Task, *, by: str) -> Done:
        """Do what was shown, tell the store, prove it. Raises ``Conflict``; before the change, nothing is done then."""
        from hermes_cron.snapshots import history, proof

        snapshots = self._snapshots
        changed = history.carry_out(snapshots, task.plan, _why(task.asked, by))
        late = [
            self._late(lambda: self.follow([it.path for it in task.diffs], back=True)),
            self._late(lambda: self._turn(task)),
        ]
        objects, tree = snapshots.objects(), changed.newest.tree
        said, found = proof.of_tree(objects, tree), proof.of_home(self._app.home.root, objects, tree)
        since: list[Commit | None] = []
        late.append(self._late(lambda: since.append(self.create(None, by=by).after)))
        if changed.kept or said != found or any(since):
            raise Conflict(
                "it is done, and files are already others again: somebody changes them at this moment",
                hint="hermes-cron diff",
                details={"changed_meanwhile": list(changed.kept)},
            )
        _say_late(changed, *late)
        return Done(before=changed.before, after=changed.after, sha256=said.sha256, files=said.files)

    def _turn(self, task: Task) -> None:
        """What was learned and is gone now, or is there again, says so. A home without a store has learned nothing."""
        from hermes_cron.desks import learned_back

        if not self._app.home.store.exists():
            return
        touched = {it.path for it in task.diffs}
        learned_back.turn(self._app.store, self._snapshots, touched, rejects=task.asked.rejects)

    @staticmethod
    def _late(do: Callable[[], object]) -> HermesCronError | None:
        """Why something that comes after the change could not be done: the next look at the files does it."""
        try:
            do()
        except (DiskFull, SnapshotFailed, StoreDamaged) as error:
            return error
        return None

    def follow(self, paths: Iterable[str], *, back: bool = False) -> None:
        """What the store and a living scheduler must learn after files changed, by the settings as they are now.

        With ``back`` a job that is there again is the one that it was. With settings that cannot be read nothing can
        be learned yet; whoever mends them looks at the files again.
        """
        jobs = {path.removeprefix("jobs/") for path in paths if path.startswith("jobs/")}
        if not jobs:
            return
        try:
            settings = Settings.load(self._app.home)
        except (ConfigError, SecretInPlainSight):
            pass
        else:
            with contextlib.closing(type(self._app)(self._app.home, settings, self._app.clock)) as app:
                app.sync_jobs(actor="cli")
                if back:
                    self._revive(app, sorted(jobs))
        self._app.wake()

    @staticmethod
    def _revive(app: App, file_names: Sequence[str]) -> None:
        from hermes_cron.store.revival import revive

        names = [name for name in file_names if name.isprintable()]  # others are no job's: a row holds UTF-8
        for at in range(0, len(names), _AT_ONCE):
            app.store.write(partial(revive, file_names=names[at : at + _AT_ONCE]))


def _say_late(changed: Changed, *late: HermesCronError | None) -> None:
    """What is done is done, and must not be told as if it were not. Raises ``DiskFull``."""
    first = next((it for it in late if it is not None), None)
    if first is not None:
        from hermes_cron.snapshots.faults import NOTHING_CHANGED

        why = first.message.removeprefix(NOTHING_CHANGED)
        done = changed.newest.id[:SHORT]
        raise DiskFull(f"it is done, as snapshot {done}, and nothing could be written after it: {why}", hint=first.hint)


def _last_of(commits: Sequence[Commit], actor: str) -> Commit | None:
    """The newest commit of an actor, or that undoes nothing but such ones. ``commits`` are newest first."""
    theirs: set[str] = set()
    for commit in reversed(commits):
        if commit.actor == actor or (commit.undoes and theirs.issuperset(commit.undoes)):
            theirs.add(commit.id)
    return next((it for it in commits if it.id in theirs), None)


def _why(asked: Asked, by: str) -> Why:
    from hermes_cron.snapshots.commits import RESTORE, Why

    commit = asked.commit
    if asked.verb == "restore":
        what = f" of {', '.join(asked.paths)}" if asked.paths else ""
        reason = f"restore {commit.id[:SHORT]}{what}: {commit.reason}"
        return Why(actor=RESTORE, reason=reason, by=by, restores=commit.id, exact=asked.exact)
    word = f"run {asked.run.id}" if asked.run is not None else commit.id[:SHORT]
    more = f" (and {len(asked.undoes) - 1} more)" if len(asked.undoes) > 1 else ""
    return Why(actor=RESTORE, reason=f"undo {word}: {commit.reason}{more}", by=by, undoes=asked.undoes)

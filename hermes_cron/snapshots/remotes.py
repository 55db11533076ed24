"""How does a team review what changes where it reviews code? The branch goes to any git URL and comes back.

The network is used without the lock. What comes is checked before it is put into the home: names, kinds, sizes and
secrets as for everything else, and only below the home's own folders; other files of a shared history stay in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hermes_cron.errors import Conflict, HermesCronError, NotFound, SecretInPlainSight, SnapshotFailed
from hermes_cron.snapshots import names
from hermes_cron.snapshots.commits import IMPORT, Commit, Why, decode
from hermes_cron.snapshots.faults import explained
from hermes_cron.snapshots.held import BY_HAND, Changed, Held
from hermes_cron.snapshots.merge import merge
from hermes_cron.snapshots.read import BRANCH
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.snapshots.scan import TEMPORARY, why_not
from hermes_cron.snapshots.trees import EMPTY_TREE, Mode

if TYPE_CHECKING:
    from pygit2 import Repository
    from pygit2.remotes import Remote

_CONNECT_MS = 15_000
_ANSWER_MS = 60_000
_BEHIND = ("non-fastforward", "non-fast-forward", "not present locally")
_PASSWORD = re.compile(r"://[^/@]*:[^/@]*@")
_BRANCH = re.compile(r"(?!.*\.\.)[\w][\w./-]*(?<!/)(?<!\.lock)")


@dataclass(frozen=True, slots=True)
class Login:
    """For a URL that asks. A key of ssh comes from the agent, without one of these."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.user!r})"


class How(StrEnum):
    """What a pull did."""

    NOTHING = "nothing"
    FORWARD = "forward"
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """``theirs`` is the commit of the URL; ``changed`` None when there was nothing new."""

    how: How
    theirs: Commit
    changed: Changed | None


def push(snapshots: SnapshotRepository, url: str, *, branch: str = "main", login: Login | None = None) -> Commit:
    """Commit what lies in the home and send everything. Raises ``Conflict`` when the URL has what we have not."""
    with snapshots.alone() as held:
        found = held.present(BY_HAND)
        head = found.newest
    with _connected(snapshots, url, branch, login) as (repository, remote, calls):
        _call(url, lambda: remote.push([f"{BRANCH}:refs/heads/{branch}"], callbacks=calls, proxy=True))
        if calls.refused:
            raise SnapshotFailed(
                f"{url} refused the push: {calls.refused[0][:200]}", hint="ask who owns that repository"
            )
        with explained():
            import pygit2

            repository.references.create(_tracking(url, branch), pygit2.Oid(hex=head.id), force=True)
    return head


def pull(snapshots: SnapshotRepository, url: str, *, branch: str = "main", login: Login | None = None) -> Pulled:
    """Bring what the URL has into the home, on top of what is here; all or nothing.

    Raises ``Conflict`` with the paths that both changed in ways that do not merge.
    """
    with _connected(snapshots, url, branch, login) as (_, remote, calls):
        there = {str(head.name): head.oid for head in _call(url, lambda: remote.list_heads(callbacks=calls))}
        wanted = f"refs/heads/{branch}"
        if wanted not in there:
            raise NotFound(f"{url} has no branch {branch}", hint=f"hermes-cron snapshots push {url}")
        theirs_id = str(there[wanted])
        _call(url, lambda: remote.fetch([f"+{wanted}:{_tracking(url, branch)}"], callbacks=calls, proxy=True))
    with snapshots.alone() as held:
        return _brought(held, url, theirs_id)


def _brought(held: Held, url: str, theirs_id: str) -> Pulled:
    found = held.present(BY_HAND)
    head = found.newest
    with explained():
        theirs = decode(held.repository[theirs_id])
        base_id = held.repository.merge_base(head.id, theirs.id)
    if base_id is not None and str(base_id) == theirs.id:
        return Pulled(how=How.NOTHING, theirs=theirs, changed=None)
    why = Why(actor=IMPORT, reason=f"pulled from {url}")
    if base_id is not None and str(base_id) == head.id:
        _check(held, head, theirs.tree)
        return Pulled(how=How.FORWARD, theirs=theirs, changed=held.move(head, theirs, why, found.left_out))
    with explained():
        base = EMPTY_TREE if base_id is None else decode(held.repository[base_id]).tree
        both = merge(held.objects, base, head.tree, theirs.tree)
    if both.clashes:
        paths = [os.fsdecode(path) for path in both.clashes]
        raise Conflict(
            f"{len(paths)} file(s) were changed here and there in ways that do not merge: {', '.join(paths[:5])}; "
            "nothing was changed",
            hint="hermes-cron snapshots push URL --branch NAME, and bring them together there",
            details={"conflicts": paths, "here": head.id, "there": theirs.id},
        )
    _check(held, head, both.tree)
    return Pulled(
        how=How.MERGED, theirs=theirs, changed=held.move(head, both.tree, why, found.left_out, parents=(theirs.id,))
    )


def _check(held: Held, head: Commit, tree: bytes) -> None:
    """Nothing comes that no snapshot of the home would keep."""
    objects = held.objects
    with explained():
        for path, _, after in objects.changed(head.tree, tree):
            if after is None:
                continue
            shown = os.fsdecode(path)
            if not names.sane(path) or _is_unfit(path, after.mode):
                raise SnapshotFailed(f"{shown!r} is nothing that a home may hold; nothing was changed")
            if after.mode is Mode.FOLDER or path.partition(b"/")[0] not in names.ROOTS:
                continue
            if objects.size(after.oid) > held.rules.max_bytes:
                raise SnapshotFailed(f"{shown} is larger than {held.rules.max_bytes:,} bytes; nothing was changed")
            why = why_not(path, after.mode, objects.read(after.oid), held.rules)
            if why is not None:
                raise SnapshotFailed(f"{shown} cannot come into the home: {why}; nothing was changed")


def _is_unfit(path: bytes, mode: Mode) -> bool:
    """Of the home's own: what it cannot hold there, and names that are our drafts', which the next look would remove.

    Settings that lead elsewhere would bring what lies there into the history, and with the next push to others.
    """
    if path.partition(b"/")[0] not in names.ROOTS:
        return False
    if any(part.startswith(TEMPORARY) for part in path.split(b"/")):
        return True
    return not names.fits(path, link=mode is Mode.LINK) or mode is Mode.SUBMODULE


@contextmanager
def _connected(
    snapshots: SnapshotRepository, url: str, branch: str, login: Login | None
) -> Iterator[tuple[Repository, Remote, Any]]:
    import pygit2

    if _PASSWORD.search(url):
        raise SecretInPlainSight(
            "there is a password in the URL", hint="hermes-cron secrets set NAME, or a key in the agent of ssh"
        )
    if _BRANCH.fullmatch(branch) is None:
        raise NotFound(f"{branch!r} is no name of a branch", hint="letters, digits, - _ . and /")
    with snapshots.alone() as held:
        repository = held.repository
    pygit2.settings.server_connect_timeout = _CONNECT_MS
    pygit2.settings.server_timeout = _ANSWER_MS
    yield repository, repository.remotes.create_anonymous(url), _callbacks(login)


def _callbacks(login: Login | None) -> Any:
    import pygit2
    from pygit2.enums import CredentialType

    class Calls(pygit2.RemoteCallbacks):
        asked = 0
        refused: list[str]

        def push_update_reference(self, _name: str, message: str | None) -> None:
            self.refused += [message] if message else []

        def credentials(self, _url: str, username_from_url: str | None, allowed_types: CredentialType) -> Any:
            self.asked += 1
            if self.asked > 2:  # a name first, then what belongs to it; then the same again, for ever
                raise pygit2.GitError("the login was refused")
            if allowed_types & CredentialType.USERPASS_PLAINTEXT and login is not None:
                return pygit2.UserPass(login.user, login.password)
            if allowed_types & CredentialType.SSH_KEY:
                return pygit2.KeypairFromAgent(username_from_url or "git")
            if allowed_types & CredentialType.USERNAME:
                return pygit2.Username(username_from_url or "git")
            raise pygit2.GitError("it asks for a login")

    calls = Calls()
    calls.refused = []
    return calls


def _call(url: str, do: Any) -> Any:
    import pygit2

    try:
        return do()
    except HermesCronError:
        raise
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        text = str(error)
        if any(words in text for words in _BEHIND):
            raise Conflict(
                f"{url} has changes that are not here; nothing was sent", hint=f"hermes-cron snapshots pull {url}"
            ) from error
        raise SnapshotFailed(
            f"{url} cannot be used: {text[:300]}; nothing was changed", hint=shlex.join(["git", "ls-remote", url])
        ) from error


def _tracking(url: str, branch: str) -> str:
    """Which reference remembers what the URL has: what was shared is never thinned out."""
    return f"refs/remotes/{hashlib.sha256(url.encode()).hexdigest()[:12]}/{branch}"

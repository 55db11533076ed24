"""Is a copied ``snapshots.git`` a whole history, and how is it kept still while it is copied?"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.errors import Conflict

if TYPE_CHECKING:
    from pygit2 import Oid, Repository

LOCK = "hermes-cron.lock"
_WAIT_S = 30.0
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git knows it without having it."""
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFacts:
    """What a repository holds: ``commits`` that its branches reach, and all ``objects``."""

    commits: int
    objects: int


@contextlib.contextmanager
def kept_still(git: Path) -> Iterator[None]:
    """Nobody changes the history, nor a file that it keeps, for as long as the block lasts. Raises ``Conflict``."""
    if not (git / "HEAD").exists():
        yield
        return
    lock = os.open(git / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + _WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise Conflict(
                        f"another hermes-cron has held {git} for {_WAIT_S:.0f} s", hint="hermes-cron status"
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(lock)


def look(git: Path) -> HistoryFacts:
    """Read every object and follow every branch. Raises ValueError that says what is missing or damaged."""
    import pygit2

    pygit2.settings.owner_validation = False
    try:
        repository = pygit2.Repository(str(git), pygit2.enums.RepositoryOpenFlag.BARE)
        objects = {str(oid): _needs(repository, oid) for oid in repository.odb}
        waiting = {str(repository.references[name].peel().id) for name in repository.references}
    except (pygit2.GitError, LookupError, OSError, TypeError) as error:
        raise ValueError(str(error)) from error
    seen: set[str] = set()
    commits = 0
    while waiting:
        oid = waiting.pop()
        seen.add(oid)
        if oid == _EMPTY_TREE:
            continue
        if oid not in objects:
            raise ValueError(f"object {oid} is missing")
        kind, needs = objects[oid]
        commits += kind == b"commit"
        waiting |= needs - seen
    return HistoryFacts(commits=commits, objects=len(objects))


def _needs(repository: Repository, oid: Oid) -> tuple[bytes, set[str]]:
    """An object's kind and what it names. Raises ValueError when its bytes are not those of its name."""
    number, data = repository.odb.read(oid)
    kind = _KINDS[number]
    if hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data, usedforsecurity=False).digest() != oid.raw:
        raise ValueError(f"object {oid} has other bytes than it had")
    if kind == b"tree":
        return kind, set(_entries(data))
    if kind == b"commit":
        lines = (line.partition(b" ") for line in data.partition(b"\n\n")[0].split(b"\n"))
        return kind, {value.decode() for word, _, value in lines if word in (b"tree", b"parent")}
    return kind, set()


def _entries(tree: bytes) -> Iterator[str]:
    """``MODE NAME\\0`` and 20 bytes of id, each; a submodule's commit lies in another repository."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        if not tree.startswith(b"160000 ", at):
            yield tree[end + 1 : end + 21].hex()
        at = end + 21

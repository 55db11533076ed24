"""What does a snapshot say of itself? A commit whose author is the actor and whose trailers link run and job.

```
Look at the indexes first

Actor: run
Run: r7m3d
Job: inspect-prod-db
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hermes_cron.snapshots.pack import Oid

USER = "user"
CLI = "cli"
IMPORT = "import"
RESTORE = "restore"
AUTOMATED = frozenset({"run", "review", "flush", "curator", "consolidation", "upgrade"})
"""Actors that no person watched. Everybody else's states are never thinned out, nor names that we do not know."""

_LATEST = 253_402_300_799  # the last second of the year 9999; another tool may write any number
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")
_NOT_PRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Who changes something, and why: a commit's author, subject and trailers.

    ``by`` is the login name behind a command. ``undoes`` are the commits that it takes back, ``restores`` the one that
    it brings back; ``exact`` when later hand edits were dropped with it. ``call`` is the key of a run's tool call.
    """

    actor: str
    reason: str
    run: str | None = None
    job: str | None = None
    by: str | None = None
    undoes: tuple[str, ...] = ()
    restores: str | None = None
    exact: bool = False
    call: str | None = None

    def message(self) -> str:
        trailers = {
            "Actor": self.actor,
            "Run": self.run,
            "Job": self.job,
            "By": self.by,
            "Call": self.call,
            "Undoes": " ".join(self.undoes),
            "Restores": self.restores,
            "Exact": "yes" if self.exact else None,
        }
        lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value]
        return "\n".join([one_line(self.reason)[:200] or "change", "", *lines]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A snapshot. ``id`` is the commit's hex id; ``thinned`` how many earlier ones it stands for since a ``gc``."""

    id: str
    tree: Oid
    parents: tuple[str, ...]
    actor: str
    reason: str
    run: str | None
    job: str | None
    at: datetime
    by: str | None = None
    undoes: tuple[str, ...] = ()
    restores: str | None = None
    exact: bool = False
    thinned: int = 0
    call: str | None = None

    @property
    def parent(self) -> str | None:
        """The state before it; None for the first snapshot."""
        return self.parents[0] if self.parents else None

    @property
    def automated(self) -> bool:
        """Whether no person made it."""
        return self.actor in AUTOMATED


def encode(why: Why, tree: Oid, parents: tuple[str, ...], at: datetime) -> bytes:
    """A commit object's content."""
    name = re.sub(r"[<>\s]+", "-", one_line(why.actor)) or "unknown"
    who = f"{name} <{name}@hermes-cron> {int(at.timestamp())} +0000"
    lines = [f"tree {tree.hex()}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
    return ("\n".join(lines) + "\n\n" + why.message()).encode("utf-8", "replace")


def decode(found: Any) -> Commit:
    """A pygit2 commit. One that another tool made has its author as actor."""
    text = bytes(found.raw_message).decode("utf-8", "replace").strip("\n")
    subject, _, rest = text.partition("\n")
    last = rest.rpartition("\n\n")[2].strip("\n").split("\n") if rest else []
    matches = [_TRAILER.fullmatch(line) for line in last]
    trailers = {it[1]: one_line(it[2]) for it in matches if it is not None} if all(matches) else {}
    counted = trailers.get("Thinned", "")
    return Commit(
        id=str(found.id),
        tree=found.tree_id.raw,
        parents=tuple(str(parent) for parent in found.parent_ids),
        actor=trailers.get("Actor") or one_line(bytes(found.author.raw_name).decode("utf-8", "replace")) or "unknown",
        reason=one_line(subject),
        run=trailers.get("Run"),
        job=trailers.get("Job"),
        at=datetime.fromtimestamp(min(max(found.commit_time, 0), _LATEST), UTC),
        by=trailers.get("By"),
        undoes=tuple(trailers.get("Undoes", "").split()),
        restores=trailers.get("Restores"),
        exact="Exact" in trailers,
        thinned=int(counted) if counted.isdecimal() else 0,
        call=trailers.get("Call"),
    )


def one_line(text: str) -> str:
    """For a screen and for a trailer: no line ends, no control characters."""
    return " ".join(_NOT_PRINTED.sub(" ", text).split())

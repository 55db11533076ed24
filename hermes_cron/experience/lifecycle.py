"""Is a skill in use, out of use or put away, and what follows tonight? Rules over values; nothing is looked up.

``active`` -> ``stale`` -> ``archived``. A stale skill is one that ``skills/.stale`` names, and it works as before; an
archived one lies in ``skills/.archive``. Only what runs learned is moved: never a pinned skill, one that a person wrote
or that came with hermes-cron, or one that any job names, whether that job is paused or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from hermes_cron.domain.skill_use import UNKNOWN, SkillRecord, later
from hermes_cron.experience import beside_skills

STALE_FILE = ".stale"
"""In a home's ``skills/``, beside ``.pinned``: in the history, so that a change of states is undone like any other."""

_HEAD = "# Skills that fell out of use, kept by the curator: category/name, since when, why\n"
_EARLY = timedelta(hours=1)  # a night's run may begin some minutes earlier than the one before


class SkillState(StrEnum):
    """What the curator holds of a skill."""

    ACTIVE = "active"
    STALE = "stale"
    ARCHIVED = "archived"


class Origin(StrEnum):
    """Who made a skill: a run, a person, or us."""

    LEARNED = "learned"
    HAND = "hand"
    SHIPPED = "shipped"


class Cause(StrEnum):
    """Why a skill is stale: nobody used it, or most of the runs that did went badly."""

    UNUSED = "unused"
    FAILING = "failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line of ``skills/.stale``."""

    since: datetime
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``stale`` and ``archive`` are times without activity; a stale skill has all of the time between to be used."""

    stale: timedelta = timedelta(days=14)
    archive: timedelta = timedelta(days=30)


RULE = Rule()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFacts:
    """What is known of a skill of the home. ``name`` is the qualified one, ``called`` the one that uses are counted by.

    ``changed`` is the last change of any kind, by a person's editor too. ``jobs`` name it. ``missing`` are
    files of its own that its text names and that are not there. ``fault``: why it is broken.
    """

    name: str
    called: str
    origin: Origin
    created: datetime
    changed: datetime
    record: SkillRecord = UNKNOWN
    pinned: bool = False
    jobs: tuple[str, ...] = ()
    mark: Mark | None = None
    description: str = ""
    text: str = ""
    missing: tuple[str, ...] = ()
    fault: str | None = None

    @property
    def activity(self) -> datetime:
        """``max(created, used, viewed, patched)``. One that was never used counts from the day it was made."""
        last = max(self.created, self.changed)
        for at in (self.record.used_at, self.record.viewed_at, self.record.patched_at):
            last = later(last, at) or last
        return last

    @property
    def exempt(self) -> str | None:
        """Why it is never moved; None when it may be."""
        if self.pinned:
            return "pinned"
        if self.jobs:
            return f"named by {', '.join(self.jobs[:3])}" + (f" and {len(self.jobs) - 3} more" * (len(self.jobs) > 3))
        if self.fault is not None:
            return "broken: a person looks at it"
        if not self.name.isprintable():
            return "its name stands in no line of a file"
        return {Origin.HAND: "written by hand", Origin.SHIPPED: "came with hermes-cron"}.get(self.origin)


def step(skill: SkillFacts, now: datetime, rule: Rule = RULE) -> tuple[SkillState, Cause | None] | None:
    """The state it enters now, and why; None when it stays as it is.

    At exactly ``rule.stale`` without activity it becomes stale. It is archived at ``rule.archive`` without activity,
    and never sooner than the time between the two after it became stale: a host that was off for a year archives
    nothing in its first night.
    """
    idle = now - skill.activity
    cause = Cause.UNUSED if idle >= rule.stale else Cause.FAILING if skill.record.failing else None
    if skill.exempt is not None or cause is None:
        return None if skill.mark is None else (SkillState.ACTIVE, None)
    if skill.mark is None or skill.mark.since > now:  # marked by a clock that was ahead: its time begins anew
        return SkillState.STALE, cause
    stayed = now - skill.mark.since
    if idle >= rule.archive and stayed >= max(rule.archive - rule.stale - _EARLY, timedelta(0)):
        return SkillState.ARCHIVED, cause
    return None


def shown(mark: Mark | None, record: SkillRecord) -> SkillState:
    """How a skill that lies in the home stands at this moment: used since it was marked, it is active again."""
    if mark is None:
        return SkillState.ACTIVE
    if mark.cause is Cause.FAILING:
        return SkillState.STALE if record.failing else SkillState.ACTIVE
    last = later(later(record.used_at, record.viewed_at), record.patched_at)
    return SkillState.ACTIVE if last is not None and last > mark.since else SkillState.STALE


# --- the file ---------------------------------------------------------------------------------------------------------


def stale(root: Path) -> Mapping[str, Mark]:
    """What the file in a home's skills says, by qualified name; nothing where none is. Raises ``ConfigError``."""
    return marks(beside_skills.read(root, STALE_FILE))


def marks(data: bytes | None) -> dict[str, Mark]:
    """What a file says. A line that is not understood marks nothing."""
    found: dict[str, Mark] = {}
    for line in (data or b"").decode("utf-8-sig", "replace").splitlines():
        words = line.strip().rsplit(None, 2)
        if len(words) != 3 or words[0].startswith("#"):
            continue
        try:
            since = datetime.strptime(words[1], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
            found[words[0]] = Mark(since=since, cause=Cause(words[2]))
        except ValueError:
            continue
    return found


def unmarked(root: Path, name: str) -> tuple[bytes, bytes] | None:
    """The file before and after that skill's line is gone; None when it has none. Raises ``ConfigError``."""
    data = beside_skills.read(root, STALE_FILE)
    return (data, marked(data, [(name, None)])) if data is not None and name in marks(data) else None


def marked(data: bytes | None, changes: Iterable[tuple[str, Mark | None]]) -> bytes:
    """The file with these skills marked, or (None) not marked any more; the lines stand in order of the names."""
    known = marks(data)
    for name, mark in changes:
        if mark is None:
            known.pop(name, None)
        else:
            known[name] = mark
    lines = [
        f"{name} {mark.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} {mark.cause}" for name, mark in sorted(known.items())
    ]
    return (_HEAD + "".join(f"{line}\n" for line in lines)).encode()

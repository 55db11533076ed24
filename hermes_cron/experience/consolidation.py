"""What of the memory is said twice, or no longer holds? A plan without a model, and what a plan makes of a file.

Plans are values: entries and the day in, steps with their reasons out, in a stable order. A step is carried out only
where all that it speaks of is still there, so that what others write meanwhile stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import partial

from hermes_cron.domain.entries import size
from hermes_cron.experience.facts import Fact, missing, required
from hermes_cron.experience.memory import Target, shown
from hermes_cron.experience.same import exactly, nearly
from hermes_cron.experience.superseded import supersedes
from hermes_cron.experience.validity import ended


class Why(StrEnum):
    """Why entries go. What is merged is said elsewhere; what is dropped is said no more."""

    DUPLICATE = "duplicate"
    NEARLY = "near_duplicate"
    REWRITTEN = "rewritten"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    MOVED = "moved_to_skill"
    NO_ROOM = "no_room"

    @property
    def merges(self) -> bool:
        return self in (Why.DUPLICATE, Why.NEARLY, Why.REWRITTEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A fact that is said no more, and why."""

    fact: Fact
    why: Why
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``sources`` go, ``text`` comes in the place of the first. ``by`` is the entry that says it, or takes its place;
    of what moved, the skill. ``left`` are the facts that go with them."""

    sources: tuple[str, ...]
    why: Why
    text: str | None = None
    by: str | None = None
    day: date | None = None
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a plan made of one file: counts that equal the difference of the two lists."""

    target: Target
    before: tuple[str, ...]
    after: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    archived: tuple[str, ...] = ()
    limit: int = 0

    @property
    def kept(self) -> int:
        """Entries that stand as they stood."""
        return len(self.before) - self.merged - self.dropped

    @property
    def merged(self) -> int:
        """Entries that went because another one says what they said."""
        return sum(len(step.sources) for step in self.steps if step.why.merges)

    @property
    def dropped(self) -> int:
        """Entries that went and are said no more."""
        return sum(len(step.sources) for step in self.steps if not step.why.merges)

    @property
    def written(self) -> int:
        """New texts."""
        return sum(step.text is not None for step in self.steps)

    @property
    def changed(self) -> bool:
        return self.before != self.after

    @property
    def lines(self) -> tuple[str, ...]:
        """As those of any change of the memory."""
        gone = (f"- {shown(source)}" for step in self.steps for source in step.sources)
        return (*gone, *(f"+ {step.text}" for step in self.steps if step.text is not None))


# --- planning ---------------------------------------------------------------------------------------------------------


def plan(entries: Sequence[str], today: date, moved: Mapping[str, str] | None = None) -> tuple[Step, ...]:
    """``moved``: entries, and the skill that says each of them now. Of two that say the same the older place stays."""
    left, steps = list(entries), list[Step]()
    for find in (
        partial(_moved, moved or {}),
        partial(_expired, today),
        _duplicates,
        partial(_superseded, today),
        _near,
    ):
        for step in find(tuple(left)):
            steps.append(step)
            left = _after(left, step)
    return tuple(steps)


def partly_ended(entries: Iterable[str], today: date) -> tuple[str, ...]:
    """Entries of which a part only holds no more: for a model or a person to mend."""
    found = ((entry, ended(shown(entry), today)) for entry in entries)
    return tuple(entry for entry, end in found if end is not None and not end.whole)


def _moved(skills: Mapping[str, str], entries: tuple[str, ...]) -> Iterator[Step]:
    for entry in entries:
        if entry in skills:
            yield Step(sources=(entry,), why=Why.MOVED, by=skills[entry])


def _expired(today: date, entries: tuple[str, ...]) -> Iterator[Step]:
    for entry in entries:
        end = ended(shown(entry), today)
        if end is not None and end.whole:
            yield Step(sources=(entry,), why=Why.EXPIRED, day=end.day, left=_left([entry], "", Why.EXPIRED))


def _duplicates(entries: tuple[str, ...]) -> Iterator[Step]:
    stay: list[str] = []
    for entry in entries:
        same = next((other for other in stay if exactly(entry, other)), None)
        if same is None:
            stay.append(entry)
        else:
            yield Step(sources=(entry,), why=Why.DUPLICATE, by=same)


def _superseded(today: date, entries: tuple[str, ...]) -> Iterator[Step]:
    """The newer stand behind the older."""
    for at, older in enumerate(entries):
        newer = next((it for it in entries[at + 1 :] if supersedes(shown(it), shown(older), today)), None)
        if newer is not None:
            yield Step(
                sources=(older,), why=Why.SUPERSEDED, by=newer, left=_left([older], newer, Why.SUPERSEDED, by=newer)
            )


def _near(entries: tuple[str, ...]) -> Iterator[Step]:
    left = list(entries)
    for entry in entries:
        others = [other for other in left if other is not entry and _whole(other) and _whole(entry)]
        stays = next((other for other in others if nearly(entry, other)), None)
        if stays is not None and not (nearly(stays, entry) and left.index(entry) < left.index(stays)):
            left.remove(entry)
            yield Step(sources=(entry,), why=Why.NEARLY, by=stays)


def _whole(entry: str) -> bool:
    """What holds bytes that are no UTF-8 is compared with nothing but itself."""
    return shown(entry) == entry


def _left(old: Sequence[str], new: str, why: Why, by: str | None = None) -> tuple[Left, ...]:
    facts = missing([shown(entry) for entry in old], shown(new)) if new else required(shown(old[0]))
    return tuple(Left(fact=fact, why=why, by=by) for fact in facts)


# --- carrying out -----------------------------------------------------------------------------------------------------


def carried_out(target: Target, entries: Sequence[str], steps: Sequence[Step], limit: int) -> Done:
    """What the steps make of the entries as they are now. One that does not fit any more is left out.

    The limit holds after it, whatever was there before: the oldest entries go to the archive beside the file.
    """
    left, done = list(entries), list[Step]()
    for step in steps:
        if _fits(left, step):
            done.append(step)
            left = _after(left, step)
    archived = []
    while left and size(left) > limit:
        archived.append(left.pop(0))
        done.append(Step(sources=(archived[-1],), why=Why.NO_ROOM))
    return Done(
        target=target, before=tuple(entries), after=tuple(left), steps=tuple(done), archived=tuple(archived),
        limit=limit,
    )  # fmt: skip


def _fits(entries: list[str], step: Step) -> bool:
    rest = Counter(entries)
    rest.subtract(step.sources)
    if min(rest.values(), default=0) < 0:
        return False
    if step.by is not None and step.why is not Why.MOVED:
        return rest[step.by] > 0
    return step.text is None or rest[step.text] <= 0


def _after(entries: list[str], step: Step) -> list[str]:
    """Of two that are the same, the later goes."""
    left = list(entries)
    if step.text is not None:
        left[left.index(step.sources[0])] = step.text
    for source in step.sources[1 if step.text is not None else 0 :]:
        del left[len(left) - 1 - left[::-1].index(source)]
    return left

"""What is known from earlier runs, and how does an entry get into it, change or leave? Texts in, texts out.

Two files of plain text: ``MEMORY.md`` (the environment, conventions, how tools behave) and ``USER.md`` (what the
person likes). Entries are parted by a line with a section sign alone; they are counted in characters.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.entries import SIGN, lines, size
from hermes_cron.domain.words import words
from hermes_cron.errors import MemoryDelimiterInContent, MemoryFull, NameAmbiguous, NotFound, Usage

MOST_OPERATIONS = 20
"""Of one call."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NEAR = 3
_SHORT = 80


class Target(StrEnum):
    """Which of the two files."""

    MEMORY = "memory"
    USER = "user"

    @property
    def file(self) -> str:
        return "MEMORY.md" if self is Target.MEMORY else "USER.md"

    @property
    def path(self) -> str:
        """Relative to the home."""
        return f"memories/{self.file}"

    @property
    def archive(self) -> str:
        """Where entries go that had to make room."""
        return f"memories/{self.file.removesuffix('.md')}.archive.md"


class Action(StrEnum):
    """What may be done with an entry."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"

    @property
    def done(self) -> str:
        return {"add": "added", "replace": "replaced", "remove": "removed"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """``part`` of an entry says which one is replaced or removed; ``content`` is the new one."""

    action: Action
    content: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One file as it was read. ``limit`` is in characters, those between entries among them."""

    target: Target
    entries: tuple[str, ...] = ()
    limit: int

    @property
    def characters(self) -> int:
        return size(self.entries)

    @property
    def usage(self) -> str:
        """``current/limit``."""
        return f"{self.characters}/{self.limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What operations make of a memory. ``archived`` are entries that have to make room.

    ``lines`` are what changes, each with ``+`` or ``-`` before it; none: nothing would be different. ``notes`` are for
    whoever asked.
    """

    after: Memory
    lines: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def shown(entry: str) -> str:
    """An entry for people and models: bytes that are no UTF-8 become U+FFFD."""
    return entry.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# --- operations -------------------------------------------------------------------------------------------------------


def content(text: str) -> str:
    """The entry as it will be read back. Raises ``MemoryDelimiterInContent``, and ``Usage`` for nothing at all."""
    encodable = text.encode("utf-8", "replace").decode("utf-8").replace("\ufeff", "")
    entry = _CONTROLS.sub("", "\n".join(lines(encodable))).strip()
    if not entry:
        raise Usage("an entry of the memory must say something", hint="remove takes an entry away")
    if any(line.strip() == SIGN for line in lines(entry)):
        raise MemoryDelimiterInContent(
            f"a line of the entry is {SIGN} alone: it would read back as two entries",
            hint="add each as an entry of its own, or put the sign beside other text",
        )
    return entry


def planned(memory: Memory, operations: Sequence[Operation], *, archive: bool = False) -> Planned:
    """All of them or none. ``archive``: the oldest of the other entries make room for what does not fit.

    Raises ``MemoryFull``, ``NotFound``, ``NameAmbiguous``, ``MemoryDelimiterInContent``, ``Usage``.
    """
    if not 0 < len(operations) <= MOST_OPERATIONS:
        raise Usage(f"1 to {MOST_OPERATIONS} operations, not {len(operations)}", hint="the others with the next call")
    draft = _Draft(list(memory.entries))
    for operation in operations:
        draft.apply(operation, memory)
    after = replace(memory, entries=tuple(draft.entries))
    if after.entries != memory.entries and after.characters > memory.limit and after.characters >= memory.characters:
        if not archive:
            raise _full(memory, after, draft.new)
        after = _made_room(memory, after, draft)
    lines = () if after.entries == memory.entries else tuple(draft.lines)
    return Planned(after=after, lines=lines, archived=tuple(draft.archived), notes=tuple(draft.notes))


@dataclass(slots=True)
class _Draft:
    entries: list[str]
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)

    def apply(self, operation: Operation, memory: Memory) -> None:
        if operation.action is Action.ADD:
            self._add(content(operation.content))
        elif operation.action is Action.REMOVE:
            at = place(self.entries, operation.part, memory.target)
            self.lines.append(f"- {shown(self.entries.pop(at))}")
        else:
            self._replace(place(self.entries, operation.part, memory.target), content(operation.content))

    def _add(self, entry: str) -> None:
        if entry in self.entries:
            self.notes.append("this very entry is there already; nothing was added")
            return
        self.entries.append(entry)
        self.new.append(entry)
        self.lines.append(f"+ {entry}")

    def _replace(self, at: int, entry: str) -> None:
        old = self.entries[at]
        if entry == old:
            self.notes.append("the entry says this already")
            return
        self.lines.append(f"- {shown(old)}")
        if entry in self.entries:
            del self.entries[at]
            self.notes.append("the new text is an entry already; the old entry was removed")
            return
        self.entries[at] = entry
        self.new.append(entry)
        self.lines.append(f"+ {entry}")


def place(entries: Sequence[str], part: str, target: Target) -> int:
    """Where the one entry stands that holds ``part``: exactly, or else without regard to case and blanks.

    Raises ``NotFound``; ``NameAmbiguous`` unless the entries that hold it say the same.
    """
    wanted = part.strip()
    if not wanted:
        raise Usage("which entry? Say a part of its text that no other entry has", hint="hermes-cron memory list")
    found = [at for at, entry in enumerate(entries) if entry == wanted]
    found = found or [at for at, entry in enumerate(entries) if wanted in entry]
    found = found or [at for at, entry in enumerate(entries) if folded(wanted) in folded(entry)]
    if not found:
        raise absent(wanted, {target: entries})
    matches = [entries[at] for at in found]
    if len(set(matches)) > 1:
        raise _several(wanted, target, matches)
    return found[0]


def folded(text: str) -> str:
    """For telling whether two texts say the same: case, and where lines break, do not matter."""
    return " ".join(text.casefold().split())


def _made_room(memory: Memory, after: Memory, draft: _Draft) -> Memory:
    """The oldest stand first. What this call wrote stays, or it would be told as written and be gone."""
    new = set(draft.new)
    kept = list(after.entries)
    for entry in after.entries:
        if size(kept) <= memory.limit:
            break
        if entry not in new:
            kept.remove(entry)
            draft.archived.append(entry)
            draft.lines.append(f"- {shown(entry)}")
    if size(kept) > memory.limit:
        raise _full(memory, after, draft.new)
    older = "an older entry" if len(draft.archived) == 1 else f"{len(draft.archived)} older entries"
    draft.notes.append(f"{older} went to {memory.target.archive} to make room")
    return replace(after, entries=tuple(kept))


def _full(memory: Memory, after: Memory, new: Sequence[str]) -> MemoryFull:
    length = sum(map(len, new))
    what = f"an entry of {length} characters" if len(new) == 1 else f"{len(new)} entries of {length} characters"
    return MemoryFull(
        f"{memory.target.file} holds {memory.usage} characters; {what} would make it {after.characters}: "
        "replace or remove existing entries first",
        hint="say one thing once and in few words; what is a way of working goes into a skill",
        details={"current_entries": [shown(entry) for entry in memory.entries], "usage": memory.usage},
    )


def absent(part: str, files: Mapping[Target, Sequence[str]]) -> NotFound:
    """That none of these files has an entry that holds ``part``, with the nearest."""
    by_start = {one_line(shown(entry), _SHORT): entry for entries in files.values() for entry in entries}
    near = difflib.get_close_matches(part, by_start, n=_NEAR, cutoff=0.4)
    return NotFound(
        f'no entry of {" and ".join(target.file for target in files)} holds "{one_line(part, _SHORT)}"',
        hint="a part of the entry's own words; hermes-cron memory list",
        details={"near": near},
    )


def _several(part: str, target: Target, matches: Sequence[str]) -> NameAmbiguous:
    return NameAmbiguous(
        f'"{one_line(part, _SHORT)}" stands in {len(matches)} entries of {target.file}; nothing was changed',
        hint="say more of the one that is meant",
        details={"matches": [one_line(shown(entry), _SHORT) for entry in matches]},
    )


def alike(one: str, other: str) -> bool:
    """Whether two entries say the same in other punctuation, or nearly in the same words. Another number is another
    fact."""
    mine, yours = set(words(one)), set(words(other))
    if not mine or not yours:
        return folded(one) == folded(other)
    differing = mine ^ yours
    if any(word.isdecimal() for word in differing):
        return False
    return not differing or (min(len(mine), len(yours)) >= 4 and len(mine & yours) / len(mine | yours) >= 0.8)

"""Who may write into the memory, and through which door? People through their commands, runs through theirs.

Both plan on the file as it lies there and plan again with the history's lock held, so that what other writers and
editors saved meanwhile stays. The scanner, the look for secrets and the lint stand before either.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hermes_cron.domain import plain_password
from hermes_cron.domain.clip import one_line
from hermes_cron.domain.entries import Entry, read, texts, written
from hermes_cron.domain.file_edit import Drop, Edits, Put
from hermes_cron.domain.learning import Author, Kind, Learned, LearnedState, MemoryDoor, MemoryMode
from hermes_cron.domain.scan import Finding, Purpose, Verdict, scan
from hermes_cron.domain.tool_call import Probe, ToolOutput
from hermes_cron.errors import (
    Conflict,
    HermesCronError,
    NameAmbiguous,
    NotFound,
    Refused,
    SecretInPlainSight,
    TextBlocked,
    Usage,
)
from hermes_cron.experience import memory_lint
from hermes_cron.experience.consolidation import Done as Tidied
from hermes_cron.experience.memory import (
    Action,
    Memory,
    Operation,
    Planned,
    Target,
    absent,
    content,
    place,
    planned,
    shown,
)
from hermes_cron.experience.memory_block import Block, Kept, block
from hermes_cron.experience.memory_lint import Fault, Remark

if TYPE_CHECKING:
    from hermes_cron.desks.learning import Lesson
    from hermes_cron.desks.memory_lost import Lost
    from hermes_cron.domain.event import SecurityFinding
    from hermes_cron.wiring import App

_SHORT = 60
_TRIES = 3
_SKILL_HINT = "make it a skill (docs/formats/skills.md; an agent: skill_manage), and note here that there is one"


class _NothingToDo(Conflict):
    """With the lock held, all of it is there already: somebody else wrote it meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a person's operations. ``remarks`` are those of the new entries that are no reason to refuse."""

    planned: Planned
    remarks: tuple[Remark, ...] = ()
    warnings: tuple[Finding, ...] = ()
    lost: tuple[str, ...] = ()
    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    planned: Planned
    remarks: tuple[Remark, ...]
    warnings: tuple[Finding, ...]
    lost: tuple[str, ...]


class MemoryDesk:
    """The memory of one home."""

    def __init__(self, app: App) -> None:
        self._app = app

    # --- reading ----------------------------------------------------------------------------------------------------

    def kept(self, target: Target) -> Kept:
        """One file as it lies there now. One that cannot be read says so and has no entries."""
        limit = self._limit(target)
        try:
            data = self._data(target)
        except Refused as error:
            return Kept(target=target, limit=limit, fault=error.message)
        return Kept(target=target, entries=read(data or b""), limit=limit)

    def archived(self, target: Target) -> tuple[Entry, ...]:
        """Entries that had to make room; none where the archive cannot be read."""
        try:
            return read(self._bytes(target.archive) or b"")
        except Refused:
            return ()

    def block(self, mode: MemoryMode) -> Block:
        """What a run that begins now has of it in its system prompt."""
        if mode is MemoryMode.OFF:
            return Block(text="")
        return block([self.kept(target) for target in Target], writable=mode is MemoryMode.READ_WRITE)

    def lint(self, target: Target) -> tuple[tuple[int, str, Remark | Finding], ...]:
        """Line, entry, and what is to be said of it, in the order of the file."""
        entries = self.kept(target).entries
        found: list[tuple[int, str, Remark | Finding]] = [
            (entry.line, entry.text, remark) for entry, remark in memory_lint.lint(entries, target)
        ]
        for entry in entries:
            bad = scan(shown(entry.text), Purpose.MEMORY).findings
            found += [(entry.line, entry.text, each) for each in bad if each.verdict is not Verdict.ALLOW]
        return tuple(sorted(found, key=lambda each: each[0]))

    def secret(self, entry: str) -> bool:
        """Whether it holds a secret, or what looks like one."""
        text = shown(entry)
        return self._app.redact(text) != text or plain_password.said(text)

    def lost(self, target: Target) -> tuple[Lost, ...]:
        """What a save by hand took away that its editor may not have seen."""
        from hermes_cron.desks.memory_lost import lost_lately

        return lost_lately(self._app.snapshots, target, self._data(target), now=self._app.clock.now())

    # --- for people -------------------------------------------------------------------------------------------------

    def find(self, part: str, targets: Sequence[Target]) -> tuple[Target, str]:
        """The one entry that a part of its text means. Raises ``NotFound``, ``NameAmbiguous``."""
        found: dict[Target, str] = {}
        files = {target: self.kept(target) for target in targets}
        for target, kept in files.items():
            entries = kept.memory.entries
            with suppress(NotFound):
                found[target] = entries[place(entries, part, target)]
        if len(found) > 1:
            raise NameAmbiguous(
                f'"{one_line(part, _SHORT)}" stands in both files; nothing was changed',
                hint="say which: --target memory or --target user",
                details={"matches": [one_line(shown(entry), _SHORT) for entry in found.values()]},
            )
        if not found:
            for target, kept in files.items():
                if kept.fault is not None:  # it may be there
                    raise Refused(kept.fault, hint=f"ls -ld {target.path}")
            raise absent(part, {target: kept.memory.entries for target, kept in files.items()})
        return next(iter(found.items()))

    def carry_out(self, target: Target, operations: Sequence[Operation]) -> Done:
        """A person's operations. One that lost against a save of these moments is tried again on what was saved.

        Raises ``Conflict`` where the entry that was meant is gone by then.
        """
        lost: Conflict | None = None
        for _ in range(_TRIES):
            try:
                return self._tried(target, operations)
            except Conflict as error:
                lost = error
            except (NotFound, NameAmbiguous):
                if lost is None:
                    raise
        raise lost or Conflict(f"{target.file} changes all the time just now", hint="try again")

    def _tried(self, target: Target, operations: Sequence[Operation]) -> Done:
        judged = self._judged(target, operations, None)
        plan, made = judged.planned, None
        if plan.lines:
            lines: list[str] = []
            made = self._app.change(self._reason(operations), partial(self._edits, target, operations, lines))
            plan = replace(plan, lines=tuple(lines))
        return Done(planned=plan, remarks=judged.remarks, warnings=judged.warnings, lost=judged.lost, snapshot=made)

    # --- for runs ---------------------------------------------------------------------------------------------------

    def door(self, author: Author) -> MemoryDoor | None:
        """None where the author may not write."""
        if author.memory is not MemoryMode.READ_WRITE:
            return None
        return MemoryDoor(write=partial(self._write, author), probe=partial(self._probe, author))

    def _write(self, author: Author, wanted: Sequence[Mapping[str, Any]], key: str) -> ToolOutput:
        target = Target.MEMORY
        try:
            target, operations = understood(wanted)
            return self._written(author, target, operations, key)
        except HermesCronError as error:
            return _answer(_refusal(error, self.kept(target).memory), ok=False)

    def _written(self, author: Author, target: Target, operations: Sequence[Operation], key: str) -> ToolOutput:
        for _ in range(_TRIES):
            judged = self._judged(target, operations, author)
            if not judged.planned.lines:
                return self._told(target, judged, None)
            try:
                lesson = self._lesson(target, operations, judged)
                return self._told(target, judged, self._app.learning.write(author, key, lesson))
            except _NothingToDo:
                continue
        raise Conflict(f"{target.file} changes all the time just now", hint="try again")

    def _lesson(self, target: Target, operations: Sequence[Operation], judged: _Judged) -> Lesson:
        from hermes_cron.desks.learning import Lesson

        lines = list(judged.planned.lines)  # put right by the edits: what they find under the lock is what happens
        return Lesson(
            kind=Kind.MEMORY,
            name=target.file,
            change=operations[0].action.done if len(operations) == 1 else "changed",
            reason=self._reason(operations),
            lines=lines,
            edits=partial(self._edits, target, operations, lines),
            details={"operations": [_plain(target, operation) for operation in operations]},
        )

    def _told(self, target: Target, judged: _Judged, learned: Learned | None) -> ToolOutput:
        now = self.kept(target).memory
        if learned is None:
            said = f"{target.file} is as it was"
        elif learned.state is LearnedState.PROPOSED:
            said = f"proposed (a{learned.approval}): a person decides, and nothing is changed before that"
        else:
            said = f"{target.file}: {learned.change}; later runs have it in their prompt"
        notes = [*judged.planned.notes, *(remark.message for remark in judged.remarks)]
        notes += [f"reads like {found.kind.words} to the scanner: {found.excerpt}" for found in judged.warnings]
        if judged.lost:
            notes.append(f"an edit by hand had just taken away: {'; '.join(judged.lost)}")
        return _answer(
            {"success": True, "message": said, "usage": now.usage, **({"notes": notes} if notes else {})}, ok=True
        )

    def _probe(self, author: Author, key: str) -> Probe:
        done = self._app.learning.happened(author, key)
        if done is None:
            return Probe(happened=False, text="the memory has no change by this call")
        return Probe(happened=True, text=f"{done.name or 'the memory'}: {done.change}")

    # --- for the consolidation --------------------------------------------------------------------------------------

    def tidied(self, target: Target, tidy: Callable[[Memory], Tidied]) -> tuple[Tidied, Edits]:
        """What a plan makes of the file as it lies there at this moment, and the edits that it takes."""
        data = self._data(target)
        memory = self._memory(target, data)
        done = tidy(memory)
        edits: dict[str, Put | Drop] = {}
        if done.changed:
            edits[target.path] = Put(data=written(done.after, memory.limit), before=data)
        if done.archived:
            edits[target.archive] = self._archived(target, done.archived)
        return done, edits

    def unfit(self, target: Target, text: str, author: Author) -> str | None:
        """Why a model's text may not stand in the file; what the scanner blocks is noted."""
        try:
            self._screened(target, [text], author)
            self._refuse_secrets([text])
        except (TextBlocked, SecretInPlainSight) as error:
            return error.message
        return None

    # --- both -------------------------------------------------------------------------------------------------------

    def _judged(self, target: Target, operations: Sequence[Operation], author: Author | None) -> _Judged:
        """What the operations make of the file as it lies there, unless something stands against it."""
        new = [content(each.content) for each in operations if each.action is not Action.REMOVE]
        warnings = self._screened(target, new, author)
        self._refuse_secrets(new)
        data = self._data(target)
        plan = planned(self._memory(target, data), operations, archive=self._archives)
        remarks = [
            remark
            for entry in new
            for remark in memory_lint.remarks(entry, target, [it for it in plan.after.entries if it != entry])
        ]
        if any(remark.refused for remark in remarks):
            raise Refused(
                f"the entry is {Remark(fault=Fault.METHOD).message}; nothing was changed",
                hint=f"{_SKILL_HINT}. A list of facts is written without numbers",
                details={"lint": [{"kind": remark.fault.value} for remark in remarks if remark.refused]},
            )
        return _Judged(plan, tuple(remarks), warnings, self._just_lost(target, data))

    def _just_lost(self, target: Target, data: bytes | None) -> tuple[str, ...]:
        from hermes_cron.desks.memory_lost import lost_now

        found = lost_now(self._app.snapshots, target, data, now=self._app.clock.now())
        return tuple(one_line(shown(entry), _SHORT) for entry in found)

    def _screened(self, target: Target, new: Sequence[str], author: Author | None) -> tuple[Finding, ...]:
        """What is warned of. Raises ``TextBlocked``; either is noted."""
        found = [each for entry in new for each in scan(entry, Purpose.MEMORY).findings]
        told = [each for each in found if each.verdict is not Verdict.ALLOW]
        if told:
            self._app.note_security([_event(target, each, author) for each in told])
        blocked = [each for each in told if each.verdict is Verdict.BLOCK]
        if blocked:
            raise TextBlocked(
                f"the entry is blocked, {blocked[0].kind.words}: {blocked[0].excerpt}",
                hint="quote what is only spoken of; look: hermes-cron scan FILE --as memory",
                details={"blocked": [{"class": each.kind.value, "line": each.line} for each in blocked]},
            )
        return tuple(told)

    def _refuse_secrets(self, new: Sequence[str]) -> None:
        """The memory is in every prompt and in the history, which is pushed and shared."""
        if any(map(self.secret, new)):
            raise SecretInPlainSight(
                "the entry holds a secret, or what looks like one; nothing was changed",
                hint="name it: hermes-cron secrets set NAME, and write secret:NAME",
            )

    def _reason(self, operations: Sequence[Operation]) -> str:
        if len(operations) > 1:
            return f"memory: {len(operations)} changes"
        only = operations[0]
        return f"memory {only.action.value}: {one_line(self._app.redact(only.content or only.part), _SHORT)}"

    def _edits(self, target: Target, operations: Sequence[Operation], lines: list[str]) -> Edits:
        """Asked for with the lock held: planned anew on what lies there then."""
        data = self._data(target)
        memory = self._memory(target, data)
        try:
            plan = planned(memory, operations, archive=self._archives)
        except (NotFound, NameAmbiguous) as error:
            raise Conflict(
                f"{target.file} was changed meanwhile: {error.message}", hint="look at it, then try again"
            ) from error
        if not plan.lines:
            raise _NothingToDo(f"{target.file} says all of it already", hint="hermes-cron memory list")
        lines[:] = plan.lines
        edits = {target.path: Put(data=written(plan.after.entries, memory.limit), before=data)}
        if plan.archived:
            edits[target.archive] = self._archived(target, plan.archived)
        return edits

    def _archived(self, target: Target, entries: Sequence[str]) -> Put:
        """The archive has no limit; what is new stands last."""
        before = self._bytes(target.archive)
        return Put(data=written([*texts(before or b""), *entries]), before=before)

    @property
    def _archives(self) -> bool:
        return self._app.settings_now.memory.overflow == "archive"

    def _limit(self, target: Target) -> int:
        settings = self._app.settings_now.memory
        return settings.memory_chars if target is Target.MEMORY else settings.user_chars

    def _memory(self, target: Target, data: bytes | None) -> Memory:
        return Memory(target=target, entries=texts(data or b""), limit=self._limit(target))

    def _data(self, target: Target) -> bytes | None:
        return self._bytes(target.path)

    def _bytes(self, path: str) -> bytes | None:
        """None for no file. Raises ``Refused`` for what is no plain file: a link could lead anywhere."""
        try:
            fd = os.open(self._app.home.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(f"{path} is no plain file, or may not be read", hint=f"ls -ld {path}") from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise Refused(f"{path} is no plain file", hint=f"ls -ld {path}")
        with os.fdopen(fd, "rb") as file:
            return file.read()


def _event(target: Target, found: Finding, author: Author | None) -> SecurityFinding:
    from hermes_cron.domain.event import SecurityFinding

    return SecurityFinding(
        guard=Purpose.MEMORY,
        kind=found.kind,
        verdict=found.verdict,
        place=target.path,
        job=None if author is None else author.job_name,
        run_id=None if author is None else author.run_id,
    )


def understood(wanted: Sequence[Mapping[str, Any]]) -> tuple[Target, tuple[Operation, ...]]:
    """The operations of one call: all of one file. Raises ``Usage``."""
    targets = {str(each.get("target") or Target.MEMORY.value) for each in wanted}
    if len(targets) != 1:
        raise Usage("the operations of one call are of one file", hint="one call for memory, one for user")
    try:
        target = Target(targets.pop())
        operations = tuple(
            Operation(
                action=Action(str(each.get("action"))),
                content=str(each.get("content") or ""),
                part=str(each.get("old_text") or ""),
            )
            for each in wanted
        )
    except ValueError as error:
        raise Usage(str(error), hint="action: add, replace or remove; target: memory or user") from error
    return target, operations


def _plain(target: Target, operation: Operation) -> dict[str, str]:
    return {
        "target": target.value,
        "action": operation.action.value,
        "content": operation.content,
        "old_text": operation.part,
    }


def _refusal(error: HermesCronError, memory: Memory) -> dict[str, object]:
    """Always with what there is, so that the next call can be right."""
    known = {name: value for name, value in error.details.items() if name not in ("current_entries", "usage")}
    return {
        "error": error.message,
        "success": False,
        "code": error.code,
        **({"hint": error.hint} if error.hint else {}),
        **known,
        "current_entries": [shown(entry) for entry in memory.entries],
        "usage": memory.usage,
    }


def _answer(body: Mapping[str, object], *, ok: bool) -> ToolOutput:
    return ToolOutput(text=json.dumps(body, ensure_ascii=False), ok=ok)

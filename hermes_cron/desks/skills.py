"""How does a skill change? By an agent's call through its door, or by a person's command; never but through here.

Planned on the files as they lie there and planned again with the history's lock held, so that what other writers and
editors saved meanwhile is what a change is made to. What is refused leaves every byte as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.file_edit import Drop, Edits, Put
from hermes_cron.domain.learning import Author, Kind, Learn, Learned, LearnedState
from hermes_cron.domain.scan import Kind as ScannedKind
from hermes_cron.domain.scan import Purpose, Verdict
from hermes_cron.domain.skill_use import NOT_ACTING
from hermes_cron.domain.tool_call import Probe, ToolOutput, error_output
from hermes_cron.errors import (
    Conflict,
    DiskFull,
    HermesCronError,
    NotFound,
    NotWritable,
    Refused,
    SecretInPlainSight,
    SnapshotFailed,
    TextBlocked,
)
from hermes_cron.experience import lifecycle, skill_ops, skill_secrets, skill_write
from hermes_cron.experience.skill_ops import Action, Because, Operation
from hermes_cron.experience.skill_screen import SkillFinding
from hermes_cron.experience.skill_state import File, State, read_state, refuse_hidden, refuse_links
from hermes_cron.experience.skill_version import version_of
from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE, Skill, SkillLibrary

if TYPE_CHECKING:
    from hermes_cron.desks.lesson import Lesson
    from hermes_cron.wiring import App

_CALLS = 5
"""Below it a run shows no method worth a skill (spec A5-3)."""
_TRIES = 3
_SHOWN_LINES = 40
_SHOWN_WIDTH = 300
_PLACE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call would do. ``name`` is the skill's qualified name, ``said`` what each operation did."""

    name: str
    change: str
    reason: str
    edits: Edits
    lines: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    version: str | None = None
    warnings: tuple[SkillFinding, ...] = ()
    copied: bool = False
    """A shipped skill came into the home by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A skill that is there. ``before`` is what lies in the home, None for a shipped one that was never changed."""

    skill: Skill
    state: State
    before: State | None


class SkillDesk:
    """Changes of skills."""

    def __init__(self, app: App) -> None:
        self._app = app

    # --- for runs ---------------------------------------------------------------------------------------------------

    def writer(self, author: Author) -> Callable[[Sequence[Mapping[str, Any]], str], ToolOutput] | None:
        """The writing half of an author's door; None where the job's runs learn nothing."""
        return None if author.learn is Learn.OFF else partial(self.write, author)

    def write(self, author: Author, wanted: Sequence[Mapping[str, Any]], key: str) -> ToolOutput:
        """The operations of one call, all or none; told as one JSON object."""
        name = ""
        try:
            operations = skill_ops.understood(wanted)
            name = operations[0].name
            return self._written(author, operations, key)
        except (DiskFull, NotWritable, SnapshotFailed) as error:
            return self._stopped(author, key, error)
        except HermesCronError as error:
            self._note_refusal(author, name, error)
            return error_output(error)

    def probe(self, author: Author, key: str) -> Probe:
        """Whether the call with this key happened."""
        done = self._app.learning.happened(author, key)
        if done is None:
            return Probe(happened=False, text="no skill has a change by this call")
        return Probe(happened=True, text=f"{done.name or 'the skill'}: {done.change}")

    def _written(self, author: Author, operations: Sequence[Operation], key: str) -> ToolOutput:
        if (known := self._app.learning.happened(author, key)) is not None:  # before a crash; the old text is gone
            return _told_again(known)
        tries = _TRIES
        while True:
            plan = self.plan(author, operations)
            lesson, last = self._lesson(author, operations, plan)
            try:
                learned = self._app.learning.write(author, key, lesson)
            except Conflict:  # an editor saved in these moments
                tries -= 1
                if not tries:
                    raise
                continue
            self._app.skills_now()
            if last[0].warnings:
                self._app.note_security([_event(author, last[0].name, it) for it in last[0].warnings])
            return _told(last[0], learned)

    def _lesson(self, author: Author, operations: Sequence[Operation], plan: Plan) -> tuple[Lesson, list[Plan]]:
        from hermes_cron.desks.lesson import Lesson

        lines, last = list(plan.lines), [plan]  # put right by the edits: what they find under the lock is what happens

        def edits() -> Edits:
            last[0] = now = self.plan(author, operations)
            if now.name != plan.name:
                raise Conflict(f"{plan.name} was moved meanwhile", hint="skill_view, then try again")
            lines[:] = now.lines
            return now.edits

        return Lesson(
            kind=Kind.SKILL,
            name=plan.name,
            change=plan.change,
            reason=self._app.redact(f"skill {plan.name} {plan.change}: {plan.reason}"),
            lines=lines,
            edits=edits,
            details={
                "operations": [{**_plain(each), "reason": self._app.redact(each.reason)} for each in operations],
                "because": self._app.redact(plan.reason),
            },
        ), last

    def _stopped(self, author: Author, key: str, error: HermesCronError) -> ToolOutput:
        """The disk failed: what can be finished is, and else the answer names the snapshot that has the skill as it
        was."""
        try:
            self._app.snapshots.settle()
            if (done := self._app.learning.happened(author, key)) is not None:
                return _told_again(done)
        except HermesCronError:
            pass  # it still fails; the next command finishes what is begun
        with suppress(HermesCronError):
            for head in islice(self._app.snapshots.log(), 1):
                before = head.parent if head.call == key and head.parent is not None else head.id
                error.message = f"{error.message}; the state before is snapshot {before[:7]}"
        return error_output(error)

    def _note_refusal(self, author: Author, name: str, error: HermesCronError) -> None:
        from hermes_cron.store import skill_uses

        known = self._known(name)
        if isinstance(error, TextBlocked):
            self._app.note_security([_blocked(author, known or name, error)])
        if known is not None:  # a name that a model made up is no label of a metric
            self._app.store.write(lambda conn: skill_uses.count_patch(conn, known, "refused"))

    def _known(self, name: str) -> str | None:
        return next((it.qualified for it in self._app.skills_now().all() if name in (it.name, it.qualified)), None)

    # --- planning ---------------------------------------------------------------------------------------------------

    def plan(self, author: Author, operations: Sequence[Operation]) -> Plan:
        """What the call does to the files as they lie there now. Raises why it may not; writes nothing."""
        library, first = self._app.skills_now(), operations[0]
        self._refuse_mode(author, operations)
        if first.action is Action.CREATE:
            return self._created(library, author, operations)
        found = self._found(library, first.name)
        if found.skill.pinned:
            raise Refused(
                f"{found.skill.qualified} is pinned: only a person changes it",
                hint=f"say in the report what should change; hermes-cron skills unpin {found.skill.name}",
            )
        if first.action is Action.ARCHIVE:
            if first.name not in (found.skill.name, found.skill.qualified):
                raise Conflict(f"{first.name} was merged into {found.skill.qualified}", hint="there is nothing to do")
            return self._archived(found, first)
        state, said, warnings = skill_write.planned(found.skill.folder.name, found.state, operations, _check_playbook)
        if not author.methods:
            skill_write.refuse_methods(found.state, state)
        self._refuse_secrets(found.state, state)
        return self._plan(found, state, operations, said, warnings)

    def _plan(
        self, found: _Found, state: State, operations: Sequence[Operation], said: tuple[str, ...],
        warnings: tuple[SkillFinding, ...],
    ) -> Plan:  # fmt: skip
        name = found.skill.qualified
        return Plan(
            name=name,
            change=skill_ops.change_of(operations),
            reason=operations[0].reason,
            edits=_edits(f"skills/{name}", found.before, state),
            lines=skill_ops.lines_between(found.state, state),
            said=said,
            version=version_of(state.skill),
            warnings=warnings,
            copied=found.before is None,
        )

    def _created(self, library: SkillLibrary, author: Author, operations: Sequence[Operation]) -> Plan:
        first = operations[0]
        category, _, short = first.name.rpartition("/")
        category = category or skill_ops.CATEGORY
        for part in (*category.split("/"), short):
            skill_ops.refuse_name(part)
        self._refuse_taken(library, short)
        reason = first.reason
        if author.actor != "cli":
            if not author.methods:
                raise Refused(
                    "the run did not end well: it teaches no method", hint="add a pitfall to the skill that was used"
                )
            reason = f"{self._worth(author, first)}: {reason}"
        folder = self._app.home.skills / category / short
        refuse_links(folder, self._app.home.skills)
        refuse_hidden(folder, self._app.home.skills)
        state, said, warnings = skill_write.planned(short, None, operations, _check_playbook)
        self._refuse_secrets(None, state)
        return Plan(
            name=f"{category}/{short}",
            change="created",
            reason=reason,
            edits=_edits(f"skills/{category}/{short}", None, state),
            lines=skill_ops.lines_between(None, state),
            said=said,
            version=version_of(state.skill),
            warnings=warnings,
        )

    def _refuse_secrets(self, before: State | None, after: State) -> None:
        if skill_secrets.comes_in(before, after, self._app.redact):
            raise SecretInPlainSight(
                "the new text holds a secret, or what looks like one; nothing was changed",
                hint="name it: secret:NAME, which a person sets with hermes-cron secrets set NAME",
            )

    def _refuse_taken(self, library: SkillLibrary, name: str) -> None:
        for skill in library.all():
            if name.casefold() in {skill.name.casefold(), skill.folder.name.casefold()}:
                raise Conflict(f"there is a skill {skill.qualified} already", hint="patch it: what is proven stays")
        archived = next((self._app.home.skills / ARCHIVE).glob(f"**/{name}/{SKILL_FILE}"), None)
        if archived is not None:
            raise Conflict(
                f"a skill {name} was archived", hint=f"another name, or a person: hermes-cron skills restore {name}"
            )

    def _found(self, library: SkillLibrary, name: str) -> _Found:
        """A broken one too: a patch may be what mends it. Raises ``NotFound``, ``SkillAmbiguous``, a link's fault."""
        try:
            skill = library.get(name)
        except NotFound:
            raise
        except HermesCronError:
            broken = [it for it in library.all() if it.fault is not None and name in (it.name, it.qualified)]
            if len(broken) != 1 or not broken[0].path.is_file():
                raise
            skill = broken[0]
        if skill.bundled:
            return _Found(skill=skill, state=_as_shipped(read_state(skill.folder, skill.folder)), before=None)
        state = read_state(skill.folder, self._app.home.skills)
        return _Found(skill=skill, state=state, before=state)

    def _archived(self, found: _Found, operation: Operation) -> Plan:
        name = found.skill.qualified
        place = self._free(f"skills/{ARCHIVE}/{name}")
        edits: dict[str, Put | Drop] = {f"{place}/{path}": _put(file, None) for path, file in found.state.files.items()}
        for path, file in (found.before.files if found.before is not None else {}).items():
            edits[f"skills/{name}/{path}"] = Drop(before=file.data)
        if (line := lifecycle.unmarked(self._app.home.skills, name)) is not None:  # it comes back as an active one
            edits[f"skills/{lifecycle.STALE_FILE}"] = Put(data=line[1], before=line[0])
        return Plan(
            name=name, change="archived", reason=operation.reason, edits=edits,
            said=(f"{name} archived; hermes-cron skills restore {found.skill.name} brings it back",),
        )  # fmt: skip

    def _free(self, path: str) -> str:
        """The path, or the first with a number behind it: an archived skill is never overwritten."""
        number, free = 1, path
        while (self._app.home.root / free).exists():
            number += 1
            free = f"{path}.{number}"
        return free

    # --- may it -----------------------------------------------------------------------------------------------------

    def _refuse_mode(self, author: Author, operations: Sequence[Operation]) -> None:
        if author.learn is Learn.ABSORB and any(each.action is not Action.PATCH for each in operations):
            raise Refused(
                "this job learns by patching the skills that exist (learn: absorb), and by nothing else",
                hint="patch the skill that fits best",
            )

    def _worth(self, author: Author, operation: Operation) -> str:
        """Why the method deserves a skill, with the run's own figures. Raises ``Refused`` where they say otherwise."""
        calls, errors, told = self._work(author)
        figures = f"{calls} call{'' if calls == 1 else 's'}, {errors} error{'' if errors == 1 else 's'}"
        reasons = {
            Because.STEPS: (calls >= _CALLS, f"it took {figures}"),
            Because.METHOD: (calls >= _CALLS, f"a way that was not obvious, {figures}"),
            Because.ERRORS: (errors > 0, f"errors were overcome, {figures}"),
            Because.CORRECTION: (told, f"a person's correction worked, {figures}"),
            Because.ASKED: (True, f"it was asked for, {figures}"),
        }
        holds, words = reasons[operation.because or Because.STEPS]
        if not holds:
            raise Refused(
                f"too little for a skill of its own: {figures} in run {author.run_id or '-'}",
                hint=f"a skill is worth it from {_CALLS} calls on, after errors or a correction, or when asked for; "
                "a fact goes to memory",
            )
        return words

    def _work(self, author: Author) -> tuple[int, int, bool]:
        """How many calls did the run's work, how many of these failed, and whether a person said something to it."""
        from hermes_cron.store import feedback, views

        if author.run_id is None:
            return 0, 0, False
        with self._app.store.read() as conn:
            steps = [it for it in views.steps(conn, author.run_id) if it["phase"] == "main"]
            said = bool(feedback.of_runs(conn, [author.run_id]))
        calls = [it for it in steps if it["step"] == "tool" and it["tool"] not in NOT_ACTING]
        errors = sum(it["ok"] is False or bool(it["exit_code"]) for it in calls)
        return len(calls), errors, said or any(it["step"] == "told" for it in steps)


def _event(author: Author, name: str, found: SkillFinding) -> SecurityFinding:
    return SecurityFinding(
        guard=Purpose.SKILL, kind=found.finding.kind, verdict=found.finding.verdict,
        place=one_line(f"skills/{name}/{found.place}", _PLACE), job=author.job_name, run_id=author.run_id,
    )  # fmt: skip


def _blocked(author: Author, name: str, error: TextBlocked) -> SecurityFinding:
    place = f"skills/{name}/{error.details['file']}:{error.details['line']}"
    return SecurityFinding(
        guard=Purpose.SKILL, kind=ScannedKind(str(error.details["class"])), verdict=Verdict.BLOCK,
        place=one_line(place, _PLACE), job=author.job_name, run_id=author.run_id,
    )  # fmt: skip


def _edits(base: str, before: State | None, after: State) -> Edits:
    old = {} if before is None else before.files
    edits: dict[str, Put | Drop] = {
        f"{base}/{path}": _put(file, old.get(path)) for path, file in after.files.items() if old.get(path) != file
    }
    edits |= {f"{base}/{path}": Drop(before=file.data) for path, file in old.items() if path not in after.files}
    return edits


def _put(file: File, old: File | None) -> Put:
    """An old file keeps its mode by itself."""
    before = None if old is None else old.data
    return Put(data=file.data, before=before, bits=None if old is not None or file.link else file.bits, link=file.link)


def _as_shipped(state: State) -> State:
    """As ``init`` copies it: a program may be executed, other modes follow the umask."""
    return State(
        files={
            path: File(file.data, 0o755 if file.bits is not None and file.bits & 0o100 else None, file.link)
            for path, file in state.files.items()
            if "__pycache__" not in path
        }
    )


def _check_playbook(path: Path, shown: str) -> None:
    from hermes_cron.models.playbook.load import load

    load(path, shown=shown)


def _plain(operation: Operation) -> dict[str, Any]:
    """As ``write`` takes it again."""
    values = {name: getattr(operation, name) for name in operation.__dataclass_fields__}
    return {name: str(value) if name in ("action", "because") else value
            for name, value in values.items() if value is not None}  # fmt: skip


def _told_again(learned: Learned) -> ToolOutput:
    body = {"success": True, "message": _message(learned), "skill": learned.name, "change": learned.change}
    return ToolOutput(text=json.dumps({**body, "notes": [], "lines": _shown(learned.lines)}, ensure_ascii=False))


def _message(learned: Learned) -> str:
    if learned.state is LearnedState.PROPOSED:
        return f"proposed (a{learned.approval}): a person decides, and nothing is changed before that"
    return f"skill {learned.name} {learned.change}; it is used from the next run on"


def _shown(lines: Sequence[str]) -> list[str]:
    shown = [line[:_SHOWN_WIDTH] for line in lines[:_SHOWN_LINES]]
    return [*shown, *([f"... and {len(lines) - _SHOWN_LINES} more lines"] if len(lines) > _SHOWN_LINES else [])]


def _told(plan: Plan, learned: Learned) -> ToolOutput:
    notes = list(plan.said)
    if plan.copied and plan.change != "archived":
        notes.append("the skill came with hermes-cron; the home has a copy of its own now")
    notes += [
        f"reads like {it.finding.kind.words} to the scanner, {it.place}: {it.finding.excerpt}" for it in plan.warnings
    ]
    body: dict[str, Any] = {
        "success": True, "message": _message(learned), "skill": plan.name, "change": plan.change,
        **({"version": plan.version} if plan.version is not None else {}),
    }  # fmt: skip
    return ToolOutput(text=json.dumps({**body, "notes": notes, "lines": _shown(plan.lines)}, ensure_ascii=False))

"""How is the memory kept short and true? Once a night: what is said twice or holds no more goes, the rest is merged.

First without a model, then one call of the auxiliary model, whose text is only taken where the guard finds every fact
of the old entries in it. All of it is one change of the home with the run in its name; what went is in the history and
in the report. A run whose process died is gone on with: a change that was made is found by its key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.desks import consolidation_report as report
from hermes_cron.desks.consolidation_report import Facts, Record, Said
from hermes_cron.desks.learned_back import TAKEN
from hermes_cron.domain.job import LIMITS, Action, Job
from hermes_cron.domain.learning import Author, Kind, Learn, LearnedState
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.domain.scan import Purpose, scan
from hermes_cron.errors import Conflict
from hermes_cron.experience import consolidation, how_to
from hermes_cron.experience.consolidation import Done, Step, carried_out, partly_ended
from hermes_cron.experience.consolidation_guard import Fault, Refusal, Rewrite, judged
from hermes_cron.experience.memory import Target, shown
from hermes_cron.store import learned

if TYPE_CHECKING:
    from datetime import date

    from hermes_cron.agent.stop import LoopResult
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.file_edit import Drop, Put
    from hermes_cron.domain.learning import Learned
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.experience.how_to import Named
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.wiring import App

ACTOR = "consolidation"
JOB = "consolidate-memory"
MOVES = "moves"
"""In the details of a proposed skill: the entry that it is made of."""

_MOST_METHODS = 3
_TRIES = 3
_LOOK_BACK = 500
_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What follows from the files without a model. ``left`` are the entries that stay, ``open`` those of them that a
    model may tidy."""

    today: date
    steps: Mapping[Target, tuple[Step, ...]]
    left: Mapping[Target, tuple[str, ...]]
    open: Mapping[Target, tuple[str, ...]]
    faults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of asking the model; ``result`` None: it was not asked."""

    said: Said
    steps: Mapping[Target, tuple[Step, ...]] = field(default_factory=dict)
    methods: Mapping[str, Named] = field(default_factory=dict)
    result: LoopResult | None = None


class ConsolidationDesk:
    """The memory of one home, kept short and true."""

    def __init__(self, app: App) -> None:
        self._app = app

    def job(self) -> Job:
        """What a home without such a job runs by hand."""
        limits = replace(self._app.home_limits, inherited=LIMITS)
        return Job(name=JOB, timezone=self._app.settings.timezone, action=Action.CONSOLIDATE, limits=limits)

    # --- planning ---------------------------------------------------------------------------------------------------

    def draft(self) -> Draft:
        """Reads the files; changes nothing. A file that cannot be read is left alone, and so are entries that a person
        had back after a consolidation. What the scanner lets into no prompt is shown to no model."""
        app = self._app
        today = app.clock.now().astimezone(ZoneInfo(app.settings.timezone)).date()
        with app.store.read() as conn:
            rows = learned.done(conn)
        moved, back = self._moved(rows), _taken_back(rows)
        steps: dict[Target, tuple[Step, ...]] = {}
        left: dict[Target, tuple[str, ...]] = {}
        free: dict[Target, tuple[str, ...]] = {}
        faults: dict[str, str] = {}
        for target in Target:
            kept = app.memory.kept(target)
            if kept.fault is not None:
                faults[target.file] = kept.fault
                continue
            entries = kept.memory.entries
            planned = consolidation.plan(entries, today, moved)
            steps[target] = tuple(it for it in planned if back.isdisjoint(map(shown, it.sources)))
            left[target] = carried_out(target, entries, steps[target], kept.limit).after
            free[target] = tuple(it for it in left[target] if shown(it) not in back and _may_be_read(it))
        return Draft(today=today, steps=steps, left=left, open=free, faults=faults)

    def _moved(self, rows: Iterable[Learned]) -> dict[str, str]:
        """Entries that a person let become skills, and the skill of each that has all of its facts."""
        from hermes_cron.experience.facts import missing
        from hermes_cron.experience.skills import SKILL_FILE

        found: dict[str, str] = {}
        for row in rows:
            if row.state is not LearnedState.APPLIED or MOVES not in row.details:
                continue
            try:
                text = (self._app.home.skills / row.name / SKILL_FILE).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            entry = str(row.details[MOVES])
            if not missing([shown(entry)], text):
                found[entry] = row.name
        return found

    # --- doing ------------------------------------------------------------------------------------------------------

    def run(self, taken: TakenRun, cancel: Flag) -> Outcome:
        """One run of the job ``action: consolidate``. Raises what stops it, with nothing changed."""
        key = f"{taken.id}/1"
        made, asked = self._made(key), Asked(said=Said(state="little"))
        found = None if made is None else report.read(self._app.home, taken.job.name, taken.id)
        if made is not None and found is None:
            return Outcome(state=RunState.OK, text=f"snapshot {made.id[: report.SHORT]} has it; its report was lost")
        if found is None:
            draft = self.draft()
            asked = self._asked(taken, cancel, draft)
            if cancel.is_set():
                return Outcome(
                    state=RunState.CANCELLED, reason="cancelled", error="stopped before anything was changed"
                )
            found = self._changed(taken, key, draft, asked)
        self._noted(taken, found, made or self._made(key))
        self._propose(taken, found, asked.methods)
        found["state"] = "done"
        report.keep(self._app.home, found, self._app.redact)
        return self._outcome(taken, found, asked)

    def _made(self, key: str) -> Commit | None:
        return next((it for it in islice(self._app.snapshots.log(), _LOOK_BACK) if it.call == key), None)

    def _outcome(self, taken: TakenRun, found: Record, asked: Asked) -> Outcome:
        result = asked.result
        outcome = Outcome(
            state=RunState.OK,
            text=report.text(found, self._language(taken)),
            silent=found["dry"] or not report.moved(found),
            result=None if found["dry"] else self._seen(asked),
        )
        if result is None:
            return outcome
        return replace(
            outcome,
            iterations=result.iterations,
            model=result.model,
            tokens_input=result.usage.input,
            tokens_output=result.usage.output,
            tokens_cached=result.usage.cached,
        )

    def _language(self, taken: TakenRun) -> str:
        from hermes_cron.domain.notice import language_of

        return "zh" if language_of(taken.job) == "zh" else self._app.language

    # --- the change -------------------------------------------------------------------------------------------------

    def _changed(self, taken: TakenRun, key: str, draft: Draft, asked: Asked) -> Record:
        """All of it in one change, planned with the history's lock held on what lies there then."""
        facts = Facts(
            run=taken.id,
            job=taken.job.name,
            at=self._app.clock.now().isoformat(),
            dry=bool(taken.arguments.get("dry_run")),
            said=asked.said,
            faults=draft.faults,
            look=tuple(
                (target.file, entry) for target, entries in draft.left.items()
                for entry in partly_ended(entries, draft.today)
            ),
        )  # fmt: skip
        steps = {target: (*draft.steps[target], *asked.steps.get(target, ())) for target in draft.steps}
        if facts.dry:
            done = [self._tidied(target, steps[target])[0] for target in steps]
            return report.record(_after(facts, done), done, "planned")
        return self._written(taken, key, facts, steps)

    def _tidied(self, target: Target, steps: Sequence[Step]) -> tuple[Done, Mapping[str, Put | Drop]]:
        return self._app.memory.tidied(
            target, lambda memory: carried_out(target, memory.entries, steps, memory.limit)
        )  # fmt: skip

    def _written(self, taken: TakenRun, key: str, facts: Facts, steps: Mapping[Target, Sequence[Step]]) -> Record:
        from hermes_cron.changes import as_kept
        from hermes_cron.snapshots.commits import Why

        done: list[Done] = []
        found: list[Record] = []

        def edits() -> Any:
            all_edits: dict[str, Put | Drop] = {}
            done.clear()
            for target in steps:
                tidied, its = self._tidied(target, steps[target])
                done.append(tidied)
                all_edits |= its
            found[:] = [report.record(_after(facts, done), done, "planned")]
            if all_edits:
                report.keep(self._app.home, found[0], self._app.redact)
            return as_kept(all_edits)

        preview = [self._tidied(target, steps[target])[0] for target in steps]
        counts = report.record(_after(facts, preview), preview, "planned")["counts"]  # with what will have no room
        why = Why(actor=ACTOR, reason=_reason(counts), run=taken.id, job=_job(taken), call=key)
        changed = None
        for left in reversed(range(_TRIES)):
            try:
                changed = self._app.snapshots.change(why, edits, scope="paths")
                break
            except Conflict:  # an editor saved in these moments
                if not left:
                    raise
        if changed is not None and changed.kept:
            raise Conflict(
                f"{', '.join(changed.kept)} was changed by hand within these moments; that version is kept",
                hint=f"hermes-cron run {taken.job.name}",
            )
        return found[0]

    def _noted(self, taken: TakenRun, found: Record, made: Commit | None) -> None:
        """A row for each file that changed, so that ``runs show`` tells of it and an undo marks it."""
        from hermes_cron.desks.lesson import Lesson

        if made is None or made.parent is None:
            return
        found["before"], found["after"] = made.parent, made.id
        author = _author(taken)
        for number, (file, facts) in enumerate(found["files"].items(), start=1):
            if facts["lines"]:
                lesson = Lesson(
                    kind=Kind.MEMORY, name=file, change="changed", reason=made.reason, lines=facts["lines"], edits=dict
                )
                self._app.learning.made(author, f"{taken.id}/{number}", lesson, before=made.parent, after=made.id)

    # --- ways of working --------------------------------------------------------------------------------------------

    def _propose(self, taken: TakenRun, found: Record, named: Mapping[str, Named]) -> None:
        """Each once for ever: what a person denied is not asked again."""
        names = {skill.name for skill in self._app.skills_now().all()}
        found["proposed"] = []
        for entry in self._methods():
            if len(found["proposed"]) == _MOST_METHODS:
                break
            key = f"method/{hashlib.sha256(entry.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
            known = self._known(key)
            if known is not None and known.run_id != taken.id:
                continue
            text = how_to.skill_of(entry, names, named.get(entry))
            number = None if found["dry"] else self._proposed(taken, key, entry, text)
            names.add(text.name.rpartition("/")[2])
            found["proposed"].append({"entry": shown(entry), "skill": text.name, "approval": number})
        found["counts"]["proposed"] = len(found["proposed"])

    def _methods(self) -> list[str]:
        """Ways of working that lie in the memory now."""
        files = {target: self._app.memory.kept(target).memory.entries for target in Target}
        return [entry for target, entries in files.items() for entry in entries if how_to.is_method(entry, target)]

    def _known(self, key: str) -> Learned | None:
        with self._app.store.read() as conn:
            return learned.by_key(conn, key)

    def _proposed(self, taken: TakenRun, key: str, entry: str, skill: how_to.SkillText) -> str:
        """The question; a run that is gone on with has asked it once."""
        from hermes_cron.desks.lesson import Lesson

        author = replace(_author(taken), learn=Learn.PROPOSE)
        reason = "a way of working that lay in the memory"
        operation = {
            "action": "create", "name": skill.name, "reason": reason, "because": "asked", "content": skill.content,
        }  # fmt: skip
        lesson = Lesson(
            kind=Kind.SKILL,
            name=skill.name,
            change="created",
            reason=f"skill {skill.name} created: {reason}",
            lines=[f"+ {line}" for line in skill.content.splitlines()],
            edits=dict,
            details={"operations": [operation], "because": reason, MOVES: entry},
        )
        return f"a{self._app.learning.write(author, key, lesson).approval}"

    # --- the model --------------------------------------------------------------------------------------------------

    def _asked(self, taken: TakenRun, cancel: Flag, draft: Draft) -> Asked:
        from hermes_cron.agent.stop import StopReason
        from hermes_cron.desks.one_answer import means, side_model
        from hermes_cron.experience import consolidation_brief as brief
        from hermes_cron.runner.one_answer import Question, answered

        model = side_model(self._app)
        why_not = self._why_not(taken, draft, model)
        if model is None or why_not is not None:
            return Asked(said=Said(state=why_not or "none"))
        text = self._app.redact(brief.message(draft.open, draft.today))
        question = Question(system=brief.ORDER, text=text, phase=ACTOR)
        result = answered(taken, cancel, question, means(self._app, model))
        if result.stop is not StopReason.FINAL:
            return Asked(said=_failed(model, result.error or result.reason or str(result.stop)), result=result)
        wanted = brief.understood(result.text, draft.open)
        if wanted.fault is not None:
            return Asked(said=_failed(model, wanted.fault), result=result)
        refused, steps = list(wanted.refused), dict[Target, tuple[Step, ...]]()
        for target, rewrites in wanted.rewrites.items():
            found = [self._judged(taken, rewrite, target, draft.today) for rewrite in rewrites]
            steps[target] = tuple(it for it in found if isinstance(it, Step))
            refused += [it for it in found if isinstance(it, Refusal)]
        said = Said(state="answered", name=model, refused=tuple(refused))
        return Asked(said=said, steps=steps, methods=wanted.methods, result=result)

    def _judged(self, taken: TakenRun, rewrite: Rewrite, target: Target, today: date) -> Step | Refusal:
        found = judged(rewrite, target, today)
        if isinstance(found, Refusal) or found.text is None:
            return found
        why = self._app.memory.unfit(target, found.text, _author(taken))
        return found if why is None else Refusal(sources=rewrite.sources, fault=Fault.UNFIT, detail=why)

    def _why_not(self, taken: TakenRun, draft: Draft, model: str | None) -> str | None:
        """Why the model need not be asked."""
        if model is None:
            return "none"
        methods = any(how_to.is_method(entry, target) for target, free in draft.open.items() for entry in free)
        if max(map(len, draft.open.values()), default=0) < 2 and not methods:
            return "little"
        return "unchanged" if self._last_seen(taken) == _digest(draft.open, model) else None

    def _last_seen(self, taken: TakenRun) -> str | None:
        from hermes_cron.store.last import last_ended

        if taken.job_uid is None:
            return None
        with self._app.store.read() as conn:
            last = last_ended(conn, taken.job_uid)
        try:
            found = json.loads(last["result"]) if last is not None and last["result"] else {}
        except ValueError:
            return None
        return found.get("seen") if isinstance(found, dict) else None

    def _seen(self, asked: Asked) -> str | None:
        """For the next run: what the model has seen and left. A night on which it was of no use does not count."""
        if asked.said.state != "answered" or asked.said.name is None:
            return None
        return json.dumps({"seen": _digest(self.draft().open, asked.said.name)})


def _taken_back(rows: Iterable[Learned]) -> frozenset[str]:
    """Entries that a consolidation took away and a person had back: their word stands."""
    undone = [row for row in rows if row.actor == ACTOR and row.kind is Kind.MEMORY and row.state in TAKEN]
    return frozenset(line[2:] for row in undone for line in row.lines if line.startswith("- "))


def _may_be_read(entry: str) -> bool:
    return scan(shown(entry), Purpose.MEMORY).blocked is None


def _after(facts: Facts, done: Sequence[Done]) -> Facts:
    """Only what still stands there is to be looked at."""
    there = {each.target.file: set(each.after) for each in done}
    return replace(facts, look=tuple((file, entry) for file, entry in facts.look if entry in there.get(file, ())))


def _digest(left: Mapping[Target, Sequence[str]], model: str) -> str:
    told = json.dumps([model, *([target.value, *map(shown, entries)] for target, entries in sorted(left.items()))])
    return hashlib.sha256(told.encode()).hexdigest()


def _failed(model: str, why: str) -> Said:
    from hermes_cron.domain.clip import one_line

    return Said(state="failed", name=model, why=one_line(why, _ERROR))


def _reason(counts: Mapping[str, int]) -> str:
    said = [f"{counts[word]} {word}" for word in ("merged", "dropped") if counts[word]]
    return f"memory consolidated: {', '.join(said) or 'what had no room'}"


def _job(taken: TakenRun) -> str | None:
    return taken.job.name if taken.job_uid is not None else None


def _author(taken: TakenRun) -> Author:
    return Author(actor=ACTOR, run_id=taken.id, job_uid=taken.job_uid, job_name=taken.job.name)

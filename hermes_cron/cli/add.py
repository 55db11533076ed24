"""``add``: one sentence becomes one job file, and what will happen is said at once."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import blocked
from hermes_cron.cli import job_options as options
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.schedule_faults import explained
from hermes_cron.errors import Conflict, HermesCronError, JobFileError, Usage

if TYPE_CHECKING:
    from hermes_cron.cli.added import Plan
    from hermes_cron.domain.job import Job
    from hermes_cron.jobs.load import Known
    from hermes_cron.jobs.save import Plain

app = typer.Typer(help="Add a job.", add_completion=False)

HELP_ZH = {
    "Add a job.": "添加任务。",
    'Add a job: add "every day 9am: inspect prod db".': '添加任务：add "每天早上9点：巡检 prod 数据库"。',
    'When and what: "every day 9am: inspect prod db".': '何时做什么："每天早上9点：巡检 prod 数据库"。',
    "The job's name (default: from the prompt).": "任务名（默认取自提示词）。",
    "Do nothing, successfully, where the name exists.": "同名任务已存在时不做任何事，并视为成功。",
    "Say what would be added; write nothing.": "只说明将添加什么，不写入。",
    "Add it paused: nothing starts until resume.": "添加后保持暂停，直到 resume。",
    **options.HELP_ZH,
}

_TRIES = 50
"""Names that other processes take at the same moment; each try sees the folder anew."""


@app.command("add", help='Add a job: add "every day 9am: inspect prod db".')
def add(
    sentence: Annotated[
        list[str], typer.Argument(metavar="SENTENCE", help='When and what: "every day 9am: inspect prod db".')
    ],
    *,
    name: Annotated[str | None, typer.Option("--name", help="The job's name (default: from the prompt).")] = None,
    tz: options.Tz = None,
    skill: options.Skill = None,
    db: options.Db = None,
    deliver: options.Deliver = None,
    model: options.Model = None,
    script: options.Script = None,
    description: options.Description = None,
    tag: options.Tag = None,
    overlap: options.Overlap = None,
    catch_up: options.CatchUp = None,
    grace: options.Grace = None,
    jitter: options.Jitter = None,
    start: options.Start = None,
    until: options.Until = None,
    max_runs: options.MaxRuns = None,
    workdir: options.Workdir = None,
    tool: options.Tool = None,
    env: options.Env = None,
    var: options.Var = None,
    timeout: options.Timeout = None,
    minutes: options.Minutes = None,
    iterations: options.Iterations = None,
    playbook: options.Playbook = None,
    template: options.Template = None,
    paused: Annotated[bool, typer.Option("--paused", help="Add it paused: nothing starts until resume.")] = False,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing, successfully, where the name exists.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")] = False,
) -> None:
    said = options.changes(locals())
    state = cli()
    if paused:
        said["paused"] = "added paused"
    with explained(state, " ".join(sentence)):
        order = _order(state, " ".join(sentence).strip(), said)
    wanted = name or order.name
    if if_not_exists and state.app.jobs.find(wanted) is not None:
        _already(state, wanted)
        return
    known = state.app.known(strict=True)
    if not dry_run:
        _ = state.app.store  # one that cannot be opened is told before a file is there
    free = _free(state, wanted, given=name is not None)
    with nullcontext() if dry_run else blocked.noted(state, "add", f"{free}.md"):
        job = order.parsed(state, free, known)
    plan = _planned(state, order, job)
    if not dry_run:
        job = _write(state, order, wanted, given=name is not None, known=known)
        state.app.sync_jobs(actor="cli", only={state.app.jobs.path(job.name).name})
        state.app.wake()
    from hermes_cron.cli import added

    added.show(state, job, plan, missing=order.missing, dry_run=dry_run, phrase=order.phrase)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What the sentence and the options say.

    ``missing``: databases named while the home has none at all. The file names them, so that `db add` is all it takes.
    """

    phrase: str
    prompt: str
    values: dict[str, Plain]
    name: str
    now: datetime
    missing: tuple[str, ...] = ()

    def data(self) -> bytes:
        from hermes_cron.jobs.save import render

        return render(self.values, self.prompt)

    def parsed(self, state: Cli, name: str, known: Known) -> Job:
        """The job as its file will be read. Raises JobFileError for what an option says wrongly.

        ``PlaybookOneDatabase``: the job would be added and every run of it would fail.
        """
        from hermes_cron.jobs.load import parse_job

        known = replace(known, databases=known.databases | frozenset(self.missing))
        job = parse_job(
            self.data(),
            path=f"jobs/{name}.md",
            name=name,
            now=self.now,
            host_zone=state.settings.timezone,
            known=known,
        )
        state.app.refuse_several_databases(job)
        return job


def _planned(state: Cli, order: _Order, job: Job) -> Plan:
    """Who would do the work and for how much. Raises ``BudgetExceeded`` before anything is written."""
    from hermes_cron.cli import added, cost

    lang = added.language(state, job, order.phrase)
    plan = added.plan(state, job)
    if plan.cost is not None:
        cost.refuse_above(state, plan.cost, lang=lang)
    return plan


def _order(state: Cli, text: str, said: dict[str, Plain]) -> _Order:
    from hermes_cron.domain.schedule import phrase as grammar
    from hermes_cron.jobs.names import name_from
    from hermes_cron.jobs.phrasing import written
    from hermes_cron.jobs.plain_sight import refuse_spelled_out

    zone = _zone(str(said.get("timezone") or state.settings.timezone))
    now = state.clock.now()
    if said.get("script"):
        head, prompt = text.rstrip(":： "), ""
        _only_a_schedule(head, now, zone)
    else:
        head, prompt = grammar.split(text, now=now, zone=zone)
    refuse_spelled_out(f"{prompt}\n{said.get('script') or ''}")
    schedule = written(head, now=now, zone=zone)
    databases, missing = _databases(state, prompt, said.get("databases"))
    _refuse_unknown_target(state, said.get("deliver"))
    values: dict[str, Plain] = {
        "schedule": schedule[0] if len(schedule) == 1 else schedule,
        "timezone": zone.key,
        **said,
    }
    if databases or missing:
        values["databases"] = [*databases, *missing]
    if not said.get("script") and "model" not in said and state.settings.model.name:
        values["model"] = state.settings.model.name
    return _Order(
        phrase=head,
        prompt=prompt,
        values=values,
        name=name_from(prompt or str(said.get("description") or said.get("script"))),
        now=now,
        missing=missing,
    )


def _only_a_schedule(text: str, now: datetime, zone: ZoneInfo) -> None:
    """What a script does stands in the script. Raises Usage for a prompt, else what the grammar says."""
    from hermes_cron.domain.schedule import phrase as grammar

    try:
        grammar.parse(text, now=now, zone=zone)
    except HermesCronError:
        try:
            head, prompt = grammar.split(text, now=now, zone=zone)
        except HermesCronError:
            head = prompt = ""
        if not prompt:
            raise
        raise Usage(
            f'a job with --script has no prompt: "{prompt}"',
            hint=f'hermes-cron add "{head}" --script ... --description "{prompt}"',
        ) from None


def _zone(name: str) -> ZoneInfo:
    from hermes_cron.jobs.load import near_zone, zone_of

    zone = zone_of(name)
    if zone is None:
        raise Usage(f'no time zone "{name}"{near_zone(name)}', hint="an IANA name such as Asia/Shanghai")
    return zone


def _databases(state: Cli, prompt: str, given: Plain) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(named, missing). Where the home has none yet, naming one is not a slip of the pen: it is told, not refused."""
    from hermes_cron.jobs.resolve import databases_named, no_database

    known = sorted(state.settings.databases)
    if isinstance(given, list):
        for name in map(str, given):
            if name not in known:
                raise no_database(name, known)
        return tuple(map(str, given)), ()
    named = databases_named(prompt, known)
    if named.unknown and known:
        raise no_database(named.unknown[0], known)
    return named.known, named.unknown


def _refuse_unknown_target(state: Cli, given: Plain) -> None:
    """Said of what was typed, not of a file that nobody has yet."""
    from hermes_cron.jobs.resolve import no_target

    known = sorted(state.settings.targets)
    for name in map(str, given if isinstance(given, list) else ()):
        if name not in known:
            raise no_target(name, known)


def _free(state: Cli, wanted: str, *, given: bool) -> str:
    from hermes_cron.jobs.names import name_fault, unused

    wrong = name_fault(wanted)
    if wrong:
        raise JobFileError(wrong)
    taken = state.app.jobs.names()
    free = unused(wanted, taken)
    if given and free != wanted:
        raise Conflict(
            f'a job "{wanted}" exists already', hint=f"Another name: --name {free}   or: hermes-cron edit {wanted}"
        )
    return free


def _write(state: Cli, order: _Order, wanted: str, *, given: bool, known: Known) -> Job:
    """Parse first, then link the file into place; a name that somebody takes meanwhile makes the next number ours."""
    for _ in range(_TRIES):
        name = _free(state, wanted, given=given)
        job = order.parsed(state, name, known)
        try:
            state.app.jobs.create(name, order.data())
        except Conflict:
            if given or state.app.jobs.find(name) is None:
                raise
            continue
        return job
    raise Conflict(f'no free name like "{wanted}"', hint="--name NAME")


def _already(state: Cli, name: str) -> None:
    if state.json:
        state.emit_json({"name": name, "added": False})
    else:
        state.out(f"{name} 已存在，未做改动" if state.lang == "zh" else f"{name} exists already; nothing was changed")

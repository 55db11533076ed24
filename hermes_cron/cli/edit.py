"""``edit``: change a job by options or in an editor; what is not right never replaces what is."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import blocked, change, jobs_known, output, when
from hermes_cron.cli import job_options as options
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.schedule_faults import explained
from hermes_cron.errors import Conflict, HermesCronError, JobFileError, PromptEmpty, Usage

if TYPE_CHECKING:
    from hermes_cron.cli.added import Plan
    from hermes_cron.cli.change import Opened
    from hermes_cron.cli.cost import Expected
    from hermes_cron.domain.job import Job
    from hermes_cron.jobs.save import Plain

app = typer.Typer(help="Change a job, by options or in an editor.", add_completion=False)

HELP_ZH = {
    "Change a job, by options or in an editor.": "修改任务（用选项或编辑器）。",
    "The job: its name, or a unique beginning.": "任务名或其唯一前缀。",
    "Another name; history stays with the job.": "改名；历史随任务保留。",
    "When: every day 9am.": "何时：每天早上9点。",
    "What to do.": "做什么。",
    **options.HELP_ZH,
}

_TEXTS = {
    "en": {
        "changed": "Changed {name}", "same": "Nothing changed.", "when": "when", "next": "next",
        "cost": "cost", "result": "result", "free": "nothing; no model, 0 tokens",
        "again": "Edit again?",
    },
    "zh": {
        "changed": "已修改 {name}", "same": "没有改动。", "when": "时间", "next": "接下来",
        "cost": "费用", "result": "结果", "free": "无；不用模型，0 token",
        "again": "重新编辑？",
    },
}  # fmt: skip


@app.command("edit", help="Change a job, by options or in an editor.")
def edit(
    job: Annotated[str, typer.Argument(help="The job: its name, or a unique beginning.")],
    *,
    name: Annotated[str | None, typer.Option("--name", help="Another name; history stays with the job.")] = None,
    schedule: Annotated[str | None, typer.Option("--schedule", help="When: every day 9am.")] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What to do.")] = None,
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
) -> None:
    given = dict(locals())
    state = cli()
    file = change.opened(state, job)
    said = options.changes(given, _own(file, "limits"))
    if "deliver" in said and (own := _own(file, "deliver")) and said["deliver"] is not None:
        said["deliver"] = {**own, "to": said["deliver"]}
    if prompt is not None and not prompt.strip() and not script:
        raise PromptEmpty("the prompt is empty", hint='--prompt "what to do"')
    if schedule is not None:
        with explained(state, schedule):
            said["schedule"] = _schedule(state, file, schedule, said)
    if not said and prompt is None and name is None:
        _in_editor(state, file)
        return
    data = change.edited(state, file, said, body=prompt)
    with blocked.noted(state, "edit", file.listed.file_name):
        parsed = change.judged(state, file, data)
    plan = _planned(state, file, parsed)
    _put(state, file, data, name)
    _echo(state, parsed, plan, name or file.listed.name, changed=data != file.data or name is not None)


def _planned(state: Cli, file: Opened, job: Job) -> Plan:
    """Who would do the work and for how much. Raises ``BudgetExceeded`` for an edit that makes it too dear."""
    from hermes_cron.cli import added, cost

    plan = _plan(state, file, job)
    if plan.cost is not None:
        lang = added.language(state, job, " ".join(job.schedule))
        cost.refuse_above(state, plan.cost, before=_before(state, file), lang=lang)
    return plan


def _plan(state: Cli, file: Opened, job: Job) -> Plan:
    """A skill that went missing is the run's fault to tell: it must not keep the job from being edited."""
    from hermes_cron.cli import added

    try:
        return added.plan(state, job, uid=file.listed.uid)
    except HermesCronError:
        return added.Plan(by=added.RunsBy(kind="nothing"), cost=None)


def _before(state: Cli, file: Opened) -> Expected | None:
    """What the job would cost as it is; None when the file is broken."""
    try:
        job = change.judged(state, file, file.data, strict=False)
    except JobFileError:
        return None
    return _plan(state, file, job).cost


def _own(file: Opened, key: str) -> dict[str, Plain]:
    """The file's own mapping at a key: ``--minutes`` keeps its ``iterations``, ``--deliver`` its ``when``."""
    from hermes_cron.jobs.frontmatter import FaultsFound, Single, Table, read_table, split

    try:
        entries = read_table(split(file.data)).entries
    except FaultsFound:
        return {}  # the edit itself says what is wrong
    own = next((entry.value for entry in entries if entry.key == key), None)
    if not isinstance(own, Table):
        return {}
    return {entry.key: entry.value.value for entry in own.entries if isinstance(entry.value, Single)}


def _schedule(state: Cli, file: Opened, phrase: str, said: dict[str, Plain]) -> Plain:
    from hermes_cron.cli.explain import zone_named
    from hermes_cron.jobs.phrasing import written

    zone = zone_named(state, str(said.get("timezone") or file.listed.summary.get("timezone") or "") or None)
    phrases = written(phrase, now=state.clock.now(), zone=zone)
    return phrases[0] if len(phrases) == 1 else phrases


def _put(state: Cli, file: Opened, data: bytes, name: str | None) -> None:
    """Content first, then the name, the store told in between: so a rename is seen as one and keeps its history."""
    from hermes_cron.jobs.names import name_fault

    wrong = name_fault(name) if name else None
    if wrong:
        raise JobFileError(wrong)
    if name and (taken := state.app.jobs.find(name)) and taken.file_name != file.listed.file_name:
        raise Conflict(f'a job "{taken.name}" exists already', hint="--name NAME")
    change.replaced(state, file, data)
    if name and name != file.listed.name:
        renamed = state.app.jobs.rename(file.listed.name, name)
        state.app.sync_jobs(actor="cli", only={file.listed.file_name, renamed.name})
        state.app.wake()


# --- in an editor -----------------------------------------------------------------------------------------------------


def _in_editor(state: Cli, file: Opened) -> None:
    """The person's text is theirs: a refused one stays in a file that is named."""
    if not state.is_terminal and not state.environment.editor:
        raise Usage("nothing to change was said", hint="options: hermes-cron edit --help   or set EDITOR")
    draft = Path(tempfile.mkdtemp(prefix="hermes-cron-edit-")) / file.listed.file_name
    draft.write_bytes(file.data)
    while True:
        _edit(state, draft)
        data = draft.read_bytes()
        try:
            with blocked.noted(state, "edit", file.listed.file_name):
                parsed = change.judged(state, file, data)
            plan = _planned(state, file, parsed)
            change.replaced(state, file, data)
        except HermesCronError as error:
            if isinstance(error, JobFileError) and state.is_terminal and _again(state, error):
                continue
            error.details["your_text"] = str(draft)
            raise
        break
    draft.unlink()
    draft.parent.rmdir()
    _echo(state, parsed, plan, file.listed.name, changed=data != file.data)


def _edit(state: Cli, draft: Path) -> None:
    command = [*shlex.split(state.environment.editor or "vi"), str(draft)]
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise Usage(f"cannot start the editor {command[0]}: {error.strerror}", hint="set EDITOR") from error
    if done.returncode:
        raise Usage(f"the editor ended with {done.returncode}; nothing was changed", details={"your_text": str(draft)})


def _again(state: Cli, error: JobFileError) -> bool:
    faults = error.details.get("faults")
    for fault in faults if isinstance(faults, list) else ():
        state.note(f"{fault['file']}:{fault['line']} {fault['message']}")
    return state.confirm(_TEXTS[state.lang]["again"], default=True)


def _echo(state: Cli, job: Job, plan: Plan, name: str, *, changed: bool) -> None:
    from hermes_cron.cli import cost
    from hermes_cron.cli.added import cost_line, result_text, said_when

    listed = jobs_known.one(state, name)
    zone = ZoneInfo(job.timezone)
    if state.json:
        following = listed.next_due.astimezone(zone).isoformat() if listed.next_due else None
        state.emit_json(
            {
                "name": name,
                "changed": changed,
                "schedule": list(job.schedule),
                "next": following,
                "cost": cost.as_json(plan.cost),
                "deliver": list(job.deliver.to),
            }
        )
        return
    texts = _TEXTS[state.lang]
    if not changed:
        state.out(texts["same"])
        return
    state.out(texts["changed"].format(name=name))
    following = when.whole(listed.next_due, zone, state.lang) if listed.next_due and not job.paused else "-"
    state.out(
        output.facts(
            [
                (texts["when"], said_when(job, state.lang)),
                (texts["next"], following),
                *(cost_line(plan, state.lang) or ((texts["cost"], texts["free"]),)),
                (texts["result"], result_text(state, replace(job, name=name), state.lang)),
            ]
        )
    )

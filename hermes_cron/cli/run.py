"""``run``: a job now, or a prompt once. Progress on stderr, the report on stdout."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hermes_cron.cli import jobs_known, look_back, run_result
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.progress import Progress
from hermes_cron.errors import HermesCronError, Usage

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job, Scalar
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.store.runs import Start

app = typer.Typer(help="Run a job now, or a prompt once.", add_completion=False)

HELP_ZH = {
    "Run a job now, or a prompt once.": "立即运行任务，或运行一次提示词。",
    "The job to run.": "要运行的任务。",
    "Run this text without a job.": "不建任务，直接运行这段提示词。",
    "Queue it for the scheduler and return.": "交给调度器排队，立即返回。",
    "Show prompt and tools; run nothing.": "只显示提示词和工具，不执行。",
    "A value for the prompt's {{ vars.KEY }} (repeatable).": "提示词中 {{ vars.KEY }} 的值（可重复）。",
    "A database that the prompt may read (repeatable).": "提示词可读取的数据库（可重复）。",
    "A skill to use (repeatable).": "使用的技能（可重复）。",
    "A tool to offer (repeatable; default: what is needed).": "提供的工具（可重复；默认按需）。",
    "Another model for this run.": "本次运行使用的模型。",
}

_FOLLOW_S = 0.1
_PATIENCE_S = 10.0
"""Without any scheduler: a service manager starts one anew within that."""
_CTRL_C = 130


@app.command("run", help="Run a job now, or a prompt once.")
def run(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="The job to run.")] = None,
    *,
    prompt: Annotated[str | None, typer.Option("--prompt", help="Run this text without a job.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Queue it for the scheduler and return.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show prompt and tools; run nothing.")] = False,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A value for the prompt's {{ vars.KEY }} (repeatable)."),
    ] = None,
    db: Annotated[
        list[str] | None, typer.Option("--db", help="A database that the prompt may read (repeatable).")
    ] = None,
    skill: Annotated[list[str] | None, typer.Option("--skill", help="A skill to use (repeatable).")] = None,
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool to offer (repeatable; default: what is needed).")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Another model for this run.")] = None,
) -> None:
    state = cli()
    if (job is None) == (prompt is None):
        raise Usage("run what? Name a job, or give --prompt TEXT", hint="hermes-cron list")
    _belongs(
        to_prompt={"--db": db, "--skill": skill, "--tool": tool}, to_job={"--set": values}, has_job=job is not None
    )
    start = (
        _of_job(state, job, values or [], model)
        if job is not None
        else _of_prompt(state, prompt or "", {"db": db, "skill": skill, "tool": tool, "model": model})
    )
    if dry_run:
        run_result.show_preview(state, start)
        return
    if detach:
        run_id = state.app.runs.queue(start)
        run_result.queued(state, run_id, start.job.name)
        return
    raise typer.Exit(foreground(state, start))


def _belongs(*, to_prompt: Mapping[str, object], to_job: Mapping[str, object], has_job: bool) -> None:
    """An option that would change nothing is refused, not passed over."""
    wrong = next((name for name, said in (to_prompt if has_job else to_job).items() if said), None)
    if wrong is not None and has_job:
        raise Usage(f"{wrong} belongs to --prompt; a job says it in its file", hint="hermes-cron edit JOB")
    if wrong is not None:
        raise Usage(f"{wrong} belongs to a job; a prompt has no variables")


def _of_job(state: Cli, word: str, values: list[str], model: str | None) -> Start:
    from dataclasses import replace

    from hermes_cron.store.runs import Start

    listed = jobs_known.one(state, word)
    if listed.broken:
        from hermes_cron.errors import JobFileError

        raise JobFileError(listed.broken, hint=f"hermes-cron edit {listed.name}")
    job = state.app.runs.job(listed.uid)
    arguments = _arguments(job, values)
    if model is not None and job.prompt is None:
        kind = "a script" if job.script is not None else "the home's own"
        raise Usage(f"{job.name} is {kind}; no model runs it")
    return Start(job=replace(job, model=model or job.model), job_uid=listed.uid, actor="cli", arguments=arguments)


def _arguments(job: Job, values: list[str]) -> dict[str, Scalar]:
    """``--set`` values with the type of the variable's default."""
    found: dict[str, Scalar] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or key not in job.vars:
            known = ", ".join(job.vars) or "none"
            raise Usage(f'--set {text}: {job.name} has no variable "{key}"', hint=f"its variables: {known}")
        found[key] = _typed(key, value, job.vars[key])
    return found


def _typed(key: str, value: str, default: Scalar) -> Scalar:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False, "on": True, "off": False}[value.lower()]
        if isinstance(default, int):
            return int(value)
        if isinstance(default, float):
            return float(value)
    except (ValueError, KeyError):
        kind = type(default).__name__
        raise Usage(f'--set {key}={value}: "{value}" is not {kind}, as the default {default!r} is') from None
    return value


def _of_prompt(state: Cli, prompt: str, options: Mapping[str, Any]) -> Start:
    from dataclasses import replace

    from hermes_cron.domain.run import Cause
    from hermes_cron.jobs.plain_sight import refuse_spelled_out
    from hermes_cron.jobs.resolve import databases_named, no_database
    from hermes_cron.store.runs import Start

    if not prompt.strip():
        from hermes_cron.errors import PromptEmpty

        raise PromptEmpty("--prompt is empty", hint='hermes-cron run --prompt "inspect prod"')
    refuse_spelled_out(prompt)
    known = tuple(state.settings.databases)
    named = databases_named(prompt, known)
    wanted = tuple(options["db"] or named.known)
    for name in (*named.unknown, *wanted):
        if name not in known:
            raise no_database(name, known)
    job = replace(
        state.app.runs.prompt_job(prompt, databases=wanted),
        skills=tuple(options["skill"] or ()),
        tools=tuple(options["tool"]) if options["tool"] else None,
        model=options["model"],
    )
    return Start(job=job, job_uid=None, actor="cli", cause=Cause.PROMPT)


def foreground(state: Cli, start: Start) -> int:
    """The exit code. A living scheduler executes the run and this command follows it; else it is executed here."""
    progress = Progress(state)
    if state.app.serving():
        run_id = state.app.runs.queue(start)
        interrupted = _follow(state, run_id, start, progress)
    else:
        interrupted, run_id = _here(state, start, progress)
    state.app.messages.send_now(run_id)
    code = run_result.show(state, state.app.runs.row(run_id))
    if interrupted:
        return _CTRL_C
    look_back.here(state, run_id)
    return code


def _here(state: Cli, start: Start, progress: Progress) -> tuple[bool, str]:
    cancel = threading.Event()
    running: list[str] = []

    def stop(_number: int, _frame: object) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt  # asked twice: leave at once
        cancel.set()
        for run_id in running:  # on a thread: this one may be in the middle of a write
            threading.Thread(target=_keep_cancel, args=(state, run_id), daemon=True).start()
        progress.stopping()

    def begun(taken: TakenRun) -> None:
        running.append(taken.id)
        progress.begin(taken.id, taken.job.name)
        if taken.job.script is not None:
            progress.script()
        elif taken.job.action is not None:
            progress.action()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        run_id = state.app.runs.here(start, cancel=cancel, begun=begun, emit=progress.emit)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return cancel.is_set(), run_id


def _keep_cancel(state: Cli, run_id: str) -> None:
    """Kept with the run as well: whatever becomes of this process, no scheduler goes on with what a person stopped."""
    from hermes_cron.cli.who import person

    with contextlib.suppress(HermesCronError):  # it ended meanwhile
        state.app.runs.cancel(run_id, by=person())


def _follow(state: Cli, run_id: str, start: Start, progress: Progress) -> bool:
    """Show the rows of a run that a scheduler executes. Ctrl-C cancels the run; a killed command does not."""
    progress.begin(run_id, start.job.name)
    progress.followed(start.job)
    asked = threading.Event()

    def stop(_number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt  # the run is told already; this command need not wait for it
        asked.set()

    before = signal.signal(signal.SIGINT, stop)
    cancelled = told = False
    served = time.monotonic()
    seen: dict[str, int] = {}
    try:
        while True:
            row, ended = state.app.runs.new_tool_steps(run_id, seen)
            for step in ended:
                progress.tool(step["tool"], ok=bool(step["ok"]), elapsed_ms=step["ms"] or 0)
            if row["ended_at"] is not None or row["state"] == "waiting_approval":
                return cancelled
            progress.paused(row)
            if row["state"] == "queued" and not told:
                told = _say_waiting(state, row, progress)
            if asked.is_set() and not cancelled:
                cancelled = True
                _keep_cancel(state, run_id)
                progress.stopping()
            if state.app.serving():
                served = time.monotonic()
            elif time.monotonic() - served > _PATIENCE_S:
                progress.left()
                return cancelled
            time.sleep(_FOLLOW_S)
    finally:
        signal.signal(signal.SIGINT, before)


def _say_waiting(state: Cli, row: Mapping[str, Any], progress: Progress) -> bool:
    """After a second in the queue, why."""
    if (state.clock.now() - row["queued_at"]).total_seconds() < 1:
        return False
    progress.waiting(state.app.runs.running_count())
    return True

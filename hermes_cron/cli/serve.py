"""``serve``: the scheduler, until it is told to stop; ``--once``: one pass, for timers without a daemon."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.output import one_line
from hermes_cron.clock import FileClock
from hermes_cron.errors import Usage
from hermes_cron.service.notify import Notifier

if TYPE_CHECKING:
    from hermes_cron.domain.event import Event
    from hermes_cron.scheduler.service import Service

app = typer.Typer(help="The scheduler: start jobs when they are due.", add_completion=False)

HELP_ZH = {
    "The scheduler: start jobs when they are due.": "调度器：到点启动任务。",
    "One pass: start what is due, wait for it, end.": "只过一遍：启动到点的任务，等它们结束后退出。",
    "Runs at once (default: concurrency in config.toml).": "同时运行的任务数（默认取 config.toml 的 concurrency）。",
    "Seconds that running jobs get when it is told to stop.": "收到停止信号后，给运行中任务的秒数。",
    "For tests: a file with the time (HERMES_CRON_TESTING=1).": "测试用：存放时间的文件（HERMES_CRON_TESTING=1）。",
    "Look at the folders now and then instead of watching them.": "定时查看文件夹，而不是监视。",
}

_TEXTS = {
    "en": {
        "serving": "serving {home}: {jobs}, {slots} at once (pid {pid})",
        "one_job": "1 job", "jobs": "{count} jobs",
        "stopping": "stopping: waiting up to {drain:g} s for {running} runs; once more ends them now",
        "stopped": "stopped",
        "cut": "stopped; {count} runs were interrupted",
    },
    "zh": {
        "serving": "正在服务 {home}：{jobs}，同时运行 {slots} 个（pid {pid}）",
        "one_job": "1 个任务", "jobs": "{count} 个任务",
        "stopping": "正在停止：最多等 {drain:g} 秒，还有 {running} 个任务在运行；再按一次立即结束",
        "stopped": "已停止",
        "cut": "已停止；{count} 个运行被中断",
    },
}  # fmt: skip
_CTRL_C = 130


@app.command("serve", help="The scheduler: start jobs when they are due.")
def serve(
    *,
    once: Annotated[bool, typer.Option("--once", help="One pass: start what is due, wait for it, end.")] = False,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Runs at once (default: concurrency in config.toml)."),
    ] = None,
    drain: Annotated[
        float, typer.Option(min=0, max=3600, help="Seconds that running jobs get when it is told to stop.")
    ] = 30.0,
    clock_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="For tests: a file with the time (HERMES_CRON_TESTING=1)."),
    ] = None,
    no_watch: Annotated[
        bool, typer.Option("--no-watch", help="Look at the folders now and then instead of watching them.")
    ] = False,
) -> None:
    from hermes_cron.wiring.serving import service as service_of

    state = cli()
    app_ = state.app if clock_file is None else state.app_with(_clock_of(state, clock_file))
    teller = _Teller(state)
    service = service_of(
        app_,
        tell=teller.tell,
        concurrency=concurrency,
        drain_s=drain,
        watch=not no_watch,
        notifier=Notifier.of(state.environment, os.getpid()),
    )
    seen = _on_signals(service)
    code = service.once() if once else service.run()
    if state.json:
        state.emit_json(teller.totals)
    raise typer.Exit(_CTRL_C if signal.SIGINT in seen else code)


def _clock_of(state: Cli, clock_file: str) -> FileClock:
    if not state.environment.testing:
        raise Usage("--clock-file is for tests", hint="set HERMES_CRON_TESTING=1")
    path = Path(clock_file)
    if not path.is_file():
        raise Usage(f"--clock-file {clock_file}: no such file", hint="write an ISO instant with offset into it")
    try:
        return FileClock(path)
    except ValueError:
        raise Usage(f"--clock-file {clock_file}: not an ISO instant with offset", hint="2026-12-01T09:00:00Z") from None


def _on_signals(service: Service) -> list[int]:
    """SIGTERM and SIGINT drain, a second one cuts short, SIGHUP looks at the files. The list grows with what came."""
    seen: list[int] = []

    def stop(number: int, _frame: object) -> None:
        seen.append(number)
        service.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, lambda *_: service.reload())
    return seen


class _Teller:
    """What a person at the terminal, or the journal of systemd, sees of the events."""

    def __init__(self, state: Cli) -> None:
        self._note = state.note  # taken here: the service's threads have no command of their own
        self._texts = _TEXTS[state.lang]
        self._home = str(state.home.root)
        self._lock = threading.Lock()
        self._jobs = len(state.app.jobs.names())  # the event knows those of the store: none in a home that is new
        self._ended: dict[str, int] = {}
        self._interrupted = 0

    @property
    def totals(self) -> dict[str, object]:
        """The object of ``--json``, printed at the end. ``runs``: how many ended in each state."""
        return {"home": self._home, "jobs": self._jobs, "runs": self._ended, "interrupted": self._interrupted}

    def _count(self, event: Event) -> None:
        from hermes_cron.domain import event as events

        if isinstance(event, events.RunFinished):
            state = event.state.value
            self._ended[state] = self._ended.get(state, 0) + 1
        elif isinstance(event, events.ServeStopped):
            self._interrupted = event.interrupted

    def tell(self, event: Event) -> None:
        """Called from any of the service's threads."""
        from hermes_cron.domain import event as events

        with self._lock:
            self._count(event)
        match event:
            case events.ServeStarted():
                jobs = self._texts["one_job" if self._jobs == 1 else "jobs"].format(count=self._jobs)
                self._note(
                    self._texts["serving"].format(home=self._home, jobs=jobs, slots=event.concurrency, pid=event.pid)
                )
            case events.ServeStopping(running=running, level=events.Level.INFO) if running:
                self._note(self._texts["stopping"].format(drain=event.drain_s, running=running))
            case events.ServeStopped(interrupted=count):
                self._note(self._texts["cut"].format(count=count) if count else self._texts["stopped"])
            case _ if event.level is not events.Level.INFO:
                self._note(_one_line(event))
            case _:
                pass


def _one_line(event: Event) -> str:
    from dataclasses import asdict

    facts = {key: value for key, value in asdict(event).items() if key != "level" and value not in (None, "")}
    text = f"{event.level.value}: {type(event).__name__} " + " ".join(f"{key}={value}" for key, value in facts.items())
    return one_line(text)  # names and errors hold what strangers wrote

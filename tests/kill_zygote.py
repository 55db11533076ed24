"""A process that has imported everything and forks schedulers on request, so that a kill costs no second of start-up.

Reads one JSON object a line: ``home``, ``env``, and where to die: ``write`` (its number among the writes of a run's own
threads, or of those whose names begin with one of ``threads``, from 1), ``side`` (``before`` or ``after`` its commit).
With ``log`` it does not die and writes down in that file, a line each, which method of the journal made these writes.
Answers with the new process's id. A scheduler is a real one, with the runner, the store and the files that ``serve``
has.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

OF_A_RUN = ("run-", "tool", "ThreadPoolExecutor")


def serve(wanted: dict[str, Any]) -> int:
    from hermes_cron.clock import FileClock, SystemClock
    from hermes_cron.home import Home
    from hermes_cron.settings import Settings, environment
    from hermes_cron.wiring import App
    from hermes_cron.wiring.serving import service as service_of

    os.environ.clear()
    os.environ.update(wanted["env"])
    env = environment()
    home = Home(Path(wanted["home"]))
    clock = FileClock(Path(env.clock_file)) if env.clock_file else SystemClock()
    app = App(home=home, settings=Settings.load(home, env), clock=clock)
    if wanted.get("write") is not None:
        die_at(int(wanted["write"]), wanted["side"], tuple(wanted.get("threads") or OF_A_RUN))
    if wanted.get("log") is not None:
        write_down(Path(wanted["log"]), tuple(wanted.get("threads") or OF_A_RUN))
    service = service_of(app, tell=lambda _event: None, concurrency=2, drain_s=wanted.get("drain_s", 0))
    signal.signal(signal.SIGTERM, lambda *_: service.stop())
    code = service.run()
    app.close()
    return code


def die_at(number: int, side: str, threads: tuple[str, ...]) -> None:
    """Kill this process before or after one of the writes that these threads make."""
    from hermes_cron.store.writer import Writer

    count, submit = itertools.count(1), Writer.submit

    def counted(writer: Writer, work: Any) -> Any:
        if not threading.current_thread().name.startswith(threads):
            return submit(writer, work)
        mine = next(count)
        if mine == number and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = submit(writer, work)
        if mine == number and side == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    Writer.submit = counted  # type: ignore[method-assign]  # this process is made to be killed


def write_down(log: Path, threads: tuple[str, ...]) -> None:
    """Who made each of the writes that these threads make: a method of the journal, or nothing."""
    from hermes_cron.store.journal import SqlJournal
    from hermes_cron.store.writer import Writer

    submit, known = Writer.submit, {name for name in vars(SqlJournal) if not name.startswith("_")}

    def written(writer: Writer, work: Any) -> Any:
        if threading.current_thread().name.startswith(threads):
            frame, name = sys._getframe(1), ""
            while frame.f_back is not None:
                if frame.f_code.co_filename.endswith("store/journal.py") and frame.f_code.co_name in known:
                    name = frame.f_code.co_name
                frame = frame.f_back
            with log.open("a") as file:
                file.write(f"{name}\n")
        return submit(writer, work)

    Writer.submit = written  # type: ignore[method-assign]  # this process is looked at


def main() -> None:
    for costly in ("openai", "hermes_cron.models.openai_compatible", "hermes_cron.models.prices",
                   "hermes_cron.runner.runner", "hermes_cron.scheduler.service", "hermes_cron.wiring"):  # fmt: skip
        importlib.import_module(costly)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            try:
                os._exit(serve(json.loads(line)))
            finally:
                os._exit(70)
        print(child, flush=True)


if __name__ == "__main__":
    main()

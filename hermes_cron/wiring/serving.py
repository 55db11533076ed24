"""What is a scheduler of a home made of?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.domain.event import Event
    from hermes_cron.domain.run import Outcome, TakenRun
    from hermes_cron.jobs.watch import Watcher
    from hermes_cron.observe.exporter import Exporter
    from hermes_cron.scheduler.service import Notifier, Service
    from hermes_cron.scheduler.timers import Wakes
    from hermes_cron.wiring import App


def service(
    app: App,
    *,
    tell: Callable[[Event], None],
    concurrency: int | None = None,
    drain_s: float = 30,
    watch: bool = True,
    notifier: Notifier | None = None,
) -> Service:
    """A scheduler for this home; the runner is imported when the first run starts. ``tell`` sees every event."""
    from hermes_cron.jobs.watch import signature
    from hermes_cron.keep_hand_edits import elsewhere
    from hermes_cron.observe import logs
    from hermes_cron.scheduler.housekeeping import housekeep
    from hermes_cron.scheduler.indexing import Indexer
    from hermes_cron.scheduler.keeping import Keeper
    from hermes_cron.scheduler.service import NOBODY, Plan, Service

    emit = app.emit = logs.begin(logs.LogFile(app.home.logs), app.clock, app.redact, tell=tell)
    sender = app.messages.sender(emit)
    return Service(
        Plan(
            store=app.store,
            source=app.source,
            clock=app.clock,
            owners=app.home.owners,
            execute=partial(_execute, app),
            end_group=_end_group,
            emit=emit,
            concurrency=concurrency or app.settings.concurrency,
            window=app.catch_up_window,
            drain_s=drain_s,
            watch=partial(_watch, app, emit) if watch else None,
            signature=lambda: signature(app.home.jobs),
            housekeep=lambda now: housekeep(app.store, app.home, keep=app.home_keep, emit=emit, now=now),
            sender=sender,
            keeper=Keeper(lambda: elsewhere(app.home.root, app.clock.now()), app.home.unfinished_change, emit),
            indexer=Indexer(partial(_put_in, app)),
            exporter=_exporter(app),
            notifier=notifier or NOBODY,
            answer_within=app.answer_within,
            limits=lambda: app.home_limits,
            reviewer=app.reviews.reviewer(emit, ended=sender.kick),
            nudge=lambda: app.reviews.nudge,
        )
    )


def _exporter(app: App) -> Exporter | None:
    """None where config.toml says off."""
    from hermes_cron.observe.exporter import Exporter

    listen = app.settings.metrics_listen
    return None if listen == "off" else Exporter(listen, app.metrics.text)


def _execute(app: App, taken: TakenRun, cancel: threading.Event) -> Outcome:
    """Asks for the runner at the first run: an idle service needs neither agent nor tools."""
    return app.running.runner.execute(taken, cancel)


def _put_in(app: App, enough: Callable[[], bool]) -> bool:
    """Opens the index when its time has come, not with the service."""
    return app.sessions.put_in(enough)


def _watch(app: App, emit: Callable[[Event], None], wakes: Wakes) -> Watcher:
    from hermes_cron.domain.event import WatchFailed
    from hermes_cron.jobs.watch import Watcher
    from hermes_cron.scheduler.timers import Wake

    app.home.run.mkdir(parents=True, exist_ok=True)
    return Watcher(
        app.home.jobs,
        app.home.wake,
        on_files=lambda: wakes.put(Wake.FILES),
        on_store=lambda: wakes.put(Wake.STORE),
        on_failed=lambda error, poll_s: emit(WatchFailed(error=error, poll_s=poll_s)),
    )


def _end_group(pgid: int, started: str, boot_id: str) -> None:
    from hermes_cron.domain.command import ProcessGroup
    from hermes_cron.environments.processes import end_group

    end_group(ProcessGroup(pgid=pgid, started=started, boot_id=boot_id))

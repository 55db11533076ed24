"""What does a run work with? The runner, its journals, its money, the window of its model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.ports import Checks
from hermes_cron.settings import Settings

if TYPE_CHECKING:
    from hermes_cron.domain.command import ProcessGroup
    from hermes_cron.domain.earlier import Report
    from hermes_cron.domain.job import Limits
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.domain.transcript import Header, Message
    from hermes_cron.models.windows import Windows
    from hermes_cron.ports import Journal, Purse
    from hermes_cron.runner.compacting import Compaction
    from hermes_cron.runner.prompt import LastRun, Remembered
    from hermes_cron.runner.route import Route
    from hermes_cron.runner.runner import Runner
    from hermes_cron.store.spending import Payer
    from hermes_cron.wiring import App

_WINDOW_S = 5.0


class Running:
    """The parts of one home's runs."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._runner: tuple[Settings, Runner] | None = None

    @property
    def runner(self) -> Runner:
        """What executes owned runs, with the model that config.toml names now."""
        settings, made = self._app.settings_now, self._runner
        if made is None or made[0] is not settings:
            self._runner = made = settings, self._make_runner(settings)
        return made[1]

    def _make_runner(self, settings: Settings) -> Runner:
        from hermes_cron.domain.session import Lookup
        from hermes_cron.environments.local import run as run_command
        from hermes_cron.runner.runner import Parts, Runner
        from hermes_cron.settings import command_environment
        from hermes_cron.wiring.playbooks import Playbooks

        model = settings.model
        return Runner(
            Parts(
                home=self._app.home,
                clock=self._app.clock,
                databases=self._app.databases,
                targets=lambda: self._app.settings_now.targets,
                library=self._app.read_skills,
                registry=lambda: self._app.tools,
                model=lambda: self._app.model,
                default_model=model.name,
                parameters=model.parameters,
                playbooks=Playbooks(self._app.language),
                open_journal=self._open_journal,
                resume_journal=self._resume_journal,
                purse=self.purse,
                checks=self.checks,
                keep_pins=self._keep_pins,
                note_group=self._note_group,
                drift=self._drift,
                note_security=self._app.note_security,
                last_run=self._last_run,
                earlier=self._earlier,
                remember=self._remember,
                run_command=run_command,
                base_env=command_environment(),
                redact=self._app.redact,
                model_timeout_s=model.timeout_s,
                actions=self._app.actions,
                sessions=Lookup(search=self._app.sessions.search, around=self._app.sessions.around),
                doors=self._app.learning.doors,
                compaction=self.compaction(settings),
            )
        )

    def compaction(self, settings: Settings) -> Compaction:
        """What keeps sessions within their models' windows."""
        from hermes_cron.agent.fitting import Window
        from hermes_cron.context_engines import engine
        from hermes_cron.domain.compaction import Ends
        from hermes_cron.runner.compacting import Compaction

        said = settings.compaction
        return Compaction(
            engine=partial(engine, said.engine),
            window=Window(
                of=self.window_of,
                learn=self.windows.learn,
                ask=self._ask_window,
                soft_percent=said.at_percent,
                hard_percent=said.hard_percent,
            ),
            ends=Ends(head=said.keep_head, tail=said.keep_tail),
            auxiliary=settings.model.auxiliary,
            doors=partial(self._app.learning.doors, actor="flush"),
        )

    def window_of(self, model: str) -> int:
        """How many tokens a model reads at once, as far as is known."""
        said = self._app.settings_now.model
        return self.windows.of(model, configured=said.window, of=said.name)

    def _ask_window(self, model: str) -> None:
        """The server may list what it reads; asked once, and only where nobody else knows."""
        from hermes_cron.errors import ModelError
        from hermes_cron.models.openai_compatible import OpenAICompatible

        client = self._app.model
        if self._app.settings_now.model.window is not None or not self.windows.guessed(model):
            return
        tokens = None
        if isinstance(client, OpenAICompatible):
            with suppress(ModelError):  # that it has no list, or none just now, is no fault of the run
                tokens = client.window(model, timeout_s=_WINDOW_S)
        self.windows.offered(model, tokens)

    @cached_property
    def windows(self) -> Windows:
        """What models read at once, and what their servers said of it while this process lives."""
        from hermes_cron.models.windows import Windows

        return Windows()

    def purse(self, taken: TakenRun) -> Purse | None:
        """What a language model's calls of this run are paid from, under the caps of now; None where none holds."""
        from hermes_cron.store.spending import Payer

        return self.purse_of(Payer(run_id=taken.id, fence=taken.fence, job_uid=taken.job_uid), taken.job.limits)

    def purse_of(self, payer: Payer, limits: Limits) -> Purse | None:
        """The same for whoever pays."""
        from hermes_cron.domain.money import caps
        from hermes_cron.store.spending import StorePurse

        held = caps(limits, self._app.settings_now.budget)
        if not held:
            return None
        return StorePurse(
            self._app.store,
            self._app.clock,
            payer=payer,
            caps=held,
            tariff=self._app.prices.price,
            zone=ZoneInfo(self._app.settings.timezone),
        )

    def _open_journal(self, taken: TakenRun, header: Header, messages: Sequence[Message] = ()) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        return SqlJournal.begin(
            self._app.store, self._app.clock, run_id=taken.id, fence=taken.fence, header=header, messages=messages
        )

    @cached_property
    def checks(self) -> Checks:
        """What judges whether a run did what it says."""
        from hermes_cron.checks.judge import OutcomeChecks
        from hermes_cron.environments.local import run as run_command

        return OutcomeChecks(databases=self._app.databases, run_command=run_command)

    def _keep_pins(self, taken: TakenRun, text: str) -> None:
        from hermes_cron.store.pins import pin

        self._app.store.write(lambda conn: pin(conn, taken.id, taken.fence, text))

    def _note_group(self, taken: TakenRun, group: ProcessGroup) -> None:
        from hermes_cron.store.pins import note_group

        self._app.store.write(lambda conn: note_group(conn, taken.id, taken.fence, group))

    def _drift(self, taken: TakenRun) -> str | None:
        """How the checks of the job's file differ from those that the run was queued with; None when they do not."""
        from hermes_cron.errors import NotFound
        from hermes_cron.store.pins import queued_at

        if taken.job_uid is None:
            return None
        try:
            data = self._app.jobs.read(taken.job.name)
        except NotFound:
            now = "the job has no file now"
        else:
            found = self._app.understand(data, f"{taken.job.name}.md", self._app.clock.now())
            if found.job is not None and found.job.checks == taken.job.checks:
                return None
            now = "the job file is broken now" if found.job is None else "the job file's checks are others now"
        with self._app.store.read() as conn:
            queued = queued_at(conn, taken.id)
        return f"judged by the revision of {queued:%Y-%m-%d %H:%M:%S} UTC: {now}"

    def _resume_journal(self, taken: TakenRun) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        if taken.session is None:
            raise ValueError("the run has no session to go on with")
        return SqlJournal.open(
            self._app.store, self._app.clock, run_id=taken.id, fence=taken.fence, session_id=taken.session
        )

    def _last_run(self, taken: TakenRun) -> LastRun:
        from hermes_cron.runner import outputs
        from hermes_cron.runner.prompt import LastRun
        from hermes_cron.store.last import last_ended

        if taken.job_uid is None:
            return LastRun()
        with self._app.store.read() as conn:
            last = last_ended(conn, taken.job_uid)
        if last is None:
            return LastRun()
        return LastRun(
            run_id=last["id"],
            scheduled_at=last["scheduled_at"],
            started_at=last["started_at"],
            ended_at=last["ended_at"],
            state=last["state"],
            output=outputs.read(self._app.home, last["output_path"]),
            result=last["result"],
            result_at=last["result_at"],
        )

    def _earlier(self, taken: TakenRun) -> Sequence[Report]:
        from hermes_cron.desks.reports import asked_for

        return asked_for(self._app, taken)

    def _remember(self, taken: TakenRun, route: Route, tools: Collection[str]) -> Remembered:
        from hermes_cron.desks.remembered import remembered

        return remembered(self._app, taken, route, tools)

"""Which implementation stands at each port? The one place that picks; everything is made when first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.domain.job import LIMITS, Keep, Limits
from hermes_cron.home import Home
from hermes_cron.ports import Checks, Clock, Emit, ExternalMemory, Model, Target
from hermes_cron.settings import Settings

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.databases.registry import DatabaseRegistry
    from hermes_cron.delivery.registry import TargetRegistry
    from hermes_cron.desks.consolidation import ConsolidationDesk
    from hermes_cron.desks.curator import CuratorDesk
    from hermes_cron.desks.history import HistoryDesk
    from hermes_cron.desks.learning import LearningDesk
    from hermes_cron.desks.memory import MemoryDesk
    from hermes_cron.desks.metrics import MetricsDesk
    from hermes_cron.desks.recall import RecallDesk
    from hermes_cron.desks.reviews import ReviewDesk
    from hermes_cron.desks.runs import RunDesk
    from hermes_cron.desks.sessions import SessionDesk
    from hermes_cron.desks.skill_reading import SkillReading
    from hermes_cron.desks.skills import SkillDesk
    from hermes_cron.domain.command import Flag, ProcessGroup
    from hermes_cron.domain.database import DatabaseConfig
    from hermes_cron.domain.earlier import Report
    from hermes_cron.domain.event import Event, SecurityFinding
    from hermes_cron.domain.file_edit import Edits
    from hermes_cron.domain.job import Job
    from hermes_cron.domain.run import Outcome, TakenRun
    from hermes_cron.domain.target import TargetConfig
    from hermes_cron.domain.transcript import Header, Message, Usage
    from hermes_cron.experience.skill_index import SkillIndexer
    from hermes_cron.experience.skills import Readings, Root, SkillLibrary
    from hermes_cron.jobs.files import JobFiles
    from hermes_cron.jobs.load import Known
    from hermes_cron.jobs.watch import Watcher
    from hermes_cron.models.endpoint import Endpoint
    from hermes_cron.models.prices import Prices
    from hermes_cron.models.windows import Windows
    from hermes_cron.observe.exporter import Exporter
    from hermes_cron.ports import Journal, Purse
    from hermes_cron.runner.compacting import Compaction
    from hermes_cron.runner.prompt import LastRun, Remembered
    from hermes_cron.runner.route import Route
    from hermes_cron.runner.runner import PlaybookProgram, Runner
    from hermes_cron.scheduler.owners import Living
    from hermes_cron.scheduler.sending import Sender
    from hermes_cron.scheduler.service import Notifier, Service
    from hermes_cron.scheduler.timers import Wakes
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.store.engine import Store
    from hermes_cron.store.jobs import Source, Synced, Understood
    from hermes_cron.store.outbox import DeliveryView
    from hermes_cron.store.spending import Payer
    from hermes_cron.tools.registry import Registry
    from hermes_cron.upgrade import Upgrade
    from hermes_cron.vault.vault import Vault

Action = Callable[["TakenRun", "Flag"], "Outcome"]

_PRODUCTS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


_WINDOW_S = 5.0
_SKILLS_S = 1.0  # well below the two seconds in which an edit is promised to be seen


class App:
    """One home's parts. Thread-safe once a part was made; ``close`` ends what was opened.

    ``actions`` are run by jobs with ``action:`` in place of ours; ``language`` is the one reports are written in when a
    job's own words do not say. ``person`` gives the login name behind a command, for the history.
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        clock: Clock,
        *,
        language: str = "en",
        actions: Mapping[str, Action] | None = None,
        person: Callable[[], str] | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self.clock = clock
        self.language = settings.language or language
        self._actions = actions
        self._person = person
        self._skills_read: tuple[float, SkillLibrary | None] = (0.0, None)
        self._settings_read: tuple[tuple[int, int, int] | None, Settings] = (None, settings)
        self._prices: tuple[Settings, Prices] | None = None
        self._runner: tuple[Settings, Runner] | None = None
        self._model: tuple[Endpoint, Model] | None = None
        self._tools: tuple[object, Registry] | None = None
        self._finding_tools = threading.Lock()
        self._emit: Callable[[Event], None] = lambda _: None

    @property
    def settings_now(self) -> Settings:
        """config.toml as it is now, for what a person changes while a scheduler runs: targets, caps and prices.

        Read again when the file was replaced; one that has a fault just now changes nothing.
        """
        from hermes_cron.errors import ConfigError

        try:
            stat = self.home.config.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._settings_read[0]:
                self._settings_read = seen, Settings.load(self.home)
        except (OSError, ConfigError):
            pass
        return self._settings_read[1]

    @property
    def home_limits(self) -> Limits:
        """What a run may use of what its job says nothing about, as config.toml says now."""
        now = self.settings_now.limits
        return Limits(**{name: getattr(now, name) for name in LIMITS})

    @property
    def home_keep(self) -> Keep:
        """How long runs are kept whose job says nothing about it, as config.toml says now."""
        now = self.settings_now.retention
        return Keep(runs=now.runs, days=now.days)

    # --- files -----------------------------------------------------------------------------------------------------

    @cached_property
    def jobs(self) -> JobFiles:
        """The job files."""
        from hermes_cron.jobs.files import JobFiles

        return JobFiles(self.home, change=self.change)

    def change(self, reason: str, edits: Callable[[], Edits], /, *, job: str | None = None) -> str | None:
        """``domain.file_edit.Change``: what every command that changes files of the home calls."""
        from hermes_cron.changes import Changes

        return Changes(self.snapshots, self._person)(reason, edits, job=job)

    def keep(self, reason: str) -> str | None:
        """Commit what a command made in the home; None when the last snapshot has it already."""
        from hermes_cron.snapshots.commits import CLI, Why

        by = None if self._person is None else self._person()
        made = self.snapshots.create(Why(actor=CLI, reason=reason, by=by)).after
        return None if made is None else made.id

    def keep_hand_edits(self) -> None:
        """Commit what lies in the home as its user's, before a program adds to it."""
        from hermes_cron.snapshots.held import BY_HAND

        self.snapshots.create(BY_HAND)

    @cached_property
    def vault(self) -> Vault:
        """The secrets."""
        from hermes_cron.vault.vault import Vault

        return Vault(self.home, self.clock)

    def redact(self, text: str) -> str:
        """The text without the vault's values. Looks at the vault as it is now."""
        return self.vault.redactor().redact(text)

    @cached_property
    def snapshots(self) -> SnapshotRepository:
        """The history of the home. Files that hold a value of the vault stay out of it."""
        return self.snapshots_within(60.0)

    def snapshots_within(self, wait_s: float) -> SnapshotRepository:
        """The same for who waits only so long while another process changes the home."""
        from hermes_cron.snapshots.repository import SnapshotRepository

        return SnapshotRepository(self.home.root, self.clock, forbidden=self.vault.finder, wait_s=wait_s)

    @cached_property
    def skills(self) -> SkillLibrary:
        """The home's skills, then the shipped ones, as they were when first asked for."""
        return self.read_skills()

    def read_skills(self) -> SkillLibrary:
        """The same as they are now, or were within the last second: many runs that start together look once."""
        from hermes_cron.experience.skills import SkillLibrary

        read, library = self._skills_read
        now = monotonic()
        if library is None or now - read > _SKILLS_S:
            library = SkillLibrary(self._skill_roots, self._skill_readings)
            self._skills_read = now, library
        return library

    def skills_now(self) -> SkillLibrary:
        """The same as they are at this moment: for who changes one, or has just changed one."""
        from hermes_cron.experience.skills import SkillLibrary

        library = SkillLibrary(self._skill_roots, self._skill_readings)
        self._skills_read = monotonic(), library
        return library

    @cached_property
    def skill_indexer(self) -> SkillIndexer:
        """What finds skills by what is to be done; keeps what it read of the library."""
        from hermes_cron.experience.skill_index import SkillIndexer

        return SkillIndexer()

    @cached_property
    def _skill_roots(self) -> tuple[Root, ...]:
        from hermes_cron.experience.skills import Root
        from hermes_cron.shipped import folder

        shipped = folder("skills")
        bundled = () if shipped is None else (Root(path=Path(str(shipped)), bundled=True),)
        return (Root(path=self.home.skills), *bundled)

    @cached_property
    def _skill_readings(self) -> Readings:
        from hermes_cron.experience.skills import Readings

        return Readings()

    @property
    def tools(self) -> Registry:
        """The tools of the package and of the home; looked for again when a file of the home's tools changed."""
        from hermes_cron.settings import variable
        from hermes_cron.tools.registry import discover, signature

        with self._finding_tools:  # a file of the home is imported by one run at a time
            seen, made = signature(self.home.tools), self._tools
            if made is None or made[0] != seen:
                found = discover(self.home.tools, has_variable=lambda name: variable(name) is not None)
                self._tools = made = seen, found
            return made[1]

    # --- the outside -----------------------------------------------------------------------------------------------

    @cached_property
    def databases(self) -> DatabaseRegistry:
        """The databases that config.toml names: one added a moment ago is known to a scheduler."""
        from hermes_cron.databases.registry import DatabaseRegistry

        configs = _AsItIs(lambda: self.settings_now.databases)
        return DatabaseRegistry(configs=configs, resolve=self.vault.resolve, root=self.home.root)

    @property
    def model(self) -> Model:
        """The language model; a home without one may have jobs that name theirs, and each request says which.

        Made anew when config.toml names another one, or when its key was changed.
        """
        from hermes_cron.models.endpoint import endpoint_of
        from hermes_cron.models.openai_compatible import OpenAICompatible

        settings = self.settings_now.model
        endpoint = endpoint_of(replace(settings, name=settings.name or "none"), self.vault.resolve)
        made = self._model
        if made is None or made[0] != endpoint:
            client = OpenAICompatible(endpoint, clock=self.clock, price=self._cost)
            self._model = made = endpoint, client
        return made[1]

    def _cost(self, model: str, usage: Usage) -> float | None:
        return self.prices.cost(model, usage)  # the table of now: the client lives as long as its process

    @cached_property
    def upgrade(self) -> Upgrade:
        """What brings the home to this version. Opens no store."""
        from hermes_cron.upgrade import Upgrade

        return Upgrade(self.home, self.clock, snapshot=self._snapshot_for_upgrade)

    def _snapshot_for_upgrade(self, reason: str) -> str:
        from hermes_cron.snapshots.repository import Why

        made = self.snapshots.create(Why(actor="upgrade", reason=reason))
        return made.newest.id

    # --- the store -------------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        """state.db, opened, made or upgraded."""
        from hermes_cron.store.engine import Store

        return Store(self.home.store)

    def known(self, *, strict: bool = True) -> Known:
        """What a job file may mention. ``strict`` for ``add``, ``edit`` and ``check``: names must exist."""
        from hermes_cron.jobs.load import Known

        names: dict[str, Collection[str]] = {}
        if strict:
            names = {
                "skills": _Asked(lambda: (*self.skills.names(), *self.skills.former_names())),
                "tools": _Asked(self._tool_words),
                "targets": frozenset(self.settings_now.targets),
                "jobs": _Asked(self.jobs.names),
            }
        return Known(
            databases=frozenset(self.settings_now.databases),
            guard=self._query_fault if strict else None,
            strict=strict,
            limits=self.home_limits,
            keep=self.home_keep,
            **names,
        )

    def _query_fault(self, database: str, query: str) -> str | None:
        """Why a query of a check may not be sent to a configured database; None when it only reads."""
        from hermes_cron.databases.guard import read_only
        from hermes_cron.errors import SqlNotReadOnly

        config = self.settings_now.databases.get(database)
        if config is None:  # named before it is there, which `add` allows; the check then says so
            return None
        try:
            read_only(query, dialect="postgres" if config.engine == "postgresql" else "sqlite")
        except SqlNotReadOnly as error:
            return error.message
        return None

    def _tool_words(self) -> frozenset[str]:
        return frozenset(self.tools.tools) | frozenset(self.tools.sets)

    @cached_property
    def source(self) -> Source:
        """The job files as the store takes them in."""
        from hermes_cron.store.jobs import Source

        return Source(folder=self.jobs, parse=self._understand, tell=lambda: self.settings_now.security_notify)

    def _understand(self, data: bytes, file_name: str, now: datetime) -> Understood:
        from hermes_cron.jobs.understand import understand
        from hermes_cron.store.jobs import Understood

        found = understand(data, file_name, now, host_zone=self.settings.timezone, known=self.known(strict=False))
        return Understood(job=found.job, broken=found.broken, summary=found.summary, security=found.security)

    @property
    def catch_up_window(self) -> timedelta:
        """How far back due instants are looked for."""
        return timedelta(hours=self.settings.catch_up_hours)

    @property
    def answer_within(self) -> timedelta:
        """How long a question waits for a person; then silence means no."""
        return timedelta(hours=self.settings.approval_timeout_hours)

    def sync_jobs(self, *, actor: str, only: Collection[str] | None = None) -> Synced:
        """Bring the store up to the files, once; ``only`` these file names when the caller just wrote them.

        Raises ``DiskFull``, which says then that they are written: whoever looks next takes them in.
        """
        from hermes_cron.errors import DiskFull
        from hermes_cron.store.jobs import sync

        try:
            return sync(
                self.store, self.source, now=self.clock.now(), actor=actor, window=self.catch_up_window, only=only
            )
        except DiskFull as error:
            if only is None:
                raise
            raise DiskFull(
                f"the change is made, it stands in jobs/ and in the history, but {error.message}", hint=error.hint
            ) from error

    def serving(self) -> bool:
        """Whether a scheduler lives on this home."""
        return bool(self.schedulers())

    def schedulers(self) -> list[Living]:
        """Schedulers that live on this home, oldest first."""
        from hermes_cron.scheduler.owners import living

        return [owner for owner in living(self.home.owners) if owner.kind == "serve"]

    def wake(self) -> None:
        """Tell a living scheduler that the store changed; without one, nothing happens."""
        self.home.run.mkdir(parents=True, exist_ok=True)
        self.home.wake.touch()

    def product(self, name: str, *, timeout_s: float) -> str | None:
        """``PostgreSQL 15.18`` when the database answers within the time, else None, for whatever reason.

        The thread that still waits then is left to its connection's own time-out.
        """
        from queue import Empty, SimpleQueue
        from threading import Thread

        answer: SimpleQueue[str | None] = SimpleQueue()
        Thread(target=lambda: answer.put(self._product(name)), daemon=True).start()
        try:
            return answer.get(timeout=timeout_s)
        except Empty:
            return None

    def _product(self, name: str) -> str | None:
        from hermes_cron.databases.connect import probe
        from hermes_cron.errors import HermesCronError

        try:
            config = self.databases.config(name)
            account = probe(config, password=self.databases.password(config))
        except HermesCronError:  # one line of an echo; `db test` says why
            return None
        return f"{_PRODUCTS.get(account.engine, account.engine)} {account.version}"

    def route(self, job: Job) -> Route:
        """Who would drive a run of this job. Raises ``ModelNotConfigured`` as the run would fail."""
        from hermes_cron.runner.route import route

        known = self.settings_now.databases
        engines = {name: known[name].engine for name in job.databases if name in known}
        return route(job, library=self.skills, engines=engines, model=self.settings_now.model.name)

    def refuse_several_databases(self, job: Job) -> None:
        """Raises ``PlaybookOneDatabase`` where every run of the job would; all other reasons are a run's own."""
        if job.prompt is None or len(job.databases) < 2:
            return
        from hermes_cron.errors import HermesCronError
        from hermes_cron.models.playbook.inputs import database_for
        from hermes_cron.models.playbook.load import load

        try:
            route = self.route(job)
            program = None if route.playbook is None else load(route.playbook)
        except HermesCronError:  # `add` shows it as "nothing yet"; no reason to refuse the job
            return
        if program is not None and route.skill is not None:
            database_for(program, route.database, skill=route.skill.name, job=job)

    # --- running ---------------------------------------------------------------------------------------------------

    @property
    def runner(self) -> Runner:
        """What executes owned runs, with the model that config.toml names now."""
        settings, made = self.settings_now, self._runner
        if made is None or made[0] is not settings:
            self._runner = made = settings, self._make_runner(settings)
        return made[1]

    def _make_runner(self, settings: Settings) -> Runner:
        from hermes_cron.domain.session import Lookup
        from hermes_cron.environments.local import run as run_command
        from hermes_cron.runner.runner import Parts, Runner
        from hermes_cron.settings import command_environment

        model = settings.model
        return Runner(
            Parts(
                home=self.home,
                clock=self.clock,
                databases=self.databases,
                targets=lambda: self.settings_now.targets,
                library=self.read_skills,
                registry=lambda: self.tools,
                model=lambda: self.model,
                default_model=model.name,
                parameters=model.parameters,
                playbooks=_Playbooks(self.language),
                open_journal=self._open_journal,
                resume_journal=self._resume_journal,
                purse=self.purse,
                checks=self.checks,
                keep_pins=self._keep_pins,
                note_group=self._note_group,
                drift=self._drift,
                note_security=self.note_security,
                last_run=self._last_run,
                earlier=self._earlier,
                remember=self._remember,
                run_command=run_command,
                base_env=command_environment(),
                redact=self.redact,
                model_timeout_s=model.timeout_s,
                actions=self.actions,
                sessions=Lookup(search=self.sessions.search, around=self.sessions.around),
                doors=self.learning.doors,
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
            doors=partial(self.learning.doors, actor="flush"),
        )

    def window_of(self, model: str) -> int:
        """How many tokens a model reads at once, as far as is known."""
        said = self.settings_now.model
        return self.windows.of(model, configured=said.window, of=said.name)

    def _ask_window(self, model: str) -> None:
        """The server may list what it reads; asked once, and only where nobody else knows."""
        from hermes_cron.errors import ModelError
        from hermes_cron.models.openai_compatible import OpenAICompatible

        client = self.model
        if self.settings_now.model.window is not None or not self.windows.guessed(model):
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

    @property
    def prices(self) -> Prices:
        """What models cost: config.toml's own prices as they are now, then the shipped table."""
        from hermes_cron.models.prices import Prices

        settings, made = self.settings_now, self._prices
        if made is None or made[0] is not settings:
            self._prices = made = settings, Prices(settings.prices)
        return made[1]

    def purse(self, taken: TakenRun) -> Purse | None:
        """What a language model's calls of this run are paid from, under the caps of now; None where none holds."""
        from hermes_cron.store.spending import Payer

        return self.purse_of(Payer(run_id=taken.id, fence=taken.fence, job_uid=taken.job_uid), taken.job.limits)

    def purse_of(self, payer: Payer, limits: Limits) -> Purse | None:
        """The same for whoever pays."""
        from hermes_cron.domain.money import caps
        from hermes_cron.store.spending import StorePurse

        held = caps(limits, self.settings_now.budget)
        if not held:
            return None
        return StorePurse(
            self.store,
            self.clock,
            payer=payer,
            caps=held,
            tariff=self.prices.price,
            zone=ZoneInfo(self.settings.timezone),
        )

    def _open_journal(self, taken: TakenRun, header: Header, messages: Sequence[Message] = ()) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        return SqlJournal.begin(
            self.store, self.clock, run_id=taken.id, fence=taken.fence, header=header, messages=messages
        )

    @cached_property
    def checks(self) -> Checks:
        """What judges whether a run did what it says."""
        from hermes_cron.checks.judge import OutcomeChecks
        from hermes_cron.environments.local import run as run_command

        return OutcomeChecks(databases=self.databases, run_command=run_command)

    def _keep_pins(self, taken: TakenRun, text: str) -> None:
        from hermes_cron.store.pins import pin

        self.store.write(lambda conn: pin(conn, taken.id, taken.fence, text))

    def _note_group(self, taken: TakenRun, group: ProcessGroup) -> None:
        from hermes_cron.store.pins import note_group

        self.store.write(lambda conn: note_group(conn, taken.id, taken.fence, group))

    def note_security(self, findings: Sequence[SecurityFinding]) -> None:
        """Make known what the scanner found: rows, counter, a message of what was blocked, and a line in a scheduler's
        log."""
        from hermes_cron.store import security

        now, tell = self.clock.now(), self.settings_now.security_notify
        self.store.write(lambda conn: security.note(conn, findings, now, tell=tell, lang=self.language))
        if findings:
            self.wake()  # a scheduler sends what is told of it
        for finding in findings:
            self._emit(finding)

    def _drift(self, taken: TakenRun) -> str | None:
        """How the checks of the job's file differ from those that the run was queued with; None when they do not."""
        from hermes_cron.errors import NotFound
        from hermes_cron.store.pins import queued_at

        if taken.job_uid is None:
            return None
        try:
            data = self.jobs.read(taken.job.name)
        except NotFound:
            now = "the job has no file now"
        else:
            found = self._understand(data, f"{taken.job.name}.md", self.clock.now())
            if found.job is not None and found.job.checks == taken.job.checks:
                return None
            now = "the job file is broken now" if found.job is None else "the job file's checks are others now"
        with self.store.read() as conn:
            queued = queued_at(conn, taken.id)
        return f"judged by the revision of {queued:%Y-%m-%d %H:%M:%S} UTC: {now}"

    def _resume_journal(self, taken: TakenRun) -> Journal:
        from hermes_cron.store.journal import SqlJournal

        if taken.session is None:
            raise ValueError("the run has no session to go on with")
        return SqlJournal.open(self.store, self.clock, run_id=taken.id, fence=taken.fence, session_id=taken.session)

    def _last_run(self, taken: TakenRun) -> LastRun:
        from hermes_cron.runner import outputs
        from hermes_cron.runner.prompt import LastRun
        from hermes_cron.store.last import last_ended

        if taken.job_uid is None:
            return LastRun()
        with self.store.read() as conn:
            last = last_ended(conn, taken.job_uid)
        if last is None:
            return LastRun()
        return LastRun(
            run_id=last["id"],
            scheduled_at=last["scheduled_at"],
            started_at=last["started_at"],
            ended_at=last["ended_at"],
            state=last["state"],
            output=outputs.read(self.home, last["output_path"]),
            result=last["result"],
            result_at=last["result_at"],
        )

    def _earlier(self, taken: TakenRun) -> Sequence[Report]:
        from hermes_cron.desks.reports import asked_for

        return asked_for(self, taken)

    def _remember(self, taken: TakenRun, route: Route, tools: Collection[str]) -> Remembered:
        from hermes_cron.desks.remembered import remembered

        return remembered(self, taken, route, tools)

    # --- serving ---------------------------------------------------------------------------------------------------

    def service(
        self,
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

        emit = self._emit = logs.begin(logs.LogFile(self.home.logs), self.clock, self.redact, tell=tell)
        sender = self.sender(emit)
        return Service(
            Plan(
                store=self.store,
                source=self.source,
                clock=self.clock,
                owners=self.home.owners,
                execute=self._execute,
                end_group=_end_group,
                emit=emit,
                concurrency=concurrency or self.settings.concurrency,
                window=self.catch_up_window,
                drain_s=drain_s,
                watch=partial(self._watch, emit) if watch else None,
                signature=lambda: signature(self.home.jobs),
                housekeep=lambda now: housekeep(self.store, self.home, keep=self.home_keep, emit=emit, now=now),
                sender=sender,
                keeper=Keeper(lambda: elsewhere(self.home.root, self.clock.now()), self.home.unfinished_change, emit),
                indexer=Indexer(self._put_in),
                exporter=self._exporter(),
                notifier=notifier or NOBODY,
                answer_within=self.answer_within,
                limits=lambda: self.home_limits,
                reviewer=self.reviews.reviewer(emit, ended=sender.kick),
                nudge=lambda: self.reviews.nudge,
            )
        )

    def _exporter(self) -> Exporter | None:
        """None where config.toml says off."""
        from hermes_cron.observe.exporter import Exporter

        listen = self.settings.metrics_listen
        return None if listen == "off" else Exporter(listen, self.metrics.text)

    def _execute(self, taken: TakenRun, cancel: threading.Event) -> Outcome:
        """Asks for the runner at the first run: an idle service needs neither agent nor tools."""
        return self.runner.execute(taken, cancel)

    def _put_in(self, enough: Callable[[], bool]) -> bool:
        """Opens the index when its time has come, not with the service."""
        return self.sessions.put_in(enough)

    def _watch(self, emit: Callable[[Event], None], wakes: Wakes) -> Watcher:
        from hermes_cron.domain.event import WatchFailed
        from hermes_cron.jobs.watch import Watcher
        from hermes_cron.scheduler.timers import Wake

        self.home.run.mkdir(parents=True, exist_ok=True)
        return Watcher(
            self.home.jobs,
            self.home.wake,
            on_files=lambda: wakes.put(Wake.FILES),
            on_store=lambda: wakes.put(Wake.STORE),
            on_failed=lambda error, poll_s: emit(WatchFailed(error=error, poll_s=poll_s)),
        )

    # --- messages --------------------------------------------------------------------------------------------------

    @cached_property
    def targets(self) -> TargetRegistry:
        """Where messages may go, as config.toml says now: a target added a moment ago is known to a scheduler."""
        from hermes_cron.delivery.registry import TargetRegistry

        return TargetRegistry(
            home=self.home,
            clock=self.clock,
            configs=lambda: self.settings_now.targets,
            resolve=self.vault.resolve,
        )

    def try_target(self, config: TargetConfig, secrets: Mapping[str, str]) -> Target:
        """A target that may not be saved yet; ``secrets`` are values by the names that the vault will have."""
        from hermes_cron.delivery.registry import TargetRegistry

        def resolve(reference: str) -> str:
            return secrets.get(reference.removeprefix("secret:")) or self.vault.resolve(reference)

        return TargetRegistry(home=self.home, clock=self.clock, configs=dict, resolve=resolve).made(config)

    def sender(self, emit: Callable[[Event], None], *, only: str | int | None = None) -> Sender:
        """What sends the messages of the outbox; ``only`` those of a run, or the one with a number."""
        from hermes_cron.scheduler.sending import Post, Sender

        return Sender(
            Post(
                store=self.store,
                clock=self.clock,
                owners=self.home.owners,
                targets=self.targets,
                redact=self.redact,
                emit=emit,
                only=only,
            )
        )

    def send_now(self, only: str | int, *, limit_s: float = 30.0) -> list[DeliveryView]:
        """Each message of a run, or the one with a number, is tried once, by a living scheduler or here; what became of
        them.

        A message that is tried again later is still ``queued`` then, and so is one that took longer than ``limit_s``.
        """
        from hermes_cron.scheduler.owners import Owner
        from hermes_cron.store import outbox

        def views() -> list[DeliveryView]:
            with self.store.read() as conn:
                return [outbox.one(conn, only)] if isinstance(only, int) else outbox.of_runs(conn, [only]).get(only, [])

        if not any(view.untried for view in views()):
            return views()
        if self.serving():
            self.wake()
            end = monotonic() + limit_s
            while monotonic() < end and any(view.untried for view in views()):
                sleep(0.05)
            return views()
        with Owner(self.home.owners, kind="run", started_at=self.clock.now()) as owner:
            sender = self.sender(lambda _: None, only=only)
            sender.start(owner.name)
            sender.flush(limit_s)
            sender.stop()
        return views()

    # --- runs by hand, and what people look at ---------------------------------------------------------------------

    @cached_property
    def runs(self) -> RunDesk:
        """Runs as a person starts, stops and reads them."""
        from hermes_cron.desks.runs import RunDesk

        return RunDesk(self)

    @cached_property
    def sessions(self) -> SessionDesk:
        """What was said in sessions, as people and runs look it up."""
        from hermes_cron.desks.sessions import SessionDesk

        return SessionDesk(self)

    @cached_property
    def history(self) -> HistoryDesk:
        """The history of the home as a person looks at it, restores from it and undoes."""
        from hermes_cron.desks.history import HistoryDesk

        return HistoryDesk(self)

    @cached_property
    def skill_reading(self) -> SkillReading:
        """Skills as runs look at them, and what runs made of them."""
        from hermes_cron.desks.skill_reading import SkillReading

        return SkillReading(self)

    @cached_property
    def skill_desk(self) -> SkillDesk:
        """Changes of skills, by runs and by people."""
        from hermes_cron.desks.skills import SkillDesk

        return SkillDesk(self)

    @cached_property
    def learning(self) -> LearningDesk:
        """What runs, reviews and people teach the home."""
        from hermes_cron.desks.learning import LearningDesk

        return LearningDesk(self)

    @cached_property
    def memory(self) -> MemoryDesk:
        """What is known from earlier runs: the two files, as people and runs read and write them."""
        from hermes_cron.desks.memory import MemoryDesk

        return MemoryDesk(self)

    @cached_property
    def recall(self) -> RecallDesk:
        """What comes to mind: the memory beside the built-in one."""
        from hermes_cron.desks.recall import RecallDesk

        return RecallDesk(self)

    def second_memory(self, name: str) -> ExternalMemory:
        """The provider of that name. Raises ``RecallFailed`` where a package's does not start."""
        from hermes_cron.recall import local, registry

        if name != local.LocalRecall.name:
            return registry.begun(name, self.home.root)
        from hermes_cron.environments.local import run as run_command
        from hermes_cron.store import recall

        vectors = local.Vectors(load=partial(recall.vectors, self.store), keep=partial(recall.keep, self.store))
        return local.LocalRecall(vectors=vectors, run=run_command, folder=self.home.root)

    @cached_property
    def reviews(self) -> ReviewDesk:
        """Looks back at runs, for what is worth keeping."""
        from hermes_cron.desks.reviews import ReviewDesk

        return ReviewDesk(self)

    @cached_property
    def curator(self) -> CuratorDesk:
        """Keeps the skills healthy."""
        from hermes_cron.desks.curator import CuratorDesk

        return CuratorDesk(self)

    @cached_property
    def consolidation(self) -> ConsolidationDesk:
        """Keeps the memory short and true."""
        from hermes_cron.desks.consolidation import ConsolidationDesk

        return ConsolidationDesk(self)

    @property
    def actions(self) -> Mapping[str, Action]:
        """What runs of jobs with ``action:`` do, by its word."""
        from hermes_cron.domain.job import Action as Word

        if self._actions is not None:
            return self._actions
        return {Word.CURATE: self.curator.run, Word.CONSOLIDATE: self.consolidation.run}

    @cached_property
    def metrics(self) -> MetricsDesk:
        """What a Prometheus is told of the home."""
        from hermes_cron.desks.metrics import MetricsDesk

        return MetricsDesk(self)

    def close(self) -> None:
        """Ends what was opened."""
        opened = self.__dict__
        if "store" in opened:
            self.store.close()


def settle(home: Home, clock: Clock) -> None:
    """Finish a change whose process died; one that is under way in another process is waited for, not for long."""
    from hermes_cron.snapshots.repository import SnapshotRepository

    SnapshotRepository(home.root, clock, wait_s=2.0).settle()


def _end_group(pgid: int, started: str, boot_id: str) -> None:
    from hermes_cron.domain.command import ProcessGroup
    from hermes_cron.environments.processes import end_group

    end_group(ProcessGroup(pgid=pgid, started=started, boot_id=boot_id))


class _AsItIs(Mapping[str, "DatabaseConfig"]):
    """A table of config.toml, looked up anew at each question."""

    def __init__(self, now: Callable[[], Mapping[str, DatabaseConfig]]) -> None:
        self._now = now

    def __getitem__(self, name: str) -> DatabaseConfig:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


class _Asked(Collection[str]):
    """Names that are looked up when the first one is asked for: most jobs name no tool, and importing all costs."""

    def __init__(self, names: Callable[[], Collection[str]]) -> None:
        self._look_up = names

    @cached_property
    def _names(self) -> Collection[str]:
        return self._look_up()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Playbooks:
    """Playbooks as the runner sees them; ``language`` for jobs whose own words do not say."""

    def __init__(self, language: str) -> None:
        self._language = language

    def program(self, route: Route, job: Job, *, now: datetime, last: LastRun) -> PlaybookProgram:
        from hermes_cron.models.playbook.inputs import Inputs, database_for, header, last_of
        from hermes_cron.models.playbook.load import load
        from hermes_cron.runner.runner import PlaybookProgram

        if route.playbook is None or route.skill is None:
            raise ValueError("the route has no playbook")
        program = load(route.playbook)
        database = database_for(program, route.database, skill=route.skill.name, job=job)
        inputs = Inputs(
            skill=route.skill.name,
            program=program,
            language=_language_of(job) or self._language,
            database=database,
            engine=None if database is None else route.engine,
            zone=job.timezone,
            now=now,
            last=last_of(last.result, last.result_at, skill=route.skill.name, database=database),
        )
        return PlaybookProgram(
            data=header(inputs, job.playbook.params), model=inputs.model, tools=inputs.program.tools()
        )

    def model(self, emit: Emit) -> Model:
        from hermes_cron.models.playbook.model import PlaybookModel

        return PlaybookModel(emit)


def _language_of(job: Job) -> str | None:
    """The language of the prompt; None for a job without one."""
    from hermes_cron.domain.schedule.phrase import language

    return language(job.prompt) if job.prompt else None

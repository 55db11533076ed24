"""Which implementation stands at each port? The one place that picks; everything is made when first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from hermes_cron.domain.job import LIMITS, Keep, Limits
from hermes_cron.home import Home
from hermes_cron.ports import Clock, ExternalMemory, Model
from hermes_cron.settings import Settings

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.databases.registry import DatabaseRegistry
    from hermes_cron.desks.consolidation import ConsolidationDesk
    from hermes_cron.desks.curator import CuratorDesk
    from hermes_cron.desks.history import HistoryDesk
    from hermes_cron.desks.learning import LearningDesk
    from hermes_cron.desks.memory import MemoryDesk
    from hermes_cron.desks.messages import MessageDesk
    from hermes_cron.desks.metrics import MetricsDesk
    from hermes_cron.desks.recall import RecallDesk
    from hermes_cron.desks.reviews import ReviewDesk
    from hermes_cron.desks.runs import RunDesk
    from hermes_cron.desks.sessions import SessionDesk
    from hermes_cron.desks.skill_reading import SkillReading
    from hermes_cron.desks.skills import SkillDesk
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.event import Event, SecurityFinding
    from hermes_cron.domain.file_edit import Edits
    from hermes_cron.domain.job import Job
    from hermes_cron.domain.run import Outcome, TakenRun
    from hermes_cron.domain.transcript import Usage
    from hermes_cron.experience.skill_index import SkillIndexer
    from hermes_cron.experience.skills import Readings, Root, SkillLibrary
    from hermes_cron.jobs.files import JobFiles
    from hermes_cron.jobs.load import Known
    from hermes_cron.models.endpoint import Endpoint
    from hermes_cron.models.prices import Prices
    from hermes_cron.runner.route import Route
    from hermes_cron.scheduler.owners import Living
    from hermes_cron.snapshots.repository import SnapshotRepository
    from hermes_cron.store.engine import Store
    from hermes_cron.store.jobs import Source, Synced, Understood
    from hermes_cron.tools.registry import Registry
    from hermes_cron.upgrade import Upgrade
    from hermes_cron.vault.vault import Vault
    from hermes_cron.wiring.running import Running

Action = Callable[["TakenRun", "Flag"], "Outcome"]

_PRODUCTS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


_SKILLS_S = 1.0  # well below the two seconds in which an edit is promised to be seen


class App:
    """One home's parts. Thread-safe once a part was made; ``close`` ends what was opened.

    ``actions`` are run by jobs with ``action:`` in place of ours; ``language`` is the one reports are written in when a
    job's own words do not say. ``person`` gives the login name behind a command, for the history.
    ``emit`` is told every event; nobody hears it until a scheduler begins.
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
        self._model: tuple[Endpoint, Model] | None = None
        self._tools: tuple[object, Registry] | None = None
        self._finding_tools = threading.Lock()
        self.emit: Callable[[Event], None] = lambda _: None

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
        from hermes_cron.wiring.lookups import AsItIs

        configs = AsItIs(lambda: self.settings_now.databases)
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
        from hermes_cron.wiring.lookups import Asked

        names: dict[str, Collection[str]] = {}
        if strict:
            names = {
                "skills": Asked(lambda: (*self.skills.names(), *self.skills.former_names())),
                "tools": Asked(self._tool_words),
                "targets": frozenset(self.settings_now.targets),
                "jobs": Asked(self.jobs.names),
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

        return Source(folder=self.jobs, parse=self.understand, tell=lambda: self.settings_now.security_notify)

    def understand(self, data: bytes, file_name: str, now: datetime) -> Understood:
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

    @property
    def prices(self) -> Prices:
        """What models cost: config.toml's own prices as they are now, then the shipped table."""
        from hermes_cron.models.prices import Prices

        settings, made = self.settings_now, self._prices
        if made is None or made[0] is not settings:
            self._prices = made = settings, Prices(settings.prices)
        return made[1]

    def note_security(self, findings: Sequence[SecurityFinding]) -> None:
        """Make known what the scanner found: rows, counter, a message of what was blocked, and a line in a scheduler's
        log."""
        from hermes_cron.store import security

        now, tell = self.clock.now(), self.settings_now.security_notify
        self.store.write(lambda conn: security.note(conn, findings, now, tell=tell, lang=self.language))
        if findings:
            self.wake()  # a scheduler sends what is told of it
        for finding in findings:
            self.emit(finding)

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

    @cached_property
    def running(self) -> Running:
        """What runs are executed with."""
        from hermes_cron.wiring.running import Running

        return Running(self)

    @cached_property
    def messages(self) -> MessageDesk:
        """Where messages go, and the outbox."""
        from hermes_cron.desks.messages import MessageDesk

        return MessageDesk(self)

    def close(self) -> None:
        """Ends what was opened."""
        opened = self.__dict__
        if "store" in opened:
            self.store.close()


def settle(home: Home, clock: Clock) -> None:
    """Finish a change whose process died; one that is under way in another process is waited for, not for long."""
    from hermes_cron.snapshots.repository import SnapshotRepository

    SnapshotRepository(home.root, clock, wait_s=2.0).settle()

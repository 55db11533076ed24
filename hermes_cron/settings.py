"""What did the person configure? config.toml with the environment over it, read once, checked key by key.

The only module that reads ``os.environ``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

from hermes_cron.errors import ConfigError, SecretInPlainSight

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_cron.domain.database import DatabaseConfig, Engine
    from hermes_cron.domain.target import TargetConfig
    from hermes_cron.home import Home

Language = Literal["en", "zh"]

COMPLETION_VARIABLE = "_HERMES_CRON_COMPLETE"
"""Set by the shell functions that ``completion show`` prints; the name is click's rule for ``hermes-cron``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The variables this program looks at. Empty ones count as not set."""

    home: str | None = None
    language: Language = "en"
    no_color: bool = False
    complete: str | None = None
    testing: bool = False
    clock_file: str | None = None
    metrics_listen: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    key_file: str | None = None
    credentials_directory: str | None = None
    notify_socket: str | None = None
    watchdog_usec: str | None = None
    watchdog_pid: str | None = None
    time_zone: str | None = None
    editor: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that hold a secret by their name: their values are hidden wherever they would be shown."""


def environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Read the process's environment, or the given one."""
    env = os.environ if variables is None else variables

    def value(name: str) -> str | None:
        return env.get(name) or None

    spoken = value("LC_ALL") or value("LC_MESSAGES") or value("LANG") or ""
    return Environment(
        home=value("HERMES_CRON_HOME"),
        language="zh" if spoken.lower().startswith("zh") else "en",
        no_color=value("NO_COLOR") is not None or value("TERM") == "dumb",
        complete=value(COMPLETION_VARIABLE),
        testing=value("HERMES_CRON_TESTING") == "1",
        clock_file=value("HERMES_CRON_CLOCK_FILE") if value("HERMES_CRON_TESTING") == "1" else None,
        metrics_listen=value("HERMES_CRON_METRICS_LISTEN"),
        model=value("HERMES_CRON_MODEL"),
        base_url=value("OPENAI_BASE_URL"),
        api_key=value("OPENAI_API_KEY"),
        key_file=value("HERMES_CRON_KEY_FILE"),
        credentials_directory=value("CREDENTIALS_DIRECTORY"),
        notify_socket=value("NOTIFY_SOCKET"),
        watchdog_usec=value("WATCHDOG_USEC"),
        watchdog_pid=value("WATCHDOG_PID"),
        time_zone=value("TZ"),
        editor=value("VISUAL") or value("EDITOR"),
        secrets={name: held for name, held in env.items() if _holds_secret(name, held)},
    )


_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?)(?:_[A-Z0-9]{1,20})?$", re.I
)
_NO_SECRET = re.compile(r"_(?:FILE|PATH|DIR|URL|ID|NAME|TTL|TYPE)$", re.I)
_SHORTEST_SECRET = 8


def _holds_secret(name: str, value: str) -> bool:
    """``DB_PASSWORD``, not ``KEY_FILE`` or a path."""
    if len(value) < _SHORTEST_SECRET or value.startswith(("/", "~")) or any(char.isspace() for char in value):
        return False
    return _SECRET.search(name) is not None and _NO_SECRET.search(name) is None


_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


def command_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """What commands of jobs inherit: where programs and people live and how they speak, and no key of ours."""
    env = os.environ if variables is None else variables
    return {name: env[name] for name in _PASSED_ON if name in env}


NO_MODEL = "none"
"""What people answer, set or export to have no model: never the name of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """``name`` None: no model. ``key_ref`` names a secret; ``key`` is the environment's and goes before it."""

    name: str | None = None
    base_url: str | None = None
    key_ref: str | None = None
    key: str | None = field(default=None, repr=False)
    stream: bool = False
    timeout_s: float = 120.0
    max_tokens: int = 8192
    temperature: float | None = None
    auxiliary: str | None = None
    window: int | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """What goes with each request beside the messages."""
        found: dict[str, object] = {"max_tokens": self.max_tokens}
        return found if self.temperature is None else {**found, "temperature": self.temperature}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Characters that the two files may have, what an entry too many does, and the second memory beside them."""

    memory_chars: int = 2200
    user_chars: int = 1375
    overflow: Literal["fail", "archive"] = "fail"
    provider: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSettings:
    """After how much a run is looked back at, with how many model calls, and when people hear of what was learned."""

    memory_turns: int = 10
    skill_iterations: int = 10
    review_iterations: int = 8
    notice: Literal["delivery", "now", "off"] = "delivery"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """When a transcript is compacted, in percent of the window, and how many messages stay at both ends."""

    engine: str = "summary"
    at_percent: int = 50
    hard_percent: int = 85
    keep_head: int = 3
    keep_tail: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratorSettings:
    """When a skill is out of use or fails, and what the curator may do about skills by itself.

    ``policy``: its proposals wait for a person, are carried out (``most`` a night), or are not made. The first
    ``dry_nights`` only say what would be done.
    """

    stale_days: int = 14
    archive_days: int = 30
    policy: Literal["propose", "auto", "off"] = "propose"
    most: int = 5
    dry_nights: int = 3
    success_below: float = 0.5
    success_runs: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """What a run may use where its job says nothing."""

    minutes: float = 30
    iterations: int = 90
    tokens: int | None = None
    cost_usd: float | None = None
    cost_usd_per_day: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """What all runs of the home may use together, by day and month of its zone. None: no cap."""

    tokens_per_day: int | None = None
    tokens_per_month: int | None = None
    cost_usd_per_day: float | None = None
    cost_usd_per_month: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """Runs of a job that are kept where the job says nothing: the newest ``runs`` and all of ``days``."""

    runs: int = 200
    days: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD for a million tokens. ``cached`` None: cached input costs what input costs."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml and the environment say, with defaults filled in.

    ``timezone`` is an IANA name and never empty. ``language`` None: nobody configured one.
    """

    timezone: str = "UTC"
    language: Language | None = None
    concurrency: int = 4
    catch_up_hours: float = 24.0
    model: ModelSettings = field(default_factory=ModelSettings)
    metrics_listen: str = "127.0.0.1:9464"
    memory: MemorySettings = field(default_factory=MemorySettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    curator: CuratorSettings = field(default_factory=CuratorSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    approval_timeout_hours: float = 24.0
    security_notify: tuple[str, ...] = ()
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    databases: Mapping[str, DatabaseConfig] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    targets: Mapping[str, TargetConfig] = field(default_factory=dict)

    @classmethod
    def load(cls, home: Home, env: Environment | None = None) -> Settings:
        """Read a home's config.toml.

        Raises:
            ConfigError: unreadable, not TOML, an unknown key, a wrong type or value; with the line.
            SecretInPlainSight: a password or key stands in it.
        """
        try:
            text = home.config.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{home.config} is not UTF-8", hint="save it as UTF-8") from error
        except OSError as error:
            raise ConfigError(f"cannot read {home.config}: {error.strerror}", hint="hermes-cron init") from error
        return cls.parse(text, home.config, environment() if env is None else env)

    @classmethod
    def parse(cls, text: str, path: Path, env: Environment) -> Settings:
        """``load`` for a text that is not in place yet; ``path`` names it and anchors relative database files."""
        from hermes_cron import config_keys

        tables = config_keys.parse(text, path)
        return cls(
            timezone=_zone(tables, env),
            language=_language(tables),
            concurrency=_get(tables, "concurrency", int),
            catch_up_hours=_get(tables, "catch_up_hours", float),
            model=_model(tables, env),
            metrics_listen=_listen(tables, env),
            memory=_memory(tables),
            learning=_learning(tables),
            compaction=_compaction(tables),
            curator=_curator(tables),
            limits=LimitSettings(minutes=_get(tables, "limits.minutes", float),
                                 iterations=_get(tables, "limits.iterations", int),
                                 tokens=_maybe(tables, "limits.tokens", int),
                                 cost_usd=_maybe(tables, "limits.cost_usd", float),
                                 cost_usd_per_day=_maybe(tables, "limits.cost_usd_per_day", float)),
            budget=BudgetSettings(tokens_per_day=_maybe(tables, "budget.tokens_per_day", int),
                                  tokens_per_month=_maybe(tables, "budget.tokens_per_month", int),
                                  cost_usd_per_day=_maybe(tables, "budget.cost_usd_per_day", float),
                                  cost_usd_per_month=_maybe(tables, "budget.cost_usd_per_month", float)),
            approval_timeout_hours=_get(tables, "approval.timeout_hours", float),
            security_notify=_names(_maybe(tables, "security.notify", str)),
            retention=RetentionSettings(runs=_get(tables, "retention.runs", int),
                                        days=_get(tables, "retention.days", int)),
            databases={name: _database(name, tables, path) for name in _table(tables, "databases")},
            prices={name: _price(name, tables, path) for name in _table(tables, "prices")},
            targets={name: _target(name, tables, path) for name in _table(tables, "targets")},
        )  # fmt: skip


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


T = TypeVar("T", str, int, float, bool)


def _lookup(tables: Mapping[str, object], keys: tuple[str, ...]) -> object | None:
    value: object = tables
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def _maybe(tables: Mapping[str, object], name: str, kind: type[T], *, star: str = "") -> T | None:
    """The file's value, else the table's default; None where neither is. ``star`` fills the ``*`` of the name."""
    from hermes_cron import config_keys

    keys = tuple(star if key == "*" else key for key in name.split("."))
    value = _lookup(tables, keys)
    if value is None:
        setting = config_keys.find(keys)
        value = setting.default if setting else None
    if kind is float and isinstance(value, int):
        value = float(value)
    return value if isinstance(value, kind) else None  # config_keys.parse has refused other types


def _get(tables: Mapping[str, object], name: str, kind: type[T], *, star: str = "") -> T:
    value = _maybe(tables, name, kind, star=star)
    if value is None:
        raise LookupError(f"{name} has no default")
    return value


def _table(tables: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = tables.get(name, {})
    return found if isinstance(found, Mapping) else {}


def _language(tables: Mapping[str, object]) -> Language | None:
    match _maybe(tables, "language", str):
        case "en":
            return "en"
        case "zh":
            return "zh"
        case _:
            return None


def _zone(tables: Mapping[str, object], env: Environment) -> str:
    return _maybe(tables, "timezone", str) or host_zone(env)


def host_zone(env: Environment) -> str:
    """TZ if it names a zone, else the host's, else UTC. An odd TZ (``CST-8``) is passed over: it names no rules."""
    from hermes_cron import config_keys

    if env.time_zone and config_keys.is_time_zone(env.time_zone.removeprefix(":")) is None:
        return env.time_zone.removeprefix(":")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tzlocal warns about hosts without a zone; UTC is then the answer
        import tzlocal

        try:
            name = tzlocal.get_localzone_name()
        except Exception:  # noqa: BLE001 tzlocal raises whatever the host's files make it raise
            return "UTC"
    return name if name and config_keys.is_time_zone(name) is None else "UTC"


def _listen(tables: Mapping[str, object], env: Environment) -> str:
    from hermes_cron import config_keys

    if env.metrics_listen and (wrong := config_keys.is_listen_address(env.metrics_listen)):
        raise ConfigError(f"HERMES_CRON_METRICS_LISTEN: {wrong}", hint="unset HERMES_CRON_METRICS_LISTEN")
    return env.metrics_listen or _get(tables, "metrics.listen", str)


def _model(tables: Mapping[str, object], env: Environment) -> ModelSettings:
    if env.base_url and (wrong := _url_fault(env.base_url)):
        raise ConfigError(f"OPENAI_BASE_URL: {wrong}", hint="unset OPENAI_BASE_URL, or set a URL")
    name = env.model or _maybe(tables, "model.name", str)
    return ModelSettings(
        name=None if name == NO_MODEL else name,
        base_url=env.base_url or _maybe(tables, "model.base_url", str),
        key_ref=_maybe(tables, "model.key", str),
        key=env.api_key,
        stream=_get(tables, "model.stream", bool),
        timeout_s=_get(tables, "model.timeout_s", float),
        max_tokens=_get(tables, "model.max_tokens", int),
        temperature=_maybe(tables, "model.temperature", float),
        auxiliary=_maybe(tables, "model.auxiliary", str),
        window=_maybe(tables, "model.window", int),
    )


def _memory(tables: Mapping[str, object]) -> MemorySettings:
    return MemorySettings(
        memory_chars=_get(tables, "memory.memory_chars", int),
        user_chars=_get(tables, "memory.user_chars", int),
        overflow="archive" if _get(tables, "memory.overflow", str) == "archive" else "fail",
        provider=_get(tables, "memory.provider", str),
    )


def _learning(tables: Mapping[str, object]) -> LearningSettings:
    notice = _get(tables, "learning.notice", str)
    return LearningSettings(
        memory_turns=_get(tables, "learning.memory_turns", int),
        skill_iterations=_get(tables, "learning.skill_iterations", int),
        review_iterations=_get(tables, "learning.review_iterations", int),
        notice="now" if notice == "now" else "off" if notice == "off" else "delivery",
    )


def _curator(tables: Mapping[str, object]) -> CuratorSettings:
    policy = _get(tables, "curator.policy", str)
    return CuratorSettings(
        stale_days=_get(tables, "curator.stale_days", int),
        archive_days=_get(tables, "curator.archive_days", int),
        policy="auto" if policy == "auto" else "off" if policy == "off" else "propose",
        most=_get(tables, "curator.most", int),
        dry_nights=_get(tables, "curator.dry_nights", int),
        success_below=_get(tables, "curator.success_below", float),
        success_runs=_get(tables, "curator.success_runs", int),
    )


def _compaction(tables: Mapping[str, object]) -> CompactionSettings:
    return CompactionSettings(
        engine=_get(tables, "compaction.engine", str),
        at_percent=_get(tables, "compaction.at_percent", int),
        hard_percent=_get(tables, "compaction.hard_percent", int),
        keep_head=_get(tables, "compaction.keep_head", int),
        keep_tail=_get(tables, "compaction.keep_tail", int),
    )


def _url_fault(url: str) -> str | None:
    from hermes_cron import config_keys

    setting = config_keys.find(("model", "base_url"))
    if setting is None:
        raise LookupError("model.base_url")
    try:
        return config_keys.fault(setting, url)
    except config_keys.InPlainSight as sight:
        raise SecretInPlainSight(f"OPENAI_BASE_URL is {sight}", hint="put the key into OPENAI_API_KEY") from None


def _database(name: str, tables: Mapping[str, object], path: Path) -> DatabaseConfig:
    from hermes_cron.domain.database import DatabaseConfig

    def text(key: str) -> str | None:
        return _maybe(tables, f"databases.*.{key}", str, star=name)

    url = text("url")
    if not url:
        _missing(path, f'database "{name}" has no url', 'url = "postgresql://USER@HOST/DATABASE"')
    return DatabaseConfig(
        name=name,
        engine=_engine(text("engine"), url, name, path),
        url=url,
        password_ref=text("password"),
        allow_writable_account=_get(tables, "databases.*.allow_writable_account", bool, star=name),
        statement_timeout_s=_get(tables, "databases.*.statement_timeout_s", float, star=name),
        row_cap=_get(tables, "databases.*.row_cap", int, star=name),
        byte_cap=_get(tables, "databases.*.byte_cap", int, star=name),
    )


def _engine(said: str | None, url: str, name: str, path: Path) -> Engine:
    spoken: Engine = "postgresql" if url.startswith(("postgresql://", "postgres://")) else "sqlite"
    if said and said != spoken:
        raise ConfigError(
            f'{path.name}: database "{name}" says engine {said}, its url is {spoken}', hint=f"edit {path}"
        )
    return spoken


def _price(name: str, tables: Mapping[str, object], path: Path) -> Price:
    def figure(key: str) -> float | None:
        return _maybe(tables, f"prices.*.{key}", float, star=name)

    into, out = figure("input"), figure("output")
    if into is None or out is None:
        _missing(path, f'the price of "{name}" needs input and output', "input = 0.25, output = 2.00")
    return Price(input=into, output=out, cached=figure("cached"))


_NEEDS: Mapping[str, tuple[str, ...]] = {"file": ("path",), "webhook": ("url",), "email": ("to", "from", "host")}


def _target(name: str, tables: Mapping[str, object], path: Path) -> TargetConfig:
    from hermes_cron.domain.target import TargetConfig

    def text(key: str) -> str | None:
        return _maybe(tables, f"targets.*.{key}", str, star=name)

    kind = text("kind")
    if kind is None:
        _missing(path, f'target "{name}" has no kind', 'kind = "webhook"')
    for key in _NEEDS[kind]:
        if not text(key):
            _missing(path, f'target "{name}" of kind {kind} has no {key}', f'{key} = "..."')
    return TargetConfig.of(
        name,
        text,
        port=_maybe(tables, "targets.*.port", int, star=name),
        timeout_s=_get(tables, "targets.*.timeout_s", float, star=name),
    )


def _missing(path: Path, what: str, example: str) -> NoReturn:
    raise ConfigError(f"{path.name}: {what}", hint=f"edit {path}: {example}")


def variable(name: str) -> str | None:
    """One variable that a person named (``secrets set --from env:NAME``); None when it is not set or empty."""
    return os.environ.get(name) or None

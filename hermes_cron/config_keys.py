"""Which keys may config.toml have, of which type, in which range, and where in the file does a wrong one stand?

``SETTINGS`` is the one table: it validates, it feeds ``config get`` and ``config set``, and docs/settings.md is
generated from it. Issues that bring a setting add a row.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from hermes_cron.errors import ConfigError, SecretInPlainSight

if TYPE_CHECKING:
    from pathlib import Path

Scalar = str | int | float | bool
Path_ = tuple[str, ...]

NAME_IN_VAULT = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
SECRET_REFERENCE = re.compile(f"secret:({NAME_IN_VAULT})")
"""How a secret of the vault is named wherever a value would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key. ``*`` in the name stands for a name of the user's own (a database, a model).

    ``type`` float takes whole numbers too. ``low`` and ``high`` are inclusive. ``default`` None means not set.
    ``at_start``: a running scheduler keeps the value that it began with; every other key it takes for its next run.
    """

    name: str
    type: type[Scalar]
    default: Scalar | None
    says: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[str], str | None] | None = None
    env: str | None = None
    at_start: bool = False

    @property
    def path(self) -> Path_:
        return tuple(self.name.split("."))


class InPlainSight(Exception):
    """Raised by a check for a value that must not stand in the file; never shows the value."""


def is_time_zone(value: str) -> str | None:
    """None when the tz database has this zone, else what is wrong."""
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):  # a folder of the database, a path that leaves it, an unknown name
        return f'no time zone "{value}" (an IANA name such as Asia/Shanghai)'
    return None


def is_engine(value: str) -> str | None:
    """None for the name of a context engine, or a place in an installed package."""
    if value in {"summary", "digest"} or re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
        return None
    return f'must be summary, digest or MODULE:NAME, not "{value}"'


def is_http_url(value: str) -> str | None:
    """None for an absolute http or https URL without a password in it."""
    try:
        parts = urlsplit(value)
        port_is_number = parts.port is None or parts.port > 0
    except ValueError:
        return f'"{_without_userinfo(value)}" is not a URL'
    if parts.password is not None or parts.username is not None:
        raise InPlainSight("a URL with a name or password in it")
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_number:
        return f'"{value}" is not an http or https URL'
    return None


def is_database_url(value: str) -> str | None:
    """None for ``postgresql://...``, ``sqlite:///path`` or a path; a password in it is refused."""
    scheme, mark, rest = value.partition("://")
    if not mark:
        return None
    # by hand: urlsplit gives up on "#" and "/" inside a password, and then it would slip through
    user = rest.rpartition("@")[0] if "@" in rest.partition("?")[0] else ""
    if ":" in user or re.search(r"(?i)(^|[?&])(password|passwd|pwd|pass|sslpassword)=", rest):
        raise InPlainSight("a URL with a password in it")
    if scheme not in {"postgresql", "postgres", "sqlite"}:
        return f'cannot read databases of the kind "{scheme}" (postgresql, sqlite)'
    return None


def is_secret_reference(value: str) -> str | None:
    """None for ``secret:NAME``; anything else is taken for the secret itself and refused."""
    if not SECRET_REFERENCE.fullmatch(value):
        raise InPlainSight("the secret itself")
    return None


def is_listen_address(value: str) -> str | None:
    """None for ``off`` or HOST:PORT."""
    host, _, port = value.rpartition(":")
    good = value == "off" or (bool(host) and port.isdecimal() and int(port) < 65_536)
    return None if good else f'"{value}" is no address (HOST:PORT such as 127.0.0.1:9464, or off)'


def is_memory_provider(value: str) -> str | None:
    """None for ``none`` and for a second memory that is there; whether its engine is installed, it says itself."""
    from hermes_cron.memory_providers import fault

    return fault(value)


def is_http_url_or_reference(value: str) -> str | None:
    """None for ``secret:NAME`` or an absolute http or https URL."""
    return None if SECRET_REFERENCE.fullmatch(value) else is_http_url(value)


def _without_userinfo(value: str) -> str:
    return re.sub(r"//[^/@]*@", "//...@", value)


SETTINGS: tuple[Setting, ...] = (
    Setting(name="timezone", type=str, default=None, check=is_time_zone, at_start=True,
            says="Zone of schedules that name none. Not set: TZ, then the host's zone."),
    Setting(name="language", type=str, default=None, choices=("en", "zh"), at_start=True,
            says="Language of what is printed. Not set: LC_ALL, LC_MESSAGES, LANG."),
    Setting(name="concurrency", type=int, default=4, low=1, high=256, at_start=True,
            says="Runs that one scheduler executes at once."),
    Setting(name="catch_up_hours", type=float, default=24, low=0, high=24 * 366, at_start=True,
            says="How far back missed instants are caught up; older ones are recorded as missed."),
    Setting(name="model.name", type=str, default=None, env="HERMES_CRON_MODEL",
            says="The model, as its provider spells it. Not set, or none: no model, playbooks only."),
    Setting(name="model.base_url", type=str, default=None, check=is_http_url, env="OPENAI_BASE_URL",
            says="Where a provider with the OpenAI interface answers. Not set: the openai package's own."),
    Setting(name="model.key", type=str, default=None, check=is_secret_reference, env="OPENAI_API_KEY",
            says="A reference such as secret:openai; the key itself is refused here."),
    Setting(name="model.stream", type=bool, default=False, says="Ask for replies as a stream."),
    Setting(name="model.timeout_s", type=float, default=120, low=1, high=3600,
            says="Seconds a model call may stay without any answer."),
    Setting(name="model.max_tokens", type=int, default=8192, low=1, high=10_000_000,
            says="Most tokens of one reply. Always sent: caps reserve a call's worst case by it."),
    Setting(name="model.temperature", type=float, default=None, low=0, high=2,
            says="Sampling temperature. Not set: not sent."),
    Setting(name="model.auxiliary", type=str, default=None,
            says="The model that looks back at runs, sums up and tidies. Not set: the run's own."),
    Setting(name="model.window", type=int, default=None, low=1_000, high=100_000_000,
            says="Tokens that a request may have. Not set: what is known of the model, else what its server says."),
    Setting(name="memory.memory_chars", type=int, default=2200, low=100, high=100_000,
            says="Characters that memories/MEMORY.md may have."),
    Setting(name="memory.user_chars", type=int, default=1375, low=100, high=100_000,
            says="Characters that memories/USER.md may have."),
    Setting(name="memory.overflow", type=str, default="fail", choices=("fail", "archive"),
            says="What an entry too many does: it is refused, or the oldest go to an archive file beside."),
    Setting(name="memory.provider", type=str, default="none", check=is_memory_provider,
            says="The second memory beside the files, at most one: see `hermes-cron memory list --providers`."),
    Setting(name="learning.memory_turns", type=int, default=10, low=0, high=1_000,
            says="User turns of a job after which a look back asks for facts worth keeping; 0: never."),
    Setting(name="learning.skill_iterations", type=int, default=10, low=0, high=10_000,
            says="Model calls of a job after which a look back asks for methods worth keeping; 0: never."),
    Setting(name="learning.review_iterations", type=int, default=8, low=1, high=100,
            says="Model calls that one look back may use."),
    Setting(name="learning.notice", type=str, default="delivery", choices=("delivery", "now", "off"),
            says="When the job's targets hear of what was learned: with its next message, at once, never."),
    Setting(name="curator.stale_days", type=int, default=14, low=1, high=3_650,
            says="Days without use after which a learned skill is stale."),
    Setting(name="curator.archive_days", type=int, default=30, low=2, high=3_650,
            says="Days without use after which a stale skill is archived; never less than it was given to be stale."),
    Setting(name="curator.policy", type=str, default="propose", choices=("propose", "auto", "off"),
            says="Merges, patches and new skills: a person is asked, they are done, or the model is not asked at all."),
    Setting(name="curator.most", type=int, default=5, low=1, high=100,
            says="How many of them policy auto does in a night."),
    Setting(name="curator.dry_nights", type=int, default=3, low=0, high=100,
            says="First scheduled runs that only say what they would do."),
    Setting(name="curator.success_below", type=float, default=0.5, low=0, high=1,
            says="A skill of whose uses fewer went well stands last in the index, and is stale."),
    Setting(name="curator.success_runs", type=int, default=5, low=1, high=1_000,
            says="How many judged uses say so."),
    Setting(name="compaction.engine", type=str, default="summary", check=is_engine,
            says="What makes a long transcript fit the window: summary, digest (asks no model), or MODULE:NAME."),
    Setting(name="compaction.at_percent", type=int, default=50, low=5, high=95,
            says="Share of the window from which a transcript is compacted before a call."),
    Setting(name="compaction.hard_percent", type=int, default=85, low=10, high=99,
            says="Share of the window that no request may pass."),
    Setting(name="compaction.keep_head", type=int, default=3, low=1, high=100,
            says="Messages at the beginning that stay as they are."),
    Setting(name="compaction.keep_tail", type=int, default=20, low=2, high=1_000,
            says="Messages at the end that stay as they are."),
    Setting(name="limits.minutes", type=float, default=30, low=0.1, high=10_080,
            says="Minutes of wall time a run may use where its job says nothing."),
    Setting(name="limits.iterations", type=int, default=90, low=1, high=10_000,
            says="Model calls a run may use where its job says nothing."),
    Setting(name="limits.tokens", type=int, default=None, low=1,
            says="Tokens a run may use where its job says nothing. Not set: no cap."),
    Setting(name="limits.cost_usd", type=float, default=None, low=0,
            says="USD a run may cost where its job says nothing. Not set: no cap."),
    Setting(name="limits.cost_usd_per_day", type=float, default=None, low=0,
            says="USD the runs of one job may cost on one day where the job says nothing. Not set: no cap."),
    Setting(name="budget.tokens_per_day", type=int, default=None, low=1,
            says="Tokens all runs of the home may use on one day of its zone. Not set: no cap."),
    Setting(name="budget.tokens_per_month", type=int, default=None, low=1,
            says="Tokens all runs of the home may use in one month of its zone. Not set: no cap."),
    Setting(name="budget.cost_usd_per_day", type=float, default=None, low=0,
            says="USD all runs of the home may cost on one day of its zone. Not set: no cap."),
    Setting(name="budget.cost_usd_per_month", type=float, default=None, low=0,
            says="USD all runs of the home may cost in one month of its zone. Not set: no cap."),
    Setting(name="approval.timeout_hours", type=float, default=24, low=0.1, high=24 * 366, at_start=True,
            says="Hours a person has to answer a question; no answer means no."),
    Setting(name="metrics.listen", type=str, default="127.0.0.1:9464", check=is_listen_address,
            env="HERMES_CRON_METRICS_LISTEN", at_start=True,
            says="Where a scheduler answers a Prometheus (HOST:PORT, path /metrics); off: nowhere."),
    Setting(name="security.notify", type=str, default=None,
            says="Targets that hear of a blocked text where no job's do: names, separated by commas."),
    Setting(name="retention.runs", type=int, default=200, low=1, high=1_000_000,
            says="Newest runs of a job that are kept where the job says nothing. Model calls: see retention.days."),
    Setting(name="retention.days", type=int, default=90, low=0, high=36_600,
            says="Days for which every run of a job is kept where the job says nothing: a day at least, and 32 days "
            "for a run that called a model, for usage and status add up its money."),
    Setting(name="databases.*.engine", type=str, default=None, choices=("postgresql", "sqlite"),
            says="Not set: what the URL begins with; a path is SQLite."),
    Setting(name="databases.*.url", type=str, default=None, check=is_database_url,
            says="postgresql://USER@HOST/DATABASE, sqlite:///PATH or a path; never with a password."),
    Setting(name="databases.*.password", type=str, default=None, check=is_secret_reference,
            says="A reference such as secret:db-prod; the password itself is refused here."),
    Setting(name="databases.*.allow_writable_account", type=bool, default=False,
            says="Use an account that could write; the other fences still hold."),
    Setting(name="databases.*.statement_timeout_s", type=float, default=30, low=0.1, high=3600,
            says="Seconds one statement may take."),
    Setting(name="databases.*.row_cap", type=int, default=1000, low=1, high=1_000_000,
            says="Rows of one answer; the rest is cut and said to be."),
    Setting(name="databases.*.byte_cap", type=int, default=256_000, low=1000, high=100_000_000,
            says="Bytes of one answer; the rest is cut and said to be."),
    Setting(name="targets.*.kind", type=str, default=None, choices=("file", "webhook", "email"),
            says="How the target is reached."),
    Setting(name="targets.*.path", type=str, default=None,
            says="file: where reports are appended, absolute or relative to the home."),
    Setting(name="targets.*.url", type=str, default=None, check=is_http_url_or_reference,
            says="webhook: where messages are posted, or a reference such as secret:target-ops."),
    Setting(name="targets.*.secret", type=str, default=None, check=is_secret_reference,
            says="webhook: a reference to the key that messages are signed with."),
    Setting(name="targets.*.to", type=str, default=None, says="email: addresses, separated by commas."),
    Setting(name="targets.*.from", type=str, default=None, says="email: the sender's address."),
    Setting(name="targets.*.host", type=str, default=None, says="email: the SMTP server."),
    Setting(name="targets.*.port", type=int, default=None, low=1, high=65535,
            says="email: its port. Not set: 587, 465 with tls, 25 with none."),
    Setting(name="targets.*.user", type=str, default=None, says="email: the account. Not set: no login."),
    Setting(name="targets.*.password", type=str, default=None, check=is_secret_reference,
            says="email: a reference such as secret:mail; the password itself is refused here."),
    Setting(name="targets.*.tls", type=str, default="starttls", choices=("starttls", "tls", "none"),
            says="email: how the server is spoken to; none only for a server of this host."),
    Setting(name="targets.*.timeout_s", type=float, default=15, low=0.5, high=120,
            says="Seconds one try may take."),
    Setting(name="prices.*.input", type=float, default=None, low=0, says="USD for a million input tokens."),
    Setting(name="prices.*.output", type=float, default=None, low=0, says="USD for a million output tokens."),
    Setting(name="prices.*.cached", type=float, default=None, low=0,
            says="USD for a million input tokens that came from the provider's cache."),
)  # fmt: skip


def parse(text: str, path: Path) -> dict[str, object]:
    """The tables of a config file, every key known and of its type and range.

    Raises:
        ConfigError: ``PATH:LINE: ...``; only the first fault.
        SecretInPlainSight: a password or key stands in the file.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = int(found[2]) if found and found[2] else text.rstrip().count("\n") + 1
        raise ConfigError(
            f"{path.name}:{line}: {_lower(found[1] if found else str(error))}", hint=_hint(path)
        ) from None
    for keys, value in leaves(tables):
        _check_one(keys, value, _Place(path, text))
    return tables


def find(keys: Sequence[str]) -> Setting | None:
    """The row of SETTINGS for a path of keys, ``*`` standing for any one name."""
    for setting in SETTINGS:
        if _fits(setting.path, keys):
            return setting
    return None


def fault(setting: Setting, value: object) -> str | None:
    """What is wrong with a value of this setting; None when nothing is.

    Raises:
        InPlainSight: the value must not stand in a file.
    """
    if not _is_type(setting.type, value):
        return f"must be {_TYPE_WORDS[setting.type]}, not {_kind(value)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _range_fault(setting, value)
    if isinstance(value, str):
        return _text_fault(setting, value)
    return None


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line where a key is set, or the nearest table above it that the text spells; from 1."""
    best, best_length = None, 0
    for number, known in _spelt(text):
        length = len(known)
        if length > best_length and tuple(keys[:length]) == known:
            best, best_length = number, length
    return best


_TYPE_WORDS: dict[type[Scalar], str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


_VAULT_PREFIX = {"databases": "db", "targets": "target"}


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    text: str

    def fail(self, keys: Sequence[str], what: str, *, hint: str | None = None) -> NoReturn:
        raise ConfigError(f"{self._at(keys)}: {what}", hint=hint or _hint(self.path))

    def refuse(self, keys: Sequence[str], what: str) -> NoReturn:
        name = "-".join([_VAULT_PREFIX[keys[0]], keys[1]] if keys[0] in _VAULT_PREFIX and len(keys) > 2 else [keys[-1]])
        raise SecretInPlainSight(
            f"{self._at(keys)}: {dotted(keys)} is {what}",
            hint=f'hermes-cron secrets set {name}, then write "secret:{name}" as the password or key',
        )

    def _at(self, keys: Sequence[str]) -> str:
        line = line_of(self.text, keys)
        return f"{self.path.name}:{line}" if line else self.path.name


def _check_one(keys: Path_, value: object, place: _Place) -> None:
    setting = find(keys)
    if setting is None:
        place.fail(*_unknown(keys))
    try:
        wrong = fault(setting, value)
    except InPlainSight as sight:
        place.refuse(keys, str(sight))
    if wrong:
        place.fail(keys, f"{dotted(keys)}: {wrong}")


def _unknown(keys: Path_) -> tuple[Path_, str]:
    """The part of the path that is wrong, and what is wrong with it."""
    if any(len(setting.path) > len(keys) and _fits(setting.path[: len(keys)], keys) for setting in SETTINGS):
        return keys, f'"{dotted(keys)}" is a table of keys, not a value'
    import difflib

    parent = keys[:-1]
    wrong = keys[-1]
    while parent and not any(_fits(setting.path[: len(parent)], parent) for setting in SETTINGS):
        parent, wrong = parent[:-1], parent[-1]
    siblings = sorted(
        {s.path[len(parent)] for s in SETTINGS if len(s.path) > len(parent) and _fits(s.path[: len(parent)], parent)}
    )
    near = difflib.get_close_matches(wrong, siblings, n=1, cutoff=0.5)
    guess = f', did you mean "{near[0]}"?' if near else f" (known here: {', '.join(siblings)})"
    return (*parent, wrong), f'unknown key "{wrong}"{guess}'


def leaves(table: Mapping[str, object], above: Path_ = ()) -> Iterator[tuple[Path_, object]]:
    """Every value with its path. An empty table of an unknown name is a leaf too, so that it is not overlooked."""
    for key, value in table.items():
        keys = (*above, key)
        if isinstance(value, Mapping) and find(keys) is None and (value or _is_table(keys)):
            yield from leaves(value, keys)
        else:
            yield keys, value


def _is_table(keys: Path_) -> bool:
    return any(len(setting.path) > len(keys) and _fits(setting.path[: len(keys)], keys) for setting in SETTINGS)


def _fits(pattern: Sequence[str], keys: Sequence[str]) -> bool:
    return len(pattern) == len(keys) and all(want in ("*", have) for want, have in zip(pattern, keys, strict=True))


def _is_type(wanted: type[Scalar], value: object) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    if wanted is float:
        return isinstance(value, int | float)
    return isinstance(value, wanted)


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    words = next((word for known, word in _TYPE_WORDS.items() if type(value) is known), None)
    return words or type(value).__name__


def _range_fault(setting: Setting, value: float) -> str | None:
    low, high = setting.low, setting.high
    endless = isinstance(value, float) and not math.isfinite(value)  # inf and nan would cap nothing
    if not endless and (low is None or value >= low) and (high is None or value <= high):
        return None
    if low is not None and high is not None:
        return f"must be {low:g} to {high:g}, not {value}"
    return f"must be a number that ends, not {value}" if endless else f"must be at least {low:g}, not {value}"


def _text_fault(setting: Setting, value: str) -> str | None:
    if setting.choices and value not in setting.choices:
        return f'must be one of {", ".join(setting.choices)}, not "{value}"'
    if not value.strip():
        return "must not be empty; leave the key out instead"
    return setting.check(value) if setting.check else None


def _spelt(text: str) -> Iterator[tuple[int, Path_]]:
    """Line numbers of table headers and of keys, as the text spells them; good enough to point at a line."""
    table: Path_ = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?\s*([^\[\]]+?|.*?\".*?\".*?)\s*\]\]?\s*(?:#.*)?$", line)
        if header and (keys := _keys(header[1])):
            table = keys
            yield number, table
            continue
        assigned = re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""", line)
        if assigned and (keys := _keys(assigned[1])):
            yield number, (*table, *keys)


def _keys(spelling: str) -> Path_:
    try:
        inner: object = tomllib.loads(f"{spelling} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    keys: list[str] = []
    while isinstance(inner, dict):
        ((key, inner),) = inner.items()
        keys.append(key)
    return tuple(keys)


def dotted(keys: Sequence[str]) -> str:
    """As people type it: parts that need quotes have them."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) or key == "*" else f'"{key}"' for key in keys)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _hint(path: Path) -> str:
    return f"edit {path}; keys: docs/settings.md"

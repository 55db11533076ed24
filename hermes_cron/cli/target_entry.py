"""What does a new target need, and where does each part of it go: config.toml, or the vault?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.cli import output
from hermes_cron.config_keys import NAME_IN_VAULT, SECRET_REFERENCE, InPlainSight, Scalar, is_http_url
from hermes_cron.errors import Conflict, NotFound, SecretInPlainSight, Usage
from hermes_cron.settings import variable

if TYPE_CHECKING:
    from hermes_cron.cli.context import Cli
    from hermes_cron.domain.target import TargetConfig

_TEXTS = {
    "en": {
        "kind": "Kind [file, webhook, email]",
        "path": "File, relative to the home",
        "url": "Webhook URL (not shown)",
        "secret": "Signing key, empty for none (not shown)",
        "to": "To (addresses, separated by commas)",
        "from": "From",
        "host": "SMTP server",
        "user": "Account, empty for none",
        "password": "Password (not shown)",
    },
    "zh": {
        "kind": "类型 [file, webhook, email]",
        "path": "文件（相对于主目录）",
        "url": "Webhook URL（不显示）",
        "secret": "签名密钥，没有则留空（不显示）",
        "to": "收件人（多个用逗号分隔）",
        "from": "发件人",
        "host": "SMTP 服务器",
        "user": "账号，没有则留空",
        "password": "口令（不显示）",
    },
}
_NAME = re.compile(NAME_IN_VAULT)
_LONGEST = 50  # the vault's names have 64 characters, and ours get a prefix and an ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The words of the command line."""

    name: str
    kind: str | None
    path: str | None
    url: str | None
    url_from: str | None
    secret: str | None
    secret_from: str | None
    to: tuple[str, ...]
    sender: str | None
    host: str | None
    port: int | None
    user: str | None
    password: str | None
    password_from: str | None
    tls: str | None


@dataclass(slots=True, kw_only=True)
class Draft:
    """A target that is not saved yet: keys for config.toml, and values for the vault by their names there."""

    name: str
    values: dict[str, Scalar] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> TargetConfig:
        from hermes_cron.domain.target import TIMEOUT_S, TargetConfig

        def text(key: str) -> str | None:
            value = self.values.get(key)
            return None if value is None else str(value)

        port = self.values.get("port")
        return TargetConfig.of(self.name, text, port=port if isinstance(port, int) else None, timeout_s=TIMEOUT_S)

    def keep(self, key: str, ending: str, value: str) -> None:
        """The value goes to the vault, its reference to config.toml."""
        name = f"target-{self.name}{ending}"
        self.secrets[name] = value
        self.values[key] = f"secret:{name}"


def free_name(state: Cli, name: str) -> None:
    """Raises ``Usage`` or ``Conflict``."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise Usage(
            f"{output.one_line(name)!r} is no name for a target",
            hint="letters, digits, - _ and . make a name, for instance ops-chat",
        )
    if name in state.settings.targets:
        raise Conflict(f'target "{name}" exists', hint=f"hermes-cron targets remove {name}   then add it again")


def ask(state: Cli, given: Given) -> Draft:
    """What was not given is asked for, or refused with the option's name where nobody can be asked."""
    kind = given.kind or state.ask(_TEXTS[state.lang]["kind"], flag="--kind file, webhook or email").strip()
    draft = Draft(name=given.name, values={"kind": kind})
    needs: Mapping[str, Callable[[Cli, Given, Draft], None]] = {"file": _file, "webhook": _webhook, "email": _email}
    if kind not in needs:
        raise Usage(f"{output.one_line(kind)!r} is no kind of target", hint="--kind file, webhook or email")
    _refuse_strangers(given, kind)
    needs[kind](state, given, draft)
    return draft


_OPTIONS = {
    "file": {"path"},
    "webhook": {"url", "url_from", "secret", "secret_from"},
    "email": {"to", "sender", "host", "port", "user", "password", "password_from", "tls"},
}


def _refuse_strangers(given: Given, kind: str) -> None:
    for other, names in _OPTIONS.items():
        wrong = [name for name in sorted(names) if other != kind and getattr(given, name)]
        if wrong:
            option = "--" + wrong[0].replace("sender", "from").replace("_", "-")
            raise Usage(
                f"{option} belongs to targets of kind {other}, not {kind}", hint="hermes-cron targets add --help"
            )


def _file(state: Cli, given: Given, draft: Draft) -> None:
    draft.values["path"] = given.path or state.ask(_TEXTS[state.lang]["path"], default="reports.md", flag="--path FILE")


def _webhook(state: Cli, given: Given, draft: Draft) -> None:
    if given.url:
        draft.values["url"] = _open_url(given.url, draft.name)
    else:
        ways = "--url-from env:VARIABLE, --url-from file:PATH, or --url URL where it is no secret"
        value = _read(given.url_from, "--url-from") or state.ask(_TEXTS[state.lang]["url"], hidden=True, flag=ways)
        _checked_url(value)
        draft.keep("url", "", value)
    if given.secret:
        draft.values["secret"] = _reference(given.secret, "--secret")
        return
    key = _read(given.secret_from, "--secret-from")
    if key is None and state.is_terminal and not given.url:
        key = state.ask(_TEXTS[state.lang]["secret"], default="", hidden=True, flag="--secret-from env:VARIABLE")
    if key:
        draft.keep("secret", "-key", key)


def _email(state: Cli, given: Given, draft: Draft) -> None:
    from hermes_cron.delivery.mail import is_address

    def said(value: str | None, key: str, flag: str) -> str:
        return value or state.ask(_TEXTS[state.lang][key], flag=flag).strip()

    to = said(", ".join(given.to), "to", "--to ADDRESS")
    sender = said(given.sender, "from", "--from ADDRESS")
    for address in (*to.split(","), sender):
        if not is_address(address.strip()):
            raise Usage(f"{output.one_line(address)!r} is no mail address", hint="--to ops@example.org")
    draft.values.update({"to": to, "from": sender, "host": said(given.host, "host", "--host SERVER")})
    if given.port:
        draft.values["port"] = given.port
    if given.tls:
        if given.tls not in {"starttls", "tls", "none"}:
            raise Usage(f"{output.one_line(given.tls)!r} is no way to speak to a mail server", hint="--tls starttls")
        draft.values["tls"] = given.tls
    _account(state, given, draft)


def _account(state: Cli, given: Given, draft: Draft) -> None:
    user = given.user
    if user is None and state.is_terminal and not given.host:
        user = state.ask(_TEXTS[state.lang]["user"], default="", flag="--user ACCOUNT").strip()
    if not user:
        if given.password or given.password_from:
            raise Usage("a password needs its account", hint="--user ACCOUNT")
        return
    if draft.values.get("tls") == "none":
        raise Usage("a login without TLS would show the password to everybody on the way", hint="--tls starttls")
    draft.values["user"] = user
    if given.password:
        draft.values["password"] = _reference(given.password, "--password")
        return
    ways = "--password secret:NAME, or --password-from env:VARIABLE or file:PATH"
    value = _read(given.password_from, "--password-from") or state.ask(
        _TEXTS[state.lang]["password"], hidden=True, flag=ways
    )
    draft.keep("password", "", value)


# --- secrets ----------------------------------------------------------------------------------------------------------


def _open_url(url: str, name: str) -> str:
    """A URL of the command line. One that holds a key belongs where no shell history and no process list shows it."""
    if SECRET_REFERENCE.fullmatch(url):
        return url
    from hermes_cron.vault.redaction import Redactor

    if Redactor({}).redact(url) != url:
        raise SecretInPlainSight(
            "that URL holds a key: on the command line it stays in the shell's history; nothing was saved",
            hint=f"hermes-cron targets add {name} --kind webhook   (asks)   or   --url-from env:VARIABLE",
        )
    _checked_url(url)
    return url


def _checked_url(url: str) -> None:
    """Without repeating it: it may be a secret."""
    try:
        wrong = is_http_url(url)
    except InPlainSight as sight:
        raise SecretInPlainSight(f"refused, that is {sight}", hint="use a URL without a name and password") from None
    if wrong:
        raise Usage("that is not an http or https URL", hint="https://host/path")


def _reference(text: str, option: str) -> str:
    if not SECRET_REFERENCE.fullmatch(text):
        raise SecretInPlainSight(
            f"{option} takes secret:NAME, never the secret itself; nothing was saved",
            hint=f"{option}-from env:VARIABLE   or   hermes-cron secrets set NAME, then {option} secret:NAME",
        )
    return text


def _read(source: str | None, option: str) -> str | None:
    if not source:
        return None
    kind, _, place = source.partition(":")
    if kind == "env" and place:
        value = variable(place)
        if value is None:
            raise NotFound(f"the variable {place} is not set", hint=f"{option} file:PATH")
        return value
    if kind == "file" and place:
        try:
            return Path(place).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise NotFound(f"cannot read {place}: {error}", hint=f"ls -l {place}") from error
    # whatever was typed may be the secret itself: it is not repeated
    raise SecretInPlainSight(
        f"{option} takes env:VARIABLE or file:PATH, never the secret itself", hint=f"{option} env:VARIABLE"
    )


# --- saving -----------------------------------------------------------------------------------------------------------


def save(state: Cli, draft: Draft) -> None:
    """The secrets first, then the entry that names them; a failed entry takes the secrets with it."""
    vault = state.app.vault
    kept: list[str] = []
    try:
        for name, value in draft.secrets.items():
            vault.set(name, value)
            kept.append(name)
        state.configure(
            f"targets add {draft.name}",
            {("targets", draft.name, key): value for key, value in draft.values.items()},
        )
    except BaseException:
        for name in kept:
            vault.remove(name)
        raise


def forget(state: Cli, config: TargetConfig) -> None:
    """The entry, and the secrets that ``targets add`` made for it."""
    state.configure(f"targets remove {config.name}", {("targets", config.name): None})
    vault = state.app.vault
    own = {f"secret:target-{config.name}{ending}" for ending in ("", "-key")}
    for reference in {config.url, config.secret, config.password} & own:
        name = str(reference).removeprefix("secret:")
        if name in vault.names():
            vault.remove(name)

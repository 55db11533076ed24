"""Which engine and which address does a database's URL mean, and does it hide a password?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from hermes_cron.domain.database import Engine
from hermes_cron.errors import SecretInPlainSight, Usage

HOW_TO_GIVE_IT: Final = (
    "leave it out of the URL; then: the prompt asks for it, or --password-stdin, "
    "or --password-from env:NAME, or --password-from file:PATH"
)
_FORMS: Final = (
    "postgresql://USER@HOST:PORT/DATABASE, sqlite:///relative.db, sqlite:////absolute.db, or a SQLite file's path"
)
_SECRET_PARAMETERS: Final = frozenset({"password", "passwd", "pwd", "sslpassword", "pass"})
_PLANNED: Final = {"mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server", "sqlserver": "SQL Server"}


def parse_url(text: str) -> tuple[Engine, str]:
    """The engine and the URL in the form that is stored. Paths of SQLite stay as written: relative to the home.

    Raises SecretInPlainSight for a password anywhere in it, Usage for what is not understood. Neither repeats it.
    """
    text = text.strip()
    _refuse_password(text)
    if "://" not in text:
        return _plain_path(text)
    scheme = text.partition("://")[0].lower().partition("+")[0]
    if scheme in ("postgresql", "postgres"):
        return "postgresql", _postgres(text)
    if scheme == "sqlite":
        if not sqlite_path(text).name:
            raise Usage("a SQLite URL names a file", hint=f"forms: {_FORMS}")
        return "sqlite", text
    if scheme in _PLANNED:
        raise Usage(f"{_PLANNED[scheme]} has no driver in this version", hint=f"forms: {_FORMS}")
    raise Usage(f"unknown kind of database: {scheme!r}", hint=f"forms: {_FORMS}")


def sqlite_path(url: str) -> Path:
    """``sqlite:///a.db`` is a.db (relative), ``sqlite:////a.db`` is /a.db; anything else is a path itself."""
    if not url.lower().startswith("sqlite://"):
        return Path(url).expanduser()
    return Path(unquote(urlsplit(url).path[1:])).expanduser()


def address(url: str) -> str:
    """``host:port`` for messages, or the file. Never a user, never a password."""
    if not url.lower().startswith(("postgresql://", "postgres://")):
        return str(sqlite_path(url))
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query))
    host = parts.hostname or asked.get("host") or "localhost"
    try:
        port = parts.port or int(asked.get("port", "5432"))
    except ValueError:
        port = 5432
    return f"{host}:{port}"


def _plain_path(text: str) -> tuple[Engine, str]:
    path = Path(text).expanduser()
    if not path.is_file():
        raise Usage(f"{text!r} is neither a URL nor an existing file", hint=f"forms: {_FORMS}")
    return "sqlite", f"sqlite:///{path.resolve()}"


def _postgres(text: str) -> str:
    parts = urlsplit(text)
    try:
        _ = parts.port
    except ValueError as error:
        raise Usage(f"the URL's port is not a number from 1 to 65535: {error}", hint=f"forms: {_FORMS}") from error
    if parts.fragment:
        raise Usage("a database URL has no # part; write it as %23 if it belongs to a name", hint=f"forms: {_FORMS}")
    return urlunsplit(parts._replace(scheme="postgresql"))


def _refuse_password(text: str) -> None:
    rest = text.partition("://")[2] if "://" in text else text
    # by hand: urlsplit gives up on "#" and "/" inside a password, and then it would slip through
    user_part = rest.rpartition("@")[0] if "@" in rest.partition("?")[0] else ""
    parameters = {key.lower() for key, _ in parse_qsl(rest.partition("?")[2], keep_blank_values=True)}
    as_words = re.search(r"\b(password|passwd|pwd)\s*=", text, re.IGNORECASE)  # libpq's key=value form
    if ":" in user_part or as_words or parameters & _SECRET_PARAMETERS:
        raise SecretInPlainSight("there is a password in the URL", hint=HOW_TO_GIVE_IT)

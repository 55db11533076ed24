"""Where may a report be sent? One table ``[targets.NAME]`` of config.toml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class TargetKind(StrEnum):
    """How a target is reached."""

    FILE = "file"
    WEBHOOK = "webhook"
    EMAIL = "email"


class Tls(StrEnum):
    """How a mail server is spoken to."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


TIMEOUT_S = 15.0
"""One try, where the table says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig:
    """A target as configured. ``file``: ``path``, absolute or relative to the home. ``webhook``: ``url`` (or a secret
    reference, where the address itself is secret) and ``secret``, the reference of the signing key. ``email``: the
    rest; ``password`` is a reference.
    """

    name: str
    kind: TargetKind
    path: str | None = None
    url: str | None = None
    secret: str | None = None
    to: tuple[str, ...] = ()
    sender: str | None = None
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: str | None = None
    tls: Tls = Tls.STARTTLS
    timeout_s: float = TIMEOUT_S

    @classmethod
    def of(cls, name: str, text: Callable[[str], str | None], *, port: int | None, timeout_s: float) -> TargetConfig:
        """From the keys of its table; ``text`` gives the value of one that is a text, None when it is not set."""
        return cls(
            name=name,
            kind=TargetKind(text("kind") or ""),
            path=text("path"),
            url=text("url"),
            secret=text("secret"),
            to=tuple(part.strip() for part in (text("to") or "").split(",") if part.strip()),
            sender=text("from"),
            host=text("host"),
            port=port,
            user=text("user"),
            password=text("password"),
            tls=Tls(text("tls") or Tls.STARTTLS),
            timeout_s=timeout_s,
        )

"""Where may a report be sent? One table ``[targets.NAME]`` of config.toml."""

from __future__ import annotations

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
    timeout_s: float = 15.0

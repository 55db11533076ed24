"""Which server answers, under which model name and limits?"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hermes_cron.errors import ModelNotConfigured

if TYPE_CHECKING:
    from hermes_cron.settings import ModelSettings

OPENAI_URL = "https://api.openai.com/v1"
OUTPUT_LIMIT = "max_tokens"
# OpenAI refuses max_tokens for its reasoning models and takes this for all; Ollama knows only max_tokens.
OPENAI_OUTPUT_LIMIT = "max_completion_tokens"
_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com", ".services.ai.azure.com")

DEFAULT_MAX_TOKENS = 8192
"""As ``model.max_tokens`` of the settings: what most models in use may say in one reply, ten times a long report, and
small enough that a cap in dollars does not refuse a call for what it will not use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """``key`` None: the server asks for none. Times in seconds.

    A streamed reply is limited in its silence (``stall_s``) and as a whole (``stream_limit_s``), not by a call's limit.
    """

    model: str
    base_url: str = OPENAI_URL
    key: str | None = field(default=None, repr=False)
    stream: bool = False
    max_tokens: int = DEFAULT_MAX_TOKENS
    max_tokens_parameter: str | None = None  # None: by host
    stall_s: float = 180.0
    stream_limit_s: float = 3600.0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def host(self) -> str:
        return (urlsplit(self.base_url).hostname or "").lower()

    @property
    def output_limit(self) -> str:
        """The request's name for the limit on output tokens."""
        if self.max_tokens_parameter:
            return self.max_tokens_parameter
        return OPENAI_OUTPUT_LIMIT if self.host.endswith(_OPENAI_HOSTS) else OUTPUT_LIMIT

    @property
    def is_local(self) -> bool:
        """Loopback and private addresses: a proxy of the environment must not see or answer these."""
        if self.host == "localhost" or self.host.endswith((".localhost", ".local", ".internal")):
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return "." not in self.host  # a bare name: a container or a host of the local network
        return address.is_loopback or address.is_private or address.is_link_local


def endpoint_of(settings: ModelSettings, secret: Callable[[str], str]) -> Endpoint:
    """``secret`` resolves a reference such as ``secret:openai``; it is asked only when the environment has no key.

    Raises ``ModelNotConfigured`` when no model is named, and what ``secret`` raises.
    """
    if not settings.name:
        raise ModelNotConfigured("no model is configured", hint="hermes-cron model set NAME --key secret:NAME")
    key = settings.key
    if key is None and settings.key_ref is not None:
        key = secret(settings.key_ref)
    return Endpoint(
        model=settings.name,
        base_url=settings.base_url or OPENAI_URL,
        key=key,
        stream=settings.stream,
        max_tokens=settings.max_tokens,
    )

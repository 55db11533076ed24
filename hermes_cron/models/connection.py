"""How is a connection to a provider kept, shared and bounded in time?

The SDK and its HTTP library are imported here, at the first call: they cost 450 ms.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_cron.models.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2
    import openai

CONNECT_TIMEOUT_S = 15.0


class Deadline(threading.local):
    """The instant of this thread's current call, by the monotonic clock, after which no read may wait. None: no limit.

    The HTTP library bounds each read, not the sum of them: a server that sends one byte a minute would never end.
    """

    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The SDK's client for one endpoint, and what each call needs of it, worked out once."""

    client: openai.OpenAI
    http: httpx2.Client
    headers: Mapping[str, str] = field(repr=False)  # the key is among them
    chat_url: str


class Clients:
    """One SDK client for each server and key, made when first asked for (24 ms) and shared by all threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.deadline = Deadline()
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._made: dict[tuple[object, ...], Connection] = {}

    def get(self, endpoint: Endpoint) -> openai.OpenAI:
        """Never retries by itself and follows no redirect: a key must not travel to another host."""
        return self.connection(endpoint).client

    def connection(self, endpoint: Endpoint) -> Connection:
        """As ``get``, with what a call needs."""
        key = (endpoint.base_url, endpoint.key, endpoint.headers)
        with self._lock:
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = self._make(endpoint)
            return found

    def close(self) -> None:
        """Ends idle connections."""
        with self._lock:
            for connection in self._made.values():
                connection.client.close()
            self._made.clear()

    def _make(self, endpoint: Endpoint) -> Connection:
        import httpx2
        import openai

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        # Reading the certificates of all authorities costs 25 ms and more: without TLS nobody looks at them.
        tls = not endpoint.base_url.lower().startswith("http:")
        transport = httpx2.HTTPTransport(limits=limits, verify=tls)  # SSL_CERT_FILE counts for local servers, too
        _bound_reads(transport, self.deadline, self._monotonic)
        # A proxy of the environment gets its own transport, where each read is bounded but not their sum.
        http = httpx2.Client(transport=transport, trust_env=not endpoint.is_local)
        client = openai.OpenAI(
            api_key=endpoint.key or "none",  # the SDK insists on one; servers without keys ignore it
            base_url=endpoint.base_url,
            max_retries=0,
            http_client=http,
            default_headers=dict(endpoint.headers),
            organization=None,
            project=None,
        )
        named = {**client.auth_headers, **client.default_headers}  # the SDK marks a header to leave out by no text
        headers = {name: value for name, value in named.items() if isinstance(value, str)}
        url = httpx2.URL(str(client.base_url))
        path = url.path.rstrip("/") + "/chat/completions"
        return Connection(client=client, http=http, headers=headers, chat_url=str(url.copy_with(path=path)))


def _bound_reads(transport: Any, deadline: Deadline, monotonic: Callable[[], float]) -> None:
    """Puts our network backend under the transport's pool. The library offers no public way to choose it; a test
    with a server that trickles would fail if this attribute went away.
    """
    import httpcore2

    class BoundedStream(httpcore2.NetworkStream):
        def __init__(self, inner: httpcore2.NetworkStream) -> None:
            self._inner = inner

        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            at = deadline.at
            if at is not None:
                left = at - monotonic()
                if left <= 0:
                    raise httpcore2.ReadTimeout("the call's time is over")
                timeout = left if timeout is None else min(timeout, left)
            return self._inner.read(max_bytes, timeout)

        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            self._inner.write(buffer, timeout)

        def close(self) -> None:
            self._inner.close()

        def start_tls(
            self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
        ) -> httpcore2.NetworkStream:
            return BoundedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

        def get_extra_info(self, info: str) -> Any:
            return self._inner.get_extra_info(info)

    class BoundedBackend(httpcore2.SyncBackend):
        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.NetworkStream:
            return BoundedStream(super().connect_tcp(host, port, timeout, local_address, socket_options))

    transport._pool._network_backend = BoundedBackend()

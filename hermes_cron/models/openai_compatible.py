"""How does an OpenAI-compatible server answer a request? Implements ``ports.Model`` over the ``openai`` package.

The SDK makes the client, its authentication and headers. A call goes through that client's HTTP connection itself:
``chat.completions.create`` validates every message again (43 ms a call at 200 messages), ``client.post`` costs as much
as the call, and the typed result checks nothing that matters here (see ``wire``). Retries are ours, so that a wait is
bounded by the call and injectable in tests.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.transcript import ModelReply, ModelRequest, Usage
from hermes_cron.errors import (
    ModelError,
    ModelGarbage,
    ModelTimeout,
    ModelUnreachable,
    StreamStalled,
    StreamTruncated,
)
from hermes_cron.models.body import BodyWriter
from hermes_cron.models.connection import CONNECT_TIMEOUT_S, Clients
from hermes_cron.models.endpoint import Endpoint
from hermes_cron.models.faults import fault_of
from hermes_cron.models.limits import offered_window
from hermes_cron.models.retry import wait_before_retry
from hermes_cron.models.stream import Assembly, events
from hermes_cron.models.wire import estimated_usage, is_cut, read_completion
from hermes_cron.models.wording import quote, without

if TYPE_CHECKING:
    import httpx2

    from hermes_cron.ports import Clock

Price = Callable[[str, Usage], float | None]


class OpenAICompatible:
    """Thread-safe; one for all runs of an endpoint. Give ``clients`` to share connections between endpoints.

    ``complete`` never returns an empty reply and raises ``ModelError`` subclasses only. Inside one call it tries at
    most three times and waits at most 30 s at once (``retry``); what lasts longer is raised for the run to decide.
    ``monotonic`` and ``sleep`` are injected so that tests of limits do not wait.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Clock,
        clients: Clients | None = None,
        price: Price | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = endpoint
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep
        self._price = price
        self._clients = clients or Clients(monotonic)
        self._bodies = BodyWriter(endpoint)
        self._place = f"the model server at {endpoint.host}"

    def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. Not streamed: all of it, retries and waits included, within ``request.timeout_s``. Streamed:
        ``timeout_s`` bounds the silence before the first word, ``endpoint.stall_s`` each later one, and
        ``run_left_s`` the whole.
        """
        body = self._bodies.body(request)
        started = self._monotonic()
        limit_s = request.timeout_s
        if self.endpoint.stream:
            limit_s = min(self.endpoint.stream_limit_s, request.run_left_s or self.endpoint.stream_limit_s)
        try:
            reply = self._tried(body, request, ends=started + limit_s)
        except ModelError as error:
            error.cost_usd = self._cost(self._asked(request), error.usage)
            raise
        usage = reply.usage or estimated_usage(body.decode("utf-8", "replace"), reply)
        return replace(
            reply,
            usage=usage,
            cost_usd=self._cost(reply.model, usage),
            elapsed_ms=round((self._monotonic() - started) * 1000),
        )

    def close(self) -> None:
        """Ends idle connections, those of models that share ``clients`` too."""
        self._clients.close()

    def models(self, *, timeout_s: float) -> list[str]:
        """The names that the server offers, sorted. Raises as ``complete`` does."""
        return sorted(str(row["id"]) for row in self._offered(timeout_s))

    def window(self, model: str, *, timeout_s: float) -> int | None:
        """How many tokens a model reads at once, where the server's list says so. Raises as ``complete`` does."""
        return next((offered_window(row) for row in self._offered(timeout_s) if row["id"] == model), None)

    def _offered(self, timeout_s: float) -> list[dict[str, Any]]:
        import httpx2

        with self._translated(), self._until(self._monotonic() + timeout_s):
            response = self._clients.get(self.endpoint).get(
                "/models", cast_to=httpx2.Response, options={"timeout": self._timeout(timeout_s)}
            )
            data = self._json(response)
        rows = data.get("data") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise ModelGarbage(f"{self._place} sent no list of models: {quote(str(data))}")
        return [row for row in rows if isinstance(row, dict) and row.get("id")]

    def _asked(self, request: ModelRequest) -> str:
        return request.model or request.header.model or self.endpoint.model

    def _cost(self, model: str, usage: Usage | None) -> float | None:
        return None if usage is None or self._price is None else self._price(model, usage)

    def _tried(self, body: bytes, request: ModelRequest, *, ends: float) -> ModelReply:
        for attempt in itertools.count(1):
            try:
                return self._once(body, request, ends=ends)
            except ModelError as error:
                wait_s = wait_before_retry(error, attempt=attempt, time_left_s=ends - self._monotonic())
                if wait_s is None:
                    raise
            self._sleep(wait_s)
        raise AssertionError("unreachable")

    # --- one attempt ------------------------------------------------------------------------------------------------

    def _once(self, body: bytes, request: ModelRequest, *, ends: float) -> ModelReply:
        wait_s = max(0.001, min(ends - self._monotonic(), request.timeout_s))
        with self._translated(), self._until(self._monotonic() + wait_s):
            connection = self._clients.connection(self.endpoint)
            asked = connection.http.build_request(
                "POST", connection.chat_url, content=body, headers=connection.headers, timeout=self._timeout(wait_s)
            )
            # streamed, since the body is read here: a cut body can be told from a server that is away
            response = connection.http.send(asked, stream=True)
            try:
                if not response.is_success:
                    raise self._refused(response)
                data = self._data(response, first_s=wait_s, ends=ends)
            finally:
                response.close()
        return read_completion(data, asked_model=self._asked(request))

    def _refused(self, response: httpx2.Response) -> ModelError:
        import httpx2

        try:
            response.read()
            body = _parsed(response)
        except httpx2.TransportError:
            body = "its explanation was cut"  # the status says enough
        headers, now = response.headers, self._clock.now()
        return fault_of(response.status_code, body, place=self._place, headers=headers, now=now)

    def _json(self, response: httpx2.Response) -> Any:
        kind = response.headers.get("content-type", "")
        if kind.startswith("text/event-stream"):  # some gateways stream whether asked or not
            assembly = Assembly(place=self._place)
            for data in events([response.content], on_chunk=lambda: None):
                assembly.add(data)
            return assembly.completion()
        try:
            return json.loads(response.content)
        except ValueError as error:
            shown = quote(response.text) or "an empty body"
            if is_cut(response.text):
                raise StreamTruncated(f"{self._place} cut the reply: {shown}") from error
            raise ModelGarbage(f"{self._place} answered {response.status_code} without JSON: {shown}") from error

    def _data(self, response: httpx2.Response, *, first_s: float, ends: float) -> Any:
        kind = response.headers.get("content-type", "")
        whole = "json" in kind or "html" in kind  # the server cannot stream, reports a fault, or is none of ours
        if self.endpoint.stream and not whole:
            return self._assembled(response, first_s=first_s, ends=ends)
        import httpx2

        try:
            response.read()
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError as error:
            raise StreamTruncated(f"{self._place} cut the reply: {_why(error)}") from error
        return self._json(response)

    def _assembled(self, response: httpx2.Response, *, first_s: float, ends: float) -> dict[str, Any]:
        """Only words, reasoning and pieces of calls are progress: comments and empty frames keep nothing alive."""
        import httpx2

        silence_s = min(first_s, self.endpoint.stall_s)
        progress_at = self._monotonic()
        deadline = self._clients.deadline
        deadline.at = min(progress_at + silence_s, ends)

        def check() -> None:
            now = self._monotonic()
            if now >= ends:
                raise ModelTimeout(f"{self._place} was still streaming at the end of its time", hint=_TIMEOUT)
            if now - progress_at >= silence_s:
                raise StreamStalled(f"{self._place} sent no content for {silence_s:g} s")

        assembly = Assembly(place=self._place)
        try:
            for data in events(response.iter_bytes(), on_chunk=check):
                if assembly.add(data):
                    progress_at = self._monotonic()
                    silence_s = self.endpoint.stall_s
                    deadline.at = min(progress_at + silence_s, ends)
                if assembly.ended:
                    break
        except httpx2.TimeoutException as error:
            if self._monotonic() >= ends:
                check()
            raise StreamStalled(f"{self._place} sent no content for {silence_s:g} s") from error
        except httpx2.TransportError as error:
            raise StreamTruncated(f"{self._place} cut the stream: {_why(error)}") from error
        return assembly.completion()

    # --- limits and errors ------------------------------------------------------------------------------------------

    def _timeout(self, seconds: float) -> httpx2.Timeout:
        import httpx2

        return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT_S), pool=None)

    @contextmanager
    def _until(self, instant: float) -> Iterator[None]:
        """No read of this thread waits beyond ``instant``."""
        deadline = self._clients.deadline
        deadline.at = instant
        try:
            yield
        finally:
            deadline.at = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The SDK's and the HTTP library's errors become ours; none of their texts may hold the key."""
        try:
            yield
        except ModelError as error:
            error.message = without(error.message, self.endpoint.key)
            error.args = (error.message,)
            raise
        except Exception as error:  # what it is, is told apart by type below
            ours = self._fault(error)
            if ours is None:
                raise
            ours.message = without(ours.message, self.endpoint.key)
            ours.args = (ours.message,)
            raise ours from None  # the SDK's error carries the request, and that the key

    def _fault(self, error: Exception) -> ModelError | None:
        """None: not a fault of the call, but a bug of ours."""
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            return self._refused(error.response)
        if isinstance(error, openai.APIConnectionError):
            return self._broken(error.__cause__ or error)
        if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
            return self._broken(error)
        return None

    def _broken(self, cause: BaseException) -> ModelError:
        """The connection's own faults."""
        import httpx2

        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return ModelTimeout(f"{self._place} did not answer in time", hint=_TIMEOUT)
        if isinstance(cause, httpx2.DecodingError):
            return ModelGarbage(f"{self._place} sent a body that cannot be decoded: {_why(cause)}")
        fault = ModelUnreachable(f"{self._place} cannot be reached: {_why(cause)}", hint=_CHECK)
        # A connection that broke after the request went out may have been answered on the other side.
        fault.paid = isinstance(cause, httpx2.RemoteProtocolError | httpx2.ReadError)
        return fault


_CHECK = "Is the address right and the server up? hermes-cron model show, hermes-cron model test"
_TIMEOUT = "The limit is model.timeout_s: hermes-cron config set model.timeout_s 600"


def _why(error: BaseException) -> str:
    return quote(str(error)) or type(error).__name__


def _parsed(response: httpx2.Response) -> object:
    try:
        return response.json()
    except ValueError:
        return response.text


def warm_up() -> threading.Thread:
    """Imports the SDK in the background, so that a service's first run does not pay the 450 ms."""

    def work() -> None:
        import openai  # noqa: F401

    thread = threading.Thread(target=work, name="import-openai", daemon=True)
    thread.start()
    return thread

"""How does a script play as a real OpenAI-compatible server? (docs/formats/stub.md)

HTTP/1.1 with keep-alive on a socket of its own: one thread a connection, one write an answer, TCP_NODELAY. Written
by hand because ``http.server`` parses headers with the e-mail package, which costs more than the rest of a call.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from hermes_cron.models.frames import DONE, frame, frames_of
from hermes_cron.models.script import Reply, Script, ScriptExhausted, Shape, load_script

DEFAULT_MODEL = "stub-model"
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')  # cannot match inside a text: its quotes are escaped there
_STREAMED = re.compile(rb'"stream"\s*:\s*true')


@dataclass(frozen=True, slots=True, kw_only=True)
class StubRequest:
    """One request as it arrived. ``body`` is byte-exact; header names are lower case.

    ``received`` is an instant of ``time.monotonic``, so that a test can measure how long a client waited.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    received: float = 0.0

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.json()["messages"]
        return messages


@dataclass(frozen=True, slots=True, kw_only=True)
class StubUsage:
    """What a provider would have put on the bill for one chat request. Tokens None: it reports none.

    ``request`` counts from 1, as the lines of the log do. ``status`` 0: nothing was answered. ``cut``: not all of it.
    """

    request: int
    model: str
    status: int
    cut: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None


class StubServer:
    """Serves between ``start`` and ``stop`` (or inside ``with``). ``requests`` are the chat requests, in order, and
    ``usages`` what each of them used.
    """

    def __init__(
        self,
        script: Any,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        delay_ms: float = 0,
        log: Path | None = None,
        usage_log: Path | None = None,
    ) -> None:
        self._script: Script = load_script(script)
        self._address = (host, port)
        self._delay_s = delay_ms / 1000
        self._logs = ExitStack()
        self._log_path, self._usage_log_path = log, usage_log
        self._log: BinaryIO | None = None
        self._usage_log: BinaryIO | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._listener: socket.socket | None = None
        self._refusing = False
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.requests: list[StubRequest] = []
        self.usages: list[StubUsage] = []
        self.in_flight = 0
        self.peak_in_flight = 0

    @property
    def base_url(self) -> str:
        """Ends in ``/v1``. Any path that ends in ``/chat/completions`` or ``/models`` is answered."""
        if self._listener is None:
            raise RuntimeError("the stub is not started")
        host, port = self._address
        return f"http://{host}:{port}/v1"

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the chat requests, byte-exact."""
        return [request.body for request in self.requests]

    def start(self) -> StubServer:
        """Listens when it returns. Raises ``OSError`` when the port is taken."""
        self._listener = self._bound()
        self._log, self._usage_log = self._open(self._log_path), self._open(self._usage_log_path)
        self.listen()
        return self

    def _open(self, path: Path | None) -> BinaryIO | None:
        return None if path is None else self._logs.enter_context(path.open("wb", buffering=0))

    def _bound(self) -> socket.socket:
        """A port that is bound and not listened on refuses connections, and nobody else can take it."""
        made = socket.socket(socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(self._address)
        except OSError:
            made.close()
            raise
        self._address = made.getsockname()[:2]
        return made

    def listen(self) -> None:
        """Takes connections, again after ``refuse``."""
        with self._lock:
            if self._listener is None or self._stopping.is_set():
                return
            self._refusing = False
            self._listener.listen(128)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True, name="stub").start()

    def refuse(self) -> None:
        """Ends all connections and refuses new ones until ``listen``, as a server that is down does."""
        with self._lock:
            if self._listener is None or self._refusing:
                return
            self._refusing = True
            _end(self._listener)
            self._listener = self._bound()
            connections = list(self._connections)
        for connection in connections:
            _end(connection)

    def _refuse_for(self, seconds: float) -> None:
        self.refuse()
        if not self._stopping.wait(seconds):
            self.listen()

    def stop(self) -> None:
        """Ends connections, those that hang too."""
        self._stopping.set()
        if self._listener is not None:
            _end(self._listener)
        with self._lock:
            connections, threads = list(self._connections), list(self._threads)
        for connection in connections:
            _end(connection)
        for thread in threads:
            thread.join(timeout=5)
        self._logs.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Blocks until ``stop``; True when stopped."""
        return self._stopping.wait(timeout_s)

    def __enter__(self) -> StubServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --- connections ------------------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True, name="stub-connection")
            with self._lock:
                self._threads = [one for one in self._threads if one.is_alive()]
                self._threads.append(thread)
                self._connections.add(connection)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as reader:
                while not self._stopping.is_set():
                    request = read_request(reader)
                    if request is None or not self._answer(connection, request):
                        return
        except OSError:
            return  # the client went away, or stop() ended the socket
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _answer(self, connection: socket.socket, request: StubRequest) -> bool:
        """True when the connection may serve another request."""
        path = request.path.partition("?")[0].rstrip("/")
        if request.method == "GET" and path.endswith("/models"):
            connection.sendall(_response(200, self._models()))
            return True
        if request.method != "POST" or not path.endswith("/chat/completions"):
            connection.sendall(_response(404, _error(f"no such path: {request.method} {path}", code="not_found")))
            return True
        reply, model = self._choose(request)
        with self._lock:
            self.in_flight += 1
            self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            return self._play(connection, request, reply, model)
        finally:
            with self._lock:
                self.in_flight -= 1

    def _choose(self, request: StubRequest) -> tuple[Reply, str]:
        """Records the request and picks its reply in one step, so that the log's order is the script's order."""
        found = _MODEL.search(request.body)
        model = found.group(1).decode() if found else DEFAULT_MODEL
        text, turn = "", 0
        if self._script.looks_inside:
            text = request.body.decode("utf-8", "replace")
            turn = sum(message.get("role") == "assistant" for message in request.messages)
        with self._lock:
            self.requests.append(request)
            if self._log is not None:
                self._log.write(_line(request.body))
            try:
                reply = self._script.next(text=text, model=model, turn=turn)
            except ScriptExhausted as error:
                reply = Reply(spec={"status": 400, "body": _error(str(error), code="script_exhausted")})
            self._bill(reply, model)
        return reply, model

    def _bill(self, reply: Reply, model: str) -> None:
        usage = _billed(reply, request=len(self.requests), model=str(reply.spec.get("model", model)))
        self.usages.append(usage)
        if self._usage_log is not None:
            self._usage_log.write(json.dumps(asdict(usage)).encode() + b"\n")

    # --- answers ----------------------------------------------------------------------------------------------------

    def _play(self, connection: socket.socket, request: StubRequest, reply: Reply, model: str) -> bool:
        delay_s = reply.delay_ms / 1000 or self._delay_s
        spec = reply.spec
        if "refuse_ms" in spec:
            self._refuse_for(float(spec["refuse_ms"]) / 1000)
            return False
        if spec.get("hang"):
            self._stopping.wait()
        if (delay_s and self._stopping.wait(delay_s)) or spec.get("hang") or spec.get("close"):
            return False
        if "chunks" in spec:
            return self._stream(connection, reply, [frame(chunk) for chunk in spec["chunks"]])
        if "status" in spec or "body" in spec:
            return self._send(connection, reply, spec.get("status", 200), spec.get("body", ""))
        completion = reply.completion(model)
        if self._script.shape is Shape.OLLAMA:
            completion = _as_ollama(completion)
        if _STREAMED.search(request.body):
            wants_usage = bool((request.json().get("stream_options") or {}).get("include_usage"))
            return self._stream(connection, reply, frames_of(completion, usage=wants_usage))
        return self._send(connection, reply, 200, completion)

    def _send(self, connection: socket.socket, reply: Reply, status: int, body: Any) -> bool:
        data = _response(status, body, reply.spec.get("headers", {}))
        if "cut" in reply.spec:
            head = data.index(b"\r\n\r\n") + 4
            connection.sendall(data[: head + int(reply.spec["cut"])])
            return False
        connection.sendall(data)
        return True

    def _stream(self, connection: socket.socket, reply: Reply, frames: Iterable[bytes]) -> bool:
        """Frames in chunked encoding, so that a stream that is cut can be told from one that ended."""
        spec = reply.spec
        headers = {"Content-Type": "text/event-stream", **spec.get("headers", {})}
        connection.sendall(_head(spec.get("status", 200), headers, length=None))
        pause_s = float(spec.get("chunk_delay_ms", 0)) / 1000
        for number, data in enumerate(frames):
            if number == spec.get("cut", -1):
                return False
            if pause_s and self._stopping.wait(pause_s):
                return False
            connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        end = spec.get("end", "done")
        if end == "hang":
            self._stopping.wait()
        if end != "done":
            return False
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(DONE), DONE))
        return True

    def _models(self) -> dict[str, Any]:
        owner = "library" if self._script.shape is Shape.OLLAMA else "stub"
        names = self._script.models or (DEFAULT_MODEL,)
        same = {"object": "model", "created": 1767225600, "owned_by": owner}
        rows = [{"id": each, **same} if isinstance(each, str) else {**same, **each} for each in names]
        return {"object": "list", "data": rows}


def _billed(reply: Reply, *, request: int, model: str) -> StubUsage:
    """Whoever refuses or says nothing charges nothing; a reply that is cut on its way was made all the same."""
    reported = reply.usage
    free = not 200 <= reply.status < 300

    def tokens(holder: Mapping[str, Any] | None, key: str, default: int | None) -> int | None:
        return 0 if free else default if holder is None else int(holder.get(key) or 0)

    details = None if reported is None else reported.get("prompt_tokens_details") or {}
    return StubUsage(
        request=request,
        model=model,
        status=reply.status,
        cut="cut" in reply.spec or reply.spec.get("end", "done") != "done",
        prompt_tokens=tokens(reported, "prompt_tokens", None),
        completion_tokens=tokens(reported, "completion_tokens", None),
        cached_tokens=tokens(details, "cached_tokens", None),
    )


def read_request(reader: BinaryIO) -> StubRequest | None:
    """One request, or None when the client closed. Only bodies with a Content-Length are read."""
    line = reader.readline(65536)
    if not line.strip():
        return None
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reader.readline(65536)) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    return StubRequest(method=method, path=path, headers=headers, body=body, received=time.monotonic())


def _line(body: bytes) -> bytes:
    """One line of the log. A body with line breaks is not byte-exact there: JSON text is put on one line."""
    if b"\n" not in body:
        return body + b"\n"
    return json.dumps(json.loads(body), ensure_ascii=False).encode() + b"\n"


def _error(message: str, *, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    """A text body is sent as written, anything else as JSON."""
    is_text = isinstance(body, str)
    data = body.encode() if is_text else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    kind = "text/html; charset=utf-8" if is_text and body.lstrip().startswith("<") else "application/json"
    return _head(status, {"Content-Type": kind, **(headers or {})}, length=len(data)) + data


def _head(status: int, headers: Mapping[str, str], *, length: int | None) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _as_ollama(completion: dict[str, Any]) -> dict[str, Any]:
    """Ollama's spelling: content is never null, thinking is ``reasoning``, calls carry an index."""
    choice = completion["choices"][0]
    message = dict(choice["message"])
    message["content"] = message.get("content") or ""
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")
    if message.get("tool_calls"):
        message["tool_calls"] = [{**call, "index": i} for i, call in enumerate(message["tool_calls"])]
    return {
        **completion,
        "id": f"chatcmpl-{completion['id'].rpartition('-')[2]}",
        "system_fingerprint": "fp_ollama",
        "choices": [{"index": 0, "message": message, "finish_reason": choice["finish_reason"]}],
    }


def _end(connection: socket.socket) -> None:
    """Wakes whoever reads or accepts on it, then closes."""
    with contextlib.suppress(OSError):  # not connected any more
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()

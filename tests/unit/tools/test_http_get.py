"""Only public addresses, looked at once and connected to as looked at; text only, bounded; every redirect looked at."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import Refused, ToolFailed
from hermes_cron.tools.addresses import is_public, reachable
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.context import Caps, ToolContext
from hermes_cron.tools.page_text import page_text
from hermes_cron.tools.registry import discover
from tests.agent_rig import context

TOOLS = discover().tools
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Site:
    """A real server on 127.0.0.1: path to (status, headers, body). ``asked`` has path and Host of each request."""

    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0
    drip: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append((self.path, self.headers["Host"]))
            status, headers, body = made.pages.get(self.path, (404, {"Content-Type": "text/plain"}, b"no such page"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            if "X-Drip" in headers:
                while not made.drip.wait(0.05):
                    try:
                        self.wfile.write(b".")
                        self.wfile.flush()
                    except OSError:
                        return

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.drip.set()
        server.shutdown()
        server.server_close()
        thread.join()


def page(body: str | bytes, kind: str = "text/plain; charset=utf-8", **headers: str) -> Answer:
    return 200, {"Content-Type": kind, **headers}, body.encode() if isinstance(body, str) else body


def moved(to: str, status: int = 302) -> Answer:
    return status, {"Location": to}, b""


def ask(around: ToolContext, url: str, **more: Any) -> ToolOutput:
    box = ToolBox(TOOLS, around)
    prepared = box.prepare(ToolCall(id="c", name="http_get", arguments=json.dumps({"url": url, **more})))
    return prepared.refusal or box.execute(prepared, lambda _group: None)


@pytest.fixture
def inside(tmp_path: Path) -> ToolContext:
    """A context that may reach the server of the test."""
    return context(tmp_path, private_hosts=("127.0.0.1",), caps=Caps(http_s=3, http_bytes=50_000, redirects=3))


def problem(output: ToolOutput) -> str:
    assert not output.ok, output.text
    error = json.loads(output.text)["error"]
    return f"{error['code']}: {error['message']}"


def test_text_is_answered_with_status_and_type(inside: ToolContext, site: Site) -> None:
    site.pages["/a?x=1"] = page("gr\u00fc\u00df dich")
    assert json.loads(ask(inside, site.url("/a?x=1#part")).text) == {
        "status": 200, "url": site.url("/a?x=1#part"), "content_type": "text/plain", "output": "gr\u00fc\u00df dich",
    }  # fmt: skip
    assert site.asked == [("/a?x=1", f"127.0.0.1:{site.port}")]


def test_page_comes_as_text_or_raw(inside: ToolContext, site: Site) -> None:
    html = "<html><head><title>Status</title><style>p{}</style></head><body><p>All <b>well</b></p></body></html>"
    site.pages["/"] = page(html, "text/html")
    assert json.loads(ask(inside, site.url("/")).text)["output"] == "Status\n\nAll well"
    assert json.loads(ask(inside, site.url("/"), raw=True).text)["output"] == html


def test_redirects_are_followed_and_bounded(inside: ToolContext, site: Site) -> None:
    site.pages |= {"/1": moved("/2"), "/2": moved("3", 308), "/3": page("here"), "/loop": moved("/loop")}
    told = json.loads(ask(inside, site.url("/1")).text)
    assert (told["url"], told["output"]) == (site.url("/3"), "here")
    assert "more than 3 redirects" in problem(ask(inside, site.url("/loop")))
    assert len([1 for path, _ in site.asked if path == "/loop"]) == 4


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://127.0.0.2:1/",
        "http://0.0.0.0/",
    ],
)
def test_redirect_to_an_address_that_is_not_public_is_refused(inside: ToolContext, site: Site, target: str) -> None:
    site.pages["/"] = moved(target)
    assert problem(ask(inside, site.url("/"))).startswith("Refused: ")


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://x/", "data:,x"])
def test_redirect_to_another_scheme_is_refused(inside: ToolContext, site: Site, target: str) -> None:
    site.pages["/"] = moved(target)
    assert problem(ask(inside, site.url("/"))).startswith("InvalidArguments: ")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"],
)
def test_this_host_is_refused_however_it_is_spelled(tmp_path: Path, site: Site, host: str) -> None:
    site.pages["/"] = page("secret")
    said = problem(ask(context(tmp_path), site.url("/", host)))
    assert said.startswith(("Refused: ", "ToolFailed: "))
    assert site.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1:248:1893:25c8:1946", True), ("8.8.8.8", True),
        ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.1.1", False), ("127.0.0.53", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("240.0.0.1", False), ("255.255.255.255", False), ("::1", False), ("::", False), ("fe80::1", False),
        ("fc00::1", False), ("fd00:ec2::254", False), ("ff02::1", False), ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False), ("2002:a00:1::", False), ("2002:7f00:1::1", False), ("192.0.2.1", False),
    ],
)  # fmt: skip
def test_public_addresses(address: str, public: bool) -> None:
    import ipaddress

    assert is_public(ipaddress.ip_address(address)) is public


def test_every_address_of_a_name_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(*_: object, **__: object) -> list[Any]:
        return [(2, 1, 6, "", ("93.184.216.34", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    with pytest.raises(Refused, match=r"two-faced\.example is 10\.0\.0\.1"):
        reachable("two-faced.example", 80, ())
    assert reachable("two-faced.example", 80, ["10.0.0.0/8"]) == ("93.184.216.34", "10.0.0.1")
    assert reachable("Two-Faced.example", 80, ["two-faced.EXAMPLE"]) == ("93.184.216.34", "10.0.0.1")


def test_next_address_is_tried_when_one_does_not_answer(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def two(host: Any, *more: Any, **named: Any) -> Any:
        if host != "two.example":
            return real(host, *more, **named)
        return [(2, 1, 6, "", (address, site.port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    site.pages["/"] = page("ok")
    assert ask(context(tmp_path, private_hosts=("two.example",)), site.url("/", "two.example")).ok


def test_name_is_resolved_once_so_that_it_cannot_change(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look-up of a rebinding name would answer otherwise: there is none."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def once(host: Any, *more: Any, **named: Any) -> Any:
        asked.append(str(host))
        return real("127.0.0.1" if host == "rebind.example" else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", once)
    site.pages["/"] = page("ok")
    around = context(tmp_path, private_hosts=("rebind.example",))
    assert ask(around, site.url("/", "rebind.example")).ok
    assert asked.count("rebind.example") == 1
    assert site.asked == [("/", f"rebind.example:{site.port}")], "the server still hears the name"


def test_proxy_of_the_environment_is_not_used(inside: ToolContext, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.pages["/"] = page("direct")
    assert ask(inside, site.url("/")).ok


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, {"Content-Type": "text/plain"}, b"out  of\norder"), "answered 500: out of order"),
        ((403, {}, b""), "answered 403"),
        (page(b"\x89PNG", "image/png"), "is image/png, not text (4 bytes)"),
        ((200, {}, b"\x00\x01"), "is binary, not text (2 bytes)"),
        (page(b"x" * 60_000, "application/zip"), "not text (more than 50,000 bytes)"),
    ],
    ids=["500", "403", "image", "no type", "large"],
)
def test_what_is_no_text_or_no_success_is_an_error(inside: ToolContext, site: Site, answer: Answer, said: str) -> None:
    site.pages["/"] = answer
    assert said in problem(ask(inside, site.url("/")))


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json", "image/svg+xml", "text/csv", ""])
def test_what_is_text_is_shown(inside: ToolContext, site: Site, kind: str) -> None:
    site.pages["/"] = (200, {"Content-Type": kind} if kind else {}, b'{"a": 1}')
    assert json.loads(ask(inside, site.url("/")).text)["output"] == '{"a": 1}'


def test_large_text_is_cut_and_says_so(inside: ToolContext, site: Site) -> None:
    site.pages["/"] = page("x" * 200_000)
    told = json.loads(ask(inside, site.url("/")).text)
    assert told["note"].startswith("only the first 50,000 bytes were read; 18,000 of 50,000 bytes cut")


@pytest.mark.parametrize("charset", ["iso-8859-1", "no-such-charset"])
def test_other_charsets(inside: ToolContext, site: Site, charset: str) -> None:
    site.pages["/"] = page(b"caf\xe9", f"text/plain; charset={charset}")
    assert json.loads(ask(inside, site.url("/")).text)["output"] in ("caf\u00e9", "caf\ufffd")


def test_slow_answer_is_given_up(tmp_path: Path, site: Site) -> None:
    around = context(tmp_path, private_hosts=("127.0.0.1",), caps=Caps(http_s=0.4))
    site.pages["/"] = (200, {"Content-Type": "text/plain", "X-Drip": "1"}, b"")
    began = time.monotonic()
    assert "did not answer in time" in problem(ask(around, site.url("/")))
    assert time.monotonic() - began < 3


def test_nobody_there(inside: ToolContext) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert problem(ask(inside, f"http://127.0.0.1:{port}/")).startswith("ToolFailed: 127.0.0.1")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "127.0.0.1", "http://", "http://[::1", "http://a:99999/", "", "javascript:1"]
)
def test_what_is_no_url(inside: ToolContext, url: str) -> None:
    assert problem(ask(inside, url)).startswith("InvalidArguments: ")


def test_password_in_the_url_is_refused_and_not_repeated(inside: ToolContext) -> None:
    said = problem(ask(inside, "http://ada:hunter2@example.com/"))
    assert said.startswith("SecretInPlainSight: ")
    assert "hunter2" not in said


def test_name_that_does_not_resolve() -> None:
    with pytest.raises(ToolFailed, match="cannot be resolved"):
        reachable("no-such-host.invalid", 80, ())


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<br>b</p><ul><li>c<li>d</ul>", "a\nb\n\nc\nd"),
        ("<script>x</script>a &amp; b<style>y</style>", "a & b"),
        ("<head><meta x><body>late", "late"),
        ("a <b>b", "a b"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "1 2"),
        ("", ""),
        ("</script></p>plain", "plain"),
    ],
)
def test_page_text(html: str, text: str) -> None:
    assert page_text(html).replace("\n\n\n", "\n\n") == text

"""The tool ``http_get``: the text behind a public address.

The environment's proxy settings are not followed (``trust_env``): a proxy would connect for us, to addresses that
were never looked at.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx2
from pydantic import Field

from hermes_cron.errors import InvalidArguments, SecretInPlainSight, ToolFailed
from hermes_cron.tools.addresses import reachable
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.page_text import page_text

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT = ("text/", "application/json", "application/xml", "application/yaml", "application/javascript")
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")
_PORTS = {"http": 80, "https": 443}
_HEADERS = {"User-Agent": "hermes-cron", "Accept": "text/*, application/json, */*;q=0.1", "Accept-Encoding": "identity"}


class HttpGet(Arguments):
    url: str = Field(description="http or https")
    raw: bool = Field(default=False, description="HTML as it is instead of its text")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    status: int
    location: str | None
    content_type: str
    charset: str
    data: bytes
    whole: bool


def get(arguments: HttpGet, context: ToolContext) -> str:
    """JSON ``{"status", "url", "content_type", "output"}``; ``note`` says what was cut.

    Each step of a redirect is looked at like the first address. Raises ``ToolFailed`` for every answer that is not
    2xx or not text, ``Refused`` for an address that is not public.
    """
    end = time.monotonic() + context.seconds(context.caps.http_s)
    url = arguments.url.strip()
    # Certificates are checked against the name in the URL although the connection goes to an address: sni_hostname.
    with httpx2.Client(trust_env=False, follow_redirects=False) as client:
        for _ in range(context.caps.redirects + 1):
            answer = _fetch(client, url, context, end)
            if answer.status not in _REDIRECTS or answer.location is None:
                return _told(arguments, url, answer, context)
            url = urljoin(url, answer.location)
    raise ToolFailed(f"more than {context.caps.redirects} redirects, the last to {url}")


def _fetch(client: httpx2.Client, url: str, context: ToolContext, end: float) -> _Answer:
    _, host, port = _checked(url)
    addresses = reachable(host, port, context.private_hosts)
    for address in addresses:
        try:
            return _ask(client, url, address, context, end)
        except httpx2.ConnectError as error:
            if address == addresses[-1]:
                raise ToolFailed(f"{host}: {error or type(error).__name__}") from error
        except httpx2.TimeoutException as error:
            raise ToolFailed(f"{host} did not answer in time") from error
        except httpx2.HTTPError as error:
            raise ToolFailed(f"{host}: {error or type(error).__name__}") from error
    raise ToolFailed(f"{host} has no address")


def _ask(client: httpx2.Client, url: str, address: str, context: ToolContext, end: float) -> _Answer:
    scheme, host, port = _checked(url)
    named = f"[{host}]" if ":" in host else host
    request = client.build_request(
        "GET",
        httpx2.URL(url).copy_with(host=address, fragment=None),
        headers={**_HEADERS, "Host": named if port == _PORTS[scheme] else f"{named}:{port}"},
        extensions={"sni_hostname": host},
        timeout=max(0.1, end - time.monotonic()),
    )
    response = client.send(request, stream=True)
    try:
        return _read(response, context.caps.http_bytes, end)
    finally:
        response.close()


def _checked(url: str) -> tuple[str, str, int]:
    """Scheme, host and port. Raises ``InvalidArguments`` or ``SecretInPlainSight``."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidArguments(f"not a URL: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise InvalidArguments("a URL begins with http:// or https:// and names a host")
    if parts.username or parts.password:
        raise SecretInPlainSight("the URL holds a name or password; http_get sends none")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def _read(response: httpx2.Response, cap_bytes: int, end: float) -> _Answer:
    data, whole = bytearray(), True
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > cap_bytes:
            whole = False
            break
        if time.monotonic() > end:
            raise httpx2.ReadTimeout("too slow", request=response.request)
    return _Answer(
        status=response.status_code,
        location=response.headers.get("location"),
        content_type=response.headers.get("content-type", "").partition(";")[0].strip().lower(),
        charset=response.charset_encoding or "utf-8",
        data=bytes(data[:cap_bytes]),
        whole=whole,
    )


def _told(arguments: HttpGet, url: str, answer: _Answer, context: ToolContext) -> str:
    text = _text(answer)
    if not 200 <= answer.status < 300:
        start = " ".join((text or "").split())[:300]
        raise ToolFailed(f"{url} answered {answer.status}" + (f": {start}" if start else ""))
    if text is None:
        raise ToolFailed(f"{url} is {answer.content_type or 'binary'}, not text ({_size(answer)})")
    notes = [] if answer.whole else [f"only the first {len(answer.data):,} bytes were read"]
    if answer.content_type == "text/html" and not arguments.raw:
        text = page_text(text)
    text, cut = context.clip(text, context.caps.output_bytes)
    notes += [cut] if cut else []
    told = {"status": answer.status, "url": url, "content_type": answer.content_type, "output": text}
    return json.dumps({**told, **({"note": "; ".join(notes)} if notes else {})}, ensure_ascii=False)


def _text(answer: _Answer) -> str | None:
    """None for what is no text, by its type or, without a type, by its bytes."""
    kind = answer.content_type
    if kind and not kind.startswith(_TEXT) and not kind.endswith(_TEXT_ENDINGS):
        return None
    if not kind and b"\0" in answer.data[:8192]:
        return None
    try:
        return answer.data.decode(answer.charset, "replace")
    except LookupError:
        return answer.data.decode("utf-8", "replace")


def _size(answer: _Answer) -> str:
    return f"{len(answer.data):,} bytes" if answer.whole else f"more than {len(answer.data):,} bytes"


TOOL = Tool(
    name="http_get",
    toolset="web",
    description="Fetch the text of a public web address. Pages come as plain text unless raw is true.",
    arguments=HttpGet,
    handler=get,
)

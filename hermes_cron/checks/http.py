"""What does an address answer? Any host may be asked, private ones too: a person wrote the address, not the agent.

Proxies of the environment are not used: what is checked is the address itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.fit import misfit, quoted
from hermes_cron.deadline import Deadline

DEFAULT_S = 10.0
BODY_BYTES = 1_000_000
_REDIRECTS = 5
_HEADERS = {"User-Agent": "hermes-cron", "Accept-Encoding": "identity"}


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """The status first, then the body."""
    status, body = _answer(params, bench.seconds(params.get("timeout", DEFAULT_S)))
    wanted = params.get("status", 200)
    statuses = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    if status not in statuses:
        return False, f"answered {status}, not {' or '.join(str(one) for one in statuses)}"
    expression = params.get("matches")
    if expression is not None and misfit(bench, body, matches=expression) is not None:
        return False, f"answered {status}, and the body has no {quoted(expression)}"
    return True, f"answered {status}"


def _answer(params: Mapping[str, Any], seconds: float) -> tuple[int, str]:
    """Status and the beginning of the body, read only where it is looked at. ``seconds`` are for all of it together."""
    import httpx2

    follow = bool(params.get("redirects", False))
    client = httpx2.Client(
        trust_env=False, follow_redirects=follow, max_redirects=_REDIRECTS, timeout=seconds, headers=_HEADERS
    )
    with client, Deadline(seconds) as deadline:
        try:
            with client.stream("GET", params["url"], extensions={"trace": deadline.trace}) as response:
                body = _body(response) if "matches" in params else b""
                if deadline.passed:  # a body that ends with its connection would look whole
                    raise NotCheckable(f"the answer did not end within {seconds:g} s")
                return response.status_code, _text(body, response.charset_encoding)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            if deadline.passed or isinstance(error, httpx2.TimeoutException):
                raise NotCheckable(f"no answer within {seconds:g} s") from error
            raise NotCheckable(f"no answer: {error or type(error).__name__}") from error


def _body(response: Any) -> bytes:
    held = bytearray()
    for chunk in response.iter_bytes():
        held += chunk
        if len(held) >= BODY_BYTES:
            break
    return bytes(held[:BODY_BYTES])


def _text(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")

"""Does a text fit an expression or a schema? Run in a process of its own, so that a pattern without end can be ended.

Reads one JSON object on stdin: ``text``, either ``matches`` or ``schema``, and ``seconds``, after which the process
ends by itself: its owner may have died. Prints ``{"misfit": null}`` when it
fits, else one line of why not.
"""

from __future__ import annotations

import json
import math
import re
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

_BLOCK = re.compile(r"^[ \t]*```json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.MULTILINE | re.DOTALL)


def judge(task: dict[str, Any]) -> str | None:
    """Why the text does not fit, None when it does."""
    if "matches" in task:
        text = task["text"].replace("\r\n", "\n")  # "$" is the end of a line of any system
        found = re.search(task["matches"], text, re.MULTILINE)
        return None if found else "no match"
    from hermes_cron.domain.json_schema import misfit

    try:
        value = json_in(task["text"])
    except (ValueError, RecursionError) as error:
        return f"the report holds no JSON: {error}"
    return misfit(value, task["schema"])


def json_in(text: str) -> Any:
    """The whole text as JSON, else its last fenced ``json`` block. Raises ``ValueError``."""
    blocks = _BLOCK.findall(text)
    try:
        return _read(text)
    except ValueError:
        if not blocks:
            raise
        return _read(blocks[-1])


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_no_number, parse_float=_finite)


def _finite(word: str) -> float:
    found = float(word)
    return found if math.isfinite(found) else _no_number(word)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _main() -> str:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    task = json.loads(sys.stdin.buffer.read())
    signal.setitimer(signal.ITIMER_REAL, task["seconds"])  # ends it also where nobody lives to do so
    return json.dumps({"misfit": judge(task)})


if __name__ == "__main__":
    print(_main())  # noqa: T201  # the answer

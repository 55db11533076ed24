"""Does a text fit an expression or a schema? Run in a process of its own, so that a pattern without end can be ended.

Reads one JSON object on stdin: ``text`` and either ``matches`` or ``schema``. Prints ``{"misfit": null}`` when it
fits, else one line of why not.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

_BLOCK = re.compile(r"^[ \t]*```json[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)


def judge(task: dict[str, Any]) -> str | None:
    """Why the text does not fit, None when it does."""
    if "matches" in task:
        found = re.search(task["matches"], task["text"], re.MULTILINE)
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
        return json.loads(text, parse_constant=_no_number)
    except ValueError:
        if not blocks:
            raise
        return json.loads(blocks[-1], parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    print(json.dumps({"misfit": judge(json.loads(sys.stdin.buffer.read()))}))  # noqa: T201  # the answer

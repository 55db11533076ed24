"""Does the report say what it must, in the form it must have?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.fit import misfit, quoted
from hermes_cron.checks.pins import text_of
from hermes_cron.domain.json_schema import not_understood


def pinned(params: Mapping[str, Any], folder: Path) -> dict[str, dict[str, str | None]]:
    """The schema's file as it is before the run."""
    schema = params.get("schema")
    return {str(folder / schema): text_of(folder / schema)} if isinstance(schema, str) else {}


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """The expression first, then the schema."""
    expression = params.get("matches")
    if expression is not None and misfit(bench, bench.report, matches=expression) is not None:
        return False, f"the report has no {quoted(expression)}"
    if "schema" not in params:
        return True, "found"
    schema, note = _schema(params["schema"], bench)
    said = misfit(bench, bench.report, schema=schema)
    return said is None, (said or "the report fits the schema") + note


def _schema(schema: Any, bench: Bench) -> tuple[Mapping[str, Any], str]:
    """The schema as it was before the run, and a word on what became of its file."""
    if not isinstance(schema, str):
        return schema, ""
    path = bench.path(schema)
    held = bench.pins.texts.get(str(path))
    if held is None:
        raise NotCheckable(f"{schema}: how it was before the run is not known")
    text = held.get("text")
    if text is None:
        raise NotCheckable(f"{schema}: {held.get('why')}")
    changed = text_of(path).get("text") != text
    note = f"; judged by {schema} as it was before the run, which was changed since" if changed else ""
    return _parsed(text, schema), note


def _parsed(text: str, name: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotCheckable(f"{name} is not JSON: {error}") from error
    if (why := not_understood(found)) is not None:
        raise NotCheckable(f"{name}: {why}")
    return found

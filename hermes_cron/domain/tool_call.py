"""What is a tool call once it is understood, and what does a tool answer?

The loop knows tools only by these values: which tools exist, and what they do, is the toolbox's matter.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.domain.run import Effect
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import HermesCronError

_ERROR_PREFIX = '{"error":'
_FAILED = re.compile(r'\{"(error":|exit_code": (?!0[,}]))')


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What the model reads. ``ok`` False counts as a tool error and never ends a run by itself."""

    text: str
    ok: bool = True
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """A call that was looked at and not yet run.

    ``paths`` are the absolute places a writer touches; None: it does not say. ``refusal`` is the answer to a call
    that is not run at all: unknown tool, arguments that do not fit. ``gated``: it acts through a process alone, which
    starts once its group is journalled.
    """

    call: ToolCall
    effect: Effect
    arguments_hash: str
    arguments: object = None
    paths: tuple[Path, ...] | None = None
    refusal: ToolOutput | None = None
    gated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether a call that was interrupted has happened, None where that cannot be told; ``text`` says what was seen."""

    happened: bool | None
    text: str


def arguments_hash(arguments: str) -> str:
    """SHA-256 of the canonical JSON, so that order of keys and blanks do not make another call of it.

    Blank text is ``{}``. Text that is no JSON is hashed as it stands.
    """
    try:
        value = json.loads(arguments) if arguments.strip() else {}
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    except (ValueError, RecursionError):
        text = arguments
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reads_as_failure(text: str) -> bool:
    """Whether a stored result begins like an error or a command's non-zero exit: rows keep the text the model saw."""
    return _FAILED.match(text) is not None


def error_output(error: HermesCronError) -> ToolOutput:
    """``{"error": {"code", "message", "hint"}}``, as ``--json`` spells it for people."""
    return error_text(error.code, error.message, error.hint)


def error_text(code: str, message: str, hint: str | None = None) -> ToolOutput:
    """An error as a tool answers it."""
    body = {"code": code, "message": message, **({"hint": hint} if hint else {})}
    return ToolOutput(text=f"{_ERROR_PREFIX} {json.dumps(body, ensure_ascii=False)}}}", ok=False)

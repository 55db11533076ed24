"""How is one tool call checked and run, so that whatever happens becomes an answer to the model?"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hermes_cron.domain.clip import clip
from hermes_cron.domain.command import OnSpawn
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, Probe, ToolOutput, arguments_hash, error_output, error_text
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.errors import HermesCronError, InvalidArguments
from hermes_cron.ports import Fenced
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Tool
from hermes_cron.tools.schema import tool_schema

_log = logging.getLogger(__name__)
_HARD_CAP_BYTES = 300_000  # tools bound their own output; this catches a plug-in that does not
_SHOWN_PROBLEMS = 5


class ToolBox:
    """The tools of one run and its context. Implements ``agent.batch.Toolbox``; thread-safe as its tools are."""

    def __init__(self, tools: Mapping[str, Tool], context: ToolContext) -> None:
        self.tools = dict(tools)
        self.context = context

    def schemas(self) -> tuple[dict[str, Any], ...]:
        """For the header, in order of name, so that the same tools give the same bytes."""
        return tuple(tool_schema(self.tools[name]) for name in sorted(self.tools))

    def prepare(self, call: ToolCall) -> PreparedCall:
        """Looks the tool up and validates the arguments. A call that does not fit is refused, never run."""
        hashed = arguments_hash(call.arguments)
        try:
            tool = self._tool(call.name)
            arguments = _validated(tool, parse_arguments(call.arguments))
            paths = tool.paths(arguments, self.context) if tool.paths else None
        except HermesCronError as error:
            return self._refused(call, hashed, error_output(error))
        except Exception as error:  # noqa: BLE001  # a tool's ``paths`` is a tool's code too
            return self._refused(call, hashed, self._crashed(call.name, error))
        return PreparedCall(
            call=call,
            effect=tool.effect,
            arguments_hash=hashed,
            arguments=arguments,
            paths=paths,
            gated=tool.gated,
        )

    def execute(self, prepared: PreparedCall, on_spawn: OnSpawn, *, key: str = "") -> ToolOutput:
        """Runs the call. Its own "no" and its crash are both answers; ``Fenced`` alone goes on."""
        if prepared.refusal is not None:
            return prepared.refusal
        tool = self.tools[prepared.call.name]
        try:
            output = tool.handler(prepared.arguments, self.context.for_call(on_spawn, key))
        except Fenced:
            raise
        except HermesCronError as error:
            output = error_output(error)
        except Exception as error:  # noqa: BLE001  # one of the three places: a tool's crash is an answer
            output = self._crashed(tool.name, error)
        return self._presentable(output if isinstance(output, ToolOutput) else ToolOutput(text=str(output)))

    def probe(self, prepared: PreparedCall, *, key: str = "") -> Probe:
        """Whether a call that was interrupted has happened. What stands in the way of looking is "cannot be told"."""
        tool = self.tools.get(prepared.call.name)
        if prepared.refusal is not None or tool is None or tool.probe is None:
            return Probe(happened=None, text=f"{prepared.call.name} cannot look up what it did")
        try:
            found = tool.probe(prepared.arguments, self.context.for_call(self.context.on_spawn, key))
        except HermesCronError as error:
            found = Probe(happened=None, text=error.message)
        except Exception as error:  # noqa: BLE001  # a tool's probe is a tool's code: its crash proves nothing
            found = Probe(happened=None, text=self._crashed(tool.name, error).text)
        return Probe(happened=found.happened, text=self._presentable(ToolOutput(text=found.text)).text)

    def shown(self, call: ToolCall) -> str:
        """The call's arguments for people."""
        return self._presentable(ToolOutput(text=call.arguments)).text

    def _refused(self, call: ToolCall, hashed: str, refusal: ToolOutput) -> PreparedCall:
        return PreparedCall(call=call, effect=Effect.READ, arguments_hash=hashed, refusal=self._presentable(refusal))

    def _crashed(self, name: str, error: Exception) -> ToolOutput:
        _log.error("tool %s crashed in run %s", name, self.context.run_id, exc_info=error)
        return error_text("ToolCrashed", f"{name} crashed: {type(error).__name__}: {error}")

    def _presentable(self, output: ToolOutput) -> ToolOutput:
        """Redacted, bounded, and UTF-8: a lone surrogate (a file name that is none) could not be stored or sent."""
        text = output.text.encode("utf-8", "replace").decode("utf-8")
        text, _ = clip(self.context.redact(text), _HARD_CAP_BYTES)
        return ToolOutput(text=text, ok=output.ok, exit_code=output.exit_code)

    def _tool(self, name: str) -> Tool:
        if name in self.tools:
            return self.tools[name]
        near = difflib.get_close_matches(name, self.tools, n=1)
        raise InvalidArguments(
            f"no tool {name!r}; the tools are: {', '.join(sorted(self.tools)) or 'none'}",
            hint=f"did you mean {near[0]}?" if near else None,
        )


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments as written by the model; blank text and ``null`` mean none. Raises ``InvalidArguments``."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArguments(f"the arguments are not JSON: {error}", hint="send one JSON object") from error
    except RecursionError as error:
        raise InvalidArguments("the arguments are nested too deeply") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments(f"the arguments are a JSON {_json_type(value)}, not an object")
    return value


def _json_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def _validated(tool: Tool, values: dict[str, Any]) -> BaseModel:
    try:
        return tool.arguments.model_validate(values)
    except ValidationError as error:
        known = [field.alias or name for name, field in tool.arguments.model_fields.items()]
        found = [_problem(problem, known) for problem in error.errors(include_url=False, include_input=False)]
        more = f"; and {len(found) - _SHOWN_PROBLEMS} more" if len(found) > _SHOWN_PROBLEMS else ""
        raise InvalidArguments(
            f"{tool.name}: {'; '.join(found[:_SHOWN_PROBLEMS])}{more}",
            hint=f"arguments: {', '.join(known) or 'none'}",
        ) from error


def _problem(problem: Any, known: list[str]) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place, known, n=1)
        return f"unknown argument {place}" + (f" (did you mean {near[0]}?)" if near else "")
    return f"{place}: {problem['msg']}" if place else str(problem["msg"])

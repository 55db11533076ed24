"""How does a provider see a tool? The arguments' model as an OpenAI tool schema, without what costs tokens only."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from hermes_cron.tools.declaration import Tool


@lru_cache(maxsize=256)
def tool_schema(tool: Tool) -> dict[str, Any]:
    """The ``tools[]`` member of a request. The same tool gives the same bytes. Shared: do not change it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": " ".join(tool.description.split()),
            "parameters": parameters(tool.arguments),
        },
    }


def parameters(model: type[BaseModel]) -> dict[str, Any]:
    """JSON schema with definitions written in place; no titles, no docstring of the class."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    schema.pop("description", None)
    compact: dict[str, Any] = _compact(schema, definitions, ())
    compact.setdefault("properties", {})
    return compact


def _compact(node: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference := node.get("$ref"), str):
        name = reference.rpartition("/")[2]
        if name in inside:
            raise ValueError(f"the arguments refer to themselves ({name}); providers cannot read that")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**definitions[name], **rest}, definitions, (*inside, name))
    kept = {
        key: {name: _compact(value, definitions, inside) for name, value in member.items()}
        if key == "properties"
        else _compact(member, definitions, inside)
        for key, member in node.items()
        if not (key == "title" and isinstance(member, str))
    }
    return _without_null(kept)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """An optional argument is one that may be left out: ``anyOf [X, null]`` with default null becomes X."""
    choices = node.get("anyOf")
    if "default" in node and node["default"] is None and isinstance(choices, list):
        others = [choice for choice in choices if choice != {"type": "null"}]
        if len(others) == 1:
            rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
            return {**others[0], **rest}
    return node

"""``tools list``: which tools runs may be given, and in which sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.settings import variable

if TYPE_CHECKING:
    from hermes_cron.tools.registry import Entry, Registry

app = typer.Typer(help="Tools that runs may be given.", add_completion=False)

HELP_ZH = {
    "Tools that runs may be given.": "可供运行使用的工具。",
    "Tools by name: set, what they do to the world, what they need.": "列出工具：所属工具集、对外影响、所需条件。",
    "Only the tools of this set, in its order.": "只列这个工具集的工具，按其顺序。",
}

_TEXTS = {
    "en": {
        "headers": ("NAME", "SET", "EFFECT", "NEEDS", "DESCRIPTION"),
        "missing": "{name} (missing)",
        "sets": "{n} tools. Sets: {sets}.  hermes-cron tools list --set NAME",
        "chosen": "{n} tools in {set}",
    },
    "zh": {
        "headers": ("名称", "工具集", "影响", "需要", "说明"),
        "missing": "{name}（缺少）",
        "sets": "{n} 个工具。工具集：{sets}。  hermes-cron tools list --set 名称",
        "chosen": "{set} 中有 {n} 个工具",
    },
}


@app.command("list", help="Tools by name: set, what they do to the world, what they need.")
def list_tools(
    chosen: str = typer.Option(None, "--set", metavar="NAME", help="Only the tools of this set, in its order."),
) -> None:
    from hermes_cron.tools.registry import discover
    from hermes_cron.tools.toolsets import resolve

    state = cli()
    registry = discover(
        state.home_path.tools,  # the built-in ones are there without a home
        has_variable=lambda name: variable(name) is not None,
    )
    sets = registry.sets
    names = sorted(registry.entries) if chosen is None else list(resolve([chosen], registry.tools, sets))
    if state.json:
        _emit(state, registry, names)
        return
    text = _TEXTS[state.lang]
    rows = [_row(state, registry, registry.entries[name]) for name in names]
    state.out(output.table(rows, text["headers"], max_columns=state.columns))
    for broken in registry.broken:
        state.out(f"{output.one_line(broken.file)}  BROKEN {output.one_line(broken.reason)}")
    said = text["sets"] if chosen is None else text["chosen"]
    state.note(str(said).format(n=len(names), sets=", ".join(sets), set=chosen))


def _row(state: Cli, registry: Registry, entry: Entry) -> tuple[str, ...]:
    tool = entry.tool
    missing = tool.missing(registry.has_variable)
    template = str(_TEXTS[state.lang]["missing"])
    needs = [template.format(name=name) if name in missing else name for name in tool.requires_env]
    return (tool.name, tool.toolset, str(tool.effect), ", ".join(needs), " ".join(tool.description.split()))


def _emit(state: Cli, registry: Registry, names: list[str]) -> None:
    state.emit_json(
        {
            "tools": [_as_json(registry, registry.entries[name]) for name in names],
            "sets": {name: list(members) for name, members in registry.sets.items()},
            "broken": [{"file": broken.file, "reason": broken.reason} for broken in registry.broken],
        }
    )


def _as_json(registry: Registry, entry: Entry) -> dict[str, Any]:
    tool = entry.tool
    missing = tool.missing(registry.has_variable)
    return {
        "name": tool.name,
        "set": tool.toolset,
        "effect": str(tool.effect),
        "description": " ".join(tool.description.split()),
        "requires_env": list(tool.requires_env),
        "missing_env": list(missing),
        "file": None if entry.file == "built in" else entry.file,
    }

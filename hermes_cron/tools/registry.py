"""Which tools exist? Files that declare one, found without importing the others.

A file declares a tool by a module-level assignment ``TOOL = Tool(...)``. It is read as a syntax tree first; only a
file with that assignment is imported. A plug-in that cannot be read or imported is listed as broken and harms nobody.
"""

from __future__ import annotations

import ast
import importlib
import importlib.resources
import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from hermes_cron.errors import ConfigError
from hermes_cron.tools.declaration import Tool
from hermes_cron.tools.schema import tool_schema
from hermes_cron.tools.toolsets import COMPOSED, read_sets, toolsets

_PACKAGE = "hermes_cron.tools"
SETS_FILE = "sets.toml"
_PLUGIN_PREFIX = "hermes_cron_plugin_"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A file that declares a tool and cannot be used. ``reason`` is one line."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``file`` is the plug-in's path, or ``built in``."""

    tool: Tool
    file: str


def _no_variable(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Tools by name, built-in ones first, and the files that broke.

    ``has_variable`` knows this process's environment, where a plug-in looks for what it requires; commands of runs do
    not get it (``ToolContext.env``).
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    own_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_variable: Callable[[str], bool] = _no_variable

    @property
    def tools(self) -> dict[str, Tool]:
        return {name: entry.tool for name, entry in self.entries.items()}

    @property
    def sets(self) -> dict[str, tuple[str, ...]]:
        """Every set with its direct members: simple ones, composed ones, the home's own."""
        return toolsets(self.tools, {**COMPOSED, **self.own_sets})


def discover(plugins: Path | None = None, *, has_variable: Callable[[str], bool] = _no_variable) -> Registry:
    """The built-in tools, and the tools and sets of ``plugins`` (a home's ``tools/``). A missing folder holds none."""
    entries = {tool.name: Entry(tool=tool, file="built in") for tool in _built_in()}
    broken: list[Broken] = []
    for path in sorted(plugins.glob("*.py")) if plugins is not None and plugins.is_dir() else ():
        found = _plugin(path, entries)
        if isinstance(found, Broken):
            _log.warning("tool plug-in %s is broken: %s", found.file, found.reason)
            broken.append(found)
        elif found is not None:
            entries[found.tool.name] = found
    own_sets: dict[str, tuple[str, ...]] = {}
    if plugins is not None:
        file = plugins / SETS_FILE
        try:
            own_sets = read_sets(file, {name: entry.tool for name, entry in entries.items()})
        except ConfigError as error:
            _log.warning("%s", error.message)
            broken.append(Broken(file=str(file), reason=error.message.removeprefix(f"{file}: ")))
    return Registry(entries=entries, broken=tuple(broken), own_sets=own_sets, has_variable=has_variable)


def signature(plugins: Path) -> object:
    """Equal as long as ``discover`` would find the same files."""
    try:
        with os.scandir(plugins) as found:
            files = [entry for entry in found if entry.name.endswith(".py") or entry.name == SETS_FILE]
            stats = [(entry.name, entry.stat()) for entry in files]
    except OSError:
        return None
    return sorted((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def declares_tool(source: str) -> bool:
    """Whether the module assigns a call of ``Tool`` to ``TOOL`` at its top level. Raises ``SyntaxError``."""
    return any(_is_declaration(node) for node in ast.parse(source).body)


def _is_declaration(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets, value = [node.target], node.value
    else:
        return False
    named = any(isinstance(target, ast.Name) and target.id == "TOOL" for target in targets)
    return named and isinstance(value, ast.Call) and _last_name(value.func) == "Tool"


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _built_in() -> Iterator[Tool]:
    """A broken file among our own is our bug: it raises."""
    folder = importlib.resources.files(_PACKAGE)
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if item.name.endswith(".py") and declares_tool(item.read_text(encoding="utf-8")):
            yield _tool_of(importlib.import_module(f"{_PACKAGE}.{item.name.removesuffix('.py')}"))


def _plugin(path: Path, known: Mapping[str, Entry]) -> Entry | Broken | None:
    """None for a file that declares nothing."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, for ever
        return Broken(file=str(path), reason="no plain file")
    try:
        if not declares_tool(path.read_text(encoding="utf-8")):
            return None
        tool = _tool_of(_import(path))
        tool_schema(tool)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # foreign code, run at import: whatever it does is listed
        return Broken(file=str(path), reason=_one_line(error))
    if tool.name in known:
        return Broken(file=str(path), reason=f"the name {tool.name} is taken ({known[tool.name].file})")
    return Entry(tool=tool, file=str(path))


def _import(path: Path) -> ModuleType:
    name = _PLUGIN_PREFIX + path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    # pydantic looks up annotations in sys.modules, so the module must be there while it runs.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _tool_of(module: ModuleType) -> Tool:
    tool: Any = getattr(module, "TOOL", None)
    if not isinstance(tool, Tool):
        raise TypeError(f"TOOL is a {type(tool).__name__}, not a hermes_cron.tools.declaration.Tool")
    return tool


def _one_line(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return " ".join(f"{type(error).__name__}: {error}".split())

"""Which tools does a word stand for? Sets by name; a set may hold other sets."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from hermes_cron.errors import ConfigError, NotFound
from hermes_cron.tools.declaration import Tool

Sets = Mapping[str, tuple[str, ...]]

COMPOSED: Sets = {
    "reads": ("clock", "databases", "read_file", "search_files"),
    "everything": ("reads", "files", "sessions", "memory", "recall", "skills", "web", "shell"),
}
"""Sets of sets. The simple ones (``files``, ``databases``, ...) follow from each tool's ``toolset``."""


def toolsets(tools: Mapping[str, Tool], composed: Sets = COMPOSED) -> dict[str, tuple[str, ...]]:
    """Every set with its direct members, simple sets first, each in order of name."""
    simple: dict[str, list[str]] = {}
    for tool in tools.values():
        simple.setdefault(tool.toolset, []).append(tool.name)
    return {**{name: tuple(sorted(simple[name])) for name in sorted(simple)}, **composed}


def read_sets(path: Path, tools: Mapping[str, Tool]) -> dict[str, tuple[str, ...]]:
    """A home's own sets: TOML, ``night = ["reads", "http_get"]``; none when the file is missing.

    Raises ``ConfigError`` naming the file for what does not parse, a name that is taken, or a member that is unknown.
    Cycles are found when a set is resolved.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    taken = {*tools, *toolsets(tools)}
    own: dict[str, tuple[str, ...]] = {}
    for name, members in found.items():
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
            raise ConfigError(f'{path}: {name} is no list of names such as ["reads", "http_get"]')
        if name in taken:
            raise ConfigError(f"{path}: the name {name} is taken")
        own[name] = tuple(members)
    for member in {member for members in own.values() for member in members} - taken - own.keys():
        raise ConfigError(f"{path}: {unknown(member, tools, {**toolsets(tools), **own}).message}")
    return own


def resolve(words: Iterable[str], tools: Mapping[str, Tool], sets: Sets) -> tuple[str, ...]:
    """Names of tools, each once, in the order in which the words lead to them. A set wins over a tool of its name.

    Raises ``NotFound`` for a word that is neither, ``ConfigError`` for a set that contains itself.
    """
    found: dict[str, None] = {}
    for word in words:
        _add(word, tools, sets, (), found)
    return tuple(found)


def _add(word: str, tools: Mapping[str, Tool], sets: Sets, above: tuple[str, ...], found: dict[str, None]) -> None:
    if above[-1:] == (word,) and word in tools:  # a set may hold a tool of its own name
        found[word] = None
        return
    if word in above:
        raise ConfigError(f"tool set {word} contains itself: {' > '.join((*above[above.index(word) :], word))}")
    if word in sets:
        for member in sets[word]:
            _add(member, tools, sets, (*above, word), found)
    elif word in tools:
        found[word] = None
    else:
        raise unknown(word, tools, sets)


def unknown(word: str, tools: Mapping[str, Tool], sets: Sets) -> NotFound:
    """Names the nearest tool or set."""
    near = difflib.get_close_matches(word, [*tools, *sets], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return NotFound(f"no tool or tool set {word!r}", hint=f"{hint}hermes-cron tools list")

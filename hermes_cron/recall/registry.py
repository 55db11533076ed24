"""Which memories can stand beside the built-in one? Ours, and those that installed packages bring.

A package brings one by an entry point of the group ``hermes_cron.memory``: its name is the provider's, it gives a
callable that takes the home's folder and returns a ``ports.ExternalMemory``. Its docstring's first line is shown.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.domain.recall import ProviderInfo, RecallFailed
from hermes_cron.recall import local

if TYPE_CHECKING:
    from hermes_cron.ports import ExternalMemory

GROUP = "hermes_cron.memory"
NONE = "none"


def providers() -> list[ProviderInfo]:
    """All, ours first. Imports none of them."""
    own = ProviderInfo(
        name=local.NAME,
        about="semantic recall on this machine, English and Chinese among 90 languages; no network",
        lacks=local.missing(),
    )
    brought = [ProviderInfo(name=each.name, about=f"from {_package(each)}: {each.value}") for each in _entries()]
    return [own, *brought]


def named(name: str) -> str | None:
    """Why there is no such provider; None when there is, or when it means none."""
    if name in {NONE, local.NAME}:
        return None
    known = [NONE, local.NAME, *(each.name for each in _entries())]
    return None if name in known else f'no memory provider "{name}" ({", ".join(known)})'


def brought(name: str, folder: Path) -> ExternalMemory:
    """One of a package. Raises ``RecallFailed`` for what goes wrong in it."""
    entry = next((each for each in _entries() if each.name == name), None)
    if entry is None:
        raise RecallFailed(f'no installed package brings the memory provider "{name}"')
    try:
        made: ExternalMemory = entry.load()(folder)
    except Exception as error:  # a package of somebody else's: whatever it raises is its fault, told as such
        raise RecallFailed(f'the memory provider "{name}" does not start: {type(error).__name__}: {error}') from error
    return made


def _entries() -> list[EntryPoint]:
    found = {each.name: each for each in entry_points(group=GROUP) if each.name not in {NONE, local.NAME}}
    return [found[name] for name in sorted(found)]


def _package(entry: EntryPoint) -> str:
    return "a package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"

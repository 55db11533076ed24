"""What can stand behind ``memory.provider``, and how does one that a package brings begin?

The package's entry point gives a callable that takes the home's folder and returns a ``ports.ExternalMemory``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron import memory_providers
from hermes_cron.domain.recall import ProviderInfo, RecallFailed
from hermes_cron.recall import local

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hermes_cron.ports import ExternalMemory


def providers() -> list[ProviderInfo]:
    """All, ours first. Imports none of them."""
    own = ProviderInfo(
        name=memory_providers.LOCAL,
        about="semantic recall on this machine, English and Chinese among 90 languages; no network",
        lacks=local.missing(),
    )
    brought = [
        ProviderInfo(name=each.name, about=f"from {_package(each)}: {each.value}")
        for each in memory_providers.brought()
    ]
    return [own, *brought]


def begun(name: str, folder: Path) -> ExternalMemory:
    """One of a package. Raises ``RecallFailed`` for what goes wrong in it."""
    entry = next((each for each in memory_providers.brought() if each.name == name), None)
    if entry is None:
        raise RecallFailed(f'no installed package brings the memory provider "{name}"')
    try:
        made: ExternalMemory = entry.load()(folder)
    except Exception as error:  # a package of somebody else's: whatever it raises is its fault, told as such
        raise RecallFailed(f'the memory provider "{name}" does not start: {type(error).__name__}: {error}') from error
    return made


def _package(entry: EntryPoint) -> str:
    return "a package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"

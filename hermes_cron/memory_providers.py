"""Which names may ``memory.provider`` have? Ours, and those that installed packages bring; none of them is imported.

A package brings one by an entry point of the group ``hermes_cron.memory``: its name is the provider's.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "hermes_cron.memory"
NONE = "none"
LOCAL = "local"


def brought() -> list[EntryPoint]:
    """What packages bring, by name; our own names stay ours."""
    found = {each.name: each for each in entry_points(group=GROUP) if each.name not in {NONE, LOCAL}}
    return [found[name] for name in sorted(found)]


def fault(name: str) -> str | None:
    """Why there is no such provider; None when there is, or when it means none."""
    if name in {NONE, LOCAL}:
        return None
    known = [NONE, LOCAL, *(each.name for each in brought())]
    return None if name in known else f'no memory provider "{name}" ({", ".join(known)})'

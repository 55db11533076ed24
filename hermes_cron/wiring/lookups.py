"""Names that are looked up when somebody asks, and not before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.domain.database import DatabaseConfig


class AsItIs(Mapping[str, "DatabaseConfig"]):
    """A table of config.toml, looked up anew at each question."""

    def __init__(self, now: Callable[[], Mapping[str, DatabaseConfig]]) -> None:
        self._now = now

    def __getitem__(self, name: str) -> DatabaseConfig:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


class Asked(Collection[str]):
    """Names that are looked up when the first one is asked for: most jobs name no tool, and importing all costs."""

    def __init__(self, names: Callable[[], Collection[str]]) -> None:
        self._look_up = names

    @cached_property
    def _names(self) -> Collection[str]:
        return self._look_up()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

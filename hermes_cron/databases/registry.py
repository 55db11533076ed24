"""Which databases does this home know, and how does a run open one by name?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_cron.databases.connect import Database, connect
from hermes_cron.databases.url import sqlite_path
from hermes_cron.domain.database import DatabaseConfig
from hermes_cron.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseRegistry:
    """``resolve`` turns ``secret:NAME`` into the password at the moment of connecting; nothing keeps it.

    Relative SQLite paths start at ``root``, the home.
    """

    configs: Mapping[str, DatabaseConfig]
    resolve: Callable[[str], str]
    root: Path

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.configs))

    def config(self, name: str) -> DatabaseConfig:
        """Raises NotFound with the known names."""
        found = self.configs.get(name)
        if found is None:
            raise NotFound(
                f'no database "{name}"',
                details={"known": list(self.names()), "add_one": f"hermes-cron db add {name}"},
            )
        return anchored(found, self.root)

    def engine(self, name: str) -> str:
        return self.config(name).engine

    def open(self, name: str) -> Database:
        """A new connection; who opens it closes it."""
        config = self.config(name)
        return connect(config, password=self.password(config))

    def password(self, config: DatabaseConfig) -> str | None:
        return self.resolve(config.password_ref) if config.password_ref else None


def anchored(config: DatabaseConfig, root: Path) -> DatabaseConfig:
    """The same, with a relative SQLite path made absolute under ``root``."""
    if config.engine != "sqlite":
        return config
    path = sqlite_path(config.url)
    return replace(config, url=str(path if path.is_absolute() else root / path))

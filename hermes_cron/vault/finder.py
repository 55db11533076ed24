"""Does this file hold a secret, so that it must not be kept in a history that is pushed and shared?

Only whole values as they are: the history asks of every file, and a false alarm would leave a good file out of it, and
out of the reach of every command. So the passwords that everybody knows are not looked for: ``postgres`` stands in most
homes' settings, as the account and as the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hermes_cron.vault.redaction import SHORTEST

KNOWN_TO_ALL = frozenset({
    "changeme", "database", "default", "example", "mariadb", "mysql", "oracle", "password", "postgres", "postgresql",
    "public", "secret", "sqlite",
})  # fmt: skip
"""Passwords of test servers that are words of any text about databases."""


class Finder:
    """One look at the vault. ``stamp`` is another after every change of it; nothing is opened before the first call."""

    def __init__(self, stamp: str, values: Callable[[], Mapping[str, str]]) -> None:
        self.stamp = stamp
        self._open = values
        self._values: dict[bytes, str] | None = None

    def __call__(self, data: bytes) -> str | None:
        """Whose value stands there, as a reason for people; None when there is none. Raises VaultError."""
        if self._values is None:
            opened = ((name, value.strip()) for name, value in self._open().items())
            self._values = {value.encode(): name for name, value in opened if _counts(value)}
        found = next((name for value, name in self._values.items() if value in data), None)
        return None if found is None else f'it holds the value of the secret "{found}"'


def _counts(value: str) -> bool:
    return len(value) >= SHORTEST and value.lower() not in KNOWN_TO_ALL

"""What do the files say that stand beside the skills of a home: ``.pinned``, ``.stale``, ``.redirects``?"""

from __future__ import annotations

from pathlib import Path

from hermes_cron.errors import ConfigError


def read(root: Path, name: str) -> bytes | None:
    """The bytes; None where no such file is. Raises ``ConfigError`` for what is there and cannot be read: nobody knows
    what it says, so nothing is done as if it said nothing."""
    try:
        return (root / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(f"skills/{name} cannot be read: {why}", hint=f"ls -ld {root / name}") from error

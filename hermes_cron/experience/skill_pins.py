"""Which skills may no run change?

``skills/.pinned`` names them, a category/name a line; ``#`` begins a comment. It stands outside the skills, so that
restoring an old version unpins nothing, and in the home's history like everything beside it.
"""

from __future__ import annotations

from pathlib import Path

from hermes_cron.experience import beside_skills

PINS = ".pinned"
_HEAD = "# Skills that no run changes, one category/name a line: hermes-cron skills pin NAME\n"


def pinned(root: Path) -> frozenset[str]:
    """The names in the file of a home's skills; none when there is no file. Raises ``ConfigError``."""
    return names(beside_skills.read(root, PINS) or b"")


def names(data: bytes) -> frozenset[str]:
    """What a file says. A name that is no text pins nothing."""
    lines = (line.partition("#")[0].strip() for line in data.decode("utf-8-sig", "replace").splitlines())
    return frozenset(line for line in lines if line)


def with_pin(data: bytes | None, name: str) -> bytes:
    """The file with one more line; every other byte stays."""
    if data is None:
        return f"{_HEAD}{name}\n".encode()
    return data + (b"" if data.endswith((b"\n", b"\r")) or not data else b"\n") + f"{name}\n".encode()


def without_pin(data: bytes, name: str) -> bytes:
    """The file without the lines that name it."""
    kept = [line for line in data.splitlines(keepends=True) if names(line) != frozenset({name})]
    return b"".join(kept)

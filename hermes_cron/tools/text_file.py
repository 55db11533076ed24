"""How is a text file read without surprises?"""

from __future__ import annotations

from pathlib import Path

from hermes_cron.errors import ToolFailed


def read_text(path: Path, shown: str, cap_bytes: int) -> str:
    """The whole file, line ends and byte order mark as they are.

    Raises ``ToolFailed`` for a file that is larger, binary or not UTF-8; the message says its size.
    """
    try:
        size = path.stat().st_size
        if size > cap_bytes:
            raise ToolFailed(f"{shown} has {size:,} bytes; at most {cap_bytes:,} are read")
        data = path.read_bytes()
    except OSError as error:
        raise ToolFailed(f"{shown}: {error.strerror}") from error
    if b"\0" in data[:8192]:
        raise ToolFailed(f"{shown} is a binary file of {size:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailed(f"{shown} is not UTF-8 (byte {error.start:,} of {size:,})") from error

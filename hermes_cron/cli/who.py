"""Who is typing? The name that is kept beside what a person decided."""

from __future__ import annotations

import getpass


def person() -> str:
    """The account's name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown user"

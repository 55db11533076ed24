"""How are libgit2's and the disk's faults said?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from hermes_cron.errors import HermesCronError, SnapshotFailed

_FULL = "No space left on device"


NOTHING_CHANGED = "no snapshot could be made, so nothing was changed: "
"""Begins what is said of a fault while something was to be kept."""


def explained() -> AbstractContextManager[None]:
    """libgit2's and the disk's faults, as facts: no commit, no change."""
    return _told(NOTHING_CHANGED, _next)


def reading() -> AbstractContextManager[None]:
    """The same for those who only look."""
    return _told("the history cannot be read: ", lambda _text: "hermes-cron snapshots verify")


@contextlib.contextmanager
def _told(lead: str, hint: Callable[[str], str]) -> Iterator[None]:
    import pygit2

    try:
        yield
    except HermesCronError:
        raise
    except (OSError, pygit2.GitError, KeyError, ValueError, RecursionError) as error:
        raise SnapshotFailed(f"{lead}{error}", hint=hint(str(error))) from error


def _next(text: str) -> str:
    if _FULL in text:
        return "df -h"
    return "mend that file" if "config file" in text else "hermes-cron snapshots verify"

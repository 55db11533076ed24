"""How are libgit2's and the disk's faults said?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hermes_cron.errors import HermesCronError, SnapshotFailed

_FULL = "No space left on device"


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """libgit2's and the disk's faults, as facts: no commit, no change."""
    import pygit2

    try:
        yield
    except HermesCronError:
        raise
    except (OSError, pygit2.GitError, KeyError, ValueError, RecursionError) as error:
        text = f"no snapshot could be made, so nothing was changed: {error}"
        raise SnapshotFailed(text, hint=_next(str(error))) from error


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """The same for those who only look."""
    import pygit2

    try:
        yield
    except HermesCronError:
        raise
    except (OSError, pygit2.GitError, KeyError, ValueError, RecursionError) as error:
        raise SnapshotFailed(f"the history cannot be read: {error}", hint="hermes-cron snapshots verify") from error


def _next(text: str) -> str:
    if _FULL in text:
        return "df -h"
    return "mend that file" if "config file" in text else "hermes-cron snapshots verify"

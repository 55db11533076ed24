"""How is a prompt noted that a command refused, so that whoever watches the home hears of it as of any other?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_cron.cli.context import Cli
from hermes_cron.errors import JobFileError


@contextmanager
def noted(state: Cli, verb: str, file_name: str) -> Iterator[None]:
    """What the scanner blocks inside is counted and told: ``edit of jobs/x.md:4``, for nothing of it is in the file."""
    from dataclasses import replace

    from hermes_cron.jobs.understand import blocked

    try:
        yield
    except JobFileError as error:
        found = [replace(each, place=f"{verb} of {each.place}") for each in blocked(error, file_name)]
        if found:
            state.app.note_security(found)
        raise

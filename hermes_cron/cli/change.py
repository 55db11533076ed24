"""How does a command change a job's file: judged first, replaced only if nobody else did, then the store follows?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_cron.cli import jobs_known
from hermes_cron.cli.context import Cli
from hermes_cron.errors import JobFileError

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job
    from hermes_cron.jobs.save import Plain
    from hermes_cron.store.reader import Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A job's file as it was read: ``data`` has the hash ``hash``."""

    listed: Listed
    path: str
    data: bytes
    hash: str


def opened(state: Cli, word: str) -> Opened:
    """Raises NotFound or NameAmbiguous for the word."""
    from hermes_cron.jobs.files import content_hash

    listed = jobs_known.one(state, word)
    data = state.app.jobs.read(listed.name)
    return Opened(listed=listed, path=f"jobs/{listed.file_name}", data=data, hash=content_hash(data))


def judged(state: Cli, file: Opened, data: bytes, *, strict: bool = True) -> Job:
    """The job that ``data`` would be. Raises JobFileError with every fault.

    ``strict=False`` passes over names that do not exist: a missing database must not keep a job from being paused.
    Nor from being edited: a name that was missing before the edit is not the edit's fault.
    """
    try:
        return _parsed(state, file, data, strict=strict)
    except JobFileError as error:
        if not strict or not _messages(error) <= _messages_of(state, file):
            raise
    return _parsed(state, file, data, strict=False)


def _parsed(state: Cli, file: Opened, data: bytes, *, strict: bool) -> Job:
    from hermes_cron.jobs.load import parse_job

    return parse_job(
        data,
        path=file.path,
        name=file.listed.name,
        now=state.clock.now(),
        host_zone=state.settings.timezone,
        known=state.app.known(strict=strict),
    )


def _messages_of(state: Cli, file: Opened) -> frozenset[str]:
    try:
        _parsed(state, file, file.data, strict=True)
    except JobFileError as error:
        return _messages(error)
    return frozenset()


def _messages(error: JobFileError) -> frozenset[str]:
    faults = error.details.get("faults")
    return frozenset(str(fault["message"]) for fault in faults) if isinstance(faults, list) else frozenset()


def replaced(state: Cli, file: Opened, data: bytes, *, reason: str = "edit") -> None:
    """Put ``data`` in place and bring the store up to it; ``reason`` is the verb. Raises Conflict when the file changed
    meanwhile."""
    if data != file.data:
        state.app.jobs.replace(file.listed.name, data, expected_hash=file.hash, reason=reason)
    state.app.sync_jobs(actor="cli", only={file.listed.file_name})
    state.app.wake()


def edited(state: Cli, file: Opened, changes: Mapping[str, Plain], *, body: str | None = None) -> bytes:
    """The file with these keys changed; every other byte is the person's."""
    from hermes_cron.jobs.save import edit

    return edit(file.data, changes, path=file.path, body=body)

"""Which jobs does the store know, brought up to the files only when a file changed?

The way for commands that must answer at once: a listing of the folder and one query; the engine, the parser and their
libraries are loaded only when the two disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_cron.cli.context import Cli
from hermes_cron.home import Home
from hermes_cron.jobs.files import JobFiles
from hermes_cron.store import reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """``listed`` by name; ``unlisted`` are files that no row stands for, with the reason."""

    listed: list[reader.Listed]
    unlisted: tuple[tuple[str, str], ...] = ()


def current(state: Cli, *, removed: bool = False) -> Jobs:
    """The jobs as the files declare them now."""
    jobs = reader.listed(state.home.store, removed=removed)
    if jobs is not None and _fresh(state.home, jobs):
        return Jobs(listed=jobs)
    synced = state.app.sync_jobs(actor="cli")
    jobs = reader.listed(state.home.store, removed=removed) or []
    names = {job.file_name for job in jobs if job.removed_at is None}
    broken = dict(synced.broken)
    unlisted = [
        (file.name, f"{JobFiles(state.home).shown(file.file_name)}:1 {broken.get(file.name, 'not read yet')}")
        for file in JobFiles(state.home).scan()
        if file.file_name not in names
    ]
    return Jobs(listed=jobs, unlisted=tuple(unlisted))


def one(state: Cli, word: str) -> reader.Listed:
    """The job that a word on the command line means. Raises NotFound or NameAmbiguous."""
    return reader.resolve(current(state).listed, word)


def _fresh(home: Home, jobs: list[reader.Listed]) -> bool:
    """Whether the rows are of these very files. Without a folder there is nothing to compare with."""
    if not home.jobs.is_dir():
        return True
    kept = {job.file_name: job.file_stat for job in jobs if job.removed_at is None}
    return kept == {file.file_name: file.stat for file in JobFiles(home).scan()}

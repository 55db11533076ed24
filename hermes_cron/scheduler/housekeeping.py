"""What does the service clear away once an hour? Only what has an owner's word that it may go.

Reports below ``outputs/`` whose run expired, scratch folders of runs that ended, temporary files that a killed writer
left among the job files. Nothing else in the home is disposable, whatever its age and name.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from hermes_cron.domain.event import Cleaned, Emit
from hermes_cron.domain.job import Keep
from hermes_cron.files import remove_strays
from hermes_cron.home import Home
from hermes_cron.store import retention, runs
from hermes_cron.store.engine import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ROUNDS = 50  # batches an hour; a long backlog is cleared over several
_AT_ONCE = 20  # runs in one transaction: each of their messages is read once more, to take its words out of the index


def housekeep(store: Store, home: Home, *, keep: Keep, emit: Emit, now: datetime) -> None:
    """One round. Files go before their rows, so that a crash in between leaves a row that is tried again."""
    gone_runs = gone_reports = 0
    for _ in range(_ROUNDS):
        with store.read() as conn:
            old = retention.expired(conn, now, keep)
        if not old:
            break
        gone_reports += sum(_remove_report(home, found.output_path) for found in old)
        ids = [found.run_id for found in old]
        for at in range(0, len(ids), _AT_ONCE):
            store.write(partial(_forget, ids[at : at + _AT_ONCE]))
        gone_runs += len(ids)
    if gone_runs:
        emit(Cleaned(runs=gone_runs, reports=gone_reports))
    _remove_scratch(store, home)
    _remove_strays(home)


def _forget(run_ids: list[str], conn: Connection) -> None:
    retention.forget(conn, run_ids)


def _remove_strays(home: Home) -> None:
    """A write takes milliseconds: what is an hour old is a dead writer's."""
    with contextlib.suppress(OSError):
        remove_strays(home.jobs, before=time.time() - 3600)  # noqa: TID251  # file times are the host's


def _remove_report(home: Home, relative: str | None) -> bool:
    """True when a file below ``outputs/`` went; a path that leads elsewhere is left alone."""
    if relative is None:
        return False
    path = (home.root / relative).resolve()
    if not path.is_relative_to(home.outputs.resolve()) or not path.is_file():
        return False
    with contextlib.suppress(OSError):
        path.unlink()
        path.with_suffix(".json").unlink(missing_ok=True)  # what the curator says to programs
        with contextlib.suppress(OSError):  # other reports lie beside it
            path.parent.rmdir()
        return True
    return False


def _remove_scratch(store: Store, home: Home) -> None:
    """Scratch folders are named after their run; those of runs that may go on stay, and young ones too."""
    with contextlib.suppress(FileNotFoundError):
        folders = [path for path in home.work.iterdir() if path.is_dir() and not path.is_symlink()]
        if not folders:
            return
        with store.read() as conn:
            busy = set(runs.unended(conn))
        edge = time.time() - 24 * 3600  # noqa: TID251  # file times are the host's
        for path in folders:
            if path.name not in busy and path.stat().st_mtime < edge:
                shutil.rmtree(path, ignore_errors=True)

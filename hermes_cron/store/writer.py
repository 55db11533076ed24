"""How do many threads write to one SQLite file without waiting unfairly for each other?

There is one writing connection, and one thread at a time has its turn with it. Callers queue short functions; whoever
gets the turn commits everything that waits, each function inside its own savepoint (group commit), and those who
waited find theirs done. A thread of its own for the writing would cost two changes of thread at every step of a run;
SQLite's busy handler, with a connection for each thread, is unfair (one commit was seen to wait 531 ms).
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError, OperationalError

from hermes_cron.errors import Conflict, HermesCronError, StoreDamaged
from hermes_cron.store.disk_faults import of_the_disk

T = TypeVar("T")
_BATCH = 128  # more would only delay the first caller of the batch


@dataclass(slots=True, eq=False)
class _Task:
    work: Callable[[Connection], Any]
    ended: bool = False
    value: Any = None
    fault: BaseException | None = None

    def end(self, value: Any = None, fault: BaseException | None = None) -> None:
        self.value, self.fault, self.ended = value, fault, True


def readable(error: DatabaseError) -> Exception:
    """The faults of the disk that a person can mend, as facts; everything else as it is."""
    text = str(error.orig)
    if "malformed" in text or "not a database" in text:
        return StoreDamaged(
            f"the store is damaged: {text}", hint="restore a backup, or move state.db away and start `serve`"
        )
    if not isinstance(error, OperationalError):
        return error
    full = of_the_disk(error.orig, "written") if isinstance(error.orig, sqlite3.DatabaseError) else None
    if full is not None:
        return full
    if "readonly" in text or "read-only" in text:
        return HermesCronError(f"the store cannot be written: {text}", hint="check the owner and mode of state.db")
    if "locked" in text or "busy" in text:
        return Conflict("the store is held by another process for more than 5 s", hint="hermes-cron status")
    return error


class Writer:
    """``submit`` returns when the commit is durable, or raises what ``work`` or the commit raised."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._waiting: deque[_Task] = deque()
        self._turn = threading.Lock()

    def submit(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction, on this thread or on one that waits too. Not from inside ``work``."""
        task = _Task(work)
        self._waiting.append(task)
        with self._turn:
            while not task.ended:
                self._commit_waiting()
        if task.fault is not None:
            raise task.fault
        return task.value  # type: ignore[no-any-return]  # what ``work`` returned

    def close(self) -> None:
        """After the turn that is going on."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _commit_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH))]
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            outcomes = self._commit(self._connection, batch)
        except Exception as error:  # noqa: BLE001  # the commit failed: nobody's work is kept, and everybody is told
            told = readable(error) if isinstance(error, DatabaseError) else error
            outcomes = [(None, told)] * len(batch)
        except BaseException:
            for task in batch:  # whether this was committed is not known here: nothing may be done again
                task.end(fault=InterruptedError("the process was interrupted while it wrote"))
            raise
        for task, (value, fault) in zip(batch, outcomes, strict=True):
            task.end(value, fault)

    def _commit(self, conn: Connection, batch: list[_Task]) -> list[tuple[Any, BaseException | None]]:
        with conn.begin() as transaction:
            outcomes = [self._run(conn, task, alone=len(batch) == 1) for task in batch]
            if len(batch) == 1 and outcomes[0][1] is not None:
                transaction.rollback()
        return outcomes

    @staticmethod
    def _run(conn: Connection, task: _Task, *, alone: bool) -> tuple[Any, BaseException | None]:
        if not alone:
            conn.exec_driver_sql("SAVEPOINT task")
        try:
            value = task.work(conn)
        except Exception as error:  # noqa: BLE001  # handed to the caller, whose work alone is taken back
            if not alone:
                conn.exec_driver_sql("ROLLBACK TO task")
                conn.exec_driver_sql("RELEASE task")
            return None, readable(error) if isinstance(error, DatabaseError) else error
        if not alone:
            conn.exec_driver_sql("RELEASE task")
        return value, None

"""How do many threads write to one SQLite file without waiting unfairly for each other?

One thread owns the writing connection. Callers hand it short functions; those that wait together share one commit
(group commit), each inside its own savepoint. SQLite's busy handler is unfair between connections of one process
(one commit was seen to wait 531 ms); a queue is fair.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError, OperationalError

from hermes_cron.errors import Conflict, DiskFull, HermesCronError, StoreDamaged

T = TypeVar("T")
_BATCH = 128  # more would only delay the first caller of the batch


@dataclass(frozen=True, slots=True)
class _Task:
    work: Callable[[Connection], Any]
    done: Future[Any]


def readable(error: DatabaseError) -> Exception:
    """The faults of the disk that a person can mend, as facts; everything else as it is."""
    text = str(error.orig)
    if "malformed" in text or "not a database" in text:
        return StoreDamaged(
            f"the store is damaged: {text}", hint="restore a backup, or move state.db away and start `serve`"
        )
    if not isinstance(error, OperationalError):
        return error
    if "disk is full" in text or "disk I/O error" in text:
        return DiskFull(f"the store cannot be written: {text}", hint="free some space; nothing was half-written")
    if "readonly" in text or "read-only" in text:
        return HermesCronError(f"the store cannot be written: {text}", hint="check the owner and mode of state.db")
    if "locked" in text or "busy" in text:
        return Conflict("the store is held by another process for more than 5 s", hint="hermes-cron status")
    return error


def _tell(batch: list[_Task], error: Exception) -> None:
    told = readable(error) if isinstance(error, DatabaseError) else error
    for task in batch:
        task.done.set_exception(told)


class Writer:
    """``submit`` returns when the commit is durable, or raises what ``work`` or the commit raised."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def submit(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction on the writer thread. Must not be called from inside ``work``."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
                self._thread.start()
        done: Future[T] = Future()
        self._tasks.put(_Task(work, done))
        return done.result()

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()

    def _serve(self) -> None:
        conn: Connection | None = None
        last = False
        while not last:
            batch, last = self._next_batch()
            try:
                conn = conn or self._engine.connect()
            except Exception as error:  # noqa: BLE001  # this thread must live: whoever waits for it would wait for ever
                _tell(batch, error)
            else:
                self._commit(conn, batch)
        if conn is not None:
            conn.close()

    def _next_batch(self) -> tuple[list[_Task], bool]:
        first = self._tasks.get()
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < _BATCH:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            if task is None:
                return batch, True
            batch.append(task)
        return batch, False

    def _commit(self, conn: Connection, batch: list[_Task]) -> None:
        if not batch:
            return
        outcomes: list[tuple[_Task, Any, BaseException | None]] = []
        try:
            with conn.begin():
                outcomes = [self._run(conn, task, alone=len(batch) == 1) for task in batch]
                if len(batch) == 1 and outcomes[0][2] is not None:
                    conn.get_transaction().rollback()  # type: ignore[union-attr]  # begun two lines above
        except Exception as error:  # noqa: BLE001  # the commit failed: nobody's work is kept, and everybody is told
            _tell(batch, error)
            return
        for task, value, fault in outcomes:
            if fault is None:
                task.done.set_result(value)
            else:
                task.done.set_exception(fault)

    @staticmethod
    def _run(conn: Connection, task: _Task, *, alone: bool) -> tuple[_Task, Any, BaseException | None]:
        if not alone:
            conn.exec_driver_sql("SAVEPOINT task")
        try:
            value = task.work(conn)
        except Exception as error:  # noqa: BLE001  # handed to the caller, whose work alone is taken back
            if not alone:
                conn.exec_driver_sql("ROLLBACK TO task")
                conn.exec_driver_sql("RELEASE task")
            return task, None, readable(error) if isinstance(error, DatabaseError) else error
        if not alone:
            conn.exec_driver_sql("RELEASE task")
        return task, value, None

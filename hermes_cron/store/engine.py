"""How is the store opened, read and written?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import QueuePool

from hermes_cron.store.migrate import StoreLock, migrate
from hermes_cron.store.writer import Writer, readable

T = TypeVar("T")
_BUSY_MS = 5000


def _engine(path: Path, *, begin: str, pool_size: int) -> Engine:
    """``isolation_level=None`` hands transactions to us: the driver would begin them late and commit them silently."""
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=-1,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": _BUSY_MS / 1000},
    )

    @event.listens_for(engine, "connect")
    def _connect(dbapi: Any, _record: object) -> None:
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",  # a step that was reported as kept survives the power cut
            "foreign_keys=ON",
            f"busy_timeout={_BUSY_MS}",
            "cache_size=-2000",
        ):
            dbapi.execute(f"PRAGMA {pragma}").fetchall()

    @event.listens_for(engine, "begin")
    def _begin(conn: Connection) -> None:
        conn.exec_driver_sql(begin)

    return engine


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Store:
    """One home's state.db. Thread-safe; readers never wait for the writer (WAL)."""

    def __init__(self, path: Path) -> None:
        """Opens, creates or upgrades the file. Raises ``SchemaTooNew``, ``Conflict`` (an upgrade needs the home alone),
        ``DiskFull``."""
        self.path = path
        self._lock = StoreLock(path)
        try:
            migrate(path, self._lock)
        except BaseException:
            self._lock.close()
            raise
        self._readers = _engine(path, begin="BEGIN", pool_size=4)
        self._writing = _engine(path, begin="BEGIN IMMEDIATE", pool_size=1)
        self._writer = Writer(self._writing)
        self._made = _identity(path)

    def in_place(self) -> bool:
        """False once the file was deleted or replaced: what is written here from then on is nobody's."""
        return _identity(self.path) == self._made

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent snapshot for as long as the block lasts. Raises what ``writer.readable`` makes of a fault."""
        try:
            with self._readers.connect() as conn, conn.begin():
                yield conn
        except DatabaseError as error:
            raise readable(error) from error

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """For one statement of ``Prepared``: a transaction around it would cost twice what it costs itself."""
        try:
            with self._readers.connect() as conn:
                yield conn
        except DatabaseError as error:
            raise readable(error) from error

    def write(self, work: Callable[[Connection], T]) -> T:
        """``work(conn)`` in one durable transaction; see ``writer``. Keep it short and free of I/O."""
        return self._writer.submit(work)

    def close(self) -> None:
        self._writer.close()
        self._writing.dispose()
        self._readers.dispose()
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

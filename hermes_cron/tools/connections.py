"""Which database connections does a run hold? At most one for each call at work; idle ones are used again."""

from __future__ import annotations

import contextlib
import difflib
import threading
from collections.abc import Iterator, Sequence

from hermes_cron.errors import InvalidArguments, SqlNotReadOnly
from hermes_cron.ports import Database, Databases


class Connections:
    """The databases a run may read. Thread-safe; whoever makes it closes it (``with``).

    ``allowed`` are the job's databases: a name beyond them is answered like one that does not exist.
    """

    def __init__(self, databases: Databases | None = None, allowed: Sequence[str] = ()) -> None:
        self._databases = databases
        self.names = tuple(allowed) if databases is not None else ()
        self._idle: dict[str, list[Database]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Connections:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def borrow(self, name: str) -> Iterator[Database]:
        """A connection for one thread. One that met an error is closed, unless the guard refused before the wire."""
        connection = self._take(self._known(name))
        good = False
        try:
            yield connection
            good = True
        except SqlNotReadOnly:
            good = True
            raise
        finally:
            self._give_back(name, connection, good=good)

    def close(self) -> None:
        """Closes what is idle; what is at work is closed when it is given back."""
        with self._lock:
            self._closed = True
            idle = [connection for pool in self._idle.values() for connection in pool]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _known(self, name: str) -> str:
        if name in self.names:
            return name
        near = difflib.get_close_matches(name, self.names, n=1)
        have = f"this run may read: {', '.join(self.names)}" if self.names else "this run may read no database"
        raise InvalidArguments(f"no database {name!r}; {have}", hint=f"did you mean {near[0]}?" if near else None)

    def _take(self, name: str) -> Database:
        with self._lock:
            if pool := self._idle.get(name):
                return pool.pop()
        if self._databases is None:
            raise InvalidArguments("this run may read no database")
        return self._databases.open(name)

    def _give_back(self, name: str, connection: Database, *, good: bool) -> None:
        with self._lock:
            if good and not self._closed:
                self._idle.setdefault(name, []).append(connection)
                return
        connection.close()

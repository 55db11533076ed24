"""How do several calls run at once, without one that hangs holding the rest for ever?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def run_all(work: Callable[[int], T], count: int, *, workers: int, until: float) -> list[T | None]:
    """``work(0)`` .. ``work(count - 1)`` in at most ``workers`` threads; what each returned, in order.

    None for what had not ended at ``until`` (``time.monotonic``): its thread is left behind as a daemon and what it
    still returns is ignored. An exception of a call is raised here once every other call has ended.
    """
    state = _State(work, count)
    threads = [threading.Thread(target=state.take, name=f"tool-{n}", daemon=True) for n in range(min(workers, count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return state.close()


class _State(Generic[T]):
    def __init__(self, work: Callable[[int], T], count: int) -> None:
        self._work = work
        self._next = iter(range(count))
        self._results: dict[int, T] = {}
        self._errors: list[BaseException] = []
        self._count = count
        self._closed = False
        self._lock = threading.Lock()

    def take(self) -> None:
        while (at := self._claim()) is not None:
            try:
                result = self._work(at)
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                with self._lock:
                    self._errors.append(error)
            else:
                with self._lock:
                    self._results[at] = result

    def _claim(self) -> int | None:
        with self._lock:
            return None if self._closed else next(self._next, None)

    def close(self) -> list[T | None]:
        with self._lock:
            self._closed = True
            if self._errors:
                raise self._errors[0]
            return [self._results.get(at) for at in range(self._count)]

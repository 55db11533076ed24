"""How do a thousand new files become durable without waiting a thousand times?

A few are told to the disk one by one. For many the file system is told once (``syncfs``, Linux): the same promise, and
a tenth of the time. Where there is no such call, one by one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import cache

_FEW = 12


def sync_all(places: Iterable[bytes]) -> None:
    """Files and folders, durable on return. One that is gone meanwhile is passed over. Raises OSError."""
    wanted = list(places)
    whole = _syncfs() if len(wanted) > _FEW else None
    if whole is None:
        for place in wanted:
            _with_open(place, os.fsync)
        return
    devices: dict[int, bytes] = {}
    for place in wanted:
        with contextlib.suppress(FileNotFoundError):
            devices.setdefault(os.stat(place).st_dev, place)
    for place in devices.values():
        _with_open(place, whole)


def _with_open(place: bytes, do: Callable[[int], object]) -> None:
    try:
        fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        do(fd)
    finally:
        os.close(fd)


@cache
def _syncfs() -> Callable[[int], object] | None:
    import ctypes

    try:
        call = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None

    def syncfs(fd: int) -> None:
        if call(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return syncfs

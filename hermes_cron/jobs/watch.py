"""When do the job files, or the store, deserve a look?

The kernel's events only say *that* something happened; what happened is found by a rescan, because the events lie:
an editor's save is a rename of another file, a folder that was replaced reports nothing any more. A burst is waited
out for ``QUIET_S``, a writer that never pauses for ``LONGEST_S``. Where the kernel refuses to watch, the folder is
looked at every ``POLL_S`` instead.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

QUIET_S = 0.5
LONGEST_S = 1.5
POLL_S = 1.0
CHECK_S = 1.0  # how soon a folder that was deleted and made anew is watched again
_SUFFIX = ".md"

_REMEDIES = {
    errno.ENOSPC: "no inotify watches left: sysctl fs.inotify.max_user_watches",
    errno.EMFILE: "no inotify instances left: sysctl fs.inotify.max_user_instances",
}


def signature(folder: Path) -> int:
    """Changes when a job file appears, vanishes or is touched; nothing is opened. 0 for a missing folder."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return 0
    found = 1
    try:
        stat = os.stat
        for name in os.listdir(fd):  # noqa: PTH208  # relative to an open folder: half the time of pathlib
            if name.endswith(_SUFFIX):
                try:
                    now = stat(name, dir_fd=fd)
                except OSError:  # gone meanwhile
                    continue
                found ^= hash((name, now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino))
    finally:
        os.close(fd)
    return found


def _default_observer() -> BaseObserver:
    from watchdog.observers import Observer

    return Observer()


class Watcher:
    """A context. ``on_files`` and ``on_store`` are called on threads of the watcher and must not block.

    ``on_failed`` is told once, in words, why the kernel does not watch, and how often the folder is looked at instead.
    """

    def __init__(
        self,
        folder: Path,
        wake: Path,
        *,
        on_files: Callable[[], None],
        on_store: Callable[[], None],
        on_failed: Callable[[str, float], None],
        observer: Callable[[], BaseObserver] = _default_observer,
    ) -> None:
        self._folder = folder
        self._wake = wake
        self._on_files = on_files
        self._on_store = on_store
        self._on_failed = on_failed
        self._make_observer = observer
        self._observer: BaseObserver | None = None
        self._watched: dict[Path, tuple[int, int]] = {}
        self._seen = (0, 0)
        self._touched = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watcher:
        target = self._settle_bursts if self._begin() else self._poll
        self._seen = (signature(self._folder), _touched_at(self._wake))  # before the caller goes on and changes them
        self._thread = threading.Thread(target=target, name="watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._touched.set()
        if self._thread is not None:
            self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    @property
    def polling(self) -> bool:
        """Whether the kernel refused to watch."""
        return self._observer is None

    # --- events -----------------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        observer = self._make_observer()
        try:
            observer.start()
            self._observer = observer
            for folder in (self._folder, self._wake.parent):
                self._watch(folder)
        except OSError as error:
            self._observer = None
            observer.stop()
            self._on_failed(_REMEDIES.get(error.errno or 0, f"files cannot be watched: {error}"), POLL_S)
            return False
        return True

    def _watch(self, folder: Path) -> None:
        """A folder that is missing is watched once it exists."""
        from watchdog.events import (
            DirDeletedEvent,
            DirMovedEvent,
            FileAttribEvent,
            FileClosedEvent,
            FileCreatedEvent,
            FileDeletedEvent,
            FileModifiedEvent,
            FileMovedEvent,
            FileSystemEventHandler,
        )

        if self._observer is None or not folder.is_dir():
            return
        self._watched[folder] = _identity(folder)
        handler = FileSystemEventHandler()
        handler.on_any_event = self._event  # type: ignore[method-assign]  # one method serves all kinds
        # Reading a file is no news; leaving opens out keeps the kernel from waking us for our own scans. A second touch
        # of the wake file changes nothing but its times, which watchdog 7 calls an attribute event.
        news = [
            FileCreatedEvent, FileAttribEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent, FileClosedEvent,
            DirDeletedEvent, DirMovedEvent,
        ]  # fmt: skip
        self._observer.schedule(handler, str(folder), recursive=False, event_filter=news)

    def _event(self, event: Any) -> None:
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if any(path.parent == self._wake.parent and path.name == self._wake.name for path in paths):
            self._on_store()
            return
        for folder in (self._folder, self._wake.parent):
            if folder in paths:  # itself deleted or moved; one made anew may get the same inode number
                self._watched.pop(folder, None)
                self._touched.set()
        if any(path.suffix == _SUFFIX and path.parent == self._folder for path in paths):
            self._touched.set()

    def _settle_bursts(self) -> None:
        while not self._stopping.is_set():
            if not self._touched.wait(CHECK_S):
                self._watch_again()
                continue
            first = time.monotonic()
            while not self._stopping.is_set():
                self._touched.clear()
                left = first + LONGEST_S - time.monotonic()
                if left <= 0 or not self._touched.wait(min(QUIET_S, left)):
                    self._on_files()
                    self._watch_again()
                    break

    def _watch_again(self) -> None:
        """A folder that was deleted, moved or replaced reports nothing any more."""
        for folder in (self._folder, self._wake.parent):
            identity = _identity(folder)
            if identity == self._watched.get(folder, (0, 0)):
                continue
            self._unwatch(folder)
            if identity == (0, 0):
                self._watched.pop(folder, None)
                continue
            try:
                self._watch(folder)
            except OSError:  # the limit was reached meanwhile: the next check tries again, the rescan bridges the gap
                self._watched.pop(folder, None)
                continue
            self._on_files()

    def _unwatch(self, folder: Path) -> None:
        if self._observer is None:
            return
        for watch in [found for found in self._observer._watches if found.path == str(folder)]:
            self._observer.unschedule(watch)

    # --- without events ---------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        while not self._stopping.wait(POLL_S):
            before, self._seen = self._seen, (signature(self._folder), _touched_at(self._wake))
            if self._seen[1] != before[1]:
                self._on_store()
            if self._seen[0] != before[0]:
                self._on_files()


def _identity(folder: Path) -> tuple[int, int]:
    try:
        found = folder.stat()
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _touched_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0

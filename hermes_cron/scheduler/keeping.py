"""When are edits by hand, which a living service notices, put into the history?

On a thread of its own, a while after the last of them, and not again for a while: nothing that is due waits for it.
What is not kept here is kept before the next change that a program makes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from hermes_cron.domain.event import Event, HandEditsKept, HistoryNotKept
from hermes_cron.errors import HermesCronError

QUIET_S = 5.0
EVERY_S = 10.0
STOP_S = 2.0
_LOG = logging.getLogger(__name__)

Keep = Callable[[], str | None]
"""Finish what a dead process left and commit what lies in the home; the snapshot's id, None when nothing was new."""


class Keeper:
    """``unfinished`` is there while a change is under way, or since its process died. Methods never block."""

    def __init__(
        self, keep: Keep, unfinished: Path, emit: Callable[[Event], None], *, quiet_s: float = QUIET_S,
        every_s: float = EVERY_S,
    ) -> None:  # fmt: skip
        self._keep = keep
        self._unfinished = unfinished
        self._emit = emit
        self._quiet_s = quiet_s
        self._every_s = every_s
        self._noticed = threading.Event()
        self._stopping = threading.Event()
        self._told: str | None = None
        self._thread = threading.Thread(target=self._work, name="keep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def notice(self) -> None:
        """Something was edited by hand."""
        self._noticed.set()

    def sweep(self) -> None:
        """A change that a dead process left half done is finished. Costs one look."""
        if self._unfinished.exists():
            self._noticed.set()

    def stop(self) -> None:
        """A snapshot that is being made is waited for, not for long: it is whole or not there."""
        self._stopping.set()
        self._noticed.set()
        self._thread.join(STOP_S)

    def _work(self) -> None:
        last = -self._every_s
        while self._noticed.wait():
            pause = max(self._quiet_s, last + self._every_s - monotonic())
            if self._stopping.wait(pause):
                return
            self._noticed.clear()  # what is edited from here on may be missed by the look, so it gets one more
            self._kept()
            last = monotonic()

    def _kept(self) -> None:
        try:
            made = self._keep()
        except HermesCronError as error:
            self._tell(error.message)
        except Exception as error:  # noqa: BLE001  # logged; a thread that ends would keep nothing from then on
            _LOG.exception("hand edits were not kept")
            self._tell(str(error))
        else:
            self._told = None
            if made is not None:
                self._emit(HandEditsKept(snapshot=made))

    def _tell(self, error: str) -> None:
        """Once, as long as it is the same."""
        if error != self._told:
            self._told = error
            self._emit(HistoryNotKept(error=error[:500]))

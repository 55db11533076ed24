"""When does a living service put what sessions say into the index they are searched by?

On a thread of its own, now and then, a small piece at a time with a pause behind it: a run's step never waits for more
than one piece. What is not in yet is put in by the next search.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hermes_cron.errors import HermesCronError

EVERY_S = 20.0
PAUSE_S = 0.1
STOP_S = 2.0
_LOG = logging.getLogger(__name__)

PutIn = Callable[[Callable[[], bool]], object]
"""Brings the index up to date; asks after each piece whether that is enough for now."""


class Indexer:
    """``start`` and ``stop`` once. A thread that fails tries again later: a search says what it met."""

    def __init__(self, put_in: PutIn, *, every_s: float = EVERY_S) -> None:
        self._put_in = put_in
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="index", daemon=True)

    def start(self) -> None:
        """Begin after a while: a start has more urgent work."""
        self._thread.start()

    def stop(self) -> None:
        """After the piece that is being put in."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def _work(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self._put_in(self._rest)
            except HermesCronError as error:  # held by another process, a full disk, a damaged index
                _LOG.warning("what sessions say was not put into the index: %s", error.message)
            except Exception:  # noqa: BLE001  # logged; a thread that ends would put in nothing from then on
                _LOG.exception("what sessions say was not put into the index")

    def _rest(self) -> bool:
        """Whether to end; let others write meanwhile."""
        return self._stopping.wait(PAUSE_S)

"""What does the scheduler tell systemd? That it is ready, that it still goes round, that it stops (sd_notify(3)).

Datagrams to the socket that ``NOTIFY_SOCKET`` names; without it nothing is said. The watchdog's sign of life comes from
the scheduler's own loop: a helper thread would go on saying it while the loop hangs.
"""

from __future__ import annotations

import contextlib
import socket
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.settings import Environment


class Notifier:
    """One service's words. A socket that does not take them is no reason to stop."""

    def __init__(self, address: str | None, *, watchdog_s: float | None = None) -> None:
        self._address = None if not address else "\0" + address[1:] if address.startswith("@") else address
        self._every_s = None if watchdog_s is None else watchdog_s / 3
        self._last = float("-inf")

    @classmethod
    def of(cls, env: Environment, pid: int) -> Notifier:
        """As systemd set the environment. A watchdog of another process (``WATCHDOG_PID``) is not for us."""
        said = env.watchdog_usec or ""
        mine = (env.watchdog_pid or str(pid)) == str(pid)
        watched = int(said) / 1e6 if mine and said.isdecimal() and int(said) > 0 else None
        return cls(env.notify_socket, watchdog_s=watched)

    def ready(self, status: str) -> None:
        """It began; who waits for it may go on."""
        self._say("READY=1", f"STATUS={_line(status)}")

    def goes_round(self) -> None:
        """The loop looked again. Told three times within what the watchdog waits for."""
        now = monotonic()
        if self._every_s is not None and now - self._last >= self._every_s:
            self._last = now
            self._say("WATCHDOG=1")

    def stopping(self) -> None:
        """It begins nothing more."""
        self._say("STOPPING=1")

    def _say(self, *lines: str) -> None:
        if self._address is None:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.settimeout(1.0)
            way.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


def _line(text: str) -> str:
    return " ".join(text.split())

"""How fast do queued messages leave, and what do two deaths of the scheduler on the way cost?

A loopback webhook counts what arrives by its id. ``serve`` is killed twice; the time runs from the first start until
nothing is queued, the two new starts included.
"""

from __future__ import annotations

import sqlite3
import subprocess
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks import rig
from benchmarks.figures import Figure
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.home import Home
from hermes_cron.store import outbox
from hermes_cron.store.engine import Store

MANY = 1000
KILLS = 2
LIMIT_S = 20.0
IN_HAND = 4  # what one sender has on its way at most


class _Hook:
    """A receiver on loopback."""

    def __init__(self) -> None:
        self.arrived: Counter[str] = Counter()
        lock, arrived = threading.Lock(), self.arrived

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    arrived[self.headers["idempotency-key"]] += 1
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def run() -> list[Figure]:
    hook = _Hook()
    try:
        config = f'[targets.ops]\nkind = "webhook"\nurl = "{hook.url}"\n'
        with rig.fresh_home(config) as home:
            numbers = _fill(home)
            began = time.perf_counter()
            for kill in range(KILLS):
                _serve_until(
                    home, lambda kill=kill: hook.arrived.total() >= MANY * (kill + 1) // (KILLS + 1), kill=True
                )
            _serve_until(home, lambda: _queued(home) == 0, kill=False)
            took = time.perf_counter() - began
            return _figures(home, numbers, hook.arrived, took)
    finally:
        hook.close()


def _fill(home: Home) -> list[int]:
    now = datetime.now(UTC)
    with Store(home.store) as store:
        return store.write(
            lambda conn: [
                outbox.put(
                    conn, kind=DeliveryKind.REPORT, target="ops", title=f"report {n}", body="fine\n" * 40, run_id=None,
                    job_uid=None, job_name="inspect", now=now,
                )
                for n in range(MANY)
            ]
        )  # fmt: skip


def _serve_until(home: Home, condition, *, kill: bool) -> None:  # type: ignore[no-untyped-def]
    process = subprocess.Popen([rig.HERMES, "serve", "-q"], env=rig.environment(home), stderr=subprocess.DEVNULL)
    try:
        end = time.perf_counter() + 120
        while not condition():
            if time.perf_counter() > end:
                raise TimeoutError("the outbox does not empty")
            time.sleep(0.01)
    finally:
        process.kill() if kill else process.terminate()
        process.wait(60)


def _queued(home: Home) -> int:
    with sqlite3.connect(f"{home.store.as_uri()}?mode=ro", uri=True, timeout=20) as conn:
        (count,) = conn.execute("SELECT count(*) FROM deliveries WHERE state = 'queued'").fetchone()
    conn.close()
    return int(count)


def _figures(home: Home, numbers: list[int], arrived: Counter[str], took: float) -> list[Figure]:
    with Store(home.store) as store, store.read() as conn:
        views = [outbox.one(conn, number) for number in numbers]
    sent = [view for view in views if view.state is DeliveryState.SENT]
    unknown = [view for view in views if view.state is DeliveryState.UNKNOWN]
    lost = len(views) - len(sent) - len(unknown) + sum(arrived[view.message_id] == 0 for view in sent)
    doubled = sum(count > 1 for count in arrived.values())
    note = f"{len(sent)} sent, {len(unknown)} unknown, {MANY / took:.0f} a second with {KILLS + 1} starts"
    return [
        Figure(name=f"{MANY:,} queued deliveries, {KILLS} kills", value=took, unit="s", limit=LIMIT_S, note=note),
        Figure(name="  lost", value=lost, unit="", limit=0),
        Figure(name="  doubled", value=doubled, unit="", limit=0),
        Figure(name="  unknown, in a hand at a kill", value=len(unknown), unit="", limit=KILLS * IN_HAND),
    ]

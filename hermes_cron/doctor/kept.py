"""What was written: is the store whole and of this version, who holds its runs, do its times make sense?"""

from __future__ import annotations

import contextlib
import json
import shlex
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.store.disk_faults import of_the_disk
from hermes_cron.store.migrate import newest, version

if TYPE_CHECKING:
    from hermes_cron.scheduler.owners import Living

MOST = 5
BEHIND = timedelta(minutes=5)
"""What clocks of hosts may differ by, and what a time-step of an hour change may not."""


JUMPS_OF = timedelta(days=1)
SET_BACK = timedelta(minutes=1)
"""Less is what keeping time is made of."""


def usable(patient: Patient) -> bool:
    """Whether the store can be read, or made, without an upgrade."""
    return _fault(patient) is None and version(patient.home.store) in (0, newest())


def _fault(patient: Patient) -> str | None:
    """Why the store cannot be believed."""
    if "store" not in patient.known:
        try:
            patient.known["store"] = _quick_check(patient) if version(patient.home.store) else None
        except (sqlite3.DatabaseError, OSError) as error:
            patient.known["store"] = str(error)
            if isinstance(error, OSError) or of_the_disk(error, "read") is not None:
                patient.known["disk"] = str(error)
    return patient.known["store"]


def store(patient: Patient) -> Iterator[Finding]:
    place, fault = patient.home.store, _fault(patient)
    if fault is not None and patient.known.get("disk") is not None:
        yield failure("store_unread", shlex.join(["df", "-h", str(patient.home.root)]), why=fault)
        return
    if fault is not None:
        yield failure("store_damaged", shlex.join(["mv", str(place), f"{place}.damaged"]), why=fault)
        return
    found = version(place)
    if found > newest():
        yield failure("schema_newer", "uv tool upgrade hermes-cron", found=found, newest=newest())
    elif 0 < found < newest():
        yield warning("schema_older", "hermes-cron upgrade", found=found, newest=newest())
    else:
        yield fine("schema" if found else "no_store", found=found)
    yield from _unfinished_upgrade(patient)


def _unfinished_upgrade(patient: Patient) -> Iterator[Finding]:
    from hermes_cron.upgrade import unfinished

    left = unfinished(patient.home)
    if left is not None:
        yield warning("upgrade_unfinished", "hermes-cron upgrade", found=left.found, newest=left.newest)


def _quick_check(patient: Patient) -> str | None:
    with contextlib.closing(sqlite3.connect(patient.home.store, timeout=5)) as conn:
        said = str(conn.execute("PRAGMA quick_check(1)").fetchone()[0])
    return None if said == "ok" else " ".join(said.split())[:200]


def owners(patient: Patient) -> Iterator[Finding]:
    """Runs of dead processes go on as soon as a scheduler lives."""
    if not usable(patient) or not patient.home.store.exists():
        return
    from hermes_cron.scheduler import owners as locks

    with contextlib.closing(sqlite3.connect(patient.home.store, timeout=5)) as conn:
        rows = conn.execute("SELECT owner, count(*) FROM runs WHERE ended_at IS NULL AND owner IS NOT NULL GROUP BY 1")
        held = {str(owner): int(count) for owner, count in rows}
    orphans = sum(count for owner, count in held.items() if not locks.lives(patient.home.owners, owner))
    schedulers = len(patient.app.schedulers())
    if orphans and not schedulers:
        yield warning("orphans_one" if orphans == 1 else "orphans", "hermes-cron serve --once", count=orphans)
    else:
        yield fine("owners" if schedulers else "owners_none", count=schedulers)


def serving(patient: Patient) -> list[Living]:
    """Schedulers that live; none where that cannot be seen, which the check of the owners says."""
    try:
        return patient.app.schedulers()
    except OSError:
        return []


def clock(patient: Patient) -> Iterator[Finding]:
    """A clock that was set back makes nothing due until it has caught up with what was written."""
    zone = "UTC" if patient.settings is None else patient.settings.timezone
    now = patient.clock.now()
    latest = _latest(patient)
    if latest is not None and latest - now > BEHIND:
        behind = str(latest - now).split(".", maxsplit=1)[0]
        yield failure("clock_behind", "timedatectl status", behind=behind, latest=f"{latest:%Y-%m-%d %H:%M} UTC")
        return
    jumps = _jumps(patient, now - JUMPS_OF)
    back = [each for each in jumps if each[1] <= -SET_BACK.total_seconds()]
    if back:
        at, by_s = back[-1]
        by = str(timedelta(seconds=round(-by_s)))
        yield warning("clock_set_back", "timedatectl set-ntp true", by=by, at=f"{at:%Y-%m-%d %H:%M} UTC")
    elif jumps:
        yield fine("clock_jumped", zone=zone, count=len(jumps))
    else:
        yield fine("clock", zone=zone)


def _jumps(patient: Patient, since: datetime) -> list[tuple[datetime, float]]:
    """(when, by how many seconds) schedulers saw the clock move, oldest first. A host that slept moves forwards."""
    from hermes_cron.domain.event import ClockJumped
    from hermes_cron.observe import logs

    mark = f'"{ClockJumped.__name__}"'
    found = []
    for name in (f"{logs.NAME}.1", logs.NAME):
        with contextlib.suppress(OSError), (patient.home.logs / name).open(encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    if mark in line and (said := json.loads(line))["event"] == ClockJumped.__name__:
                        found.append((datetime.fromisoformat(said["at"]), float(said["by_s"])))
    return [each for each in found if each[0] >= since]


def _latest(patient: Patient) -> datetime | None:
    if not usable(patient) or not patient.home.store.exists():
        return None
    with contextlib.closing(sqlite3.connect(patient.home.store, timeout=5)) as conn:
        (found,) = conn.execute(
            "SELECT max(at) FROM (SELECT max(queued_at) AS at FROM runs UNION ALL SELECT max(started_at) FROM runs"
            " UNION ALL SELECT max(ended_at) FROM runs UNION ALL SELECT max(noted_at) FROM occurrences"
            " UNION ALL SELECT max(at) FROM learned)"
        ).fetchone()
    return None if found is None else datetime.fromisoformat(str(found)).replace(tzinfo=UTC)


def deliveries(patient: Patient) -> Iterator[Finding]:
    """Messages of which nobody can say that they arrived."""
    if not usable(patient) or not patient.home.store.exists():
        return
    from hermes_cron.store import overview

    with patient.app.store.read() as conn:
        lost = [need for need in overview.needs(conn) if need.kind == "delivery"]
    for need in lost[:MOST]:
        fact = "delivery_unknown" if need.state == "unknown" else "delivery_failed"
        yield warning(fact, f"hermes-cron outbox retry {need.ref}", job=need.job, target=need.target, why=need.text)
    if len(lost) > MOST:
        yield warning("more_deliveries", "hermes-cron outbox list", count=len(lost) - MOST)
    if not lost:
        yield fine("deliveries")

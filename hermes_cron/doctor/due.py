"""Jobs and their time: is one overdue, did one never run?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.doctor.kept import serving, usable

if TYPE_CHECKING:
    from hermes_cron.store.due import Late

MOST = 5
LATE = timedelta(minutes=5)
"""A scheduler that lives claims within a second; one that is started anew within a minute."""


def due(patient: Patient) -> Iterator[Finding]:
    """By the clock of the doctor, which is that of the schedulers."""
    if not usable(patient) or not patient.home.store.exists():
        return
    from hermes_cron.store import due as rows

    with patient.app.store.read() as conn:
        overdue = rows.overdue(conn, patient.clock.now() - LATE)
        never = rows.never_ran(conn)
    lives = serving(patient)
    command = f"kill -HUP {lives[0].pid}" if lives else "hermes-cron serve --once"  # it looks at once
    for each in overdue[:MOST]:
        yield failure("overdue", command, job=each.job, at=f"{each.at:%Y-%m-%d %H:%M} UTC")
    if len(overdue) > MOST:
        yield failure("more_overdue", command, count=len(overdue) - MOST)
    yield from _never(never)
    if not overdue and not never:
        yield fine("due")


def _never(found: Sequence[Late]) -> Iterator[Finding]:
    for each in found[:MOST]:
        yield warning(
            "never_ran", f"hermes-cron run {shlex.quote(each.job)}", job=each.job, count=each.missed,
            at=f"{each.at:%Y-%m-%d %H:%M} UTC",
        )  # fmt: skip
    if len(found) > MOST:
        yield warning("more_never_ran", "hermes-cron list", count=len(found) - MOST)

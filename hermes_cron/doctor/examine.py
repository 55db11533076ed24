"""Which checks are there, in which order, and what becomes of one that cannot be made?"""

from __future__ import annotations

from collections.abc import Iterator

from hermes_cron.doctor import declared, due, history, host, kept, outside, places
from hermes_cron.doctor.finding import Check, Finding, Patient, failure
from hermes_cron.errors import HermesCronError

CHECKS: dict[str, Check] = {
    "home": places.folder,
    "writable": places.writable,
    "disk": places.disk,
    "settings": declared.settings,
    "permissions": places.private,
    "vault": declared.vault,
    "store": kept.store,
    "owners": kept.owners,
    "scheduler": host.scheduler,
    "service": host.service,
    "metrics": outside.metrics,
    "clock": kept.clock,
    "zones": host.zones,
    "jobs": declared.jobs,
    "lost": declared.lost,
    "due": due.due,
    "history": history.history,
    "left_out": history.left_out,
    "deliveries": kept.deliveries,
    "model": outside.model,
    "databases": outside.databases,
}


def examine(patient: Patient) -> Iterator[tuple[str, Finding]]:
    """(name of the check, what it found), in the order in which things rest on each other."""
    for name, check in CHECKS.items():
        try:
            for finding in check(patient):
                yield name, finding
        except (HermesCronError, OSError) as error:
            hint = (error.hint if isinstance(error, HermesCronError) else None) or "hermes-cron logs"
            yield name, failure("error", hint, error=str(error))

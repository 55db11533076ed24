"""How is a metric's running total raised in the transaction of the outcome (design decision 13)?

A histogram is one row a bucket (its own observations, not cumulative), ``_sum`` and ``_count``: the exporter adds up.
Buckets and names are those of docs/metrics.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from hermes_cron.store.prepared import Prepared
from hermes_cron.store.tables import CounterRow

_counters = CounterRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_INSERT = insert(_counters)
_RAISE = Prepared(
    _INSERT.on_conflict_do_update(
        index_elements=["name", "labels"], set_={"value": _counters.c.value + _INSERT.excluded.value}
    ),
    ("name", "labels", "value"),
)

LATENESS = "hermes_cron_job_start_lateness_seconds"
DURATION = "hermes_cron_job_run_duration_seconds"
ITERATIONS = "hermes_cron_agent_iterations"
RUNS = "hermes_cron_job_runs_total"
OCCURRENCES = "hermes_cron_job_occurrences_total"
DELIVERIES = "hermes_cron_deliveries_total"
CHECKS = "hermes_cron_job_checks_total"
SECURITY = "hermes_cron_security_events_total"
REVIEWS = "hermes_cron_reviews_total"
NOOPS = "hermes_cron_review_noop_total"
SKILL_VIEWS = "hermes_cron_skill_views_total"
SKILL_USES = "hermes_cron_skill_uses_total"
SKILL_PATCHES = "hermes_cron_skill_patches_total"
SKILL_OUTCOMES = "hermes_cron_skill_run_outcomes_total"
CURATOR = "hermes_cron_curator_actions_total"

BUCKETS: Mapping[str, tuple[float, ...]] = {
    LATENESS: (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900),
    DURATION: (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600),
    ITERATIONS: (1, 2, 3, 5, 8, 13, 21, 34, 55, 90),
}

Raise = tuple[str, Mapping[str, str], float]
"""Name, labels, by how much."""


def raise_by(conn: Connection, raises: Iterable[Raise]) -> None:
    """Add to totals; a total that does not exist yet starts at 0."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for name, labels, value in raises:
        sums[name, json.dumps(labels, ensure_ascii=False, sort_keys=True, separators=(",", ":"))] += value
    if sums:
        _RAISE.run_all(
            conn, [{"name": name, "labels": labels, "value": value} for (name, labels), value in sums.items()]
        )


def observation(name: str, value: float, labels: Mapping[str, str] | None = None) -> list[Raise]:
    """What one observed value adds to a histogram. A value equal to a bound lies in that bound's bucket."""
    given = labels or {}
    bound = next((f"{limit:g}" for limit in BUCKETS[name] if value <= limit), "+Inf")
    return [
        (f"{name}_bucket", {**given, "le": bound}, 1),
        (f"{name}_sum", given, value),
        (f"{name}_count", given, 1),
    ]

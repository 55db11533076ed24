"""Which metrics are there, and what does a scrape of them say?

``METRICS`` is the one table: names, labels and their values; docs/metrics.md is made from it and the dashboards are
checked against it. Counters and histograms are the store's rows (design decision 13), so that commands which live for
a moment count and a restart loses nothing. Of every job, skill and model that is declared each child is there from the
beginning, at 0: an increase from nothing would be no increase. Children of what was removed are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

PREFIX = "hermes_cron_"
OTHER = "other"
"""Stands for names beyond the most that a label may have."""

Labels = tuple[tuple[str, str], ...]
"""Names and values, in the order of the metric's labels."""


class Of(StrEnum):
    """What a label's values are names of."""

    JOB = "job"
    SKILL = "skill"
    MODEL = "model"
    PLATFORM = "platform"
    GUARD = "guard"
    VERSION = "version"


MOST: Mapping[Of, int] = {Of.JOB: 500, Of.SKILL: 2_000, Of.MODEL: 200}
"""Names of each kind that have series of their own."""


class Type(StrEnum):
    """As Prometheus says it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


Values = Of | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """``name`` as it is exposed (a counter's ends in ``_total``); ``buckets`` are a histogram's upper bounds."""

    name: str
    type: Type
    says: str
    labels: Mapping[str, Values] = field(default_factory=dict)
    buckets: tuple[float, ...] = ()


_OUTCOMES = ("ok", "failed", "timeout", "cancelled", "interrupted", "budget_exhausted", "denied", "skipped", "unknown")
_C, _G, _H = Type.COUNTER, Type.GAUGE, Type.HISTOGRAM

METRICS: tuple[Metric, ...] = (
    Metric(name="hermes_cron_build_info", type=Type.INFO, says="The version that is scraped.",
           labels={"version": Of.VERSION}),
    Metric(name="hermes_cron_scheduler_heartbeat_timestamp_seconds", type=_G,
           says="When a scheduler of this home last showed that it lives."),
    Metric(name="hermes_cron_jobs", type=_G, says="Declared jobs by state; a job is in exactly one.",
           labels={"state": ("active", "paused", "held", "broken")}),
    Metric(name="hermes_cron_job_next_run_timestamp_seconds", type=_G, says="When the job is due next.",
           labels={"job_name": Of.JOB}),
    Metric(name="hermes_cron_job_last_success_timestamp_seconds", type=_G,
           says="When the job's newest run that ended ok did so.", labels={"job_name": Of.JOB}),
    Metric(name="hermes_cron_job_runs_total", type=_C, says="Ended runs.",
           labels={"job_name": Of.JOB, "outcome": _OUTCOMES}),
    Metric(name="hermes_cron_job_occurrences_total", type=_C, says="Due instants by what became of them.",
           labels={"job_name": Of.JOB, "state": ("ran", "skipped", "merged", "missed")}),
    Metric(name="hermes_cron_job_checks_total", type=_C, says="Runs by what their outcome checks said.",
           labels={"job_name": Of.JOB, "outcome": ("verified", "check_failed", "not_checkable")}),
    Metric(name="hermes_cron_job_start_lateness_seconds", type=_H,
           says="From the instant a run was due until it was taken.",
           buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)),
    Metric(name="hermes_cron_job_run_duration_seconds", type=_H,
           says="Time that a run was executed; waiting for a person or a model is none.",
           labels={"job_name": Of.JOB}, buckets=(1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600)),
    Metric(name="hermes_cron_agent_iterations", type=_H, says="Model calls of a run.",
           labels={"job_name": Of.JOB}, buckets=(1, 2, 3, 5, 8, 13, 21, 34, 55, 90)),
    Metric(name="hermes_cron_model_tokens_total", type=_C, says="Tokens of model calls.",
           labels={"model": Of.MODEL, "type": ("input", "output", "cache_read", "cache_write")}),
    Metric(name="hermes_cron_model_cost_usd_total", type=_C, says="What model calls cost, as far as prices are known.",
           labels={"model": Of.MODEL}),
    Metric(name="hermes_cron_skill_uses_total", type=_C, says="Runs in which the skill was followed.",
           labels={"skill": Of.SKILL}),
    Metric(name="hermes_cron_skill_views_total", type=_C, says="Times a run looked the skill up.",
           labels={"skill": Of.SKILL}),
    Metric(name="hermes_cron_skill_patches_total", type=_C, says="Changes of the skill by runs and reviews.",
           labels={"skill": Of.SKILL, "outcome": ("applied", "refused", "reverted")}),
    Metric(name="hermes_cron_skill_run_outcomes_total", type=_C, says="Ended runs that followed the skill.",
           labels={"skill": Of.SKILL, "outcome": _OUTCOMES}),
    Metric(name="hermes_cron_skill_last_used_timestamp_seconds", type=_G, says="When a run last followed the skill.",
           labels={"skill": Of.SKILL}),
    Metric(name="hermes_cron_skills", type=_G, says="Skills by state; a pinned one is nothing else.",
           labels={"state": ("active", "stale", "archived", "pinned")}),
    Metric(name="hermes_cron_curator_actions_total", type=_C, says="What the curator did, or asked a person about.",
           labels={"action": ("active", "stale", "archive", "merge", "patch", "create"),
                   "outcome": ("proposed", "applied", "refused")}),
    Metric(name="hermes_cron_curator_last_success_timestamp_seconds", type=_G,
           says="When the newest run of the curator that ended ok did so."),
    Metric(name="hermes_cron_memory_chars", type=_G, says="Characters of a memory file.",
           labels={"store": ("memory", "user")}),
    Metric(name="hermes_cron_memory_limit_chars", type=_G, says="Characters that it may have.",
           labels={"store": ("memory", "user")}),
    Metric(name="hermes_cron_reviews_total", type=_C, says="Looks back at runs by how they ended.",
           labels={"outcome": ("ok", "noop", "failed", "exhausted", "refused")}),
    Metric(name="hermes_cron_review_noop_total", type=_C, says="Looks back that found nothing to keep."),
    Metric(name="hermes_cron_snapshot_last_success_timestamp_seconds", type=_G, says="When the last snapshot was."),
    Metric(name="hermes_cron_snapshot_store_bytes", type=_G, says="Bytes of the history on disk."),
    Metric(name="hermes_cron_deliveries_total", type=_C, says="Messages by where they went and what became of them.",
           labels={"platform": Of.PLATFORM, "outcome": ("sent", "failed", "unknown", "silent")}),
    Metric(name="hermes_cron_security_events_total", type=_C, says="What the scanner warned of or blocked.",
           labels={"guard": Of.GUARD, "verdict": ("warn", "block")}),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Which names have children: jobs and skills that are there, models that were called, and what is fixed."""

    jobs: Sequence[str] = ()
    skills: Sequence[str] = ()
    models: Sequence[str] = ()
    platforms: Sequence[str] = ("file", "webhook", "email", "none")
    guards: Sequence[str] = ("memory", "skill", "context", "prompt")
    version: str = ""

    def of(self, kind: Of) -> Sequence[str]:
        """The names of a kind, at most as many as may have series of their own, then ``other``."""
        names = {
            Of.JOB: self.jobs, Of.SKILL: self.skills, Of.MODEL: self.models, Of.PLATFORM: self.platforms,
            Of.GUARD: self.guards, Of.VERSION: (self.version,),
        }[kind]  # fmt: skip
        names = tuple(dict.fromkeys(names))  # one name twice would make the whole scrape unreadable
        most = MOST.get(kind)
        return names if most is None or len(names) <= most else (*names[:most], OTHER)


Totals = Mapping[str, Mapping[Labels, float]]
"""By name as a counter's row has it (a histogram's with ``_bucket``, ``_sum``, ``_count``), then by labels."""


class Exposition:
    """The text of a scrape. Families whose figures did not change since the last one are not written again.

    Not thread-safe: one scrape after the other.
    """

    def __init__(self, metrics: Sequence[Metric] = METRICS) -> None:
        self._metrics = metrics
        self._written: dict[str, tuple[object, bytes]] = {}

    def text(self, declared: Declared, totals: Totals, gauges: Totals) -> bytes:
        """In the text format of Prometheus."""
        return b"".join(self._family(metric, declared, totals, gauges) for metric in self._metrics)

    def _family(self, metric: Metric, declared: Declared, totals: Totals, gauges: Totals) -> bytes:
        names = {label: declared.of(kind) if isinstance(kind, Of) else kind for label, kind in metric.labels.items()}
        figures = _figures(metric, totals, gauges)
        seen = (names, figures)
        known = self._written.get(metric.name)
        if known is None or known[0] != seen:
            self._written[metric.name] = known = (seen, _rendered(_as_family(metric, names, figures)))
        return known[1]


Figures = Mapping[str, Mapping[Labels, float]]
"""What there is of one metric: by the suffix of a series (``""``, ``_bucket``, ...), then by labels."""


def _figures(metric: Metric, totals: Totals, gauges: Totals) -> Figures:
    if metric.type is Type.HISTOGRAM:
        return {end: totals.get(metric.name + end, {}) for end in ("_bucket", "_sum", "_count")}
    return {"": (totals if metric.type is Type.COUNTER else gauges).get(metric.name, {})}


def _rendered(family: Family) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.registry import Collector

    class One(Collector):
        def collect(self) -> Iterable[Family]:
            return [family]

    registry = CollectorRegistry(auto_describe=False)
    registry.register(One())
    return generate_latest(registry)


def _as_family(metric: Metric, names: Mapping[str, Sequence[str]], figures: Figures) -> Family:
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
    )

    labels = list(metric.labels)
    match metric.type:
        case Type.INFO:
            info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.says)
            info.add_metric([], {label: values[0] for label, values in names.items()})
            return info
        case Type.COUNTER:
            counter = CounterMetricFamily(metric.name.removesuffix("_total"), metric.says, labels=labels)
            for values, value in _children(names, figures[""]):
                counter.add_metric(values, value)
            return counter
        case Type.GAUGE:
            gauge = GaugeMetricFamily(metric.name, metric.says, labels=labels)
            for given, value in sorted(_folded(names, figures[""], by=max).items()):
                gauge.add_metric(given, value)
            return gauge
        case Type.HISTOGRAM:
            histogram = HistogramMetricFamily(metric.name, metric.says, labels=labels)
            for values, buckets, total in _histograms(metric, names, figures):
                histogram.add_metric(values, buckets, total)
            return histogram


def _children(names: Mapping[str, Sequence[str]], known: Mapping[Labels, float]) -> Iterator[tuple[list[str], float]]:
    """Every combination of declared names, 0 where nothing was counted."""
    counted = _folded(names, known, by=_plus)
    for values in product(*names.values()):
        yield list(values), counted.get(values, 0.0)


def _folded(
    names: Mapping[str, Sequence[str]], known: Mapping[Labels, float], *, by: object
) -> dict[tuple[str, ...], float]:
    """Figures by the values of the labels. What is not declared is left out, or counts as ``other`` where that is."""
    allowed = {label: frozenset(values) for label, values in names.items()}
    found: dict[tuple[str, ...], float] = {}
    for labels, value in known.items():
        given = dict(labels)
        values = tuple(_name(given.get(label, ""), allowed[label]) for label in names)
        if None in values:
            continue
        key = tuple(str(it) for it in values)
        found[key] = by(found[key], value) if key in found else value  # type: ignore[operator]  # max or plus
    return found


def _plus(one: float, other: float) -> float:
    return one + other


def _name(value: str, allowed: frozenset[str]) -> str | None:
    if value in allowed:
        return value
    return OTHER if OTHER in allowed else None


def _histograms(
    metric: Metric, names: Mapping[str, Sequence[str]], figures: Figures
) -> Iterator[tuple[list[str], list[tuple[str, float]], float]]:
    """Rows hold each bucket's own observations; what is exposed adds them up."""
    bounds = [*(f"{bound:g}" for bound in metric.buckets), "+Inf"]
    counted = _folded({**names, "le": bounds}, figures["_bucket"], by=_plus)
    sums = _folded(names, figures["_sum"], by=_plus)
    for values in product(*names.values()):
        so_far, buckets = 0.0, []
        for bound in bounds:
            so_far += counted.get((*values, bound), 0.0)
            buckets.append((bound, so_far))
        yield list(values), buckets, sums.get(values, 0.0)

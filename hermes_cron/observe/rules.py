"""Which figures does a Prometheus work out from the metrics, and of what does it warn?

``files`` are rule files as text: JSON is YAML, so no other library is needed to write them right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A figure that is worked out once for all who look at it."""

    name: str
    expr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """``runbook`` is the command that shows more. ``wait`` is how long it must be so."""

    name: str
    expr: str
    severity: str
    summary: str
    runbook: str
    wait: str = "0m"


RECORDS: tuple[Record, ...] = (
    Record(name="job_name:hermes_cron_job_runs:rate1h",
           expr="sum by (job_name, outcome) (rate(hermes_cron_job_runs_total[1h]))"),
    Record(name="job_name:hermes_cron_job_success:ratio_1d",
           expr='sum by (job_name) (increase(hermes_cron_job_runs_total{outcome="ok"}[1d])) / '
                '(sum by (job_name) (increase(hermes_cron_job_runs_total{outcome!="skipped"}[1d])) > 0)'),
    Record(name="skill:hermes_cron_skill_success:ratio_7d",
           expr='sum by (skill) (increase(hermes_cron_skill_run_outcomes_total{outcome="ok"}[7d])) / '
                "(sum by (skill) (increase(hermes_cron_skill_run_outcomes_total[7d])) > 0)"),
    Record(name="hermes_cron:job_start_lateness_seconds:p99_1h",
           expr="histogram_quantile(0.99, sum by (le) (rate(hermes_cron_job_start_lateness_seconds_bucket[1h])))"),
    Record(name="hermes_cron:model_cost_usd:increase1d",
           expr="sum(increase(hermes_cron_model_cost_usd_total[1d]))"),
    Record(name="hermes_cron:memory_used:ratio",
           expr="hermes_cron_memory_chars / hermes_cron_memory_limit_chars"),
)  # fmt: skip

ALERTS: tuple[Alert, ...] = (
    Alert(name="HermesCronDown", severity="critical", wait="5m",
          expr='up{job="hermes-cron"} == 0 or absent(up{job="hermes-cron"})',
          summary="Nothing answers a scrape of hermes-cron.", runbook="hermes-cron status"),
    Alert(name="SchedulerStalled", severity="critical", wait="1m",
          expr="time() - hermes_cron_scheduler_heartbeat_timestamp_seconds > 120",
          summary="The scheduler has not shown that it lives for two minutes.", runbook="hermes-cron doctor"),
    Alert(name="JobOverdue", severity="warning", wait="1m",
          expr="time() - hermes_cron_job_next_run_timestamp_seconds > 300",
          summary="{{ $labels.job_name }} was due five minutes ago and has not begun.",
          runbook="hermes-cron explain {{ $labels.job_name }}"),
    Alert(name="JobFailing", severity="warning",
          expr='sum by (job_name) (increase(hermes_cron_job_runs_total{outcome=~"failed|timeout|interrupted|'
               'budget_exhausted|denied|unknown"}[6h])) > 2.5',
          summary="{{ $labels.job_name }} failed three times within six hours.",
          runbook="hermes-cron history {{ $labels.job_name }} --failed"),
    Alert(name="JobUntrue", severity="warning",
          expr='sum by (job_name) (increase(hermes_cron_job_checks_total{outcome="check_failed"}[1d])) > 0.5',
          summary="{{ $labels.job_name }} said that it was done, and its outcome checks say no.",
          runbook="hermes-cron history {{ $labels.job_name }}"),
    Alert(name="InstantsMissed", severity="warning",
          expr='sum by (job_name) (increase(hermes_cron_job_occurrences_total{state="missed"}[1d])) > 0.5',
          summary="{{ $labels.job_name }} missed an instant for good.",
          runbook="hermes-cron history {{ $labels.job_name }}"),
    Alert(name="DeliveryFailing", severity="warning",
          expr='sum by (platform) (increase(hermes_cron_deliveries_total{outcome=~"failed|unknown"}[6h])) > 0.5',
          summary="A message by {{ $labels.platform }} did not arrive, or nobody knows.",
          runbook="hermes-cron outbox list"),
    Alert(name="CostHigh", severity="warning", wait="10m",
          expr="hermes_cron:model_cost_usd:increase1d > 5",
          summary="Models cost more than 5 USD within a day; set the figure to your own.",
          runbook="hermes-cron usage --by job"),
    Alert(name="MemoryNearLimit", severity="info", wait="1d",
          expr="hermes_cron:memory_used:ratio > 0.9",
          summary="The {{ $labels.store }} file of the memory has been nine tenths full for a day.",
          runbook="hermes-cron memory list"),
    Alert(name="SkillSuccessDrop", severity="warning", wait="1h",
          expr='skill:hermes_cron_skill_success:ratio_7d < 0.5 and '
               "sum by (skill) (increase(hermes_cron_skill_run_outcomes_total[7d])) > 4.5",
          summary="Less than half of the runs that followed {{ $labels.skill }} within a week went well.",
          runbook="hermes-cron skills stats {{ $labels.skill }}"),
    Alert(name="SecurityEvents", severity="warning",
          expr='sum by (guard) (increase(hermes_cron_security_events_total{verdict="block"}[1h])) > 2.5',
          summary="The scanner blocked three texts within an hour ({{ $labels.guard }}).",
          runbook="hermes-cron status"),
    Alert(name="CuratorStale", severity="warning", wait="1h",
          expr="time() - hermes_cron_curator_last_success_timestamp_seconds > 26 * 3600",
          summary="No run of the curator went well for more than a day.",
          runbook="hermes-cron curator status"),
    Alert(name="SnapshotStale", severity="info", wait="1h",
          expr="time() - hermes_cron_snapshot_last_success_timestamp_seconds > 30 * 86400",
          summary="No snapshot for thirty days: nothing changed, or changes are not kept.",
          runbook="hermes-cron snapshots list"),
)  # fmt: skip


def files() -> Mapping[str, str]:
    """File name -> content."""
    recording = [{"record": each.name, "expr": each.expr} for each in RECORDS]
    alerting = [
        {
            "alert": each.name,
            "expr": each.expr,
            **({} if each.wait == "0m" else {"for": each.wait}),
            "labels": {"severity": each.severity},
            "annotations": {"summary": each.summary, "runbook": each.runbook},
        }
        for each in ALERTS
    ]
    return {
        "rules/recording.yml": _text("hermes-cron-recording", recording),
        "rules/alerts.yml": _text("hermes-cron-alerts", alerting),
    }


def _text(name: str, rules: Sequence[Mapping[str, object]]) -> str:
    return json.dumps({"groups": [{"name": name, "rules": rules}]}, indent=2, ensure_ascii=False) + "\n"

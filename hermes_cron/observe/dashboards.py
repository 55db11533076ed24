"""What do people look at? Grafana dashboards over the metrics, as the JSON that Grafana imports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 39
SOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
_WIDTH = 24
JOBS = 'job_name=~"$job_name"'
SKILLS = 'skill=~"$skill"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """``queries`` are expressions with their legends. ``width`` is of 24 columns."""

    title: str
    queries: Sequence[tuple[str, str]]
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12
    height: int = 8
    says: str = ""
    stacked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """``variables`` are labels that a person may choose values of, and the metric that has them."""

    uid: str
    title: str
    panels: Sequence[Panel]
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return f"{self.uid}.json"


_BAD = 'outcome=~"failed|timeout|interrupted|budget_exhausted|denied|unknown"'

DASHBOARDS: tuple[Dashboard, ...] = (
    Dashboard(
        uid="hermes-cron-jobs", title="hermes-cron: job reliability",
        variables={"job_name": "hermes_cron_job_runs_total"},
        panels=(
            Panel(title="Good runs, last day", kind="stat", unit="percentunit", width=6, height=5, queries=[(
                'sum(increase(hermes_cron_job_runs_total{outcome="ok",' + JOBS + "}[1d])) / "
                '(sum(increase(hermes_cron_job_runs_total{outcome!="skipped",' + JOBS + "}[1d])) > 0)", "")]),
            Panel(title="Failed, last day", kind="stat", width=6, height=5,
                  queries=[(f"sum(increase(hermes_cron_job_runs_total{{{_BAD},{JOBS}}}[1d]))", "")]),
            Panel(title="Said done and was not, last day", kind="stat", width=6, height=5, queries=[(
                'sum(increase(hermes_cron_job_checks_total{outcome="check_failed",' + JOBS + "}[1d]))", "")]),
            Panel(title="Instants missed, last day", kind="stat", width=6, height=5, queries=[(
                'sum(increase(hermes_cron_job_occurrences_total{state="missed",' + JOBS + "}[1d]))", "")]),
            Panel(title="Runs by outcome", stacked=True, queries=[(
                f"sum by (outcome) (increase(hermes_cron_job_runs_total{{{JOBS}}}[$__rate_interval]))",
                "{{outcome}}")]),
            Panel(title="Due instants by what became of them", stacked=True, queries=[(
                f"sum by (state) (increase(hermes_cron_job_occurrences_total{{{JOBS}}}[$__rate_interval]))",
                "{{state}}")]),
            Panel(title="Failures by job, last day", kind="bargauge", queries=[(
                f"topk(10, sum by (job_name) (increase(hermes_cron_job_runs_total{{{_BAD},{JOBS}}}[1d])))",
                "{{job_name}}")]),
            Panel(title="Outcome checks", stacked=True, queries=[(
                f"sum by (outcome) (increase(hermes_cron_job_checks_total{{{JOBS}}}[$__rate_interval]))",
                "{{outcome}}")]),
            Panel(title="Run time, 95 of 100", unit="s", queries=[(
                "histogram_quantile(0.95, sum by (le, job_name) "
                f"(rate(hermes_cron_job_run_duration_seconds_bucket{{{JOBS}}}[1h])))", "{{job_name}}")]),
            Panel(title="Since the last good run", unit="s", kind="bargauge", queries=[(
                f"time() - hermes_cron_job_last_success_timestamp_seconds{{{JOBS}}}", "{{job_name}}")]),
            Panel(title="Messages by what became of them", stacked=True, width=24, queries=[(
                "sum by (platform, outcome) (increase(hermes_cron_deliveries_total[$__rate_interval]))",
                "{{platform}} {{outcome}}")]),
        ),
    ),
    Dashboard(
        uid="hermes-cron-spend", title="hermes-cron: spend",
        panels=(
            Panel(title="USD, last day", kind="stat", unit="currencyUSD", width=8, height=5,
                  queries=[("sum(increase(hermes_cron_model_cost_usd_total[1d]))", "")]),
            Panel(title="USD, last 30 days", kind="stat", unit="currencyUSD", width=8, height=5,
                  queries=[("sum(increase(hermes_cron_model_cost_usd_total[30d]))", "")]),
            Panel(title="Input tokens from the cache, last day", kind="stat", unit="percentunit", width=8, height=5,
                  queries=[('sum(increase(hermes_cron_model_tokens_total{type="cache_read"}[1d])) / '
                            '(sum(increase(hermes_cron_model_tokens_total{type=~"input|cache_read|cache_write"}[1d]))'
                            " > 0)", "")]),
            Panel(title="USD by model", unit="currencyUSD", stacked=True, queries=[(
                "sum by (model) (increase(hermes_cron_model_cost_usd_total[$__rate_interval]))", "{{model}}")]),
            Panel(title="Tokens by type", stacked=True, queries=[(
                "sum by (type) (increase(hermes_cron_model_tokens_total[$__rate_interval]))", "{{type}}")]),
            Panel(title="Model calls of a run, 95 of 100", width=24, queries=[(
                "histogram_quantile(0.95, sum by (le, job_name) (rate(hermes_cron_agent_iterations_bucket[6h])))",
                "{{job_name}}")]),
        ),
    ),
    Dashboard(
        uid="hermes-cron-scheduler", title="hermes-cron: scheduler",
        panels=(
            Panel(title="Since its last sign of life", kind="stat", unit="s", width=6, height=5,
                  queries=[("time() - hermes_cron_scheduler_heartbeat_timestamp_seconds", "")]),
            Panel(title="Jobs", kind="stat", width=12, height=5, queries=[("hermes_cron_jobs", "{{state}}")]),
            Panel(title="Version", kind="stat", width=6, height=5, queries=[("hermes_cron_build_info", "{{version}}")]),
            Panel(title="Lateness of starts", unit="s", queries=[
                ("histogram_quantile(0.5, sum by (le) (rate(hermes_cron_job_start_lateness_seconds_bucket[1h])))",
                 "half"),
                ("histogram_quantile(0.99, sum by (le) (rate(hermes_cron_job_start_lateness_seconds_bucket[1h])))",
                 "99 of 100")]),
            Panel(title="Due next", kind="bargauge", unit="s", queries=[(
                "bottomk(10, hermes_cron_job_next_run_timestamp_seconds - time())", "{{job_name}}")]),
            Panel(title="Blocked and warned of by the scanner", stacked=True, width=24, queries=[(
                "sum by (guard, verdict) (increase(hermes_cron_security_events_total[$__rate_interval]))",
                "{{guard}} {{verdict}}")]),
        ),
    ),
    Dashboard(
        uid="hermes-cron-skills", title="hermes-cron: skill health",
        variables={"skill": "hermes_cron_skill_uses_total"},
        panels=(
            Panel(title="Runs that followed a skill, last week", kind="bargauge", queries=[(
                f"topk(15, sum by (skill) (increase(hermes_cron_skill_uses_total{{{SKILLS}}}[7d])))", "{{skill}}")]),
            Panel(title="Of them good", kind="bargauge", unit="percentunit", queries=[(
                "bottomk(15, sum by (skill) (increase(hermes_cron_skill_run_outcomes_total"
                '{outcome="ok",' + SKILLS + "}[7d])) / (sum by (skill) "
                f"(increase(hermes_cron_skill_run_outcomes_total{{{SKILLS}}}[7d])) > 0))", "{{skill}}")]),
            Panel(title="Looked up", queries=[(
                f"topk(15, sum by (skill) (increase(hermes_cron_skill_views_total{{{SKILLS}}}[$__rate_interval])))",
                "{{skill}}")]),
            Panel(title="Changed by runs and reviews", stacked=True, queries=[(
                f"sum by (outcome) (increase(hermes_cron_skill_patches_total{{{SKILLS}}}[$__rate_interval]))",
                "{{outcome}}")]),
            Panel(title="Since its last use", kind="bargauge", unit="s", width=24, queries=[(
                f"topk(20, time() - hermes_cron_skill_last_used_timestamp_seconds{{{SKILLS}}})", "{{skill}}")]),
            Panel(title="Skills by state", stacked=True, width=24, queries=[("hermes_cron_skills", "{{state}}")]),
        ),
    ),
    Dashboard(
        uid="hermes-cron-memory", title="hermes-cron: memory and curator",
        panels=(
            Panel(title="Memory used", kind="gauge", unit="percentunit", width=8, height=6,
                  queries=[("hermes_cron_memory_chars / hermes_cron_memory_limit_chars", "{{store}}")]),
            Panel(title="Since the last snapshot", kind="stat", unit="s", width=8, height=6,
                  queries=[("time() - hermes_cron_snapshot_last_success_timestamp_seconds", "")]),
            Panel(title="History on disk", kind="stat", unit="bytes", width=8, height=6,
                  queries=[("hermes_cron_snapshot_store_bytes", "")]),
            Panel(title="Memory, characters", queries=[("hermes_cron_memory_chars", "{{store}}")]),
            Panel(title="Looks back at runs", stacked=True, queries=[
                ("sum by (outcome) (increase(hermes_cron_reviews_total[$__rate_interval]))", "{{outcome}}"),
                ("sum(increase(hermes_cron_review_noop_total[$__rate_interval]))", "nothing to keep")]),
            Panel(title="What the curator did", stacked=True, queries=[(
                "sum by (action, outcome) (increase(hermes_cron_curator_actions_total[$__rate_interval]))",
                "{{action}} {{outcome}}")]),
            Panel(title="Since the curator's last good run", kind="stat", unit="s",
                  queries=[("time() - hermes_cron_curator_last_success_timestamp_seconds", "")]),
        ),
    ),
)  # fmt: skip


def files() -> Mapping[str, str]:
    """File name -> content."""
    return {each.file: json.dumps(_dashboard(each), indent=2, ensure_ascii=False) + "\n" for each in DASHBOARDS}


def _dashboard(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["hermes-cron"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [_source(), *(_variable(label, metric) for label, metric in dashboard.variables.items())]
        },
        "panels": _placed(dashboard.panels),
    }


def _source() -> dict[str, Any]:
    return {"name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0}


def _variable(label: str, metric: str) -> dict[str, Any]:
    query = f"label_values({metric}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "A"},
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "refresh": 2,
        "sort": 1,
    }


def _placed(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """From left to right, a new row where one is full; a row is as high as its highest panel."""
    placed: list[dict[str, Any]] = []
    x = y = highest = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > _WIDTH:
            x, y, highest = 0, y + highest, 0
        placed.append(_panel(number, panel, {"x": x, "y": y, "w": panel.width, "h": panel.height}))
        x, highest = x + panel.width, max(highest, panel.height)
    return placed


def _panel(number: int, panel: Panel, place: Mapping[str, int]) -> dict[str, Any]:
    drawn: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "timeseries":
        mode = "normal" if panel.stacked else "none"
        drawn["custom"] = {"fillOpacity": 30 if panel.stacked else 5, "stacking": {"mode": mode, "group": "A"}}
    instant = panel.kind != "timeseries"
    return {
        "id": number,
        "title": panel.title,
        "description": panel.says,
        "type": panel.kind,
        "datasource": SOURCE,
        "gridPos": dict(place),
        "fieldConfig": {"defaults": drawn, "overrides": []},
        "options": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}} if instant else {},
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": SOURCE,
                "expr": expr,
                "legendFormat": legend or "__auto",
                "instant": instant,
                "range": not instant,
            }
            for at, (expr, legend) in enumerate(panel.queries)
        ],
    }

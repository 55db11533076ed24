"""Every figure that a dashboard or a rule asks for is one that is told; the files can be imported as they are."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.observe import dashboards, rules
from hermes_cron.observe.metrics import METRICS, Of, Type

SHIPPED = Path(__file__).parents[3] / "dashboards"
MADE = {name: json.loads(text) for name, text in dashboards.files().items()}
PANELS = [(name, panel) for name, board in MADE.items() for panel in board["panels"]]
QUERIES = [
    *((f"{name}: {panel['title']}", target["expr"]) for name, panel in PANELS for target in panel["targets"]),
    *((each.name, each.expr) for each in rules.RECORDS),
    *((each.name, each.expr) for each in rules.ALERTS),
]
_SERIES = re.compile(r"(?<![\w:])(hermes_cron_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')


def series() -> dict[str, dict[str, object]]:
    """Names as they are exposed, with the values that each label may have."""
    found: dict[str, dict[str, object]] = {}
    for metric in METRICS:
        labels = dict(metric.labels)
        if metric.type is Type.HISTOGRAM:
            found |= {f"{metric.name}_{end}": labels for end in ("sum", "count")}
            found[f"{metric.name}_bucket"] = {**labels, "le": Of.VERSION}
        else:
            found[metric.name] = labels
    return found


@pytest.mark.parametrize(("where", "expr"), QUERIES, ids=[where for where, _ in QUERIES])
def test_a_query_names_what_is_told(where: str, expr: str) -> None:
    known = series()
    recorded = {each.name for each in rules.RECORDS}
    for name in re.findall(r"\b\w*:\w[\w:]*", expr):
        assert name in recorded, where
    for name, matchers in _SERIES.findall(expr):
        assert name in known, f"{where}: nothing tells {name}"
        for label, value in _MATCHER.findall(matchers):
            assert label in known[name], f"{where}: {name} has no label {label}"
            allowed = known[name][label]
            if isinstance(allowed, tuple) and not value.startswith("$"):
                assert set(value.split("|")) <= set(allowed), f"{where}: {label}={value}"
    grouped = [label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", expr) for label in labels.split(",")]
    labels = {label for name, _ in _SERIES.findall(expr) for label in known[name]}
    assert set(grouped) <= labels, where


def test_a_misspelt_metric_would_be_found() -> None:
    with pytest.raises(AssertionError, match="nothing tells hermes_cron_job_run_total"):
        test_a_query_names_what_is_told("x", "sum(hermes_cron_job_run_total)")


def test_every_metric_is_looked_at_somewhere() -> None:
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for _, expr in QUERIES for name, _ in _SERIES.findall(expr)}
    assert {metric.name for metric in METRICS} - asked == set()


@pytest.mark.parametrize("name", MADE)
def test_a_dashboard_can_be_imported(name: str) -> None:
    board: dict[str, Any] = MADE[name]
    assert len(board["uid"]) <= 40
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    assert board["templating"]["list"][0]["name"] == "DS_PROMETHEUS"
    places = [panel["gridPos"] for panel in board["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y, (one, other)
    for panel in board["panels"]:
        refs = [target["refId"] for target in panel["targets"]]
        assert refs
        assert len(refs) == len(set(refs))


def test_the_shipped_files_are_those_of_the_code() -> None:
    made = {**dashboards.files(), **rules.files()}
    assert {name: (SHIPPED / name).read_text(encoding="utf-8") for name in made} == made, "make docs"


@pytest.mark.parametrize("alert", rules.ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_how_bad_what_and_the_next_command(alert: rules.Alert) -> None:
    from hermes_cron.cli.commands import COMMANDS

    assert alert.severity in {"info", "warning", "critical"}
    assert alert.summary.endswith(".")
    program, command, *_ = alert.runbook.split()
    assert program == "hermes-cron"
    assert command in COMMANDS

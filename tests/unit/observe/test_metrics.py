"""What a scrape says of declared names, of what was counted, and of what is gone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_cron.observe.metrics import METRICS, MOST, OTHER, Declared, Exposition, Labels, Of, Totals, Type
from hermes_cron.store import counters, spending


def scraped(declared: Declared, totals: Totals | None = None, gauges: Totals | None = None) -> dict[str, float]:
    """Series as they are written, by name and labels."""
    text = Exposition().text(declared, totals or {}, gauges or {}).decode()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sample.labels.items())
            series = f"{sample.name}{{{labels}}}"
            assert series not in found, f"{series} is there twice"
            found[series] = sample.value
    return found


def of(**labels: str) -> Labels:
    return tuple(sorted(labels.items()))


def test_every_child_of_a_declared_job_is_there_at_zero() -> None:  # C273
    found = scraped(Declared(jobs=["J"], skills=["db/x"], models=["m"]))
    assert found["hermes_cron_job_runs_total{job_name=J,outcome=ok}"] == 0.0
    assert found["hermes_cron_job_runs_total{job_name=J,outcome=failed}"] == 0.0
    assert found["hermes_cron_skill_uses_total{skill=db/x}"] == 0.0
    assert found["hermes_cron_model_tokens_total{model=m,type=cache_read}"] == 0.0
    assert found["hermes_cron_job_run_duration_seconds_bucket{job_name=J,le=+Inf}"] == 0.0


@pytest.mark.parametrize("name", ['bad "name"\\ two\nlines 😀', "ends in \\", "\n", "名"])
def test_whatever_a_model_is_called_the_scrape_can_be_read(name: str) -> None:  # C270
    totals = {"hermes_cron_model_cost_usd_total": {of(model=name): 1.0}}
    text = Exposition().text(Declared(models=[name]), totals, {}).decode()
    (family,) = [it for it in text_string_to_metric_families(text) if it.name == "hermes_cron_model_cost_usd"]
    assert [(it.labels["model"], it.value) for it in family.samples] == [(name, 1.0)]
    if name.startswith("bad"):
        assert 'hermes_cron_model_cost_usd_total{model="bad \\"name\\"\\\\ two\\nlines 😀"} 1.0\n' in text


def test_a_restart_makes_no_new_series() -> None:  # C274
    one, two = scraped(Declared(jobs=["a"], version="1")), scraped(Declared(jobs=["a"], version="1"))
    assert one.keys() == two.keys()
    assert not any("pid" in series for series in one)


def test_a_name_that_is_given_twice_is_one_series() -> None:  # C276
    found = scraped(Declared(jobs=["a", "a"]))
    assert found["hermes_cron_job_runs_total{job_name=a,outcome=ok}"] == 0.0


def test_what_is_removed_is_gone_and_what_nobody_declared_never_shows() -> None:
    counted = {of(job_name="gone", outcome="ok"): 7.0, of(job_name="a", outcome="ok"): 2.0}
    totals = {"hermes_cron_job_runs_total": counted}
    found = scraped(Declared(jobs=["a"]), totals)
    assert found["hermes_cron_job_runs_total{job_name=a,outcome=ok}"] == 2.0
    assert not any("gone" in series for series in found)


def test_names_beyond_the_most_count_as_other() -> None:
    most = MOST[Of.JOB]
    names = [f"j{number:04}" for number in range(most + 3)]
    totals = {"hermes_cron_job_runs_total": {of(job_name=name, outcome="ok"): 1.0 for name in names}}
    found = scraped(Declared(jobs=names), totals)
    assert found[f"hermes_cron_job_runs_total{{job_name={OTHER},outcome=ok}}"] == 3.0
    assert found[f"hermes_cron_job_runs_total{{job_name={names[most - 1]},outcome=ok}}"] == 1.0
    assert not any(names[most] in series for series in found)


def test_a_histogram_adds_its_buckets_up() -> None:
    raised: dict[str, dict[Labels, float]] = {}
    for value in (0.7, 3, 3, 5000):
        for name, labels, by in counters.observation(counters.DURATION, value, {"job_name": "a"}):
            row = raised.setdefault(name, {})
            row[of(**labels)] = row.get(of(**labels), 0.0) + by
    found = scraped(Declared(jobs=["a"]), raised)
    series = "hermes_cron_job_run_duration_seconds"
    buckets = [value for name, value in found.items() if name.startswith(f"{series}_bucket")]
    assert buckets == [1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4]
    assert found[f"{series}_count{{job_name=a}}"] == 4
    assert found[f"{series}_sum{{job_name=a}}"] == pytest.approx(5006.7)
    assert all(low <= high for low, high in pairwise(buckets))


def test_no_created_series_and_one_text_for_figures_that_did_not_change() -> None:
    exposition = Exposition()
    first = exposition.text(Declared(jobs=["a"]), {}, {})
    assert b"_created" not in first
    assert exposition.text(Declared(jobs=["a"]), {}, {}) == first
    later = exposition.text(Declared(jobs=["a", "b"]), {}, {})
    assert b'job_name="b"' in later
    assert exposition.text(Declared(jobs=["a"]), {}, {}) == first


def test_the_table_agrees_with_the_rows_that_the_store_raises() -> None:
    """A counter that is raised and not in the table would be seen by nobody."""
    known = {metric.name: metric for metric in METRICS}
    raised = {
        name for module in (counters, spending) for name in vars(module).values()
        if isinstance(name, str) and name.startswith("hermes_cron_") and not name.endswith("_")
    }  # fmt: skip
    assert raised - known.keys() == set()
    for name, buckets in counters.BUCKETS.items():
        assert known[name].type is Type.HISTOGRAM
        assert known[name].buckets == buckets


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_and_labels_keep_the_rules(metric: object) -> None:
    from hermes_cron.observe.metrics import Metric

    assert isinstance(metric, Metric)
    assert metric.name.startswith("hermes_cron_")
    assert metric.name.endswith("_total") == (metric.type is Type.COUNTER)
    assert not {"job", "instance", "le", "pid"} & metric.labels.keys()
    assert metric.says.endswith(".")
    labels: Mapping[str, object] = metric.labels
    assert all(isinstance(values, Of | tuple) for values in labels.values())

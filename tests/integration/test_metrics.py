"""What a Prometheus fetches from a real scheduler, before and after runs, restarts and removals."""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hermes_cron.home import Home
from tests.serving import Serving, until, write_job

ON_ANY_PORT = {"HERMES_CRON_METRICS_LISTEN": "127.0.0.1:0"}


def address(serving: Serving) -> str:
    """Where the service that began last answers."""
    lines = (serving.home.logs / "serve.log").read_text().splitlines()
    told = [event for line in lines if (event := json.loads(line))["event"] == "MetricsServed"]
    return str(told[-1]["address"])


def fetched(serving: Serving, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://{address(serving)}{path}", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def series(text: str) -> dict[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def counted(told: Mapping[str, float]) -> dict[str, float]:
    """Running totals. Gauges may come between two scrapes: the service's own first snapshot, a file it looked at."""
    totals = re.compile(r"_(total|count|sum|bucket)\[")
    return {name: value for name, value in told.items() if totals.search(name)}


def runs_of(job: str, outcome: str) -> str:
    return f"hermes_cron_job_runs_total[('job_name', '{job}'), ('outcome', '{outcome}')]"


@pytest.fixture
def jobs(home: Home) -> Home:
    write_job(home, "good", "schedule: every day at 12:00", "script: echo fine")
    write_job(home, "bad", "schedule: every day at 12:00", "script: exit 3", "retries: 0")
    return home


def test_a_scrape_counts_what_ran_whoever_ran_it(jobs: Home) -> None:
    with Serving(jobs, env=ON_ANY_PORT) as serving:
        before = series(fetched(serving))
        assert before[runs_of("good", "ok")] == before[runs_of("bad", "failed")] == 0.0
        assert before["hermes_cron_jobs[('state', 'active')]"] == 2
        due = before["hermes_cron_job_next_run_timestamp_seconds[('job_name', 'good')]"]
        assert due == pytest.approx(1_796_126_400)  # 2026-12-01 12:00 UTC
        serving.due("12:00", runs=2)
        assert serving.cli("run", "good").rc == 0  # a process of its own, which lives for a moment
        after = series(fetched(serving))
        assert after[runs_of("good", "ok")] == 2
        assert after[runs_of("bad", "failed")] == 1
        assert after["hermes_cron_job_occurrences_total[('job_name', 'good'), ('state', 'ran')]"] == 1
        assert after["hermes_cron_job_start_lateness_seconds_count[]"] == 2
        assert after["hermes_cron_job_last_success_timestamp_seconds[('job_name', 'good')]"] > due - 1
        assert "hermes_cron_job_last_success_timestamp_seconds[('job_name', 'bad')]" not in after
        printed = series(serving.cli("metrics").out)
        assert counted(printed) == counted(after)
        serving.stop()
        serving.start()
        again = series(fetched(serving))
        assert counted(again) == counted(after), "a restart loses nothing and begins nothing anew"
        assert again[runs_of("good", "ok")] == 2


def test_status_says_where_they_are(jobs: Home) -> None:
    """The address that is served, whatever port config.toml leaves to the system."""
    with Serving(jobs, env=ON_ANY_PORT) as serving:
        served = address(serving)
        assert not served.endswith(":0")
        (line,) = [it for it in serving.cli("status").out.splitlines() if it.startswith("scheduler")]
        assert line.endswith(f" ago), metrics on {served}")
        assert [each["metrics"] for each in serving.ask("status")["schedulers"]] == [served]
        owners = list(jobs.owners.glob("*.lock"))
        for lost in owners:
            lost.unlink()  # somebody tidied up: the service puts it back, with all that it says
        until(lambda: serving.ask("status")["schedulers"], "it is back")
        assert [each["metrics"] for each in serving.ask("status")["schedulers"]] == [served]
        serving.stop()
        serving.start()
        assert [each["metrics"] for each in serving.ask("status")["schedulers"]] == [address(serving)]
    with Serving(jobs) as serving:  # off
        assert "metrics" not in serving.cli("status").out
        assert [each["metrics"] for each in serving.ask("status")["schedulers"]] == [None]


def test_a_removed_job_is_gone_from_the_next_scrape(jobs: Home) -> None:
    with Serving(jobs, env=ON_ANY_PORT) as serving:
        serving.due("12:00", runs=2)
        assert serving.cli("remove", "bad", "-y").rc == 0
        until(lambda: 'job_name="bad"' not in fetched(serving), "the series of a removed job are gone")
        assert series(fetched(serving))[runs_of("good", "ok")] == 1


def test_only_the_metrics_are_served(jobs: Home) -> None:
    with Serving(jobs, env=ON_ANY_PORT) as serving:
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetched(serving, "/jobs/good.md")
        with refused.value:  # it holds the connection
            assert refused.value.code == 404
        head = urllib.request.Request(f"http://{address(serving)}/metrics", method="HEAD")
        with urllib.request.urlopen(head, timeout=30) as answer:
            assert int(answer.headers["Content-Length"]) > 1000
            assert answer.read() == b""


def test_an_address_that_is_taken_is_said_and_the_jobs_run_all_the_same(jobs: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with Serving(jobs, env={"HERMES_CRON_METRICS_LISTEN": listen}) as serving:
            serving.due("12:00", runs=2)
            assert f"MetricsNotServed address={listen} error=Address already in use" in serving.said.read_text()


def test_an_address_that_is_none_is_refused_with_its_line(home: Home, jobs: Home) -> None:
    serving = Serving(jobs, env={"HERMES_CRON_METRICS_LISTEN": "9464"})
    done = serving.cli("serve", "--once")
    assert done.rc == 78
    assert "HERMES_CRON_METRICS_LISTEN" in done.err

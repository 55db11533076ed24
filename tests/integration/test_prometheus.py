"""A real Prometheus scrapes a real scheduler: each panel and each rule finds what it asks for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.observe import dashboards, rules
from hermes_cron.testing import StubServer
from tests.integration.test_metrics import ON_ANY_PORT, address
from tests.serving import Serving, until, write_job

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMETHEUS is None or PROMTOOL is None, reason="needs Debian's package prometheus")
ROOT = Path(__file__).parents[2] / "dashboards"
QUERIES = [
    (f"{name}: {panel['title']}", target["expr"])
    for name, text in dashboards.files().items()
    for panel in json.loads(text)["panels"]
    for target in panel["targets"]
]
CONFIG = """timezone = "UTC"
[model]
name = "m"
[prices.m]
input = 1.0
output = 2.0
[targets.log]
kind = "file"
path = "sent.md"
"""
NOTHING_YET = ("_skill_last_used", "Of them good")
"""No skill was followed on that day: the share of nothing is nothing."""


def promtool(*argv: str, stdin: str | None = None, cwd: Path = ROOT / "rules") -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, *argv], input=stdin, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def as_grafana_asks(expr: str) -> str:
    return re.sub(r"\$\w+", ".*", expr.replace("$__rate_interval", "5m").replace("$__interval", "1m"))


def test_the_rules_are_sound_and_do_what_their_tests_say() -> None:
    checked = promtool("check", "rules", "recording.yml", "alerts.yml")
    assert checked.returncode == 0, checked.stderr
    tested = promtool("test", "rules", "tests.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    named = set(re.findall(r"alertname: (\w+)", (ROOT / "rules" / "tests.yml").read_text()))
    assert (
        {"JobFailing", "SchedulerStalled", "HermesCronDown", "JobUntrue"} <= named <= {it.name for it in rules.ALERTS}
    )


def test_each_query_is_one_that_prometheus_understands(tmp_path: Path) -> None:
    group = [{"record": f"q{at}", "expr": as_grafana_asks(expr)} for at, (_, expr) in enumerate(QUERIES)]
    (tmp_path / "q.yml").write_text(json.dumps({"groups": [{"name": "q", "rules": group}]}))
    checked = promtool("check", "rules", "q.yml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    home = Home(tmp_path_factory.mktemp("day") / "home")
    for folder in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
        folder.mkdir(parents=True, exist_ok=True)
    home.config.write_text(CONFIG)
    write_job(home, "good", "schedule: every day at 12:00", "script: echo fine", "deliver: [log]")
    write_job(home, "bad", "schedule: every day at 12:00", "script: exit 3", "retries: 0")
    write_job(home, "asks", "schedule: every day at 12:00", prompt="say hello")
    write_job(home, "curator", "schedule: every day at 12:00", "action: curate")
    with StubServer({"replies": [{"text": "hello"}] * 20}) as stub:
        env = {**ON_ANY_PORT, "OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k"}
        with Serving(home, env=env) as running:
            assert running.cli("snapshots", "create").rc == 0
            running.due("12:00", runs=4)
            yield running


def test_the_lint_of_prometheus_finds_nothing(serving: Serving) -> None:
    text = serving.cli("metrics").out
    checked = promtool("check", "metrics", stdin=text)
    assert (checked.returncode, checked.stderr, checked.stdout) == (0, "", "")


class Server:
    """A Prometheus of this test: its own folder, a free port of loopback, a scrape a second."""

    def __init__(self, folder: Path, target: str) -> None:
        assert PROMETHEUS is not None
        for name in ("recording.yml", "alerts.yml"):
            shutil.copy(ROOT / "rules" / name, folder)
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["recording.yml", "alerts.yml"],
            "scrape_configs": [{"job_name": "hermes-cron", "static_configs": [{"targets": [target]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self.said = folder / "said"
        argv = [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                "--web.listen-address=127.0.0.1:0"]  # fmt: skip
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(argv, stdout=said, stderr=said)
        until(lambda: self._port() is not None, lambda: f"it listens: {self.said.read_text()[-500:]}")

    def _port(self) -> str | None:
        found = re.search(r'msg="Listening on" address=127\.0\.0\.1:(\d+)', self.said.read_text())
        return None if found is None else found[1]

    def ask(self, expr: str) -> list[dict[str, Any]]:
        url = f"http://127.0.0.1:{self._port()}/api/v1/query?{urllib.parse.urlencode({'query': expr})}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return list(json.load(answer)["data"]["result"])
        except (urllib.error.URLError, ConnectionError):
            return []


@pytest.fixture(scope="module")
def prometheus(serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("prometheus"), address(serving))
    try:
        until(lambda: len(server.ask("count_over_time(up[1m]) > 3")) == 1, "four scrapes")
        for job in ("good", "asks"):  # seen by scrapes before and after: an increase
            assert serving.cli("run", job).rc == 0
        until(lambda: server.ask('increase(hermes_cron_job_runs_total{job_name="asks"}[1m]) > 0'), "a run is seen")
        yield server
    finally:
        server.process.terminate()
        server.process.wait(60)


def test_every_panel_has_series_after_a_day(prometheus: Server) -> None:
    assert prometheus.ask("up")[0]["value"][1] == "1"
    empty = {where for where, expr in QUERIES if not prometheus.ask(as_grafana_asks(expr))}
    known = {where for where, expr in QUERIES if any(part in where + expr for part in NOTHING_YET)}
    assert empty - known == set()


def test_every_recorded_figure_has_series(prometheus: Server) -> None:
    names = [each.name for each in rules.RECORDS if not each.name.startswith("skill:")]
    until(lambda: all(prometheus.ask(name) for name in names), "the recording rules have figures")


def test_the_alerts_are_loaded_and_quiet_where_all_is_well(prometheus: Server) -> None:
    firing = {it["metric"]["alertname"] for it in prometheus.ask('ALERTS{alertstate="firing"}')}
    assert "HermesCronDown" not in firing
    assert "JobFailing" not in firing

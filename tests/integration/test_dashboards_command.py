"""What ``dashboards export`` leaves in a folder."""

from __future__ import annotations

import json
from pathlib import Path

from hermes_cron.home import Home
from hermes_cron.observe import dashboards, rules
from tests.conftest import RunCli


def test_the_files_of_the_code_are_written(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("dashboards", "export", str(tmp_path / "new" / "d"))
    assert done.rc == 0, done.err
    made = {**dashboards.files(), **rules.files()}
    assert {name: (tmp_path / "new" / "d" / name).read_text() for name in made} == made
    assert "hermes-cron-jobs.json" in done.out
    assert f"{tmp_path}/new/d/rules/alerts.yml" in done.err


def test_no_home_is_needed_and_json_says_what_was_written(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("dashboards", "export", str(tmp_path / "d"), "--json", at=Home(tmp_path / "none"))
    assert done.rc == 0, done.err
    assert "rules/recording.yml" in json.loads(done.out)["files"]


def test_a_file_in_the_way_is_named(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    done = run_cli("dashboards", "export", str(tmp_path / "f"))
    assert (done.rc, (tmp_path / "f").read_text()) == (2, "mine")
    assert "is a file" in done.err

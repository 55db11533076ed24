"""`show`, and the verbs that change a job: what they print and what they leave on the disk."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import Screens, made

FILE = """\
---
# INC-4711
schedule: every day 9am   # before the stand-up
timezone: Asia/Shanghai
tags: [dba]
limits: {minutes: 5, iterations: 9}
---
inspect prod db
"""


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    screens = made(home, run_cli)
    screens.job("daily", FILE)
    return screens


def test_the_screen(screens: Screens) -> None:
    lines = screens("show", "dai").out.splitlines()
    assert lines[:-1] == [
        "daily",
        "  when       every day at 09:00, Asia/Shanghai",
        "  next       Tue 2026-12-01 09:00",
        "  task       inspect prod db",
        "  databases  prod",
        "  runs by    playbook inspect-database; no model, no tokens",
        "  missed     latest (grace half the period, 2 min to 2 h)",
        "  overlap    skip",
        "  limits     5 min, 9 model calls",
        "  again      3 more after 5 min, doubling",
        "  is held    after 5 failures in a row",
        "  keeps      200 runs, 90 days",
        "  tags       dba",
        "  last run   never",
        "  result     ~/home/outputs/daily/",
        "  file       ~/home/jobs/daily.md",
    ]
    assert lines[-1].startswith("  id         ")


PROVED = """\
---
schedule: every day 9am
timezone: Asia/Shanghai
databases: [prod]
fallback_models: [small-1]
limits: {minutes: 5, iterations: 9, tokens: 60000, cost_usd: 0.2, cost_usd_per_day: 0.5}
retries: {attempts: 1, backoff: 90s, on: [interrupted]}
pause_after: 0
checks:
  - sql: {database: prod, query: "select count(*) from orders", at_least: 0}
  - report: {matches: "Checked"}
on_check_failure: {attempts: 1, notify: [phone]}
deliver: {to: [ops-chat], when: change, title: "{{ job.name }}"}
ping: https://hc.example/0f9d
---
inspect prod db
"""


def test_what_proves_a_run_and_who_hears_of_it(screens: Screens, home: Home) -> None:
    with home.config.open("a") as config:
        for name in ("ops-chat", "phone"):
            config.write(f'[targets.{name}]\nkind = "file"\npath = "{name}.jsonl"\n')
    screens.job("proved", PROVED)
    screens("check")
    shown = screens("show", "proved").out
    assert [line for line in shown.splitlines() if line.startswith("  ") and "https" in line] == [], "as good as a key"
    wanted = """\
  else by    small-1
  missed     latest (grace half the period, 2 min to 2 h)
  overlap    skip
  limits     5 min, 9 model calls, 60,000 tokens, 0.20 USD a run, 0.50 USD a day
  again      1 more after 90 s, doubling, on interrupted
  is held    never for its failures
  checks     sql prod: select count(*) from orders, at_least 0
             report matches "Checked"
             on failure: the agent is asked again, 1 at most
             on failure: told to phone
  sends      reports that differ from the last to ops-chat, titled {{ job.name }}
  pings      a URL
"""
    assert wanted in shown


LEARNING = """\
---
schedule: every friday 5pm
timezone: Asia/Shanghai
model: gpt-5-mini
context: {own: last, from: [daily], since: 7d, max_chars: 5000}
memory: read-only
learn: propose
---
Write the week's page.
"""


def test_what_a_run_reads_of_earlier_ones_and_may_keep(screens: Screens) -> None:
    screens.job("weekly", LEARNING)
    assert (
        """\
  reads     its last report, all of daily, 7 days at most, up to 5,000 characters
  learns    memory is only read, skills after a yes
"""
        in screens("show", "weekly").out
    )
    assert (
        """\
  读取      自己的上一份报告，daily 的全部报告，最早 7 天前，最多 5,000 个字符
  学习      记忆只读，技能（先问人）
"""
        in screens("show", "weekly", "--lang", "zh").out
    )
    job = json.loads(screens("show", "weekly", "--json").out)["job"]
    assert job["context"] == {"own": 1, "jobs": ["daily"], "since": 7 * 86_400_000_000, "max_chars": 5000}
    assert (job["memory"], job["learn"]) == ("read-only", "propose")


def test_json(screens: Screens) -> None:
    found = json.loads(screens("show", "daily", "--json").out)
    assert (found["name"], found["runs_by"]["skill"], found["job"]["databases"]) == (
        "daily", "inspect-database", ["prod"],
    )  # fmt: skip


def test_a_broken_file_shows_every_fault(screens: Screens) -> None:
    screens("list")
    screens.job("daily", FILE.replace("tags", "tagz").replace("minutes", "minuten"))
    shown = screens("show", "daily").out
    assert 'jobs/daily.md:5 unknown key "tagz", did you mean "tags"?' in shown
    assert 'jobs/daily.md:6 unknown key "minuten" in limits, did you mean "minutes"?' in shown
    assert "The last good version is in force" in shown


def test_a_name_a_beginning_or_an_id_find_a_job(screens: Screens) -> None:
    screens.job("daily-2", FILE)
    uid = json.loads(screens("show", "daily-2", "--json").out)["uid"]
    assert screens("show", uid[:8]).out.startswith("daily-2\n")
    assert screens("show", "DAILY").out.startswith("daily\n")
    assert "candidates  daily, daily-2" in screens("show", "dail", rc=3).err
    assert screens("show", "dialy", rc=3).err.startswith('error: no job "dialy"\n  near  daily')


def test_edit_keeps_the_text_of_the_file(screens: Screens, home: Home) -> None:
    out = screens("edit", "daily", "--schedule", "tomorrow 8am", "--minutes", "7", "--tag", "a,b").out
    assert out == (
        "Changed daily\n  when    on 2026-12-02 at 08:00, Asia/Shanghai\n  next    Wed 2026-12-02 08:00\n"
        "  cost    nothing; no model, 0 tokens\n  result  ~/home/outputs/daily/ only; it is sent to nobody\n"
    )
    assert (home.jobs / "daily.md").read_text() == (
        FILE.replace("every day 9am", '"2026-12-02T08:00+08:00"')
        .replace("[dba]", "[a, b]")
        .replace("minutes: 5", "minutes: 7")
    )
    assert screens("edit", "daily", "--tag", "a,b").out == "Nothing changed.\n"


def test_a_refused_edit_changes_nothing(screens: Screens, home: Home) -> None:
    assert "jobs/daily.md:" in screens("edit", "daily", "--overlap", "nope", rc=2).err
    assert "schedule not understood" in screens("edit", "daily", "--schedule", "every blursday", rc=2).err
    assert "exclude" in screens("edit", "daily", "--script", "df", rc=2).err
    assert (home.jobs / "daily.md").read_text() == FILE


def test_a_rename_keeps_the_job(screens: Screens, home: Home) -> None:
    uid = json.loads(screens("show", "daily", "--json").out)["uid"]
    screens("edit", "daily", "--name", "morning", "--prompt", "look twice")
    found = json.loads(screens("show", "morning", "--json").out)
    assert (found["uid"], found["job"]["prompt"]) == (uid, "look twice")
    assert [path.name for path in home.jobs.iterdir()] == ["morning.md"]
    screens.job("taken", FILE)
    assert "exists already" in screens("edit", "morning", "--name", "TAKEN", rc=5).err


def editor(folder: Path, script: str) -> str:
    path = folder / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def test_an_editor_s_text_is_judged_before_it_replaces(screens: Screens, home: Home, tmp_path: Path) -> None:
    screens("edit", "daily", EDITOR=editor(tmp_path, "sed -i s/9am/7am/ $1"))
    assert (home.jobs / "daily.md").read_text() == FILE.replace("9am", "7am")
    refused = screens("edit", "daily", EDITOR=editor(tmp_path, "sed -i s/schedule/shedule/ $1"), rc=2)
    assert 'jobs/daily.md:3 unknown key "shedule"' in refused.err
    kept = Path(refused.err.split("your text")[1].split()[0])
    assert kept.read_text() == FILE.replace("9am", "7am").replace("schedule", "shedule")
    assert (home.jobs / "daily.md").read_text() == FILE.replace("9am", "7am")
    kept.unlink()
    kept.parent.rmdir()


def test_an_edit_that_loses_a_race_keeps_both_texts(screens: Screens, home: Home, tmp_path: Path) -> None:
    by_hand = f"echo by hand >> {shlex.quote(str(home.jobs / 'daily.md'))}; sed -i s/9am/7am/ $1"
    lost = screens("edit", "daily", EDITOR=editor(tmp_path, by_hand), rc=5)
    kept = Path(lost.err.split("your text")[1].split()[0])
    assert kept.read_text() == FILE.replace("9am", "7am")
    assert (home.jobs / "daily.md").read_text() == FILE + "by hand\n"
    kept.unlink()
    kept.parent.rmdir()


def test_an_edit_that_no_snapshot_could_be_made_for_keeps_the_text(
    screens: Screens, home: Home, tmp_path: Path
) -> None:
    screens("pause", "daily")
    screens("resume", "daily")
    (home.history / "HEAD").unlink()
    lost = screens("edit", "daily", EDITOR=editor(tmp_path, "sed -i s/9am/7am/ $1"), rc=1)
    assert lost.err.startswith("error: no snapshot could be made, so nothing was changed: ")
    kept = Path(lost.err.split("your text")[1].split()[0])
    assert kept.read_text() == FILE.replace("9am", "7am")
    assert (home.jobs / "daily.md").read_text() == FILE
    kept.unlink()
    kept.parent.rmdir()


def test_pause_and_resume_touch_one_line(screens: Screens, home: Home) -> None:
    said = screens("pause", "daily", "holiday").out
    assert said.startswith("daily is paused: holiday (")
    text = (home.jobs / "daily.md").read_text()
    assert text.startswith(FILE.split("---\ninspect", maxsplit=1)[0])
    assert 'paused: "holiday (' in text
    assert screens("pause", "daily").out.startswith("daily is paused already: holiday (")
    assert screens("resume", "daily").out == "daily goes on, next Tue 2026-12-01 09:00\n"
    assert (home.jobs / "daily.md").read_text() == FILE
    assert screens("resume", "daily").out == "daily was not paused, next Tue 2026-12-01 09:00\n"


def test_resume_ends_a_hold(screens: Screens) -> None:
    screens("list")
    with screens.store() as store:
        store.execute("UPDATE jobs SET held_reason = 'it failed', held_at = settled_until, next_due = NULL")
    assert "held" in screens("list").out
    assert screens("resume", "daily").out == "daily goes on, next Tue 2026-12-01 09:00\n"
    assert screens("list").out.splitlines()[1].split()[:3] == ["daily", "daily", "09:00"]


def test_a_removal_says_how_to_take_it_back(screens: Screens, home: Home) -> None:
    assert "add -y" in screens("remove", "daily", rc=2).err
    said = screens("remove", "daily", "-y").out.splitlines()
    assert said[0] == "daily is removed; its history stays."
    assert screens("list").out.startswith("No jobs.")
    back = shlex.split(said[1].removeprefix("  restore  hermes-cron "))
    assert "  job  daily comes back\n" in screens(*back, "-y").out
    assert (home.jobs / "daily.md").read_text() == FILE
    assert screens("show", "daily").out.startswith("daily\n")


def test_check_names_every_fault_with_its_line(screens: Screens, home: Home, tmp_path: Path) -> None:
    assert screens("check").out == "1 job file, no fault\n"
    screens.job("bad", "---\nshedule: x\noverlap: y\n---\nx\n")
    screens.job("DAILY", FILE)
    done = screens("check", rc=2)
    assert done.out.splitlines() == [
        "jobs/daily.md:1 the same name as jobs/DAILY.md, in another case",
        'jobs/bad.md:2 unknown key "shedule", did you mean "schedule"?',
        'jobs/bad.md:3 overlap: expected one of skip, queue, cancel-running, allow, not "y"',
    ]
    found = json.loads(screens("check", "--json", rc=2).out)
    assert (found["ok"], found["files"], len(found["faults"])) == (False, 3, 3)
    elsewhere = tmp_path / "repo"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text(FILE)
    assert screens("check", str(elsewhere)).out == "1 job file, no fault\n"
    assert screens("check", "nowhere", rc=3).err.startswith("error: no file or folder nowhere")

"""The echo of `add`, byte for byte, in both languages, and what it says when it does not understand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hermes_cron.home import Home
from tests.golden.screens import START, Screens, insert_run, made


@pytest.fixture
def screens(home: Home, run_cli: Callable[..., Any]) -> Screens:
    return made(home, run_cli)


ENGLISH = f"""\
Added inspect-prod-db
  when      every day at 09:00, Asia/Shanghai
  next      Tue 2026-12-01 09:00, Wed 2026-12-02 09:00, Thu 2026-12-03 09:00
  task      inspect prod db
  database  prod (SQLite {sqlite3.sqlite_version}, account can only read)
  runs by   playbook inspect-database; no model, no tokens
  result    ~/home/outputs/inspect-prod-db/ only; it is sent to nobody
  file      ~/home/jobs/inspect-prod-db.md

No scheduler is running: nothing starts by itself yet.
  try it now   hermes-cron run inspect-prod-db
  for good     hermes-cron serve
  to a chat    hermes-cron targets add NAME
"""

CHINESE = f"""\
已添加 巡检-prod-数据库
  时间    每个工作日 09:00（Asia/Shanghai；周一至周五，未计节假日）
  接下来  2026-12-01 周二 09:00，2026-12-02 周三 09:00，2026-12-03 周四 09:00
  任务    巡检 prod 数据库
  数据库  prod（SQLite {sqlite3.sqlite_version}，只读账号）
  执行    playbook inspect-database；不用模型，不花 token
  结果    只存到 ~/home/outputs/巡检-prod-数据库/，不发送给任何人
  文件    ~/home/jobs/巡检-prod-数据库.md

调度器没有运行：任务还不会自己启动。
  现在试一次   hermes-cron run 巡检-prod-数据库
  长期运行     hermes-cron serve
  发到群       hermes-cron targets add NAME
"""


def test_english_in_english_out(screens: Screens, home: Home) -> None:
    done = screens("add", "every day 9am: inspect prod db")
    assert (done.out, done.err) == (ENGLISH, "")
    assert (home.jobs / "inspect-prod-db.md").read_text() == (
        "---\nschedule: every day 9am\ntimezone: Asia/Shanghai\ndatabases: [prod]\n---\ninspect prod db\n"
    )


def test_chinese_in_chinese_out(screens: Screens) -> None:
    assert screens("add", "每个工作日早上9点：巡检 prod 数据库").out == CHINESE


def test_with_a_model_two_lines_differ(screens: Screens, home: Home) -> None:
    with home.config.open("a") as config:
        config.write("[limits]\ncost_usd = 0.50\n")
    done = screens("add", "every day 9am: inspect prod db", HERMES_CRON_MODEL="gpt-5-mini")
    changed = [line for line in done.out.splitlines() if line not in ENGLISH.splitlines()]
    assert changed == [
        "  runs by   gpt-5-mini with skill inspect-database; falls back to nothing",
        "  cost      0.40 to 0.90 USD a month (guess: 30 runs x 18k tokens, no history; cap 0.50 USD a run)",
    ]
    assert "model: gpt-5-mini\n" in (home.jobs / "inspect-prod-db.md").read_text(), "the home's model is copied"


def test_the_cost_is_said_in_chinese_and_unknown_is_said(screens: Screens, home: Home) -> None:
    said = screens("add", "每个工作日早上9点：看日志", HERMES_CRON_MODEL="gpt-5-mini").out
    assert "  费用    每月 0.29 至 0.66 美元（估计：22 次 x 18k token，尚无历史）\n" in said
    said = screens("add", "every monday 9am: look", HERMES_CRON_MODEL="my-own").out
    assert "  cost     unknown: no price for my-own (guess: 4 runs x 18k tokens, no history)\n" in said
    said = screens("add", "in 2h: look", "--json", HERMES_CRON_MODEL="my-own").out
    assert json.loads(said)["cost"] == {
        "tokens": {"p50": 18000, "p90": 41250}, "usd": None, "runs": 1, "basis": "guess", "runs_seen": 0,
    }  # fmt: skip


def test_a_job_without_a_model_costs_nothing(screens: Screens) -> None:
    said = json.loads(screens("add", "every day 9am: inspect prod db", "--json").out)
    assert (said["cost"]["tokens"], said["cost"]["usd"]) == ({"p50": 0, "p90": 0}, {"p50": 0, "p90": 0})
    assert "cost" not in screens("add", "every minute", "--script", "df", HERMES_CRON_MODEL="gpt-5-mini").out
    edited = screens("edit", "df", "--schedule", "every hour").out
    assert "  cost    nothing; no model, 0 tokens\n" in edited


TARGETS = """
[targets.ops-chat]
kind = "webhook"
url = "https://chat.example/hook"
[targets.team]
kind = "file"
path = "reports.md"
"""


def test_a_target_gets_the_report_and_a_wrong_one_is_refused(screens: Screens, home: Home) -> None:
    with home.config.open("a") as config:
        config.write(TARGETS)
    said = screens("add", "每天早上9点：巡检 prod 数据库", "--deliver", "ops-chat").out
    assert "  结果    发到 ops-chat（webhook），并存一份到 outputs/巡检-prod-数据库/\n" in said
    assert "  发到群" not in said
    nobody = screens("add", "every day 9am: look").out
    assert "  to a chat    hermes-cron edit look --deliver ops-chat\n" in nobody
    edited = screens("edit", "look", "--deliver", "ops-chat", "--deliver", "team").out
    assert "  result  sent to ops-chat (webhook), team (file), and kept in outputs/look/\n" in edited
    assert "deliver: [ops-chat, team]\n" in (home.jobs / "look.md").read_text()
    assert 'no target "ops-chta"' in screens("add", "every day 9am: x", "--deliver", "ops-chta", rc=2).err
    screens.job("when", "---\nschedule: every day 9am\ndeliver: {to: [team], when: change}\n---\nx\n")
    edited = screens("edit", "when", "--deliver", "ops-chat").out
    assert "  result  sent to ops-chat (webhook) when it changes, and kept in outputs/when/\n" in edited
    assert "when: change" in (home.jobs / "when.md").read_text()


def test_history_speaks_before_a_guess(screens: Screens, home: Home) -> None:
    """Five runs of another job with the model are something; the job's own three say more."""
    env: dict[str, Any] = {"HERMES_CRON_MODEL": "gpt-5-mini"}
    screens("add", "every day 9am: look", **env)
    with screens.store() as store:
        uid = store.execute("SELECT uid FROM jobs").fetchone()[0]
        for count in range(1, 6):
            insert_run(
                store, uid, f"r000000{count}", START - timedelta(days=count), model="gpt-5-mini-2025-08-07",
                tokens_input=8000 * count, tokens_output=2000 * count, cost_usd=count / 100, iterations=2,
            )  # fmt: skip
    said = screens("add", "every monday 9am: read", **env).out
    assert "  cost     0.12 to 0.18 USD a month (like 5 runs of other jobs: 4 runs x 30k tokens)\n" in said
    said = screens("add", "every monday 9am: write", HERMES_CRON_MODEL="gpt-5").out
    assert "(guess: " in said, "another model's runs say nothing of this one's"
    said = screens("edit", "look", "--schedule", "every day 10am", **env).out
    assert "  cost    0.90 to 1.25 USD a month (30 runs x 30k tokens, as its last 5 runs)\n" in said
    said = screens("edit", "look", "--model", "gpt-5-nano").out
    assert "USD a month (30 runs x 30k tokens, as its last 5 runs)\n" in said
    assert "  cost    0.11 to" in said, "its tokens at the other model's price"


MONTHLY_CAP = "[budget]\ncost_usd_per_month = 5.0\n"


def test_a_dear_schedule_under_a_small_cap_is_refused_with_a_cheaper_one(screens: Screens, home: Home) -> None:
    with home.config.open("a") as config:
        config.write(MONTHLY_CAP)
    env: dict[str, Any] = {"HERMES_CRON_MODEL": "claude-opus-4-5"}
    refused = screens("add", "*/1 * * * *: check the build", rc=4, **env)
    assert refused.err == (
        "error: check-the-build would use about 8,208.00 USD a month, above the cap of 5.00 USD "
        "(budget.cost_usd_per_month)\n"
        "  cheaper   every weekday 9am\n"
        "  or raise  hermes-cron config set budget.cost_usd_per_month 8208\n"
    )
    assert list(home.jobs.iterdir()) == []
    cheaper = json.loads(screens("add", "*/1 * * * *: check the build", "--json", rc=4, **env).err)["error"]
    assert cheaper["code"] == "BudgetExceeded"
    screens("add", f"{cheaper['cheaper']}: check the build", **env)
    assert (
        "  更省        每个工作日早上9点\n" in screens("add", "每分钟：检查构建", rc=4, LANG="zh_CN.UTF-8", **env).err
    )
    screens("add", "*/1 * * * *: check the build", HERMES_CRON_MODEL="my-local", rc=4)
    assert "cannot" not in screens("add", "*/1 * * * *", "--script", "df", **env).err
    screens("config", "set", "budget.cost_usd_per_month", "8208")
    screens("add", "*/1 * * * *: check the build", "--dry-run", **env)


def test_an_edit_that_makes_nothing_dearer_is_not_refused(screens: Screens, home: Home) -> None:
    env: dict[str, Any] = {"HERMES_CRON_MODEL": "claude-opus-4-5"}
    screens("add", "every hour: look", **env)
    with home.config.open("a") as config:
        config.write(MONTHLY_CAP)
    screens("edit", "look", "--description", "the same as before", **env)
    refused = screens("edit", "look", "--schedule", "every 30 minutes", rc=4, **env)
    assert "  cheaper   every weekday 9am\n" in refused.err
    assert "every hour" in (home.jobs / "look.md").read_text()
    screens("edit", "look", "--schedule", "every 2 hours", **env)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (
            "every blursday 9am: x",
            'error: schedule not understood: "every blursday 9am"\n'
            "  understood  every ... 9am\n"
            "  left over   blursday\n"
            '  examples    "every friday 9am: ..."   "every weekday 09:00: ..."   "0 9 * * 5: ..."\n',
        ),
        (
            "30m: check the build",
            'error: "30m" can mean two things\n'
            '  once    "in 30m: check the build"\n'
            '  always  "every 30m: check the build"\n',
        ),
        (
            "every day 9am: inspect prdo db",
            'error: no database "prdo"\n  known    prod\n  add one  hermes-cron db add prdo\n',
        ),
        ("every day 9am:", 'error: nothing to do after "every day 9am:"\n  try  "every day 9am: what to do"\n'),
    ],
)
def test_what_is_not_understood_is_refused_and_nothing_is_written(
    screens: Screens, home: Home, sentence: str, said: str
) -> None:
    done = screens("add", sentence, rc=2)
    assert (done.out, done.err) == ("", said)
    assert list(home.jobs.iterdir()) == []


def test_json(screens: Screens) -> None:
    added = json.loads(screens("add", "in 2h: look", "--paused", "--json").out)
    assert (added["name"], added["added"], added["schedule"]) == ("look", True, ["2026-12-01T10:00+08:00"])
    assert added["next"] == ["2026-12-01T10:00:00+08:00"]
    error = json.loads(screens("add", "30m: x", "--json", rc=2).err)["error"]
    assert (error["code"], error["readings"]) == ("ScheduleAmbiguous", [["once", "in 30m"], ["always", "every 30m"]])


def test_a_taken_name_gets_a_number_and_a_given_one_is_refused(screens: Screens, home: Home) -> None:
    for _ in range(2):
        screens("add", "every day 9am: look", "-q")
    assert sorted(path.stem for path in home.jobs.iterdir()) == ["look", "look-2"]
    assert "exists already" in screens("add", "every day 9am: look", "--name", "LOOK", rc=5).err
    same = screens("add", "every day 8am: look", "--name", "look", "--if-not-exists")
    assert same.out == "look exists already; nothing was changed\n"


def test_a_dry_run_writes_nothing(screens: Screens, home: Home) -> None:
    done = screens("add", "every day 9am: look", "--dry-run")
    assert done.out.startswith("Would add look\n")
    assert done.out.endswith("\nNothing was written.\n")
    assert list(home.jobs.iterdir()) == []


def test_options_become_keys(screens: Screens, home: Home) -> None:
    screens(
        "add", "every 5 minutes", "--script", "df -P", "--name", "disk", "--tag", "ops", "--catch-up", "none",
        "--overlap", "queue", "--timeout", "20s", "--minutes", "5", "--env", "LANG=C", "--description", "free space",
        "--tz", "UTC", "--max-runs", "9", "--jitter", "30s",
    )  # fmt: skip
    assert (home.jobs / "disk.md").read_text() == (
        "---\ndescription: free space\nschedule: every 5 minutes\ntimezone: UTC\nmax_runs: 9\n"
        'jitter: "30s"\ncatch_up: none\noverlap: queue\ntags: [ops]\nscript: df -P\ntimeout: "20s"\nenv: {LANG: C}\n'
        "limits: {minutes: 5}\n---\n"
    )


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--overlap", "skp", "overlap: expected one of"),
        ("--skill", "nope", 'skills: no skill "nope"'),
        ("--tool", "nope", 'tools: no tool "nope"'),
        ("--db", "nope", 'no database "nope"'),
        ("--tz", "Shanghai", 'no time zone "Shanghai", did you mean "Asia/Shanghai"?'),
        ("--env", "TOKEN=abc", "secrets do not belong in job files"),
        ("--name", "my_job", 'for example "my-job"'),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_is_written(
    screens: Screens, home: Home, option: str, value: str, said: str
) -> None:
    assert said in screens("add", "every day 9am: look", option, value, rc=2).err
    assert list(home.jobs.iterdir()) == []


def test_a_database_may_be_set_up_after_the_job(screens: Screens, home: Home) -> None:
    config = home.config.read_text()
    home.config.write_text('timezone = "Asia/Shanghai"\n')
    added = screens("add", "every day 9am: inspect prod db").out
    assert "  database  no database is set up yet: hermes-cron db add prod\n" in added
    assert "databases: [prod]\n" in (home.jobs / "inspect-prod-db.md").read_text()
    assert 'databases: no database "prod"' in screens("check", rc=2).out
    screens("edit", "inspect-prod-db", "--tag", "dba")
    home.config.write_text(config)
    assert screens("check").out == "1 job file, no fault\n"
    assert "playbook inspect-database" in screens("show", "inspect-prod-db").out

"""What of the memory is said twice or holds no more: tables of what goes, and of what looks like it and stays."""

from __future__ import annotations

from datetime import date

import pytest

from hermes_cron.domain.entries import size
from hermes_cron.experience.consolidation import Step, Why, carried_out, partly_ended, plan
from hermes_cron.experience.memory import Target
from hermes_cron.experience.same import nearly
from hermes_cron.experience.superseded import supersedes
from hermes_cron.experience.validity import ended

TODAY = date(2026, 12, 1)


# --- said twice -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        ("Staging database is PostgreSQL 15 on host db1", "The staging database is PostgreSQL 15, on host db1."),
        ("user prefers short reports", "The user prefers short reports."),
        ("VPN: vpn.acme.io", "The VPN is vpn.acme.io"),
        ("每天 9 点发日报", "每天9点发日报。"),
        ("Deploys run on Friday", "Deploys run on Friday; exceptions need Anna's yes"),
        ("Deploy runs on Friday", "deploys run on Friday"),
        ("The gateway listens on gw1:8080", "gateway listens on gw1:8080"),
        ("用户喜欢简短的报告。", "用户喜欢简短报告"),
        ("生产库是PostgreSQL 15", "生产库的是 PostgreSQL 15。"),
        ("备份在每天三点", "备份在每天三点；恢复演练在每月一号"),
    ],
)
def test_nearly_the_same(goes: str, stays: str) -> None:
    assert nearly(goes, stays)


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        ("deploys run on Friday", "no deploys run on Friday"),
        ("deploys run on Friday", "We thought that deploys run on Friday. That was wrong."),
        ("Deploys run on Friday", "Deploys run on Friday until 2026-11-01; then on Monday"),
        ("prod replicates to staging", "staging replicates to prod"),
        ("the port is 5432", "the port is 5433"),
        ("config in /srv/App", "config in /srv/app"),
        ("Anna prefers tea", "Anne prefers tea"),
        ("load is above 5", "load is below 5"),
        ("x > 5 is an alarm", "x < 5 is an alarm"),
        ("deploys are frozen", "deploys are frozen?"),
        ("status of prod: ✅", "status of prod: ❌"),
        ("x != 5 is an alarm", "x = 5 is an alarm"),
        ("The user writes C", "The user writes C++"),
        ("これはテストです", "これがテストです"),
        ("서버는 부산에 있다", "서버는 서울에 있다"),
        ("Deploys run on Friday", "Deploys run on Friday; starting 2027-01-01"),
        ("wait 30 minutes", "wait 30 hours"),
        ("用户喜欢简短的报告", "用户不喜欢简短报告"),
        ("主库在上海", "主库以前在上海；现在在北京"),
        ("由王芳负责", "由王伟负责"),
    ],
)
def test_what_looks_the_same_and_is_not(goes: str, stays: str) -> None:
    assert not nearly(goes, stays)


# --- ended ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "day"),
    [
        ("Deploys are frozen until 2026-11-30.", "2026-11-30"),
        ("No deploys until 1 November 2026 because of the audit", "2026-11-01"),
        ("Use the old gateway (until 2026-11-01)", "2026-11-01"),
        ("Anna is on leave from 2026-10-01 to 2026-10-15", "2026-10-15"),
        ("The voucher is valid through 31.10.2026", "2026-10-31"),
        ("The code expires on Oct 5, 2026", "2026-10-05"),
        ("Freeze until November 2026", "2026-11-30"),
        ("The lab is in room 3.\nuntil: 2026-11-01", "2026-11-01"),
        ("Until 2026-11-01 deploys are frozen", "2026-11-01"),
        ("Do not deploy until 2026-11-01", "2026-11-01"),
        ("合同至2026年10月31日止", "2026-10-31"),
        ("通行证有效期至2026-11-01", "2026-11-01"),
        ("停机到2026-11-01为止", "2026-11-01"),
        ("The visitor badge works only on 2026-11-05", "2026-11-05"),
        ("封网至2026年11月1日为止", "2026-11-01"),
        ("临时账号有效期至2026年11月1日", "2026-11-01"),
        ("王芳2026年10月1日至2026年10月15日休假", "2026-10-15"),
        ("旧证书2026年11月1日到期", "2026-11-01"),
    ],
)
def test_what_says_until_when_it_holds_ends(entry: str, day: str) -> None:
    end = ended(entry, TODAY)
    assert end is not None
    assert (end.day.isoformat(), end.whole) == (day, True)


@pytest.mark.parametrize(
    "entry",
    [
        "Deploys are frozen until 2026-12-01",  # today is the last day
        "Deploys are frozen until 2027-01-05",
        "Freeze until Friday",
        "Migrated to PostgreSQL 15 on 2026-01-03",
        "The data spans 2019-01-01 to 2024-12-31",
        "db1 was primary until 2026-10-01",
        "The new API is not available until 2026-11-01",
        "The team decided on it on 2026-03-02",
        "Invoices from 2025-01-01 to 2025-12-31 lie in /srv/2025",
        "截至2026年11月1日，共有3台服务器",
        "截止2025年12月31日的数据在/srv",
        "Invoices until 2025-12-31 lie in /srv/archive",
        "Until 2026-10-01 db1 was primary",
        "2026年3月1日迁移到新机房",
        "接口在2026年11月1日之前不可用，没开始支持",
    ],
)
def test_what_only_has_a_date_stays(entry: str) -> None:
    assert ended(entry, TODAY) is None


@pytest.mark.parametrize(
    "entry",
    [
        "The old API stays until 2026-11-01; the new one is at https://x.io",
        "prod is PostgreSQL 15, staging is frozen until 2026-11-01",
        "On-call ends 2026-11-20, then Ben takes over",
        "旧接口有效期至2026年11月1日；新接口在 https://x.cn",
    ],
)
def test_of_what_ended_in_part_nothing_is_dropped_and_it_is_named(entry: str) -> None:
    assert plan([entry, "prod is db1"], TODAY) == ()
    assert partly_ended([entry, "prod is db1"], TODAY) == (entry,)


# --- superseded -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("prod database port is 5432", "prod database port is now 5433"),
        ("The prod database port is 5432", "The prod database port is 5433 (was 5432)."),
        ("prod uses db1", "prod no longer uses db1"),
        ("prod database is on db1", "prod database moved from db1 to db2"),
        ("prod database is on db1", "Since 2026-10-01 the prod database is on db2"),
        ("On-call lead is Anna", "On-call lead is now Ben"),
        ("port: 5432", "port: 5433 (was 5432)"),
        ("The prod port is 5432", "The prod port has changed to 5433"),
        ("生产库端口是5432", "生产库端口改为5433"),
        ("生产库端口是5432", "生产库端口现在是5433"),
        ("生产库端口是5432", "生产库端口由5432改为5433"),
        ("生产库使用db1", "生产库不再使用db1"),
        ("值班负责人是王芳", "值班负责人现在是李伟"),
    ],
)
def test_a_newer_entry_that_says_so_takes_the_place(older: str, newer: str) -> None:
    (step,) = plan([older, newer], TODAY)
    assert (step.sources, step.why, step.by) == ((older,), Why.SUPERSEDED, newer)
    assert plan([newer, older], TODAY) == (), "the older stand first"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("the port is 5432", "the port is 5433"),
        ("prod database is on db1", "From 2027-01-01 on the prod database is on db2"),
        ("staging port is 5432", "prod port is now 5433"),
        ("The prod primary is db1", "The prod replica is now db1"),
        ("db1 has 64 GB", "db2 now has 64 GB"),
        ("Reports go to finance", "Reports now also go to legal"),
        ("prod is on db1 and listens on 5432", "prod moved from db1 to db2"),
        ("Backups run daily", "Backups now do not run daily"),
        ("Anna likes tea", "Anna now likes tea with a lot of milk and two spoons of sugar"),
        ("测试库端口是5432", "生产库端口现在是5433"),
    ],
)
def test_another_value_without_a_word_of_change_stays(older: str, newer: str) -> None:
    assert not supersedes(newer, older, TODAY)


def test_what_was_superseded_is_listed_with_the_facts_that_go() -> None:
    (step,) = plan(["prod database port is 5432", "prod database port is now 5433"], TODAY)
    assert [(left.fact.text, left.why) for left in step.left] == [("5432", Why.SUPERSEDED)]


# --- carried out ------------------------------------------------------------------------------------------------------

ENTRIES = (
    "prod db port is 5432", "The user likes tea", "No deploys until 2026-11-01", "prod db port is now 5433",
    "the user likes tea.", "The user likes tea", "Reports go to finance; Anna reads them", "Reports go to finance",
)  # fmt: skip


def test_the_counts_are_those_of_the_difference() -> None:
    done = carried_out(Target.MEMORY, ENTRIES, plan(ENTRIES, TODAY), 2200)
    assert done.after == ("The user likes tea", "prod db port is now 5433", "Reports go to finance; Anna reads them")
    assert (done.kept, done.merged, done.dropped, done.written) == (3, 3, 2, 0)
    assert len(done.before) == done.kept + done.merged + done.dropped
    assert len(done.after) == done.kept + done.written
    assert sum(line.startswith("-") for line in done.lines) == done.merged + done.dropped


def test_a_second_time_there_is_nothing_to_do() -> None:
    done = carried_out(Target.MEMORY, ENTRIES, plan(ENTRIES, TODAY), 2200)
    assert plan(done.after, TODAY) == ()


def test_a_step_whose_entries_were_changed_meanwhile_is_left_out() -> None:
    steps = plan(ENTRIES, TODAY)
    now = tuple(entry for entry in ENTRIES if entry != "prod db port is now 5433")
    done = carried_out(Target.MEMORY, (*now, "a new one"), steps, 2200)
    assert "prod db port is 5432" in done.after, "what takes its place is gone"
    assert "a new one" in done.after


def test_a_text_that_is_an_entry_already_is_not_written_twice() -> None:
    step = Step(sources=("a", "b"), why=Why.REWRITTEN, text="c")
    assert carried_out(Target.MEMORY, ("a", "b", "c"), [step], 2200).after == ("a", "b", "c")


def test_the_limit_holds_whatever_was_there_before() -> None:
    entries = tuple(f"entry {n} of the memory says what only it says" for n in range(60))
    done = carried_out(Target.MEMORY, entries, plan(entries, TODAY), 500)
    assert size(done.after) <= 500
    assert done.archived + done.after == entries, "the oldest go to the archive"
    assert done.dropped == len(done.archived)


def test_bytes_that_are_no_utf8_are_only_compared_with_themselves() -> None:
    one, other = (
        b"caf\xe9 is open".decode("utf-8", "surrogateescape"),
        b"caf\xe8 is open".decode("utf-8", "surrogateescape"),
    )
    assert plan([one, other], TODAY) == ()
    assert len(plan([one, one], TODAY)) == 1

"""What may not get lost of a text: what it requires is taken whole, what another has is looked for in every form."""

from __future__ import annotations

import pytest

from hermes_cron.experience.dates import found
from hermes_cron.experience.facts import missing, required


def keys(text: str) -> set[str]:
    return {fact.key for fact in required(text)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("prod is PostgreSQL 15 on db1.acme.io:5433", {"w:postgresql", "n:15", "w:db1.acme.io", "n:5433"}),
        ("see https://Wiki.acme.io:8443/Ops/a?b=c.", {"u:https://wiki.acme.io:8443/Ops/a?b=c"}),
        ("Anna prefers tea", {"w:anna"}),
        ("Reports are short", set()),
        ("backups take 30 minutes", {"n:30 min"}),
        ("1,000 rows at most, 15 %", {"n:1000 rows", "n:15 %"}),
        ("it starts at 9:30 pm", {"t:21:30"}),
        ("frozen on Fridays in December 2026", {"day:5", "d:2026-12-01..2026-12-31"}),
        ("logs lie in /var/log/app and ~/.config/app.toml", {"p:/var/log/app", "p:~/.config/app.toml"}),
        (r"on Windows C:\Temp\x.log", {"w:windows", r"p:C:\Temp\x.log"}),
        ("replica 10.0.0.12, and fe80::1", {"w:10.0.0.12", "w:fe80::1"}),
        ("run `make deploy` with --force", {"q:make deploy", "w:--force"}),
        ("three replicas, never on prod-db", {"n:3", "w:prod-db", "not"}),
        ("read and/or write", set()),
        ("生产库端口是5433，由王芳负责", {"n:5433", "q:王芳"}),
        ("每周五凌晨三点备份到 /srv/备份/a.tar.gz，保留十五天", {"day:5", "n:3", "p:/srv/备份/a.tar.gz", "n:15 day"}),
        ("不要在周末重启“网关”", {"not", "q:网关"}),
        ("负责人：约翰·史密斯", {"q:约翰·史密斯", "q:史密斯"}),
        ("机器在上海，属于运维组", {"q:上海", "q:运维组"}),
        ("the gateway is called atlas", {"w:atlas"}),
        ("联系李伟经理，邮箱 li.wei@acme.cn", {"q:李伟", "w:li.wei@acme.cn"}),
    ],
)  # fmt: skip
def test_what_a_text_requires(text: str, wanted: set[str]) -> None:
    assert keys(text) == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port 5432 on db1", "db1:5432"),
        ("wiki.acme.io, port 8443", "https://wiki.acme.io:8443/ops"),
        ("due 2026-11-01", "due on 1 November 2026"),
        ("at 21:30", "at 9:30 pm"),
        ("1,000 rows", "1000 rows"),
        ("Reports go to finance", "each report goes to finance"),
        ("never on Fridays", "not on a Friday"),
        ("three replicas", "3 replicas"),
        ("a long-term plan", "a plan for the long term"),
        ("config.toml is generated", "/etc/app/config.toml is generated"),
        ("保留15天", "保留十五天"),
        ("每周五", "每星期五"),
        ("由王芳负责", "负责人：王芳"),
    ],
)
def test_what_is_said_in_another_form_is_not_missing(old: str, new: str) -> None:
    assert missing([old], new) == ()


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("port 543", "port 5432", "543"),
        ("wait 30 minutes", "wait 30 hours", "30 minutes"),
        ("in /srv/App", "in /srv/app", "/srv/App"),
        ("PostgreSQL 15", "PostgreSQL 15.18", "15"),
        ("see https://a.io/x", "see a.io/x", "https://a.io/x"),
        ("host db1.acme.io", "host db1", "db1.acme.io"),
        ("Anna reads them", "they are read", "Anna"),
        ("never restart prod", "restart prod", "not"),
        ("on Fridays", "on Thursdays", "Fridays"),
        ("log to /var/log/app", "log to /var/log", "/var/log/app"),
        ("由王芳负责", "由王伟负责", "王芳"),
        ("保留十五天", "保留十天", "十五天"),
        ("主机是 db1.acme.cn", "主机在机房", "db1.acme.cn"),
        ("不在周末发布", "在周末发布", "not"),
    ],
)
def test_what_is_another_fact_is_missing(old: str, new: str, gone: str) -> None:
    assert [fact.text for fact in missing([old], new)] == [gone]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-11-01", "2026-11-01"), ("2026/11/1", "2026-11-01"), ("1 Nov 2026", "2026-11-01"),
        ("November 1st, 2026", "2026-11-01"), ("2026年11月1日", "2026-11-01"), ("2026-11", "2026-11-30"),
        ("Nov 2026", "2026-11-30"), ("2026年11月", "2026-11-30"), ("Q4 2026", "2026-12-31"),
        ("01/11/2026", "2026-11-01"), ("31.10.2026", "2026-10-31"), ("2026年底", "2026-12-31"),
    ],
)  # fmt: skip
def test_a_date_is_read_to_the_last_day_that_it_may_mean(text: str, last: str) -> None:
    (day,) = found(f"until {text}, they say")
    assert day.last.isoformat() == last


@pytest.mark.parametrize("text", ["version 2026.11", "2026-13-01", "30.2.2026", "10.0.0.12", "build 20261101", "5/6"])
def test_what_is_no_day_is_none(text: str) -> None:
    assert found(text) == ()


def test_a_long_text_is_read_in_a_moment() -> None:
    for text in ("a" * 50_000, "a." * 25_000, "/a" * 25_000, "1," * 25_000, "王" * 50_000, "a b " * 12_500):
        assert missing([text], text) == ()

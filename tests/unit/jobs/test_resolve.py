"""A database is resolved where it is named, refused where an unknown one is clearly meant, never invented."""

from __future__ import annotations

import pytest

from hermes_cron.jobs.resolve import databases_named, no_database

KNOWN = ("prod", "prod-replica", "billing", "分析库")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("inspect prod db", ("prod",)),
        ("inspect prod", ("prod",)),
        ("Inspect PROD database.", ("prod",)),
        ("find slow statements on prod-replica and billing", ("prod-replica", "billing")),
        ("compare billing's growth with prod.", ("billing", "prod")),
        ("巡检 prod 数据库", ("prod",)),
        ("巡检prod数据库，并检查billing", ("prod", "billing")),
        ("每天统计分析库的表大小", ("分析库",)),
        ("what is new on https://prod.example.com/billing", ()),
        ("read /srv/prod/app.log", ()),
        ("mail ops@prod about production", ()),
        ("products that sell", ()),
    ],
)
def test_known_names_count_as_words_of_their_own(prompt: str, expected: tuple[str, ...]) -> None:
    assert databases_named(prompt, KNOWN).known == expected


@pytest.mark.parametrize(
    ("prompt", "unknown"),
    [
        ("inspect prdo db", ("prdo",)),
        ("inspect prdo database", ("prdo",)),
        ("inspect prdo db and report what got worse", ("prdo",)),
        ("check prod and crm databases", ("crm",)),
        ("run the vacuum report on crm db", ("crm",)),
        ("look at the prdo database", ("prdo",)),
        ("inspect database crm-eu1", ("crm-eu1",)),
        ("inspect database prdo", ("prdo",)),
        ('count the rows in database "crm"', ("crm",)),
        ("count the rows in the `crm` database", ("crm",)),
        ("巡检 prdo 数据库", ("prdo",)),
        ("巡检prdo数据库，有问题就说", ("prdo",)),
        ("检查一下 crm 库", ("crm",)),
        ("检查 prod 和 crm 数据库", ("crm",)),
    ],
)
def test_a_clearly_named_unknown_database_is_refused(prompt: str, unknown: tuple[str, ...]) -> None:
    assert databases_named(prompt, KNOWN).unknown == unknown


@pytest.mark.parametrize(
    "prompt",
    [
        "summarise db news",
        "summarise database news of the week",
        "write a poem about databases",
        "check the db",
        "check our database",
        "check the production database",
        "back up the customer database",
        "review the news db articles",
        "compare MySQL and PostgreSQL databases",
        "check postgres db",
        "list database backups",
        "check database backups older than 7 days",
        "check db connections",
        "read about vector databases",
        "inspect the host",
        "check the build on monday",
        "tell me on slack when the db is slow",
        "collect facts from every db",
        "report on time",
        "分析数据库新闻",
        "检查数据库",
        "检查 MySQL 数据库",
        "分析 AI 数据库新闻",
        "总结数据库的变化",
        "提醒我喝水",
        "docker ps --format '{{.Names}}'",
        "",
    ],
)
def test_harmless_prompts_pass(prompt: str) -> None:
    assert databases_named(prompt, KNOWN).unknown == ()


def test_the_refusal_lists_near_names_first_and_the_way_to_add_one() -> None:
    error = no_database("prdo", ("billing", "prod", "prod-replica"))
    assert error.message == 'no database "prdo"'
    assert error.details == {"known": ["prod", "prod-replica", "billing"], "add_one": "hermes-cron db add prdo"}
    assert error.exit_code == 2

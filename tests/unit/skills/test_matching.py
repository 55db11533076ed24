"""A prompt gets a skill only when it plainly asks for that and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.experience.skills import Root, SkillLibrary

SHIPPED = SkillLibrary([Root(path=Path(__file__).parents[3] / "skills", bundled=True)])
DATABASES = ("prod", "prod-replica", "billing")


@pytest.mark.parametrize(
    ("prompt", "skill"),
    [
        ("inspect prod db", "inspect-database"),
        ("inspect prod", "inspect-database"),
        ("Inspect PROD", "inspect-database"),
        ("please inspect the billing database", "inspect-database"),
        ("daily inspection of the production database", "inspect-database"),
        ("do a health check of prod-replica", "inspect-database"),
        ("巡检 prod 数据库", "inspect-database"),
        ("巡检prod", "inspect-database"),
        ("请帮我检查一下 prod 数据库的健康情况", "inspect-database"),
        ("check host health", "host-health"),
        ("巡检主机", "host-health"),
        ("检查服务器", "host-health"),
        ("inspect prod db and mail me the ten best customers", None),
        ("check whether the db backup ran last night", None),
        ("inspect the code of the database layer and fix its bugs", None),
        ("检查 prod 数据库的备份是否成功并删除旧备份", None),
        ("inspect prod db and check host health", None),
        ("summarise the log", None),
        ("check the build", None),
        ("inspect staging", None),
        ("", None),
        ("!!!", None),
    ],
)
def test_match(prompt: str, skill: str | None) -> None:
    found = SHIPPED.match(prompt, databases=DATABASES)
    assert (found.name if found else None) == skill


def test_without_a_rule_all_words_of_the_name_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "log-digest").mkdir()
    (tmp_path / "log-digest" / "SKILL.md").write_text("---\nname: log-digest\ndescription: d\n---\nB", encoding="utf-8")
    library = SkillLibrary([Root(path=tmp_path)])
    assert library.match("make a log digest") is not None
    assert library.match("digest the news") is None

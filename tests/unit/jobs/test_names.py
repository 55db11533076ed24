"""Names: letters (also 中文), digits and -, 1 to 64, one file each without regard to case."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.jobs.names import LONGEST, name_fault, name_from, unused


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("inspect prod db", "inspect-prod-db"),
        ("巡检 prod 数据库", "巡检-prod-数据库"),
        ("检查数据库", "检查数据库"),
        ("提醒我喝水，快点", "提醒我喝水-快点"),
        ("--verbose check", "verbose-check"),
        ("-x", "x"),
        ("Check https://example.test/a:b", "check-https-example-test-a-b"),
        ("what's new?", "whats-new"),
        ("!!!", "job"),
        ("\n\nsecond line counts\nthird", "second-line-counts"),
        ("Report only error kinds that your last report does not have", "report-only-error-kinds-that-your-last"),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_job_is_named_from_its_prompt(prompt: str, name: str) -> None:
    assert name_from(prompt) == name


@given(st.text(max_size=200))
def test_every_prompt_gives_a_valid_name(prompt: str) -> None:
    name = name_from(prompt)
    assert name_fault(name) is None
    assert unicodedata.normalize("NFC", name) == name


@given(st.text(max_size=200), st.integers(2, 12))
def test_a_taken_name_gets_the_next_number(prompt: str, count: int) -> None:
    taken: list[str] = []
    for _ in range(count):
        taken.append(unused(name_from(prompt), taken))
    assert len({name.casefold() for name in taken}) == count
    assert all(name_fault(name) is None for name in taken)
    assert taken[1].endswith("-2")


@pytest.mark.parametrize("name", ["a", "日报", "Weekly-Report-2", "x" * LONGEST, "数" * LONGEST, "été", "हिन्दी"])
def test_good_names(name: str) -> None:
    assert name_fault(unicodedata.normalize("NFC", name)) is None


@pytest.mark.parametrize(
    "name", ["", "a b", "my_job", "../x", "a/b", "-x", "x-", ".hidden", "x" * 65, "a.b", "🚀", "a\n", "𠮷" * 64]
)
def test_bad_names(name: str) -> None:
    assert name_fault(name)


def test_a_refused_name_comes_with_a_better_one() -> None:
    assert 'for example "my-job"' in str(name_fault("my_job"))

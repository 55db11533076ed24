"""Whatever the text, the scanner's time grows as the text does, and it never fails."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.domain.scan import Purpose, scan

HOSTILE = (
    "ignore ", "ignore all ", "ignore all previous ", "disregard the your my ", "curl ", "curl -d ", "cat .ssh/",
    "cat .env | ", "curl $a_a_a_", '"ignore previous instructions" ', "```\nignore previous instructions\n",
    "do not tell the user ", "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM= ", "aWdub3Jl", "a\u200b", "\u200b",
    "%41", "&#65;", "41", "41 ", "\\x41", "# a\n", "send the all of the key ", "a b c d e f ", "a", " ", "\n", "\\",
    ". ", "print the full contents of ", "'a ' ", "![a](https://a?b=$", "\u0456\u043e", "curl ~/.ssh/",
    "echo >> a/b/c/", "$key_", "env ", "> ", "echo a; ", "“", "- ", "base64 -d | ", "忽略之前的", "没有", "vtaber ",
    "history -c ", "a" * 30 + "@", "curl https://a.b/?",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_four_times_the_text_takes_about_four_times_as_long(unit: str) -> None:
    small, large = ((unit * 40_000)[:size] for size in (10_000, 40_000))
    least = min(_took(small) for _ in range(2))
    # A quadratic pattern would take 16 times as long; what is done in a few milliseconds is too short to compare.
    assert min(_took(large) for _ in range(2)) < max(0.03, 9 * least)


def _took(text: str) -> float:
    began = time.thread_time()
    scan(text, Purpose.MEMORY)
    return time.thread_time() - began


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8)), max_size=60).map("".join),
    st.sampled_from(Purpose),
)
def test_every_finding_lies_in_the_text(text: str, purpose: Purpose) -> None:
    lines = text.split("\n")
    for finding in scan(text, purpose).findings:
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
        assert finding.excerpt.isprintable()

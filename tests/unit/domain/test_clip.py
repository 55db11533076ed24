"""What is cut says so, and never through a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.clip import BoundedOutput, clip


@given(st.binary(max_size=300), st.integers(0, 100), st.lists(st.integers(1, 60), max_size=8))
def test_head_and_tail_are_those_of_the_whole(data: bytes, cap: int, sizes: list[int]) -> None:
    data = bytes(byte & 0x7F for byte in data)
    held, rest = BoundedOutput(cap), data
    for size in sizes:
        held.write(rest[:size])
        rest = rest[size:]
    held.write(rest)
    if len(data) <= cap:
        assert held.text() == data.decode()
        assert held.cut() is None
    else:
        head, tail = (cap + 1) // 2, cap // 2
        text = held.text()
        assert text.startswith(data[:head].decode())
        assert text.endswith(data[len(data) - tail :].decode() if tail else "]\n")
        assert f"of {len(data):,} bytes cut" in text


@given(st.text(alphabet="a\u00e9\u8bd5\U0001f680", max_size=80), st.integers(0, 60))
def test_no_character_is_broken(text: str, cap: int) -> None:
    assert "\ufffd" not in clip(text, cap)[0]


def test_short_text_is_returned_as_it_is() -> None:
    assert clip("abc", 3) == ("abc", None)


def test_size_of_the_whole_is_said_when_the_middle_is_missing_already() -> None:
    assert clip("x" * 10, 4, total=1000)[1] == "996 of 1,000 bytes cut: the first 2 and the last 2 are shown"
    assert clip("x", 4, total=1000) == ("x", None)

"""The quick reader of a skill's head says what YAML says, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.errors import HermesCronError
from hermes_cron.experience import frontmatter
from hermes_cron.experience.front_quick import quick

_KEYS = st.sampled_from(["name", "description", "metadata", "version", "hermes-cron.match", "tags", "no", "a b", "é"])
_VALUES = (
    ["x", "1.10", "0123", "yes", "no", "null", "Null", "~", "''", '""', '"a b"', "'a b'", "a: b", "a:b", "a #b", "a#b",
     "[a, b]", "{a: b}", "- a", "|", ">", "&x", "*x", "!t", "%x", "@x", "`x`", "2026-12-01", "12:30:00", "中文：说明",
     "it's", 'say "hi"', '"a\\n"', "'it''s'", "a:", "", "  ", "\t", "a\tb", "\u00a0a", "a\u2028b", "\ufeff", "?", "? a",
     "x, y", "(a)", "/a", "$a", "a - b", "-", "--", ".", "...", "a\u0085b", "é", "名"]
)  # fmt: skip
_PIECES = st.sampled_from(_VALUES)
_LINES = st.one_of(
    st.builds(lambda indent, key, gap, value: f"{indent}{key}:{gap}{value}", st.sampled_from(["", "  ", "    ", "\t"]),
              _KEYS, st.sampled_from([" ", "", "  "]), _PIECES),
    st.sampled_from(["", "# a note", "  more", "...", "- a", "  - a", " "]),
)  # fmt: skip


@pytest.mark.parametrize("value", _VALUES)
@pytest.mark.parametrize("form", ["name: {}", "metadata:\n  version: {}", "name: a\nno: {}\nb: c"])
def test_each_value_is_read_as_yaml_reads_it_or_left_to_it(form: str, value: str) -> None:
    found = quick(form.format(value))
    if found is not None:
        slow = frontmatter.parse(f"---\n{form.format(value)}\n---\nbody", "x")
        assert (dict(slow.fields), dict(slow.lines)) == found


@settings(max_examples=400, deadline=None)
@given(st.lists(_LINES, min_size=1, max_size=6).map("\n".join))
def test_what_it_reads_is_what_yaml_reads(head: str) -> None:
    found = quick(head)
    if found is None:
        return
    slow = frontmatter.parse(f"---\n{head}\n---\nbody", "x")
    assert (dict(slow.fields), dict(slow.lines)) == found


@pytest.mark.parametrize(
    "head",
    [
        'name: inspect-database\ndescription: Checks it.\nmetadata:\n  version: "1.0"\n  a.b: "x | y + 数"',
        "name: a\ndescription: 'quoted, with: colon'\nlicense: MIT\n\nmetadata:\n    version: '2'",
        "name: 数据库\ndescription: 每天备份（增量）",
    ],
)
def test_heads_as_people_write_them_need_no_yaml(head: str) -> None:
    found = quick(head)
    assert found is not None
    assert found == (dict((slow := frontmatter.parse(f"---\n{head}\n---\n", "x")).fields), dict(slow.lines))


@pytest.mark.parametrize("head", ["name: a\nname: b", "\tname: x", "description: `x`", "name: a\n b: c\n  d: e", "- a"])
def test_faults_are_left_to_the_reader_that_has_their_line(head: str) -> None:
    assert quick(head) is None
    with pytest.raises(HermesCronError, match=r"^x:\d+: "):
        frontmatter.read(f"---\n{head}\n---\n", "x")

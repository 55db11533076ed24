"""An edit changes the keys it names and no other byte; what is written reads back as what was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.errors import Conflict, JobFileError, Usage
from hermes_cron.jobs.frontmatter import Several, Single, read_table, split
from hermes_cron.jobs.save import edit, render

FILE = b"""---
# why this job exists: INC-4711
schedule: every workday 9am   # before the stand-up
timezone:   'Asia/Shanghai'
databases:       # all of them
  - prod
  - billing      # since May

tags: [dba,   prod]
vars:
  limit: 5
---

inspect prod db
---
not a fence: part of the prompt
"""


def test_one_value_changes_and_its_comment_stays() -> None:
    expected = FILE.replace(b"every workday 9am", b"every day 8am")
    assert edit(FILE, {"schedule": "every day 8am"}, path="x") == expected


def test_a_block_list_becomes_one_line_and_the_comment_of_its_key_stays() -> None:
    expected = FILE.replace(b"databases:       # all of them\n  - prod\n  - billing      # since May\n",
                            b"databases: [crm]       # all of them\n")  # fmt: skip
    assert edit(FILE, {"databases": ["crm"]}, path="x") == expected


def test_a_new_key_goes_to_the_end_and_a_removed_one_takes_its_lines() -> None:
    added = edit(FILE, {"paused": "holiday: back on Monday"}, path="x")
    assert added == FILE.replace(b"  limit: 5\n", b'  limit: 5\npaused: "holiday: back on Monday"\n')
    assert edit(added, {"paused": None}, path="x") == FILE
    assert edit(FILE, {"vars": None}, path="x") == FILE.replace(b"vars:\n  limit: 5\n", b"")


def test_removing_an_absent_key_changes_nothing() -> None:
    assert edit(FILE, {"paused": None}, path="x") == FILE


def test_the_body_alone_changes() -> None:
    assert edit(FILE, {}, path="x", body="new text\nof two lines") == FILE[: FILE.index(b"\ninspect")] + (
        b"new text\nof two lines\n"
    )


def test_crlf_and_bom_stay() -> None:
    windows = b"\xef\xbb\xbf" + FILE.replace(b"\n", b"\r\n")
    expected = windows.replace(b"every workday 9am", b"every day 8am").replace(
        b"  limit: 5\r\n", b"  limit: 5\r\nmax_runs: 3\r\n"
    )
    assert edit(windows, {"schedule": "every day 8am", "max_runs": 3}, path="x") == expected


def test_a_block_text_is_replaced_whole() -> None:
    file = b"---\nscript: |\n  df -P\n  ---\n\n# after\nschedule: every day 9am\n---\n"
    assert edit(file, {"script": "df -h"}, path="x") == (
        b"---\nscript: df -h\n\n# after\nschedule: every day 9am\n---\n"
    )


def test_an_empty_value_can_be_filled() -> None:
    file = b"---\nschedule: every day 9am\nmodel:\ntags: [a]\n---\nx\n"
    assert edit(file, {"model": "gpt-5-mini"}, path="x") == file.replace(b"model:", b"model: gpt-5-mini")


def test_what_cannot_be_edited_key_by_key_is_refused() -> None:
    with pytest.raises(Conflict):
        edit(
            b"---\n{schedule: every day 9am}\n---\nx\n", {"schedule": "every day 8am", "tags": ["a"]}, path="jobs/x.md"
        )


def test_a_broken_file_is_not_edited() -> None:
    with pytest.raises(JobFileError, match=r"jobs/x\.md:2 "):
        edit(b"---\nschedule: a: b\n---\nx\n", {"schedule": "y"}, path="jobs/x.md")


def test_bytes_that_are_no_text_are_refused() -> None:
    for write in (
        lambda: render({"description": "a\udcff"}, "x"),
        lambda: render({}, "a\udcff"),
        lambda: edit(FILE, {"description": "a\udcff"}, path="x"),
        lambda: edit(FILE, {}, path="x", body="a\udcff"),
    ):
        with pytest.raises(Usage, match="not UTF-8"):
            write()


def test_a_new_file_has_the_format_s_order_and_quotes_what_needs_quotes() -> None:
    assert render({"tags": ["dba"], "schedule": "*/5 * * * *", "model": None, "max_runs": 2}, "do it\n") == (
        b'---\nschedule: "*/5 * * * *"\nmax_runs: 2\ntags: [dba]\n---\ndo it\n'
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(str.strip))
def test_every_text_reads_back(text: str) -> None:
    for written in (render({"description": text}, "x"), edit(FILE, {"description": text}, path="x")):
        found = {entry.key: entry.value for entry in read_table(split(written)).entries}["description"]
        assert isinstance(found, Single)
        assert found.value == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20), max_size=4))
def test_every_list_reads_back(items: list[str]) -> None:
    found = {entry.key: entry.value for entry in read_table(split(render({"tags": items}, "x"))).entries}["tags"]
    assert isinstance(found, Several)
    assert [item.value for item in found.items if isinstance(item, Single)] == items


CHECKED = b"""---
schedule: every day 9am
checks:                           # judged after the run
  - sql: {database: prod, query: "select 1", equals: 1}
  - report: {matches: "Checked \\\\d+"}   # the headline
deliver:
  to: [ops-chat]                  # the room
  when: change
retries: {attempts: 2, backoff: 5m, on: [exit_code]}
---
inspect prod db
"""


def test_what_follows_a_run_stays_as_it_was_typed_when_another_key_changes() -> None:
    changed = edit(CHECKED, {"schedule": "every day 8am"}, path="x")
    assert changed == CHECKED.replace(b"every day 9am", b"every day 8am")


def test_deliveries_change_alone() -> None:
    changed = edit(CHECKED, {"deliver": {"to": ["a", "b"], "when": "change"}, "ping": "secret:hc"}, path="x")
    assert changed == CHECKED.replace(
        b"deliver:\n  to: [ops-chat]                  # the room\n  when: change\n",
        b"deliver: {to: [a, b], when: change}\n",
    ).replace(b"on: [exit_code]}\n", b'on: [exit_code]}\nping: "secret:hc"\n')
    assert edit(CHECKED, {"checks": None}, path="x") == CHECKED.replace(
        CHECKED[CHECKED.index(b"checks:") : CHECKED.index(b"deliver:")], b""
    )


def test_a_new_file_says_on_so_that_every_reader_takes_it_for_text() -> None:
    written = render({"retries": {"attempts": 1, "on": ["exit_code"]}, "schedule": "every day 9am"}, "x")
    assert written == b'---\nschedule: every day 9am\nretries: {attempts: 1, "on": [exit_code]}\n---\nx\n'

"""One piece of a file is exchanged at the right place or not at all, and nothing else changes by a byte."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hermes_cron.errors import PatchAmbiguous, PatchNoMatch, SkillEncodingError
from hermes_cron.experience.patch import How, patch

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[2] / "cases" / "data" / "skills.jsonl").read_text(encoding="utf-8").splitlines()
    if (case := json.loads(line))
}


def done(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    return patch(text.encode(), old, new, shown="SKILL.md", replace_all=replace_all).data.decode()


# --- cases ------------------------------------------------------------------------------------------------------------


def test_c141_a_similar_block_elsewhere_is_never_changed() -> None:
    case = CASES["C141"]["input"]
    with pytest.raises(PatchAmbiguous) as refused:  # Step 1 is too near to be told apart by likeness
        done(case["body"], case["old"], case["new"])
    assert "line 2: - run check A" in refused.value.message
    assert "line 6: - run check B" in refused.value.message


STEPS = "## Step 1\n- open the valve slowly\n- log result\n\n## Step 2\n- run the long check\n- log result\n"


def test_c141_a_slip_of_the_pen_finds_its_place() -> None:
    done_as = patch(STEPS.encode(), "- run teh long chek\n- log result", "- run it\n- log result", shown="SKILL.md")
    assert done_as.data.decode() == STEPS.replace("- run the long check\n", "- run it\n")
    assert (done_as.how, done_as.line, done_as.places) == (How.FUZZY, 6, 1)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("- run check A\n- log result\n", "- run check B\n- log result"),
        ("wait 30 seconds for the node\n", "wait 60 seconds for the node"),
        ("ask 10.0.0.11 for the report\n", "ask 10.0.0.12 for the report"),
        ("do not restart the primary node\n", "do restart the primary node"),
        ("never drop a table by yourself\n", "please drop a table by yourself"),
        ("you can't drop a table by yourself\n", "you can drop a table by yourself"),
        ("重启前先备份数据库并通知值班\n", "重启后先备份数据库并通知值班"),
        ("可以在主库上执行这条语句再确认结果\n", "不可以在主库上执行这条语句再确认结果"),
        ("kubectl rollout restart deployment web -n prod\n", "kubectl rollout restart deployment web -n test"),
        ("## Step 1\nlook at the logs of the node\n", "## Step 2\nlook at the logs of the node"),
    ],
)
def test_what_means_something_else_is_not_a_slip_of_the_pen(text: str, old: str) -> None:
    with pytest.raises(PatchNoMatch):
        done(text, old, "x")


def test_c143_what_was_unescaped_in_the_search_is_unescaped_in_the_replacement() -> None:
    case = CASES["C143"]
    given = case["input"]
    assert "\\n" in given["old"]
    assert done(given["file"], given["old"], given["new"]) == case["expected"]["file"]


def test_c143_other_escapes_of_the_replacement_are_its_own() -> None:
    assert done("a\nb\n", r"a\nb", r"a\nrun bin\run.bat\tx") == "a\nrun bin\\run.bat\\tx\n"
    assert done("a\tb\n", r"a\tb", r"A\tB\n") == "A\tB\\n\n"
    assert done('say "hi" now\nand then\n', r"say \"hi\" now\nand then", r"say \"ho\"") == 'say "ho"\n'
    assert done("a\r\nb\r\n", r"a\r\nb", r"A\r\nB") == "A\r\nB\r\n"


@pytest.mark.parametrize(
    "new",
    [r"C:\new\nb", r"a\nrun C:\tools\x.exe", r"a\nrun bin\new.bat", r"a\n\\host\new share", r"a\nsee .\docs\notes.txt"],
)
def test_c143_a_path_and_a_line_end_that_look_the_same_are_refused(new: str) -> None:
    with pytest.raises(PatchAmbiguous, match="a backslash and a letter"):
        done("a\tx\nb\n", r"a\tx\nb", new)


def test_c143_a_path_that_stands_in_the_file_is_known_as_one() -> None:
    text = "run bin\\new.bat first\na\nb\n"
    with pytest.raises(PatchAmbiguous):
        done(text, r"a\nb", r"run bin\new.bat\nb")  # together they are a word that the file has not
    assert done(text, r"a\nb", r"run bin\new.bat twice\nb") == text.replace("a\n", "run bin\\new.bat twice\n")


def test_c143_a_backslash_that_was_doubled_is_one_again() -> None:
    text = "copy C:\\old\\data\nend\n"
    assert done(text, r"copy C:\\old\\data", r"copy C:\\new\\data") == "copy C:\\new\\data\nend\n"
    assert done(text, r"copy C:\\old\\data\nend", r"copy C:\\new\\data\nend") == "copy C:\\new\\data\nend\n"


def test_c144_a_path_in_the_replacement_stays() -> None:
    case = CASES["C144"]
    given = case["input"]
    result = done(given["file"], given["old"], given["new"])
    assert result == case["expected"]["file"]
    assert result.encode().count(b"\r") == case["expected"]["bytes_0d_count"]


def test_c144_a_search_that_stands_there_as_it_is_unescapes_nothing() -> None:
    assert done("re: a\\nb\nx\n", r"a\nb", r"C:\new\table") == "re: C:\\new\\table\nx\n"


# --- the three ways ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "old", "new", "result", "how"),
    [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n", How.EXACT),
        ("a\nb\nc\n", "b\n", "", "a\nc\n", How.EXACT),
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n", How.EXACT),
        ("a\nb\r\nc\n", "a\nb\nc", "A\nb\nC", "A\nb\r\nC\n", How.EXACT),
        ("a\r\nb\nc\n", "a\nb", "a", "a\r\nc\n", How.EXACT),
        ("\ufeffa\nb\n", "a", "A", "\ufeffA\nb\n", How.EXACT),
        ("\ufeffa\nb\n", "\ufeffa", "A", "\ufeffA\nb\n", How.EXACT),
        ("a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc", How.EXACT),
        ("end", "end", "the\nend", "the\nend", How.EXACT),
        ("    - a\n  - b\n", "- a\n", "", "  - b\n", How.EXACT),
        ("x a  b y\n", "a b", "c", "x c y\n", How.BLANKS),
        ("  - one\n  - two\n", "- one\n- two", "- one\n- more\n- two", "  - one\n  - more\n  - two\n", How.BLANKS),
        ("\tif x:\n\t\ty\n", "  if x:\n    y", "  if x:\n    y\n    z\n      w", "\tif x:\n\t\ty\n\t\tz\n\t\t\tw\n",
         How.BLANKS),
        ("\t- one\nend\n", "  - one", "  - one\n  - two", "\t- one\n\t- two\nend\n", How.BLANKS),
        ("  a:\r\n\tb: 1\r\nc\r\n", "a:\n  b:  1", "a:\n  b: 2", "  a:\r\n\tb: 2\r\nc\r\n", How.BLANKS),
        ("  - one  \n  - two\n- three\n", "- one\n- two", "", "- three\n", How.BLANKS),
        ("a  b\nc\n", "a b", "", "c\n", How.BLANKS),
        ("x a  b\nc\n", "a b", "", "x \nc\n", How.BLANKS),
        ("# T\n\none line here\n\nanother line here\n", "one line here\nanother line here",
         "one line here\nanother row", "# T\n\none line here\n\nanother row\n", How.FUZZY),
        ("the first line is this one\nmore words\nthe last line is that one\n",
         "the first line is this one\nthe last line is that one",
         "the first line is this one\nthe last row is that one",
         "the first line is this one\nmore words\nthe last row is that one\n", How.FUZZY),
        ("restart the servise now\nx\n", "restart the service now", "", "x\n", How.FUZZY),
    ],
)  # fmt: skip
def test_the_place_is_found_and_the_rest_stays(text: str, old: str, new: str, result: str, how: How) -> None:
    made = patch(text.encode(), old, new, shown="SKILL.md")
    assert made.data.decode() == result
    assert made.how is how


def test_a_patch_with_another_indent_lands_in_a_file_with_crlf() -> None:
    text = "# Deploy\r\n\r\n## Steps\r\n\r\n1. Build\r\n   - make\r\n   - make check\r\n2. Push\r\n"
    made = done(text, "1. Build\n  - make\n  - make check", "1. Build\n  - make\n  - make test\n  - make check")
    assert made == text.replace("   - make check", "   - make test\r\n   - make check")


def test_every_place_at_once() -> None:
    assert done("a b\na b\nc\n", "a b", "x", replace_all=True) == "x\nx\nc\n"
    made = patch(b"  a  b\r\n\ta b\r\nc\r\n", "a b\nc", "d\nc", shown="f", replace_all=True)
    assert made.data == b"  a  b\r\n\td\r\nc\r\n"
    assert made.places == 1
    assert patch(b"aaa", "aa", "b", shown="f", replace_all=True).data == b"ba"


def test_every_place_is_never_a_guess() -> None:
    with pytest.raises(PatchNoMatch):
        done(STEPS, "- run teh long check", "x", replace_all=True)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_several_places_are_refused_and_named() -> None:
    with pytest.raises(PatchAmbiguous) as refused:
        done("a\nlog result\nb\nlog result\n", "log result", "x")
    assert "stands at 2 places" in refused.value.message
    assert "line 2: log result\nline 4: log result" in refused.value.message
    assert refused.value.hint is not None
    assert "replace_all" in refused.value.hint
    with pytest.raises(PatchAmbiguous):
        done("aaa", "aa", "b")


def test_an_absent_text_shows_what_is_near_and_how_the_file_begins() -> None:
    text = "# Title\n" + "".join(f"setting_{n} = {n * 3}\n" for n in range(200))
    with pytest.raises(PatchNoMatch) as refused:
        done(text, "setting_117 = 352", "x")
    message = refused.value.message
    assert "line 119" in message
    assert "setting_117 = 351" in message
    assert f"(the first 500 of {len(text):,} characters)" in message
    assert message.endswith(text[:500])


def test_nothing_like_it_is_said_so() -> None:
    with pytest.raises(PatchNoMatch, match="nothing in the file is like it"):
        done("aaaa\nbbbb\n", "zzzzzzzzzzzzzz", "x")


@pytest.mark.parametrize("old", ["", " ", "\n\n"])
def test_nothing_to_look_for_is_refused(old: str) -> None:
    with pytest.raises(PatchNoMatch, match="no text to look for"):
        done("a\n \nb", old, "x")


def test_another_encoding_is_refused() -> None:
    with pytest.raises(SkillEncodingError):
        patch("é".encode("latin-1"), "a", "b", shown="f")


def test_a_large_file_is_searched_in_reasonable_time() -> None:
    text = "".join(f"- step {n}: look at the node number {n} and write it down\n" for n in range(15_000))
    began = time.monotonic()
    with pytest.raises(PatchNoMatch):
        done(text, "- stop here: " + "y" * 7_000, "x")
    with pytest.raises(PatchNoMatch):
        done(text, "a \n" * 2_000, "x")
    assert time.monotonic() - began < 20


def test_two_places_that_overlap_are_two_places() -> None:
    with pytest.raises(PatchAmbiguous):
        patch(b"- \n- \n-\n", "-\n-", "-\n-\nzz", shown="f")


def test_blanks_at_the_end_of_a_line_stay_with_it() -> None:
    made = patch(b"one\n  a  b \nthree\n", "a b", "a b\nzz", shown="f")
    assert made.data == b"one\n  a  b \n  zz\nthree\n"

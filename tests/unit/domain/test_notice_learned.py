"""What people read of something learned, proposed or blocked: samples.md's own lines, bounded, in two languages."""

from __future__ import annotations

import string
from typing import Any

import pytest

from hermes_cron.domain import notice_learned, notice_security
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.learning import Kind, Learned, LearnedState
from hermes_cron.domain.notice_words import LEARNED_WORDS, SECURITY_WORDS
from hermes_cron.domain.scan.finding import Kind as Class
from hermes_cron.domain.scan.finding import Purpose, Verdict
from tests.ended import CHINESE, at, job

PITFALL = "+ On prod the statistics were reset on 2026-11-30: unused indexes prove nothing before 2026-12-07."
ABOUT = {"section": "Pitfalls", "version": 4, "because": "counters 0 days old", "called": "inspect-database"}
NASTY = "first\x1b[2J\r\nsecond\u202e\n\n```\ud800 " + "x" * 5000


def change(**fields: Any) -> Learned:
    given: dict[str, Any] = {
        "number": 1, "key": "s1/7", "at": at(11, 30), "actor": "run", "kind": Kind.SKILL,
        "name": "databases/inspect-database", "change": "patched", "state": LearnedState.APPLIED, "lines": (PITFALL,),
        "run_id": "r7k2m", "after": "c81f" + "0" * 36, "details": ABOUT,
    }  # fmt: skip
    return Learned(**{**given, **fields})


def test_a_pitfall_is_told_as_in_the_samples() -> None:
    said = notice_learned.learned(job(), [change()])
    assert said.title == "inspect-prod-db learned something in run r7k2m"
    assert said.body == (
        "inspect-prod-db learned something in run r7k2m\n"
        "  changed  skill inspect-database, Pitfalls (+1 line)\n"
        f"  {PITFALL}\n"
        "  from     step 7 of r7k2m (counters 0 days old)\n"
        "  used     from the next run on\n"
        "  see      hermes-cron skills diff inspect-database@4\n"
        "  undo     hermes-cron undo c81f000"
    )


def test_a_proposal_says_what_a_yes_does_and_until_when() -> None:
    waiting = change(state=LearnedState.PROPOSED, after=None, details={**ABOUT, "version": None})
    said = notice_learned.proposed(job(), waiting, number=92, asked_at=at(11, 29), expires_at=at(11, 30, 18, 31))
    assert said.body == (
        "inspect-prod-db learned something in run r7k2m\n"
        "  proposed  skill inspect-database, Pitfalls (+1 line)\n"
        f"  {PITFALL}\n"
        "  from      step 7 of r7k2m (counters 0 days old)\n"
        "  silence   means no, on Mon 2026-11-30 18:31 (34 h)\n"
        "\n"
        'yes: hermes-cron approve a92     no: hermes-cron deny a92 "reason"     more: hermes-cron approvals show a92'
    )


def test_a_fact_of_a_review_in_chinese() -> None:
    fact = change(
        actor="review", kind=Kind.MEMORY, name="MEMORY.md", change="added", lines=("+ prod 每晚两点备份",), details={}
    )
    assert notice_learned.learned(job(prompt=CHINESE), [fact]).body == (
        "inspect-prod-db 在运行 r7k2m 中学到了东西\n"
        "  新增  记忆 MEMORY.md（+1 条）\n"
        "  + prod 每晚两点备份\n"
        "  来自  对 r7k2m 的回顾\n"
        "  启用  下次运行起\n"
        "  查看  hermes-cron snapshots show c81f000\n"
        "  撤销  hermes-cron undo c81f000"
    )


def test_what_several_runs_taught_stands_under_the_run_that_did() -> None:
    said = notice_learned.learned(job(), [change(), change(number=2), change(number=3, run_id="r9")]).body
    assert [line for line in said.split("\n") if line and not line.startswith(" ")] == [
        "inspect-prod-db learned something in run r7k2m", "inspect-prod-db learned something in run r9",
    ]  # fmt: skip
    assert said.count("  undo     ") == 3


def test_a_long_change_and_many_changes_are_counted_not_told() -> None:
    long = change(lines=tuple(f"+ line {n}" for n in range(40)))
    said = notice_learned.learned(job(), [long] * 8).body
    assert "(+40 lines)" in said
    assert "+ line 9" in said
    assert "+ line 10" not in said
    assert "... and 30 more" in said
    assert said.split("\n")[-1].startswith("and 3 more: ")


def test_an_agents_words_add_no_line_and_no_control_code() -> None:
    nasty = change(lines=(NASTY,) * 3, name=NASTY, details={"section": NASTY, "because": NASTY, "called": NASTY})
    told = notice_learned.learned(job(), [nasty]).body
    asked = notice_learned.proposed(job(), nasty, number=1, asked_at=at(11, 29), expires_at=at(11, 30)).body
    for said, lines in ((told, 9), (asked, 9)):
        assert len(said.split("\n")) == lines, said
        assert all(each.isprintable() for each in said.replace("\n", ""))
        assert max(map(len, said.split("\n"))) < 700


@pytest.mark.parametrize("words", [LEARNED_WORDS, SECURITY_WORDS], ids=["learned", "security"])
def test_both_languages_say_the_same_things(words: dict[str, dict[str, str]]) -> None:
    def fields(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert {key: fields(text) for key, text in words["en"].items()} == {
        key: fields(text) for key, text in words["zh"].items()
    }


def test_a_blocked_text_is_named_by_class_and_place_and_never_quoted() -> None:
    found = SecurityFinding(
        guard=Purpose.MEMORY, kind=Class.INSTRUCTION_OVERRIDE, verdict=Verdict.BLOCK, place="memories/MEMORY.md",
        job="j", run_id="r1",
    )  # fmt: skip
    said = notice_security.blocked(found, "en")
    assert said.body == (
        "BLOCKED instruction override in memories/MEMORY.md\n"
        "An entry for the memory was refused: nothing was written.\n"
        "From job j, run r1.\n"
        "You hear of this class at this place once a day.\n"
        "look: hermes-cron runs show r1     all: hermes-cron status"
    )
    assert set(Purpose) <= set(SECURITY_WORDS["en"])
    assert "已拦截" in notice_security.blocked(found, "zh").title


def test_a_blocked_text_of_nobodys_run_leads_to_the_file() -> None:
    found = SecurityFinding(
        guard=Purpose.SKILL, kind=Class.EXFILTRATION, verdict=Verdict.BLOCK, place="skills/a/b/SKILL.md:7"
    )
    assert "look: hermes-cron log skills/a/b/SKILL.md " in notice_security.blocked(found, "en").body

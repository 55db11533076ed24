"""What a message may hold: one line of each foreign text, times that are clear, nothing for want of knowledge."""

from __future__ import annotations

import string

import pytest

from hermes_cron.domain import notice
from hermes_cron.domain.check import CheckKind, CheckResult, Verdict
from hermes_cron.domain.notice_words import WORDS
from hermes_cron.domain.remedy import look
from hermes_cron.domain.run import Cause, Outcome, ParkedEffect, RunState
from tests.ended import at, ending, failed, good, job

NASTY = "first\x1b[2J\r\nsecond\u202e\n\n```\ud800 " + "x" * 5000


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_say_the_same_things() -> None:
    assert set(WORDS["en"]) == set(WORDS["zh"])
    assert {key: _placeholders(text) for key, text in WORDS["en"].items()} == {
        key: _placeholders(text) for key, text in WORDS["zh"].items()
    }


def test_a_foreign_text_can_not_add_lines_or_control_codes() -> None:
    check = CheckResult(kind=CheckKind.SHELL, says=NASTY, verdict=Verdict.CHECK_FAILED, detail=NASTY)
    effect = ParkedEffect(session_id="s", seq=1, tool="terminal", arguments=NASTY, evidence=(NASTY,) * 100)
    wrong = ending(good(text="ok", checks=(check,) * 100))
    texts = [
        (notice.failure(ending(failed(error=NASTY)), incident=1, last_good=None), 4),
        (notice.held(ending(failed(error=NASTY)), failures=5), 4),
        (notice.check_failed(wrong, incident=1, last_good=None), 3 + 11 + 1),
        (notice.report(wrong), 3),
        (
            notice.approval(
                job(), effect, run_id="r1", number=1, asked_at=at(11, 27), expires_at=at(11, 28)
            ),
            6 + 5 + 10,
        ),
    ]  # fmt: skip
    for said, lines in texts:
        assert len(said.body.split("\n")) == lines, said.body
        assert all(each.isprintable() for each in said.body.replace("\n", ""))
        assert max(map(len, said.body.split("\n"))) < 1200
        assert said.title.isprintable()
    assert texts[2][0].body.split("\n")[-3] == "- and 90 more"


def test_a_report_is_the_agents_own_and_is_not_touched() -> None:
    report = "tab\there\r\n  indented\n\n\nnot cut " + "y" * 50_000
    assert notice.report(ending(good(text=report))).body.startswith(report + "\n\n")


def test_a_title_is_one_line_whatever_was_rendered_into_it() -> None:
    assert notice.report(ending(good(title="Week 49\n2026"))).title == "Week 49 2026"
    assert notice.report(ending(good(title=" \n"))).title == "inspect-prod-db"


@pytest.mark.parametrize(
    ("prompt", "schedule", "language"),
    [
        ("inspect prod", ("每天早上9点",), "en"),
        ("巡检 prod", ("every day 9am",), "zh"),
        (None, ("每天早上9点",), "zh"),
        (None, ("every day 9am", "每天早上9点"), "zh"),
        (None, (), "en"),
    ],
)
def test_the_language_is_that_of_the_prompt_else_of_the_schedule(
    prompt: str | None, schedule: tuple[str, ...], language: str
) -> None:
    assert notice.language_of(job(prompt=prompt, script=None if prompt else "true", schedule=schedule)) == language


def _third_line(**fields: object) -> str:
    last_good = fields.pop("last_good", None)
    return notice.failure(ending(failed(), **fields), incident=1, last_good=last_good).body.split("\n")[2]  # type: ignore[arg-type]


def test_no_report_is_claimed_only_for_the_day_it_is_true_of() -> None:
    assert "No report exists for today." in _third_line(last_good=at(11, 26, 23, 59))
    assert "This run has no report." in _third_line(last_good=at(11, 27, 0, 0))
    late = _third_line(scheduled_at=at(11, 26, 23), started_at=at(11, 27), last_good=None)
    assert "No report exists for Thu 2026-11-26." in late


def test_instants_are_said_as_near_as_they_are() -> None:
    line = _third_line(last_good=at(11, 27, 8, 55), next_due=at(12, 7))
    assert "Last good run: 08:55. Next: Mon 12-07 09:00." in line
    assert "Next: none." in _third_line(next_due=None)
    assert "Next: none, it is paused." in _third_line(job=job(paused="holiday"))


def test_what_was_kept_is_named() -> None:
    kept = notice.failure(ending(failed(output_path="outputs/x/r1.md")), incident=1, last_good=None)
    assert "What was known: outputs/x/r1.md." in kept.body


@pytest.mark.parametrize("reason", ["owner_died", "shutdown", "overlong", "something_new", None])
def test_an_end_without_an_error_is_explained(reason: str | None) -> None:
    outcome = Outcome(state=RunState.INTERRUPTED, reason=reason)
    said = notice.failure(ending(outcome), incident=1, last_good=None).body.split("\n")[1]
    unknown = f"it ended as interrupted{f' ({reason})' if reason else ''}"
    assert said == WORDS["en"].get(reason or "", unknown)


def test_a_run_by_hand_is_not_called_due() -> None:
    end = ending(failed(), cause=Cause.MANUAL, scheduled_at=None)
    head = notice.failure(end, incident=1, last_good=None).title
    assert head == "FAILED inspect-prod-db, started by hand Fri 2026-11-27 09:00"


@pytest.mark.parametrize(
    ("reason", "databases", "error", "command"),
    [
        ("database_unreachable", ("prod",), "x", "hermes-cron db test prod"),
        ("database_error", ("prod", "prod-replica"), "prod-replica: refused", "hermes-cron db test prod-replica"),
        ("database_error", ("prod", "prod-replica"), "prod: refused", "hermes-cron db test prod"),
        ("database_error", ("a", "b"), "nothing is named", "hermes-cron runs show r1"),
        ("database_error", (), "prod: refused", "hermes-cron runs show r1"),
        ("model_auth", ("prod",), None, "hermes-cron model test"),
        ("rate_limited", (), None, "hermes-cron model test"),
        ("model_refused", (), None, "hermes-cron runs show r1"),
        ("exit_code", (), "exit code 2", "hermes-cron runs show r1"),
        (None, (), None, "hermes-cron runs show r1"),
    ],
)
def test_each_kind_of_failure_has_its_next_command(
    reason: str | None, databases: tuple[str, ...], error: str | None, command: str
) -> None:
    assert look(reason, run_id="r1", databases=databases, error=error) == command

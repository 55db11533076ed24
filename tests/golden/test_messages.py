"""What is sent, character for character, in both languages."""

from __future__ import annotations

import pytest

from hermes_cron.domain import notice
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.run import Outcome, ParkedEffect, RunState
from tests.ended import CHINESE, ENGLISH, NO_HEADING, PROVEN, UNREACHED, at, ending, failed, good, job

LANGUAGES = pytest.mark.parametrize("prompt", [ENGLISH, CHINESE], ids=["en", "zh"])


def _by(prompt: str, english: str, chinese: str) -> str:
    return (english if prompt == ENGLISH else chinese).strip("\n")


@LANGUAGES
def test_a_failure_says_what_and_what_is_next_and_which_command(prompt: str) -> None:
    end = ending(failed(), job=job(prompt=prompt), attempt=4)
    said = notice.failure(end, incident=17, last_good=at(11, 26))
    assert said.body == _by(prompt, """
FAILED inspect-prod-db, due Fri 2026-11-27 09:00
prod does not answer: connection refused by 10.0.3.17:5432 (4 tries in 15 min)
Last good run: Thu 09:00. Next: Mon 09:00. No report exists for today.
look: hermes-cron db test prod     quiet until solved: hermes-cron incidents ack i17
""", """
失败 inspect-prod-db，应于 2026-11-27 周五 09:00 执行
prod does not answer: connection refused by 10.0.3.17:5432（15 分钟内试了 4 次）
上次成功：周四 09:00。下次：周一 09:00。今天没有报告。
查看：hermes-cron db test prod     解决前不再提醒：hermes-cron incidents ack i17
""")  # fmt: skip
    assert said.title == said.body.splitlines()[0]


@LANGUAGES
def test_a_recovery_is_one_line(prompt: str) -> None:
    end = ending(
        good(checks=(PROVEN,)), job=job(prompt=prompt), run_id="r7h9x",
        scheduled_at=at(11, 30), started_at=at(11, 30), ended_at=at(11, 30, 9, 0, 3),
    )  # fmt: skip
    solved = [notice.Solved(number=17, failures=1, opened_at=at(11, 27, 9, 15))]
    said = notice.recovery(end, solved)
    assert said.body == _by(
        prompt,
        "RECOVERED inspect-prod-db: Mon 2026-11-30 09:00 ok, verified. Failed 1 run in 3 days (i17).",
        "恢复 inspect-prod-db：2026-11-30 周一 09:00 成功，已核实。3 天内失败 1 次（i17）。",
    )
    assert said.title == said.body


@LANGUAGES
def test_a_recovery_of_several_incidents_by_hand_and_without_checks(prompt: str) -> None:
    end = ending(
        good(), job=job(prompt=prompt), scheduled_at=None, started_at=at(11, 27, 11), ended_at=at(11, 27, 11, 0, 3)
    )
    solved = [
        notice.Solved(number=18, failures=2, opened_at=at(11, 27, 10)),
        notice.Solved(number=17, failures=1200, opened_at=at(11, 27, 9, 15)),
    ]
    assert notice.recovery(end, solved).body == _by(
        prompt,
        "RECOVERED inspect-prod-db: by hand Fri 2026-11-27 11:00 ok, no checks. Failed 1,202 runs in 1.8 h (i18, i17).",
        "恢复 inspect-prod-db：2026-11-27 周五 11:00 手动运行成功，无核查。1.8 小时内失败 1,202 次（i18，i17）。",
    )


@LANGUAGES
def test_a_report_goes_out_whole_with_one_line_under_it(prompt: str) -> None:
    report = "# prod: 1 critical\n\n- line\n\n```\n  code\n```\n\n"
    end = ending(good(text=report, checks=(PROVEN,)), job=job(prompt=prompt), run_id="r7k2m")
    said = notice.report(end)
    assert said.title == "inspect-prod-db"
    assert said.body == report.rstrip() + "\n\n" + _by(
        prompt, "inspect-prod-db r7k2m, verified, 0 tokens.", "inspect-prod-db r7k2m，已核实，0 token。"
    )


USED = {
    "known": (9120, 0.0123, "9,120 tokens, 0.01 USD", "9,120 token，0.01 美元"),
    "small": (120, 0.0004, "120 tokens, 0.0004 USD", "120 token，0.0004 美元"),
    "free": (120, 0.0, "120 tokens, 0.00 USD", "120 token，0.00 美元"),
    "no_price": (9120, None, "9,120 tokens, cost unknown", "9,120 token，费用未知"),
    "nothing": (0, None, "tokens unknown, cost unknown", "token 数未知，费用未知"),
}


@pytest.mark.parametrize("case", USED)
@LANGUAGES
def test_what_is_not_known_of_the_cost_is_said(prompt: str, case: str) -> None:
    tokens, cost, english, chinese = USED[case]
    end = ending(good(), job=job(prompt=prompt), run_id="r7k2m", tokens=tokens, cost_usd=cost)
    assert notice.report(end).body.splitlines()[-1] == _by(
        prompt, f"inspect-prod-db r7k2m, no checks, {english}.", f"inspect-prod-db r7k2m，无核查，{chinese}。"
    )


def _found_wrong(prompt: str, *checks: object) -> Ending:
    outcome = good(text="# All is well", checks=checks, output_path="outputs/inspect-prod-db/r7j0c.md")
    return ending(outcome, job=job(prompt=prompt), run_id="r7j0c", tokens=9120, cost_usd=0.22)


@LANGUAGES
def test_the_footer_of_a_report_that_its_checks_deny_says_so_first(prompt: str) -> None:
    assert notice.report(_found_wrong(prompt, UNREACHED, PROVEN, NO_HEADING)).body == "# All is well\n\n" + _by(
        prompt,
        'inspect-prod-db r7j0c, CHECK FAILED: report matches: the report has no "## 结论"; and 1 more. '
        "9,120 tokens, 0.22 USD. Look: hermes-cron runs show r7j0c",
        'inspect-prod-db r7j0c，核查未过：report matches: the report has no "## 结论"；另有 1 项。'
        "9,120 token，0.22 美元。查看：hermes-cron runs show r7j0c",
    )
    assert notice.report(_found_wrong(prompt, UNREACHED)).body.splitlines()[-1] == _by(
        prompt,
        "inspect-prod-db r7j0c, NOT CHECKABLE: sql on prod: prod does not answer. "
        "9,120 tokens, 0.22 USD. Look: hermes-cron runs show r7j0c",
        "inspect-prod-db r7j0c，无法核查：sql on prod: prod does not answer。"
        "9,120 token，0.22 美元。查看：hermes-cron runs show r7j0c",
    )


@LANGUAGES
def test_a_failed_check_is_told_with_its_evidence_and_without_the_report(prompt: str) -> None:
    said = notice.check_failed(_found_wrong(prompt, PROVEN, NO_HEADING), incident=18, last_good=None)
    assert said.body == _by(prompt, """
CHECK FAILED inspect-prod-db, due Fri 2026-11-27 09:00
The run ended as done; its checks say otherwise:
- report matches: the report has no "## 结论"
Last good run: none. Next: Mon 09:00. Its report is kept, not proven: outputs/inspect-prod-db/r7j0c.md.
look: hermes-cron runs show r7j0c     quiet until solved: hermes-cron incidents ack i18
""", """
核查未过 inspect-prod-db，应于 2026-11-27 周五 09:00 执行
运行自称完成，核查结果不符：
- report matches: the report has no "## 结论"
上次成功：无。下次：周一 09:00。报告已保存，未经证实：outputs/inspect-prod-db/r7j0c.md。
查看：hermes-cron runs show r7j0c     解决前不再提醒：hermes-cron incidents ack i18
""")  # fmt: skip
    assert "All is well" not in said.body


@LANGUAGES
def test_a_check_that_could_not_be_made_is_not_called_failed(prompt: str) -> None:
    said = notice.check_failed(_found_wrong(prompt, UNREACHED), incident=19, last_good=None)
    assert said.body.splitlines()[:3] == _by(prompt, """
NOT CHECKABLE inspect-prod-db, due Fri 2026-11-27 09:00
The run ended as done; it could not be checked:
- sql on prod: prod does not answer
""", """
无法核查 inspect-prod-db，应于 2026-11-27 周五 09:00 执行
运行自称完成，但无法核查：
- sql on prod: prod does not answer
""").splitlines()  # fmt: skip


@LANGUAGES
def test_a_hold_says_why_and_how_to_go_on(prompt: str) -> None:
    end = ending(failed(reason="model_auth", error="model key refused"), job=job(prompt=prompt))
    assert notice.held(end, failures=5).body == _by(prompt, """
HELD inspect-prod-db after 5 failures in a row
model key refused
Nothing of it starts until somebody resumes it.
look: hermes-cron model test     go on: hermes-cron resume inspect-prod-db
""", """
挂起 inspect-prod-db：连续失败 5 次
model key refused
恢复之前不会再启动。
查看：hermes-cron model test     恢复：hermes-cron resume inspect-prod-db
""")  # fmt: skip


@LANGUAGES
def test_a_cap_that_holds_the_job_is_one_message(prompt: str) -> None:
    outcome = Outcome(
        state=RunState.BUDGET_EXHAUSTED,
        reason="budget",
        error="the cap of 0.30 USD for a day of this job leaves no room for the next model call",
        output_path="outputs/inspect-prod-db/r7dd8.md",
    )
    assert notice.budget(ending(outcome, job=job(prompt=prompt))).body == _by(prompt, """
OUT OF BUDGET inspect-prod-db, due Fri 2026-11-27 09:00
the cap of 0.30 USD for a day of this job leaves no room for the next model call
Nothing of it starts until somebody resumes it. What was known: outputs/inspect-prod-db/r7dd8.md.
look: hermes-cron runs show r7dd8     go on: hermes-cron resume inspect-prod-db
""", """
预算用尽 inspect-prod-db，应于 2026-11-27 周五 09:00 执行
the cap of 0.30 USD for a day of this job leaves no room for the next model call
恢复之前不会再启动。已知内容：outputs/inspect-prod-db/r7dd8.md。
查看：hermes-cron runs show r7dd8     恢复：hermes-cron resume inspect-prod-db
""")  # fmt: skip


@LANGUAGES
def test_a_question_says_what_either_answer_means_and_until_when(prompt: str) -> None:
    effect = ParkedEffect(
        session_id="s1",
        seq=14,
        tool="terminal",
        arguments='{"command": "make deploy"}',
        evidence=("it began at 02:30:58 and sent no receipt", "its processes were ended at the take-over"),
    )
    said = notice.approval(
        job(prompt=prompt), effect, run_id="r7m3d", number=91, asked_at=at(11, 29, 2, 31), expires_at=at(11, 30, 18, 31)
    )
    assert said.body == _by(prompt, """
[a91] inspect-prod-db asks whether to do this (again)

  terminal {"command": "make deploy"}

  why      whoever ran it was lost before it reported back: it may have happened, or not
  known    it began at 02:30:58 and sent no receipt
  known    its processes were ended at the take-over
  approve  means it did not happen and shall be done now
  deny     means it did happen, or must not; it is not done
  asked by run r7m3d
  silence  means no, on Mon 2026-11-30 18:31 (40 h)

yes: hermes-cron approve a91     no: hermes-cron deny a91 "reason"     more: hermes-cron approvals show a91
""", """
[a91] inspect-prod-db 询问是否（再次）执行

  terminal {"command": "make deploy"}

  原因   执行者在报告结果之前中断：可能已经发生，也可能没有
  已知   it began at 02:30:58 and sent no receipt
  已知   its processes were ended at the take-over
  批准   表示它没有发生，现在执行
  拒绝   表示它已经发生，或不应发生；不再执行
  来自   运行 r7m3d
  不答复 视为拒绝，截至 2026-11-30 周一 18:31（40 小时）

同意：hermes-cron approve a91     拒绝：hermes-cron deny a91 "原因"     详情：hermes-cron approvals show a91
""")  # fmt: skip

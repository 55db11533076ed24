"""Every message on the page is one that is really sent so."""

from __future__ import annotations

import re
from pathlib import Path

from hermes_cron.domain import notice, notice_learned, notice_security
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.job import When
from hermes_cron.domain.learning import LearnedState
from hermes_cron.domain.scan.finding import Kind, Purpose, Verdict
from hermes_cron.store import security
from hermes_cron.store.incidents import ACKED
from hermes_cron.store.reports import Silence
from tests.ended import CHINESE, NO_HEADING, PROVEN, at, ending, failed, good, job
from tests.unit.domain.test_notice_learned import ABOUT, change

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "messages.md").read_text("utf-8")


def _sent() -> set[str]:
    denied = ending(
        good(text="# All is well", checks=(NO_HEADING,), output_path="outputs/inspect-prod-db/r7j0c.md"),
        run_id="r7j0c", tokens=9120, cost_usd=0.22,
    )  # fmt: skip
    proven = {"checks": (PROVEN,)}
    monday = {"scheduled_at": at(11, 30), "started_at": at(11, 30), "ended_at": at(11, 30, 9, 0, 3)}
    texts = [
        notice.report(ending(good(**proven), run_id="r7k2m")),
        notice.report(denied),
        notice.failure(ending(failed(), attempt=4), incident=17, last_good=at(11, 26)),
        notice.failure(ending(failed(), attempt=4, job=job(prompt=CHINESE)), incident=17, last_good=at(11, 26)),
        notice.check_failed(denied, incident=18, last_good=None),
        notice.recovery(
            ending(good(**proven), **monday), [notice.Solved(number=17, failures=1, opened_at=at(11, 27, 9, 15))]
        ),
        notice.held(ending(failed(reason="model_auth", error="model key refused")), failures=5),
        *_learned(),
    ]
    return {text.body for text in texts}


def _learned() -> list[notice.Text]:
    waiting = change(state=LearnedState.PROPOSED, after=None, details={**ABOUT, "version": None})
    blocked = SecurityFinding(
        guard=Purpose.CONTEXT, kind=Kind.INSTRUCTION_OVERRIDE, verdict=Verdict.BLOCK, place="AGENTS.md:5",
        job="inspect-prod-db", run_id="r7k2m",
    )  # fmt: skip
    return [
        notice_learned.learned(job(), [change(after="c81f2a9")]),
        notice_learned.proposed(job(), waiting, number=92, asked_at=at(11, 29), expires_at=at(11, 30, 18, 31)),
        notice_security.blocked(blocked, "en"),
    ]


def test_every_example_is_what_is_sent() -> None:
    shown = [block.strip("\n") for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)]
    assert len(shown) == len(_sent())
    assert set(shown) == _sent()


def test_every_reason_of_silence_is_on_the_page() -> None:
    assert [word for word in (*Silence, ACKED, *When) if f"`{word}`" not in PAGE] == []


def test_the_bounds_are_those_of_the_code() -> None:
    words = {5: "five", 10: "ten"}
    changes, lines = words[notice_learned.CHANGES], words[notice_learned.LINES]
    assert f"tells of {changes} changes at most, each with {lines} lines at most" in PAGE
    assert f"in one look, {words[security.AT_ONCE]} are told" in PAGE
    assert f"at most {notice.LINE} characters ({2 * notice.LINE} for a call)" in PAGE

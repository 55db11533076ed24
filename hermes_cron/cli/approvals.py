"""``approvals``: what runs ask a person, and one question with everything that is known: of a call, the evidence; of
something to be learned, the lines that would change."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli, cli

if TYPE_CHECKING:
    from hermes_cron.domain.learning import Learned
    from hermes_cron.store.approvals import Approval

app = typer.Typer(help="Questions of runs that wait for a person.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "Questions of runs that wait for a person.": "等待人回答的运行。",
    "Open questions, the most urgent first.": "未回答的问题，最紧急的在前。",
    "One question: the call, what is known of it, what an answer means.": "一个问题：调用内容、已知情况、回答的含义。",
    "Those that were answered as well.": "包括已回答的。",
    "The question, such as a91.": "问题编号，例如 a91。",
}

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "headers": ("ID", "JOB", "RUN", "CALL", "ASKED", "ANSWER"),
        "none": "Nobody waits for an answer.",
        "none_ever": "Nothing was asked yet.",
        "left": "{span} left", "overdue": "no answer in time",
        "next": "yes: hermes-cron approve ID     no: hermes-cron deny ID     more: hermes-cron approvals show ID",
        "job": "job", "run": "run", "call": "call", "known": "known", "asked": "asked", "until": "until",
        "answer": "answer", "reason": "reason",
        "silence": "{at} ({span} left); silence means no",
        "approved": "approved", "denied": "denied",
        "expired": "no answer in time", "withdrawn": "the run was cancelled",
        "by": "{answer} by {by}, {at}", "at": "{answer}, {at}",
        "approve": "approve {id}  it did not happen: the run does it now",
        "deny": "deny {id}     it happened, or must not: the run goes on without it",
        "change": "change", "lines": "lines", "undo": "undo", "now": "now",
        "now_undone": "undone", "now_rejected": "rejected",
        "approve_learned": "approve {id}  it is learned now, in your name",
        "deny_learned": "deny {id}     it is not learned",
    },
    "zh": {
        "headers": ("编号", "任务", "运行", "调用", "提问于", "回答"),
        "none": "没有等待回答的问题。",
        "none_ever": "还没有提过问题。",
        "left": "剩 {span}", "overdue": "逾期未答",
        "next": "同意：hermes-cron approve 编号  拒绝：hermes-cron deny 编号  详情：hermes-cron approvals show 编号",
        "job": "任务", "run": "运行", "call": "调用", "known": "已知", "asked": "提问于", "until": "截止",
        "answer": "回答", "reason": "原因",
        "silence": "{at}（剩 {span}）；不回答即为不同意",
        "approved": "已批准", "denied": "已拒绝", "expired": "逾期未答", "withdrawn": "运行已取消",
        "by": "{answer}，{by}，{at}", "at": "{answer}，{at}",
        "approve": "approve {id}  它没有发生：现在执行",
        "deny": "deny {id}     它已发生，或不应执行：运行跳过它",
        "change": "改动", "lines": "内容", "undo": "撤销", "now": "现况",
        "now_undone": "已撤销", "now_rejected": "已退回",
        "approve_learned": "approve {id}  现在以您的名义学习它",
        "deny_learned": "deny {id}     不学习它",
    },
}  # fmt: skip

Word = Annotated[str, typer.Argument(metavar="ID", help="The question, such as a91.")]


@app.command("list", help="Open questions, the most urgent first.")
def list_approvals(
    every: Annotated[bool, typer.Option("--all", help="Those that were answered as well.")] = False,
) -> None:
    state = cli()
    found = state.app.runs.approvals(every=every)
    if state.json:
        state.emit_json({"approvals": [as_json(each) for each in found]})
        return
    texts = _TEXTS[state.lang]
    if not found:
        state.out(texts["none_ever" if every else "none"])
        return
    state.out(
        output.table([_row(each, state) for each in found], texts["headers"], max_columns=state.columns, give={1, 3})
    )
    if any(_waits(each, state) for each in found):
        state.note(texts["next"])


def _waits(asked: Approval, state: Cli) -> bool:
    """An answer would still be taken."""
    return asked.decision is None and asked.expires_at > state.clock.now()


def _row(asked: Approval, state: Cli) -> list[str]:
    zone, now = ZoneInfo(state.settings.timezone), state.clock.now()
    return [
        asked.id,
        asked.job_name,
        asked.run_id,
        output.one_line(f"{asked.tool} {asked.arguments}"),
        when.due(asked.asked_at.replace(second=0), zone, state.lang, now=now),
        _answer(asked, state, zone),
    ]


def _answer(asked: Approval, state: Cli, zone: ZoneInfo) -> str:
    texts = _TEXTS[state.lang]
    if asked.decision is None:
        left = asked.expires_at - state.clock.now()
        said = "overdue" if left <= timedelta(0) else "left"
        return str(texts[said].format(span=when.length(left, state.lang)))
    at = when.whole(asked.decided_at or asked.asked_at, zone, state.lang)
    form = texts["by" if asked.decided_by else "at"]
    return str(form.format(answer=texts[asked.decision], by=asked.decided_by, at=at))


@app.command("show", help="One question: the call, what is known of it, what an answer means.")
def show(word: Word) -> None:
    state = cli()
    asked = state.app.runs.approval(word)
    change = state.app.runs.proposal(asked)
    if state.json:
        state.emit_json(as_json(asked, change))
        return
    state.out(asked.id)
    state.out(output.facts(_facts(asked, state) if change is None else _of_change(asked, change, state)))
    if _waits(asked, state):
        texts, form = _TEXTS[state.lang], "{}" if change is None else "{}_learned"
        state.out("")
        for verb in ("approve", "deny"):
            state.out("hermes-cron " + texts[form.format(verb)].format(id=asked.id))


def _of_change(asked: Approval, change: Learned, state: Cli) -> list[tuple[str, str]]:
    """Of a proposal: what would change, line by line, and where it comes from."""
    from hermes_cron.domain import notice_learned

    texts = _TEXTS[state.lang]
    lines = "\n".join(map(output.one_line, change.lines))
    facts = [
        (texts["job"], asked.job_name),
        (texts["run"], asked.run_id),
        (texts["change"], notice_learned.what(change, state.lang)),
        (texts["lines"], lines),
        (texts["known"], notice_learned.source(change, state.lang)),
        *((texts["known"], output.one_line(str(line))) for line in change.details.get("said", ())),
        *_answered(asked, state),
        (texts["now"], str(texts.get(f"now_{change.state}", ""))),
        (texts["undo"], notice_learned.undo(change)),
    ]
    return [(label, value) for label, value in facts if value]


def _facts(asked: Approval, state: Cli) -> list[tuple[str, str]]:
    texts = _TEXTS[state.lang]
    return [
        (texts["job"], asked.job_name),
        (texts["run"], asked.run_id),
        (texts["call"], output.one_line(f"{asked.tool} {asked.arguments}")),
        *((texts["known"], output.one_line(line)) for line in asked.evidence),
        *_answered(asked, state),
    ]


def _answered(asked: Approval, state: Cli) -> list[tuple[str, str]]:
    """When it was asked, and what the answer is, or until when it waits for one."""
    texts, zone = _TEXTS[state.lang], ZoneInfo(state.settings.timezone)

    def at(instant: datetime) -> str:
        return when.whole(instant, zone, state.lang)

    pairs = [(texts["asked"], f"{at(asked.asked_at)} ({zone.key})")]
    if asked.decision is not None:
        pairs.append((texts["answer"], _answer(asked, state, zone)))
    elif asked.expires_at <= state.clock.now():
        pairs.append((texts["until"], f"{at(asked.expires_at)}: {texts['overdue']}"))
    else:
        span = when.length(asked.expires_at - state.clock.now(), state.lang)
        pairs.append((texts["until"], texts["silence"].format(at=at(asked.expires_at), span=span)))
    if asked.reason:
        pairs.append((texts["reason"], output.one_line(asked.reason)))
    return pairs


def as_json(asked: Approval, change: Learned | None = None) -> dict[str, object]:
    """The object of ``--json``, of one and in lists. ``change``: what a proposal would do."""
    from hermes_cron.cli import run_learned

    return {
        "id": asked.id,
        "run_id": asked.run_id,
        "job": asked.job_name,
        "tool": asked.tool,
        "arguments": asked.arguments,
        "evidence": list(asked.evidence),
        "asked_at": asked.asked_at,
        "expires_at": asked.expires_at,
        "decision": asked.decision,
        "decided_at": asked.decided_at,
        "decided_by": asked.decided_by,
        "reason": asked.reason,
        "learned": asked.learned if change is None else run_learned.change_json(change),
    }

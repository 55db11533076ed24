"""What did a run teach, where did it go, and who said what of the run? Lines and JSON of ``runs show``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli
from hermes_cron.domain import notice_learned
from hermes_cron.domain.learning import Kind, Learned, LearnedState

if TYPE_CHECKING:
    from hermes_cron.store.taught import Row, Taught

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "nothing": "nothing",
        "waits": "not known yet: a review waits for a scheduler",
        "going_on": "not known yet: a review is going on",
        "failed": "nothing; the review ended as {state}{why}",
        "why": " ({reason})",
        "line": "{verb} {what}, {source}{end}",
        "verb_changed": "changed", "verb_added": "added", "verb_removed": "removed", "verb_created": "created",
        "verb_rewritten": "rewrote", "verb_archived": "archived",
        "undo": "; undo: {command}", "yes": "; yes: hermes-cron approve a{number}",
        "proposed": "proposes", "denied": "proposed", "expired": "proposed",
        "end_denied": ": denied", "end_expired": ": no answer in time", "end_undone": ": undone",
        "end_rejected": ": rejected",
        "fact": "fact -> memory ({names})", "method": "method -> skill ({names})", "trail": "trail -> session {names}",
        "session": "{id} ({kind})", "join": ", ", "list": "; ",
        "said": "{by}, {at}: {text}",
        "review": "; review {calls}, {tokens} tokens, {cost}",
        "calls": "{n} model calls", "call": "1 model call", "cost": "{usd} USD", "cost_unknown": "cost unknown",
    },
    "zh": {
        "nothing": "无",
        "waits": "尚不清楚：回顾在等待调度器",
        "going_on": "尚不清楚：正在回顾",
        "failed": "无；回顾的结束状态为 {state}{why}",
        "why": "（{reason}）",
        "line": "{verb}{what}，{source}{end}",
        "verb_changed": "修改", "verb_added": "新增", "verb_removed": "删除", "verb_created": "新建",
        "verb_rewritten": "重写", "verb_archived": "归档",
        "undo": "；撤销：{command}", "yes": "；同意：hermes-cron approve a{number}",
        "proposed": "提议", "denied": "提议", "expired": "提议",
        "end_denied": "：已拒绝", "end_expired": "：逾期未答", "end_undone": "：已撤销", "end_rejected": "：已退回",
        "fact": "事实 -> 记忆（{names}）", "method": "方法 -> 技能（{names}）", "trail": "过程 -> 会话 {names}",
        "session": "{id}（{kind}）", "join": "，", "list": "；",
        "said": "{by}，{at}：{text}",
        "review": "；回顾：{calls}，{tokens} token，{cost}",
        "calls": "模型调用 {n} 次", "call": "模型调用 1 次", "cost": "{usd} 美元", "cost_unknown": "费用未知",
    },
}  # fmt: skip
_KINDS_ZH = {"main": "主", "flush": "存记忆", "summary": "摘要", "review": "回顾"}
_LINE = 300
_DIGITS = 8
_VERBS = frozenset({"added", "removed", "created", "rewritten", "archived"})


def kind_of(session: str, lang: str) -> str:
    """A session's kind as a word of the language."""
    return _KINDS_ZH.get(session, session) if lang == "zh" else session


def learned(taught: Taught, lang: str) -> str:
    """A line for each change and proposal; ``nothing``, or why it is not known."""
    texts = _TEXTS[lang]
    lines = [_change(change, lang) for change in taught.changes]
    waits = taught.open_review
    if waits is not None:
        lines.append(texts["going_on" if waits["state"] == "running" else "waits"])
    elif not lines:
        lines.append(_nothing(taught, texts))
    return "\n".join(lines)


def _nothing(taught: Taught, texts: Mapping[str, str]) -> str:
    """A review that came to no end of its own has not found that there is nothing."""
    failed = next((row for row in reversed(taught.reviews) if row["state"] != "ok"), None)
    if failed is None or taught.reviews[-1]["state"] == "ok":
        return texts["nothing"]
    reason = output.cut(output.one_line(str(failed["error"] or failed["reason"] or "")), _LINE)
    return texts["failed"].format(state=failed["state"], why=texts["why"].format(reason=reason) if reason else "")


def _change(change: Learned, lang: str) -> str:
    texts, state = _TEXTS[lang], change.state.value
    verb = texts.get(state) or texts[f"verb_{change.change if change.change in _VERBS else 'changed'}"]
    end = texts.get(f"end_{state}", "")
    if change.state is LearnedState.APPLIED and change.after:
        end = texts["undo"].format(command=notice_learned.undo(change))
    elif change.state is LearnedState.PROPOSED:
        end = texts["yes"].format(number=change.approval)
    what, source = notice_learned.what(change, lang), notice_learned.source(change, lang)
    return output.one_line(texts["line"].format(verb=verb, what=what, source=source, end=end))


def routed(taught: Taught, lang: str) -> str:
    """Where each kind of experience went: facts, methods, and the trail, which always goes to sessions."""
    texts = _TEXTS[lang]
    kinds = (
        ("fact", taught.stands(Kind.MEMORY)),
        ("method", taught.stands(Kind.SKILL)),
        ("trail", _trail(taught, lang)),
    )
    return texts["list"].join(
        texts[kind].format(names=texts["join"].join(map(output.one_line, names))) for kind, names in kinds if names
    )


def _trail(taught: Taught, lang: str) -> tuple[str, ...]:
    """The beginnings of their ids, as ``sessions show`` takes them."""
    form = _TEXTS[lang]["session"]
    return tuple(form.format(id=row["id"][:_DIGITS], kind=kind_of(row["kind"], lang)) for row in taught.sessions)


def said(taught: Taught, state: Cli, zone: ZoneInfo) -> str:
    """What people said of the run, a line each."""
    form = _TEXTS[state.lang]["said"]

    def at(instant: datetime) -> str:
        return when.whole(instant, zone, state.lang)

    return "\n".join(
        form.format(by=output.one_line(each.by), at=at(each.at), text=output.cut(output.one_line(each.text), _LINE))
        for each in taught.feedback
    )


def cost(taught: Taught, lang: str) -> str:
    """What the reviews of the run used, for the end of its own line; empty without any."""
    rows = [row for row in taught.reviews if row["iterations"]]
    return "" if not rows else _cost(rows, _TEXTS[lang])


def _cost(rows: list[Row], texts: Mapping[str, str]) -> str:
    from hermes_cron.domain.money import dollars

    calls = sum(row["iterations"] for row in rows)
    usd = [row["cost_usd"] for row in rows]
    known = None if any(each is None for each in usd) else sum(usd)
    return texts["review"].format(
        calls=texts["call" if calls == 1 else "calls"].format(n=calls),
        tokens=f"{sum(row['tokens_input'] + row['tokens_output'] for row in rows):,}",
        cost=texts["cost_unknown"] if known is None else texts["cost"].format(usd=dollars(known)),
    )


def as_json(taught: Taught) -> dict[str, object]:
    """For ``runs show --json``."""
    return {
        "learned": [change_json(change) for change in taught.changes],
        "routing": {
            "fact": list(taught.stands(Kind.MEMORY)),
            "method": list(taught.stands(Kind.SKILL)),
            "trail": [{"session": row["id"], "kind": row["kind"]} for row in taught.sessions],
        },
        "reviews": [dict(_review_json(row)) for row in taught.reviews],
        "compaction": {"model_calls": taught.compacting[0], "tokens": taught.compacting[1]},
        "feedback": [{"id": each.number, "by": each.by, "at": each.at, "text": each.text} for each in taught.feedback],
    }


def change_json(change: Learned) -> dict[str, object]:
    """One change or proposal."""
    return {
        "id": change.number,
        "state": change.state,
        "kind": change.kind,
        "name": change.name,
        "change": change.change,
        "section": change.details.get("section"),
        "version": change.details.get("version"),
        "lines": list(change.lines),
        "at": change.at,
        "actor": change.actor,
        "call": change.key,
        "reason": change.reason,
        "run_id": change.run_id,
        "review": change.review,
        "approval": None if change.approval is None else f"a{change.approval}",
        "before": change.before,
        "after": change.after,
        "undo": notice_learned.undo(change) or None,
    }


def _review_json(row: Row) -> Iterator[tuple[str, object]]:
    yield "id", row["number"]
    for key in ("brief", "state", "reason", "error", "queued_at", "started_at", "ended_at", "iterations"):
        yield key, row[key]
    yield "session", row["session_id"]
    yield "tokens", {"input": row["tokens_input"], "output": row["tokens_output"]}
    yield "cost_usd", row["cost_usd"]
    yield "changes", row["changes"]

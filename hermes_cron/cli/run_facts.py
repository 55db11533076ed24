"""What is known of one run, a label and a value a line: how it ended, what proves it, who heard of it, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, run_learned, when
from hermes_cron.cli.context import Cli

if TYPE_CHECKING:
    from hermes_cron.store.outbox import DeliveryView
    from hermes_cron.store.taught import Taught
    from hermes_cron.store.views import Around

_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "job": "job", "due": "due", "started": "started", "took": "took", "result": "result", "checked": "checked",
        "sent": "sent", "by": "by", "usage": "usage", "output": "output", "error": "error", "learned": "learned",
        "routed": "went to", "feedback": "feedback",
        "attempts": "attempts", "taken_over": "taken over", "asked": "asked", "told": "told", "waits": "waits",
        "stop": "stop", "blocked": "blocked", "left_out": "{place}: {kind}; not used",
        "by_hand": "by hand", "late": "late",
        "used": "{iterations}, {calls} ({errors} failed), {tokens} tokens{beside}, {cost}",
        "compacting": " ({tokens} of them for compaction, {calls})",
        "model_calls": "{n} model calls", "model_call": "1 model call",
        "tool_calls": "{n} tool calls", "tool_call": "1 tool call",
        "cost": "{usd} USD", "cost_unknown": "cost unknown",
        "nobody": "to nobody", "no_checks": "no checks", "not_judged": "not judged",
        "silent_no_claim": "silent: nothing was claimed",
        "until": " until {until}",
        "nth": "number {n}, since {start}: {state}", "going_on": "going on",
        "model_waits": "{n} for the model or network at the present step",
        "takeovers": "{n} times at one step, because its process died",
        "takeover": "once, because its process died",
        "message": "{target}: {state}", "at": " {at}", "try": ", {n} tries", "again": ", next try {at}",
        "answer": ": {text}",
        "question": "{id} {tool} {arguments}: {answer}", "open": "no answer yet; silence means no at {until}",
        "decided": "{decision} {at}", "decided_by": "{decision} by {by}, {at}",
        "steer": "waits for the next request: {text}",
        "cancel": "asked by {by}, {at}",
    },
    "zh": {
        "job": "任务", "due": "应于", "started": "开始", "took": "用时", "result": "结果", "checked": "核查",
        "sent": "送达", "by": "执行", "usage": "用量", "output": "输出", "error": "错误", "learned": "学到",
        "routed": "去向", "feedback": "反馈",
        "attempts": "尝试", "taken_over": "接管", "asked": "询问", "told": "指示", "waits": "等待",
        "stop": "停止", "blocked": "已拦截", "left_out": "{place}：{kind}；未使用",
        "by_hand": "手动", "late": "迟到",
        "used": "{iterations}，{calls}（失败 {errors} 次），{tokens} token{beside}，{cost}",
        "compacting": "（其中压缩用 {tokens}，{calls}）",
        "model_calls": "模型调用 {n} 次", "model_call": "模型调用 1 次",
        "tool_calls": "工具调用 {n} 次", "tool_call": "工具调用 1 次",
        "cost": "{usd} 美元", "cost_unknown": "费用未知",
        "nobody": "无人", "no_checks": "没有核查项", "not_judged": "未核查",
        "silent_no_claim": "静默：没有断言任何结果",
        "until": "，直到 {until}",
        "nth": "第 {n} 次，自 {start}：{state}", "going_on": "进行中",
        "model_waits": "当前步骤为模型或网络等待了 {n} 次",
        "takeovers": "因进程消失，在同一步骤接管 {n} 次",
        "takeover": "因进程消失接管 1 次",
        "message": "{target}：{state}", "at": " {at}", "try": "，试了 {n} 次", "again": "，下次 {at}",
        "answer": "：{text}",
        "question": "{id} {tool} {arguments}：{answer}", "open": "尚未答复；{until} 前不答即为否",
        "decided": "{decision} {at}", "decided_by": "{by} {decision}，{at}",
        "steer": "随下一个请求送出：{text}",
        "cancel": "{by} 要求，{at}",
    },
}  # fmt: skip
_LINE = 300
"""Of evidence, answers and calls."""
_WAITING = "waiting_retry"


def facts(row: Mapping[str, Any], around: Around, taught: Taught, state: Cli) -> list[tuple[str, str]]:
    """In the order in which people ask; what did not happen has no line, what is not known has one."""
    told = _Run(row, around, state)
    lines = [
        ("job", row["job_name"]),
        ("due", told.due()),
        ("started", told.started()),
        ("took", told.took()),
        ("result", told.result()),
        ("error", output.plain(row["error"] or "")),
        ("checked", told.checked()),
        ("sent", told.sent()),
        ("asked", told.asked()),
        ("attempts", told.attempts()),
        ("waits", told.waits()),
        ("taken_over", told.taken_over()),
        ("told", told.steered()),
        ("stop", told.stopped()),
        ("blocked", told.blocked()),
        ("by", row["model"] or "-"),
        ("usage", told.usage(*taught.compacting) + run_learned.cost(taught, state.lang)),
        ("output", row["output_path"] or "-"),
        ("feedback", run_learned.said(taught, state, told.zone)),
        ("learned", run_learned.learned(taught, state.lang)),
        ("routed", run_learned.routed(taught, state.lang)),
    ]
    return [(told.texts[label], value) for label, value in lines if value]


def until(row: Mapping[str, Any], zone: ZoneInfo, lang: str, *, now: datetime) -> str:
    """`` until 10:45`` of a run that waits for its next try, else nothing."""
    if row["state"] != _WAITING or row["start_after"] is None:
        return ""
    return _TEXTS[lang]["until"].format(until=when.brief(row["start_after"], zone, now=now))


class _Run:
    """The lines of one run, in its job's zone."""

    def __init__(self, row: Mapping[str, Any], around: Around, state: Cli) -> None:
        self.texts = _TEXTS[state.lang]
        self._row = row
        self._around = around
        self._state = state
        self.zone = ZoneInfo(state.app.runs.zone_of(row))
        self._spec = json.loads(row["spec"])

    def _at(self, instant: datetime) -> str:
        return when.whole(instant, self.zone, self._state.lang)

    def blocked(self) -> str:
        """What the scanner kept out of the prompt."""
        return "\n".join(
            self.texts["left_out"].format(place=output.one_line(row["place"]), kind=row["kind"].replace("_", " "))
            for row in self._around.security
        )

    def due(self) -> str:
        due = self._row["scheduled_at"]
        return f"{self._at(due)} ({self.zone.key})" if due else self.texts["by_hand"]

    def started(self) -> str:
        started = self._row["started_at"]
        late = f" ({self.texts['late']})" if self._row["late"] else ""
        return self._at(started) + late if started else "-"

    def took(self) -> str:
        started, ended = self._row["started_at"], self._row["ended_at"]
        return when.length(ended - started, self._state.lang) if started and ended else "-"

    def result(self) -> str:
        reason = f" ({self._row['reason']})" if self._row["reason"] else ""
        waits = until(self._row, self.zone, self._state.lang, now=self._state.clock.now())
        return f"{self._row['state']}{waits}{reason}"

    def checked(self) -> str:
        """The verdict, then every check with its evidence."""
        from hermes_cron.domain.check import load_results

        results = load_results(self._row["check_results"])
        if not results:
            return self.texts["not_judged"] if self._spec.get("checks") else self.texts["no_checks"]
        # Checks that hold are no verdict on a run that said nothing.
        head = self._row["verdict"] or self.texts["silent_no_claim"]
        columns = max(len(result.verdict) for result in results)
        lines = [
            f"{result.verdict:{columns}}  {result.says}: {output.cut(output.one_line(result.detail), _LINE)}"
            for result in results
        ]
        return "\n".join([head, *lines])

    def sent(self) -> str:
        """Every message with what the target answered, or why it was not sent."""
        deliveries = self._around.deliveries
        if not deliveries:
            return self.texts["nobody"] if not (self._spec.get("deliver") or {}).get("to") else "-"
        return "\n".join(f"{each.id} {self._message(each)}" for each in deliveries)

    def _message(self, each: DeliveryView) -> str:
        said = self.texts["message"].format(target=each.target, state=each.state)
        if each.sent_at is not None:
            said += self.texts["at"].format(at=self._at(each.sent_at))
        if each.attempts > 1:
            said += self.texts["try"].format(n=each.attempts)
        if each.state == "queued" and each.attempts and each.next_try_at is not None:
            said += self.texts["again"].format(at=self._at(each.next_try_at))
        answer = each.receipt or each.error or each.reason
        return said + (self.texts["answer"].format(text=output.cut(output.one_line(answer), _LINE)) if answer else "")

    def asked(self) -> str:
        return "\n".join(self._question(question) for question in self._around.approvals)

    def _question(self, question: Mapping[str, Any]) -> str:
        decision, by = question["decision"], question["decided_by"]
        if decision is None:
            answer = self.texts["open"].format(until=self._at(question["expires_at"]))
        else:
            at = self._at(question["decided_at"])
            answer = self.texts["decided_by" if by else "decided"].format(decision=decision, by=by, at=at)
        if question["reason"]:
            answer += f" ({output.cut(output.one_line(question['reason']), _LINE)})"
        return self.texts["question"].format(
            id=f"a{question['number']}",
            tool=question["tool"],
            arguments=output.cut(output.one_line(question["arguments"]), _LINE),
            answer=answer,
        )

    def attempts(self) -> str:
        """Only where there was more than one."""
        if len(self._around.attempts) < 2:
            return ""
        return "\n".join(self._attempts())

    def _attempts(self) -> Iterator[str]:
        for attempt in self._around.attempts:
            ended = attempt["state"] or self.texts["going_on"]
            reason = f" ({attempt['reason']})" if attempt["reason"] else ""
            start = self._at(attempt["started_at"])
            yield self.texts["nth"].format(n=attempt["number"], start=start, state=f"{ended}{reason}")

    def waits(self) -> str:
        return self.texts["model_waits"].format(n=self._row["waits"]) if self._row["waits"] else ""

    def taken_over(self) -> str:
        times = self._row["takeovers"]
        return "" if not times else self.texts["takeover"] if times == 1 else self.texts["takeovers"].format(n=times)

    def steered(self) -> str:
        """What the run was told and has not been sent yet; what was sent stands in its transcript."""
        waiting = json.loads(self._row["steer"] or "[]")
        texts = (output.cut(output.one_line(text), _LINE) for text in waiting)
        return "\n".join(self.texts["steer"].format(text=text) for text in texts)

    def stopped(self) -> str:
        at = self._row["cancel_requested_at"]
        return self.texts["cancel"].format(by=self._row["cancel_by"] or "-", at=self._at(at)) if at else ""

    def _counted(self, word: str, n: int) -> str:
        return self.texts[word if n == 1 else f"{word}s"].format(n=n)

    def usage(self, beside: int = 0, beside_tokens: int = 0) -> str:
        """``beside``: model calls that made room in the window."""
        from hermes_cron.domain.money import dollars

        row = self._row
        cost = row["cost_usd"]
        return self.texts["used"].format(
            iterations=self._counted("model_call", row["iterations"]),
            calls=self._counted("tool_call", row["tool_calls"]),
            errors=row["tool_errors"],
            tokens=f"{row['tokens_input'] + row['tokens_output']:,}",
            beside=""
            if not beside
            else self.texts["compacting"].format(
                tokens=f"{beside_tokens:,}", calls=self._counted("model_call", beside)
            ),
            cost=self.texts["cost_unknown"] if cost is None else self.texts["cost"].format(usd=dollars(cost)),
        )

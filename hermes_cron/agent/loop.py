"""How does a task become an answer? Ask the model, run the tools it asks for, append the results, again.

Every step is in the journal before its effects happen, and each request is the one before plus new messages. Where
the loop stands is read from the rows: a session that has messages already is gone on with.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from hermes_cron.agent.batch import BatchRun, Toolbox
from hermes_cron.agent.loopguard import LoopGuard
from hermes_cron.agent.partial import partial_summary
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Flag
from hermes_cron.domain.run import Effect
from hermes_cron.domain.tool_call import PreparedCall, ToolOutput, arguments_hash, error_text, reads_as_failure
from hermes_cron.domain.transcript import Header, Message, ModelReply, ModelRequest, PlannedResult, ToolResult, Usage
from hermes_cron.errors import EmptyReply, ModelError
from hermes_cron.ports import Emit, Journal, Model

_CUT = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What a loop needs. ``deadline`` is an instant of ``time.monotonic``; ``budget`` is fresh for the session.

    Tools end by themselves within the deadline; a read that hangs is given up ``grace_s`` later.
    ``cancel`` and the journal's own flag are looked at between steps. ``phase`` names the session's part in the usage
    rows. ``started`` is the run's start on the monotonic clock, for the trace.
    """

    model: Model
    toolbox: Toolbox
    journal: Journal
    budget: Budget
    deadline: float
    cancel: Flag
    emit: Emit
    model_timeout_s: float = 600.0
    grace_s: float = 5.0
    phase: str = "main"
    started: float = field(default_factory=time.monotonic)
    guard: LoopGuard = field(default_factory=LoopGuard)


def run_agent(run: AgentRun) -> LoopResult:
    """Ends with a returned ``StopReason``. Raises only ``Fenced`` and what is a bug of ours."""
    return _Loop(run).go()


class _Loop:
    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._header: Header = run.journal.header()
        self._messages: list[Message] = run.journal.messages()
        self._iterations = self._calls = self._errors = 0
        self._usage = Usage()
        self._model = self._header.model or None
        self._replay()

    def go(self) -> LoopResult:
        if self._messages and _is_last_word(self._messages[-1]):
            return self._end(StopReason.FINAL, text=str(self._messages[-1]["content"]))
        while True:
            reply = self._ask()
            if isinstance(reply, LoopResult):
                return reply
            if stopped := self._take(reply):
                return stopped

    def _replay(self) -> None:
        """Counters and the guard from the rows. An ok result that begins like an error counts as one here."""
        asked: dict[str, tuple[str, str]] = {}
        for message in self._messages:
            if message["role"] == "assistant":
                self._iterations += 1
                for call in message.get("tool_calls") or ():
                    function = call["function"]
                    asked[call["id"]] = (function["name"], arguments_hash(str(function.get("arguments") or "")))
            elif message["role"] == "tool" and message["tool_call_id"] in asked:
                text = str(message["content"])
                self._note(asked[message["tool_call_id"]], ok=not reads_as_failure(text), text=text)
        self._run.budget.consume(min(self._iterations, self._run.budget.left))

    def _note(self, key: tuple[str, str], *, ok: bool, text: str) -> None:
        self._calls += 1
        self._errors += not ok
        self._run.guard.note(tool=key[0], arguments_hash=key[1], ok=ok, text=text)

    def _ask(self) -> ModelReply | LoopResult:
        """One reply, or why there is none. Asking again after a passing fault is the model's own matter."""
        if stopped := self._stopped() or self._spent():
            return stopped
        self._iterations += 1
        self._run.emit("model_called", {"iteration": self._iterations})
        try:
            return _said(self._run.model.complete(self._request()))
        except ModelError as error:
            return self._stopped() or self._model_error(error)

    def _request(self) -> ModelRequest:
        left_s = self._run.deadline - time.monotonic()
        return ModelRequest(
            header=self._header,
            messages=[{"role": "system", "content": self._header.system}, *self._messages],
            timeout_s=max(0.001, min(self._run.model_timeout_s, left_s)),
            run_left_s=max(0.001, left_s),
        )

    def _take(self, reply: ModelReply) -> LoopResult | None:
        """Commits the reply, then runs what it asks for. None: go on."""
        run = self._run
        calls = [self._prepare(reply, at) for at in range(len(reply.tool_calls))]
        planned = [PlannedResult(call=c.call, effect=c.effect, arguments_hash=c.arguments_hash) for c in calls]
        seqs = run.journal.assistant(reply, planned, phase=run.phase)
        self._messages.append(reply.message)
        self._usage = _sum(self._usage, reply.usage)
        self._model = reply.model or self._model
        if not calls:
            return self._last_word(reply)
        until = run.deadline + run.grace_s
        batch = BatchRun(toolbox=run.toolbox, journal=run.journal, emit=run.emit, started=run.started, until=until)
        for call, row in zip(calls, batch.execute(calls, seqs, self._not_run), strict=True):
            self._answered(call, row)
        return self._circle()

    def _prepare(self, reply: ModelReply, at: int) -> PreparedCall:
        call = reply.tool_calls[at]
        if reply.finish != _CUT:
            return self._run.toolbox.prepare(call)
        # Cut-off arguments may still be JSON, so no call of such a reply can be trusted.
        refusal = error_text(
            "StreamTruncated", "the reply was cut at its output limit, so none of its calls was run", "make it shorter"
        )
        hashed = arguments_hash(call.arguments)
        return PreparedCall(call=call, effect=Effect.READ, arguments_hash=hashed, refusal=refusal)

    def _answered(self, call: PreparedCall, row: ToolResult) -> None:
        self._messages.append(row.message)
        self._note((call.call.name, call.arguments_hash), ok=row.ok, text=str(row.message["content"]))

    def _last_word(self, reply: ModelReply) -> LoopResult:
        if reply.finish == _CUT:
            said = "the model's last reply was cut at its output limit"
            return self._end(StopReason.MODEL_ERROR, reason="reply_truncated", error=said)
        return replace(self._end(StopReason.FINAL, text=reply.text), state_json=reply.state_json)

    # --- ends ------------------------------------------------------------------------------------------------------

    def _stopped(self) -> LoopResult | None:
        if self._cancelled():
            return self._end(StopReason.CANCELLED, reason="cancelled", error="the run was cancelled")
        if time.monotonic() >= self._run.deadline:
            return self._end(StopReason.DEADLINE, reason="deadline", error="the run's time limit passed")
        return self._circle()

    def _spent(self) -> LoopResult | None:
        if self._run.budget.consume():
            return None
        said = f"the limit of {self._run.budget.limit:,} model calls was reached"
        return self._end(StopReason.BUDGET_EXHAUSTED, reason="iterations", error=said)

    def _circle(self) -> LoopResult | None:
        if (circle := self._run.guard.circle) is None:
            return None
        return self._end(StopReason.LOOP_DETECTED, reason="loop_detected", error=circle.sentence)

    def _model_error(self, error: ModelError) -> LoopResult:
        return self._end(StopReason.MODEL_ERROR, reason=error.reason, error=error.message)

    def _not_run(self) -> ToolOutput | None:
        """The answer to calls that a stop in the middle of a reply leaves over."""
        if self._cancelled():
            return error_text("NotRun", "not run: the run was cancelled")
        if time.monotonic() >= self._run.deadline:
            return error_text("NotRun", "not run: the run's time limit passed")
        return None

    def _cancelled(self) -> bool:
        return self._run.cancel.is_set() or self._run.journal.asked().cancel

    def _end(
        self, stop: StopReason, *, text: str | None = None, reason: str | None = None, error: str | None = None
    ) -> LoopResult:
        if text is None:
            text = partial_summary(
                self._messages, headline=error or stop, iterations=self._iterations, tool_errors=self._errors
            )
        return LoopResult(
            stop=stop,
            text=text,
            reason=reason,
            error=error,
            iterations=self._iterations,
            tool_calls=self._calls,
            tool_errors=self._errors,
            usage=self._usage,
            model=self._model,
        )


def _said(reply: ModelReply) -> ModelReply:
    if not reply.tool_calls and not reply.text.strip():
        raise EmptyReply("the model answered with neither text nor tool calls")
    return reply


def _is_last_word(message: Message) -> bool:
    text = message.get("content")
    return message["role"] == "assistant" and not message.get("tool_calls") and isinstance(text, str) and bool(text)


def _sum(total: Usage, more: Usage | None) -> Usage:
    if more is None:
        return total
    return Usage(
        input=total.input + more.input,
        output=total.output + more.output,
        cached=total.cached + more.cached,
        cache_write=total.cache_write + more.cache_write,
        estimated=total.estimated or more.estimated,
    )

"""How does a task become an answer? Ask the model, run the tools it asks for, append the results, again.

Every step is in the journal before its effects happen, and each request is the one before plus new messages. Where
the loop stands is read from the rows: a session that has messages already is gone on with, and calls of it that have
no result are finished first (``unanswered``).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from hermes_cron.agent.asking import Asking, Means
from hermes_cron.agent.batch import BatchRun, Stop, Toolbox, groups
from hermes_cron.agent.fitting import Fit, Fitting, room_for_a_reply
from hermes_cron.agent.loopguard import LoopGuard
from hermes_cron.agent.partial import partial_summary
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.agent.unanswered import finish
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Flag, Halt, Why
from hermes_cron.domain.compaction import said, sent
from hermes_cron.domain.run import Effect, ParkedEffect
from hermes_cron.domain.tool_call import PreparedCall, arguments_hash, error_text, reads_as_failure
from hermes_cron.domain.transcript import (
    Asked,
    Header,
    Message,
    ModelReply,
    ModelRequest,
    PlannedResult,
    ToolResult,
)
from hermes_cron.errors import BudgetExceeded, ModelContextLength, ModelError, ModelReplyCut
from hermes_cron.ports import Emit, Journal, Model, Purse


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What a loop needs. ``deadline`` is an instant of ``time.monotonic``; ``budget`` is fresh for the session.

    Tools end by themselves within the deadline; a read that hangs is given up ``grace_s`` later.
    ``cancel`` (a ``domain.command.Halt`` may ask to release the run) and what people asked, which the journal knows,
    are looked at between steps. ``phase`` names the session's part in the usage rows. ``started`` is the run's start on
    the monotonic clock, for the trace. ``models`` are asked in order when the header's fails. ``purse`` holds the caps,
    and ``max_tokens`` is the output that row 0 allows a call: what a reservation counts with. ``fit`` keeps requests
    within the model's window; None: they grow as long as the run goes on.
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
    models: tuple[str, ...] = ()
    purse: Purse | None = None
    max_tokens: int = 0
    fit: Fit | None = None


def run_agent(run: AgentRun) -> LoopResult:
    """Ends with a returned ``StopReason``. Raises only ``Fenced`` and what is a bug of ours."""
    return _Loop(run).go()


class _Loop:
    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._header: Header = run.journal.header()
        self._messages: list[Message] = []
        self._iterations = self._calls = self._errors = 0
        self._progressed = False
        self._steer = False  # as of the last look at what people asked
        self._batch = BatchRun(
            toolbox=run.toolbox,
            journal=run.journal,
            emit=run.emit,
            started=run.started,
            until=run.deadline + run.grace_s,
        )
        self._asking = Asking(
            Means(
                model=run.model,
                journal=run.journal,
                header=self._header,
                emit=run.emit,
                deadline=run.deadline,
                timeout_s=run.model_timeout_s,
                phase=run.phase,
                fallbacks=run.models,
                purse=run.purse,
                max_tokens=run.max_tokens,
            )
        )
        self._fitting: Fitting | None = None
        if run.fit is not None:
            self._fitting = Fitting(
                run.fit, journal=run.journal, header=self._header, emit=run.emit, stopped=self._halted
            )

    def go(self) -> LoopResult:
        if ended := self._gone_on_with():
            return ended
        while True:
            reply = self._ask()
            if isinstance(reply, LoopResult):
                return reply
            if stopped := self._take(reply):
                return stopped

    # --- where the session stands ----------------------------------------------------------------------------------

    def _gone_on_with(self) -> LoopResult | None:
        """Finishes what a loop before this one left open. None: the next thing is to ask the model."""
        waiting = self._run.journal.pending()
        left = finish(waiting, self._batch, self._halted) if waiting else None
        self._replay()
        if left is not None and left.parked:
            return self._parked(left.parked)
        if left is not None and left.halted:
            return self._stopped() or self._released()
        if self._messages and _is_last_word(self._messages[-1]):
            return self._last_word_again()
        return None

    def _replay(self) -> None:
        """Counters and the guard from all rows, those that a compaction stands for too. An ok result that begins like
        an error counts as one here.
        """
        rows = self._run.journal.transcript()
        self._messages = [placed.message for placed in sent(rows)]
        asked: dict[str, tuple[str, str]] = {}
        for message in said(rows):
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

    def _last_word_again(self) -> LoopResult | None:
        """The run was interrupted between its last word and its end. A playbook's result is not in the words: it is
        asked once more, and from the same rows says the same.
        """
        state_json = None
        if self._header.playbook is not None:
            system: Message = {"role": "system", "content": self._header.system}
            request = ModelRequest(
                header=self._header,
                messages=[system, *self._messages[:-1]],
                timeout_s=self._run.model_timeout_s,
            )
            try:
                state_json = self._run.model.complete(request).state_json
            except ModelError as error:
                return self._model_error(error)
        return self._final(str(self._messages[-1]["content"]), state_json)

    # --- one step --------------------------------------------------------------------------------------------------

    def _ask(self) -> ModelReply | LoopResult:
        """One reply, or why there is none."""
        if stopped := self._stopped() or self._spent():
            return stopped
        if self._steer:
            self._listen()
        if stopped := self._fitted():
            return stopped
        try:
            reply = self._reply()
        except BudgetExceeded as error:
            reason = str(error.details.get("cap") or "budget")
            return self._end(StopReason.BUDGET_EXHAUSTED, reason=reason, error=error.message)
        except ModelError as error:
            return self._stopped() or self._model_error(error)
        self._progressed = True
        return reply

    def _fitted(self) -> LoopResult | None:
        """What is too long for the window is compacted; that may take a while, in which the run may be stopped."""
        if self._fitting is None:
            return None
        messages = self._fitting.before_call(self._messages, self._asking.asked_now)
        return self._stopped() if self._refit(messages) else None

    def _reply(self) -> ModelReply:
        try:
            return self._fitting_reply()
        except ModelContextLength as error:
            error.message += room_for_a_reply(error, self._run.max_tokens)
            raise

    def _fitting_reply(self) -> ModelReply:
        """A request that the server finds too long is made shorter and sent once more."""
        try:
            return self._asking.reply(self._messages, called=self._called, stopped=self._halted)
        except ModelContextLength as error:
            if self._fitting is None:
                raise
            shorter = self._fitting.refused(error, self._messages, self._asking.asked_now)
            if not self._refit(shorter) or self._halted():
                raise
        return self._asking.reply(self._messages, called=_nothing, stopped=self._halted)

    def _refit(self, messages: list[Message] | None) -> bool:
        """Go on with these messages instead; False where there are none."""
        if messages is None:
            return False
        self._messages = messages
        self._asking.anew()
        return True

    def _called(self) -> None:
        self._iterations += 1
        self._run.emit("model_called", {"iteration": self._iterations})

    def _listen(self) -> None:
        """What people told the run goes into the next request."""
        self._messages += self._run.journal.steered()
        self._steer = False

    def _take(self, reply: ModelReply) -> LoopResult | None:
        """Commits the reply, then runs what it asks for. None: go on."""
        run = self._run
        calls = [self._prepare(reply, at) for at in range(len(reply.tool_calls))]
        grouped = groups(calls)
        batches = {at: number for number, group in enumerate(grouped) for at in group}
        planned = [
            PlannedResult(
                call=call.call,
                effect=call.effect,
                arguments_hash=call.arguments_hash,
                batch=batches[at],
                gated=call.gated,
            )
            for at, call in enumerate(calls)
        ]
        seqs = run.journal.assistant(reply, planned, phase=run.phase)
        self._asking.settle()
        self._messages.append(reply.message)
        if self._fitting is not None:
            self._fitting.reported(reply.usage, self._messages)
        if not calls:
            return self._last_word(reply)
        rows = self._batch.execute(calls, seqs, grouped, self._between_groups)
        for call, row in zip(calls, rows, strict=False):  # a run that is released leaves the rest open
            self._answered(call, row)
        return self._circle() if len(rows) == len(calls) else self._stopped() or self._released()

    def _prepare(self, reply: ModelReply, at: int) -> PreparedCall:
        call = reply.tool_calls[at]
        if not reply.cut:
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

    def _last_word(self, reply: ModelReply) -> LoopResult | None:
        if reply.cut:
            return self._model_error(ModelReplyCut("the model's last reply was cut at its output limit"))
        return self._final(reply.text, reply.state_json)

    # --- what people ask -------------------------------------------------------------------------------------------

    def _halted(self) -> bool:
        return self._cancelled() or self._releasing() or time.monotonic() >= self._run.deadline

    def _cancelled(self) -> bool:
        """By somebody's word, told to this process or kept in the store: it goes before every other reason to stop."""
        told = self._run.cancel
        if told.is_set() and (not isinstance(told, Halt) or told.why is Why.CANCELLED):
            return True
        return self._look().cancel

    def _releasing(self) -> bool:
        """This process ends and the run does not."""
        return isinstance(self._run.cancel, Halt) and self._run.cancel.releasing

    def _look(self) -> Asked:
        asked = self._run.journal.asked()
        self._steer = asked.steer
        return asked

    def _between_groups(self) -> Stop | None:
        """What a stop in the middle of a reply says to the calls that are left over."""
        if self._cancelled():
            return Stop(answer=error_text("NotRun", "not run: the run was cancelled"))
        if self._releasing():
            return Stop()
        if time.monotonic() >= self._run.deadline:
            return Stop(answer=error_text("NotRun", "not run: the run's time limit passed"))
        return None

    # --- ends ------------------------------------------------------------------------------------------------------

    def _stopped(self) -> LoopResult | None:
        if self._cancelled():
            return self._end(StopReason.CANCELLED, reason="cancelled", error="the run was cancelled")
        if self._releasing():
            return self._released()
        if time.monotonic() >= self._run.deadline:
            return self._end(StopReason.DEADLINE, reason="deadline", error="the run's time limit passed")
        return self._circle()

    def _released(self) -> LoopResult:
        return self._end(StopReason.RELEASED, reason="released", error="the scheduler stopped; another goes on with it")

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
        return replace(self._end(StopReason.MODEL_ERROR, reason=error.reason, error=error.message), fault=error)

    def _parked(self, parked: tuple[ParkedEffect, ...]) -> LoopResult:
        names = ", ".join(dict.fromkeys(effect.tool for effect in parked))
        said = f"{names} was interrupted and may have happened: a person decides"
        return replace(self._end(StopReason.PARKED, reason="effect_unknown", error=said), parked=parked)

    def _final(self, text: str, state_json: str | None) -> LoopResult | None:
        """None: someone told the run something while it made its last word, so it goes on."""
        if self._look().steer:
            self._listen()
            return None
        return replace(self._end(StopReason.FINAL, text=text), state_json=state_json)

    def _end(
        self, stop: StopReason, *, text: str | None = None, reason: str | None = None, error: str | None = None
    ) -> LoopResult:
        if text is None:
            text = partial_summary(
                self._messages,
                headline=error or stop,
                iterations=self._iterations,
                tool_calls=self._calls,
                tool_errors=self._errors,
            )
        return LoopResult(
            stop=stop,
            text=text,
            reason=reason,
            error=error,
            iterations=self._iterations,
            tool_calls=self._calls,
            tool_errors=self._errors,
            usage=self._asking.usage,
            model=self._asking.model,
            progressed=self._progressed,
        )


def _nothing() -> None:
    """The same step, asked once more."""


def _is_last_word(message: Message) -> bool:
    text = message.get("content")
    return message["role"] == "assistant" and not message.get("tool_calls") and isinstance(text, str) and bool(text)

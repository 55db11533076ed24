"""A session is gone on with whose last reply has calls without a result: what becomes of each?

What has not begun is run. What may have begun is done again only where that is the same as doing it once: a read, an
idempotent call with its key, one whose probe says that it did not happen, one of which a person says so. An effect
that nobody can tell about is parked, and with it everything after its group: a later call may rest on it. Nothing that
has its result is repeated (design decision 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from hermes_cron.agent.batch import BatchRun
from hermes_cron.domain.run import Effect, ParkedEffect
from hermes_cron.domain.tool_call import PreparedCall, ToolOutput, error_text
from hermes_cron.domain.transcript import PendingResult

_STRICTER = (Effect.READ, Effect.IDEMPOTENT, Effect.VERIFIABLE, Effect.EFFECT)
_SAID = 500
_UNKNOWN = "not known: whether it did what it was to do, wholly, in part or not at all"
_LOOK = "look at how things are now before you go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """``parked`` are the effects that a person must decide about. ``halted``: calls are left since the run stops."""

    parked: tuple[ParkedEffect, ...] = ()
    halted: bool = False


def finish(calls: Sequence[PendingResult], batch: BatchRun, halted: Callable[[], bool]) -> Finished:
    """Answers the open calls group after group, in call order, up to the first group that must wait for a person."""
    for _, group in groupby(calls, key=lambda call: call.batch):
        members = list(group)
        if halted():
            unbegun = [call.seq for call in calls if call.seq >= members[0].seq and _certainly_not(call)]
            if unbegun:
                batch.journal.unbegun(*unbegun)
            return Finished(halted=True)
        if parked := _group(members, batch):
            return Finished(parked=parked)
    return Finished()


def _certainly_not(call: PendingResult) -> bool:
    """Known now because of what came before it, and not to be known again once that is finished."""
    return call.effect != Effect.READ and not call.begun


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undecided:
    """Nobody can tell, until a person does. ``seen`` is what a probe saw."""

    seen: str | None = None


def _group(members: Sequence[PendingResult], batch: BatchRun) -> tuple[ParkedEffect, ...]:
    runs: list[tuple[PendingResult, PreparedCall]] = []
    parked: list[ParkedEffect] = []
    for member in members:
        call = _prepared(member, batch)
        verdict = _verdict(member, call, batch)
        if isinstance(verdict, _Undecided):
            parked.append(_park(member, verdict, batch))
        elif verdict is not None:
            batch.journal.result(batch.row(call, member.seq, verdict))
        else:
            runs.append((member, call))
    for member, call in runs:
        if call.effect != Effect.READ:
            batch.journal.redo(member.seq)
    if runs:
        batch.group([call for _, call in runs], [member.seq for member, _ in runs])
    return tuple(parked)


def _prepared(member: PendingResult, batch: BatchRun) -> PreparedCall:
    """With the stricter of the two effects: that of the time of the call and that which the tool declares now."""
    call = batch.toolbox.prepare(member.call)
    if member.effect != Effect.READ:
        return replace(call, effect=max(Effect(member.effect), call.effect, key=_STRICTER.index))
    if call.effect == Effect.READ:
        return call
    refusal = error_text(
        "NotRun", f"not run: {call.call.name} changes things now and only read when it was called", "call it again"
    )
    return replace(call, effect=Effect.READ, refusal=refusal)


def _verdict(member: PendingResult, call: PreparedCall, batch: BatchRun) -> ToolOutput | _Undecided | None:
    """The answer, or that nobody knows it, or None: run it."""
    if not member.begun or member.decision == "approved":
        return None
    if member.decision is not None:
        return _refused(member)
    if call.effect == Effect.VERIFIABLE:
        found = batch.toolbox.probe(call, key=member.key)
        if found.happened is None:
            return _Undecided(seen=found.text)
        return ToolOutput(text=f"{found.text} (looked up after an interruption)") if found.happened else None
    return _Undecided() if call.effect == Effect.EFFECT else None


def _refused(member: PendingResult) -> ToolOutput:
    reason = " ".join((member.reason or "").split())[:_SAID]
    if member.decision == "denied":
        said = "not run again after an interruption: a person said that it happened already or must not be done"
        return error_text("Denied", f"{said}. Their reason: {reason}" if reason else said, _LOOK)
    said = "not run again after an interruption: whether it happened is not known, and nobody answered in time"
    return error_text("Denied", said, _LOOK)


def _park(member: PendingResult, undecided: _Undecided, batch: BatchRun) -> ParkedEffect:
    seen = () if undecided.seen is None else (f"looked up: {' '.join(undecided.seen.split())[:_SAID]}",)
    return ParkedEffect(
        session_id=batch.journal.session_id,
        seq=member.seq,
        tool=member.call.name,
        arguments=batch.toolbox.shown(member.call),
        evidence=(*member.evidence, *seen, _UNKNOWN),
    )

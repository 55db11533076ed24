"""How is a model asked one thing for a run that no agent drives? A session without tools, on the run's money.

What it was given and said repeats what lies elsewhere, so it is a session in which nothing is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_cron.agent.compaction_side import SUMMARY, NoTools
from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.agent.stop import LoopResult
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.command import Flag
from hermes_cron.domain.run import TakenRun
from hermes_cron.domain.transcript import Header, Message
from hermes_cron.ports import Journal, Model, Purse

_CALLS = 2  # the second for a model that asked for a tool although there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """``name`` is the model that is asked; ``open_journal`` begins the run's session of a kind."""

    model: Model
    name: str
    parameters: Mapping[str, Any]
    open_journal: Callable[[TakenRun, Header, Sequence[Message], str], Journal]
    purse: Callable[[TakenRun], Purse | None]
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``phase`` names the call's part in what the run used."""

    system: str
    text: str
    phase: str


def answered(taken: TakenRun, cancel: Flag, question: Question, means: Means) -> LoopResult:
    """What the model said, or what stopped it. Raises ``Fenced``."""
    allowed = (taken.deadline_at - taken.started_at).total_seconds()
    header = Header(system=question.system, model=means.name, parameters=means.parameters)
    return run_agent(
        AgentRun(
            model=means.model,
            toolbox=NoTools(),
            journal=means.open_journal(taken, header, [{"role": "user", "content": question.text}], SUMMARY),
            budget=Budget(_CALLS),
            deadline=time.monotonic() + allowed,
            cancel=cancel,
            emit=lambda _event, _facts: None,
            model_timeout_s=means.timeout_s,
            phase=question.phase,
            purse=means.purse(taken),
            max_tokens=int(means.parameters.get("max_tokens") or 0),
        )
    )

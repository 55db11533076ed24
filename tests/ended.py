"""Ends of runs as messages and incidents see them: the job of samples.md, on the days that page tells of."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from hermes_cron.domain.check import CheckKind, CheckResult, Verdict
from hermes_cron.domain.ending import Ending
from hermes_cron.domain.job import Deliver, Job
from hermes_cron.domain.run import Cause, Outcome, RunState

SHANGHAI = ZoneInfo("Asia/Shanghai")
ENGLISH, CHINESE = "inspect prod db", "巡检 prod 数据库"
REFUSED = "prod does not answer: connection refused by 10.0.3.17:5432"

PROVEN = CheckResult(kind=CheckKind.SQL, says="sql on prod at least 1", verdict=Verdict.VERIFIED, detail="3")
NO_HEADING = CheckResult(
    kind=CheckKind.REPORT, says="report matches", verdict=Verdict.CHECK_FAILED, detail='the report has no "## 结论"'
)
UNREACHED = CheckResult(
    kind=CheckKind.SQL, says="sql on prod", verdict=Verdict.NOT_CHECKABLE, detail="prod does not answer"
)


def at(month: int, day: int, hour: int = 9, minute: int = 0, second: int = 0) -> datetime:
    """2026 in Shanghai."""
    return datetime(2026, month, day, hour, minute, second, tzinfo=SHANGHAI)


def job(**fields: Any) -> Job:
    given = {"name": "inspect-prod-db", "prompt": ENGLISH, "timezone": "Asia/Shanghai", "databases": ("prod",)}
    return Job(**{**given, "deliver": Deliver(to=("ops-chat",)), **fields})


def failed(**fields: Any) -> Outcome:
    return Outcome(**{"state": RunState.FAILED, "reason": "database_unreachable", "error": REFUSED, **fields})


def good(**fields: Any) -> Outcome:
    return Outcome(**{"state": RunState.OK, "text": "# prod: nothing found\n", **fields})


def ending(outcome: Outcome, **fields: Any) -> Ending:
    """Friday's run, four tries in 15 minutes; the next one is due on Monday."""
    given = {
        "run_id": "r7dd8", "job_uid": "u1", "job": job(), "cause": Cause.SCHEDULE, "attempt": 1,
        "scheduled_at": at(11, 27), "started_at": at(11, 27), "ended_at": at(11, 27, 9, 15), "next_due": at(11, 30),
        "cost_usd": 0.0,
    }  # fmt: skip
    return Ending(**{**given, "outcome": outcome, **fields})

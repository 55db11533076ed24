"""What would a run send first? The same preparation, with nothing executed and nothing kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any, Protocol

from hermes_cron.domain.job import Job, Scalar, Work
from hermes_cron.domain.run import Cause, TakenRun
from hermes_cron.runner.runner import Going, Prepared, Runner


class Planned(Protocol):
    """What would be started (``store.runs.Start``)."""

    @property
    def job(self) -> Job: ...
    @property
    def job_uid(self) -> str | None: ...
    @property
    def arguments(self) -> Mapping[str, Scalar] | None: ...


def preview(runner: Runner, start: Planned, *, now: datetime) -> dict[str, Any]:
    """``system``, ``task``, ``tools``, how large each is, and who would drive the run. Raises what the run would fail
    with beforehand."""
    job = start.job
    if job.work is not Work.PROMPT:
        return {
            "job": job.name, "runs_by": job.work.value, "tools": [], "left_out": {}, "databases": [],
            "blocked": [], "bytes": {},
            "system": "", "task": job.script or job.action,
        }  # fmt: skip
    taken = TakenRun(
        id="dry-run",
        job_uid=start.job_uid,
        job=job,
        cause=Cause.MANUAL,
        owner="dry-run",
        fence=0,
        attempt=1,
        started_at=now,
        deadline_at=now + timedelta(minutes=job.limits.minutes),
        arguments=start.arguments or {},
    )
    with ExitStack() as stack:
        stack.callback(runner.leave, taken)
        prepared = runner.prepare(Going.begin(taken, threading.Event()), stack)
    return {
        "job": job.name,
        "runs_by": prepared.header.model,
        "tools": sorted(prepared.toolbox.tools),
        "left_out": dict(prepared.left_out),
        "databases": list(job.databases),
        "blocked": [f"{found.place}: {found.kind.words}" for found in prepared.blocked],
        "bytes": {} if prepared.route.playbook is not None else _sizes(prepared),
        "system": "" if prepared.route.playbook is not None else prepared.header.system,
        "task": prepared.task,
    }


def _sizes(prepared: Prepared) -> dict[str, int]:
    """Bytes that go out with each call: of the system prompt's parts, of the tools and of the task."""
    texts = {block.name: block.text for block in prepared.blocks}
    texts["tools"] = json.dumps(prepared.header.tools, ensure_ascii=False, separators=(",", ":"))
    texts["task"] = prepared.task
    return {name: len(text.encode()) for name, text in texts.items()}

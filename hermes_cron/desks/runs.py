"""What may a person do with runs: start one here or in a scheduler, look at it, answer, steer or stop it?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.job import LIMITS
from hermes_cron.ports import Emit

if TYPE_CHECKING:
    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.job import Job
    from hermes_cron.domain.learning import Learned
    from hermes_cron.domain.run import Outcome, TakenRun
    from hermes_cron.store.approvals import Approval
    from hermes_cron.store.feedback import Said
    from hermes_cron.store.runs import Start
    from hermes_cron.store.taught import Taught
    from hermes_cron.wiring import App


class RunDesk:
    """Runs of one home. ``row`` dictionaries have the columns of ``runs`` (``store/tables.py``)."""

    def __init__(self, app: App) -> None:
        self._app = app

    def job(self, uid: str) -> Job:
        """The job as last understood. Raises ``NotFound`` when its file was never good."""
        from sqlalchemy import select

        from hermes_cron.domain.job import load_job
        from hermes_cron.errors import NotFound
        from hermes_cron.store.tables import JobRow

        with self._app.store.read() as conn:
            spec = conn.execute(select(JobRow.spec).where(JobRow.uid == uid)).scalar_one_or_none()  # type: ignore[call-overload]
        if spec is None:
            raise NotFound(f"job {uid} has never been understood", hint="hermes-cron check")
        return load_job(spec)

    def prompt_job(self, prompt: str, *, databases: tuple[str, ...]) -> Job:
        """The job behind ``run --prompt``: it has no file and no schedule."""
        from hermes_cron.domain.job import Job

        return Job(
            name="prompt",
            timezone=self._app.settings.timezone,
            prompt=prompt,
            databases=databases,
            limits=replace(self._app.home_limits, inherited=LIMITS),
        )

    def queue(self, start: Start) -> str:
        """A queued run for a scheduler, which is told; the run's id. Raises ``Conflict``."""
        from hermes_cron.scheduler.by_hand import queue

        run_id = queue(self._app.store, start, self._app.clock)
        self._app.wake()
        return run_id

    def here(self, start: Start, *, cancel: Flag, begun: Callable[[TakenRun], None], emit: Emit) -> str:
        """Execute in this process; the run's id. Raises ``Conflict``."""
        from hermes_cron.scheduler.by_hand import Here, run_here

        def execute(taken: TakenRun, flag: Flag) -> Outcome:
            return self._app.running.runner.execute(taken, flag, emit)

        here = Here(
            home=self._app.home,
            execute=execute,
            cancel=cancel,
            begun=begun,
            answer_within=self._app.answer_within,
            limits=self._app.home_limits,
            nudge=self._app.reviews.nudge,
        )
        return run_here(self._app.store, start, self._app.clock, here)

    def preview(self, start: Start) -> dict[str, Any]:
        """What a run would send first; nothing is executed and nothing kept."""
        from hermes_cron.runner.preview import preview
        from hermes_cron.store.takes import of_now

        now_held = replace(start, job=of_now(start.job, self._app.home_limits))
        return preview(self._app.running.runner, now_held, now=self._app.clock.now())

    def row(self, word: str) -> dict[str, Any]:
        """A run by id or beginning of it. Raises ``NotFound``, ``NameAmbiguous``."""
        from hermes_cron.store import views

        with self._app.store.read() as conn:
            return views.so_far(conn, views.run(conn, word))

    def rows(self, *, job_uid: str | None, states: Sequence[str], limit: int) -> list[dict[str, Any]]:
        """Newest first."""
        from hermes_cron.store import views

        with self._app.store.read() as conn:
            found = views.runs(conn, job_uid=job_uid, states=states, limit=limit)
            return [views.so_far(conn, row) for row in found]

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        """A run's model and tool calls in order."""
        from hermes_cron.store import views

        with self._app.store.read() as conn:
            return views.steps(conn, run_id)

    def taught(self, run_id: str) -> Taught:
        """What a run taught, who looked back at it, and what people said of it. A review whose process died waits."""
        from hermes_cron.scheduler import owners
        from hermes_cron.store import taught

        with self._app.store.read() as conn:
            found = taught.of_run(conn, run_id)
        return found.orphaned(lambda owner: owners.lives(self._app.home.owners, owner))

    def new_tool_steps(self, run_id: str, seen: dict[str, int]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The run's row, and its tool calls that ended since ``seen`` (session to seq), which is brought up to date."""
        from hermes_cron.store import views

        with self._app.store.read() as conn:
            row = views.run(conn, run_id)
            ended = [
                step
                for step in views.steps(conn, run_id)
                if step["step"] == "tool" and step["result_bytes"] is not None
                and step["seq"] > seen.get(step["session"], 0)
            ]  # fmt: skip
        for step in ended:
            seen[step["session"]] = step["seq"]
        return row, ended

    def running_count(self) -> int:
        """How many runs are going on."""
        from hermes_cron.store import takes

        with self._app.store.read() as conn:
            return takes.states(conn)["running"]

    def cancel(self, run_id: str, *, by: str) -> str:
        """The state the run was in. Raises ``NotFound``, ``Conflict``."""
        from hermes_cron.store import runs

        now = self._app.clock.now()
        state = self._app.store.write(lambda conn: runs.cancel(conn, run_id, by=by, now=now)).value
        self._app.wake()
        return state

    def steer(self, run_id: str, text: str, *, by: str) -> str:
        """The run's next request carries the text; the state it is in. Raises ``NotFound``, ``Conflict``, ``Usage``."""
        from hermes_cron.errors import Conflict
        from hermes_cron.store import runs

        row = self.row(run_id)
        if row["state"] == "queued" and row["started_at"] is None and self._would_follow_a_playbook(row):
            raise Conflict(
                f"run {row['id']} will follow a playbook: there is no agent to tell",
                hint=f"hermes-cron runs cancel {row['id']}",
            )
        words = self._app.redact(text)
        return self._app.store.write(lambda conn: runs.steer(conn, row["id"], words, by=by)).value

    def feedback(self, run_id: str, text: str, *, by: str) -> Said:
        """Keep what a person says of a run that ended, and start the review that learns from it.

        Raises ``NotFound``, ``Conflict``, ``Usage``; ``TextBlocked`` and ``SecretInPlainSight`` for what no agent may
        be given.
        """
        from hermes_cron.jobs.plain_sight import refuse_spelled_out
        from hermes_cron.store import feedback

        row, now = self.row(run_id), self._app.clock.now()
        refuse_spelled_out(text, what="the feedback", hint="leave it out: a model reads what is said of a run")
        self._refuse_attacks(text, row)
        words = self._app.redact(text)
        said = self._app.store.write(lambda conn: feedback.give(conn, row["id"], words, by=by, now=now))
        self._app.wake()
        return said

    def _refuse_attacks(self, text: str, row: Mapping[str, Any]) -> None:
        """What was copied out of a mail or a log may speak to the agent in a person's name."""
        from hermes_cron.domain.event import SecurityFinding
        from hermes_cron.domain.scan import Purpose, scan
        from hermes_cron.errors import TextBlocked

        found = scan(text, Purpose.PROMPT).blocked
        if found is None:
            return
        event = SecurityFinding(
            guard=Purpose.PROMPT, kind=found.kind, verdict=found.verdict, place=f"feedback on {row['id']}",
            job=row["job_name"] if row["job_uid"] else None, run_id=row["id"],
        )  # fmt: skip
        self._app.note_security([event])
        raise TextBlocked(
            f"the feedback is blocked, {found.kind.words}: {found.excerpt}",
            hint="quote what is only spoken of; look: hermes-cron scan FILE --as prompt",
            details={"blocked": [{"class": found.kind.value, "line": found.line}]},
        )

    def _would_follow_a_playbook(self, row: Mapping[str, Any]) -> bool:
        from hermes_cron.domain.job import Work, load_job
        from hermes_cron.errors import HermesCronError

        job = load_job(row["spec"])
        if job.work is not Work.PROMPT:
            return False  # which the store says better
        try:
            return self._app.route(job).playbook is not None
        except HermesCronError:  # the run itself will say what is missing
            return False

    def approvals(self, *, every: bool = False) -> list[Approval]:
        """Open questions, the most urgent first; ``every``: answered ones as well, newest first."""
        from hermes_cron.store import approvals

        with self._app.store.read() as conn:
            return approvals.listed(conn, every=every)

    def approval(self, word: str) -> Approval:
        """``a91`` or ``91``. Raises ``NotFound``."""
        from hermes_cron.store import approvals

        with self._app.store.read() as conn:
            return approvals.one(conn, approvals.number_of(word))

    def proposal(self, asked: Approval) -> Learned | None:
        """What a question proposes to learn; None for one about a call."""
        from hermes_cron.store import proposals

        if asked.learned is None:
            return None
        with self._app.store.read() as conn:
            return proposals.of(conn, asked)

    def approve(self, word: str, *, by: str) -> Approval:
        """It did not happen: the run does it. What was proposed to be learned is done now.

        Raises ``NotFound``; ``Conflict`` when it was answered already, or when a proposal no longer fits.
        """
        asked = self.approval(word)
        if asked.learned is not None:
            from hermes_cron.desks import proposals

            return proposals.approve(self._app, asked, by=by)
        return self._decide(word, "approved", by=by, reason=None)

    def deny(self, word: str, *, by: str, reason: str | None) -> Approval:
        """It happened, or must not: the run goes on without it; a proposal is dropped. Raises ``NotFound``,
        ``Conflict``."""
        return self._decide(word, "denied", by=by, reason=None if reason is None else self._app.redact(reason))

    def _decide(self, word: str, answer: str, *, by: str, reason: str | None) -> Approval:
        from hermes_cron.store import approvals

        number, decision, now = approvals.number_of(word), approvals.Decision(answer), self._app.clock.now()
        decided = self._app.store.write(
            lambda conn: approvals.decide(conn, number, decision, by=by, reason=reason, now=now)
        )
        self._app.wake()
        return decided

    def report(self, row: Mapping[str, Any]) -> str | None:
        """The text in ``outputs/``; None when there is none (any more)."""
        from hermes_cron.runner import outputs

        return outputs.read(self._app.home, row["output_path"])

    def zone_of(self, row: Mapping[str, Any]) -> str:
        """The zone of the job as it was when it ran."""
        return str(json.loads(row["spec"]).get("timezone") or self._app.settings.timezone)

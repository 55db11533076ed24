"""How does a skill's playbook become what drives a run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_cron.ports import Emit, Model

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.domain.job import Job
    from hermes_cron.runner.prompt import LastRun
    from hermes_cron.runner.route import Route
    from hermes_cron.runner.runner import PlaybookProgram


class Playbooks:
    """Playbooks as the runner sees them; ``language`` for jobs whose own words do not say."""

    def __init__(self, language: str) -> None:
        self._language = language

    def program(self, route: Route, job: Job, *, now: datetime, last: LastRun) -> PlaybookProgram:
        from hermes_cron.models.playbook.inputs import Inputs, database_for, header, last_of
        from hermes_cron.models.playbook.load import load
        from hermes_cron.runner.runner import PlaybookProgram

        if route.playbook is None or route.skill is None:
            raise ValueError("the route has no playbook")
        program = load(route.playbook)
        database = database_for(program, route.database, skill=route.skill.name, job=job)
        inputs = Inputs(
            skill=route.skill.name,
            program=program,
            language=_language_of(job) or self._language,
            database=database,
            engine=None if database is None else route.engine,
            zone=job.timezone,
            now=now,
            last=last_of(last.result, last.result_at, skill=route.skill.name, database=database),
        )
        return PlaybookProgram(
            data=header(inputs, job.playbook.params), model=inputs.model, tools=inputs.program.tools()
        )

    def model(self, emit: Emit) -> Model:
        from hermes_cron.models.playbook.model import PlaybookModel

        return PlaybookModel(emit)


def _language_of(job: Job) -> str | None:
    """The language of the prompt; None for a job without one."""
    from hermes_cron.domain.schedule.phrase import language

    return language(job.prompt) if job.prompt else None

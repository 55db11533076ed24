"""The key ``action``: what the home does for itself, and what may not stand beside it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_cron.domain.job import Action, Job, Work, dump_job, load_job
from hermes_cron.errors import JobFileError
from hermes_cron.jobs.load import Known, parse_job
from hermes_cron.shipped import contents

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def read(text: str) -> Job:
    return parse_job(text.encode(), path="jobs/j.md", name="j", now=NOW, host_zone="UTC", known=Known())


def faults(more: str, body: str = "") -> list[str]:
    with pytest.raises(JobFileError) as error:
        read(f"---\nschedule: every day 03:00\naction: curate\n{more}---\n{body}")
    return [str(fault["message"]) for fault in error.value.details["faults"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", list(Action))
def test_it_is_work_of_its_own_and_survives_the_store(word: str) -> None:
    job = read(f"---\nschedule: every day 03:00\naction: {word}\n---\n")
    assert (job.work, job.action, job.prompt, job.description) == (Work.ACTION, word, None, word)
    assert load_job(dump_job(job)) == job


def test_when_it_runs_who_hears_of_it_and_what_it_may_cost_is_said_as_in_any_job() -> None:
    job = read(
        "---\nschedule: every sunday 04:00\naction: curate\npaused: not now\ntags: [home]\npause_after: 2\n"
        "catch_up: none\nlimits: {minutes: 5, cost_usd: 0.1}\nkeep: {runs: 9}\nretries: 0\n---\n"
    )
    assert (job.paused, job.limits.minutes, job.limits.cost_usd, job.keep.runs) == ("not now", 5, 0.1, 9)


@pytest.mark.parametrize(
    "key",
    [
        "script: echo", "skills: [x]", "model: m", "fallback_models: [m]", "databases: [prod]", "tools: [now]",
        "workdir: /tmp", "env: {A: b}", "vars: {a: 1}", "template: jinja", "timeout: 5s", "playbook: never",
        "context: {own: last}", "memory: off", "learn: off",
    ],
)  # fmt: skip
def test_what_an_agent_or_a_script_needs_is_refused(key: str) -> None:
    name = key.partition(":")[0]
    assert f"{name}: not with action, which says by itself what is done" in " ".join(faults(f"{key}\n"))


def test_a_prompt_and_a_second_try_of_an_agent_are_refused() -> None:
    assert faults("", "do it\n") == ["action: excludes a prompt below the keys"]
    more = "checks:\n  - file: {path: /tmp/x, exists: true}\non_check_failure: {attempts: 1}\n"
    assert any("has no agent to ask again" in each for each in faults(more))


def test_an_unknown_word_names_the_near_one() -> None:
    with pytest.raises(JobFileError, match=r'j\.md:3 action: expected one of curate, consolidate, not "curat"'):
        read("---\nschedule: every day 03:00\naction: curat\n---\n")


def test_the_shipped_jobs_are_jobs_of_the_home_itself_at_night() -> None:
    jobs = {file.path: read(file.data.decode()) for file in contents("jobs")}
    assert jobs["nightly-curator.md"].action == Action.CURATE
    assert jobs["nightly-curator.md"].schedule == ("every day 03:00",)
    assert {job.work for job in jobs.values()} == {Work.ACTION}

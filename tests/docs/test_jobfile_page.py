"""The page of the job file names exactly the keys that the reader knows and refuses, and its example is a job."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hermes_cron.domain.job import Job
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.jobs import keys
from hermes_cron.jobs.keys import KEYS, NOT_YET, RETRY_ON
from hermes_cron.jobs.load import Known, parse_job

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "jobfile.md").read_text(encoding="utf-8")


def test_every_key_has_its_row() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(KEYS)


def test_every_later_key_is_named() -> None:
    part = PAGE.partition("not yet available")[2].partition(", and of `limits`")
    assert set(re.findall(r"`(\w+)`", part[0])) == NOT_YET
    limits, _, deliver = part[2].partition("\n\n")[0].partition("of `deliver`")
    assert set(re.findall(r"`(\w+)`", limits)) == keys.LIMITS_NOT_YET
    assert set(re.findall(r"`(\w+)`", deliver)) == keys.DELIVER_NOT_YET


def test_every_failure_that_may_be_tried_again_is_named() -> None:
    part = PAGE.partition("`on` names failures by state or reason:")[2].partition(". A refused key")[0]
    assert set(re.findall(r"`(\w+)`", part)) == RETRY_ON


def example(number: int) -> Job:
    text = PAGE.split("```markdown\n")[number].partition("```")[0]
    known = Known(
        databases=frozenset({"prod"}),
        targets=frozenset({"ops-chat", "oncall"}),
        jobs=frozenset({"inspect-prod-db", "capacity-forecast"}),
    )
    now = datetime(2026, 12, 1, tzinfo=UTC)
    return parse_job(text.encode(), path="jobs/x.md", name="x", now=now, host_zone="UTC", known=known)


def test_the_example_is_a_job() -> None:
    job = example(1)
    assert (job.databases, job.tags, job.prompt) == (("prod",), ("dba",), "inspect prod db")


def test_the_example_of_what_follows_a_run_is_a_job() -> None:
    job = example(2)
    assert job.limits.tokens == 200_000
    assert job.retries.on == ("exit_code", "interrupted")
    assert [check.kind for check in job.checks] == ["sql", "report"]
    assert re.search(job.checks[1].params["matches"], "Checked 7 of 8")
    assert job.deliver.to == ("ops-chat",)
    assert job.ping == "secret:healthchecks-prod"


def test_the_example_of_what_a_run_reads_and_keeps_is_a_job() -> None:
    job = example(3)
    assert job.context.jobs == ("inspect-prod-db", "capacity-forecast")
    assert (job.context.own, job.context.since, job.context.max_chars) == (1, timedelta(days=7), 12_000)
    assert (job.memory, job.learn) == (MemoryMode.READ_ONLY, Learn.PROPOSE)

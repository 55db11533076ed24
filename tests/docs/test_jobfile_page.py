"""The page of the job file names exactly the keys that the reader knows and refuses, and its example is a job."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from hermes_cron.jobs.keys import KEYS, NOT_YET
from hermes_cron.jobs.load import Known, parse_job

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "jobfile.md").read_text(encoding="utf-8")


def test_every_key_has_its_row() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(KEYS)


def test_every_later_key_is_named() -> None:
    part = PAGE.partition("not yet available")[2].partition(", and of `limits`")[0]
    assert set(re.findall(r"`(\w+)`", part)) == NOT_YET


def test_the_example_is_a_job() -> None:
    example = PAGE.partition("```markdown\n")[2].partition("```")[0]
    job = parse_job(
        example.encode(), path="jobs/x.md", name="x", now=datetime(2026, 12, 1, tzinfo=UTC), host_zone="UTC",
        known=Known(databases=frozenset({"prod"})),
    )  # fmt: skip
    assert (job.databases, job.tags, job.prompt) == (("prod",), ("dba",), "inspect prod db")

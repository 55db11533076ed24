"""The stored form of a job: equal jobs give equal text, and the text gives the job back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron.domain.check import Check, CheckKind
from hermes_cron.domain.earlier import Earlier
from hermes_cron.domain.job import (
    CatchUp,
    Deliver,
    Job,
    Keep,
    Limits,
    OnCheckFailure,
    Overlap,
    PlaybookMode,
    PlaybookUse,
    Retries,
    Template,
    When,
    dump_job,
    load_job,
)
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.domain.schedule.phrase import parse

NOW = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
ZONE = ZoneInfo("Asia/Shanghai")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.lists(texts, max_size=3).map(tuple)
scalars = st.one_of(texts, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
instants = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
spans = st.timedeltas(timedelta(0), timedelta(days=400))
jobs = st.builds(
    Job,
    name=texts,
    description=texts,
    schedule=names,
    timezone=texts,
    start=st.none() | instants,
    until=st.none() | instants,
    max_runs=st.none() | st.integers(1, 9),
    jitter=spans,
    catch_up=st.sampled_from(CatchUp),
    grace=st.none() | spans,
    overlap=st.sampled_from(Overlap),
    paused=st.none() | texts,
    tags=names,
    prompt=st.none() | texts,
    script=st.none() | texts,
    action=st.none() | texts,
    vars=st.dictionaries(texts, scalars, max_size=3),
    env=st.dictionaries(texts, texts, max_size=3),
    workdir=st.none() | texts,
    skills=names,
    playbook=st.builds(
        PlaybookUse, mode=st.sampled_from(PlaybookMode), params=st.dictionaries(texts, scalars, max_size=3)
    ),
    databases=names,
    model=st.none() | texts,
    tools=st.none() | names,
    fallback_models=names,
    context=st.builds(
        Earlier, own=st.integers(0, 9), jobs=names, since=st.none() | spans, max_chars=st.integers(200, 9999)
    ),
    memory=st.sampled_from(MemoryMode),
    learn=st.sampled_from(Learn),
    limits=st.builds(
        Limits,
        minutes=st.floats(0.1, 1000) | st.integers(1, 99),
        iterations=st.integers(1, 99),
        tokens=st.none() | st.integers(1, 10**9),
        cost_usd=st.none() | st.floats(0.01, 1000),
        cost_usd_per_day=st.none() | st.floats(0.01, 1000),
    ),
    retries=st.builds(Retries, attempts=st.integers(0, 20), backoff=spans, on=names),
    pause_after=st.integers(0, 99),
    checks=st.lists(
        st.builds(Check, kind=st.sampled_from(CheckKind), params=st.dictionaries(texts, scalars, max_size=3)),
        max_size=3,
    ).map(tuple),
    on_check_failure=st.builds(OnCheckFailure, attempts=st.integers(0, 20), notify=names),
    deliver=st.builds(Deliver, to=names, when=st.sampled_from(When), title=st.none() | texts),
    ping=st.none() | texts,
    timeout=spans,
    keep=st.builds(Keep, runs=st.integers(1, 99), days=st.integers(1, 99)),
    template=st.sampled_from(Template),
)


@given(jobs)
def test_every_job_comes_back_equal(job: Job) -> None:
    text = dump_job(job)
    back = load_job(text)
    assert back == job
    assert dump_job(back) == text
    assert type(back.overlap) is Overlap


@pytest.mark.parametrize(
    "phrase",
    ["every day 9am", "0 9 * * 1-5", "every 90 seconds", "tomorrow 9am", "every other friday 9am",
     "every day 9am; every friday 5pm", "每月最后一天0点"],
)  # fmt: skip
def test_triggers_come_back_with_their_anchors(phrase: str) -> None:
    job = Job(name="x", schedule=(phrase,), trigger=parse(phrase, now=NOW, zone=ZONE), prompt="p")
    assert load_job(dump_job(job)) == job


def test_chinese_text_is_stored_as_itself() -> None:
    assert "检查数据库" in dump_job(Job(name="检查数据库", prompt="检查数据库"))


def test_a_record_of_an_older_version_gets_the_defaults_of_what_it_lacks() -> None:
    record = json.loads(dump_job(Job(name="x", prompt="p", overlap=Overlap.QUEUE)))
    for key in ("keep", "template", "vars", "tools", "retries", "checks", "deliver", "pause_after", "ping"):
        del record[key]
    assert load_job(json.dumps(record)) == Job(name="x", prompt="p", overlap=Overlap.QUEUE)

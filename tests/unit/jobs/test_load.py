"""A job file is understood whole, or every fault is named with its line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_cron import errors
from hermes_cron.domain.check import Check, CheckKind
from hermes_cron.domain.earlier import Earlier
from hermes_cron.domain.job import (
    KEEP,
    LIMITS,
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
from hermes_cron.domain.schedule.trigger import AnyOf, Cron
from hermes_cron.errors import JobFileError
from hermes_cron.jobs.keys import KEYS, NEVER_AGAIN, NOT_YET, RETRY_ON
from hermes_cron.jobs.load import Known, parse_job, zone_of
from hermes_cron.jobs.save import render

NOW = datetime(2026, 12, 1, 2, 0, tzinfo=UTC)
KNOWN = Known(
    databases=frozenset({"prod", "billing"}),
    skills=frozenset({"inspect-database"}),
    tools=frozenset({"sql_query", "reads"}),
    targets=frozenset({"ops-chat", "team-mail"}),
    jobs=frozenset({"inspect-prod-db", "巡检", "x"}),
    guard=lambda database, query: f"{database} would be changed" if query.startswith("delete") else None,
)


def read(text: str | bytes, *, known: Known = KNOWN, name: str = "x") -> Job:
    data = text.encode() if isinstance(text, str) else text
    return parse_job(data, path=f"jobs/{name}.md", name=name, now=NOW, host_zone="Asia/Shanghai", known=known)


def faults(text: str | bytes, *, known: Known = KNOWN, name: str = "x") -> list[str]:
    with pytest.raises(JobFileError) as caught:
        read(text, known=known, name=name)
    found = caught.value.details["faults"]
    assert isinstance(found, list)
    assert caught.value.message == f"{found[0]['file']}:{found[0]['line']} {found[0]['message']}"
    return [f"{fault['line']} {fault['message']}" for fault in found]


def keys(*lines: str, body: str = "inspect prod db") -> str:
    return "---\nschedule: every day 9am\n" + "".join(f"{line}\n" for line in lines) + f"---\n{body}\n"


def test_a_file_with_every_key(tmp_path: Path) -> None:
    job = read(
        keys(
            "description: Morning inspection",
            "timezone: America/New_York",
            "start: 2026-12-02T09:00",
            "until: 2027-12-02T09:00+08:00",
            "max_runs: 10",
            "jitter: 5m",
            "catch_up: none",
            "grace: 2h",
            "overlap: cancel-running",
            "paused: until Monday",
            "tags: [dba, prod]",
            "template: plain",
            "vars: {limit: 5, who: me}",
            "env: {LANG: C, N: 1}",
            f"workdir: {tmp_path}",
            "skills: [inspect-database]",
            "playbook: {params: {connections_warning: 70}}",
            "databases: [billing]",
            "model: gpt-5-mini",
            "tools: [sql_query, reads]",
            "fallback_models: [gpt-5, other/model-1]",
            "limits: {minutes: 2.5, iterations: 20, tokens: 60000, cost_usd: 0.5, cost_usd_per_day: 2}",
            "retries: {attempts: 2, backoff: 90s, on: [rate_limited, interrupted]}",
            "pause_after: 0",
            "checks:",
            '  - sql: {database: billing, query: "select 1", equals: 1, timeout: 5s}',
            "  - file: {path: out.csv, changed: yes}",
            "on_check_failure: {attempts: 1, notify: [team-mail]}",
            'deliver: {to: [ops-chat, team-mail], when: change, title: "{{ job.name }}: done"}',
            "ping: secret:healthchecks-prod",
            "timeout: 90s",
            "context: {own: 3, from: [inspect-prod-db], since: 7d, max_chars: 5000}",
            "memory: read-only",
            "learn: propose",
            "keep: {runs: 3, days: 7}",
            body="inspect {{ vars.who }} with {{.Names}}",
        )
    )
    zone = zone_of("America/New_York")
    assert zone is not None
    assert job == Job(
        name="x",
        description="Morning inspection",
        schedule=("every day 9am",),
        trigger=parse("every day 9am", now=NOW, zone=zone),
        timezone="America/New_York",
        start=datetime(2026, 12, 2, 14, tzinfo=UTC),
        until=datetime(2027, 12, 2, 1, tzinfo=UTC),
        max_runs=10,
        jitter=timedelta(minutes=5),
        catch_up=CatchUp.NONE,
        grace=timedelta(hours=2),
        overlap=Overlap.CANCEL_RUNNING,
        paused="until Monday",
        tags=("dba", "prod"),
        prompt="inspect {{ vars.who }} with {{.Names}}",
        vars={"limit": 5, "who": "me"},
        env={"LANG": "C", "N": "1"},
        workdir=str(tmp_path),
        skills=("inspect-database",),
        playbook=PlaybookUse(mode=PlaybookMode.AUTO, params={"connections_warning": 70}),
        databases=("billing",),
        model="gpt-5-mini",
        tools=("sql_query", "reads"),
        fallback_models=("gpt-5", "other/model-1"),
        limits=Limits(minutes=2.5, iterations=20, tokens=60000, cost_usd=0.5, cost_usd_per_day=2.0),
        retries=Retries(attempts=2, backoff=timedelta(seconds=90), on=("rate_limited", "interrupted")),
        pause_after=0,
        checks=(
            Check(
                kind=CheckKind.SQL,
                params={"database": "billing", "query": "select 1", "equals": 1, "timeout": 5.0},
            ),
            Check(kind=CheckKind.FILE, params={"path": "out.csv", "changed": True}),
        ),
        on_check_failure=OnCheckFailure(attempts=1, notify=("team-mail",)),
        deliver=Deliver(to=("ops-chat", "team-mail"), when=When.CHANGE, title="{{ job.name }}: done"),
        ping="secret:healthchecks-prod",
        timeout=timedelta(seconds=90),
        keep=Keep(runs=3, days=7),
        template=Template.PLAIN,
        context=Earlier(own=3, jobs=("inspect-prod-db",), since=timedelta(days=7), max_chars=5000),
        memory=MemoryMode.READ_ONLY,
        learn=Learn.PROPOSE,
    )


def test_defaults_come_from_the_home() -> None:
    known = Known(databases=frozenset({"prod"}), limits=Limits(minutes=5, iterations=9), keep=Keep(runs=1, days=2))
    job = read(keys(), known=known)
    assert job.timezone == "Asia/Shanghai"
    assert job.limits == replace(known.limits, inherited=LIMITS)
    assert job.keep == replace(known.keep, inherited=KEEP)
    assert (job.description, job.databases) == ("inspect prod db", ("prod",))


# --- traps of YAML --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("catch_up: off", "catch_up", CatchUp.NONE),
        ("catch_up: no", "catch_up", CatchUp.NONE),
        ("catch_up: false", "catch_up", CatchUp.NONE),
        ("paused: off", "paused", None),
        ("paused: false", "paused", None),
        ("paused: yes", "paused", "no reason given"),
        ("paused: 'no'", "paused", None),
        ("vars: {a: no, b: off, c: on, d: 02:30, e: 010, f: 1.10, g: 2026-12-01}", "vars",
         {"a": "no", "b": "off", "c": "on", "d": "02:30", "e": 10, "f": 1.1, "g": "2026-12-01"}),
        ("jitter: 0", "jitter", timedelta(0)),
        ("description: '{{ braces }} stay'", "description", "{{ braces }} stay"),
        ("description: 1.10", "description", None),
    ],
)  # fmt: skip
def test_words_that_other_yaml_takes_for_something_else(line: str, field: str, value: object) -> None:
    if line == "description: 1.10":
        assert faults(keys(line)) == ["3 description: expected text in quotes, not the number 1.10"]
        return
    assert getattr(read(keys(line)), field) == value


def test_a_time_without_quotes_is_a_time_and_not_9000() -> None:
    said = faults("---\nschedule: 02:30\n---\nx\n")
    assert len(said) == 1
    assert "every day at 02:30" in said[0]


def test_cron_text_without_quotes_is_told_how_to_be_written() -> None:
    assert faults("---\nschedule: */5 * * * *\n---\nx\n") == ['2 this text needs quotes: schedule: "*/5 * * * *"']
    assert read('---\nschedule: "*/5 * * * *"\n---\nx\n').trigger == Cron("*/5 * * * *")
    assert read("---\nschedule: 0 9 * * 1-5\n---\nx\n").trigger == Cron("0 9 * * 1-5")


def test_a_fence_in_the_prompt_or_in_a_script_is_text() -> None:
    assert read("---\nschedule: every day 9am\n---\none\n---\ntwo: three\n---\n").prompt == "one\n---\ntwo: three\n---"
    script = read("---\nschedule: every day 9am\nscript: |\n  echo a\n  ---\n  echo b\n---\n").script
    assert script == "echo a\n---\necho b"


def test_bom_and_crlf_are_tolerated() -> None:
    job = read(b"\xef\xbb\xbf---\r\nschedule: every day 9am\r\n---\r\n\r\none\r\ntwo\r\n")
    assert job.prompt == "one\ntwo"


def test_braces_of_others_stay_as_typed() -> None:
    body = "docker ps --format '{{.Names}}' and {{ job.name }} and {% raw %} and { x }"
    assert read(keys(body=body)).prompt == body


def test_a_list_of_phrases() -> None:
    job = read("---\nschedule: [every day 9am, '0 12 * * *']\n---\nx\n")
    assert job.schedule == ("every day 9am", "0 12 * * *")
    assert isinstance(job.trigger, AnyOf)


def test_a_one_shot_that_is_done_does_not_break_its_file() -> None:
    assert read('---\nschedule: "2026-11-01T09:00+08:00"\n---\nx\n').trigger is not None
    assert "past" in faults("---\nschedule: yesterday 9am\n---\nx\n")[0]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200).filter(str.strip))
def test_every_prompt_that_is_written_reads_back(prompt: str) -> None:
    data = render({"schedule": "every day 9am"}, prompt)
    try:
        job = read(data, known=Known(strict=False))
    except JobFileError as error:
        expected = ("unknown value", "not yet available", "{{ context.* }}", "is blocked")
        assert any(word in error.message for word in expected)  # noqa: PT017 - its placeholders, or what is hidden in it
    else:
        assert job.prompt == prompt.replace("\r\n", "\n").strip()


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1 the file is empty"),
        ("\n\n", "1 the file is empty"),
        ("inspect prod\n", '1 a job file begins with a line "---" and its keys'),
        ("\n---\nschedule: every day 9am\n", '2 no second line "---" ends the keys'),
        ("---\nschedule: every day 9am\n---\n\n", '4 the prompt below the second "---" is empty'),
        ("---\n---\nx\n", "1 schedule is missing"),
        ("---\n- a\n---\nx\n", '2 expected "key: value" lines'),
        ("---\na: {{ x }}\n---\nx\n", '2 text with braces needs quotes: "{{ ... }}"'),
        ("---\nschedule: a: b\n---\nx\n", '2 this text needs quotes: schedule: "a: b"'),
        ("---\nschedule: @daily\n---\nx\n", '2 this text needs quotes: schedule: "@daily"'),
        ("---\ntags:\n\t- a\n---\nx\n", "3 indent with spaces, not with a tab"),
        ("---\nschedule: every day 9am\nschedule: x\n---\nx\n", '3 the key "schedule" stands twice (first at line 2)'),
        ("---\nschedule: !!python/object x\n---\nx\n", '2 tags such as "!!python/object" have no meaning here'),
        ("---\nschedule: !env x\n---\nx\n", '2 tags such as "!env" have no meaning here'),
        ("---\nschedule: every day 9am\n---\nrun {{ vars.missing }}\n",
         "4 unknown value {{ vars.missing }}; vars has: nothing"),
    ],
)  # fmt: skip
def test_files_that_are_no_job_files(text: str, expected: str) -> None:
    assert faults(text)[0] == expected


def test_not_utf8_has_its_line() -> None:
    assert faults(b"---\nschedule: every day 9am\ndescription: \xff\n---\nx\n") == ["3 not UTF-8 text"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shedule: x", 'unknown key "shedule", did you mean "schedule"?'),
        ("zzz: x", 'unknown key "zzz"'),
        ("prompt: x", 'unknown key "prompt", the prompt is the text below the second "---"'),
        ("on: x", 'unknown key "on", did you mean "schedule"?'),
        ("enabled: no", 'unknown key "enabled", did you mean "paused: REASON"?'),
        ("limits: {minute: 5}", 'unknown key "minute" in limits, did you mean "minutes"?'),
        ("limits: {writes: 5}", '"limits.writes" is not yet available in this version'),
        ("limits: {minutes: 0}", "limits.minutes: expected minutes above 0 and at most 43200 (30 days)"),
        ("limits: {iterations: 1.5}", "limits.iterations: expected a whole number above 0, not the number 1.5"),
        ("limits: 5", "limits: expected a mapping such as {minutes: ...}, not the number 5"),
        ("max_runs: 0", "max_runs: expected a whole number above 0, not the number 0"),
        ("max_runs: true", "max_runs: expected a number, not true"),
        ("overlap: skp", 'overlap: expected one of skip, queue, cancel-running, allow, not "skp", did you mean "skip"'),
        ("grace: 5", "grace: expected a duration with its unit such as 5s, not the number 5"),
        ("grace: 5 min", 'grace: expected a duration such as 90s, 5m, 2h or 7d, not "5 min"'),
        ("jitter: 12h", "jitter: must be less than half the period of 1d"),
        ("tags: dba", 'tags: expected a list such as [dba], not "dba"'),
        ("tags: [a, a]", 'tags: "a" stands twice'),
        ("tags: [a b]", 'tags: "a b" is not a label (letters, digits, - _ . : /)'),
        ("timezone: Shanghai", 'timezone: no zone "Shanghai", did you mean "Asia/Shanghai"?'),
        ("timezone: CST-8", 'timezone: no zone "CST-8"'),
        ("timezone: ../../etc/passwd", 'timezone: no zone "../../etc/passwd"'),
        ("until: 2026-12-01", 'until: expected an instant such as "2026-12-01T09:00", not "2026-12-01"'),
        ("start: tomorrow", 'start: expected an instant such as "2026-12-01T09:00", not "tomorrow"'),
        ("skills: [inspect-databse]", 'skills: no skill "inspect-databse", did you mean "inspect-database"?'),
        ("databases: [prdo]", 'databases: no database "prdo", did you mean "prod"?'),
        ("tools: [sqlquery]", 'tools: no tool "sqlquery", did you mean "sql_query"?'),
        ("workdir: logs", 'workdir: "logs" is not an absolute path'),
        ("workdir: /no/such/folder", 'workdir: no folder "/no/such/folder"'),
        ("timeout: 2h", "timeout: longer than limits.minutes (30)"),
        ("vars: {a: [1]}", "vars.a: expected text, a number, true or false, not a list"),
        ("env: {A-B: x}", 'env: "A-B" is not a name (letters, digits, _)'),
        ("env: {TOKEN: abc}", "env.TOKEN: the value looks like a password or token by its name; secrets do not belong"),
        ("context: last", 'context: expected a mapping such as {own: ...}, not "last"'),
        ("context: {since: 7d}", "context: own or from is missing: whose reports?"),
        ("context: {own: 101}", "context.own: expected last, none, or a number up to 100, not the number 101"),
        ("context: {own: latest}", 'context.own: expected last, none, or a number up to 100, not "latest"'),
        ("context: {own: last, max_chars: 10}",
         "context.max_chars: expected 200 to 200000 characters, not the number 10"),
        ("context: {from: inspect-prod-db}",
         'context.from: expected a list such as [inspect-prod-db], not "inspect-prod-db"'),
        ("context: {from: [inspect-prd-db]}", 'context.from: no job "inspect-prd-db", did you mean "inspect-prod-db"?'),
        ("context: {from: [X]}", 'context.from: "X" is this job itself; write own: last'),
        ("context: {own: last, since: 7}",
         "context.since: expected a duration with its unit such as 7s, not the number 7"),
        ("memory: readonly",
         'memory: expected one of read-write, read-only, off, not "readonly", did you mean "read-only"'),
        ("learn: ask", 'learn: expected one of auto, propose, absorb, off, not "ask"'),
        ("model: [a]", "model: expected text, not a list"),
        ("description: ''", "description: expected text in quotes, not \"\""),
        ("playbook: {param: {}}", 'unknown key "param" in playbook, did you mean "params"?'),
        ("script: df", "script: excludes a prompt below the keys"),
        ("limits: {cost_usd: 0}", "limits.cost_usd: expected US dollars above 0, not the number 0"),
        ("limits: {tokens: many}", 'limits.tokens: expected a number, not "many"'),
        ("retries: {attempts: -1}", "retries.attempts: expected a whole number, 0 or more, not the number -1"),
        ("retries: {attempts: 50}", "retries.attempts: expected at most 20 attempts, not the number 50"),
        ("retries: {backof: 5m}", 'unknown key "backof" in retries, did you mean "backoff"?'),
        ("retries: {on: [rate_limit]}",
         'retries.on: "rate_limit" is no failure that runs end with, did you mean "rate_limited"?'),
        ("retries: {on: []}", "retries.on: an empty list says nothing; retries: 0 tries nothing again"),
        ("retries: {on: [model_auth]}",
         'retries.on: "model_auth" is never tried again: another attempt would end the same'),
        ("pause_after: often", 'pause_after: expected a number, not "often"'),
        ("fallback_models: gpt-5", 'fallback_models: expected a list such as [gpt-5], not "gpt-5"'),
        ("deliver: ops-chat", 'deliver: expected a list such as [ops-chat], not "ops-chat"'),
        ("deliver: [ops-chta]", 'deliver: no target "ops-chta", did you mean "ops-chat"?'),
        ("deliver: {when: change}", "deliver: to is missing: which targets is it sent to?"),
        ("deliver: {to: [ops-chat], when: changed}",
         'deliver.when: expected one of always, change, failure, not "changed", did you mean "change"?'),
        ("deliver: {to: [ops-chat], language: zh}", '"deliver.language" is not yet available in this version'),
        ("deliver: {to: [ops-chat], titel: x}", 'unknown key "titel" in deliver, did you mean "title"?'),
        ("deliver: {to: [ops-chat], title: '{{ vars.nope }}'}",
         "unknown value {{ vars.nope }}; vars has: nothing"),
        ("ping: https://me:pw@hc.example/1", "ping: a name or password stands in the URL; write secret:NAME instead"),
        ("ping: hc.example/1", "ping: expected secret:NAME or an http or https URL"),
        ("ping: 'secret:'", "ping: expected secret:NAME or an http or https URL"),
        ("on_check_failure: {attempts: 1}", "on_check_failure: the job has no checks"),
        ("checks: {report: {matches: x}}", "checks: expected a list of checks such as"),
        ("checks: [report]", "checks: expected one of sql, http, shell, file, report with its keys"),
        ("checks: [{reports: {matches: x}}]", 'checks: no check "reports", did you mean "report"?'),
        ("checks: [{report: done}]", 'checks.report: expected a mapping of matches, schema, not "done"'),
        ("checks: [{report: {match: x}}]", 'unknown key "match" in checks.report, did you mean "matches"?'),
        ("checks: [{report: {matches: '('}}]", "checks.report.matches: not a regular expression: "),
        ("checks: [{report: {}}]", "checks: a report check needs one of matches, schema"),
        ("checks: [{sql: {query: 'select 1', equals: 1}}]", 'checks: a sql check needs "database"'),
        ("checks: [{sql: {database: prdo, query: 'select 1', equals: 1}}]",
         'checks.sql: no database "prdo", did you mean "prod"?'),
        ("checks: [{sql: {database: prod, query: 'delete from t', equals: 1}}]",
         "checks.sql.query: prod would be changed"),
        ("checks: [{shell: {command: 'curl -H sk-abcdefghij0123456789'}}]",
         "the check holds an API key; secrets do not belong in job files"),
        ("checks: [{http: {url: ftp://x}}]", "checks.http.url: expected a URL"),
    ],
)  # fmt: skip
def test_one_wrong_line(line: str, expected: str) -> None:
    found = faults(keys(line))
    assert len(found) == 1
    assert found[0].removeprefix("3 ").startswith(expected)


@pytest.mark.parametrize("key", sorted(NOT_YET))
def test_keys_of_later_versions_are_refused_by_name(key: str) -> None:
    assert faults(keys(f"{key}: x")) == [f'3 "{key}" is not yet available in this version']


def test_a_key_is_known_or_later_and_not_both() -> None:
    assert not NOT_YET & set(KEYS)


def test_all_faults_are_told_at_once_in_the_order_of_lines() -> None:
    found = faults("---\nshedule: a\noverlap: x\nkeep: {runs: 0, day: 1}\n---\nuse {{ vars.a }}\n")
    assert [line.split(" ")[0] for line in found] == ["2", "3", "4", "4", "6"]


def test_an_unknown_database_in_the_prompt_has_its_line() -> None:
    assert faults(keys(body="\ninspect prdo db")) == ['5 no database "prdo", did you mean "prod"?']


def test_a_scheduler_reads_names_that_do_not_exist() -> None:
    lenient = Known(databases=frozenset({"prod"}), strict=False)
    job = read(keys("databases: [gone]", "skills: [gone]", "tools: [gone]", "workdir: /gone"), known=lenient)
    assert (job.databases, job.skills, job.tools, job.workdir) == (("gone",), ("gone",), ("gone",), "/gone")


def test_a_scheduler_reads_targets_and_checks_of_databases_that_are_gone() -> None:
    check = "checks: [{sql: {database: gone, query: delete from t, rows: 0}}]"
    job = read(keys("deliver: [gone]", check), known=Known(strict=False, targets=frozenset()))
    assert (job.deliver.to, job.checks[0].params["database"]) == (("gone",), "gone")


def test_an_unknown_target_is_told_the_known_ones_and_the_command_that_adds_it() -> None:
    with pytest.raises(JobFileError) as caught:
        read(keys("deliver: [phone]"))
    assert caught.value.hint == "known: ops-chat, team-mail; add it: hermes-cron targets add phone"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("      query: delete from t", "      equals: 0"), "6 checks.sql.query: prod would be changed"),
        (("      equals: 0", "      at_least: few", "      query: select 1"),
         "7 checks.sql.at_least: expected a number"),
    ],
)  # fmt: skip
def test_a_wrong_check_is_named_at_its_own_line(lines: tuple[str, ...], expected: str) -> None:
    found = faults(keys("checks:", "  - sql:", "      database: prod", *lines, "  - report: {matches: done}"))
    assert found == [expected]


def test_what_a_job_does_not_limit_is_limited_by_the_home() -> None:
    known = Known(databases=frozenset({"prod"}), limits=Limits(minutes=5, iterations=9, tokens=1000, cost_usd=2.0))
    job = read(keys("limits: {tokens: 50}"), known=known)
    rest = ("minutes", "iterations", "cost_usd", "cost_usd_per_day")
    assert job.limits == Limits(minutes=5, iterations=9, tokens=50, cost_usd=2.0, inherited=rest)
    later = load_job(dump_job(job)).limits.under(Limits(minutes=1, tokens=7, cost_usd=0.5))
    assert (later.minutes, later.iterations, later.tokens, later.cost_usd) == (1, 90, 50, 0.5)


def test_of_what_is_kept_too_the_home_says_what_the_job_does_not() -> None:
    known = Known(databases=frozenset({"prod"}), keep=Keep(runs=7, days=3))
    job = read(keys("keep: {runs: 5}"), known=known)
    assert job.keep == Keep(runs=5, days=3, inherited=("days",))
    assert load_job(dump_job(job)).keep.under(Keep(runs=1, days=1)) == Keep(runs=5, days=1, inherited=("days",))


def test_a_record_that_knows_no_inheritance_is_held_to_the_homes_caps() -> None:
    """It was written by a version that left caps of the home out, and filled minutes and model calls in."""
    record = json.loads(dump_job(Job(name="a", prompt="x", limits=Limits(minutes=4))))
    del record["limits"]["inherited"], record["keep"]["inherited"]
    held = load_job(json.dumps(record)).limits.under(Limits(minutes=1, tokens=7))
    assert (held.minutes, held.tokens) == (4, 7)


@pytest.mark.parametrize(
    ("line", "attempts"),
    [("retries: 0", 0), ("retries: {attempts: 0}", 0), ("retries: {backoff: 1m}", 3)],
)
def test_the_number_of_retries_may_stand_alone(line: str, attempts: int) -> None:
    assert read(keys(line)).retries.attempts == attempts


def test_every_failure_of_a_model_is_either_tried_again_or_never() -> None:
    kinds = [errors.ModelError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    reasons = {kind.reason for kind in kinds} - {"model_error"}  # the root, which nothing raises
    assert reasons <= RETRY_ON | NEVER_AGAIN
    assert not RETRY_ON & NEVER_AGAIN
    # what passes by itself may be named, what never passes by itself is told so
    assert {kind.reason for kind in kinds if kind.passing} <= RETRY_ON


@pytest.mark.parametrize(
    "line",
    ["limits: {tokens: 5}", "limits: {cost_usd: 1}", "limits: {cost_usd_per_day: 1}"],
)
def test_a_script_has_no_limits_of_a_model(line: str) -> None:
    member = line.partition("{")[2].partition(":")[0]
    found = faults(f"---\nschedule: every day 9am\nscript: df\n{line}\n---\n")
    assert found == [f"4 limits.{member}: not with script, which runs without a model"]


def test_a_script_may_be_checked_sent_and_tried_again() -> None:
    job = read(
        "---\nschedule: every day 9am\nscript: df\nchecks: [{report: {matches: ok}}]\nretries: {attempts: 1}\n"
        "deliver: [ops-chat]\nping: https://hc.example/1\non_check_failure: {notify: [team-mail]}\n---\n"
    )
    assert (len(job.checks), job.retries.attempts, job.deliver.to) == (1, 1, ("ops-chat",))
    found = faults(
        "---\nschedule: every day 9am\nscript: df\nchecks: [{report: {matches: ok}}]\n"
        "on_check_failure: {attempts: 1}\n---\n"
    )
    assert found == ["5 on_check_failure.attempts: not with script, which has no agent to ask again"]


@pytest.mark.parametrize(
    "line",
    [
        "skills: [inspect-database]", "model: m", "fallback_models: [m]", "context: {own: last}", "memory: off",
        "learn: off",
    ],
)  # fmt: skip
def test_a_script_excludes_what_only_a_model_needs(line: str) -> None:
    found = faults(f"---\nschedule: every day 9am\nscript: df\n{line}\n---\n")
    assert found == [f"4 {line.partition(':')[0]}: not with script, which runs without a model"]


def test_a_jinja_body_is_parsed_and_its_names_known() -> None:
    assert read(keys("template: jinja", body="{% if last.output %}{{ last.output }}{% endif %}")).template == "jinja"
    assert faults(keys("template: jinja", body="ok\n{{ nope }}")) == ['6 template: unknown name "nope"']
    assert faults(keys("template: jinja", body="ok\n{{ nope"))[0].startswith("6 template: ")


@pytest.mark.parametrize(
    ("line", "own"),
    [("own: last", 1), ("own: 5", 5), ("own: none, from: [巡检]", 0), ("own: off, from: [巡检]", 0)],
)
def test_how_many_reports_of_its_own_a_job_reads(line: str, own: int) -> None:
    assert read(keys(f"context: {{{line}}}")).context.own == own


@pytest.mark.parametrize("word", ["off", "none", "false"])
def test_a_job_may_say_that_it_reads_no_report(word: str) -> None:
    assert read(keys(f"context: {word}")).context == Earlier()


@pytest.mark.parametrize("word", ["off", "no", "false"])
def test_words_of_yaml_switch_memory_and_learning_off(word: str) -> None:
    job = read(keys(f"memory: {word}", f"learn: {word}"))
    assert (job.memory, job.learn) == (MemoryMode.OFF, Learn.OFF)


def test_a_scheduler_reads_a_job_that_names_one_that_is_gone() -> None:
    lenient = replace(KNOWN, strict=False)
    assert read(keys("context: {from: [gone]}"), known=lenient).context.jobs == ("gone",)


@pytest.mark.parametrize("template", ["plain", "jinja"])
def test_reports_are_named_only_where_they_were_asked_for(template: str) -> None:
    said = "{{ context.* }} is for the prompt of a job with the key context, such as context: {own: last}"
    body = "look\nat {{ context.reports }}"
    assert faults(keys(f"template: {template}", body=body)) == [f"6 {said}"]
    asked = f"context: {{own: last}}\ntemplate: {template}"
    assert read(keys(asked, body=body)).prompt == body
    titled = 'deliver: {to: [ops-chat], title: "{{ context.count }} reports"}'
    assert faults(keys(asked, titled)) == [f"5 {said}"]


def test_a_bad_name_is_a_fault_of_line_1() -> None:
    assert faults(keys(), name="my_job") == [
        '1 the name "my_job" has "_" in it; letters, digits and - only, for example "my-job"'
    ]


def test_anchors_do_not_multiply() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert faults(f"---\n{bomb}---\nx\n")

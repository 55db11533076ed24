"""The embedded model: a pure function of its request, honest about what it could not check."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hermes_cron.domain.transcript import Header, Message, ModelReply, ModelRequest
from hermes_cron.errors import PlaybookDatabaseUnreachable, PlaybookFailed
from hermes_cron.models.playbook.inputs import Inputs, header
from hermes_cron.models.playbook.load import read
from hermes_cron.models.playbook.model import PlaybookModel

NOW = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
Tool = Callable[[str, dict[str, Any]], str]


def step(step_id: str = "one", **more: Any) -> dict[str, Any]:
    said = {"id": step_id, "title": step_id, "sql": f"select {step_id}", "warning": "true", "evidence": "{{ x }}"}
    if {"shell", "http", "tool"} & more.keys():
        del said["sql"]
    return {**said, **more}


def table(columns: list[str], *rows: list[Any], truncated: str | None = None) -> str:
    return json.dumps({"columns": columns, "rows": rows, "row_count": len(rows), "truncated": truncated})


def error(message: str) -> str:
    return json.dumps({"error": {"code": "DatabaseError", "message": message}})


def shell(output: str, exit_code: int = 0, **more: str) -> str:
    return json.dumps({"exit_code": exit_code, "output": output, **more})


def play(
    steps: list[dict[str, Any]], tool: Tool, *, language: str = "en", engine: str | None = "postgresql", **more: Any
) -> tuple[ModelReply, list[Message], list[tuple[str, Any]]]:
    """Runs to the end; every reply is asked for twice, the second time from a fresh model and the stored messages."""
    inputs = Inputs(
        skill="s", program=read({"playbook": 1, "steps": steps, **more}), language=language, now=NOW,
        database="prod" if engine else None, engine=engine,
    )  # fmt: skip
    stored = Header(system="", playbook=json.loads(json.dumps(header(inputs))))
    events: list[tuple[str, Any]] = []
    model = PlaybookModel(lambda event, facts: events.append((event, dict(facts))))
    messages: list[Message] = [{"role": "user", "content": "go"}]
    while True:
        request = ModelRequest(header=stored, messages=messages, timeout_s=1)
        reply = model.complete(request)
        assert PlaybookModel().complete(request) == reply, "a resumed run would do something else"
        messages.append(reply.message)
        if not reply.tool_calls:
            return reply, messages, events
        (call,) = reply.tool_calls
        content = tool(call.name, json.loads(call.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def sql_tool(answers: dict[str, str]) -> Tool:
    def answer(name: str, arguments: dict[str, Any]) -> str:
        if "_version" in arguments["sql"]:
            return table(["_version"], ["15.1"])
        return next(text for key, text in answers.items() if key in arguments["sql"])

    return answer


def findings(reply: ModelReply) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(reply.state_json or "")["findings"]
    return found


def not_checked(reply: ModelReply) -> dict[str, str]:
    return {entry["step"]: entry["because"] for entry in json.loads(reply.state_json or "")["not_checked"]}


def test_zero_tokens_and_the_skill_as_model_name() -> None:
    reply, messages, events = play([step()], sql_tool({"one": table(["x"])}))
    assert (reply.model, reply.finish) == ("playbook:s", "stop")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (0, 0)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert events[0] == ("playbook_started", {"steps": ["one"]})
    assert events[-1][1] | {"elapsed_s": 0.0} == {"step": "one", "status": "ok", "checked": True, "elapsed_s": 0.0}


def test_first_true_level_wins_and_worst_is_printed_first() -> None:
    steps = [step(critical="x > 10", warning="x > 5", info="x > 1")]
    reply, _, _ = play(steps, sql_tool({"one": table(["x"], [3], [7], [11], [0])}))
    assert [(f["severity"], f["key"]) for f in findings(reply)] == [
        ("critical", "one/11"), ("warning", "one/7"), ("info", "one/3")
    ]  # fmt: skip
    assert reply.text.startswith("# prod: 1 critical, 1 warning, 1 info\n")


@pytest.mark.parametrize(("language", "more"), [("en", "   and 14 more"), ("zh", "   另有 14 项")])
def test_at_most_twenty_rows_of_a_step_are_shown_and_all_are_counted(language: str, more: str) -> None:
    rows = [[n] for n in range(34)]
    reply, _, _ = play([step()], sql_tool({"one": table(["x"], *rows)}), language=language)
    assert reply.text.split("\n")[0] in ("# prod: 34 warnings", "# prod：34 项警告")
    assert more in reply.text.split("\n")
    assert len(findings(reply)) == 34


def test_a_cut_result_says_at_least() -> None:
    rows = [[n] for n in range(25)]
    reply, _, _ = play([step()], sql_tool({"one": table(["x"], *rows, truncated="only the first 25 rows")}))
    assert "   and at least 5 more" in reply.text


@pytest.mark.parametrize(
    ("expect", "rows", "because"),
    [("one_row", [], "expected one row, got 0"), ("one_row", [[1], [2]], "expected one row, got 2"),
     ("some", [], "expected rows, got none")],
)  # fmt: skip
def test_a_broken_expectation_is_not_checked(expect: str, rows: list[list[int]], because: str) -> None:
    reply, _, _ = play([step(expect=expect), step("two")], sql_tool({"one": table(["x"], *rows), "two": table(["x"])}))
    assert not_checked(reply) == {"one": because}
    assert "Checked 1 of 2" in reply.text


def test_when_says_no_with_the_values_or_in_its_own_words() -> None:
    steps = [
        step("one", when="days >= params.least"),
        step("two", when="days >= params.least",
             because={"en": "{{ days }} of {{ params.least }} days", "zh": "{{ days }}"}),
        step("three"),
    ]  # fmt: skip
    tool = sql_tool({"three": table(["x"])})
    reply, _, _ = play(
        steps, lambda n, a: table(["_version", "days"], ["15", 2]) if "days" in a["sql"] else tool(n, a),
        params={"least": 7}, facts={"days": {"sql": "select 2"}},
    )  # fmt: skip
    assert not_checked(reply) == {
        "one": "days >= params.least: days = 2, params.least = 7", "two": "2 of 7 days"
    }  # fmt: skip


def test_a_failed_statement_is_not_checked_and_never_fine() -> None:
    reply, _, _ = play([step(), step("two")], sql_tool({"one": error("permission denied"), "two": table(["x"])}))
    assert not_checked(reply) == {"one": "permission denied"}
    assert reply.text.startswith("# prod: nothing found\n")
    assert "**Not checked**: one (permission denied)." in reply.text
    assert json.loads(reply.state_json or "")["fine"] == ["two"]


def test_a_value_that_is_missing_makes_its_row_unknown_not_fine() -> None:
    steps = [step(warning="x >= 5")]
    reply, _, _ = play(steps, sql_tool({"one": table(["x"], [None], [9])}))
    assert [f["key"] for f in findings(reply)] == ["one/9"]
    assert not_checked(reply) == {"one": "1 of its rows: x >= 5: x has no value"}


def test_a_database_that_never_answers_ends_the_run_after_two_calls() -> None:
    calls: list[str] = []

    def tool(name: str, arguments: dict[str, Any]) -> str:
        calls.append(arguments["sql"])
        return error("connection refused by 10.0.3.17:5432")

    with pytest.raises(PlaybookDatabaseUnreachable, match=r"refused by 10\.0\.3\.17") as caught:
        play([step(f"s{n}") for n in range(10)], tool)
    assert len(calls) == 2
    assert (caught.value.reason, caught.value.hint) == ("database_unreachable", "hermes-cron db test prod")


def test_a_database_that_goes_away_in_the_middle_fails_the_run() -> None:
    """A report of three checks out of ten would read "nothing found"."""
    calls: list[str] = []

    def tool(_name: str, arguments: dict[str, Any]) -> str:
        calls.append(arguments["sql"])
        if len(calls) <= 4:
            return table(["_version"], ["15.1"]) if "_version" in arguments["sql"] else table(["x"])
        if len(calls) == 5:
            return error("prod (10.0.3.17:5432): server closed the connection unexpectedly")
        return error("prod does not answer: connection refused by 10.0.3.17:5432")

    with pytest.raises(PlaybookDatabaseUnreachable, match="does not answer"):
        play([step(f"s{n}") for n in range(10)], tool)
    assert len(calls) == 7


def test_a_right_that_is_missing_for_several_steps_is_no_lost_connection() -> None:
    denied = error("permission denied for view pg_stat_activity")
    answers = {"one": table(["x"]), "two": denied, "three": denied, "four": table(["x"])}
    reply, _, _ = play([step(), step("two"), step("three"), step("four")], sql_tool(answers))
    assert set(not_checked(reply)) == {"two", "three"}


def test_every_step_failing_for_its_own_reason_fails_the_run() -> None:
    with pytest.raises(PlaybookFailed, match="nothing could be checked: one: no such table a"):
        play([step(), step("two")], sql_tool({"one": error("no such table a"), "two": error("no such table b")}))


def test_one_fact_that_fails_costs_only_the_steps_that_need_it() -> None:
    def tool(name: str, arguments: dict[str, Any]) -> str:
        sql = arguments["sql"]
        if "secret" in sql:
            return error("permission denied for secret")
        return table(["_version"], ["15.1"]) if "_version" in sql else table(["x"], [1])

    steps = [step("one", when="days > 1"), step("two")]
    reply, _, _ = play(steps, tool, facts={"days": {"sql": "select secret"}})
    assert not_checked(reply) == {"one": "days: permission denied for secret"}
    assert [f["key"] for f in findings(reply)] == ["two/1"]


@pytest.mark.parametrize(
    ("needs", "version", "because"),
    [({"version": ">=16"}, "15.1", "needs PostgreSQL 16, this is 15.1"), ({"version": ">=15"}, "15.1", None),
     ({"version": ">=9.6"}, "15.1", None), ({"engine": "sqlite"}, "15.1", "needs SQLite, this is PostgreSQL")],
)  # fmt: skip
def test_needs(needs: dict[str, str], version: str, because: str | None) -> None:
    steps = [step("one", needs=needs), step("two")]
    reply, _, _ = play(steps, sql_tool({"one": table(["x"]), "two": table(["x"])}))
    assert not_checked(reply) == ({"one": because} if because else {})


def test_a_missing_command_concerns_the_steps_that_use_it() -> None:
    steps = [step("one", shell="zpool status"), step("two", shell="echo a-zpool"), step("three", shell="echo 1")]

    def tool(name: str, arguments: dict[str, Any]) -> str:
        return shell("zpool\n") if "command -v" in arguments["command"] else shell("")

    reply, _, _ = play(steps, tool, engine=None, needs={"commands": ["zpool", "echo"]})
    assert not_checked(reply) == {"one": "no command zpool here"}
    assert reply.text.split("\n")[1] == "Checked 2 of 3 on Tue 2026-12-01 01:00 (UTC)."


def test_texts_and_params_in_sql_are_literals() -> None:
    asked: list[str] = []

    def tool(name: str, arguments: dict[str, Any]) -> str:
        asked.append(arguments["sql"])
        facts = table(["_version", "who"], ["15", "o'brien'; drop table x"])
        return facts if "_version" in arguments["sql"] else table(["x"])

    play([step(sql="select 1 where n = {{ params.name }} and m = {{ facts.who }} and k = {{ params.k }}")], tool,
         params={"name": "it's", "k": 7}, facts={"who": {"sql": "select who"}})  # fmt: skip
    assert asked[-1] == "select 1 where n = 'it''s' and m = 'o''brien''; drop table x' and k = 7"


def test_text_from_rows_cannot_forge_lines_of_the_report() -> None:
    evil = "t\n**Critical**\n1. All is well\u202e\x1b[2J" + "x" * 1000
    reply, _, _ = play([step()], sql_tool({"one": table(["x"], [evil])}))
    assert reply.text.count("**Critical**\n") == 0
    assert "\x1b" not in reply.text
    assert "\u202e" not in reply.text
    assert max(len(line) for line in reply.text.split("\n")) < 500


def test_a_row_cannot_replace_params() -> None:
    steps = [step(warning="params.limit > 5")]
    reply, _, _ = play(steps, sql_tool({"one": table(["x", "params", "facts", "last"], [1, {"limit": 9}, 1, 1])}),
                       params={"limit": 5})  # fmt: skip
    assert findings(reply) == []


@pytest.mark.parametrize(
    ("parse", "output", "rows"),
    [
        ({"columns": ["dev", "pct", "*rest"], "skip": 1}, "head\na 93% b  c\nd - e\n", ["a 93 b c", "d - e"]),
        ({"columns": ["a", "b"]}, "1 2.5\n-3 x%\n", ["1 2.5", "-3 x%"]),
        ("lines", "one\n\n  two \n", ["one", "two"]),
        ("json", '[{"a": 1}, {"a": 2}]', ["1", "2"]),
    ],
)
def test_parse(parse: Any, output: str, rows: list[str]) -> None:
    columns = parse["columns"] if isinstance(parse, dict) else ["line"] if parse == "lines" else ["a"]
    evidence = " ".join("{{ " + name.lstrip("*") + " }}" for name in columns)
    reply, _, _ = play([step(shell="x", parse=parse, evidence=evidence)], lambda n, a: shell(output), engine=None)
    assert [f["evidence"] for f in findings(reply)] == rows


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (shell("", 1, stderr="x: no\nlast words"), "exit 1: last words"),
        (shell("a b c\n"), "a line has 3 columns, expected 2: a b c"),
        (error("refused"), "refused"),
        (shell("", 143, note="ended after its limit of 10 s, with everything it had started"),
         "exit 143: ended after its limit of 10 s, with everything it had started"),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_not_checked(answer: str, because: str) -> None:
    steps = [step("one", shell="x", parse={"columns": ["a", "b"]}), step("two", shell="y")]
    reply, _, _ = play(steps, lambda n, a: answer if a["command"] == "x" else shell(""), engine=None)
    assert not_checked(reply) == {"one": because}


def test_http_and_other_tools() -> None:
    steps = [
        step("one", http="https://example.com/{{ params.path }}", parse="json", warning="status != 'ok'",
             evidence="{{ status }}"),
        step("two", tool="now", **{"with": {"zone": "{{ params.path }}"}}, parse="lines", evidence="{{ line }}"),
    ]  # fmt: skip
    asked: list[tuple[str, Any]] = []

    def tool(name: str, arguments: dict[str, Any]) -> str:
        asked.append((name, arguments))
        return json.dumps({"status": 200, "output": '{"status": "bad"}'}) if name == "http_get" else "noon"

    reply, _, _ = play(steps, tool, engine=None, params={"path": "health"})
    assert asked == [("http_get", {"url": "https://example.com/health"}), ("now", {"zone": "health"})]
    assert [f["evidence"] for f in findings(reply)] == ["bad", "noon"]


def test_a_report_of_its_own() -> None:
    each = "{% for f in findings %}{{ f.number }}={{ f.evidence }} {% endfor %}"
    template = "{{ subject }} " + each + "{{ not_checked | length }}"
    reply, _, _ = play([step()], sql_tool({"one": table(["x"], [4], [5])}), report=template)
    assert reply.text == "prod 1=4 2=5 0"

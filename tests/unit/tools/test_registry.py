"""Adding a file is enough, a file without a declaration is not imported, and a broken one harms nobody."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.job import Job
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.errors import ConfigError, NotFound
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.choice import check_names, default_tools, select
from hermes_cron.tools.registry import Registry, declares_tool, discover
from hermes_cron.tools.schema import tool_schema
from hermes_cron.tools.toolsets import COMPOSED, resolve, toolsets
from tests.agent_rig import Anything, Nothing, call, calls, context, rig, tool

HELLO = '''
"""A plug-in."""
from __future__ import annotations
from typing import Literal
from pydantic import Field
from hermes_cron.tools.declaration import Arguments, Tool

class Hello(Arguments):
    name: str = Field(description="whom")
    mood: Literal["glad", "calm"] = "calm"

def hello(arguments: Hello, context) -> str:
    return f"hello {arguments.name}, {arguments.mood}"

TOOL = Tool(name="hello", toolset="greetings", description="Say hello.", arguments=Hello, handler=hello)
'''


def plugin(folder: Path, name: str, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    return tmp_path / "tools"


def test_a_file_is_enough(plugins: Path, tmp_path: Path) -> None:
    path = plugin(plugins, "hello.py", HELLO)
    found = discover(plugins)
    assert found.entries["hello"].file == str(path)
    assert found.broken == ()
    made = rig(tmp_path, [calls(call("hello", {"name": "Ada"})), {"text": "x"}], found.tools["hello"])
    made.go()
    assert made.tool_texts() == ["hello Ada, calm"]


def test_file_without_a_declaration_is_not_imported(plugins: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    plugin(plugins, "side.py", f"open({str(trace)!r}, 'w').close()\nNOT_TOOL = 1\n")
    plugin(plugins, "inside.py", f"open({str(trace)!r}, 'w').close()\ndef f():\n    TOOL = Tool()\n")
    found = discover(plugins)
    assert not trace.exists()
    assert found.broken == ()
    assert "hermes_cron_plugin_side" not in sys.modules


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("TOOL = Tool(name='x')", True),
        ("TOOL: Tool = Tool(name='x')", True),
        ("TOOL = declaration.Tool(name='x')", True),
        ("import x\n\nTOOL = OTHER = Tool()", True),
        ("TOOL = None", False),
        ("TOOL = make()", False),
        ("TOOLS = Tool()", False),
        ("class A:\n    TOOL = Tool()", False),
        ("'TOOL = Tool()'", False),
        ("# TOOL = Tool()", False),
        ("TOOL: Tool", False),
        ("", False),
    ],
)
def test_declaration_is_seen_in_the_syntax_tree(source: str, expected: bool) -> None:
    assert declares_tool(source) is expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("TOOL = Tool(\n", "line 1", id="syntax"),
        pytest.param("from nowhere_at_all import Tool\nTOOL = Tool()", "nowhere_at_all", id="import"),
        pytest.param("class Tool: pass\nTOOL = Tool()", "not a hermes_cron.tools", id="another class"),
        pytest.param("raise SystemExit(3)\nTOOL = Tool()", "SystemExit", id="exit"),
        pytest.param(HELLO.replace('name="hello"', 'name="Hello World"'), "a-z", id="name"),
        pytest.param(HELLO.replace('name="hello"', 'name="now"'), "the name now is taken (built in)", id="taken"),
        pytest.param(HELLO.replace('"Say hello."', '" "'), "no description", id="no description"),
    ],
)
def test_broken_plugin_is_listed_and_harms_nobody(plugins: Path, source: str, reason: str) -> None:
    path = plugin(plugins, "broken.py", source)
    plugin(plugins, "good.py", HELLO)
    found = discover(plugins)
    assert "hello" in found.entries
    assert len(found.broken) == 1
    assert found.broken[0].file == str(path)
    assert reason in found.broken[0].reason
    assert "\n" not in found.broken[0].reason


def test_plugin_that_is_no_utf8_is_listed(plugins: Path) -> None:
    plugins.mkdir()
    (plugins / "x.py").write_bytes(b"\xff\xfe\x00")
    assert len(discover(plugins).broken) == 1


def test_no_folder_means_built_in_tools_only(tmp_path: Path) -> None:
    found = discover(tmp_path / "none")
    assert set(found.entries) == {
        "http_get", "memory", "memory_recall", "now", "patch_file", "read_file", "search_files", "session_search",
        "skill_manage", "skill_view", "skills_list", "sql_query", "sql_schema", "terminal", "write_file",
    }  # fmt: skip


def test_every_built_in_tool_says_what_it_does() -> None:
    effects = {name: str(made.effect) for name, made in discover().tools.items()}
    assert effects == {
        "http_get": "read", "memory": "verifiable", "memory_recall": "read", "now": "read", "patch_file": "verifiable",
        "read_file": "read", "search_files": "read", "session_search": "read", "skill_manage": "verifiable",
        "skill_view": "read", "skills_list": "read",
        "sql_query": "read", "sql_schema": "read", "terminal": "effect", "write_file": "idempotent",
    }  # fmt: skip
    for made in discover().tools.values():
        assert all("description" in member for member in _required(made)), made.name


def _required(made: object) -> list[dict[str, object]]:
    parameters = tool_schema(made)["function"]["parameters"]  # type: ignore[arg-type]
    return [parameters["properties"][name] for name in parameters.get("required", [])]


# --- schema --------------------------------------------------------------------------------------------------------


def test_schema_is_compact_and_closed(plugins: Path) -> None:
    plugin(plugins, "hello.py", HELLO)
    assert tool_schema(discover(plugins).tools["hello"]) == {
        "type": "function",
        "function": {
            "name": "hello",
            "description": "Say hello.",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "whom"},
                    "mood": {"type": "string", "enum": ["glad", "calm"], "default": "calm"},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    }


def test_schema_of_nested_models_has_no_references() -> None:
    class Inner(Nothing):
        """Not shown."""

        title: str
        more: list[int] | None = None

    class Outer(Nothing):
        inner: Inner
        many: dict[str, Inner]

    text = json.dumps(tool_schema(tool("t", lambda: "", arguments=Outer)))
    assert "$ref" not in text
    assert "$defs" not in text
    assert '"title": {"type": "string"}' in text, "an argument may be called title"
    assert '"more": {"items": {"type": "integer"}, "type": "array"}' in text


def test_no_arguments_give_an_empty_object() -> None:
    parameters = tool_schema(tool("t", lambda: "", arguments=Nothing))["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_schemas_of_a_box_are_ordered_by_name(tmp_path: Path) -> None:
    one, two = tool("b", lambda: ""), tool("a", lambda: "")
    around = context(tmp_path)
    first = ToolBox({"b": one, "a": two}, around).schemas()
    assert first == ToolBox({"a": two, "b": one}, around).schemas()
    assert [schema["function"]["name"] for schema in first] == ["a", "b"]


# --- sets ----------------------------------------------------------------------------------------------------------


def test_sets_hold_sets_and_name_each_tool_once() -> None:
    tools = discover().tools
    sets = toolsets(tools)
    assert resolve(["reads"], tools, sets) == ("now", "sql_query", "sql_schema", "read_file", "search_files")
    everything = resolve(["everything", "reads", "now"], tools, sets)
    assert sorted(everything) == sorted(tools)


def test_a_set_may_hold_a_tool_of_its_own_name() -> None:
    tools = discover().tools
    assert "memory" in resolve(["memory"], tools, toolsets(tools))


@pytest.mark.parametrize(
    "sets",
    [{"a": ("a",)}, {"a": ("b",), "b": ("a",)}, {"a": ("now", "b"), "b": ("c",), "c": ("b",)}],
    ids=["itself", "two", "deeper"],
)
def test_cycle_is_refused_with_its_path(sets: dict[str, tuple[str, ...]]) -> None:
    tools = discover().tools
    with pytest.raises(ConfigError, match=r"contains itself: . > "):
        resolve(["a"], tools, toolsets(tools, sets))


def test_one_set_by_two_ways_is_no_cycle() -> None:
    tools = discover().tools
    sets = toolsets(tools, {"a": ("b", "c"), "b": ("files",), "c": ("files", "now")})
    assert resolve(["a"], tools, sets) == ("patch_file", "read_file", "search_files", "write_file", "now")


def test_every_composed_set_resolves() -> None:
    tools = discover().tools
    for name in COMPOSED:
        assert resolve([name], tools, toolsets(tools))


NOTHING_LEARNED: Mapping[str, Any] = {"memory": MemoryMode.OFF, "learn": Learn.OFF}
READ_SKILLS = ("skills_list", "skill_view")

# --- choice --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (Job(name="j", prompt="x", **NOTHING_LEARNED), ("now", *READ_SKILLS)),
        (Job(name="j", prompt="x", databases=("prod",), **NOTHING_LEARNED),
         ("now", "sql_query", "sql_schema", *READ_SKILLS)),
        (Job(name="j", prompt="x", workdir="/srv", **NOTHING_LEARNED),
         ("now", "read_file", "search_files", *READ_SKILLS)),
        (Job(name="j", prompt="x", tools=()), ()),
        (Job(name="j", prompt="x", tools=("terminal", "databases")), ("terminal", "sql_query", "sql_schema")),
    ],
    ids=["nothing declared", "databases", "workdir", "no tools", "named"],
)  # fmt: skip
def test_job_gets_what_it_declares(job: Job, expected: tuple[str, ...]) -> None:
    assert check_names(discover(), job) == expected


@pytest.mark.parametrize(
    ("memory", "learn", "expected"),
    [
        (MemoryMode.READ_WRITE, Learn.AUTO, ("memory", "memory_recall", *READ_SKILLS, "skill_manage")),
        (MemoryMode.READ_WRITE, Learn.PROPOSE, ("memory", "memory_recall", *READ_SKILLS, "skill_manage")),
        (MemoryMode.READ_ONLY, Learn.ABSORB, ("memory_recall", *READ_SKILLS, "skill_manage")),
        (MemoryMode.OFF, Learn.OFF, READ_SKILLS),
    ],
)
def test_job_gets_what_its_runs_may_learn_with(memory: MemoryMode, learn: Learn, expected: tuple[str, ...]) -> None:
    assert default_tools(Job(name="j", prompt="x", memory=memory, learn=learn)) == ("now", *expected)


def test_nothing_that_writes_is_a_default_but_for_what_is_learned() -> None:
    names = default_tools(Job(name="j", prompt="x", databases=("prod",), workdir="/srv", **NOTHING_LEARNED))
    assert {discover().tools[name].effect for name in names} == {"read"}


def test_a_default_that_a_run_cannot_have_is_not_told_as_left_out(tmp_path: Path) -> None:
    job = Job(name="j", prompt="x")
    assert select(discover(), job, context(tmp_path)).left_out == {}
    named = select(discover(), replace(job, tools=("memory",)), context(tmp_path))
    assert list(named.left_out) == ["memory"]


def test_unknown_tool_is_an_error_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="terminl") as caught:
        check_names(discover(), Job(name="j", prompt="x", tools=("terminl",)))
    assert "did you mean terminal?" in str(caught.value.hint)


def test_tool_whose_needs_are_missing_is_not_offered(tmp_path: Path) -> None:
    needy = tool("needy", lambda: "", requires_env=("API_KEY",), arguments=Anything)
    registry = Registry(entries={"needy": discover().entries["now"].__class__(tool=needy, file="x")})
    job = Job(name="j", prompt="x", tools=("needy",))
    without = select(registry, job, context(tmp_path))
    assert (without.tools, without.left_out) == ({}, {"needy": "needs API_KEY in the environment"})
    assert list(select(registry, job, context(tmp_path, env={"API_KEY": "k"})).tools) == ["needy"]
    assert select(registry, job, context(tmp_path, env={"API_KEY": ""})).tools == {}
    here = Registry(entries=registry.entries, has_variable={"API_KEY"}.__contains__)
    assert list(select(here, job, context(tmp_path)).tools) == ["needy"], "the process has it, commands do not"


def test_database_tools_need_a_database(tmp_path: Path) -> None:
    chosen = select(discover(), Job(name="j", prompt="x", tools=("sql_query", "now")), context(tmp_path))
    assert list(chosen.tools) == ["now"]
    assert chosen.left_out == {"sql_query": "the job names no database"}


# --- a home's own sets ---------------------------------------------------------------------------------------------


def test_home_may_name_sets_of_its_own(plugins: Path) -> None:
    plugin(plugins, "hello.py", HELLO)
    plugin(plugins, "sets.toml", 'night = ["reads", "greetings"]\nmore = ["night", "now", "http_get"]\n')
    found = discover(plugins)
    assert found.broken == ()
    expected = ("now", "sql_query", "sql_schema", "read_file", "search_files", "hello", "http_get")
    assert resolve(["more"], found.tools, found.sets) == expected
    assert check_names(found, Job(name="j", prompt="x", tools=("more",))) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = [", "at end of document"),
        ('a = "now"', "a is no list of names"),
        ("a = [1]", "a is no list of names"),
        ('reads = ["now"]', "the name reads is taken"),
        ('terminal = ["now"]', "the name terminal is taken"),
        ('a = ["nwo"]', "no tool or tool set 'nwo'"),
    ],
)
def test_broken_sets_are_listed_and_harm_nobody(plugins: Path, text: str, reason: str) -> None:
    plugin(plugins, "sets.toml", text)
    plugin(plugins, "hello.py", HELLO)
    found = discover(plugins)
    assert [broken.file for broken in found.broken] == [str(plugins / "sets.toml")]
    assert reason in found.broken[0].reason
    assert "hello" in found.entries


def test_cycle_of_a_homes_sets_is_refused_when_it_is_used(plugins: Path) -> None:
    plugin(plugins, "sets.toml", 'a = ["b"]\nb = ["a", "now"]\n')
    found = discover(plugins)
    with pytest.raises(ConfigError, match="tool set a contains itself: a > b > a"):
        resolve(["a"], found.tools, found.sets)
    assert resolve(["reads"], found.tools, found.sets)


def test_a_pipe_in_the_place_of_a_plugin_is_not_waited_for(plugins: Path) -> None:
    plugins.mkdir()
    os.mkfifo(plugins / "pipe.py")
    assert [(Path(one.file).name, one.reason) for one in discover(plugins).broken] == [("pipe.py", "no plain file")]

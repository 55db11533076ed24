"""``tools list`` as a person starts it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hermes_cron.home import Home
from tests.conftest import RunCli

HELLO = """
from hermes_cron.tools.declaration import Arguments, Tool

class Hello(Arguments):
    name: str

TOOL = Tool(
    name="hello", toolset="greetings", description="Say hello.", arguments=Hello,
    handler=lambda arguments, context: "hello", requires_env=("HELLO_KEY",),
)
"""


def test_dropped_file_is_listed_without_another_edit(home: Home, run_cli: RunCli) -> None:
    home.tools.mkdir()
    (home.tools / "hello.py").write_text(HELLO)
    (home.tools / "broken.py").write_text("TOOL = Tool(")
    (home.tools / "side.py").write_text(f"open({str(home.root / 'trace')!r}, 'w')")
    ran = run_cli("tools", "list")
    assert ran.rc == 0
    assert re.search(r"^hello +greetings +read +HELLO_KEY \(missing\) +Say hello\.$", ran.out, re.MULTILINE)
    assert " HELLO_KEY  " in run_cli("tools", "list", env={"HELLO_KEY": "x"}).out
    assert "broken.py  BROKEN line 1: '(' was never closed" in ran.out
    assert not (home.root / "trace").exists()
    told = json.loads(run_cli("tools", "list", "--json").out)
    assert [tool["name"] for tool in told["tools"] if tool["file"]] == ["hello"]
    assert told["broken"] == [{"file": str(home.tools / "broken.py"), "reason": "line 1: '(' was never closed"}]


def test_set_is_resolved_once_each(home: Home, run_cli: RunCli) -> None:
    home.tools.mkdir()
    (home.tools / "sets.toml").write_text('night = ["reads", "now", "reads"]\nround = ["night", "round"]\n')
    told = json.loads(run_cli("tools", "list", "--set", "night", "--json").out)
    assert [tool["name"] for tool in told["tools"]] == [
        "now", "sql_query", "sql_schema", "read_file", "search_files",
    ]  # fmt: skip
    refused = run_cli("tools", "list", "--set", "round")
    assert refused.rc == 78
    assert "round contains itself: round > round" in refused.err


def test_unknown_set_names_the_nearest(run_cli: RunCli) -> None:
    ran = run_cli("tools", "list", "--set", "file")
    assert ran.rc == 3
    assert "did you mean files?" in ran.err


def test_built_in_tools_are_listed_without_a_home(run_cli: RunCli, tmp_path: Path) -> None:
    ran = run_cli("tools", "list", "--json", at=Home(tmp_path / "none"))
    assert (ran.rc, len(json.loads(ran.out)["tools"])) == (0, 15)


def test_readme_counts_the_tools_that_exist(run_cli: RunCli) -> None:
    """The README's mark ``<!-- tools: N -->`` and the sentence beside it say what the command lists."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    marked = re.search(r"<!-- tools: (\d+) -->(\d+) tools", text)
    assert marked, "README.md needs the mark <!-- tools: N -->N tools"
    assert int(marked[1]) == int(marked[2]) == len(json.loads(run_cli("tools", "list", "--json").out)["tools"])

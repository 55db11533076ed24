"""Files are read and written inside the job's folder and nowhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.tool_call import ToolOutput
from hermes_cron.domain.transcript import ToolCall
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.context import Caps, ToolContext
from hermes_cron.tools.registry import discover
from tests.agent_rig import context

TOOLS = discover().tools


def ask(around: ToolContext, name: str, **arguments: Any) -> ToolOutput:
    box = ToolBox(TOOLS, around)
    prepared = box.prepare(ToolCall(id="c", name=name, arguments=json.dumps(arguments)))
    return prepared.refusal or box.execute(prepared, lambda _group: None)


def text(around: ToolContext, name: str, **arguments: Any) -> str:
    output = ask(around, name, **arguments)
    assert output.ok, output.text
    return output.text


def error(around: ToolContext, name: str, **arguments: Any) -> str:
    output = ask(around, name, **arguments)
    assert not output.ok, output.text
    body = json.loads(output.text)["error"]
    return f"{body['code']}: {body['message']}"


# --- read_file -----------------------------------------------------------------------------------------------------


def test_read_says_which_lines(tmp_path: Path) -> None:
    around = context(tmp_path)
    (around.workdir / "a.txt").write_text("one\ntwo\nthree\n")
    assert text(around, "read_file", path="a.txt") == "a.txt, lines 1 to 3 of 3\none\ntwo\nthree\n"
    assert text(around, "read_file", path="a.txt", start_line=2, lines=1) == "a.txt, lines 2 to 2 of 3\ntwo\n"
    assert text(around, "read_file", path="a.txt", start_line=9) == "a.txt has only 3 lines\n"
    assert text(around, "read_file", path=str(around.workdir / "a.txt"), lines=1).endswith("one\n")


def test_read_of_a_long_file_says_where_to_go_on(tmp_path: Path) -> None:
    around = context(tmp_path, caps=Caps(output_bytes=100))
    (around.workdir / "a.txt").write_text("".join(f"line {n:03}\n" for n in range(50)))
    shown = text(around, "read_file", path="a.txt")
    assert shown.startswith("a.txt, lines 1 to 11 of 50; 39 more did not fit: go on with start_line 12\n")
    assert text(around, "read_file", path="a.txt", start_line=12).splitlines()[1] == "line 011"


def test_read_of_a_line_that_is_too_long_is_cut_and_says_so(tmp_path: Path) -> None:
    around = context(tmp_path, caps=Caps(output_bytes=100))
    (around.workdir / "a.txt").write_text("x" * 5000)
    assert "4,900 of 5,000 bytes cut" in text(around, "read_file", path="a.txt")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\x00\x01", "is a binary file of 2 bytes"), (b"caf\xe9", "is not UTF-8 (byte 3 of 4)"), (b"", None)],
    ids=["binary", "latin-1", "empty"],
)
def test_read_of_what_is_no_text(tmp_path: Path, content: bytes, said: str | None) -> None:
    around = context(tmp_path)
    (around.workdir / "f").write_bytes(content)
    if said is None:
        assert text(around, "read_file", path="f") == "f is empty\n"
    else:
        assert said in error(around, "read_file", path="f")


def test_read_of_a_pipe_does_not_wait(tmp_path: Path) -> None:
    around = context(tmp_path)
    os.mkfifo(around.workdir / "pipe")
    assert error(around, "read_file", path="pipe") == "ToolFailed: pipe is no plain file"
    assert error(around, "read_file", path=".") == "ToolFailed: . is a folder"
    assert error(around, "read_file", path="none.txt") == "ToolFailed: none.txt: no such file"


def test_read_of_a_huge_file_is_refused_with_its_size(tmp_path: Path) -> None:
    around = context(tmp_path, caps=Caps(read_bytes=10))
    (around.workdir / "a").write_text("x" * 11)
    assert "11 bytes; at most 10" in error(around, "read_file", path="a")


# --- where ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "/etc/hostname", "sub/../../outside.txt", "link", "linked/outside.txt", "/proc/self/environ"],
)
@pytest.mark.parametrize("name", ["read_file", "write_file", "patch_file", "search_files"])
def test_outside_is_refused_by_every_way(tmp_path: Path, path: str, name: str) -> None:
    around = context(tmp_path)
    (tmp_path / "outside.txt").write_text("outside")
    (around.workdir / "link").symlink_to(tmp_path / "outside.txt")
    (around.workdir / "linked").symlink_to(tmp_path)
    more: dict[str, Any] = {"write_file": {"content": "x"}, "patch_file": {"old": "outside", "new": "x"}}.get(name, {})
    assert error(around, name, path=path, **more).startswith("Refused: ")
    assert (tmp_path / "outside.txt").read_text() == "outside"


@pytest.mark.parametrize("where", ["home itself", "above the home", "hard link", "readable"])
@pytest.mark.parametrize(
    "kept",
    ["vault.json", "vault.key", "config.toml", "state.db", "state.db-wal", "tools/x.py", "snapshots.git/config"],
)
def test_secrets_of_the_home_are_out_of_reach(tmp_path: Path, where: str, kept: str) -> None:
    around = context(tmp_path)
    secret = around.home.root / kept
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("s3cret")
    path = str(secret)
    if where == "home itself":
        around = context(tmp_path, workdir=around.home.root)
    elif where == "above the home":
        around = context(tmp_path, workdir=tmp_path)
    elif where == "readable":
        around = context(tmp_path, readable=(around.home.root,))
    elif "/" in kept:
        return  # code and history hold no secret: another name of a file in them may be read
    else:
        os.link(secret, around.workdir / "innocent.txt")
        path = "innocent.txt"
    assert error(around, "read_file", path=path).startswith("Refused: ")
    if where != "readable":
        assert error(around, "write_file", path=path, content="x").startswith("Refused: ")
    assert secret.read_text() == "s3cret"
    if where in ("home itself", "above the home", "hard link"):
        assert "s3cret" not in text(around, "search_files", pattern="s3cret").split("\n", 1)[-1]
        assert text(around, "search_files", pattern="s3cret").startswith("0 matching lines")


def test_run_does_not_change_its_own_job_or_reports(tmp_path: Path) -> None:
    around = context(tmp_path, workdir=tmp_path)
    around.home.jobs.mkdir()
    for path in (around.home.jobs / "j.md", around.home.skills / "x/SKILL.md", around.home.outputs / "j/r.md"):
        assert error(around, "write_file", path=str(path), content="x").startswith("Refused: ")
        assert not path.exists()


def test_declared_folders_may_be_read_and_not_written(tmp_path: Path) -> None:
    around = context(tmp_path)
    around.home.outputs.mkdir()
    (around.home.outputs / "r.md").write_text("report")
    around = context(tmp_path, readable=(around.home.outputs,))
    assert "report" in text(around, "read_file", path=str(around.home.outputs / "r.md"))
    assert "outside of the folder" in error(around, "write_file", path=str(around.home.outputs / "r.md"), content="x")


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "~/x"])
def test_paths_that_are_none(tmp_path: Path, path: str) -> None:
    assert error(context(tmp_path), "read_file", path=path).startswith("ToolFailed: ")


# --- write_file, patch_file ----------------------------------------------------------------------------------------


def test_write_makes_folders_and_replaces(tmp_path: Path) -> None:
    around = context(tmp_path)
    assert text(around, "write_file", path="a/b/c.txt", content="\u8bd5\n") == "a/b/c.txt made: 4 bytes"
    assert text(around, "write_file", path="a/b/c.txt", content="") == "a/b/c.txt replaced: 0 bytes"
    assert (around.workdir / "a/b/c.txt").read_bytes() == b""
    assert os.listdir(around.workdir / "a/b") == ["c.txt"], "no temporary file is left"


def test_write_over_a_folder_or_below_a_file(tmp_path: Path) -> None:
    around = context(tmp_path)
    (around.workdir / "d").mkdir()
    (around.workdir / "f").write_text("x")
    assert error(around, "write_file", path="d", content="x") == "ToolFailed: d is a folder"
    assert "cannot make its folder" in error(around, "write_file", path="f/g.txt", content="x")
    assert error(around, "write_file", path=".", content="x").startswith("Refused: ")


def test_write_through_a_link_inside_changes_its_target(tmp_path: Path) -> None:
    around = context(tmp_path)
    (around.workdir / "real.txt").write_text("old")
    (around.workdir / "link.txt").symlink_to("real.txt")
    text(around, "write_file", path="link.txt", content="new")
    assert (around.workdir / "real.txt").read_text() == "new"
    assert (around.workdir / "link.txt").is_symlink()


def test_link_and_target_are_one_path(tmp_path: Path) -> None:
    around = context(tmp_path)
    (around.workdir / "real.txt").write_text("old")
    (around.workdir / "link.txt").symlink_to("real.txt")
    box = ToolBox(TOOLS, around)
    asked = [
        ToolCall(id="c", name="write_file", arguments=f'{{"path":"{p}","content":"x"}}')
        for p in ("link.txt", "real.txt")
    ]
    one, two = (box.prepare(call).paths for call in asked)
    assert one == two == ((around.workdir / "real.txt").resolve(),)


def test_patch_changes_one_place_and_keeps_every_other_byte(tmp_path: Path) -> None:
    around = context(tmp_path)
    path = around.workdir / "a.conf"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2 \r\nc = 3")
    path.chmod(0o640)
    assert text(around, "patch_file", path="a.conf", old="b = 2", new="b = 20") == "a.conf changed at line 2"
    assert path.read_bytes() == b"\xef\xbb\xbfa = 1\r\nb = 20 \r\nc = 3"
    assert path.stat().st_mode & 0o777 == 0o640


def test_patch_errors_leave_the_file(tmp_path: Path) -> None:
    around = context(tmp_path)
    path = around.workdir / "a.txt"
    path.write_text("x = 1\nx = 1\ny = 2\n")
    assert error(around, "patch_file", path="a.txt", old="x = 1", new="z").startswith("PatchAmbiguous: ")
    assert error(around, "patch_file", path="a.txt", old="y = 3", new="z").startswith("PatchNoMatch: ")
    assert error(around, "patch_file", path="a.txt", old="y = 2", new="y = 2").startswith("ToolFailed: ")
    assert error(around, "patch_file", path="a.txt", old="", new="z").startswith("InvalidArguments: ")
    assert error(around, "patch_file", path="none", old="a", new="z").startswith("ToolFailed: ")
    assert path.read_text() == "x = 1\nx = 1\ny = 2\n"


# --- search_files --------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> ToolContext:
    around = context(tmp_path)
    files = {
        "a.py": "import os\nTODO = 1\n", "src/b.py": "# todo later\n", "src/deep/c.py": "x\n", "d.md": "TODO\n",
        "node_modules/e.py": "TODO\n", ".git/f.py": "TODO\n",
    }  # fmt: skip
    for name, content in files.items():
        path = around.workdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (around.workdir / "bin.py").write_bytes(b"TODO\0")
    return around


def test_search_names_path_line_and_text(tree: ToolContext) -> None:
    assert text(tree, "search_files", pattern="TODO") == (
        "2 matching lines in 5 files; 1 binary or large files not looked into\na.py:2: TODO = 1\nd.md:1: TODO"
    )
    assert "src/b.py:1: # todo later" in text(
        tree, "search_files", pattern="todo", ignore_case=True, glob="src/**/*.py"
    )


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "bin.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/*.md", ["d.md"]),
        ("?.md", ["d.md"]),
        ("[", []),
    ],
)
def test_globs(tree: ToolContext, glob: str, expected: list[str]) -> None:
    assert text(tree, "search_files", glob=glob).splitlines()[1:] == expected


def test_search_in_one_file(tree: ToolContext) -> None:
    assert text(tree, "search_files", path="a.py", pattern="^TODO").endswith("a.py:2: TODO = 1")


def test_search_says_that_there_is_more(tree: ToolContext) -> None:
    assert text(tree, "search_files", pattern=".", limit=2).startswith("the first 2 matching lines; there are more")


def test_pattern_that_never_ends_is_ended(tmp_path: Path) -> None:
    around = context(tmp_path, caps=Caps(search_s=0.5))
    (around.workdir / "a.txt").write_text("a" * 60 + "b")
    assert "took longer than" in error(around, "search_files", pattern="(a|a)*$")


def test_bad_pattern_is_explained(tree: ToolContext) -> None:
    assert error(tree, "search_files", pattern="(").startswith("InvalidArguments: pattern: missing )")


def test_search_follows_no_link_out(tree: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("TODO outside")
    (tree.workdir / "l.py").symlink_to(tmp_path / "outside.py")
    (tree.workdir / "dir").symlink_to(tmp_path)
    assert "outside" not in text(tree, "search_files", pattern="TODO")


@pytest.mark.parametrize("name", ["read_file", "write_file", "patch_file", "search_files", "terminal"])
def test_text_that_is_no_unicode_is_an_answer(tmp_path: Path, name: str) -> None:
    """A model may write half of a surrogate pair; file names may be bytes."""
    around = context(tmp_path)
    half = "\ud83d"
    more: dict[str, Any] = {
        "write_file": {"path": half, "content": "x"}, "patch_file": {"path": half, "old": "a", "new": "b"},
        "terminal": {"command": f"echo {half}"},
    }.get(name, {"path": half})  # fmt: skip
    assert not ask(around, name, **more).ok
    ask(around, name, **more).text.encode("utf-8")
    assert not ask(around, "write_file", path="f", content=half).ok
    Path(os.fsdecode(os.fsencode(around.workdir) + b"/caf\xe9.txt")).write_text("x")
    assert text(around, "search_files").encode("utf-8").endswith(b"caf?.txt")

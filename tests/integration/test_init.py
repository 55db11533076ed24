"""A home is made with or without answers, twice is no harm, and secrets stay secret on a real terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hermes_cron import shipped
from hermes_cron.home import Home
from hermes_cron.settings import Environment, Settings

RunCli = Callable[..., object]


def _run(
    root: Path, *argv: str, env: dict[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "Asia/Shanghai", "HOME": str(root.parent)}
    return subprocess.run(
        [sys.executable, "-m", "hermes_cron", *argv],
        env={**clean, "HERMES_CRON_HOME": str(root), **(env or {})},
        input=stdin, capture_output=True, text=True, encoding="utf-8", timeout=30, check=False,
    )  # fmt: skip


def _dialogue(root: Path, argv: Sequence[str], answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run on a terminal of its own; wait for each text, then type. Returns the exit code and all that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:  # the child: nothing but exec
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(root.parent), "TERM": "dumb",
               "HERMES_CRON_HOME": str(root)}  # fmt: skip
        os.execve(sys.executable, [sys.executable, "-m", "hermes_cron", *argv], env)
    shown, seen, deadline = b"", 0, time.monotonic() + 20
    waiting = list(answers)
    while time.monotonic() < deadline:
        if waiting and waiting[0][0].encode() in shown[seen:]:
            seen = len(shown)
            os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
        readable = select.select([terminal], [], [], 0.1)[0]
        if not readable and not waiting and answers[-1][1] == "\x03":
            os.write(terminal, b"\x03")  # input() can miss a signal that comes before it waits; people press again
        if readable:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other end is closed: the process is done
                break
    os.close(terminal)
    assert not waiting, f"never asked: {waiting[0][0]}; shown:\n{shown.decode()}"
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def _bytes_of(root: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def test_init_without_answers_makes_a_home_that_works(tmp_path: Path) -> None:
    root = tmp_path / "home"
    done = _run(root, "init", "--no-input")
    assert (done.returncode, done.stderr) == (0, "")
    assert root.stat().st_mode & 0o777 == 0o700
    assert Settings.load(Home(root), Environment()).timezone == "Asia/Shanghai"
    assert re.search(r"^next: hermes-cron ", done.stdout, re.M)
    assert _run(root, "config", "check").returncode == 0


def test_twice_says_what_is_there_and_overwrites_nothing(tmp_path: Path) -> None:
    root = tmp_path / "home"
    _run(root, "init")
    (root / "config.toml").write_text('timezone = "Europe/Berlin"\n')
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    done = _run(root, "init", "--model", "gpt-x", "--timezone", "UTC")
    assert done.returncode == 0
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert "kept" in done.stdout
    assert "--model" in done.stderr
    assert "config set" in done.stderr


def test_every_answer_is_an_option_too(tmp_path: Path) -> None:
    root, database = tmp_path / "home", tmp_path / "a.db"
    sqlite3.connect(database).execute("create table t(x)").connection.close()
    done = _run(
        root, "init", "--timezone", "Europe/Berlin", "--model", "m", "--base-url", "http://127.0.0.1:1/v1",
        "--database", f"local={database}", "--database", "prod=postgresql://u@h/d", "--language", "zh", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["databases"] == ["local", "prod"]
    found = Settings.load(Home(root), Environment())
    assert (found.timezone, found.language, found.model.name) == ("Europe/Berlin", "zh", "m")
    assert found.databases["local"].url == f"sqlite:///{database}"
    assert "已存在" in _run(root, "init").stdout, "the home's language from now on"


@pytest.mark.parametrize(
    "argv, code, said",
    [
        (["--database", "prod=postgresql://u:hunter2@h/d"], 4, "password"),
        (["--database", "prod"], 2, "NAME=URL"),
        (["--database", "x=/no/such/file.db"], 2, "no file"),
        (["--database", "x=mysql://u@h/d"], 2, "mysql"),
        (["--timezone", "Mars/Base"], 78, "Mars/Base"),
        (["--language", "de"], 78, "en, zh"),
        (["--base-url", "nonsense", "--model", "m"], 78, "nonsense"),
    ],
)
def test_a_wrong_answer_makes_no_home(tmp_path: Path, argv: list[str], code: int, said: str) -> None:
    root = tmp_path / "home"
    done = _run(root, "init", *argv)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "hunter2" not in done.stderr
    assert not root.exists()


def test_the_default_home_is_in_the_persons_own(tmp_path: Path) -> None:
    done = _run(tmp_path / "x", "init", env={"HERMES_CRON_HOME": ""})
    assert done.returncode == 0
    assert (tmp_path / ".hermes-cron" / "config.toml").is_file()
    assert "~/.hermes-cron" in done.stdout


def test_shipped_skills_arrive_once_and_edits_stay(tmp_path: Path) -> None:
    root = tmp_path / "home"
    _run(root, "init")
    files = [file.path for file in shipped.contents("skills")]
    assert [path for path in files if not (root / "skills" / path).is_file()] == []
    if not files:
        pytest.skip("no skill is shipped yet")
    manifest = json.loads((root / "skills" / shipped.MANIFEST).read_text())
    assert sorted(manifest["files"]) == sorted(files)
    edited, removed = root / "skills" / files[0], root / "skills" / files[-1]
    edited.write_text("mine")
    removed.unlink()
    _run(root, "init")
    if edited != removed:
        assert edited.read_text() == "mine"
    assert not removed.exists(), "what a person removed does not come back"


def test_asked_on_a_terminal_the_passwords_are_never_shown_or_stored_in_the_clear(tmp_path: Path) -> None:
    root = tmp_path / "home"
    code, shown = _dialogue(root, ["init"], [
        ("Time zone", "Mars/Base"), ("Time zone", "Asia/Tokyo"), ("Model", "gpt-x"), ("provider answers", ""),
        ("API key", "sk-hunter2hunter2"), ("NAME=URL", "prod=postgresql://u:oops1234@h/d"),
        ("NAME=URL", "prod=postgresql://u@h/d"), ("Password of prod", "correct horse"),
    ])  # fmt: skip
    assert code == 0, shown
    assert "hunter2" not in shown
    assert "horse" not in shown
    stored = _bytes_of(root)
    assert b"hunter2" not in stored
    assert b"horse" not in stored
    found = Settings.load(Home(root), Environment())
    assert (found.timezone, found.model.key_ref) == ("Asia/Tokyo", "secret:model")
    assert found.databases["prod"].password_ref == "secret:db-prod"
    assert _run(root, "config", "check").returncode == 0


def test_ctrl_c_at_a_question_makes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "home"
    code, shown = _dialogue(root, ["init"], [("Time zone", "\x03")])
    assert code == 130
    assert "Traceback" not in shown
    assert not root.exists()


# --- secrets --------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    _run(tmp_path / "home", "init")
    return tmp_path / "home"


def test_a_secret_typed_on_a_terminal_is_not_echoed(root: Path) -> None:
    code, shown = _dialogue(root, ["secrets", "set", "db-prod"], [("not shown", "correct horse")])
    assert code == 0
    assert "horse" not in shown
    assert b"horse" not in _bytes_of(root)


def test_a_secret_comes_from_stdin_a_variable_or_a_file(root: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("from the file\n")
    ways: list[tuple[str, list[str]]] = [
        ("one", ["--stdin"]), ("two", ["--from", "env:MY_KEY"]), ("three", ["--from", f"file:{tmp_path / 'f'}"]),
    ]  # fmt: skip
    for name, way in ways:
        done = _run(root, "secrets", "set", name, *way, env={"MY_KEY": "from the variable"}, stdin="from stdin\n")
        assert done.returncode == 0, done.stderr
        assert "from the" not in done.stdout + done.stderr
    stored = _bytes_of(root)
    assert b"from stdin" not in stored
    assert b"from the" not in stored
    listed = json.loads(_run(root, "secrets", "list", "--json").stdout)["secrets"]
    assert [row["name"] for row in listed] == ["one", "three", "two"]


@pytest.mark.parametrize("value", [["hunter2"], ["hunter2", "more"], ["--", "-hunter2"]], ids=["one", "two", "dash"])
def test_a_value_on_the_command_line_is_refused_with_the_ways_that_work(root: Path, value: list[str]) -> None:
    done = _run(root, "secrets", "set", "db-prod", *value)
    assert (done.returncode, done.stdout) == (4, "")
    assert all(way in done.stderr for way in ("--stdin", "--from env:", "--from file:"))
    assert "hunter2" not in done.stderr
    assert not (root / "vault.json").exists()


def test_without_a_terminal_the_ways_are_named(root: Path) -> None:
    done = _run(root, "secrets", "set", "x")
    assert done.returncode == 2
    assert "--stdin" in done.stderr


def test_a_secret_in_use_says_where_and_is_not_removed_unasked(root: Path) -> None:
    _run(root, "secrets", "set", "ping", "--stdin", stdin="https://hc.example/x")
    (root / "jobs" / "a.md").write_text("---\nschedule: every day 9am\nping: secret:ping\n---\nx\n")
    assert "jobs/a.md" in _run(root, "secrets", "list").stdout
    done = _run(root, "secrets", "remove", "ping")
    assert done.returncode == 5
    assert "jobs/a.md" in done.stderr
    assert _run(root, "secrets", "rm", "ping", "-y").returncode == 0
    assert _run(root, "secrets", "remove", "ping").returncode == 3


def test_config_check_names_a_secret_that_is_missing(root: Path) -> None:
    assert _run(root, "config", "set", "model.key", "secret:openai").returncode == 0
    done = _run(root, "config", "check")
    assert done.returncode == 78
    assert re.search(r'config\.toml:\d+: model\.key: no secret "openai"', done.stderr)
    _run(root, "secrets", "set", "openai", "--stdin", stdin="sk-hunter2hunter2")
    assert _run(root, "config", "check").returncode == 0
    assert "hunter2" not in _run(root, "config", "get", env={"OPENAI_API_KEY": "sk-hunter2hunter2"}).stdout

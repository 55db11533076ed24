"""Whatever a person gets wrong: one fact, its place, the next command, the code; and nothing half-written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home

Run = Callable[..., tuple[int, str, str]]

WRONG = [
    (("add",), 2), (("add", ""), 2), (("add", "every blursday 9am: x"), 2), (("add", "30m: x"), 2),
    (("add", "every day 9am:"), 2), (("add", "every day 9am: inspect prdo db"), 2),
    (("add", "every day 9am: x", "--name", "bad/name"), 2), (("add", "every day 9am: x", "--skill", "nope"), 2),
    (("add", "every day 9am: x", "--db", "nope"), 2), (("add", "every day 9am: x", "--tool", "nope"), 2),
    (("add", "every day 9am: x", "--tz", "Mars/X"), 2), (("add", "every day 9am: x", "--overlap", "never"), 2),
    (("add", "every day 9am: x", "--workdir", "/no/such/folder"), 2),
    (("add", "every 5 seconds: tick", "--script", "echo hi"), 2), (("add", "2020-01-01 09:00: x"), 2),
    (("list", "--json=1"), 2), (("list", "--home"), 2), (("show", "nope"), 3), (("edit", "nope", "--db", "prod"), 3),
    (("edit", "job", "--skill", "nope"), 2), (("edit", "job", "--db", "nope"), 2), (("edit", "job", "--tz", "X/Y"), 2),
    (("edit", "job", "--name", "bad/name"), 2), (("edit", "job", "--schedule", "sometimes"), 2), (("edit", "job"), 2),
    (("run",), 2), (("run", "nope"), 3), (("run", "--prompt", ""), 2), (("run", "job", "--set", "x=1"), 2),
    (("pause", "nope"), 3), (("resume", "nope"), 3), (("remove", "nope"), 3), (("remove", "job"), 2),
    (("next", "nope"), 3), (("history", "nope"), 3), (("explain", "whenever"), 2), (("explain", "0 0 30 2 *"), 2),
    (("explain", "every day 9am", "--now", "soon"), 2), (("check", "/no/such/path"), 3),
    (("runs", "show", "nope"), 3), (("runs", "trace", "nope"), 3), (("runs", "cancel", "nope"), 3),
    (("skills", "show", "nope"), 3), (("skills", "test", "nope"), 3), (("skills", "lint", "nope"), 3),
    (("db", "add", "x"), 2), (("db", "add", "x", "--url", "sqlite:///nope.db"), 3),
    (("db", "add", "x", "--url", "mysql://u@h/d"), 2), (("db", "add", "a b", "--url", "sqlite:///x"), 2),
    (("db", "add", "x", "--url", "postgresql://u:pw@h/d"), 4), (("db", "add", "x", "--url", "README"), 1),
    (("db", "add", "x", "--url", "postgresql://u@127.0.0.1:1/d"), 1),
    (("db", "add", "prod", "--url", "sqlite:///x"), 5),
    (("db", "test", "nope"), 3), (("db", "show", "nope"), 3), (("db", "remove", "nope"), 3),
    (("db", "query", "prod", "select * from nope"), 1), (("db", "query", "prod", "delete from t"), 4),
    (("db", "query", "prod", "select ("), 4), (("db", "query", "nope", "select 1"), 3),
    (("secrets", "set", "x"), 2), (("secrets", "set", "x", "value"), 4), (("secrets", "remove", "x", "-y"), 3),
    (("init", "--database", "nonsense"), 2), (("init", "--database", "x=postgresql://u:pw@h/d"), 4),
    (("logs",), 3), (("model", "test"), 1), (("model", "set"), 2), (("model", "set", ""), 2),
    (("model", "set", "m", "--base-url", "nowhere"), 78), (("model", "set", "m", "--key", "sk-" + "a1" * 20), 4),
    (("tools", "list", "--set", "nope"), 3), (("config", "get", "tmezone"), 3), (("config", "set", "tmezone", "x"), 3),
    (("config", "set", "timezone", "Mars/X"), 78), (("config", "set", "concurrency", "many"), 78),
    (("config", "set", "model.key", "sk-" + "a1" * 20), 4), (("dev", "stub", "/no/such/file"), 2),
    (("serve", "--clock-file", "x"), 2), (("serve", "--concurrency", "0"), 2), (("completion", "show", "tcsh"), 2),
    (("bogus",), 2), (("list", "--bogus"), 2),
]  # fmt: skip


@pytest.fixture
def cli(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    for name in ("LC_ALL", "LC_MESSAGES", "HERMES_CRON_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "EDITOR", "VISUAL",
                 "HERMES_CRON_TESTING"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README").write_text("no database\n")
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("create table t (id integer primary key)")
    shop.close()
    home.config.write_text(f'timezone = "UTC"\n\n[databases.prod]\nurl = "sqlite:///{tmp_path}/shop.db"\n')

    def call(*argv: str) -> tuple[int, str, str]:
        code = run(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert call("add", "every day 9am: look around", "--name", "job")[0] == 0
    return call


def _kept(home: Home) -> dict[str, bytes]:
    """What a person wrote, or would have to clean up; the state, its locks and the vault's key are the program's."""
    return {
        str(path.relative_to(home.root)): path.read_bytes()
        for folder in (home.jobs, home.skills, home.outputs)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    } | {"config.toml": home.config.read_bytes()}


@pytest.mark.parametrize("chunk", range(6))
def test_every_mistake_has_its_code_and_a_next_step_and_writes_nothing(cli: Run, home: Home, chunk: int) -> None:
    before = _kept(home)
    faults = []
    for argv, expected in WRONG[chunk::6]:
        code, out, err = cli(*argv)
        first, *rest = err.splitlines() or [""]
        if not (code == expected and out == "" and first.startswith("error: ") and rest):
            faults.append((argv, expected, code, out, err))
        code, out, err = cli(*argv, "--json") if argv[-1] != "--home" else cli("--json", *argv)
        said = json.loads(err)["error"] if err.startswith("{") else {}
        if not (code == expected and out == "" and all(said.get(key) for key in ("code", "message", "hint"))):
            faults.append((argv, "--json", code, out, err))
        if "\n" in str(said.get("message", "")):
            faults.append((argv, "message of several lines", code, out, err))
    assert faults == []
    assert _kept(home) == before


def test_no_model_is_one_word_everywhere(cli: Run, home: Home) -> None:
    assert cli("model", "set", "gpt-5-mini", "--base-url", "http://127.0.0.1:9/v1")[0] == 0
    code, out, err = cli("model", "set", "none")
    assert code == 0
    assert "playbooks only" in out
    assert "model test" not in err
    assert json.loads(cli("model", "show", "--json")[1])["model"] is None
    code, out, _ = cli("add", "every day 9am: inspect prod db", "--dry-run")
    assert "playbook inspect-database" in out or "nothing yet" in out


def test_no_model_cannot_be_told_to_answer_somewhere(cli: Run) -> None:
    code, _, err = cli("model", "set", "none", "--base-url", "http://127.0.0.1:9/v1")
    assert code == 2
    assert "hermes-cron" in err


def test_one_pass_is_one_object_under_json(cli: Run) -> None:
    code, out, _ = cli("serve", "--once", "--json")
    assert code == 0
    assert json.loads(out)["interrupted"] == 0
    assert json.loads(out)["jobs"] == 1


def test_a_wrong_answer_to_init_names_no_file_that_is_not_there(cli: Run, tmp_path: Path) -> None:
    for argv in (("--tz", "Mars/X"), ("--language", "fr"), ("--model", "m", "--base-url", "x")):
        code, _, err = cli("init", "--home", str(tmp_path / "new"), *argv)
        assert code == 78
        assert "config.toml:" not in err
        assert "hermes-cron init" in err
        assert not (tmp_path / "new").exists()


def test_init_looks_whether_a_database_file_is_there(cli: Run, tmp_path: Path) -> None:
    for url in ("sqlite:///nope.db", f"sqlite:///{tmp_path}/nope.db"):
        code, _, err = cli("init", "--home", str(tmp_path / "new"), "--database", f"prod={url}")
        assert code == 2
        assert "no file" in err
        assert not (tmp_path / "new").exists()


def test_serve_counts_the_job_files_that_are_there(cli: Run, home: Home) -> None:
    (home.jobs / "by-hand.md").write_text("---\nschedule: every day 9am\n---\nlook around\n")
    _, _, err = cli("serve", "--once")
    assert ": 2 jobs, " in err.splitlines()[0]
    (home.jobs / "by-hand.md").unlink()
    assert ": 1 job, " in cli("serve", "--once")[2].splitlines()[0]


def test_a_script_with_a_prompt_is_told_where_the_words_go(cli: Run, home: Home) -> None:
    code, _, err = cli("add", "every 5 seconds: disk check", "--script", "echo hi")
    assert code == 2
    assert 'hermes-cron add "every 5 seconds" --script ... --description "disk check"' in err
    assert cli("add", "every 5 seconds", "--script", "echo hi", "--description", "disk check")[0] == 0
    assert (home.jobs / "disk-check.md").exists()


@pytest.mark.parametrize("left", [b"not a database at all, no\n", b"SQLite format 3\x00 and then something else"])
def test_a_damaged_store_is_one_line_everywhere(cli: Run, home: Home, left: bytes) -> None:
    for path in home.root.glob("state.db*"):
        path.unlink()
    home.store.write_bytes(left)
    for argv in (("list",), ("status",), ("history",), ("show", "job"), ("run", "job"), ("runs", "list"), ("next",),
                 ("add", "every day 9am: y"), ("pause", "job"), ("serve", "--once")):  # fmt: skip
        code, out, err = cli(*argv)
        assert (code, out) == (1, ""), argv
        assert err.startswith(f"error: {home.store} is not a usable store: "), argv
        assert "restore a backup" in err
    assert home.store.read_bytes() == left
    assert not (home.jobs / "y.md").exists()

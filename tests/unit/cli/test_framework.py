"""Every command has the same options, errors, codes and languages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from hermes_cron.cli.commands import COMMANDS, FIRST, NOUN_ALIASES, PURPOSES, VERB_ALIASES
from hermes_cron.cli.groups import Noun, Root
from hermes_cron.cli.main import run
from hermes_cron.errors import NotFound
from hermes_cron.home import Home

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("LC_ALL", "LC_MESSAGES", "HERMES_CRON_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))

    def call(*argv: str) -> tuple[int, str, str]:
        code = run(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_alone_it_names_the_first_three_commands_and_all_others(cli: Run) -> None:
    code, out, err = cli()
    assert (code, err) == (0, "")
    assert all(f"hermes-cron {name}" in out for name in FIRST)
    assert set(COMMANDS) <= set(out.split())
    assert len(out.splitlines()) < 15


def test_every_command_stands_under_one_purpose() -> None:
    listed = [name for _, names in PURPOSES.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("argv", [("--help",), ("-h",), ("--help", "--lang", "en"), ("--lang=en", "--help")])
def test_help_has_a_line_for_each_command(cli: Run, argv: tuple[str, ...]) -> None:
    code, out, _ = cli(*argv)
    assert code == 0
    for name, entry in COMMANDS.items():
        assert any(line.split()[:1] == [name] and entry.en in line for line in out.splitlines()), name


@pytest.mark.parametrize("argv", [("--help", "--lang", "zh"), ("--lang", "zh", "--help"), ("--lang=zh", "-h")])
def test_help_in_chinese(cli: Run, argv: tuple[str, ...]) -> None:
    _, out, _ = cli(*argv)
    assert all(entry.zh in out for entry in COMMANDS.values())
    assert out.startswith("用法")


def test_the_environment_chooses_the_language(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "用法" in cli()[1]
    assert "Usage" in cli("--lang", "en")[1]


def test_the_home_chooses_the_language_of_results(cli: Run, home: Home) -> None:
    home.config.write_text('timezone = "UTC"\nlanguage = "zh"\n', encoding="utf-8")
    assert "有效" in cli("config", "check")[1]
    assert "valid" in cli("config", "check", "--lang", "en")[1]


def test_a_nouns_help_is_translated(cli: Run) -> None:
    _, out, _ = cli("completion", "--help", "--lang", "zh")
    assert "补全脚本" in out
    assert "用法：hermes-cron completion" in out


@pytest.mark.parametrize(
    "argv", [("--json", "config", "check"), ("config", "--json", "check"), ("config", "check", "--json")]
)
def test_common_options_stand_anywhere(cli: Run, argv: tuple[str, ...]) -> None:
    code, out, _ = cli(*argv)
    assert code == 0
    assert json.loads(out)["valid"] is True


def test_home_stands_anywhere_and_goes_before_the_environment(cli: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text("concurrency = 9\n")
    for argv in (
        ("--home", str(other), "config", "get", "concurrency"),
        ("config", "get", "concurrency", f"--home={other}"),
    ):
        assert cli(*argv)[1] == "9\n"


def test_version(cli: Run) -> None:
    from hermes_cron import __version__

    assert cli("--version")[:2] == (0, f"hermes-cron {__version__}\n")


@pytest.mark.parametrize("argv", [("config", "check"), ("secrets", "list"), ("config", "get")])
def test_without_a_home_one_line_says_how_to_make_one(cli: Run, tmp_path: Path, argv: tuple[str, ...]) -> None:
    code, out, err = cli(*argv, "--home", str(tmp_path / "none"))
    assert (code, out) == (78, "")
    assert err == f"error: no home at {tmp_path / 'none'}\n  try  hermes-cron --home {tmp_path / 'none'} init\n"


@pytest.mark.parametrize(
    "argv, near",
    [(("lst",), "list"), (("ad", "x"), "add"), (("secert", "list"), "secrets"), (("config", "chek"), "config check"),
     (("completion", "shwo"), "completion show")],
)  # fmt: skip
def test_an_unknown_command_has_its_nearest(cli: Run, argv: tuple[str, ...], near: str) -> None:
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    assert f"hermes-cron {near}" in err


def test_a_phrase_without_its_verb_is_offered_one(cli: Run) -> None:
    code, _, err = cli("every day 9am: inspect prod db")
    assert code == 2
    assert 'hermes-cron add "every day 9am: inspect prod db"' in err


@pytest.mark.parametrize(
    "argv",
    [("config", "check", "--bogus"), ("--bogus",), ("config",), ("completion", "show"), ("completion", "show", "tcsh"),
     ("config", "check", "--lang", "de"), ("config", "check", "extra"), ("--home",)],
)  # fmt: skip
def test_a_wrong_use_is_exit_2_with_where_to_look(cli: Run, argv: tuple[str, ...]) -> None:
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "--help" in err or "argument" in err
    code, out, err = cli("--json", *argv)
    assert (code, out) == (2, "")
    error = json.loads(err)["error"]
    assert (error["code"], set(error)) == ("Usage", {"code", "message", "hint"})


def test_errors_are_json_with_readable_text_and_details(cli: Run) -> None:
    code, out, err = cli("config", "get", "model.nmae", "--json")
    assert (code, out) == (3, "")
    assert json.loads(err)["error"]["near"][0] == "model.name"
    _, _, err = cli("检查", "--json")
    assert "检查" in err


def test_an_error_in_chinese(cli: Run) -> None:
    _, _, err = cli("config", "get", "model.nmae", "--lang", "zh")
    assert err.startswith("错误：没有设置项“model.nmae”")
    assert "相近" in err


@pytest.mark.parametrize("alias", [*VERB_ALIASES, *NOUN_ALIASES])
def test_aliases_work_and_are_hidden(cli: Run, alias: str) -> None:
    assert alias not in cli("--help")[1].split()
    assert {**VERB_ALIASES, **NOUN_ALIASES}[alias] in COMMANDS


def test_a_nouns_verbs_have_aliases_both_ways() -> None:
    noun = Noun("n", commands={name: click.Command(name) for name in ("list", "remove", "create")})
    ctx = click.Context(noun)
    found = {word: noun.get_command(ctx, word) for word in ("ls", "rm", "delete", "add", "enable")}
    assert {word: command and command.name for word, command in found.items()} == {
        "ls": "list", "rm": "remove", "delete": "remove", "add": "create", "enable": None,
    }  # fmt: skip


def test_the_singular_noun_works(cli: Run) -> None:
    assert cli("secret", "--help")[1] == cli("secrets", "--help")[1]


def test_completion_scripts_and_answers(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = cli("completion", "show", shell)
        assert code == 0
        assert "_HERMES_CRON_COMPLETE" in out
    monkeypatch.setenv("_HERMES_CRON_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "hermes-cron sec")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert cli()[1].split(",")[1].split() == ["secrets"]
    monkeypatch.setenv("COMP_WORDS", "hermes-cron config ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert {line.split(",")[1] for line in cli()[1].split()} == {"check", "get", "set"}


def test_a_bug_keeps_its_traceback(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "broken", COMMANDS["completion"])
    monkeypatch.setattr(Root, "get_command", lambda *_: click.Command("broken", callback=lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        cli("broken")


@pytest.mark.parametrize("raised, code", [(KeyboardInterrupt(), 130), (click.Abort(), 130), (NotFound("x"), 3)])
def test_exit_codes_of_ends(cli: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setattr(Root, "get_command", lambda *_: click.Command("x", callback=fail))
    assert cli("x")[0] == code


def test_a_commands_number_is_its_exit_code(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Root, "get_command", lambda *_: click.Command("x", callback=lambda: 6))
    assert cli("x")[0] == 6


# --- as a process ---------------------------------------------------------------------------------------------------

SLOW = "import time; time.sleep(60)"


def _process(code: str, *argv: str, **options: object) -> subprocess.Popen[str]:
    script = (
        "import sys, click\nfrom hermes_cron.cli import groups, main\n"
        "def body():\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "\n"
        "groups.Root.get_command = lambda *_: click.Command('x', callback=body)\nmain.main(['x', *sys.argv[1:]])\n"
    )
    return subprocess.Popen([sys.executable, "-c", script, *argv], text=True, **options)  # type: ignore[call-overload,no-any-return]


def test_ctrl_c_ends_with_130_and_no_traceback() -> None:
    code = "print('up', flush=True)\n" + SLOW
    process = _process(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_leaves_is_no_error_message() -> None:
    process = _process("for _ in range(100_000): print('x' * 100)", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 1


@pytest.mark.parametrize("encoding", ["gbk", "ascii", "latin-1", "cp1252", "utf-8"])
def test_no_code_page_crashes_on_a_symbol(encoding: str) -> None:
    code = "print('🚀 x 检查 \\udc80')\nimport sys\nprint('🚀', file=sys.stderr)"
    process = _process(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding=encoding,
                       env={**os.environ, "PYTHONIOENCODING": encoding})  # fmt: skip
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert " x " in out


@pytest.mark.parametrize("redirection", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_crash(redirection: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m hermes_cron completion show bash {redirection}"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_no_success() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "hermes_cron"], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False, cwd=Path(__file__).parents[3])  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_a_secret_in_the_config_is_one_line(cli: Run, home: Home) -> None:
    home.config.write_text('[model]\nkey = "sk-hunter2hunter2"\n')
    code, out, err = cli("config", "get")
    assert (code, out) == (4, "")
    assert err.startswith("error: config.toml:2: model.key is the secret itself")
    assert "hunter2" not in err


def test_no_colour_when_nobody_can_see_it(cli: Run) -> None:
    assert "\x1b" not in cli("config", "get")[1]

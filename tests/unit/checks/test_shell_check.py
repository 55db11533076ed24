"""A person's command: how it ended, what it said, and whether it is still the command of before the run."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.checks.programs import programs
from hermes_cron.domain.check import Trial
from hermes_cron.domain.command import ProcessGroup
from hermes_cron.ports import Fenced
from tests.checks_rig import BAD, GOOD, UNKNOWN, Bench, made


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work")


def script(bench: Bench, text: str = "exit 0", name: str = "verify.sh") -> Path:
    path = bench.folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "params, verdict, said",
    [
        ({"command": "true"}, GOOD, "exit code 0"),
        ({"command": "exit 3", "exit": 3}, GOOD, "exit code 3"),
        ({"command": "exit 3"}, BAD, "exit code 3, not 0"),
        ({"command": "echo no such row >&2; exit 1"}, BAD, "exit code 1, not 0: no such row"),
        ({"command": "echo 3 rows; exit 1"}, BAD, "exit code 1, not 0: 3 rows"),
        ({"command": "true", "exit": 1}, BAD, "exit code 0, not 1"),
        ({"command": "printf 'a\\nloaded 12\\n'", "matches": "^loaded \\d+$"}, GOOD, "exit code 0"),
        ({"command": "echo x", "matches": "y"}, BAD, 'exit code 0, and the output has no "y"'),
        ({"command": "exit 127", "exit": 127}, GOOD, "exit code 127"),
    ],
)
def test_exit_code_and_output(bench: Bench, params: dict[str, Any], verdict: object, said: str) -> None:
    assert bench.ask("shell", **params) == (verdict, said)


def test_it_runs_in_the_folder_with_no_more_than_the_given_environment(bench: Bench) -> None:
    assert bench.ask("shell", command="pwd; env", matches=f"^{bench.folder}$")[0] is GOOD
    assert (
        bench.ask("shell", command="env | cut -d= -f1 | grep -vE '^(PATH|LC_ALL|PWD|SHLVL|_|OLDPWD)$'", exit=1)[0]
        is GOOD
    )


def test_a_command_that_does_not_start_proves_nothing(bench: Bench) -> None:
    verdict, detail = bench.ask("shell", command="no-such-program --now")
    assert verdict is UNKNOWN
    assert "did not start" in detail
    bench.folder.joinpath("shop.db").unlink()
    bench.folder.rmdir()
    assert bench.ask("shell", command="true")[0] is UNKNOWN


def test_a_command_without_end_is_ended(bench: Bench) -> None:
    began = time.monotonic()
    assert bench.ask("shell", command="sleep 60", timeout=0.3) == (UNKNOWN, "no end within 0.3 s")
    assert time.monotonic() - began < 10


def test_a_stop_ends_it(bench: Bench) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    verdict, detail = bench.ask("shell", stop, command="sleep 60")
    assert (verdict, detail) == (UNKNOWN, "the run was stopped before the command ended")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "command", ["./verify.sh", "sh verify.sh --fast", "cd . && X=1 ./verify.sh | cat", ". ./verify.sh"]
)
def test_a_script_that_the_agent_changed_is_not_believed(bench: Bench, command: str) -> None:
    path = script(bench, "exit 1")
    check = made("shell", command=command)
    bench.pin(check)
    script(bench, "exit 0")
    (result,) = bench.judge(check)
    assert result.verdict is UNKNOWN
    assert result.detail == f"{path} was changed during the run, so what it says proves nothing"


def test_a_script_that_stayed_or_was_written_again_as_it_was_is_run(bench: Bench) -> None:
    script(bench, "exit 0")
    check = made("shell", command="./verify.sh")
    bench.pin(check)
    script(bench, "exit 0")
    assert bench.judge(check)[0].verdict is GOOD


def test_a_script_that_appeared_during_the_run_is_not_believed(bench: Bench) -> None:
    check = made("shell", command="./verify.sh")
    bench.pin(check)
    script(bench, "exit 0")
    assert bench.judge(check)[0].verdict is UNKNOWN


def test_inputs_are_watched_as_the_script_is_and_other_files_may_change(bench: Bench) -> None:
    expected, produced = bench.folder / "expected.txt", bench.folder / "out.txt"
    expected.write_text("right\n")
    produced.write_text("wrong\n")
    check = made("shell", command="cmp -s expected.txt out.txt", inputs=["expected.txt"])
    bench.pin(check)
    assert bench.judge(check)[0].verdict is BAD
    produced.write_text("right\n")
    assert bench.judge(check)[0].verdict is GOOD
    expected.write_text("wrong\n")
    produced.write_text("wrong\n")
    assert bench.judge(check)[0].verdict is UNKNOWN


def test_what_was_never_pinned_is_not_believed(bench: Bench) -> None:
    script(bench)
    bench.pin()
    verdict, detail = bench.ask("shell", command="./verify.sh")
    assert verdict is UNKNOWN
    assert detail.endswith("how it was before the run is not known")


def test_the_programs_of_a_command_are_found_by_reading_it(tmp_path: Path) -> None:
    for name in ("psql", "jq"):
        (tmp_path / name).touch(mode=0o755)
    env = {"PATH": str(tmp_path)}

    def found(command: str) -> list[str]:
        return [str(path.relative_to(tmp_path)) for path in programs(command, tmp_path, env)]

    assert found("psql -c 'select 1; drop' | jq .x") == ["psql", "jq"]
    assert found("if ! ./a.sh out.csv; then\n  b/c.sh \\\n  x.sh\nfi") == ["a.sh", "b/c.sh"]
    assert found("A=1 python3 -u check.py data.json && sh -c 'x.sh'") == ["check.py"]
    assert found("python3 -m json.tool < ./out.json") == []
    assert found("echo 'it''s ./one.sh") == []
    assert found("(./one.sh); ./one.sh & ./two.sh") == ["one.sh", "two.sh"]


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 sh verify.sh",
        "timeout -k 1 5 ./verify.sh",
        "bash -e verify.sh",
        "bash -euo pipefail verify.sh",
        "sh -c './verify.sh out.csv'",
        'test "$(./verify.sh; echo $?)" = 0',
        "test `./verify.sh; echo $?` = 0",
        "nice -n 5 ./verify.sh",
        "env -i PATH=$PATH sh verify.sh",
        "> log 2>&1 ./verify.sh",
        "sh < verify.sh",
        "$PWD/verify.sh",
        "find . -maxdepth 0 -exec ./verify.sh {} +",
        "echo 'two\nlines'; ./verify.sh",
        "./verify.sh # the agent's own",
    ],
)
def test_a_changed_script_is_found_behind_other_words(bench: Bench, command: str) -> None:
    path = script(bench, "exit 1")
    check = made("shell", command=command)
    bench.pin(check)
    script(bench, "exit 0")
    (result,) = bench.judge(check)
    assert result.verdict is UNKNOWN
    assert result.detail == f"{path} was changed during the run, so what it says proves nothing"


def test_a_changed_script_is_found_in_the_folder_that_the_command_goes_to(bench: Bench) -> None:
    (bench.folder / "sub").mkdir()
    script(bench, "exit 1", "sub/verify.sh")
    check = made("shell", command="cd sub && ./verify.sh")
    bench.pin(check)
    script(bench, "exit 0", "sub/verify.sh")
    assert bench.judge(check)[0].verdict is UNKNOWN


def test_a_program_that_a_relative_path_finds_first_is_not_believed(bench: Bench) -> None:
    bench.env = {**bench.env, "PATH": f".:{bench.env['PATH']}"}
    check = made("shell", command="grep -q right out.txt")
    bench.pin(check)
    script(bench, "exit 0", "grep")
    assert bench.judge(check)[0].verdict is UNKNOWN


def test_what_the_agent_is_to_make_may_stand_in_the_command(bench: Bench) -> None:
    check = made("shell", command="test -x made.sh && ! grep -q TODO made.sh && python3 -c 'open(\"made.sh\")' made.sh")
    bench.pin(check)
    script(bench, "exit 0", "made.sh")
    assert bench.judge(check)[0].verdict is GOOD


def test_a_folder_among_the_inputs_is_watched_with_all_that_lies_in_it(bench: Bench) -> None:
    deep = bench.folder / "expected" / "deep"
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("right")
    (deep / "link").symlink_to("a.txt")
    check = made("shell", command="true", inputs=["expected"])
    bench.pin(check)
    assert bench.judge(check)[0].verdict is GOOD
    (deep / "a.txt").write_text("wrong")
    assert bench.judge(check)[0].verdict is UNKNOWN
    (deep / "a.txt").write_text("right")
    assert bench.judge(check)[0].verdict is GOOD
    (deep / "b.txt").touch()
    assert bench.judge(check)[0].verdict is UNKNOWN
    (deep / "b.txt").unlink()
    (deep / "link").unlink()
    (deep / "link").write_text("right")
    assert bench.judge(check)[0].verdict is UNKNOWN


def test_a_text_that_may_be_in_the_part_of_the_output_that_was_cut_is_not_called_missing(bench: Bench) -> None:
    verdict, detail = bench.ask("shell", command="seq 1 200000", matches="^100000$")
    assert verdict is UNKNOWN
    assert "stdout" in detail
    assert bench.ask("shell", command="seq 1 200000", matches="^200000$")[0] is GOOD


def test_a_check_of_a_run_that_another_took_over_does_not_begin(bench: Bench) -> None:
    check = made("shell", command="touch begun")
    bench.pin(check)

    def fenced(_group: ProcessGroup) -> None:
        raise Fenced

    trial = Trial(
        checks=(check,), folder=bench.folder, env=bench.env, report="", pinned=bench.pinned, seconds=60, on_spawn=fenced
    )
    with pytest.raises(Fenced):
        bench.checks.judge(trial, threading.Event())
    assert not (bench.folder / "begun").exists()

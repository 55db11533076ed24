"""Units that systemd takes without a word, locked down, with a stop that waits for the program's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_cron.service.units import NAME, STATE, Manager, Plan, as_written, render, unseen

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")


def plan(manager: Manager = Manager.SYSTEM, **more: object) -> Plan:
    home = STATE if manager is Manager.SYSTEM else Path("/home/me/.hermes-cron")
    return Plan(**{"manager": manager, "program": ("/bin/true",), "home": home, **more})  # type: ignore[arg-type]


def analyzed(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    env = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(folder)}
    return subprocess.run([ANALYZE, *argv], env=env, capture_output=True, text=True, timeout=60, check=False)


def written(folder: Path, made: Plan) -> list[str]:
    for name, text in render(made).items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in render(made)]


@needs_systemd
@pytest.mark.parametrize("manager", Manager)
@pytest.mark.parametrize("timer", [False, True], ids=["stays", "timer"])
@pytest.mark.parametrize("home", [None, '/srv/with blank/100%/$x;"q"\'s'], ids=["usual", "odd"])
def test_systemd_has_nothing_to_say(tmp_path: Path, manager: Manager, timer: bool, home: str | None) -> None:
    odd = {} if home is None else {"home": Path(home), "key": Path(home) / "key"}
    units = written(tmp_path, plan(manager, timer=timer, **odd))
    done = analyzed(tmp_path, "verify", *(["--user"] if manager is Manager.USER else []), *units)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_systemd
def test_an_unknown_key_would_be_seen(tmp_path: Path) -> None:
    (unit,) = written(tmp_path, plan())
    Path(unit).write_text(Path(unit).read_text().replace("WatchdogSec", "WatchdogSecs"))
    assert "Unknown key" in analyzed(tmp_path, "verify", unit).stderr


@needs_systemd
@pytest.mark.parametrize("timer", [False, True])
def test_the_system_unit_is_locked_down(tmp_path: Path, timer: bool) -> None:
    unit = written(tmp_path, plan(timer=timer))[0]
    done = analyzed(tmp_path, "security", "--offline=true", "--threshold=20", unit)
    assert done.returncode == 0, done.stdout.splitlines()[-1]
    score = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert score is not None
    assert float(score[1]) <= 2.0


@pytest.mark.parametrize("drain", [0, 30, 90, 600])
@pytest.mark.parametrize("manager", Manager)
def test_c296_the_stop_waits_longer_than_the_drain(manager: Manager, drain: int) -> None:
    text = render(plan(manager, drain_s=drain))[f"{NAME}.service"]
    limit = re.search(r"^TimeoutStopSec=(\d+)s$", text, re.MULTILINE)
    assert limit is not None
    assert int(limit[1]) >= drain + 30
    assert f" --drain {drain}" in text
    assert "KillMode=mixed" in text


def test_what_a_person_must_mend_is_not_started_anew() -> None:
    text = render(plan())[f"{NAME}.service"]
    assert "Restart=on-failure" in text
    assert "RestartPreventExitStatus=2 78" in text
    assert "Type=notify" in text
    assert "WatchdogSec=60s" in text


@pytest.mark.parametrize(
    "made",
    [
        plan(),
        plan(drain_s=5, timer=True),
        plan(Manager.USER, home=Path("/x y/100%"), key=Path("/k %"), drain_s=7),
    ],
)
def test_a_unit_says_with_which_options_it_was_written(made: Plan) -> None:
    text = render(made)[f"{NAME}.service"]
    assert as_written(plan(made.manager), text) == made


@pytest.mark.parametrize("said", [None, "nonsense", "{}", "[]"])
def test_a_unit_that_does_not_say_is_taken_as_usual(said: str | None) -> None:
    text = "[Unit]\n" if said is None else f"[Unit]\nX-HermesCron={said}\n"
    assert as_written(plan(), text) == plan()


def test_the_key_is_handed_over_by_systemd_and_named_nowhere_else() -> None:
    text = render(plan(key=Path("/etc/hermes-cron.key")))[f"{NAME}.service"]
    assert "LoadCredential=master-key:/etc/hermes-cron.key" in text
    assert "Environment" not in text


@pytest.mark.parametrize(
    ("part", "path"),
    [("home", "/root/hc"), ("home", "/home/me/.hermes-cron"), ("home", "/tmp/hc"), ("program", "/root/.local/bin/hc"),
     ("program", "/home/me/venv/bin/python"), ("home", "/run/user/1000/hc")],
)  # fmt: skip
def test_what_the_system_unit_hides_is_seen_before_it_is_installed(part: str, path: str) -> None:
    odd = replace(plan(), home=Path(path)) if part == "home" else replace(plan(), program=(path,))
    assert unseen(odd) == Path(path)
    assert unseen(replace(odd, manager=Manager.USER)) is None
    assert unseen(plan(home=Path("/srv/root/home"))) is None


def test_a_program_that_is_a_link_into_a_folder_of_people_is_seen_too(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to("/root/.pyenv/bin/python")
    made = plan(program=(str(link),))
    assert unseen(made) in (link, Path("/root/.pyenv/bin/python"))

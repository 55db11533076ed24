"""``config get`` and ``config set``: what is in force, from where, and a change that cannot break anything."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from hermes_cron.cli.main import run
from hermes_cron.home import Home

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("LC_ALL", "LC_MESSAGES", "HERMES_CRON_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "TZ"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HERMES_CRON_HOME", str(home.root))

    def call(*argv: str) -> tuple[int, str, str]:
        code = run(argv)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def _get(cli: Run, key: str) -> dict[str, object]:
    code, out, err = cli("config", "get", key, "--json")
    assert code == 0, err
    found: dict[str, object] = json.loads(out)
    return found


def test_every_value_has_its_source(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CRON_MODEL", "from-env")
    cli("config", "set", "model.name", "from-file")
    cli("config", "set", "concurrency", "8")
    assert _get(cli, "model.name") == {"key": "model.name", "value": "from-env", "from": "HERMES_CRON_MODEL"}
    assert _get(cli, "concurrency") == {"key": "concurrency", "value": 8, "from": "config.toml"}
    assert _get(cli, "catch_up_hours") == {"key": "catch_up_hours", "value": 24, "from": "default"}


def test_a_key_of_the_environment_is_never_shown(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2hunter2")
    assert "hunter2" not in cli("config", "get")[1] + cli("config", "get", "model.key")[1]


def test_set_and_unset(cli: Run, home: Home) -> None:
    assert cli("config", "set", 'prices."gpt-5.2".input=1.25', 'prices."gpt-5.2".output=10')[0] == 0
    assert _get(cli, 'prices."gpt-5.2".input')["value"] == 1.25
    assert cli("config", "set", "--unset", "timezone")[:2] == (0, "timezone removed\n")
    assert "timezone" not in home.config.read_text()


def test_a_value_may_hold_an_equals_sign(cli: Run) -> None:
    assert cli("config", "set", "model.base_url=http://h/v1?a=b")[0] == 0
    assert cli("config", "get", "model.base_url")[1] == "http://h/v1?a=b\n"


@pytest.mark.parametrize(
    "argv, code",
    [(["set"], 2), (["set", "concurrency"], 2), (["set", "concurrency", "many"], 78), (["set", "concurency", "4"], 3),
     (["set", "model.key", "sk-hunter2"], 4), (["get", "nonsense"], 3), (["get", "databases.x.url"], 3),
     (["set", "prices.m.input=1"], 78)],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_the_file_stays(cli: Run, home: Home, argv: list[str], code: int) -> None:
    before = home.config.read_bytes()
    found, out, err = cli("config", *argv)
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert "hunter2" not in err
    assert home.config.read_bytes() == before

"""A setting changes, comments stay, and nothing invalid ever lies in the file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from hermes_cron.changes import Changes
from hermes_cron.config_edit import change, keys_of, setting_of, spelled, typed
from hermes_cron.config_keys import Scalar
from hermes_cron.errors import (
    ConfigError,
    Conflict,
    HermesCronError,
    NotFound,
    SecretInPlainSight,
    SnapshotFailed,
    Usage,
)
from hermes_cron.home import Home
from hermes_cron.settings import Environment, Settings
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.testing import FixedClock

TEXT = """# my home
timezone = "UTC"   # keep me

[model]  # the model
name = "a"

[databases.prod]
url = "postgresql://u@h/d"  # no password

# the end
"""


@pytest.fixture
def written(home: Home) -> Home:
    home.config.write_text(TEXT, encoding="utf-8")
    home.config.chmod(0o640)
    return home


def _snapshots(home: Home) -> SnapshotRepository:
    return SnapshotRepository(home.root, FixedClock(datetime(2026, 12, 1, 9, tzinfo=UTC)))


def edit_config(home: Home, changes: Mapping[str, Scalar | None], env: Environment) -> None:
    keep = Changes(_snapshots(home), lambda: "ops")
    change(home, env, spelled(changes), keep=lambda edits: keep("config set", edits))


def _edit(home: Home, **changes: str | float | bool | None) -> str:
    edit_config(home, {name.replace("__", "."): value for name, value in changes.items()}, Environment())
    return home.config.read_text(encoding="utf-8")


def test_only_the_value_changes(written: Home) -> None:
    assert _edit(written, model__name="b") == TEXT.replace('name = "a"', 'name = "b"')
    assert written.config.stat().st_mode & 0o777 == 0o640


def test_the_state_before_and_the_change_are_in_the_history(written: Home) -> None:
    _edit(written, language="zh")
    snapshots = _snapshots(written)
    assert [(it.actor, it.reason, it.by) for it in snapshots.log()] == [
        ("cli", "config set", "ops"), ("user", "edited by hand", None),
    ]  # fmt: skip
    entry = snapshots.objects().at(snapshots.find(str(next(snapshots.log()).parent)).tree, b"config.toml")
    assert entry is not None
    assert snapshots.objects().read(entry.oid).decode() == TEXT


def test_no_snapshot_no_change(written: Home) -> None:
    _edit(written, language="zh")
    (written.history / "HEAD").unlink()
    before = written.config.read_bytes()
    with pytest.raises(SnapshotFailed):
        _edit(written, language="en")
    assert written.config.read_bytes() == before


def test_an_edit_by_hand_within_these_moments_is_kept(written: Home) -> None:
    keep = Changes(_snapshots(written), lambda: "ops")

    def slow(edits):  # type: ignore[no-untyped-def]
        def then() -> object:
            decided = edits()
            written.config.write_text(TEXT + "# by hand\n")
            return decided

        return keep("config set", then)  # type: ignore[arg-type]

    with pytest.raises(Conflict):
        change(written, Environment(), spelled({"language": "zh"}), keep=slow)
    assert written.config.read_text() == TEXT + "# by hand\n"


def test_a_new_key_of_the_root_does_not_fall_into_a_table(written: Home) -> None:
    text = _edit(written, language="zh")
    assert Settings.load(written, Environment()).language == "zh"
    assert [line for line in TEXT.splitlines() if line not in text.splitlines()] == []


def test_a_new_table_comes_with_one_header(written: Home) -> None:
    edit_config(written, {"databases.crm.url": "sqlite:///crm.db"}, Environment())
    text = written.config.read_text()
    assert "[databases.crm]" in text
    assert "[databases]\n" not in text
    assert sorted(Settings.load(written, Environment()).databases) == ["crm", "prod"]


def test_a_quoted_name_with_a_dot_is_one_name(written: Home) -> None:
    edit_config(written, {'prices."gpt-5.2".input': 1.25, 'prices."gpt-5.2".output': 10}, Environment())
    assert Settings.load(written, Environment()).prices["gpt-5.2"].output == 10


def test_a_key_and_a_whole_table_can_be_removed(written: Home) -> None:
    edit_config(written, {"model.name": None, "databases.prod": None, "language": None}, Environment())
    found = Settings.load(written, Environment())
    assert (found.model.name, dict(found.databases)) == (None, {})
    assert "# my home" in written.config.read_text()


@pytest.mark.parametrize(
    "changes",
    [{"concurrency": "four"}, {"concurrency": 0}, {"nonsense": 1}, {"model.name": 3}, {"databases.x.row_cap": 5},
     {"prices.m.input": 1}, {"model.key": "sk-123456"}, {"databases.prod.url": "postgresql://u:pw@h/d"},
     {"model": "x"}, {"timezone.x": 1}],
)  # fmt: skip
def test_what_would_not_be_valid_is_not_written(written: Home, changes: dict[str, str | int]) -> None:
    with pytest.raises(HermesCronError) as caught:
        edit_config(written, changes, Environment())
    assert caught.value.exit_code in (4, 78)
    assert written.config.read_text() == TEXT


def test_a_file_that_is_wrong_already_is_reported_as_it_is(written: Home) -> None:
    written.config.write_text("concurency = 4\n")
    with pytest.raises(ConfigError, match=r"config.toml:1: unknown key"):
        edit_config(written, {"language": "zh"}, Environment())


def test_windows_line_ends_stay(written: Home) -> None:
    written.config.write_bytes(b'timezone = "UTC"\r\n# x\r\n[model]\r\nname = "a"\r\n')
    edit_config(written, {"model.name": "b"}, Environment())
    assert written.config.read_bytes() == b'timezone = "UTC"\r\n# x\r\n[model]\r\nname = "b"\r\n'


@pytest.mark.parametrize("name", ["", "a b", "a = 1\nb", ".", "a..b", "[x]", '"'])
def test_what_is_no_key_is_refused(name: str) -> None:
    with pytest.raises(Usage):
        keys_of(name)


@pytest.mark.parametrize(
    "name, text, value",
    [("concurrency", "8", 8), ("catch_up_hours", "12", 12), ("catch_up_hours", "1.5", 1.5),
     ("model.stream", "TRUE", True), ("model.name", "8", "8"), ("model.temperature", "0", 0)],
)  # fmt: skip
def test_words_become_the_settings_type(name: str, text: str, value: object) -> None:
    keys = keys_of(name)
    found = typed(setting_of(keys), keys, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "name, text", [("concurrency", "1.5"), ("concurrency", ""), ("model.stream", "yes"), ("catch_up_hours", "nan")]
)
def test_words_of_another_type_are_refused(name: str, text: str) -> None:
    keys = keys_of(name)
    with pytest.raises(ConfigError):
        typed(setting_of(keys), keys, text)


def test_a_key_on_the_command_line_is_refused_and_not_repeated() -> None:
    keys = keys_of("model.key")
    with pytest.raises(SecretInPlainSight) as caught:
        typed(setting_of(keys), keys, "sk-hunter2")
    assert "hunter2" not in str(caught.value)


def test_an_unknown_key_has_its_neighbours() -> None:
    with pytest.raises(NotFound) as caught:
        setting_of(keys_of("model.nmae"))
    assert "model.name" in str(caught.value.details["near"])

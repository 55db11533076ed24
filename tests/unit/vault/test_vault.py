"""Secrets are kept, found again, and never lie on the disk in the clear."""

from __future__ import annotations

import json
import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_cron.clock import SystemClock
from hermes_cron.errors import ConfigError, NotFound, Usage, VaultError
from hermes_cron.home import Home
from hermes_cron.settings import Environment
from hermes_cron.vault.vault import MAX_BYTES, Vault


@pytest.fixture
def vault(home: Home) -> Vault:
    return Vault(home, SystemClock(), Environment())


@pytest.mark.parametrize(
    "value", ["hunter2!", "密码🚀", " spaces kept ", "line 1\nline 2\n", "x" * MAX_BYTES], ids=lambda v: repr(v[:8])
)
def test_a_value_comes_back_as_it_was(vault: Vault, value: str) -> None:
    vault.set("db-prod", value)
    assert vault.get("db-prod") == value
    assert vault.resolve("secret:db-prod") == value


def test_no_file_of_the_home_holds_a_value(vault: Vault, home: Home) -> None:
    vault.set("db-prod", "correct horse battery")
    for path in home.root.rglob("*"):
        if path.is_file():
            assert b"correct horse" not in path.read_bytes(), path


def test_key_and_vault_are_private(vault: Vault, home: Home) -> None:
    old = os.umask(0)
    try:
        vault.set("a", "value")
    finally:
        os.umask(old)
    assert {home.vault.stat().st_mode & 0o777, home.vault_key.stat().st_mode & 0o777} == {0o600}


def test_names_and_times_need_no_key(vault: Vault, home: Home) -> None:
    vault.set("b", "value-b")
    vault.set("a", "value-a")
    home.vault_key.unlink()
    assert vault.names() == ("a", "b")
    assert all(info.set_at <= datetime.now(UTC) for info in vault.infos())


def test_setting_again_replaces_and_removing_forgets(vault: Vault) -> None:
    vault.set("a", "first one")
    vault.set("a", "second one")
    assert vault.get("a") == "second one"
    vault.remove("a")
    with pytest.raises(NotFound):
        vault.get("a")
    with pytest.raises(NotFound):
        vault.remove("a")


@pytest.mark.parametrize("name", ["", " a", "a b", "-a", "a/b", "../a", "a" * 65, "a\n", "密"])
def test_a_name_that_no_reference_could_spell_is_refused(vault: Vault, name: str) -> None:
    with pytest.raises(Usage):
        vault.set(name, "value")


@pytest.mark.parametrize("value", ["", "x" * (MAX_BYTES + 1)], ids=["empty", "long"])
def test_a_value_of_no_use_is_refused(vault: Vault, value: str) -> None:
    with pytest.raises(Usage):
        vault.set("a", value)


def test_an_unknown_name_has_its_neighbours(vault: Vault) -> None:
    vault.set("db-prod", "value-1")
    with pytest.raises(NotFound) as caught:
        vault.get("db-prdo")
    assert caught.value.details["near"] == ["db-prod"]
    assert caught.value.hint == "hermes-cron secrets set db-prdo"


def test_what_is_no_reference_is_not_repeated(vault: Vault) -> None:
    with pytest.raises(ConfigError) as caught:
        vault.resolve("hunter2!")
    assert "hunter2" not in str(caught.value)


def test_a_missing_key_says_what_to_do(vault: Vault, home: Home) -> None:
    vault.set("a", "value-a")
    home.vault_key.unlink()
    for act in (lambda: vault.get("a"), lambda: vault.set("b", "value-b"), vault.redactor):
        with pytest.raises(VaultError, match=r"missing") as caught:
            act()
        assert caught.value.hint
    assert not home.vault_key.exists(), "a new key beside old values would make them unreadable for good"
    vault.remove("a")
    vault.set("b", "value-b")
    assert vault.get("b") == "value-b"


def test_another_key_is_noticed_before_anything_is_written(vault: Vault, home: Home) -> None:
    vault.set("a", "value-a")
    before = home.vault.read_bytes()
    from cryptography.fernet import Fernet

    home.vault_key.write_bytes(Fernet.generate_key())
    with pytest.raises(VaultError, match="another key"):
        vault.get("a")
    with pytest.raises(VaultError):
        vault.set("b", "value-b")
    assert home.vault.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"format": 1}',
        b'{"format": 1, "secrets": {"a": 1}}',
        b'{"format": 2, "secrets": {}}',
    ],
)
def test_a_damaged_vault_is_said_and_kept(vault: Vault, home: Home, text: bytes) -> None:
    home.vault.write_bytes(text)
    for act in (vault.names, lambda: vault.get("a"), lambda: vault.set("a", "value")):
        with pytest.raises(VaultError) as caught:
            act()
        assert caught.value.hint
    assert home.vault.read_bytes() == text


def test_a_token_under_another_name_is_noticed(vault: Vault, home: Home) -> None:
    vault.set("harmless", "value-a")
    vault.set("powerful", "value-b")
    stored = json.loads(home.vault.read_text())
    stored["secrets"]["harmless"] = stored["secrets"]["powerful"]
    home.vault.write_text(json.dumps(stored))
    with pytest.raises(VaultError, match="another name"):
        vault.get("harmless")


def test_a_key_that_others_can_read_is_refused(vault: Vault, home: Home) -> None:
    vault.set("a", "value-a")
    home.vault_key.chmod(0o644)
    with pytest.raises(VaultError) as caught:
        vault.get("a")
    assert caught.value.hint == f"chmod 600 {home.vault_key}"


def test_the_key_places_have_an_order(home: Home, tmp_path: Path) -> None:
    from cryptography.fernet import Fernet

    credentials, named = tmp_path / "credentials", tmp_path / "named.key"
    credentials.mkdir()
    both = Environment(credentials_directory=str(credentials), key_file=str(named))
    Vault(home, SystemClock(), both).set("a", "value-a")
    assert named.is_file(), "systemd gave no key, so the named file is made"
    assert not home.vault_key.exists()
    (credentials / "master-key").write_bytes(named.read_bytes())
    named.write_bytes(Fernet.generate_key())
    assert Vault(home, SystemClock(), both).get("a") == "value-a"


def test_a_second_line_of_the_key_file_still_opens_old_values(vault: Vault, home: Home) -> None:
    from cryptography.fernet import Fernet

    vault.set("a", "value-a")
    home.vault_key.write_bytes(Fernet.generate_key() + b"\n" + home.vault_key.read_bytes())
    vault.set("b", "value-b")
    assert (vault.get("a"), vault.get("b")) == ("value-a", "value-b")


def test_the_redactor_knows_what_was_set_meanwhile_by_another(vault: Vault, home: Home) -> None:
    first = vault.redactor()
    assert first.redact("value-a") == "value-a"
    assert vault.redactor() is first
    Vault(home, SystemClock(), Environment()).set("a", "value-a")
    assert vault.redactor().redact("is value-a.") == "is [secret:a]."
    vault.remove("a")
    assert vault.redactor().redact("is value-a.") == "is value-a."


def _set_ten(root: str, worker: int) -> None:
    vault = Vault(Home(Path(root)), SystemClock(), Environment())
    for number in range(5):
        vault.set(f"w{worker}-{number}", f"value {worker} {number}")


def test_parallel_writers_lose_nothing(home: Home, vault: Vault) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_set_ten, args=(str(home.root), n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: vault.set(f"t{n}", f"thread {n}"), range(8)))
    assert len(vault.names()) == 3 * 5 + 8
    assert vault.get("w2-4") == "value 2 4"


def test_the_redactor_knows_the_key_of_the_environment_and_the_master_key(home: Home) -> None:
    vault = Vault(home, SystemClock(), Environment(api_key="plain-word-key"))
    assert vault.redactor().redact("x plain-word-key y") == "x [secret:OPENAI_API_KEY] y"
    vault.set("db-prod", "hunter2!")
    master = home.vault_key.read_text().strip()
    assert master not in vault.redactor().redact(f"cat: {master}")
    assert "plain-word-key" not in vault.redactor().redact("x plain-word-key y")

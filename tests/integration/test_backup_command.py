"""``backup`` as a person meets it: what it prints, with which code it ends, in which language."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_cron.files import TEMP_PREFIX
from hermes_cron.home import Home
from tests.conftest import RunCli, clean_env
from tests.serving import until

STRACE = shutil.which("strace")


@pytest.fixture
def used(home: Home, run_cli: RunCli) -> Home:
    assert run_cli("add", "every day 9am: look at the logs").rc == 0
    assert run_cli("secrets", "set", "x", "--stdin", stdin="value-of-x").rc == 0
    return home


def only_backup(home: Home) -> Path:
    (found,) = (home.root / "backups").iterdir()
    return found


def test_a_home_is_backed_up_verified_and_restored(used: Home, run_cli: RunCli, tmp_path: Path) -> None:
    made = run_cli("backup", "create")
    assert made.rc == 0, made.err
    file = only_backup(used)
    first, *facts = made.out.splitlines()
    assert first == str(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"restore  hermes-cron backup restore {file} --to FOLDER" in facts[-1]
    assert "key      not in it: keep vault.key too, apart from this file" in made.out
    assert b"value-of-x" not in file.read_bytes()
    verified = run_cli("backup", "verify", str(file), at=Home(tmp_path / "no home needed"))
    assert verified.rc == 0, verified.err
    assert verified.out.startswith(f"{file} is whole\n")
    assert "every file by its hash; the store's pages, references and counts" in verified.out
    new = tmp_path / "new"
    restored = run_cli("backup", "restore", str(file), "--to", str(new), at=Home(tmp_path / "no home needed"))
    assert restored.rc == 0, restored.err
    assert f"cp /PATH/TO/vault.key {new}/vault.key" in restored.out
    assert f"hermes-cron --home {new} status" in restored.out
    shutil.copy(used.vault_key, new / "vault.key")
    for command in (("list", "--json"), ("secrets", "list", "--json"), ("history", "--json")):
        assert run_cli(*command, at=Home(new)).out == run_cli(*command).out


def test_with_key_the_restored_home_opens_its_secrets(used: Home, run_cli: RunCli, tmp_path: Path) -> None:
    made = run_cli("backup", "create", str(tmp_path / "b.tar.gz"), "--with-key", "--json")
    assert made.rc == 0, made.err
    assert json.loads(made.out)["key"] == "included"
    assert run_cli("backup", "restore", str(tmp_path / "b.tar.gz"), "--to", str(tmp_path / "new")).rc == 0
    assert (tmp_path / "new" / "vault.key").read_bytes() == used.vault_key.read_bytes()
    assert (tmp_path / "new" / "vault.key").stat().st_mode & 0o777 == 0o600


def test_a_key_that_lies_elsewhere_cannot_be_put_in(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    elsewhere = {"HERMES_CRON_KEY_FILE": str(tmp_path / "key")}
    assert run_cli("secrets", "set", "x", "--stdin", stdin="v", env=elsewhere).rc == 0
    refused = run_cli("backup", "create", "--with-key", env=elsewhere)
    assert refused.rc == 3
    assert str(tmp_path / "key") in refused.err
    made = run_cli("backup", "create", "--json", env=elsewhere)
    assert (made.rc, json.loads(made.out)["key"]) == (0, "elsewhere")


@pytest.mark.parametrize(
    ("argv", "code", "error"),
    [
        (["verify", "{bad}"], 1, "BackupDamaged"),
        (["restore", "{bad}", "--to", "{new}"], 1, "BackupDamaged"),
        (["verify", "{none}"], 3, "NotFound"),
        (["restore", "{good}", "--to", "{full}"], 5, "Conflict"),
        (["create", "{good}"], 5, "Conflict"),
        (["restore", "{good}"], 2, "Usage"),
        (["create", "/proc/nowhere/b.tar.gz"], 1, "NotWritable"),
    ],
)
def test_what_is_refused_ends_with_its_code_and_a_hint(
    home: Home, run_cli: RunCli, tmp_path: Path, argv: list[str], code: int, error: str
) -> None:
    good = tmp_path / "good.tar.gz"
    assert run_cli("backup", "create", str(good)).rc == 0
    data = good.read_bytes()
    (tmp_path / "bad.tar.gz").write_bytes(data[:200] + bytes([data[200] ^ 0x10]) + data[201:])
    places = {name: str(tmp_path / name) for name in ("new", "none")}
    places |= {"good": str(good), "bad": str(tmp_path / "bad.tar.gz"), "full": str(home.root)}
    done = run_cli("backup", *(word.format(**places) for word in argv), "--json")
    assert done.rc == code, done.err
    said = json.loads(done.err)["error"]
    assert said["code"] == error
    assert said["hint"]
    assert not (tmp_path / "new").exists()
    assert good.read_bytes() == data


GROW = """
import sys
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(b"y")
"""


def test_a_backup_that_is_not_whole_says_so_and_ends_with_1(home: Home, run_cli: RunCli) -> None:
    growing = home.root / "growing.log"
    growing.write_bytes(b"x" * 20_000_000)
    writer = subprocess.Popen([sys.executable, "-c", GROW, str(growing)])
    try:
        until(lambda: growing.stat().st_size > 20_000_000, "somebody writes")
        made = run_cli("backup", "create")
    finally:
        writer.kill()
        writer.wait()
    assert made.rc == 1
    assert "changed  growing.log was written while it was read, three times" in made.out
    assert run_cli("backup", "verify", str(only_backup(home))).rc == 0


def test_in_chinese(used: Home, run_cli: RunCli) -> None:
    made = run_cli("backup", "create", "--lang", "zh")
    assert "未包含：请与此文件分开保存 vault.key" in made.out
    assert "完好" in run_cli("backup", "verify", str(only_backup(used)), "--lang", "zh").out


@pytest.mark.skipif(STRACE is None, reason="needs strace, which kills at a chosen system call")
@pytest.mark.parametrize("point", ["write:3", "symlink:1", "sync:1", "rename:1"])
def test_a_restore_that_is_killed_leaves_no_folder_and_the_next_one_clears_up(
    home: Home, run_cli: RunCli, tmp_path: Path, point: str
) -> None:
    for name in ("a", "b", "c"):
        (home.jobs / f"{name}.md").write_text(name)
    (home.skills / "link").symlink_to("/somewhere")
    file, beside = tmp_path / "b.tar.gz", tmp_path / "beside"
    assert run_cli("backup", "create", str(file)).rc == 0
    call, _, when = point.partition(":")
    done = subprocess.run(
        [str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
         "-e", f"inject={call}:signal=KILL:when={when}", sys.executable, "-m", "hermes_cron",
         "backup", "restore", str(file), "--to", str(beside / "new")],
        env=clean_env(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower() and "permitted" in done.stderr.lower():
        pytest.skip("this host forbids ptrace")
    assert done.returncode != 0, "the kill came too late to test anything"
    left = [path.name for path in beside.iterdir()]
    assert len(left) == 1
    assert left[0].startswith(TEMP_PREFIX)
    assert run_cli("backup", "restore", str(file), "--to", str(beside / "new")).rc == 0
    assert [path.name for path in beside.iterdir()] == ["new"]

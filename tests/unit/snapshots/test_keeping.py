"""What a snapshot keeps of a home comes back equal in path, mode and bytes; what it cannot keep is named beforehand."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from hermes_cron.errors import SnapshotFailed
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.snapshots import names
from hermes_cron.snapshots.history import carry_out, plan_restore
from hermes_cron.snapshots.repository import Write
from hermes_cron.snapshots.verify import verify
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App
from tests import snapshots_rig as rig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def believed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is in the cache from the first look, not from the first after it has lain still for a second."""
    monkeypatch.setattr("hermes_cron.snapshots.scan._RACY_NS", -60_000_000_000)


def _restored(root: Path, *, exact: bool = True) -> tuple[str, ...]:
    """Back to the first snapshot; paths that somebody changed meanwhile."""
    snapshots = rig.repository(root)
    first = list(snapshots.log())[-1]
    plan = plan_restore(snapshots, first, exact=exact)
    return carry_out(snapshots, plan, rig.cli("restore")).kept


def test_everything_damaged_comes_back_by_path_mode_and_bytes(root: Path) -> None:
    rig.furnish(root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(root / "skills" / "a-socket"))
    os.mkfifo(root / "jobs" / "a-pipe")
    before = rig.state(root)
    made = rig.repository(root).create(rig.cli())
    assert {it.path: it.why.split(";")[0] for it in made.left_out} == {
        "skills/nested/.git": "git allows no such name",
        "skills/a-socket": "no plain file",
        "jobs/a-pipe": "no plain file",
    }
    assert rig.fsck(root) == []
    nested = {path for path in before if path.startswith(b"skills/nested/.git/")}
    wanted = {path: what for path, what in before.items() if path not in nested}

    shutil.rmtree(root / "skills")
    (root / "jobs" / "inspect-db.md").chmod(0o777)
    (root / "jobs" / "crlf.md").write_bytes(b"other\n")
    (root / "jobs" / "new.md").write_bytes(b"made after\n")
    shutil.rmtree(root / "memories")
    (root / "config.toml").unlink()
    assert _restored(root) == ()
    assert {path: what for path, what in rig.state(root).items() if path != b"jobs/a-pipe"} == wanted
    assert rig.fsck(root) == []
    assert rig.repository(root).create(rig.cli()).after is None


@pytest.mark.parametrize("damage", ["all gone", "folders for files", "files for folders", "links for all"])
def test_damage_of_the_wrong_kind_is_mended_too(root: Path, damage: str) -> None:
    rig.write(root, "skills/a/SKILL.md", b"a\n")
    rig.write(root, "skills/b", b"b\n", 0o755)
    (root / "skills/c").symlink_to("a")
    (root / "skills/d").mkdir()
    elsewhere = root.parent / "elsewhere"
    rig.write(root.parent, "elsewhere/SKILL.md", b"not ours\n")
    before = rig.state(root)
    rig.repository(root).create(rig.cli())
    shutil.rmtree(root / "skills")
    (root / "skills").mkdir()
    for name in "abcd" if damage != "all gone" else "":
        if damage == "folders for files":
            rig.write(root, f"skills/{name}/deep/er.txt", b"x")
        elif damage == "files for folders":
            rig.write(root, f"skills/{name}", b"x")
        else:
            (root / "skills" / name).symlink_to(elsewhere)
    rig.repository(root).create(rig.cli("damaged"))
    assert _restored(root) == ()
    assert rig.state(root) == before
    assert (elsewhere / "SKILL.md").read_bytes() == b"not ours\n"


def test_the_four_of_a_home_may_be_links(root: Path) -> None:
    elsewhere = root.parent / "dotfiles"
    rig.write(elsewhere, "jobs/a.md", b"a\n")
    rig.write(elsewhere, "config.toml", b"x = 1\n")
    (root / "jobs").symlink_to(elsewhere / "jobs")
    (root / "config.toml").symlink_to(elsewhere / "config.toml")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    snapshots.change(rig.run(), {"jobs/a.md": Write(b"b\n"), "config.toml": Write(b"x = 2\n")})
    assert (elsewhere / "jobs/a.md").read_bytes() == b"b\n"
    assert (elsewhere / "config.toml").read_bytes() == b"x = 2\n"
    assert (root / "config.toml").is_symlink()
    _restored(root)
    assert (elsewhere / "config.toml").read_bytes() == b"x = 1\n"


def test_a_link_inside_is_never_written_through(root: Path) -> None:
    outside = rig.write(root.parent, "outside/x.md", b"not ours\n")
    (root / "skills").mkdir()
    (root / "skills/a").symlink_to(outside.parent)
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    snapshots.change(rig.run(), {"skills/a/x.md": Write(b"ours\n")})
    assert outside.read_bytes() == b"not ours\n"
    assert (root / "skills/a/x.md").read_bytes() == b"ours\n"
    assert not (root / "skills/a").is_symlink()


def test_a_file_with_a_value_of_the_vault_stays_out_and_is_named(home: Home) -> None:
    app = App(home, Settings(), FixedClock(rig.NOON))
    app.vault.set("db-prod", "hunter22")
    app.vault.set("short", "12345")
    rig.write(home.root, "jobs/a.md", b"password: hunter22\n")
    rig.write(home.root, "jobs/b.md", b"12345\n")
    made = app.snapshots.create(rig.cli())
    assert [(it.path, it.why) for it in made.left_out] == [("jobs/a.md", 'it holds the value of the secret "db-prod"')]
    with pytest.raises(SnapshotFailed, match="db-prod") as refused:
        app.snapshots.change(rig.run(), {"jobs/c.md": Write(b"hunter22")})
    assert "hunter22" not in str(refused.value) + str(refused.value.hint)
    assert not (home.jobs / "c.md").exists()
    with pytest.raises(SnapshotFailed, match=r"jobs/a\.md is in no snapshot"):
        app.snapshots.change(rig.run(), {"jobs/a.md": Write(b"fine\n")})
    assert (home.jobs / "a.md").read_bytes() == b"password: hunter22\n"
    assert b"hunter22" not in b"".join(
        app.snapshots.objects().read(entry.oid) for entry in app.snapshots.objects().files(made.before.tree).values()
    )


@pytest.mark.usefixtures("believed_at_once")
def test_a_new_secret_is_looked_for_in_files_that_did_not_change(home: Home) -> None:
    app = App(home, Settings(), FixedClock(rig.NOON))
    rig.write(home.root, "jobs/a.md", b"hunter22\n")
    assert app.snapshots.create(rig.cli()).left_out == ()
    app.vault.set("db", "hunter22")
    assert [it.path for it in app.snapshots.create(rig.cli()).left_out] == ["jobs/a.md"]


def test_a_large_file_stays_out_and_is_not_touched_by_a_restore(root: Path) -> None:
    rig.write(root, "skills/a/data.bin", b"small")
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli()).before
    rig.write(root, "skills/a/data.bin", bytes(10_000_001))
    made = snapshots.create(rig.cli())
    assert [it.path for it in made.left_out] == ["skills/a/data.bin"]
    assert "10,000,000" in made.left_out[0].why
    changed = carry_out(snapshots, plan_restore(snapshots, first, exact=True), rig.cli())
    assert changed.kept == ("skills/a/data.bin",)
    assert (root / "skills/a/data.bin").stat().st_size == 10_000_001


NAMES = [
    b".git", b".GIT", b"git~1",
    b".git ", b".git...", b".g\xe2\x80\x8cit", b".git\xff", b"a\\.git", b".git:x", b"git~1. .",
    b".gitx", b"git~2", b"x.git", b".gitignore", b"\xff.git", b"a\\b", b".mailmap", b"g\xc3\xadt",
]  # fmt: skip


def test_names_that_git_refuses_stay_out_and_only_those(root: Path) -> None:
    for number, name in enumerate(NAMES):
        rig.write(root, b"skills/%d/" % number + name, b"x\n")
    rig.write(root, "skills/m/.gitmodules", b'[submodule "a/../../b"]\n\tpath = a\n\turl = -x\n')
    rig.write(root, "skills/n/.gitmodules", b'[submodule "a"]\n\tpath = a\n\turl = https://x/y\n')
    (root / "skills/o").mkdir()
    (root / "skills/o/.gitmodules").symlink_to("x")
    rig.write(root, "skills/p/.gitattributes", b"x" * 3000)
    made = rig.repository(root).create(rig.cli())
    out = {os.fsencode(it.path).rpartition(b"/")[2] for it in made.left_out}
    assert out == {*NAMES[:10], b".gitmodules", b".gitattributes"}
    assert rig.fsck(root) == []
    assert names.is_dotgit(b".git\xef\xbf\xbf")


def test_a_name_of_ours_in_the_home_is_a_file_like_any_other(root: Path) -> None:
    rig.write(root, "skills/a/.hermes-cron-modes.json", b"mine\n", 0o600)
    rig.write(root, ".hermes-cron-modes.json", b"not of the home's folders\n")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    (root / "skills/a/.hermes-cron-modes.json").unlink()
    snapshots.create(rig.cli())
    _restored(root)
    assert rig.state(root) == {b"skills/a/.hermes-cron-modes.json": ("file", 0o600, b"mine\n")}
    assert (root / ".hermes-cron-modes.json").read_bytes() == b"not of the home's folders\n"


@pytest.mark.usefixtures("believed_at_once")
@pytest.mark.parametrize("damage", [b"", b"garbage", b"{}", None])
def test_a_damaged_cache_costs_a_full_read_and_nothing_else(root: Path, damage: bytes | None) -> None:
    rig.write(root, "jobs/a.md", b"a\n")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    cache = root / "snapshots.git" / "hermes-cron-stat"
    whole = cache.read_bytes()
    cache.write_bytes(whole.replace(b'"jobs/a.md"', b'"jobs/b.md"') if damage is None else damage)
    assert snapshots.create(rig.cli()).after is None
    rig.write(root, "jobs/c.md", b"c\n")
    assert snapshots.create(rig.cli()).after is not None
    assert verify(snapshots).faults == ()


@pytest.mark.usefixtures("believed_at_once")
def test_a_cache_that_knows_what_the_history_lost_is_not_believed(root: Path) -> None:
    rig.write(root, "jobs/a.md", b"a\n")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    cache = (root / "snapshots.git" / "hermes-cron-stat").read_bytes()
    shutil.rmtree(root / "snapshots.git")
    rig.write(root, "jobs/b.md", b"b\n")
    os.rename(root / "jobs/a.md", root / "away")
    snapshots.create(rig.cli())
    os.rename(root / "away", root / "jobs/a.md")
    (root / "snapshots.git" / "hermes-cron-stat").write_bytes(cache)
    snapshots.create(rig.cli())
    assert verify(snapshots).faults == ()


def test_people_use_their_own_git_on_it(root: Path) -> None:
    rig.write(root, "jobs/a.md", b"a\n")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli("first words"))
    assert rig.git(root, "log", "--format=%an %s").splitlines() == ["cli first words"]
    assert rig.git(root, "show", "main:jobs/a.md") == "a\n"
    rig.git(root, "gc", "--quiet", "--prune=now")
    rig.git(root, "pack-refs", "--all")
    rig.write(root, "jobs/b.md", b"b\n")
    snapshots.create(rig.cli("second"))
    assert [commit.reason for commit in snapshots.log()] == ["second", "first words"]
    rig.git(root, "update-ref", "refs/heads/main", "main~1")  # a person goes back
    assert [commit.reason for commit in snapshots.log()] == ["first words"]
    made = snapshots.create(rig.cli("third"))
    assert [commit.reason for commit in snapshots.log()] == ["third", "first words"]
    assert made.before.reason == "first words"
    assert rig.fsck(root) == []


def test_the_index_of_many_packs_stays_small(root: Path) -> None:
    rig.write(root, "jobs/a.md", b"a\n")
    snapshots = rig.repository(root)
    for number in range(60):
        rig.automated(snapshots, **{"a.md": f"{number}\n"})
    packs = list((root / "snapshots.git/objects/pack").glob("*.pack"))
    assert len(packs) <= 25
    assert len(list(snapshots.log())) == 61
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []


def test_no_git_program_is_needed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    rig.write(root, "jobs/a.md", b"a\n")
    rig.repository(root).create(rig.cli())
    with pytest.raises(FileNotFoundError):
        subprocess.run(["git"], check=False)

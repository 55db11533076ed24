"""A damaged history is found, whatever byte of it is another; a sound one never is."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"a\n" * 50)
    rig.write(made, "skills/s/SKILL.md", b"s\n", 0o600)
    snapshots = rig.repository(made)
    for number in range(5):
        rig.automated(snapshots, **{"b.md": f"{number}\n"})
    return made


def test_a_sound_history_has_no_faults(root: Path) -> None:
    found = verify(rig.repository(root))
    assert found.faults == ()
    assert (found.commits, found.objects) == (6, int(rig.git(root, "rev-list", "--all", "--objects", "--count")))


def test_any_flipped_byte_of_a_pack_or_an_index_is_found(root: Path) -> None:
    snapshots = rig.repository(root)
    chance = random.Random(3)
    packs = sorted((root / "snapshots.git/objects/pack").iterdir())
    for _ in range(25):
        path = chance.choice(packs)
        whole = path.read_bytes()
        at = chance.randrange(len(whole))
        path.chmod(0o644)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
        faults = verify(snapshots).faults
        assert faults, (path.name, at)
        assert all(fault.mend for fault in faults)
        path.write_bytes(whole)
    assert verify(snapshots).faults == ()


def test_a_lost_pack_is_found_and_its_objects_are_named(root: Path) -> None:
    pack = sorted((root / "snapshots.git/objects/pack").glob("*.pack"))[0]
    pack.unlink()
    pack.with_suffix(".idx").unlink()
    faults = verify(rig.repository(root)).faults
    assert faults
    assert "cannot be read" in faults[0].what


def test_a_loose_object_that_is_another_is_found(root: Path) -> None:
    made = "ab" + "0" * 38
    place = root / "snapshots.git/objects" / made[:2] / made[2:]
    place.parent.mkdir()
    place.write_bytes(zlib.compress(b"blob 2\0a\n"))
    (fault,) = verify(rig.repository(root)).faults
    assert made in fault.what
    assert fault.mend == f"rm {place}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("HEAD", "ref: refs/heads/other\n", "HEAD is not the branch main"),
        ("refs/heads/main", "garbage\n", "branch main"),
        ("refs/heads/main", "0123456789012345678901234567890123456789\n", "branch main"),
        ("hermes-cron-pending", "{}", "pending"),
        ("config", "[core\n", "opened"),
    ],
)
def test_what_a_person_or_a_disk_did_to_its_files_is_said(root: Path, name: str, text: str, said: str) -> None:
    (root / "snapshots.git" / name).write_text(text)
    faults = verify(rig.repository(root)).faults
    assert any(said in fault.what or "cannot" in fault.what or "damaged" in fault.what for fault in faults)
    assert all(fault.mend for fault in faults)


def test_a_lock_that_may_be_somebodys_is_said(root: Path) -> None:
    lock = root / "snapshots.git/refs/heads/main.lock"
    lock.touch()
    (fault,) = verify(rig.repository(root)).faults
    assert "refs/heads/main.lock" in fault.what
    assert fault.mend == f"rm {lock}"

"""A history whose branch is lost is no home without a history: nobody begins a new one beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_cron.errors import SnapshotFailed
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"a\n")
    snapshots = rig.repository(made)
    for number in range(3):
        rig.automated(snapshots, **{"b.md": f"{number}\n"})
    return made


@pytest.mark.parametrize("log_too", [False, True])
@pytest.mark.parametrize("how", ["gone", "empty", "renamed"])
def test_a_lost_branch_is_said_and_the_command_brings_it_back(root: Path, how: str, log_too: bool) -> None:
    git = root / "snapshots.git"
    place, snapshots = git / "refs/heads/main", rig.repository(root)
    tip = place.read_text().strip()
    if how == "renamed":
        place.rename(git / "refs/heads/master")
    elif how == "gone":
        place.unlink()
    else:
        place.write_bytes(b"")
    if log_too:
        shutil.rmtree(git / "logs")

    with pytest.raises(SnapshotFailed, match="the branch main of the history") as read:
        snapshots.head()
    with pytest.raises(SnapshotFailed, match=tip[:7]):
        list(snapshots.log())
    with pytest.raises(SnapshotFailed, match=tip[:7]):
        rig.automated(snapshots, **{"b.md": "another\n"})
    assert any(fault.mend == read.value.hint for fault in verify(snapshots).faults)

    assert read.value.hint is not None
    subprocess.run(["sh", "-c", read.value.hint], check=True)
    assert verify(snapshots).faults == ()
    assert len(list(snapshots.log())) == 4


def test_a_first_snapshot_whose_process_died_before_the_branch_was_made_is_no_lost_history(tmp_path: Path) -> None:
    root = tmp_path / "home"
    rig.write(root, "jobs/a.md", b"a\n")
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    (root / "snapshots.git/refs/heads/main").unlink()
    assert snapshots.head() is None
    snapshots.create(rig.cli())
    assert verify(snapshots).faults == ()


def test_a_history_without_the_file_that_says_so_is_read(root: Path) -> None:
    (root / "snapshots.git/hermes-cron-format").unlink()
    assert len(list(rig.repository(root).log())) == 4


def test_a_file_in_the_place_of_the_history_is_no_home_without_one(root: Path) -> None:
    git = root / "snapshots.git"
    shutil.rmtree(git)
    git.write_bytes(b"")
    snapshots = rig.repository(root)
    with pytest.raises(SnapshotFailed, match="is a file and no history") as read:
        snapshots.head()
    with pytest.raises(SnapshotFailed, match="is a file and no history"):
        rig.automated(snapshots, **{"b.md": "another\n"})
    assert read.value.hint == f"mv {git} {git}.old"

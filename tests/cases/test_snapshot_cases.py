"""The faults of area snapshot, then more of each kind."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_cron.errors import SnapshotFailed
from hermes_cron.snapshots.history import carry_out, plan_restore
from hermes_cron.snapshots.repository import Remove, SnapshotRepository, Why, Write
from hermes_cron.snapshots.retention import gc
from tests import snapshots_rig as rig

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "snapshot.jsonl").read_text("utf-8").splitlines())
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def restore(snapshots: SnapshotRepository, commit: str) -> tuple[str, ...]:
    plan = plan_restore(snapshots, snapshots.find(commit), exact=True)
    return carry_out(snapshots, plan, Why(actor="restore", reason="back", restores=commit, exact=True)).kept


@pytest.mark.parametrize("fault", ["an object is gone", "the place is taken", "a folder is in the way"])
def test_c164_a_restore_that_fails_changes_nothing_and_nests_nothing(root: Path, fault: str) -> None:
    case = CASES["C164"]
    live = case["input"]["live"]
    rig.write(root, f"{live}/SKILL.md", b"first\n")
    rig.write(root, f"{live}/scripts/a.sh", b"first\n", 0o755)
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli()).before
    packs = set((root / "snapshots.git/objects/pack").iterdir())
    rig.write(root, f"{live}/SKILL.md", b"second\n")
    rig.write(root, f"{live}/scripts/a.sh", b"second\n", 0o755)
    snapshots.create(rig.cli())
    before = rig.state(root)
    if fault == "an object is gone":  # an archive that was cut
        for path in packs:
            path.rename(root / path.name)
        with pytest.raises(SnapshotFailed):
            restore(rig.repository(root), first.id)
    elif fault == "the place is taken":
        (root / "snapshots.git/hermes-cron-pending.x").mkdir()
        (root / "snapshots.git/hermes-cron-pending").mkdir()
        with pytest.raises(SnapshotFailed):
            restore(rig.repository(root), first.id)
    else:
        shutil.rmtree(root / live)
        rig.write(root, f"{live}/SKILL.md/inside", b"x")
        before = rig.state(root)
        assert restore(snapshots, first.id) == ()
        before = {**before, **rig.state(root)}
        before.pop(f"{live}/SKILL.md/inside".encode())
        assert before[f"{live}/SKILL.md".encode()] == ("file", 0o644, b"first\n")
    assert rig.state(root) == before
    assert case["expected"]["no"] == "skills/foo/foo"
    assert not (root / case["expected"]["no"]).exists()


def test_c165_what_was_kept_can_be_restored_links_and_all(root: Path) -> None:
    assert "symlink" in CASES["C165"]["fault"]
    outside = rig.write(root.parent, "ext/x", b"not ours\n")
    rig.write(root, "skills/other/SKILL.md", b"other\n")
    (root / "skills/x").symlink_to(outside)  # absolute
    (root / "skills/y").symlink_to("../ext/y")  # leads nowhere
    (root / "skills/z").symlink_to("z")  # a circle
    (root / "skills/w").symlink_to(outside.parent)  # a folder
    before = rig.state(root)
    snapshots = rig.repository(root)
    made = snapshots.create(rig.cli())
    assert made.left_out == ()
    shutil.rmtree(root / "skills")
    assert restore(snapshots, made.before.id) == ()
    assert rig.state(root) == before
    assert outside.read_bytes() == b"not ours\n"


@pytest.mark.parametrize("act", ["restore", "change"])
def test_c166_without_a_snapshot_before_nothing_is_touched(root: Path, act: str) -> None:
    assert CASES["C166"]["expected"] == {"error": "SnapshotFailed", "tree": "unchanged"}
    rig.write(root, "skills/a/SKILL.md", b"a\n")
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli()).before
    rig.automated(snapshots, **{"b.md": "by run\n"})
    rig.write(root, "skills/a/SKILL.md", b"by hand, in no snapshot yet\n")
    pack = root / "snapshots.git/objects/pack"
    pack.rename(pack.with_name("away"))
    pack.write_bytes(b"")  # whatever is to be kept cannot be
    shutil.copytree(pack.with_name("away"), root / "snapshots.git/alternate/pack")
    (root / "snapshots.git/objects/info").mkdir(exist_ok=True)
    (root / "snapshots.git/objects/info/alternates").write_text(f"{root}/snapshots.git/alternate\n")
    before = rig.state(root)
    again = rig.repository(root)
    edits = {"jobs/b.md": Write(b"x"), "skills/a/SKILL.md": Remove()}
    with pytest.raises(SnapshotFailed) as refused:
        restore(again, first.id) if act == "restore" else again.change(rig.run(), edits)
    assert refused.value.code == "SnapshotFailed"
    assert "nothing was changed" in refused.value.message
    assert rig.state(root) == before


def test_c167_a_skill_comes_back_with_all_its_files_and_modes(root: Path) -> None:
    case = CASES["C167"]
    files = [name.split(" ")[0] for name in case["input"]["skill"]]
    for name in files:
        rig.write(root, f"skills/tools/s/{name}", name.encode(), 0o755 if name.endswith(".sh") else 0o644)
    sums = {name: hashlib.sha256((root / "skills/tools/s" / name).read_bytes()).hexdigest() for name in files}
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli()).before
    edits = {f"skills/archive/s/{name}": Write((root / "skills/tools/s" / name).read_bytes()) for name in files}
    snapshots.change(Why(actor="curator", reason="archived"), {"skills/tools/s": Remove(), **edits})
    assert not (root / "skills/tools").exists()
    assert restore(snapshots, first.id) == ()
    there = [path for path in (root / "skills/tools/s").rglob("*") if path.is_file()]
    assert len(there) == case["expected"]["files"]
    assert {name: hashlib.sha256((root / "skills/tools/s" / name).read_bytes()).hexdigest() for name in files} == sums
    assert f"{(root / 'skills/tools/s/scripts/a.sh').stat().st_mode & 0o777:o}" == case["expected"]["mode_of_a.sh"]
    assert not (root / "skills/archive").exists()


@pytest.mark.parametrize("days_later", [0, 1, 89, 91, 400])
def test_c171_a_night_of_automated_changes_pushes_no_persons_state_out(root: Path, days_later: int) -> None:
    case = CASES["C171"]
    snapshots = rig.repository(root)
    clock = snapshots.clock
    rig.write(root, "jobs/a.md", b"the last human state\n")
    snapshots.create(rig.cli("by a person"))
    rig.write(root, "jobs/a.md", b"by hand\n")
    human = snapshots.create(Why(actor="user", reason="edited by hand")).after
    assert human is not None
    clock.advance(timedelta(hours=10))  # type: ignore[attr-defined]
    for number in range(case["input"]["auto_changes"]):
        rig.automated(snapshots, **{"a.md": f"{number}\n"})
    clock.advance(timedelta(days=days_later))  # type: ignore[attr-defined]
    gc(snapshots)
    assert case["expected"] == {"oldest_before_tonight": "kept"}
    assert [it.reason for it in snapshots.log() if not it.automated] == ["edited by hand", "by a person"]
    assert snapshots.find(human.id).tree == human.tree
    restore(snapshots, snapshots.find(human.id).id)
    assert (root / "jobs/a.md").read_bytes() == b"by hand\n"

"""gc thins what no person watched and no one may want back, keeps the rest, and old ids still find their state."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.errors import SnapshotFailed
from hermes_cron.snapshots.blame import blame
from hermes_cron.snapshots.commits import Commit, Why
from hermes_cron.snapshots.history import carry_out, plan_restore
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.snapshots.retention import Policy, gc, gc_when_due, thinned
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig

NOW = rig.NOON


def commits(*made: tuple[str, float]) -> list[Commit]:
    """A chain of (actor, days ago), oldest first; returned newest first."""
    found: list[Commit] = []
    for number, (actor, days) in enumerate(made):
        found.append(
            Commit(
                id=f"{number:040x}", tree=b"", parents=(f"{number - 1:040x}",) if number else (), actor=actor,
                reason="", run=None, job=None, at=NOW - timedelta(days=days),
            )
        )  # fmt: skip
    return found[::-1]


def gone(*made: tuple[str, float]) -> list[int]:
    return sorted(int(it, 16) for it in thinned(commits(*made), Policy(), NOW))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ([("cli", 300), ("run", 200.1), ("run", 200.0), ("run", 199.9), ("run", 10)], [1, 2]),
        ([("cli", 300), ("run", 80), ("run", 80), ("run", 80)], []),
        ([("run", 300), ("run", 300), ("run", 300), ("cli", 299)], [1]),
        ([("cli", 300), ("user", 200), ("cli", 200), ("restore", 200), ("import", 200), ("Joe", 200), ("run", 1)], []),
        ([("cli", 300), ("run", 200.2), ("run", 200.1), ("run", 200.05), ("run", 5)], [1, 2]),
        ([("cli", 300), ("curator", 200), ("review", 200), ("upgrade", 200), ("run", 100), ("cli", 1)], [1, 2]),
    ],
    ids=["last of a day", "young", "before a person", "persons", "before a young change", "all automata"],
)
def test_what_goes(made: list[tuple[str, float]], wanted: list[int]) -> None:
    assert gone(*made) == wanted


@settings(max_examples=200, deadline=None)
@given(
    made=st.lists(
        st.tuples(st.sampled_from(["run", "curator", "user", "cli"]), st.floats(0, 400)), min_size=1, max_size=40
    )
)
def test_what_never_goes(made: list[tuple[str, float]]) -> None:
    chain = commits(*sorted(made, key=lambda it: -it[1]))[::-1]  # oldest first
    going = thinned(chain[::-1], Policy(), NOW)
    young, undo = NOW - timedelta(days=90), NOW - timedelta(days=30)
    for older, newer in zip([None, *chain], chain, strict=False):
        if newer.id in going:
            assert newer.automated
            assert newer.at < young
        if older is not None and (not newer.automated or newer.at >= undo):
            assert older.id not in going
    assert chain[-1].id not in going
    for day in {commit.at.date() for commit in chain}:
        assert any(commit.at.date() == day and commit.id not in going for commit in chain)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"a\n")
    return made


Aged = tuple[SnapshotRepository, list[str]]


@pytest.fixture
def aged(root: Path) -> Aged:
    """A history with a night of ten changes 200 days ago, hand edits around it, and a change of today."""
    snapshots = rig.repository(root)
    snapshots.clock.advance(timedelta(days=-200))  # type: ignore[attr-defined]
    snapshots.create(rig.cli("begin"))
    ids = [
        rig.automated(snapshots, **{"n.md": "".join(f"{line}\n" for line in range(number + 1))}) for number in range(10)
    ]
    rig.write(root, "jobs/hand.md", b"hand\n")
    snapshots.create(Why(actor="user", reason="edited by hand"))
    snapshots.clock.advance(timedelta(days=200))  # type: ignore[attr-defined]
    ids.append(rig.automated(snapshots, **{"today.md": "x\n"}))
    return snapshots, ids


def test_old_ids_find_the_commit_that_has_their_state_now(root: Path, aged: Aged) -> None:
    snapshots, ids = aged
    before, trees = rig.state(root), {commit.tree for commit in snapshots.log()}
    kept = {commit.id: commit for commit in snapshots.log()}
    done = gc(snapshots)
    assert (done.commits, done.thinned) == (13, 9)
    assert [(it.actor, it.thinned) for it in snapshots.log()] == [("run", 0), ("user", 0), ("run", 9), ("cli", 0)]
    assert {commit.tree for commit in snapshots.log()} < trees
    last = snapshots.find(ids[9])
    assert {snapshots.find(old).id for old in ids[:10]} == {last.id}
    assert snapshots.find(ids[10][:12]).tree == kept[ids[10]].tree
    assert last.tree == kept[ids[9]].tree
    assert rig.state(root) == before
    assert snapshots.create(rig.cli()).after is None
    assert len(blame(snapshots, "jobs/n.md")) == 10
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []
    carry_out(snapshots, plan_restore(snapshots, last), rig.cli())
    assert not (root / "jobs/today.md").exists()
    assert (root / "jobs/hand.md").exists()


def test_the_map_reaches_over_several_collections(root: Path, aged: Aged) -> None:
    snapshots, ids = aged
    gc(snapshots)
    for _ in range(3):
        rig.automated(snapshots, **{"today.md": f"{snapshots.head()}\n"})
    snapshots.clock.advance(timedelta(days=200))  # type: ignore[attr-defined]
    assert gc(snapshots).thinned == 3
    assert snapshots.find(ids[0]).thinned == 9
    assert snapshots.find(ids[10]).thinned == 3
    assert gc(snapshots).thinned == 0
    assert verify(snapshots).faults == ()


def test_what_other_references_know_is_not_thinned(root: Path, aged: Aged) -> None:
    snapshots, ids = aged
    rig.git(root, "tag", "good", ids[8])
    assert gc(snapshots).thinned == 0
    assert rig.git(root, "rev-parse", "good").strip() == ids[8]
    rig.git(root, "tag", "-d", "good")
    assert gc(snapshots).thinned == 9


def _make_old(root: Path) -> None:
    for path in (root / "snapshots.git").rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))


@pytest.mark.parametrize("old", [True, False])
def test_one_pack_is_left_and_what_nothing_needs_goes_after_an_hour(root: Path, aged: Aged, old: bool) -> None:
    snapshots, ids = aged
    rig.git(root, "config", "user.name", "J")
    litter = [root / "snapshots.git/objects/pack/tmp_x", root / "snapshots.git/objects/ab" / ("c" * 38)]
    for path in litter:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"litter")
    if old:
        _make_old(root)
    assert gc(snapshots).bytes_after > 0
    packs = list((root / "snapshots.git/objects/pack").glob("*.pack"))
    assert (len(packs) == 1) == old
    assert [path.exists() for path in litter] == [not old] * 2
    for path in litter:
        path.unlink(missing_ok=True)
    gone_now = rig.git(root, "cat-file", "--batch-check", "--batch-all-objects")
    assert (ids[0] in gone_now) != old
    assert verify(snapshots).faults == ()


def test_a_second_collection_writes_nothing(root: Path, aged: Aged) -> None:
    snapshots, _ = aged
    _make_old(root)
    gc(snapshots)
    names = sorted(path.name for path in (root / "snapshots.git/objects/pack").iterdir())
    gc(snapshots)
    assert sorted(path.name for path in (root / "snapshots.git/objects/pack").iterdir()) == names


def test_a_damaged_history_is_not_collected(root: Path, aged: Aged) -> None:
    snapshots, _ = aged
    packs = sorted((root / "snapshots.git/objects/pack").glob("*.pack"))
    packs[0].chmod(0o644)
    packs[0].write_bytes(packs[0].read_bytes()[:-40] + b"x" * 40)
    before = sorted((root / "snapshots.git/objects").rglob("*"))
    with pytest.raises(SnapshotFailed):
        gc(snapshots)
    assert set(before) <= set((root / "snapshots.git/objects").rglob("*"))


def test_a_home_of_many_changes_gets_small(root: Path) -> None:
    snapshots = rig.repository(root)
    for number in range(300):
        rig.write(root, f"jobs/{number:03}.md", b"x\n")
    for number in range(30):
        rig.automated(snapshots, **{"a.md": f"{number}\n"})
    _make_old(root)
    done = gc(snapshots)
    assert done.bytes_after < done.bytes_before * 0.7


def test_a_service_collects_once_a_day_and_again_when_nobody_knows_when_it_was(root: Path, aged: Aged) -> None:
    snapshots, _ = aged
    first = gc_when_due(snapshots)
    assert first is not None
    assert first.thinned > 0
    assert gc_when_due(snapshots) is None
    snapshots.clock.advance(timedelta(days=1))  # type: ignore[attr-defined]
    assert gc_when_due(snapshots) is not None
    assert gc_when_due(snapshots) is None
    (snapshots.path / "hermes-cron-collected").write_text("no instant")
    assert gc_when_due(snapshots) is not None
    assert rig.fsck(root) == []

"""Restore and undo bring back what was, keep what people edited since, and can be taken back themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.desks.history_task import versions
from hermes_cron.errors import Conflict, NotFound
from hermes_cron.snapshots.history import Plan, carry_out, plan_restore, plan_undo
from hermes_cron.snapshots.repository import Commit, SnapshotRepository, Why, Write
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", TEXT.encode())
    rig.write(made, "jobs/b.md", b"b\n")
    return made


def hand(root: Path, **files: str) -> Commit:
    """Edits by hand, and the commit in which they are found."""
    for name, text in files.items():
        rig.write(root, f"jobs/{name}.md", text.encode())
    made = rig.repository(root).create(Why(actor="user", reason="edited by hand")).after
    assert made is not None
    return made


def run(root: Path, **files: str) -> Commit:
    made = rig.repository(root).change(rig.run(), {f"jobs/{it}.md": Write(text.encode()) for it, text in files.items()})
    assert made.after is not None
    return made.after


def restored(
    snapshots: SnapshotRepository, wanted: Commit, *, exact: bool = False, paths: tuple[str, ...] = ()
) -> Plan:
    plan = plan_restore(snapshots, wanted, exact=exact, paths=paths)
    carry_out(snapshots, plan, Why(actor="restore", reason="back", restores=wanted.id, exact=exact))
    return plan


def undone(snapshots: SnapshotRepository, *commits: Commit) -> Plan:
    ids = [commit.id for commit in commits]
    plan = plan_undo(snapshots, ids)
    carry_out(snapshots, plan, Why(actor="cli", reason="undo", undoes=tuple(ids)))
    return plan


def texts(root: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((root / "jobs").glob("*.md"))}


def test_a_restore_takes_back_automated_changes_and_keeps_hand_edits(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="mine\n")
    run(root, a=TEXT.replace("one", "ONE by run"), b="by run\n", d="by run\n")
    rig.write(root, "jobs/a.md", TEXT.replace("one", "ONE by run").replace("seven", "SEVEN by hand").encode())
    rig.write(root, "jobs/e.md", b"by hand, not yet seen\n")
    plan = restored(snapshots, first)
    assert texts(root) == {
        "a": TEXT.replace("seven", "SEVEN by hand"), "b": "b\n", "c": "mine\n", "e": "by hand, not yet seen\n"
    }  # fmt: skip
    assert plan.kept == ("jobs/a.md", "jobs/e.md")
    assert plan.paths == ("jobs/a.md", "jobs/b.md", "jobs/d.md")
    assert plan_restore(snapshots, first).paths == ()  # nothing is left to do


def test_an_exact_restore_drops_hand_edits_and_undo_brings_them_back(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="mine\n")
    hand(root, c="mine, later\n", d="new\n")
    before = rig.state(root)
    restored(snapshots, first, exact=True)
    assert texts(root)["c"] == "mine\n"
    assert "d" not in texts(root)
    after = rig.state(root)
    head = snapshots.head()
    assert head is not None
    undone(snapshots, head)
    assert rig.state(root) == before
    head = snapshots.head()
    assert head is not None
    undone(snapshots, head)  # the undo of the undo
    assert rig.state(root) == after


def test_hand_edits_that_were_dropped_on_purpose_do_not_come_back(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="first\n")
    second = run(root, b="by run\n")
    hand(root, c="dropped by an exact restore\n")
    restored(snapshots, second, exact=True)
    dropped = hand(root, d="dropped by an undo\n")
    undone(snapshots, dropped)
    hand(root, e="stays\n")
    restored(snapshots, first)
    assert texts(root) == {"a": TEXT, "b": "b\n", "c": "first\n", "e": "stays\n"}


def test_an_edit_whose_undo_was_undone_counts_again(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="first\n")
    edit = hand(root, d="edit\n")
    undone(snapshots, edit)
    head = snapshots.head()
    assert head is not None
    undone(snapshots, head)
    run(root, b="by run\n")
    restored(snapshots, first)
    assert texts(root) == {"a": TEXT, "b": "b\n", "c": "first\n", "d": "edit\n"}


def test_a_restore_of_some_paths_leaves_the_others(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="mine\n")
    run(root, a="by run\n", b="by run\n", c="by run\n")
    restored(snapshots, first, paths=("jobs/a.md", "jobs/c.md"))
    assert texts(root) == {"a": TEXT, "b": "by run\n", "c": "mine\n"}
    with pytest.raises(NotFound, match=r"jobs/z\.md"):
        plan_restore(snapshots, first, paths=("jobs/z.md",))


def test_what_does_not_merge_is_named_with_both_versions_and_nothing_is_done(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="mine\n")
    run(root, a=TEXT.replace("three", "by run"), b="by run\n")
    hand(root, a=TEXT.replace("three", "by hand"))
    before = rig.state(root)
    for plan in (plan_restore(snapshots, first), plan_undo(snapshots, [list(snapshots.log())[1].id])):
        (clash,) = plan.clashes
        objects = snapshots.objects(plan.new)
        assert clash.path == "jobs/a.md"
        assert clash.now is not None
        assert clash.wanted is not None
        assert b"by hand" in objects.read(clash.now.oid)
        assert objects.read(clash.wanted.oid) == TEXT.encode()
        with pytest.raises(Conflict, match=r"jobs/a\.md") as refused:
            carry_out(snapshots, plan, rig.cli())
        assert refused.value.exit_code == 5
        assert rig.state(root) == before
    restored(snapshots, first, exact=True)
    assert texts(root) == {"a": TEXT, "b": "b\n", "c": "mine\n"}


def test_a_plan_that_is_no_longer_true_is_not_carried_out(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="mine\n")
    run(root, a="by run\n")
    plan = plan_restore(snapshots, first)
    rig.write(root, "jobs/new.md", b"meanwhile\n")
    with pytest.raises(Conflict, match="meanwhile"):
        carry_out(snapshots, plan, rig.cli())
    assert texts(root)["a"] == "by run\n"


def test_what_a_run_changed_in_several_commits_is_undone_as_one(root: Path) -> None:
    snapshots = rig.repository(root)
    before = rig.state(root)
    one = run(root, a=TEXT.replace("one", "run 1"), n="new\n")
    hand(root, a=TEXT.replace("one", "run 1").replace("seven", "by hand"))
    two = run(root, a=TEXT.replace("one", "run 1").replace("two", "run 2").replace("seven", "by hand"))
    other = run(root, b="another run\n")
    plan = undone(snapshots, one, two)
    assert plan.kept == ("jobs/a.md",)
    assert texts(root) == {"a": TEXT.replace("seven", "by hand"), "b": "another run\n"}
    undone(snapshots, other)
    rig.write(root, "jobs/a.md", TEXT.encode())
    assert rig.state(root) == before


def test_what_a_person_brought_back_before_is_no_clash_of_an_undo(root: Path) -> None:
    snapshots = rig.repository(root)
    before = hand(root, c="mine\n")
    one = run(root, a=TEXT.replace("one", "run 1"), b="first\n")
    two = run(root, a=TEXT.replace("one", "run 1, again"), b="second\n")
    restored(snapshots, before, paths=("jobs/a.md",))
    plan = plan_undo(snapshots, [one.id, two.id])
    assert plan.clashes == ()
    assert plan.paths == ("jobs/b.md",)


def test_an_undo_of_something_undone_already_changes_nothing(root: Path) -> None:
    snapshots = rig.repository(root)
    made = run(root, b="by run\n")
    undone(snapshots, made)
    assert plan_undo(snapshots, [made.id]).paths == ()


def test_modes_links_and_empty_folders_are_undone_too(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "skills/a/run.sh", b"#!/bin/sh\n", 0o700)
    (root / "skills/a/empty").mkdir()
    (root / "skills/a/link").symlink_to("run.sh")
    first = snapshots.create(rig.cli()).before
    before = rig.state(root)
    (root / "skills/a/run.sh").chmod(0o755)
    (root / "skills/a/empty").rmdir()
    (root / "skills/a/link").unlink()
    (root / "skills/a/link").symlink_to("elsewhere")
    rig.write(root, "skills/b/SKILL.md", b"b\n")
    changed = snapshots.create(Why(actor="run", reason="odd")).after
    assert changed is not None
    plan = undone(snapshots, changed)
    assert plan.paths == ("skills/a/empty", "skills/a/link", "skills/a/run.sh", "skills/b/SKILL.md")
    assert rig.state(root) == before
    assert snapshots.create(rig.cli()).after is None
    assert snapshots.head() is not None
    assert snapshots.head().tree == first.tree  # type: ignore[union-attr]


def test_versions_are_the_commits_that_changed_a_thing(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="1\n")
    second = run(root, c="2\n")
    run(root, b="other\n")
    (root / "jobs/c.md").unlink()
    gone = snapshots.create(rig.cli("gone")).after
    back = run(root, c="2\n")
    commits = {commit.id: commit for commit in snapshots.log()}
    made = versions(snapshots.objects(), commits, ["jobs/c.md", "jobs", "jobs/never.md"])
    found = made["jobs/c.md"][::-1]
    assert [it.commit.id for it in found] == [it.id for it in (back, gone, second, first) if it is not None]
    assert [it.entry is None for it in found] == [False, True, False, False]
    assert len(made["jobs"]) == 5
    assert made["jobs/never.md"] == []


def test_nothing_of_a_plan_is_left_in_the_history_unless_carried_out(root: Path) -> None:
    snapshots = rig.repository(root)
    first = hand(root, c="1\n")
    run(root, a=TEXT.replace("one", "by run"))
    hand(root, a=TEXT.replace("one", "by run").replace("seven", "by hand"))
    packs = set((root / "snapshots.git/objects/pack").iterdir())
    plan = plan_restore(snapshots, first)
    assert set((root / "snapshots.git/objects/pack").iterdir()) == packs
    carry_out(snapshots, plan, rig.cli())
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []

"""A change of the home: a commit before it, all or nothing, and what somebody does in the same moments stays."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_cron.errors import Conflict, NameAmbiguous, NotFound, SnapshotFailed
from hermes_cron.snapshots import apply
from hermes_cron.snapshots.repository import Remove, Write
from hermes_cron.snapshots.trees import Mode, blob_id
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"a\n")
    rig.write(made, "jobs/b.md", b"b\n", 0o600)
    rig.write(made, "config.toml", b"x = 1\n")
    return made


def reasons(root: Path) -> list[tuple[str, str]]:
    return [(commit.actor, commit.reason) for commit in rig.repository(root).log()]


def test_a_hand_edit_is_committed_as_the_users_before_the_change(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli("begin"))
    rig.write(root, "jobs/a.md", b"by hand\n")
    changed = snapshots.change(rig.run("tidy up"), {"jobs/a.md": Write(b"by a run\n"), "jobs/c.md": Write(b"c\n")})
    assert reasons(root) == [("run", "tidy up"), ("user", "edited by hand"), ("cli", "begin")]
    assert changed.before.actor == "user"
    assert snapshots.objects().read(snapshots.objects().at(changed.before.tree, b"jobs/a.md").oid) == b"by hand\n"  # type: ignore[union-attr]
    assert (root / "jobs/a.md").read_bytes() == b"by a run\n"


def test_a_commit_says_who_why_and_in_which_run(root: Path) -> None:
    snapshots = rig.repository(root)
    why = rig.Why(
        actor="cli", reason="two\nlines \x1b[31m", run="r1\nActor: user", job="j", by="ann", undoes=("a", "b")
    )
    made = snapshots.create(why).before
    assert (made.actor, made.reason, made.run, made.job) == ("cli", "two lines [31m", "r1 Actor: user", "j")
    assert (made.by, made.undoes, made.restores, made.exact) == ("ann", ("a", "b"), None, False)
    assert snapshots.find(made.id[:4]) == made


@pytest.mark.parametrize(
    "foreign", ["", "subject", "subject\n\nActor: user\n\nlast words", "s\n\nActor: run\nno trailer"]
)
def test_a_commit_of_another_tool_has_its_author_as_actor(root: Path, foreign: str) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    tree = rig.git(root, "rev-parse", "main^{tree}").strip()
    made = rig.git(
        root, "-c", "user.name=J\u00f6", "-c", "user.email=j@x", "commit-tree", tree, "-p", "main", "-m", foreign
    ).strip()
    rig.git(root, "update-ref", "refs/heads/main", made)
    head = snapshots.head()
    assert head is not None
    assert (head.actor, head.automated) == ("J\u00f6", False)


@pytest.mark.parametrize(
    ("path", "expect", "fits"),
    [("jobs/a.md", blob_id(b"a\n"), True), ("jobs/a.md", blob_id(b"x"), False), ("jobs/a.md", b"", False),
     ("jobs/z.md", b"", True), ("jobs/z.md", blob_id(b"a\n"), False), ("jobs/z.md", None, True)],
)  # fmt: skip
def test_what_is_not_as_expected_is_a_conflict_and_nothing_happens(
    root: Path, path: str, expect: bytes | None, fits: bool
) -> None:
    snapshots = rig.repository(root)
    edits = {"config.toml": Write(b"x = 2\n"), path: Write(b"new\n", expect=expect)}
    if fits:
        snapshots.change(rig.run(), edits)
        assert (root / path).read_bytes() == b"new\n"
        return
    before = rig.state(root)
    with pytest.raises(Conflict, match="that version is kept"):
        snapshots.change(rig.run(), edits)
    assert rig.state(root) == before
    assert [actor for actor, _ in reasons(root)] == ["user"]


def test_writes_keep_modes_and_removals_take_folders(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "skills/x/y/z.txt", b"z")
    rig.write(root, "skills/x/a.txt", b"z")
    snapshots.change(
        rig.run(),
        {
            "jobs/b.md": Write(b"2\n"),
            "jobs/run": Write(b"#!\n", mode=Mode.EXECUTABLE),
            "skills/x": Remove(),
            "jobs/a.md": Remove(),
        },
    )
    assert rig.state(root) == {
        b"config.toml": ("file", 0o644, b"x = 1\n"),
        b"jobs/b.md": ("file", 0o600, b"2\n"),
        b"jobs/run": ("file", 0o755, b"#!\n"),
    }
    assert (root / "skills").is_dir()
    assert snapshots.create(rig.cli()).after is None


def test_the_same_again_is_no_change(root: Path) -> None:
    snapshots = rig.repository(root)
    assert snapshots.change(rig.run(), {"jobs/a.md": Write(b"a\n"), "jobs/gone.md": Remove()}).after is None


@pytest.mark.parametrize(
    "path", ["state.db", "../x", "jobs/../../x", "jobs", "jobs/.git/x", "/etc/passwd", "jobs//x", "config.toml/x"]
)
def test_only_what_snapshots_are_of_is_changed(root: Path, path: str) -> None:
    before = rig.state(root)
    with pytest.raises(SnapshotFailed):
        rig.repository(root).change(rig.run(), {"jobs/new.md": Write(b"x"), path: Write(b"x")})
    assert rig.state(root) == before
    assert not (root.parent / "x").exists()


def test_of_some_paths_only_those_are_looked_at(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli("begin"))
    rig.write(root, "jobs/a.md", b"by hand\n")
    rig.write(root, "jobs/b.md", b"too\n", 0o600)
    changed = snapshots.change(rig.cli("one"), {"jobs/b.md": Write(b"b2\n")}, scope="paths")
    assert reasons(root) == [("cli", "one"), ("user", "edited by hand"), ("cli", "begin")]
    objects = snapshots.objects()
    assert [path for path, _, _ in objects.changed(None, changed.before.tree)] == [
        b"config.toml",
        b"jobs/a.md",
        b"jobs/b.md",
    ]
    assert objects.at(changed.before.tree, b"jobs/a.md") == objects.at(
        snapshots.find(changed.before.parent or "").tree, b"jobs/a.md"
    )
    assert snapshots.create(rig.cli("rest")).after is not None  # the other edit is still found
    assert verify(snapshots).faults == ()


class Meanwhile:
    """Somebody who does something after the new files lie ready and before they are put into place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._enter = apply.Staged.enter
        self.does: Callable[[], object] = bool
        monkeypatch.setattr(apply.Staged, "enter", lambda staged: (self.does(), self._enter(staged))[1])


@pytest.mark.parametrize("what", ["edited", "made", "removed", "mode", "folder"])
def test_what_somebody_changed_meanwhile_stays_and_is_said(
    root: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    edits = {"jobs/a.md": Write(b"run\n"), "jobs/new.md": Write(b"run\n"), "jobs/b.md": Write(b"run\n")}
    doing = {
        "edited": ("jobs/a.md", lambda: rig.write(root, "jobs/a.md", b"hand\n")),
        "made": ("jobs/new.md", lambda: rig.write(root, "jobs/new.md", b"hand\n")),
        "removed": ("jobs/a.md", (root / "jobs/a.md").unlink),
        "mode": ("jobs/a.md", lambda: (root / "jobs/a.md").chmod(0o700)),
        "folder": ("jobs/new.md", lambda: rig.write(root, "jobs/new.md/inside.txt", b"hand\n")),
    }
    path, does = doing[what]
    Meanwhile(monkeypatch).does = does
    changed = snapshots.change(rig.run("meant"), edits)
    monkeypatch.undo()
    assert changed.kept == (path,)
    now = rig.state(root)
    assert now.get(path.encode(), ("", 0, b""))[2] != b"run\n"
    assert {
        it for it in ("jobs/a.md", "jobs/new.md", "jobs/b.md") if now.get(it.encode(), ("", 0, b""))[2] == b"run\n"
    } == set(edits) - {path}
    assert changed.after is not None
    objects = snapshots.objects()
    assert objects.read(objects.at(changed.after.tree, path.encode()).oid) == b"run\n"  # type: ignore[union-attr]  # as meant
    made = snapshots.create(rig.Why(actor="user", reason="edited by hand"))
    assert made.after is not None
    assert {it.split(b"/inside")[0] for it, _, _ in objects.changed(changed.after.tree, made.after.tree)} == {
        path.encode()
    }
    assert not list(root.rglob(".hermes-cron-tmp-*"))
    assert rig.state(root) == now


def test_a_name_that_is_made_in_the_last_moment_is_not_replaced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    link = apply._link_new

    def late(temporary: bytes, place: bytes) -> None:
        rig.write(root, "jobs/new.md", b"hand\n")
        link(temporary, place)

    monkeypatch.setattr(apply, "_link_new", late)
    assert snapshots.change(rig.run(), {"jobs/new.md": Write(b"run\n")}).kept == ("jobs/new.md",)
    assert (root / "jobs/new.md").read_bytes() == b"hand\n"
    assert not list(root.rglob(".hermes-cron-tmp-*"))


def test_a_dead_processs_change_is_finished_by_whoever_comes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    with monkeypatch.context() as patch:
        patch.setattr(apply.Staged, "enter", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            snapshots.change(rig.run(), {"jobs/a.md": Write(b"run\n"), "skills/new/SKILL.md": Write(b"s\n")})
    assert (root / "jobs/a.md").read_bytes() == b"a\n"
    rig.write(root, "jobs/b.md", b"by hand, not of the change\n", 0o600)
    other = rig.repository(root)
    assert other.settle()
    assert not other.settle()
    assert (root / "jobs/a.md").read_bytes() == b"run\n"
    assert (root / "skills/new/SKILL.md").read_bytes() == b"s\n"
    assert (root / "jobs/b.md").read_bytes() == b"by hand, not of the change\n"
    assert not list(root.rglob(".hermes-cron-tmp-*"))
    assert verify(other).faults == ()


@pytest.mark.parametrize("moved", ["back", "gone", "on"])
def test_a_branch_that_a_person_moved_after_a_crash_is_theirs(
    root: Path, moved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli("begin")).before
    second = rig.automated(snapshots, **{"a.md": "second\n"})
    with monkeypatch.context() as patch:
        patch.setattr(apply.Staged, "enter", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            snapshots.change(rig.run("third"), {"jobs/a.md": Write(b"third\n")})
    if moved == "on":
        tree = rig.git(root, "rev-parse", "main^{tree}").strip()
        made = rig.git(
            root, "-c", "user.name=J", "-c", "user.email=j@x", "commit-tree", tree, "-p", "main", "-m", "mine"
        ).strip()
        rig.git(root, "update-ref", "refs/heads/main", made)
    elif moved == "back":
        rig.git(root, "update-ref", "refs/heads/main", first.id)
    else:
        rig.git(root, "update-ref", "-d", "refs/heads/main")
    snapshots.create(rig.cli("look"))
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []
    assert (root / "jobs/a.md").read_bytes() == (b"second\n" if moved == "on" else b"third\n")
    assert snapshots.head() is not None
    assert (second in {commit.id for commit in snapshots.log()}) == (moved != "back")


def test_stale_locks_of_git_are_in_nobodys_way(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    git = root / "snapshots.git"
    locks = [
        git / "HEAD.lock",
        git / "config.lock",
        git / "refs/heads/main.lock",
        git / "packed-refs.lock",
        git / "objects/ab/x.lock",
    ]
    for lock in locks:
        lock.parent.mkdir(exist_ok=True)
        lock.touch()
        os.utime(lock, (1, 1))
    (git / "hermes-cron.lock").write_text("12345\n")  # its holder died
    rig.automated(snapshots, **{"a.md": "again\n"})
    assert [lock for lock in locks if lock.exists()] == []
    assert verify(snapshots).faults == ()


def test_whoever_waits_too_long_is_told_who_holds_the_lock(root: Path) -> None:
    snapshots = rig.repository(root, wait_s=0.05)
    snapshots.create(rig.cli())
    with (root / "snapshots.git/hermes-cron.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(b"4711\n")
        lock.flush()
        with pytest.raises(Conflict, match="process 4711"):
            snapshots.create(rig.cli())
        done = threading.Event()
        waiting = threading.Thread(target=lambda: (rig.repository(root).create(rig.cli()), done.set()))
        waiting.start()
        assert not done.is_set()
        fcntl.flock(lock, fcntl.LOCK_UN)
        waiting.join(30)
        assert done.is_set()


def test_a_commit_is_found_by_its_first_digits(root: Path) -> None:
    snapshots = rig.repository(root)
    ids = [rig.automated(snapshots, **{"a.md": f"{number}\n"}) for number in range(30)]
    assert snapshots.find(ids[7].upper()[:30]).id == ids[7]
    for word in ("", "abc", "zzzz", "0" * 41, "HEAD", "ffffffffff"):
        with pytest.raises(NotFound):
            snapshots.find(word)


def test_digits_of_several_commits_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = rig.repository(root)
    ids = [rig.automated(snapshots, **{"a.md": f"{number}\n"}) for number in range(17)]
    first = next(it[0] for it in ids if [other[0] for other in ids].count(it[0]) > 1)
    monkeypatch.setattr("hermes_cron.snapshots.repository.PREFIX", 1)
    with pytest.raises(NameAmbiguous) as refused:
        snapshots.find(first)
    assert all(str(it).startswith(first) for it in refused.value.details["near"])  # type: ignore[union-attr]


def test_without_a_commit_before_there_is_no_change(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    rig.write(root, "jobs/hand.md", b"hand\n")
    shutil.rmtree(root / "snapshots.git/objects/pack")
    (root / "snapshots.git/objects/pack").write_text("in the way")
    before = rig.state(root)
    with pytest.raises(SnapshotFailed, match="nothing was changed"):
        rig.repository(root).change(rig.run(), {"jobs/a.md": Write(b"run\n")})
    assert rig.state(root) == before


def test_a_marker_that_says_nothing_is_said(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    (root / "snapshots.git/hermes-cron-pending").write_text("garbage")
    (fault,) = verify(snapshots).faults[:1]
    assert "hermes-cron-pending names no change" in fault.what
    assert fault.mend.startswith("rm ")
    with pytest.raises(SnapshotFailed):
        snapshots.change(rig.run(), {"jobs/a.md": Write(b"x")})


def test_a_look_costs_no_write(root: Path) -> None:
    snapshots = rig.repository(root)
    assert snapshots.head() is None
    assert list(snapshots.log()) == []
    assert not (root / "snapshots.git").exists()
    assert verify(snapshots).faults == ()
    assert not (root / "snapshots.git").exists()


def test_a_first_snapshot_that_was_interrupted_is_made(root: Path) -> None:
    git = root / "snapshots.git"
    for leftover in ("", "HEAD", "config"):
        shutil.rmtree(git, ignore_errors=True)
        git.mkdir()
        if leftover:
            (git / leftover).write_text("")
        snapshots = rig.repository(root)
        assert snapshots.head() is None
        assert snapshots.create(rig.cli()).after is not None, leftover
        assert verify(snapshots).faults == ()
        assert rig.fsck(root) == []

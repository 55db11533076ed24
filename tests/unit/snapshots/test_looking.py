"""blame names the commit of every line as git does, and a difference is one that ``patch`` can read."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from hermes_cron.errors import NotFound, Usage
from hermes_cron.snapshots.blame import blame
from hermes_cron.snapshots.history import plan_restore
from hermes_cron.snapshots.repository import Write
from hermes_cron.snapshots.text import diff, shown
from hermes_cron.snapshots.trees import Mode
from tests import snapshots_rig as rig


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"a\n")
    return made


def by_git(root: Path, path: str) -> list[str]:
    lines = rig.git(root, "blame", "--line-porcelain", "main", "--", path).splitlines()
    return [line.split()[0] for line in lines if re.match(r"[0-9a-f]{40} \d+ \d+", line)]


def test_every_line_has_the_commit_that_git_gives_it(root: Path) -> None:
    snapshots = rig.repository(root)
    chance = random.Random(1)
    lines = [f"line {number}" for number in range(20)]
    for step in range(25):
        at = chance.randrange(len(lines))
        lines[at : at + chance.randrange(3)] = [f"step {step} line {number}" for number in range(chance.randrange(4))]
        lines = lines or ["again"]
        end = "\r\n" if step % 5 == 0 else "\n"
        rig.write(root, "jobs/x.md", end.join(lines).encode() + (b"" if step % 7 == 0 else end.encode()))
        rig.write(root, "jobs/a.md", b"%d\n" % step)
        snapshots.create(rig.run(f"step {step}", f"r{step}") if step % 2 else rig.cli())
    found = blame(snapshots, "jobs/x.md")
    assert b"".join(line.data for line in found) == (root / "jobs/x.md").read_bytes()
    assert [line.commit.id for line in found] == by_git(root, "jobs/x.md")
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert {line.commit.actor for line in found} == {"run", "cli"}
    assert all((line.commit.run is not None) == (line.commit.actor == "run") for line in found)


def test_crlf_and_a_last_line_without_an_end_are_kept(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "jobs/x.md", b"one\r\ntwo\r\nthr\xffee")
    snapshots.create(rig.cli())
    assert [line.data for line in blame(snapshots, "jobs/x.md")] == [b"one\r\n", b"two\r\n", b"thr\xffee"]
    assert [line.text for line in blame(snapshots, "jobs/x.md")] == ["one", "two", "thr\ufffdee"]


def test_a_file_that_was_away_begins_anew(root: Path) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    (root / "jobs/a.md").unlink()
    snapshots.create(rig.cli())
    back = rig.automated(snapshots, **{"a.md": "a\n"})
    assert [line.commit.id for line in blame(snapshots, "jobs/a.md")] == [back]


def test_names_that_are_no_text_and_files_that_are_none(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, b"jobs/\xff\n.md", b"odd\n")
    rig.write(root, "jobs/x.bin", b"a\0b\n")
    made = snapshots.create(rig.cli()).before
    assert [line.commit for line in blame(snapshots, os.fsdecode(b"jobs/\xff\n.md"))] == [made]
    with pytest.raises(Usage):
        blame(snapshots, "jobs/x.bin")
    with pytest.raises(NotFound):
        blame(snapshots, "jobs/none.md")
    with pytest.raises(NotFound):
        blame(rig.repository(root.parent / "elsewhere"), "jobs/a.md")


def test_lines_of_two_histories_that_were_brought_together(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "jobs/a.md", b"one\ntwo\nthree\nfour\nfive\n")
    first = snapshots.create(rig.cli()).before
    left = rig.automated(snapshots, **{"a.md": "ONE\ntwo\nthree\nfour\nfive\n"})
    rig.git(root, "update-ref", "refs/heads/main", first.id)
    rig.write(root, "jobs/a.md", b"one\ntwo\nthree\nfour\nfive\n")
    right = rig.automated(snapshots, **{"a.md": "one\ntwo\nthree\nfour\nFIVE\n"})
    tree = rig.git(root, "rev-parse", "main^{tree}").strip()
    both = rig.git(
        root, "-c", "user.name=J", "-c", "user.email=j@x", "commit-tree", tree, "-p", left, "-p", right, "-m", "both"
    ).strip()
    rig.git(root, "update-ref", "refs/heads/main", both)
    rig.write(root, "jobs/a.md", b"ONE\ntwo\nthree\nfour\nFIVE\n")
    assert {commit.id for commit in snapshots.log()} >= {left, right, both, first.id}
    snapshots.create(rig.cli())
    assert [line.commit.id for line in blame(snapshots, "jobs/a.md")] == by_git(root, "jobs/a.md")


def test_a_difference_can_be_applied_with_patch(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "jobs/b.md", b"one\ntwo\nthree\n")
    rig.write(root, "jobs/gone.md", b"x\n")
    first = snapshots.create(rig.cli()).before
    (root / "jobs/gone.md").unlink()
    edits = {
        "jobs/b.md": Write("one\nzwei \u00e4\nthree".encode()),
        "jobs/new.sh": Write(b"#!/bin/sh\n", mode=Mode.EXECUTABLE),
    }
    second = snapshots.change(rig.run(), edits).after
    assert second is not None
    found = diff(snapshots, first, second)
    assert [(it.path, it.added, it.removed) for it in found] == [
        ("jobs/b.md", 2, 2), ("jobs/gone.md", 0, 1), ("jobs/new.sh", 1, 0)
    ]  # fmt: skip
    elsewhere = root.parent / "elsewhere"
    for path, data in (("b.md", b"one\ntwo\nthree\n"), ("gone.md", b"x\n"), ("a.md", b"a\n")):
        rig.write(elsewhere, f"jobs/{path}", data)
    text = "".join(it.text for it in found)
    subprocess.run(["git", "apply"], input=text.encode(), cwd=elsewhere, check=True)
    assert rig.state(elsewhere) == rig.state(root)
    assert diff(snapshots, first, second, paths=["jobs/new.sh"]) == [found[2]]
    assert [it.path for it in diff(snapshots, None, first)] == ["jobs/a.md", "jobs/b.md", "jobs/gone.md"]


def test_what_is_no_text_is_said_in_one_line(root: Path) -> None:
    snapshots = rig.repository(root)
    rig.write(root, "jobs/x.bin", b"a\0b\n", 0o600)
    rig.write(root, b'jobs/\xff\n"q".md', b"odd\n")
    (root / "skills/empty").mkdir(parents=True)
    first = snapshots.create(rig.cli()).before
    rig.write(root, "jobs/x.bin", b"a\0c\n", 0o600)
    (root / "jobs/a.md").chmod(0o755)
    (root / "skills/empty").rmdir()
    rig.write(root, b'jobs/\xff\n"q".md', b"odder\n")
    snapshots.create(rig.cli())
    head = snapshots.head()
    assert head is not None
    assert {it.text for it in diff(snapshots, first, head)} == {
        "diff --git a/jobs/a.md b/jobs/a.md\nold mode 100644\nnew mode 100755\n",
        "diff --git a/jobs/x.bin b/jobs/x.bin\nBinary files a/jobs/x.bin and b/jobs/x.bin differ\n",
        'diff --git "a/jobs/\\377\\n\\"q\\".md" "b/jobs/\\377\\n\\"q\\".md"\n--- "a/jobs/\\377\\n\\"q\\".md"\n'
        '+++ "b/jobs/\\377\\n\\"q\\".md"\n@@ -1 +1 @@\n-odd\n+odder\n',
        "diff --git a/skills/empty b/skills/empty\ndeleted empty folder\n",
    }


def test_what_a_plan_would_change_is_shown_before_it_is_written(root: Path) -> None:
    snapshots = rig.repository(root)
    first = snapshots.create(rig.cli()).before
    rig.automated(snapshots, **{"a.md": "by run\n"})
    plan = plan_restore(snapshots, first)
    (only,) = shown(snapshots.objects(plan.new), plan.changes)
    assert only.text.endswith("@@ -1 +1 @@\n-by run\n+a\n")

"""Four processes edit, change, undo and restore one home at once, as chance has it.

Afterwards the history is held against what they say they did: no version is lost, every undo and restore is the merge
that ``git merge-file`` makes of the same texts, and every automated change has the state before it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.snapshots.repository import Commit, SnapshotRepository
from hermes_cron.snapshots.verify import verify
from tests import snapshots_rig as rig
from tests.conftest import clean_env
from tests.snapshot_worker import SHARED

PROCESSES = 4
ACTS = 14
Texts = dict[str, bytes]


class Told:
    """A history as plain texts, read with git and not with what is tested."""

    def __init__(self, root: Path, snapshots: SnapshotRepository, scratch: Path) -> None:
        self.root = root
        self.scratch = scratch
        scratch.mkdir()
        self.commits = {commit.id: commit for commit in snapshots.log()}
        self._texts: dict[str, Texts] = {}

    def texts(self, commit: str) -> Texts:
        tree = self.commits[commit].tree.hex()
        if tree not in self._texts:
            lines = rig.git(self.root, "ls-tree", "-r", "-z", commit).split("\0")[:-1]
            rows = [(line.split("\t", 1)[1], line.split()[2]) for line in lines]
            self._texts[tree] = {path: rig.git(self.root, "cat-file", "blob", oid).encode() for path, oid in rows}
        return self._texts[tree]

    def put(self, ours: Texts, base: Texts, theirs: Texts) -> tuple[Texts, set[str]]:
        """Ours with the change from base to theirs; what does not merge."""
        result, failed = dict(ours), set[str]()
        for path in base.keys() | theirs.keys():
            before, after, now = base.get(path), theirs.get(path), ours.get(path)
            if after in (before, now):
                continue
            merged = after if now == before else self._merged(before, now, after)
            if merged is None and now != before:
                failed.add(path)
            elif merged is None:
                result.pop(path, None)
            else:
                result[path] = merged
        return result, failed

    def _merged(self, *three: bytes | None) -> bytes | None:
        if None in three:
            return None
        for name, text in zip(("base", "ours", "theirs"), three, strict=True):
            (self.scratch / name).write_bytes(text or b"")
        done = subprocess.run(
            ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"], cwd=self.scratch, capture_output=True,
            check=False,
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else None

    def undone(self, made: Commit) -> Texts:
        (back,) = made.undoes
        assert made.parent is not None
        before = self.commits[back].parent
        assert before is not None
        result, failed = self.put(self.texts(made.parent), self.texts(back), self.texts(before))
        assert failed == set()
        return result

    def restored(self, made: Commit) -> Texts:
        assert made.restores is not None
        assert made.parent is not None
        result = self.texts(made.restores)
        for edit in [] if made.exact else self._hand_edits(made.parent, made.restores):
            parent = self.commits[edit].parent
            assert parent is not None
            result, failed = self.put(result, self.texts(parent), self.texts(edit))
            assert failed == set()
        return result

    def _hand_edits(self, newest: str, since: str) -> list[str]:
        """Between the two, oldest first, without what was dropped on purpose."""
        chain = self._chain(newest, since)
        dropped: set[str] = set()
        found = []
        for commit in chain:
            if commit.id in dropped:
                continue
            dropped |= set(commit.undoes)
            if commit.exact and commit.restores is not None and commit.parent is not None:
                dropped |= {it.id for it in self._chain(commit.parent, commit.restores)}
            if commit.actor == "user":
                found.append(commit.id)
        return found[::-1]

    def _chain(self, newest: str, since: str) -> list[Commit]:
        found = []
        at: str | None = newest
        while at is not None and at != since:
            found.append(self.commits[at])
            at = self.commits[at].parent
        return found


@pytest.mark.parametrize("seed", [1, 2])
def test_what_four_processes_did_is_all_there(seed: int, tmp_path: Path) -> None:
    root = tmp_path / "home"
    for path in SHARED:
        rig.write(root, path, "".join(f"line {number}\n" for number in range(12)).encode())
    snapshots = rig.repository(root)
    snapshots.create(rig.cli("begin"))
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.snapshot_worker", str(root), str(seed * 10 + number), str(ACTS)],
            stdout=subprocess.PIPE, text=True, env=clean_env(), cwd=Path(__file__).parents[2],
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    did: list[dict[str, Any]] = []
    for worker in workers:
        out, _ = worker.communicate(timeout=120)
        assert worker.returncode == 0
        did += json.loads(out)
    snapshots.create(rig.cli("end"))
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []

    told = Told(root, snapshots, tmp_path / "scratch")
    ever = {(path, text) for commit in told.commits for path, text in told.texts(commit).items()}
    for act in did:
        if act["what"] == "hand":
            assert (act["path"], act["text"].encode()) in ever
        elif act["what"] == "run":
            before, after = told.texts(act["before"]), told.texts(act["commit"])
            assert told.commits[act["commit"]].parent == act["before"]
            wanted = {**before, **{path: text.encode() for path, text in act["edits"].items() if text is not None}}
            gone = {path for path, text in act["edits"].items() if text is None}
            assert after == {path: text for path, text in wanted.items() if path not in gone}
    for commit in told.commits.values():
        if commit.undoes:
            assert told.texts(commit.id) == told.undone(commit)
        elif commit.restores is not None:
            assert told.texts(commit.id) == told.restored(commit)
    assert {act["what"] for act in did} >= {"hand", "run", "undo", "restore"}

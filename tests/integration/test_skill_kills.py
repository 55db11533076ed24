"""Killed at any step of a change of a skill, or out of disk there: the skill is as before or as after, never between.

Each step is a call into the system that changes a file; the process that makes it is a real one and is killed by
itself with SIGKILL. Some steps of each, drawn by a seed; ``HERMES_CRON_EVERY_KILL=1`` tries them all.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.errors import HermesCronError
from hermes_cron.snapshots.verify import verify
from tests.skill_rig import NAME, PATCH, SKILL, Rig

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "cases" / "data" / "skills.jsonl").read_text(encoding="utf-8").splitlines()
    if (case := json.loads(line))
}
STEPS = {
    "full": ("open", "write", "fsync", "rename", "replace", "link", "mkdir"),
    "kill": ("open", "write", "fsync", "rename", "replace", "link", "mkdir", "unlink", "rmdir", "fchmod", "ftruncate"),
}
EVERY = os.environ.get("HERMES_CRON_EVERY_KILL") == "1"
SAMPLE = 6
CHANGES: dict[str, list[dict[str, Any]]] = {
    "patch and files": [
        PATCH,
        {"action": "write_file", "file": "references/new.md", "content": "new\n"},
        {"action": "remove_file", "file": "references/old.md"},
    ],
    "archive": [{"action": "archive"}],
}


def prepared(root: Path) -> Path:
    with Rig(root) as rig:
        rig.put(f"{NAME}/references/old.md", "old\n")
        rig.put(f"{NAME}/scripts/a.sh", "echo\n", 0o755)
        rig.app.keep_hand_edits()
    return root


def change(root: Path, what: str, *, fail_at: int | None, fault: str) -> tuple[int, int, str]:
    """The change in a process of its own: how it ended, how many steps it made, what it answered."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            rig = Rig.of(root)
            rig.rows()  # the store is open while a run works
            call = rig.to_call(*CHANGES[what])
            say, counted = os.write, _failing(fail_at, fault)
            output = call()
            say(write, json.dumps([counted(), output.text]).encode())
            os._exit(0 if output.ok else 1)
        os._exit(70)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    count, text = json.loads(said) if said else (0, "")
    return os.waitstatus_to_exitcode(status), count, text


def _failing(fail_at: int | None, fault: str) -> Callable[[], int]:
    """From now on the step with this number fails, or this process is killed before it."""
    numbers, made = itertools.count(1), [0]

    def wrapped(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            made[0] = number = next(numbers)
            if number == fail_at and fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if number == fail_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return step(*args, **more)

        return call

    def writing(step: Callable[..., Any]) -> Callable[..., Any]:
        counted = wrapped(step)

        def call(path: Any, flags: int, *args: Any, **more: Any) -> Any:
            made_here = flags & (os.O_CREAT | os.O_TRUNC)
            return (counted if made_here else step)(path, flags, *args, **more)

        return call

    for name in STEPS[fault]:
        setattr(os, name, (writing if name == "open" else wrapped)(getattr(os, name)))
    return lambda: made[0]


def state(root: Path) -> dict[str, tuple[int, bytes]]:
    skills = root / "home/skills"
    return {
        str(path.relative_to(skills)): (path.lstat().st_mode, path.read_bytes())
        for path in sorted(skills.rglob("*"))
        if path.is_file() and not path.name.startswith(".hermes-cron-tmp-")
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("skills"))


@pytest.mark.parametrize("fault", ["kill", "full"])
@pytest.mark.parametrize("what", sorted(CHANGES))
def test_c150_c151_a_skill_is_as_before_or_as_after(what: str, fault: str, template: Path, tmp_path: Path) -> None:
    assert CASES["C151"]["expected"]["never_observed"] is True
    before = state(template)
    whole = shutil.copytree(template, tmp_path / "whole")
    code, count, _ = change(whole, what, fail_at=None, fault=fault)
    after = state(whole)
    assert (code, before == after) == (0, False)
    assert count > SAMPLE
    numbers = range(1, count + 1)
    chosen = numbers if EVERY else sorted(random.Random(f"{what} {fault}").sample(numbers, SAMPLE))
    met = set()
    for number in chosen:
        root = shutil.copytree(template, tmp_path / f"killed-{number}")
        code, _, text = change(root, what, fail_at=number, fault=fault)
        print(what, fault, number, code, text[:200])
        assert code == -signal.SIGKILL if fault == "kill" else code in {0, 1}
        _no_torn_file(root, before, after)
        met.add(_settled(root, what, before, after, told=text if code == 1 else None))
        shutil.rmtree(root)
    assert met == {True, False} or not EVERY


def _no_torn_file(root: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    """C151: at the moment of death each file that has its name is whole."""
    for path, found in state(root).items():
        assert found in (before.get(path), after.get(path)), path
    half = CASES["C151"]["input"]["bytes"].encode()
    assert half not in {data for _, data in state(root).values()}


def _settled(root: Path, what: str, before: dict[str, Any], after: dict[str, Any], *, told: str | None) -> bool:
    """With the next command: whether the change happened, and that history, row and probe say the same."""
    with Rig.of(root) as rig:
        rig.app.history.commits()  # what a killed process left is finished by whoever looks next
        now = state(root)
        assert now in (before, after)
        happened = now == after
        commits = [it for it in rig.app.snapshots.log() if it.call == "s1/1"]
        assert len(commits) == int(happened)
        assert verify(rig.app.snapshots).faults == ()
        if told is not None:  # C150: the state before is kept, and the error names it
            error = json.loads(told)["error"]
            assert error["code"] in {"DiskFull", "SnapshotFailed", "NotWritable"}
            kept = commits[0].parent if commits else rig.app.history.newest().id
            assert kept is not None
            assert kept[:7] in error["message"]
        assert rig.probe("s1/1").happened is happened
        assert [it.name for it in rig.rows()] == [NAME] * int(happened)
        rig.done(*CHANGES[what])  # the same call again, as a resumed run makes it
        assert state(root) == after
        assert [(it.name, it.after is not None) for it in rig.rows()] == [(NAME, True)]
        assert not list(root.rglob(".hermes-cron-tmp-snapshot-*"))
        return happened


def test_c150_a_change_that_cannot_be_made_leaves_the_skill(template: Path, tmp_path: Path) -> None:
    root = shutil.copytree(template, tmp_path / "home-of-c150")
    with Rig.of(root) as rig:
        error = rig.refused(PATCH, {"action": "write_file", "file": "/etc/x", "content": "x"})
        assert error["code"] == "SkillOutsideRoot"
        assert rig.text() == SKILL
        with pytest.raises(HermesCronError):
            rig.app.history.find("0000000")

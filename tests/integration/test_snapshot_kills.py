"""Killed at any write, fsync or rename of a change, an undo, a restore or a gc, a home is as before or as after.

Some points of each, drawn by a seed; ``HERMES_CRON_EVERY_KILL=1`` tries them all (five minutes).
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_cron.snapshots.verify import verify
from tests import snapshot_zygote as acts
from tests import snapshots_rig as rig
from tests.conftest import clean_env

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="needs strace, which kills at a chosen system call")

CALLS = (
    "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,rmdir,ftruncate,"
    "fchmod,symlink,syncfs"
)
EVERY = os.environ.get("HERMES_CRON_EVERY_KILL") == "1"
SAMPLE = 16
ACTS = ("change", "undo", "restore", "gc")
LIMIT_S = 40.0


@dataclass
class Zygote:
    process: subprocess.Popen[str]

    def fork(self, home: Path, act: str, ids: list[str]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"home": str(home), "act": act, "ids": ids}) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def watched(self, home: Path, act: str, ids: list[str], *options: str) -> str:
        """Run an act under strace, to its end or its death; what strace wrote."""
        pid = self.fork(home, act, ids)
        _until(lambda: _status(pid, "State").startswith("T"))
        log = home.parent / f"strace-{pid}"
        watch = subprocess.Popen(
            [str(STRACE), "-f", "-qq", "-o", str(log), "-p", str(pid), "-e", f"trace={CALLS}", *options],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _until(lambda: _status(pid, "TracerPid") != "0" or watch.poll() is not None)
        if watch.poll() is not None:
            os.kill(pid, signal.SIGKILL)
            pytest.skip("this host forbids ptrace")
        os.kill(pid, signal.SIGCONT)
        watch.wait(timeout=LIMIT_S)
        return log.read_text(errors="replace")


def _status(pid: int, key: str) -> str:
    found = re.search(rf"^{key}:\s+(\S+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return found[1] if found else ""


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.snapshot_zygote"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=clean_env(), cwd=Path(__file__).parents[2],
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Zygote(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    home = tmp_path_factory.mktemp("kills") / "template"
    home.mkdir()
    return home, acts.prepare(home)


def copy(template: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(template, to, symlinks=True)
    return to


def points(log: str, seed: str) -> list[tuple[str, int]]:
    """(call, number) of every call that was made, or some of them."""
    made = Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", log, re.MULTILINE))
    everything = [(call, number) for call, count in sorted(made.items()) for number in range(1, count + 1)]
    return everything if EVERY else random.Random(seed).sample(everything, min(SAMPLE, len(everything)))


@pytest.mark.parametrize("act", ACTS)
def test_killed_anywhere_the_home_is_as_before_or_as_after(
    act: str, zygote: Zygote, template: tuple[Path, list[str]], tmp_path: Path
) -> None:
    original, ids = template
    whole = copy(original, tmp_path / "whole")
    log = zygote.watched(whole, act, ids)
    if act != "gc":
        ready, _, done = log.partition("hermes-cron-pending")
        assert re.search(
            r"syncfs\(|fsync\(", ready.rpartition("tmp-snapshot")[2]
        )  # drafts are durable before it is said
        assert re.search(r"syncfs\(|fsync\(", done.rpartition("tmp-snapshot")[2])  # and places before it is done
    before, after = rig.state(original), rig.state(whole)
    assert (before == after) == (act == "gc")
    assert _as_before_or_after(whole, before, after, ids) == after
    met = Counter[bool]()
    for call, number in points(log, act):
        home = copy(original, tmp_path / "killed")
        zygote.watched(home, act, ids, "-e", f"inject={call}:signal=KILL:when={number}")
        if (call, number) in points(log, f"{act} again")[: SAMPLE // 4]:
            zygote.watched(home, "settle", ids, "-e", f"inject=fsync:signal=KILL:when={1 + number % 5}")
        print(call, number)
        now = _as_before_or_after(home, before, after, ids)
        met[now == after] += 1
    assert sum(met.values()) >= SAMPLE


def _as_before_or_after(home: Path, before: rig.State, after: rig.State, ids: list[str]) -> rig.State:
    snapshots = rig.repository(home)
    assert verify(snapshots).faults == ()
    now = rig.state(home)
    assert now in (before, after), (_unlike(now, before), _unlike(now, after))
    assert rig.fsck(home) == []
    made = snapshots.create(rig.cli("look"))  # the next command finds nothing but what the person did
    if made.after is not None:
        (changed,) = snapshots.objects().changed(made.before.tree, made.after.tree)
        assert changed[0] == b"jobs/by-hand.md"
    assert [snapshots.find(old).id for old in ids]
    assert rig.state(home) == now
    assert rig.fsck(home) == []
    assert not list(home.rglob(".hermes-cron-tmp-*"))
    return now


def _unlike(one: rig.State, other: rig.State) -> dict[bytes, tuple[object, object]]:
    return {
        path: (one.get(path), other.get(path)) for path in one.keys() | other.keys() if one.get(path) != other.get(path)
    }

"""Eight processes write one memory beside an editor, some are killed: nothing is lost in silence, nothing is torn."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_cron.clock import SystemClock
from hermes_cron.domain.entries import texts
from hermes_cron.experience.memory import Target
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.wiring import App
from tests.conftest import clean_env

WRITERS = 8
EACH = 50
SAVES = 60
"""At most: what is told of a save is looked for among the newest thousand changes."""
ENTRY = re.compile(r"w\d \d+|hand \d+|before")
LIMIT_S = 240.0


@pytest.fixture
def fast() -> Iterator[Home]:
    """A home in memory where there is such a place: 400 changes are 3,000 waits for a disk."""
    root = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    home = Home(root)
    home.memories.mkdir()
    yield home
    shutil.rmtree(root)


def configure(home: Home, characters: int) -> None:
    home.config.write_text(f'timezone = "UTC"\n[memory]\nmemory_chars = {characters}\n', encoding="utf-8")


def start(home: Home, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.memory_writer", str(home.root), name, str(count)],
        env=clean_env(), cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class Onlooker(threading.Thread):
    """Reads the file all the time, as a run or a person might; what it must never see is kept."""

    def __init__(self, path: Path, characters: int) -> None:
        super().__init__(daemon=True)
        self.path, self.characters = path, characters
        self.done = threading.Event()
        self.seen = 0
        self.bad: list[str] = []

    def run(self) -> None:
        while not self.done.is_set():
            data = self.path.read_bytes()
            self.seen += 1
            torn = [entry for entry in texts(data) if not ENTRY.fullmatch(entry)]
            if torn or len(data.decode()) > self.characters:
                self.bad.append(f"{len(data.decode())} characters, {torn}")
            self.done.wait(0.002)


class Editor(threading.Thread):
    """Saves what it read and one line more, by a rename as editors do; what others wrote meanwhile it does not know."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.done = threading.Event()
        self.saves = 0

    def run(self) -> None:
        while self.saves < SAVES and not self.done.wait(0.15):
            text = self.path.read_text("utf-8")
            draft = self.path.parent / ".MEMORY.md.swp"
            draft.write_text(f"{text.rstrip()}\n§\nhand {self.saves}\n", encoding="utf-8")
            draft.replace(self.path)
            self.saves += 1


def entries(home: Home) -> list[str]:
    return list(texts((home.memories / "MEMORY.md").read_bytes()))


def app_of(home: Home) -> App:
    return App(home, Settings.load(home), SystemClock())


def test_eight_writers_and_an_editor_lose_nothing_in_silence(fast: Home) -> None:
    """Issue check 3."""
    configure(fast, 20_000)
    path = fast.memories / "MEMORY.md"
    path.write_text("before\n", encoding="utf-8")
    onlooker, editor = Onlooker(path, 20_000), Editor(path)
    onlooker.start()
    writers = [start(fast, f"w{number}", EACH) for number in range(WRITERS)]
    editor.start()
    said = [json.loads(writer.communicate(timeout=LIMIT_S)[0]) for writer in writers]
    editor.done.set()
    editor.join(60)
    onlooker.done.set()
    onlooker.join(60)

    assert onlooker.seen > 50
    assert onlooker.bad == []
    assert editor.saves > 5
    app = app_of(fast)
    there, told = entries(fast), {lost.entry for lost in app.memory.lost(Target.MEMORY)}
    app.close()
    added = {entry for each in said for entry in each["added"]}
    refused = {entry for each in said for entry in each["refused"]}
    assert len(added) + len(refused) == WRITERS * EACH
    assert added - set(there) <= told, "what the editor saved over is told"
    assert len(there) == len(set(there))
    assert {f"hand {number}" for number in range(editor.saves)} <= set(there) | told
    assert "before" in there


def test_the_limit_holds_however_many_write(fast: Home) -> None:
    configure(fast, 300)
    path = fast.memories / "MEMORY.md"
    path.write_text("before\n", encoding="utf-8")
    onlooker = Onlooker(path, 300)
    onlooker.start()
    writers = [start(fast, f"w{number}", 12) for number in range(WRITERS)]
    said = [json.loads(writer.communicate(timeout=LIMIT_S)[0]) for writer in writers]
    onlooker.done.set()
    onlooker.join(60)
    assert onlooker.bad == []
    added = [entry for each in said for entry in each["added"]]
    assert sorted(entries(fast)) == sorted(["before", *added])
    assert len("\n§\n".join(entries(fast))) > 290, "it is full"
    why = {message for each in said for message in each["refused"].values()}
    assert all("replace or remove existing entries first" in message for message in why)


def test_writers_that_are_killed_leave_whole_entries_and_what_they_said_is_there(fast: Home) -> None:
    configure(fast, 20_000)
    path = fast.memories / "MEMORY.md"
    path.write_text("before\n", encoding="utf-8")
    onlooker = Onlooker(path, 20_000)
    onlooker.start()
    writers = [start(fast, f"w{number}", EACH) for number in range(WRITERS)]
    acknowledged: list[str] = []
    for number, writer in enumerate(writers):
        assert writer.stderr is not None
        acknowledged += [writer.stderr.readline().strip() for _ in range(2 + 2 * number)]
        writer.send_signal(signal.SIGKILL)
    for writer in writers:
        assert writer.stderr is not None
        acknowledged += writer.stderr.read().splitlines()
        writer.wait(LIMIT_S)
        writer.stderr.close()
        assert writer.stdout is not None
        writer.stdout.close()
    onlooker.done.set()
    onlooker.join(60)
    assert onlooker.bad == []
    app = app_of(fast)
    app.snapshots.settle()  # as the next command does
    there = entries(fast)
    assert set(acknowledged) <= set(there)
    extra = set(there) - set(acknowledged) - {"before"}
    assert len(extra) <= WRITERS, "at most one that a killed process could not say any more"
    assert app.history.verify().faults == ()
    app.close()
    assert [name for name in os.listdir(fast.memories) if name != "MEMORY.md"] == []

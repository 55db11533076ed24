"""An owner is dead when the kernel released its lock, and only then."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from hermes_cron.home import Home
from hermes_cron.scheduler.owners import Owner, dead, forget, lives, living, others

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CHILD = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from hermes_cron.scheduler.owners import Owner
owner = Owner(Path(sys.argv[1]), kind="serve", started_at=datetime(2026, 12, 1, tzinfo=UTC))
print(owner.name, flush=True)
time.sleep(60)
"""


def test_a_living_owner_is_seen_and_a_closed_one_is_gone(home: Home) -> None:
    with Owner(home.owners, kind="run", started_at=NOW) as owner:
        assert lives(home.owners, owner.name)
        (found,) = living(home.owners)
        assert (found.name, found.pid, found.kind, found.started_at) == (owner.name, os.getpid(), "run", NOW)
        assert not others(home.owners, owner.name)
    assert not lives(home.owners, owner.name)
    assert living(home.owners) == []


def test_a_killed_process_is_dead_and_a_stopped_one_is_not(home: Home) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(home.owners)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout as pipe:
        name = pipe.readline().strip()
    child.send_signal(signal.SIGSTOP)
    assert lives(home.owners, name)
    assert dead(home.owners, "me") == []
    child.kill()
    child.wait()
    assert not lives(home.owners, name)
    assert others(home.owners, "me")
    assert dead(home.owners, "me") == [name]
    forget(home.owners, [name])
    assert not others(home.owners, "me")


def test_an_owner_whose_file_was_deleted_comes_back_with_its_next_beat(home: Home) -> None:
    with Owner(home.owners, kind="serve", started_at=NOW) as owner:
        owner.path.unlink()
        assert not lives(home.owners, owner.name)
        owner.beat()
        assert lives(home.owners, owner.name)


def test_a_beat_moves_the_heartbeat(home: Home) -> None:
    with Owner(home.owners, kind="serve", started_at=NOW) as owner:
        os.utime(owner.path, (1, 1))
        owner.beat()
        (found,) = living(home.owners)
        assert found.heartbeat > NOW.replace(year=2000)


def test_an_owner_whose_file_cannot_be_looked_at_is_not_dead(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with Owner(home.owners, kind="serve", started_at=NOW) as owner:

        def none_left(*_: object) -> int:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr("hermes_cron.scheduler.owners.os.open", none_left)
        assert lives(home.owners, owner.name)
        assert dead(home.owners, "me") == []
        monkeypatch.undo()
    assert not lives(home.owners, owner.name)

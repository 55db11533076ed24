"""Reports appended to a file: whole, once, and never over what the home lives from."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_cron.delivery.file import AppendedFile, entry_of, heading
from hermes_cron.domain.delivery import Answer, DeliveryKind, Heard, Message
from hermes_cron.home import Home

MESSAGE = Message(
    id="d1-00000000000000aa",
    kind=DeliveryKind.REPORT,
    title="prod: fine",
    body="# prod: fine\n\nall is well\n",
    job="inspect",
    created_at=datetime(2026, 12, 1, 9, tzinfo=UTC),
    run_id="r1",
)


def send(home: Home, path: str = "reports.md", message: Message = MESSAGE, timeout_s: float = 5) -> Answer:
    return AppendedFile(home=home, path=path, timeout_s=timeout_s).send(message)


def test_entries_stand_below_each_other_each_with_its_id(home: Home) -> None:
    assert send(home).heard is Heard.SENT
    assert send(home, message=replace(MESSAGE, id="d2-bb", body="again 📊", title="inspect")).heard is Heard.SENT
    assert (home.root / "reports.md").read_text() == (
        "\n## 2026-12-01 09:00:00Z inspect report [d1-00000000000000aa]\n\n# prod: fine\n\nall is well\n"
        "\n## 2026-12-01 09:00:00Z inspect report [d2-bb]\n\ninspect\n\nagain 📊\n"
    )
    assert (home.root / "reports.md").stat().st_mode & 0o777 == 0o600


def test_a_folder_of_the_home_is_made_one_elsewhere_is_not(home: Home, tmp_path: Path) -> None:
    assert send(home, "reports/2026/all.md").heard is Heard.SENT
    missing = tmp_path / "unmounted" / "all.md"
    assert send(home, str(missing)) == Answer(
        heard=Heard.LATER, text=f"cannot write {missing}: No such file or directory"
    )


def test_what_arrived_is_not_written_again(home: Home) -> None:
    send(home)
    answer = send(home, message=replace(MESSAGE, again=True))
    assert answer == Answer(heard=Heard.SENT, text="in reports.md already, by an earlier try")
    assert (home.root / "reports.md").read_bytes() == entry_of(MESSAGE)


@pytest.mark.parametrize("cut", [1, 20, 60, len(entry_of(MESSAGE)) - 1])
def test_half_an_entry_at_the_end_is_taken_back_and_written_whole(home: Home, cut: int) -> None:
    file = home.root / "reports.md"
    file.write_bytes(b"notes of mine\n" + entry_of(MESSAGE)[:cut])
    assert send(home, message=replace(MESSAGE, again=True)).heard is Heard.SENT
    written = file.read_bytes()
    assert written.startswith(b"notes of mine\n")
    assert written.endswith(entry_of(MESSAGE))
    assert written.count(heading(MESSAGE)) == 1


def test_an_entry_that_a_person_edited_counts_as_there(home: Home) -> None:
    file = home.root / "reports.md"
    file.write_bytes(entry_of(MESSAGE).replace(b"well", b"very well") + b"\nmore\n")
    before = file.read_bytes()
    assert send(home, message=replace(MESSAGE, again=True)).heard is Heard.SENT
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "path",
    [
        "config.toml", "vault.json", "state.db", "state.db-wal", "jobs/x.md", "skills/x/SKILL.md", "memories/MEMORY.md",
        "tools/evil.py", "reports/../config.toml", "logs/serve.log", "run/wake", ".",
    ],
)  # fmt: skip
def test_what_the_home_lives_from_is_refused(home: Home, path: str) -> None:
    before = home.config.read_bytes()
    answer = send(home, path)
    assert answer.heard is Heard.FAILED
    assert "is refused" in answer.text
    absolute = send(home, str(home.root / path))
    assert absolute.heard is Heard.FAILED
    assert home.config.read_bytes() == before
    assert not (home.jobs / "x.md").exists()


def test_links_to_what_the_home_lives_from_are_seen_through(home: Home, tmp_path: Path) -> None:
    (tmp_path / "soft.md").symlink_to(home.config)
    os.link(home.config, tmp_path / "hard.md")
    before = home.config.read_bytes()
    assert send(home, str(tmp_path / "soft.md")).heard is Heard.FAILED
    hard = send(home, str(tmp_path / "hard.md"))
    assert (hard.heard, "config.toml of the home under another name" in hard.text) == (Heard.FAILED, True)
    assert home.config.read_bytes() == before


def test_pipes_and_folders_do_not_hold_the_sender(home: Home) -> None:
    os.mkfifo(home.root / "pipe")
    (home.root / "folder").mkdir()
    assert send(home, "pipe") == Answer(heard=Heard.FAILED, text="pipe is no ordinary file")
    assert send(home, "folder").heard is Heard.FAILED


def test_a_locked_file_is_waited_for_only_so_long(home: Home) -> None:
    file = home.root / "reports.md"
    with file.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = send(home, timeout_s=0.1)
    assert answer == Answer(heard=Heard.LATER, text="reports.md was locked for 0.1 s")


def test_half_an_entry_is_not_left_where_the_disk_is_full() -> None:
    small = Path("/dev/full")
    if not small.exists():
        raise AssertionError("this host has no /dev/full")
    # /dev/full is no ordinary file: what is refused is the kind, before a byte is written
    answer = send(Home(Path("/nonexistent")), "/dev/full")
    assert answer == Answer(heard=Heard.FAILED, text="/dev/full is no ordinary file")

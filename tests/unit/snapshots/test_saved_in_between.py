"""A person saves after the last look and before the file is put into place: their version stands, whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_cron import files
from hermes_cron.snapshots.repository import Why, Write
from tests.snapshots_rig import repository

WHY = Why(actor="run", reason="memory add: by the run")


def test_a_save_in_the_last_moment_is_kept_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "memories" / "MEMORY.md"
    place.parent.mkdir()
    place.write_text("first\n")
    snapshots = repository(tmp_path)
    swap = files.exchange
    saves = iter(["by hand\n"])

    def just_before(one: bytes, other: bytes) -> bool:
        for text in saves:
            draft = tmp_path / "draft"
            draft.write_text(text)
            os.replace(draft, place)
        return swap(one, other)

    monkeypatch.setattr(files, "exchange", just_before)
    done = snapshots.change(WHY, {"memories/MEMORY.md": Write(b"first\n\xc2\xa7\nby the run\n")}, scope="paths")
    assert done.kept == ("memories/MEMORY.md",)
    assert place.read_text() == "by hand\n"
    assert os.listdir(place.parent) == ["MEMORY.md"], "no draft is left"
    after = snapshots.create(Why(actor="user", reason="edited by hand")).after
    assert after is not None


@pytest.mark.parametrize("able", [True, False], ids=["swapped", "a file system that cannot swap"])
def test_without_a_save_the_new_file_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, able: bool) -> None:
    place = tmp_path / "memories" / "MEMORY.md"
    place.parent.mkdir()
    place.write_text("first\n")
    if not able:
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    done = repository(tmp_path).change(WHY, {"memories/MEMORY.md": Write(b"second\n")}, scope="paths")
    assert done.kept == ()
    assert place.read_text() == "second\n"
    assert os.listdir(place.parent) == ["MEMORY.md"]


def test_two_names_swap_what_they_stand_for(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    if not files.exchange(os.fsencode(one), os.fsencode(other)):
        pytest.skip("this file system cannot swap two names")
    assert (one.read_text(), other.read_text()) == ("2", "1")
    with pytest.raises(FileNotFoundError):
        files.exchange(os.fsencode(one), os.fsencode(tmp_path / "nowhere"))

"""A byte of a backup that is not what was written, anywhere, is found."""

from __future__ import annotations

import gzip
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.backup.archive import seal_of
from hermes_cron.backup.create import create
from hermes_cron.backup.verify import verify
from hermes_cron.errors import BackupDamaged, HermesCronError
from hermes_cron.snapshots.repository import SnapshotRepository, Why
from hermes_cron.store.engine import Store
from hermes_cron.testing import FixedClock

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of member: files large, small, empty and that do not pack; folders, links, a store, a history."""
    root = tmp_path_factory.mktemp("backup") / "home"
    (root / "jobs").mkdir(parents=True)
    (root / "skills" / "empty").mkdir(parents=True)
    (root / "config.toml").write_text('timezone = "UTC"\n')
    (root / "jobs" / "a.md").write_text("look at the logs\n" * 500)
    (root / "jobs" / "nothing.md").touch()
    (root / "jobs" / "link.md").symlink_to("a.md")
    (root / "outputs").mkdir()
    (root / "outputs" / "noise").write_bytes(os.urandom(200_000))
    SnapshotRepository(root, FixedClock(AT)).create(Why(actor="cli", reason="first"))
    Store(root / "state.db").close()
    made = create(root, root.parent / "b.tar.gz", at=AT, version="9")
    verify(made.file)
    return made.file


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_byte_anywhere_is_found(whole: Path, data: st.DataObject) -> None:
    good = whole.read_bytes()
    # the ends are where headers, checksums and the seal lie: as likely as all between them
    near = st.one_of(st.integers(0, 63), st.integers(len(good) - 160, len(good) - 1), st.integers(0, len(good) - 1))
    at, mask = data.draw(near, label="offset"), data.draw(st.integers(1, 255), label="xor")
    _refused(whole, good[:at] + bytes([good[at] ^ mask]) + good[at + 1 :])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_cut_a_hole_and_bytes_too_many_are_found(whole: Path, data: st.DataObject) -> None:
    good = whole.read_bytes()
    at = data.draw(st.integers(0, len(good) - 1), label="offset")
    size = data.draw(st.integers(1, 600), label="size")
    how = data.draw(st.sampled_from(["cut", "hole", "twice", "tail"]), label="how")
    changed = {
        "cut": good[:at],
        "hole": good[:at] + good[at + size :],
        "twice": good[: at + size] + good[at:],
        "tail": good + data.draw(st.binary(min_size=1, max_size=size), label="tail"),
    }[how]
    _refused(whole, changed)


@pytest.mark.parametrize("name", [b"config.toml", b"state.db", b"HEAD", b"noise", b"a.md"], ids=bytes.decode)
def test_what_the_seal_would_not_find_the_manifest_does(whole: Path, tmp_path: Path, name: bytes) -> None:
    """Each member's bytes are compared by their own hash: a stranger's seal over other bytes does not help."""
    plain = bytearray(gzip.decompress(whole.read_bytes()))
    header = plain.index(b"/" + name + b"\0")
    plain[header + 512 - header % 512] ^= 1
    body = gzip.compress(plain, mtime=0)
    other = tmp_path / "other.tar.gz"
    other.write_bytes(body + seal_of(hashlib.sha256(body).hexdigest()))
    with pytest.raises(BackupDamaged, match="is not what its manifest says; 1 members differ"):
        verify(other)


def _refused(whole: Path, data: bytes) -> None:
    if data == whole.read_bytes():  # a hole at the very end of nothing
        return
    bad = whole.with_name("bad.tar.gz")
    bad.write_bytes(data)
    with pytest.raises(HermesCronError) as caught:
        verify(bad)
    assert caught.value.hint

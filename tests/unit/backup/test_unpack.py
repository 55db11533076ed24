"""A stranger's archive writes nothing outside the folder it is unpacked into, and nothing through a link."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_cron.backup.archive import HOME, MANIFEST, TOP, seal_of
from hermes_cron.backup.restore import restore
from hermes_cron.backup.verify import verify
from hermes_cron.errors import BackupDamaged, ImportUnsafePath

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, data: bytes = b"x") -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def special(name: str, kind: bytes, target: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o755
    return info, b""


def folder(name: str) -> Member:
    return special(name, tarfile.DIRTYPE)


def manifest(**more: object) -> Member:
    head = {"format": 1, "version": "9", "at": "2026-11-30T12:00:00+00:00", "home": "h", "key": "none", "store": None}
    rest = {"left_out": [], "changed": [], "entries": [{"path": "", "kind": "folder", "mode": "0755", "size": 0,
                                                        "sha256": ""}]}  # fmt: skip
    return file(MANIFEST, json.dumps({**head, **rest, **more}).encode())


def archive(path: Path, *members: Member, tail: bytes = b"", seal: bool = True) -> Path:
    """As a stranger would make one who knows the format, seal and all."""
    raw = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as zipped:
        with tarfile.TarFile(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for info, data in members:
                tar.addfile(info, io.BytesIO(data))
        zipped.write(tail)
    body = raw.getvalue()
    path.write_bytes(body + (seal_of(hashlib.sha256(body).hexdigest()) if seal else b""))
    return path


UNSAFE = {
    "above": [folder(HOME), file(f"{HOME}/../../evil")],
    "above by a folder": [folder(HOME), folder(f"{HOME}/.."), file(f"{HOME}/../evil")],
    "absolute": [folder(HOME), file("/tmp/evil")],
    "beside the home": [folder(HOME), file(f"{TOP}/evil")],
    "a name that begins like the home": [folder(HOME), file(f"{HOME}evil")],
    "no folder of ours": [file("evil")],
    "a dot": [folder(HOME), file(f"{HOME}/./evil")],
    "an empty part": [folder(HOME), file(f"{HOME}//evil")],
    "through a link": [folder(HOME), special(f"{HOME}/l", tarfile.SYMTYPE, ".."), file(f"{HOME}/l/evil")],
    "through a link to a folder of the home": [
        folder(HOME), folder(f"{HOME}/d"), special(f"{HOME}/l", tarfile.SYMTYPE, "d"), file(f"{HOME}/l/evil"),
    ],
    "over a link": [folder(HOME), special(f"{HOME}/l", tarfile.SYMTYPE, "../../evil"), file(f"{HOME}/l")],
    "a file twice": [folder(HOME), file(f"{HOME}/f"), file(f"{HOME}/f")],
    "below a file": [folder(HOME), file(f"{HOME}/f"), file(f"{HOME}/f/evil")],
    "the home is a link and nothing else": [special(HOME, tarfile.SYMTYPE, ".."), manifest()],
    "the home is a file": [file(HOME), manifest()],
    "the home is a link": [special(HOME, tarfile.SYMTYPE, ".."), file(f"{HOME}/evil")],
    "a hard link": [folder(HOME), special(f"{HOME}/h", tarfile.LNKTYPE, "/etc/passwd")],
    "a device": [folder(HOME), special(f"{HOME}/d", tarfile.CHRTYPE)],
    "a pipe": [folder(HOME), special(f"{HOME}/p", tarfile.FIFOTYPE)],
    "a file whose folder is not there": [folder(HOME), file(f"{HOME}/a/b")],
    "after the manifest": [folder(HOME), manifest(), file(f"{HOME}/evil")],
}  # fmt: skip


@pytest.mark.parametrize("do", [verify, lambda path: restore(path, path.parent / "new")], ids=["verify", "restore"])
@pytest.mark.parametrize("members", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_unsafe_member_is_refused(tmp_path: Path, members: list[Member], do: Callable[[Path], object]) -> None:
    made = archive(tmp_path / "in" / "a.tar.gz" if (tmp_path / "in").mkdir() is None else tmp_path, *members)
    with pytest.raises(ImportUnsafePath) as caught:
        do(made)
    assert caught.value.exit_code == 4
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar.gz", "in"]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        pytest.param([folder(HOME), file(f"{HOME}/extra"), manifest()], "1 members differ", id="not in the manifest"),
        pytest.param([manifest()], "1 members differ", id="missing"),
        pytest.param([folder(HOME)], "has no manifest", id="no manifest"),
        pytest.param([folder(HOME), manifest(format=2)], "its format is 2", id="a newer format"),
        pytest.param([folder(HOME), manifest(key="where")], "is not a valid Key", id="an unknown word"),
        pytest.param([folder(HOME), manifest(entries=7)], "not as hermes-cron writes it", id="no list"),
        pytest.param([folder(HOME), file(MANIFEST, b"{")], "Expecting", id="no JSON"),
        pytest.param([folder(HOME), manifest(store={"schema": 2, "rows": {}})], "wrong about state.db", id="no store"),
    ],
)  # fmt: skip
def test_what_its_manifest_does_not_say_is_damage(tmp_path: Path, members: list[Member], said: str) -> None:
    made = archive(tmp_path / "a.tar.gz", *members)
    with pytest.raises(BackupDamaged) as caught:
        restore(made, tmp_path / "new")
    assert said in f"{caught.value.message} {caught.value.details}"
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_an_archive_of_our_form_without_a_seal_is_refused(tmp_path: Path) -> None:
    assert verify(archive(tmp_path / "sealed.tar.gz", folder(HOME), manifest(entries=[entry("0755")]))).files == 0
    with pytest.raises(BackupDamaged, match="its seal does not fit"):
        verify(archive(tmp_path / "not.tar.gz", folder(HOME), manifest(), seal=False))


def entry(mode: str) -> dict[str, object]:
    return {"path": "", "kind": "folder", "mode": mode, "size": 0, "sha256": ""}


def test_a_bit_that_gives_power_away_is_not_restored(tmp_path: Path) -> None:
    info, data = file(f"{HOME}/f")
    info.mode = 0o4755
    sha = hashlib.sha256(data).hexdigest()
    entries = [entry("0644"), {"path": "f", "kind": "file", "mode": "0755", "size": 1, "sha256": sha}]
    root, _ = folder(HOME)
    root.mode = 0o644
    made = archive(tmp_path / "a.tar.gz", (root, b""), (info, data), manifest(entries=entries))
    restore(made, tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o644

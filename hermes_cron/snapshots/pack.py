"""How do many objects become durable with three fsyncs? As one pack with its index, git's own format (version 2).

A loose object is a file, a folder and a rename each. libgit2 writes packs only from objects that are there already,
so the two files are written here; gitformat-pack(5) says how. Packs made here are small (``Objects`` sees to it), and
when there are many, ``roll_up`` makes one of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import zlib
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path

from hermes_cron.files import sync_folder, write_all

Oid = bytes
"""The 20 raw bytes of an object's id."""


class Kind(IntEnum):
    """What an object is; git's numbers."""

    COMMIT = 1
    TREE = 2
    BLOB = 3


COMMIT, TREE, BLOB = Kind.COMMIT, Kind.TREE, Kind.BLOB
_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}

_LEVEL = 1  # of zlib: half the time of its default for a tenth more bytes
_MANY = 24  # small packs that are made one
_SMALL = 4_000_000  # bytes of a pack that is still rolled up
_NAMES_AT = 8 + 256 * 4  # in an index


def object_id(kind: Kind, data: bytes) -> Oid:
    """The id that git gives to this content."""
    return hashlib.sha1(b"%s %d\0" % (_NAMES[kind], len(data)) + data, usedforsecurity=False).digest()


def write_pack(git: Path, objects: Mapping[Oid, tuple[Kind, bytes]]) -> Path | None:
    """The pack file, None for no objects. Durable on return."""
    if not objects:
        return None
    body = bytearray(b"PACK" + struct.pack(">II", 2, len(objects)))
    places: dict[Oid, tuple[int, int]] = {}
    for oid, (kind, content) in objects.items():
        entry = _head(kind, len(content)) + zlib.compress(content, _LEVEL)
        places[oid] = (len(body), zlib.crc32(entry))
        body += entry
    checksum = hashlib.sha1(body, usedforsecurity=False).digest()
    folder = git / "objects" / "pack"
    whole = {
        folder / f"pack-{checksum.hex()}.pack": bytes(body) + checksum,
        folder / f"pack-{checksum.hex()}.idx": _index(places, checksum),
    }
    drafts = {path: folder / f"tmp_{secrets.token_hex(6)}_{path.name}" for path in whole}
    try:
        for path, data in whole.items():
            _write(drafts[path], data)
        for path, draft in drafts.items():  # the index last: git looks for packs by their index
            draft.replace(path)
    except BaseException:
        for draft in drafts.values():
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        raise
    sync_folder(folder)
    return next(iter(whole))


def roll_up(git: Path, size: Callable[[Oid], int], read: Callable[[Oid], tuple[Kind, bytes]]) -> None:
    """Make one pack of the small ones when there are many. A kill at any point leaves every object in some pack.

    Small is what it holds: a pack of ``gc`` has differences in place of objects, and is left alone when it is large.
    """
    packs = [path for path in (git / "objects" / "pack").glob("pack-*.pack") if path.stat().st_size < _SMALL]
    if len(packs) < _MANY:
        return
    chosen: dict[Path, list[Oid]] = {}
    total = 0
    for path in packs:
        inside = ids_of(path)
        bytes_inside = sum(size(oid) for oid in inside)
        if bytes_inside < _SMALL and total + bytes_inside < _SMALL * 8:
            chosen[path] = inside
            total += bytes_inside
    if len(chosen) > 1:
        made = write_pack(git, {oid: read(oid) for inside in chosen.values() for oid in inside})
        remove_packs([path for path in chosen if path != made])


def remove_packs(packs: list[Path]) -> None:
    """The index goes first: without it a pack is not looked into."""
    for path in packs:
        path.with_suffix(".idx").unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def ids_of(pack: Path) -> list[Oid]:
    """The objects of a pack, by its index. Raises OSError, ValueError."""
    data = pack.with_suffix(".idx").read_bytes()
    if data[:8] != b"\xfftOc\0\0\0\2":
        raise ValueError(f"{pack.with_suffix('.idx').name} is no index of version 2")
    (count,) = struct.unpack_from(">I", data, _NAMES_AT - 4)
    return [data[at : at + 20] for at in range(_NAMES_AT, _NAMES_AT + 20 * count, 20)]


def is_whole(path: Path) -> bool:
    """Whether a pack or an index ends with the checksum of what it holds."""
    data = path.read_bytes()
    return len(data) > 20 and hashlib.sha1(data[:-20], usedforsecurity=False).digest() == data[-20:]


def _head(kind: Kind, size: int) -> bytes:
    """Kind and size: four bits in the first byte, seven in each that follows."""
    byte, size = (kind << 4) | (size & 0x0F), size >> 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    found.append(byte)
    return bytes(found)


def _index(places: Mapping[Oid, tuple[int, int]], checksum: bytes) -> bytes:
    ordered = sorted(places)
    counts = [0] * 256
    for oid in ordered:
        counts[oid[0]] += 1
    total, fan = 0, []
    for count in counts:
        total += count
        fan.append(total)
    whole = (
        b"\xfftOc"
        + struct.pack(">I", 2)
        + struct.pack(">256I", *fan)
        + b"".join(ordered)
        + b"".join(struct.pack(">I", places[oid][1]) for oid in ordered)
        + b"".join(struct.pack(">I", places[oid][0]) for oid in ordered)
        + checksum
    )
    return whole + hashlib.sha1(whole, usedforsecurity=False).digest()


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)

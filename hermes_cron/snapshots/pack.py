"""How do a thousand objects become durable with one fsync? As one pack with its index, git's own format (version 2).

A loose object is a file, a folder and a rename each: a second for a thousand. libgit2 writes packs only from objects
that are there already, so the two files are written here; gitformat-pack(5) says how.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

Oid = bytes
COMMIT, TREE, BLOB = 1, 2, 3
_LEVEL = 1  # of zlib: half the time of its default for a tenth more bytes


def write_pack(git: Path, objects: Iterable[tuple[Oid, int, bytes]]) -> str | None:
    """(id, kind, content) of each, none twice; the pack's name, None for no objects. Durable on return."""
    body = bytearray()
    places: dict[Oid, tuple[int, int]] = {}
    for oid, kind, content in objects:
        entry = _head(kind, len(content)) + zlib.compress(content, _LEVEL)
        places[oid] = (12 + len(body), zlib.crc32(entry))
        body += entry
    if not places:
        return None
    whole = b"PACK" + struct.pack(">II", 2, len(places)) + bytes(body)
    checksum = hashlib.sha1(whole, usedforsecurity=False).digest()
    name = f"pack-{hashlib.sha1(b''.join(sorted(places)), usedforsecurity=False).hexdigest()}"
    folder = git / "objects" / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    # The index last: git looks for packs by their index.
    _durable(folder / f"{name}.pack", whole + checksum)
    _durable(folder / f"{name}.idx", _index(places, checksum))
    _sync(folder)
    return name


def _head(kind: int, size: int) -> bytes:
    """Kind and size: four bits in the first byte, seven in each that follows."""
    byte, size = (kind << 4) | (size & 0x0F), size >> 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    found.append(byte)
    return bytes(found)


def _index(places: dict[Oid, tuple[int, int]], checksum: bytes) -> bytes:
    ordered = sorted(places)
    counts = [0] * 256
    for oid in ordered:
        counts[oid[0]] += 1
    total, fan = 0, []
    for count in counts:
        total += count
        fan.append(total)
    offsets, large = bytearray(), bytearray()
    for oid in ordered:
        at = places[oid][0]
        if at < 0x80000000:
            offsets += struct.pack(">I", at)
        else:
            offsets += struct.pack(">I", 0x80000000 | (len(large) // 8))
            large += struct.pack(">Q", at)
    whole = (
        b"\xfftOc"
        + struct.pack(">I", 2)
        + struct.pack(">256I", *fan)
        + b"".join(ordered)
        + b"".join(struct.pack(">I", places[oid][1]) for oid in ordered)
        + bytes(offsets)
        + bytes(large)
        + checksum
    )
    return whole + hashlib.sha1(whole, usedforsecurity=False).digest()


def _durable(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"tmp_{os.getpid()}_{path.name}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o444)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    temporary.replace(path)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

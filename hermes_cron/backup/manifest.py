"""What does a backup say of itself? The last member of the archive, JSON; docs/formats/backup.md is its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

FORMAT = 1
STORE = "state.db"
HISTORY = "snapshots.git"


class Kind(StrEnum):
    """What a member is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"


class Key(StrEnum):
    """Where the key of the vault is. ``ELSEWHERE``: not in the home at all, so no backup of the home can have it."""

    NONE = "none"
    INCLUDED = "included"
    LEFT_OUT = "left_out"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One member. ``path`` is relative to the home ("" is the home itself); bytes of a name that are no UTF-8 stand as
    surrogates. ``sha256`` is that of a file's bytes or of a link's target, empty for a folder."""

    path: str
    kind: Kind
    mode: int
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in the home that is not in the backup as it is. ``fault``: it should be, and could not be read."""

    path: str
    why: str
    fault: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """``rows`` by table."""

    schema: int
    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """``at`` is when the backup was begun; ``store`` None: the home had none yet. ``changed``: files that were never
    the same before and after they were read."""

    version: str
    at: datetime
    home: str
    key: Key
    store: StoreFacts | None
    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    changed: tuple[str, ...]

    def to_json(self) -> bytes:
        """One line a member, so that people can read it; only ASCII, whatever the names are."""
        head = {
            "format": FORMAT,
            "version": self.version,
            "at": self.at.isoformat(),
            "home": self.home,
            "key": self.key,
            "store": None if self.store is None else {"schema": self.store.schema, "rows": dict(self.store.rows)},
            "left_out": [asdict(each) for each in self.left_out],
            "changed": list(self.changed),
        }
        lines = ",\n".join(f"  {json.dumps(asdict(entry) | {'mode': f'{entry.mode:04o}'})}" for entry in self.entries)
        return f'{json.dumps(head, indent=1)[:-2]},\n "entries": [\n{lines}\n ]\n}}\n'.encode("ascii")


def from_json(data: bytes) -> Manifest:
    """Raises ValueError for anything that ``to_json`` does not write, also for the format of a newer version."""
    try:
        found = json.loads(data)
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']}; this hermes-cron knows {FORMAT}")
        return Manifest(
            version=str(found["version"]),
            at=datetime.fromisoformat(found["at"]),
            home=str(found["home"]),
            key=Key(found["key"]),
            store=None if found["store"] is None else _store(found["store"]),
            entries=tuple(_entry(each) for each in found["entries"]),
            left_out=tuple(LeftOut(**each) for each in found["left_out"]),
            changed=tuple(str(path) for path in found["changed"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its manifest is not as hermes-cron writes it ({error})") from error


def _store(found: Mapping[str, Any]) -> StoreFacts:
    return StoreFacts(schema=int(found["schema"]), rows={str(name): int(n) for name, n in found["rows"].items()})


def _entry(found: Mapping[str, Any]) -> Entry:
    return Entry(
        path=str(found["path"]),
        kind=Kind(found["kind"]),
        mode=int(found["mode"], 8),
        size=int(found["size"]),
        sha256=str(found["sha256"]),
    )

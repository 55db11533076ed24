"""How does a backup become a home, whole or not at all?

Into a folder that is new or empty. Everything is unpacked beside it, opened and compared there, made durable, and then
put in place by one rename.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.backup.manifest import Kind
from hermes_cron.backup.staging import staging
from hermes_cron.backup.unpack import unpack
from hermes_cron.backup.verify import Verified, check
from hermes_cron.errors import Conflict
from hermes_cron.files import explained, sync_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """``outside`` are links of the home that lead out of it: kept, and nothing of what they lead to."""

    home: Path
    proof: Verified
    outside: tuple[str, ...]


def restore(archive: Path, to: Path) -> Restored:
    """Raises ``Conflict`` unless ``to`` is new or empty, and what ``verify`` raises; nothing is changed then."""
    _refuse(to)
    with staging(to.parent) as aside, explained(to):
        home = aside / "home"
        unpacked = unpack(archive, home)
        found = check(archive, home, unpacked.manifest)
        outside = _outside(home, [each.path for each in unpacked.manifest.entries if each.kind is Kind.LINK])
        os.sync()  # one call for thousands of files
        _refuse(to)
        home.rename(to)
        sync_folder(to.parent)
    proof = Verified(manifest=unpacked.manifest, sha256=unpacked.sha256, packed=archive.stat().st_size, history=found)
    return Restored(home=to, proof=proof, outside=outside)


def _refuse(to: Path) -> None:
    if os.path.lexists(to) and (to.is_symlink() or not to.is_dir() or any(to.iterdir())):
        raise Conflict(f"{to} is not empty; nothing was changed", hint="name a new folder: --to FOLDER")


def _outside(home: Path, links: list[str]) -> tuple[str, ...]:
    root = os.fsencode(home)
    found = []
    for path in links:
        place = os.path.join(root, path.encode("utf-8", "surrogateescape"))
        target = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
        if not (target + b"/").startswith(root + b"/"):
            found.append(path)
    return tuple(found)

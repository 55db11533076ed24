"""The folder itself: may only its owner read it, can it be written, is there room?"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path

from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.files import TEMP_PREFIX
from hermes_cron.home import with_tilde

ROOM = 200_000_000
SHARE = 0.05
PLENTY = 20_000_000_000
"""So much is enough, whatever share of a large disk it is."""


def folder(patient: Patient) -> Iterator[Finding]:
    """Others may read reports, jobs and settings of a home that is not 0700."""
    root = patient.home.root
    mode = root.stat().st_mode & 0o777
    if mode & 0o077:
        yield warning("home_open", shlex.join(["chmod", "700", str(root)]), home=with_tilde(root), mode=f"{mode:04o}")
    else:
        yield fine("home", home=with_tilde(root), mode=f"{mode:04o}", size=_size(root))


def writable(patient: Patient) -> Iterator[Finding]:
    """By writing: a right says nothing of a full disk or a read-only file system."""
    for place in (patient.home.root, patient.home.jobs):
        if not place.is_dir():
            yield failure("no_folder", shlex.join(["mkdir", "-m", "700", str(place)]), path=with_tilde(place))
            continue
        probe = place / f"{TEMP_PREFIX}{secrets.token_hex(8)}"
        try:
            with probe.open("xb") as file:
                file.write(b"?" * 4096)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            yield failure("not_writable", shlex.join(["df", "-h", str(place)]), path=with_tilde(place), why=why)
            return
        finally:
            probe.unlink(missing_ok=True)
    yield fine("writable")


def disk(patient: Patient) -> Iterator[Finding]:
    """Below 200 MB, or below a twentieth of the disk where that is little too."""
    found = patient.space(patient.home.root)
    free, share = found.f_bavail * found.f_frsize, found.f_bavail / max(1, found.f_blocks)
    said = {"free": in_words(free), "percent": f"{share * 100:.0f}"}
    if free < ROOM or (share < SHARE and free < PLENTY):
        yield warning("disk_low", shlex.join(["df", "-h", str(patient.home.root)]), **said)
    else:
        yield fine("disk", **said)


def private(patient: Patient) -> Iterator[Finding]:
    """Vault and key are for their owner alone; a key that others can read is not used."""
    there = [path for path in (patient.home.vault, patient.home.vault_key) if path.exists()]
    open_ = [(path, mode) for path in there if (mode := path.stat().st_mode & 0o777) & 0o077]
    for path, mode in open_:
        command = shlex.join(["chmod", "600", str(path)])
        form = failure if path == patient.home.vault_key else warning
        yield form("secret_open", command, path=path.name, mode=f"{mode:04o}")
    if not open_:
        yield fine("private" if there else "no_secrets")


def in_words(size: int) -> str:
    """``41 MB``."""
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.3g} {unit}"
    return f"{size} B"


def _size(root: Path) -> str:
    total, waiting = 0, [str(root)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:  # gone meanwhile, or not ours to read: the others count
            continue
    return in_words(total)

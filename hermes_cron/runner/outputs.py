"""Where does a report go? ``outputs/JOB/RUN.md``, always, whatever else happens to it."""

from __future__ import annotations

from hermes_cron import files
from hermes_cron.home import Home


def write(home: Home, *, job_name: str, run_id: str, text: str) -> str:
    """The path relative to the home. Atomic. Raises ``DiskFull`` and its kin."""
    relative = f"outputs/{job_name}/{run_id}.md"
    place = home.root / relative
    files.make_folder(place.parent)
    files.write_atomic(place, (text.rstrip("\n") + "\n").encode())
    return relative


def read(home: Home, relative: str | None) -> str | None:
    """The report; None when there is none (any more). What somebody made of the file is shown as far as it is text."""
    if relative is None:
        return None
    try:
        return (home.root / relative).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None

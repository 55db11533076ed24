"""Is a file there, is it another one than before the run, has it a certain content?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.pins import HASH_S, FileState, state_of


def pinned(params: Mapping[str, Any], folder: Path) -> dict[str, FileState]:
    """How the file is before the run, where that is compared."""
    path = folder / params["path"]
    return {str(path): state_of(path)} if "changed" in params else {}


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """Every comparison must hold; the first that does not is told."""
    path = bench.path(params["path"])
    now = state_of(path, seconds=bench.seconds(HASH_S))
    if "changed" in params:
        good, said = _changed(bench.pins.files.get(str(path)), now, wanted=params["changed"])
        if not good:
            return good, said
    exists = params.get("exists", "changed" not in params)
    if ("exists" in params or exists) and (now.kind != "absent") is not exists:
        return False, "it does not exist" if exists else "it exists"
    if "hash" in params:
        return _hash(now, params["hash"])
    return True, _is(now)


def _changed(before: FileState | None, now: FileState, *, wanted: bool) -> Said:
    if before is None:
        raise NotCheckable("how it was before the run is not known")
    for state in (before, now):
        if state.kind in {"unread", "folder"}:
            raise NotCheckable(f"it {state.why or 'is a folder, whose content is not compared'}")
    if (before != now) is wanted:
        return True, "changed" if wanted else "unchanged"
    return False, "it is as it was before the run" if wanted else "it was changed during the run"


def _hash(now: FileState, wanted: str) -> Said:
    if now.kind != "file":
        raise NotCheckable(f"it {now.why or 'is a folder, which has no hash'}")
    found = f"sha256:{now.sha256}"
    return found == wanted, found if found == wanted else f"its hash is {found}"


def _is(now: FileState) -> str:
    return {"absent": "it does not exist", "folder": "a folder"}.get(now.kind, "it exists")

"""Is a file there, is it another one than before the run, has it a certain content?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.pins import HASH_S, FileState, seen, state_of


def pinned(params: Mapping[str, Any], folder: Path) -> dict[str, FileState]:
    """How the file is before the run, where that is compared."""
    path = folder / params["path"]
    return {str(path): state_of(path)} if "changed" in params else {}


def judge(params: Mapping[str, Any], bench: Bench) -> Said:
    """Every comparison must hold; the first that does not is told."""
    path = bench.path(params["path"])
    by_content = "changed" in params or "hash" in params
    now = state_of(path, seconds=bench.seconds(HASH_S)) if by_content else seen(path)
    told: list[str] = []
    for good, said in _compared(params, bench.pins.files.get(str(path)), now):
        if not good:
            return False, said
        told.append(said)
    return True, "; ".join(told)


def _compared(params: Mapping[str, Any], before: FileState | None, now: FileState) -> Iterator[Said]:
    if "changed" in params:
        yield _changed(before, now, wanted=params["changed"])
    if "exists" in params or "changed" not in params:
        yield _there(now) is params.get("exists", True), _is(now)
    if "hash" in params:
        yield _hash(now, params["hash"])


def _changed(before: FileState | None, now: FileState, *, wanted: bool) -> Said:
    if before is None:
        raise NotCheckable("how it was before the run is not known")
    for state in (before, now):
        if state.kind not in {"file", "absent"}:
            raise NotCheckable(f"it {state.why or 'is a folder, whose content is not compared'}")
    if (before != now) is wanted:
        return True, "changed" if wanted else "unchanged"
    return False, "it is as it was before the run" if wanted else "it was changed during the run"


def _hash(now: FileState, wanted: str) -> Said:
    if now.kind == "absent":
        return False, _is(now)
    if now.kind != "file":
        raise NotCheckable(f"it {now.why or 'is a folder, which has no hash'}")
    found = f"sha256:{now.sha256}"
    return found == wanted, found if found == wanted else f"its hash is {found}"


def _there(now: FileState) -> bool:
    if now.kind == "unseen":
        raise NotCheckable(f"it {now.why}")
    return now.kind != "absent"


def _is(now: FileState) -> str:
    return "it does not exist" if now.kind == "absent" else "it exists"

"""What does ``upgrade`` do, in which order, and what does it find when an earlier one did not end?

A snapshot, a backup that is proved, a note of both, then the store, one transaction that proves itself
(``store.upgrade``); at last the note goes. Whoever dies on the way leaves the old store or the new one, and the note
says where the backup is.

The store is the only thing in a home whose form has changed so far. Job files, skills, memories, ``config.toml`` and
``vault.json`` (format 1) are what they were in the first version; their readers refuse a number they do not know.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from hermes_cron import __version__, files
from hermes_cron.errors import Conflict, SchemaTooNew
from hermes_cron.home import Home
from hermes_cron.ports import Clock

_NOTE = "upgrade.json"
_PATIENCE_S = 2.0  # a command that only looks holds the store for much less


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """An upgrade that did not end."""

    found: int
    newest: int
    backup: str
    began_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """``found`` 0: no store yet. ``steps`` say what each missing schema brings."""

    found: int
    newest: int
    steps: tuple[str, ...]
    unfinished: Unfinished | None

    @property
    def needed(self) -> bool:
        return 0 < self.found < self.newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """``tables`` and ``rows`` were there before and are there now, unchanged."""

    snapshot: str
    backup: Path
    tables: int
    rows: int


class Upgrade:
    """The upgrade of one home. ``snapshot`` makes one with a reason and returns its id."""

    def __init__(self, home: Home, clock: Clock, *, snapshot: Callable[[str], str]) -> None:
        self._home = home
        self._clock = clock
        self._snapshot = snapshot

    def look(self) -> Situation:
        """Changes nothing. Raises ``SchemaTooNew``."""
        from hermes_cron.store.migrate import migrations, version

        steps = migrations()
        found, newest = version(self._home.store), steps[-1][0]
        if found > newest:
            raise SchemaTooNew(
                f"{self._home.store} has schema {found}; this hermes-cron knows up to {newest}",
                hint="install the newer hermes-cron again, or use another --home",
            )
        missing = tuple(_title(sql) for number, sql in steps if 0 < found < number)
        return Situation(found=found, newest=newest, steps=missing, unfinished=unfinished(self._home))

    def run(self) -> Done:
        """Only where ``look`` says it is needed. Raises ``Conflict`` while anyone has the store open,
        ``UpgradeFailed``, and what a snapshot or a backup may raise; the home is as it was then."""
        from hermes_cron.backup.create import create, default_name
        from hermes_cron.store.migrate import migrations
        from hermes_cron.store.upgrade import upgrade

        with self._alone():
            now, situation = self._clock.now(), self.look()
            if not situation.needed:
                raise Conflict("another hermes-cron upgraded the store meanwhile", hint="hermes-cron upgrade")
            snapshot = self._snapshot(f"before the upgrade from schema {situation.found} to {situation.newest}")
            name = f"before-schema-{situation.newest}-{default_name(self._home.root, now)}"
            place = _free(self._home.root / "backups" / name)
            backup = create(self._home.root, place, at=now, version=__version__).file
            note = {"found": situation.found, "newest": situation.newest, "backup": str(backup)}
            files.write_atomic(
                self._home.run / _NOTE, json.dumps(note | {"began_at": now.isoformat()}).encode(), mode=0o600
            )
            try:
                done = upgrade(self._home.store, situation.found, migrations())
            finally:  # what failed was taken back, and is said
                self.forget()
            done.copy.unlink()  # the backup has it
        return Done(snapshot=snapshot, backup=backup, tables=done.tables, rows=done.rows)

    def forget(self) -> None:
        """What did not end has been told."""
        (self._home.run / _NOTE).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else has the store open for as long as the block lasts."""
        from hermes_cron.store.migrate import StoreLock

        lock = StoreLock(self._home.store)
        try:
            end = time.monotonic() + _PATIENCE_S
            while not lock.alone():
                if time.monotonic() > end:
                    raise self._held()
                time.sleep(0.02)
            yield
        finally:
            lock.close()

    def _held(self) -> Conflict:
        from hermes_cron.scheduler.owners import living

        owners = living(self._home.owners)
        serving = [str(owner.pid) for owner in owners if owner.kind == "serve"]
        if serving:
            return Conflict(
                f"`hermes-cron serve` (pid {', '.join(serving)}) has the store open; nothing was changed",
                hint=f"stop it, then repeat: kill {' '.join(serving)}",
            )
        others = ", ".join(f"pid {owner.pid}" for owner in owners)
        return Conflict(
            f"another hermes-cron has the store open{f' ({others})' if others else ''}; nothing was changed",
            hint="wait until it ends, then repeat: hermes-cron upgrade",
        )


def unfinished(home: Home) -> Unfinished | None:
    """The upgrade that did not end, if there is one."""
    try:
        note = json.loads((home.run / _NOTE).read_bytes())
        return Unfinished(**(note | {"began_at": datetime.fromisoformat(note["began_at"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _title(sql: str) -> str:
    """A migration's first line says what it brings."""
    return sql.split("\n", 1)[0].removeprefix("-- ").rstrip(".")


def _free(wanted: Path) -> Path:
    """The name, or the first one with a number that nobody has: an upgrade that died may have been this very second."""
    numbered = (wanted.with_name(f"{number}-{wanted.name}") for number in count(2))
    return next(path for path in chain((wanted,), numbered) if not path.exists())

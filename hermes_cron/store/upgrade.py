"""How does a store get a newer schema without losing what the change does not own?

A copy first. Then one transaction: the statements, and the proof that every table still has its rows and every column
that no statement owns its values. What does not prove is taken back by the transaction itself, so a process that dies
leaves the old store or the new one. At last the file is opened once more; if the disk gave back something else than was
written, the copy is put back.

A migration that is meant to change what rows already say names it in a line: ``-- owns: runs.reason, spend.*``.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hermes_cron.errors import DiskFull, HermesCronError, UpgradeFailed

Step = tuple[int, str]
"""A migration's number and SQL."""

_OWNS = "-- owns:"
_BUG = "report this, and install the version before again"
_MODULUS = 1 << 256
_BUSY_S = 5
_INDEX = "message_index"
"""The index of words and its own tables: kept and compared like the others, and no tables of ours to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a table says: its rows' number, and a sum of their hashes over ``columns`` that knows no order."""

    columns: tuple[str, ...]
    rows: int
    digest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """``tables`` and ``rows`` are what was there before and is there now, as it was. ``copy`` is the old store."""

    tables: int
    rows: int
    copy: Path


def upgrade(path: Path, found: int, steps: Sequence[Step]) -> Upgraded:
    """Bring a store of schema ``found`` to the last of ``steps``. The caller has the home alone.

    Raises ``UpgradeFailed``, ``DiskFull``; the store is as it was then.
    """
    missing = [step for step in steps if step[0] > found]
    copy = path.with_name(f"{path.name}.before-{steps[-1][0]}")
    try:
        _copy(path, copy)
        with closing(_opened(path)) as conn:
            before = _kept(conn, missing)
        try:
            _change(path, missing, before)
            _look_again(path, steps[-1][0], before)
        except (sqlite3.Error, UpgradeFailed):
            if not _is_still(path, found):
                put_back(path, copy)
            raise
    except sqlite3.Error as error:
        raise _explained(path, error) from error
    told = {name: table for name, table in before.items() if not name.startswith(_INDEX)}
    return Upgraded(tables=len(told), rows=sum(table.rows for table in told.values()), copy=copy)


def put_back(path: Path, copy: Path) -> None:
    """The store is what the copy is, in one transaction."""
    with closing(_opened(copy)) as kept, closing(_opened(path)) as live:
        kept.backup(live)


def make(path: Path, steps: Sequence[Step]) -> None:
    """A new store. Raises ``DiskFull``, or what making it met."""
    try:
        with closing(_opened(path)) as conn:
            path.chmod(0o600)
            conn.execute("PRAGMA journal_mode=WAL")
            conn.executescript(f"BEGIN EXCLUSIVE;\n{_script(steps)}COMMIT;")
    except sqlite3.Error as error:
        raise _explained(path, error) from error


def _opened(path: Path) -> sqlite3.Connection:
    """Transactions are ours; text is read as it is, also where it is no UTF-8."""
    conn = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    conn.execute("PRAGMA synchronous=FULL")
    conn.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return conn


def _copy(path: Path, copy: Path) -> None:
    """Appears under its name when it is whole. (A plain copy of a live WAL database can lack tables.)"""
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    with closing(_opened(path)) as live, closing(_opened(part)) as made:
        live.backup(made)
    part.chmod(0o600)
    part.replace(copy)


def _change(path: Path, steps: Sequence[Step], before: Mapping[str, Table]) -> None:
    """The statements and their proof, in one transaction; closing the connection takes back what is not committed."""
    with closing(_opened(path)) as conn:
        loose = _loose(conn)
        conn.executescript(f"BEGIN EXCLUSIVE;\n{_script(steps)}")
        if not conn.in_transaction:
            raise UpgradeFailed("a migration ended its transaction itself", hint=_BUG)
        _sound(conn, "integrity_check")
        if _loose(conn) > loose:
            raise UpgradeFailed("rows would name others that are not there; nothing was changed", hint=_BUG)
        _same(before, _as_before(conn, before))
        conn.execute("COMMIT")


def _is_still(path: Path, schema: int) -> bool:
    try:
        with closing(_opened(path)) as conn:
            return _number(conn, "PRAGMA user_version") == schema
    except sqlite3.Error:
        return False


def _look_again(path: Path, schema: int, before: Mapping[str, Table]) -> None:
    """What the disk gives back, without what this process remembers of it."""
    with closing(_opened(path)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with closing(_opened(path)) as conn:
        if _number(conn, "PRAGMA user_version") != schema:
            raise UpgradeFailed("the store has not the schema it was given", hint="check the disk, then repeat")
        _sound(conn, "quick_check")
        for name, table in before.items():
            if _number(conn, f"SELECT count(*) FROM {_quoted(name)}") != table.rows:  # noqa: S608  # the file's own names
                raise UpgradeFailed(f"the table {name} lost rows on the disk", hint="check the disk, then repeat")


def _script(steps: Iterable[Step]) -> str:
    return "".join(f"{sql}\nPRAGMA user_version={number};\n" for number, sql in steps)


def _sound(conn: sqlite3.Connection, check: str) -> None:
    said = [str(row[0]) for row in conn.execute(f"PRAGMA {check}(3)")]
    if said != ["ok"]:
        raise UpgradeFailed(
            f"the store is damaged: {'; '.join(said)}", hint="restore a backup: hermes-cron backup restore --help"
        )


def _loose(conn: sqlite3.Connection) -> int:
    """Rows that name others which are not there."""
    return sum(1 for _ in conn.execute("PRAGMA foreign_key_check"))


def _kept(conn: sqlite3.Connection, steps: Sequence[Step]) -> dict[str, Table]:
    """Every table as it is now, without what the steps own."""
    owned = {name for _, sql in steps for name in owns(sql)}
    found = {}
    for table in _tables(conn):
        if f"{table}.*" not in owned:
            columns = tuple(name for name in _columns(conn, table) if f"{table}.{name}" not in owned)
            found[table] = _read(conn, table, columns)
    return found


def owns(sql: str) -> tuple[str, ...]:
    """What a migration says it changes: ``table.column``, or ``table.*`` for a table whose rows may come and go."""
    lines = [line.removeprefix(_OWNS) for line in sql.splitlines() if line.startswith(_OWNS)]
    return tuple(name.strip() for line in lines for name in line.split(","))


def _as_before(conn: sqlite3.Connection, before: Mapping[str, Table]) -> dict[str, Table]:
    """The same tables and columns now; a table or column that is gone is absent."""
    there = set(_tables(conn))
    found = {}
    for name, table in before.items():
        if name in there and set(table.columns) <= set(_columns(conn, name)):
            found[name] = _read(conn, name, table.columns)
    return found


def _same(before: Mapping[str, Table], after: Mapping[str, Table]) -> None:
    for name, table in before.items():
        if after.get(name) == table:
            continue
        now = after.get(name)
        if now is None:
            fault = f"the table {name} would lose columns, or go"
        elif now.rows != table.rows:
            fault = f"the table {name} would have {now.rows:,} rows; it has {table.rows:,}"
        else:
            fault = f"the table {name} would say something else than it does"
        raise UpgradeFailed(f"{fault}; nothing was changed", hint=_BUG)


def _read(conn: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> Table:
    rows, digest = 0, 0
    chosen = ", ".join(_quoted(name) for name in columns)
    for row in conn.execute(f"SELECT {chosen or 'NULL'} FROM {_quoted(table)}"):  # noqa: S608  # the file's own names
        # repr tells None, numbers, text and bytes apart, and gives every float's every digit
        digest += int.from_bytes(hashlib.sha256(repr(row).encode()).digest(), "big")
        rows += 1
    return Table(columns=columns, rows=rows, digest=digest % _MODULUS)


def _tables(conn: sqlite3.Connection) -> list[str]:
    rows = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    return [str(name) for (name,) in rows]


def _columns(conn: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in conn.execute(f"PRAGMA table_info({_quoted(table)})")]


def _number(conn: sqlite3.Connection, question: str) -> int:
    return int(conn.execute(question).fetchone()[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explained(path: Path, error: sqlite3.Error) -> HermesCronError:
    if "full" in str(error):
        return DiskFull(f"{path}: no space for the store", hint="free some space and repeat")
    return UpgradeFailed(f"{path}: the store cannot be made or upgraded: {error}", hint="check the folder's owner")

"""How do the job files become rows, with the timing each had at every moment?

Files are the truth. A file whose stat is unchanged is not opened. Before a job's timing changes, every instant up to
now is settled under the old one, in the same transaction. A file that no longer parses leaves the last good version in
force. The folder is an argument (``jobs.files``), the parser too, so this module knows tables only.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.job import Job, dump_job, name_key
from hermes_cron.domain.occurrence import WINDOW, Reason, first_due, timing_of
from hermes_cron.domain.run import OccurrenceState, Outcome, RunState
from hermes_cron.store import security
from hermes_cron.store.claims import Row, drop_queued, settle
from hermes_cron.store.endings import end_waiting
from hermes_cron.store.engine import Store
from hermes_cron.store.revisions import TIMING, timing_columns
from hermes_cron.store.tables import JobRevisionRow, JobRow, RunRow

_jobs = JobRow.__table__  # type: ignore[attr-defined]  # SQLModel's table
_revisions = JobRevisionRow.__table__  # type: ignore[attr-defined]
_runs = RunRow.__table__  # type: ignore[attr-defined]

BATCH = 50  # files parsed and written at a time: about 0.1 s
_TAKEN = "another job file has this name in another case or Unicode form"
_NOT_TEXT = "its name is not UTF-8"
_SEEN = select(_jobs.c.uid, _jobs.c.name, _jobs.c.file_name, _jobs.c.file_stat, _jobs.c.file_hash).where(
    _jobs.c.removed_at.is_(None)
)


class FoundFile(Protocol):
    """What a listing of the folder tells of one file."""

    @property
    def file_name(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def stat(self) -> str: ...


class Folder(Protocol):
    """The folder of job files (``jobs.files.JobFiles``)."""

    folder: Path

    def scan(self) -> Sequence[FoundFile]: ...

    def look(self, file_names: Collection[str]) -> Sequence[FoundFile]: ...

    def read_file(self, file_name: str) -> tuple[bytes, str] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What a file says: ``job``, or in ``broken`` why not (file:line). ``summary`` is what `list` prints, JSON.

    ``security`` is what the scanner says of its prompt."""

    job: Job | None
    broken: str | None = None
    summary: str = "{}"
    security: tuple[SecurityFinding, ...] = ()


Parse = Callable[[bytes, str, datetime], Understood]
"""Bytes, file name, and the instant that relative phrases and intervals count from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where jobs are declared, and how a file is read. ``tell``: who hears of a prompt that is blocked and whose job
    tells nobody."""

    folder: Folder
    parse: Parse
    tell: Callable[[], Sequence[str]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What changed, as job names. ``vanished`` are files seen gone that are not yet believed to be."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    security: tuple[SecurityFinding, ...] = ()
    vanished: frozenset[str] = frozenset()

    @property
    def anything(self) -> bool:
        return bool(self.added or self.changed or self.renamed or self.removed or self.broken)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    file_name: str
    name: str
    stat: str
    hash: str
    data: bytes
    fault: str | None = None  # why there is no data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A row as it was when the files were compared with it."""

    uid: str
    name: str
    file_name: str
    file_stat: str
    file_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """``seen`` None: a new job. ``read`` None: the file is gone."""

    seen: _Seen | None
    read: _Read | None
    understood: Understood | None = None
    anchor: datetime | None = None


@dataclass(slots=True)
class _Done:
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    security: list[SecurityFinding] = field(default_factory=list)


def _go_on() -> None:
    """Nothing else waits."""


def sync(  # noqa: PLR0913  # what is looked at, when, by whom, and two habits of a service
    store: Store,
    source: Source,
    *,
    now: datetime,
    actor: str,
    gone_before: Collection[str] | None = None,
    window: timedelta = WINDOW,
    between: Callable[[], None] = _go_on,
    meanwhile: Callable[[], None] = _go_on,
    only: Collection[str] | None = None,
) -> Synced:
    """Bring the rows up to the files: a transaction for each ``BATCH`` of changes, none when nothing changed.

    ``gone_before``: a watcher passes the files an earlier look found gone; only what is gone twice is removed, since
    editors take a file away for a moment while they save. None: gone is gone. A missing folder removes nothing.
    ``between`` is called between batches, so that a thousand new files delay nothing else, and ``meanwhile`` between
    the steps before, when nothing is known yet of what changed. ``only`` these file names are compared: what a command
    has just written costs the same beside ten thousand others.
    """
    if not source.folder.folder.is_dir():
        return Synced()
    query = _SEEN if only is None else _SEEN.where(_jobs.c.file_name.in_(only))
    with store.read() as conn:
        seen = [_Seen(**row) for row in conn.execute(query).mappings()]
    meanwhile()
    done = _Done()
    files = _nameable(source.folder.scan() if only is None else source.folder.look(only), done)
    meanwhile()
    changes, vanished = _compare(source.folder, files, seen, gone_before)
    stamp = _Stamp(
        now=now, actor=actor, window=window, settled=_settled_before(store, changes, now), tell=source.tell()
    )
    for at in range(0, len(changes), BATCH):
        batch = _understand(store, changes[at : at + BATCH], source.parse, now)
        store.write(partial(_apply, stamp, done, batch))
        between()
    return Synced(
        added=tuple(done.added),
        changed=tuple(done.changed),
        renamed=tuple(done.renamed),
        removed=tuple(done.removed),
        broken=tuple(done.broken),
        security=tuple(done.security),
        vanished=vanished,
    )


def count(conn: Connection) -> int:
    """Jobs that are not removed."""
    return int(conn.execute(select(func.count()).where(_jobs.c.removed_at.is_(None))).scalar_one())


# --- comparing --------------------------------------------------------------------------------------------------------


def _compare(
    folder: Folder, files: Sequence[FoundFile], seen: Sequence[_Seen], gone_before: Collection[str] | None
) -> tuple[list[_Change], frozenset[str]]:
    by_file = {row.file_name: row for row in seen}
    gone = dict(by_file)
    fresh: list[_Read] = []
    changes: list[_Change] = []
    for found in files:
        row = by_file.get(found.file_name)
        if row is not None and row.file_stat == found.stat:
            del gone[found.file_name]
            continue
        read = _read(folder, found)
        if read is None:
            continue
        if row is None:
            fresh.append(read)
        else:
            del gone[found.file_name]
            changes.append(_Change(seen=row, read=read))
    for read in fresh:
        before = _moved_from(read, gone)
        changes.append(_Change(seen=gone.pop(before) if before else None, read=read))
    vanished = frozenset(gone)
    believed = vanished if gone_before is None else vanished & frozenset(gone_before)
    # Removals first, then renames and edits, then new jobs: names become free before they are taken.
    removals = [_Change(seen=gone[file_name], read=None) for file_name in sorted(believed)]
    changes.sort(key=lambda change: change.seen is None)
    return removals + changes, vanished - believed


def _nameable(files: Sequence[FoundFile], done: _Done) -> list[FoundFile]:
    """Those whose name a row can hold. Python stands a lone surrogate for each byte of a name that is not UTF-8."""
    found = []
    for file in files:
        try:
            file.file_name.encode()
        except UnicodeEncodeError:
            done.broken.append((file.name, _NOT_TEXT))
            continue
        found.append(file)
    return found


def _settled_before(store: Store, changes: Sequence[_Change], now: datetime) -> Mapping[str, datetime]:
    """Up to where instants to come are settled already, by name key: of jobs that were removed before the clock went
    back. A new job of that name begins there, or an instant would run twice."""
    if all(change.seen is not None for change in changes):
        return {}
    query = (
        select(_jobs.c.name_key, func.max(_jobs.c.settled_until).label("until"))
        .where(_jobs.c.removed_at.is_not(None), _jobs.c.settled_until > now)
        .group_by(_jobs.c.name_key)
    )
    with store.read() as conn:
        return {row.name_key: row.until for row in conn.execute(query)}


def _read(folder: Folder, found: FoundFile) -> _Read | None:
    try:
        got = folder.read_file(found.file_name)
    except OSError as error:
        fault = f"{folder.folder.name}/{found.file_name}:1 cannot be read: {error.strerror}"
        return _Read(file_name=found.file_name, name=found.name, stat=found.stat, hash="", data=b"", fault=fault)
    if got is None:
        return None
    data, stat = got
    return _Read(
        file_name=found.file_name, name=found.name, stat=stat, hash=hashlib.sha256(data).hexdigest(), data=data
    )


def _moved_from(read: _Read, gone: Mapping[str, _Seen]) -> str | None:
    """The vanished file that this new one was: the same name in another case, or the same content."""
    for file_name, row in gone.items():
        if name_key(row.name) == name_key(read.name):
            return file_name
    if read.fault is not None:
        return None
    return next((file_name for file_name, row in gone.items() if row.file_hash == read.hash), None)


def _understand(store: Store, changes: Sequence[_Change], parse: Parse, now: datetime) -> list[_Change]:
    """Parse what is to be parsed, outside any transaction. A touched file of equal content is not parsed again."""
    uids = [change.seen.uid for change in changes if change.seen is not None]
    known: dict[str, RowMapping] = {}
    with store.read() as conn:
        for at in range(0, len(uids), 500):
            rows = conn.execute(
                select(_jobs.c.uid, _jobs.c.spec, _jobs.c.anchor).where(_jobs.c.uid.in_(uids[at : at + 500]))
            )
            known |= {row["uid"]: row for row in rows.mappings()}
    return [_understood(change, known, parse, now) for change in changes]


def _understood(change: _Change, known: Mapping[str, RowMapping], parse: Parse, now: datetime) -> _Change:
    read, seen = change.read, change.seen
    if read is None:
        return change
    if seen is not None and seen.file_hash == read.hash and seen.name == read.name:
        return change
    row = known.get(seen.uid) if seen is not None else None
    if row is None or row["spec"] is None:
        return _parsed(change, read, parse, now)
    kept = _parsed(change, read, parse, row["anchor"])
    before = json.loads(row["spec"])
    job = kept.understood.job if kept.understood else None
    if job is None or (list(job.schedule) == before["schedule"] and job.timezone == before["timezone"]):
        return kept
    return _parsed(change, read, parse, now)  # another schedule counts from now


def _parsed(change: _Change, read: _Read, parse: Parse, anchor: datetime) -> _Change:
    fault = read.fault
    said = parse(read.data, read.file_name, anchor) if fault is None else Understood(job=None, broken=fault)
    return _Change(seen=change.seen, read=read, understood=said, anchor=anchor)


# --- writing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    now: datetime
    actor: str
    window: timedelta
    settled: Mapping[str, datetime]
    tell: Sequence[str] = ()


def _apply(stamp: _Stamp, done: _Done, changes: Sequence[_Change], conn: Connection) -> None:
    work = _Apply(conn=conn, stamp=stamp, done=done)
    for change in changes:
        if change.seen is None:
            work.add(change)
        elif change.read is None:
            work.remove(change.seen)
        else:
            work.edit(change.seen, change.read, change.understood, change.anchor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Apply:
    conn: Connection
    stamp: _Stamp
    done: _Done

    @property
    def now(self) -> datetime:
        return self.stamp.now

    def _current(self, seen: _Seen) -> RowMapping | None:
        """The row, if nobody changed it since the files were compared with it; else the next look decides."""
        found: RowMapping | None = (
            self.conn.execute(
                select(_jobs).where(
                    _jobs.c.uid == seen.uid, _jobs.c.file_stat == seen.file_stat, _jobs.c.removed_at.is_(None)
                )
            )
            .mappings()
            .first()
        )
        return found

    def _set(self, uid: str, **values: Any) -> None:
        self.conn.execute(update(_jobs).where(_jobs.c.uid == uid).values(**values))

    def _note(self, said: Understood) -> None:
        security.note(self.conn, said.security, self.now, tell=self.stamp.tell)
        self.done.security.extend(said.security)

    def remove(self, seen: _Seen) -> None:
        row = self._current(seen)
        if row is None:
            return
        self._settle(row, Reason.REMOVED)
        self._end_waiting(row["uid"])
        self._close_revision(row, max(self.now, row["settled_until"]))
        self._set(row["uid"], removed_at=self.now, removed_by=self.stamp.actor, next_due=None)
        self.done.removed.append(row["name"])

    def _end_waiting(self, uid: str) -> None:
        """What nobody executes now does not begin and does not go on: the job that wanted it is gone."""
        not_running = (_runs.c.ended_at.is_(None), _runs.c.state != RunState.RUNNING)
        waiting = list(self.conn.execute(select(_runs.c.id).where(_runs.c.job_uid == uid, *not_running)).scalars())
        drop_queued(self.conn, waiting, self.now, RunState.CANCELLED, Reason.REMOVED, OccurrenceState.SKIPPED)
        removed = Outcome(state=RunState.CANCELLED, reason=Reason.REMOVED, error="its job was removed while it waited")
        for run_id in waiting:
            end_waiting(self.conn, run_id, removed, self.now)

    def edit(self, seen: _Seen, read: _Read, said: Understood | None, anchor: datetime | None) -> None:
        row = self._current(seen)
        if row is None:
            return
        names = {"name": read.name, "name_key": name_key(read.name), "file_name": read.file_name}
        if self._is_taken(row["uid"], names["name_key"], read):
            return
        self._set(row["uid"], file_stat=read.stat, file_hash=read.hash, **names)
        if row["name"] != read.name:
            self.done.renamed.append((row["name"], read.name))
        if said is None:  # touched, or moved back: the content is what we know
            return
        self._note(said)
        if said.job is None:
            # What `list` shows of the last good version stays, as that version does.
            self._set(row["uid"], broken=said.broken, **({} if row["spec"] else {"summary": said.summary}))
            self.done.broken.append((read.name, said.broken or ""))
            return
        self._set(row["uid"], broken=None, summary=said.summary, spec=dump_job(said.job), anchor=anchor)
        self._time(row, said.job)
        if read.hash != row["file_hash"]:
            self.done.changed.append(read.name)

    def add(self, change: _Change) -> None:
        read, said = change.read, change.understood
        if read is None or said is None:
            return
        key = name_key(read.name)
        if self._is_taken("", key, read):
            return
        uid = uuid.uuid4().hex
        row = {
            "uid": uid,
            "name": read.name,
            "name_key": key,
            "file_name": read.file_name,
            "file_stat": read.stat,
            "file_hash": read.hash,
            "spec": None if said.job is None else dump_job(said.job),
            "broken": said.broken,
            "summary": said.summary,
            "revision": 0,
            "anchor": change.anchor or self.now,
            "first_seen": self.now,
            "settled_until": max(self.now, self.stamp.settled.get(key, self.now)),
            "fired": 0,
        }
        self.conn.execute(insert(_jobs), row)
        self._note(said)
        if said.job is None:
            self.done.broken.append((read.name, said.broken or ""))
            return
        self.done.added.append(read.name)
        self._time(row, said.job)

    def _time(self, row: Row, job: Job) -> None:
        """Begin a revision if the timing is another one; settle the old one first."""
        columns = timing_columns(job)
        current = (
            self.conn.execute(
                select(_revisions).where(_revisions.c.job_uid == row["uid"], _revisions.c.revision == row["revision"])
            )
            .mappings()
            .first()
        )
        if current is not None and all(current[column] == columns[column] for column in TIMING):
            return
        begins = max(self.now, row["settled_until"])  # a clock that went back opens nothing that was settled
        fired = row["fired"]
        if current is not None:
            self._settle(row, None)
            fired = self.conn.execute(select(_jobs.c.fired).where(_jobs.c.uid == row["uid"])).scalar_one()
            self._close_revision(row, begins)
        number = row["revision"] + 1
        self.conn.execute(
            insert(_revisions),
            {
                "job_uid": row["uid"],
                "revision": number,
                "effective_from": begins,
                "actor": self.stamp.actor,
                **columns,
            },
        )
        over = job.max_runs is not None and fired >= job.max_runs
        next_due = None if over else first_due(timing_of(job), begins)
        self._set(row["uid"], revision=number, settled_until=begins, next_due=next_due)

    def _settle(self, row: Row, blocked: Reason | None) -> None:
        """Every instant of the old timing up to now gets its row. ``row`` still holds the old spec."""
        columns = ("uid", "name", "spec", "revision", "settled_until", "fired", "held_reason")
        if row["spec"] is None:
            return
        values = {column: row[column] for column in columns}
        while True:
            settled = settle(self.conn, [values], self.now, window=self.stamp.window, blocked=blocked)
            if not settled.more:
                return
            moved = self.conn.execute(
                select(_jobs.c.settled_until, _jobs.c.fired).where(_jobs.c.uid == row["uid"])
            ).one()
            values |= {"settled_until": moved.settled_until, "fired": moved.fired}

    def _close_revision(self, row: Row, at: datetime) -> None:
        self.conn.execute(
            update(_revisions)
            .where(
                _revisions.c.job_uid == row["uid"],
                _revisions.c.revision == row["revision"],
                _revisions.c.effective_until.is_(None),
            )
            .values(effective_until=at)
        )

    def _is_taken(self, uid: str, key: str, read: _Read) -> bool:
        """By another file, which makes this one broken; or by this file, which somebody else has read meanwhile."""
        held = select(_jobs.c.file_name).where(
            _jobs.c.name_key == key, _jobs.c.removed_at.is_(None), _jobs.c.uid != uid
        )
        by = self.conn.execute(held).scalar()
        if by is not None and by != read.file_name:
            self.done.broken.append((read.name, _TAKEN))
        return by is not None

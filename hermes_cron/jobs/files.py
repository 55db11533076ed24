"""Which job files lie in a home, and how does one change without ever being half written?

A new file is linked into place, so that it fails where the name exists; a changed one is renamed over the old after a
compare of hashes; a removed one moves to the trash. Writers of this program hold a lock on the folder meanwhile, so a
compare and its rename are one step among them; an editor takes no lock, the hash is what protects its text.

`list` reads the folder through this module, so what only a writer needs is imported where it writes.
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_cron.errors import Conflict, NotFound

if TYPE_CHECKING:
    from hermes_cron.home import Home

SUFFIX = ".md"


def content_hash(data: bytes) -> str:
    """SHA-256 in hex: the identity of a file's content (``jobs.file_hash``)."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def stat_text(stat: os.stat_result) -> str:
    """``mtime_ns ctime_ns size inode`` (``jobs.file_stat``): equal means the file was not touched."""
    return f"{stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_size} {stat.st_ino}"


def name_of(file_name: str) -> str:
    """The job's name: the file's without ``.md``, NFC."""
    return unicodedata.normalize("NFC", file_name.removesuffix(SUFFIX))


def _is_job(file_name: str) -> bool:
    return file_name.endswith(SUFFIX) and not file_name.startswith((".", "#"))


class JobFile(NamedTuple):
    """One file as the folder shows it; ``stat`` is ``stat_text``'s. A tuple: a folder may hold 10,000."""

    file_name: str
    name: str
    stat: str


class JobFiles:
    """The folder ``jobs/`` of a home."""

    def __init__(self, home: Home, *, folder: Path | None = None) -> None:
        """``folder`` is another folder to look at than the home's own."""
        self._home = home
        self.folder = folder or home.jobs

    def scan(self) -> list[JobFile]:
        """Every job file, by name; nothing is opened. Hidden files and editors' back-ups (``x.md~``) are not jobs."""
        found = []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if not _is_job(entry.name):
                        continue
                    with contextlib.suppress(OSError):  # gone since the listing, or a link that leads nowhere
                        if entry.is_file():
                            found.append(
                                JobFile(file_name=entry.name, name=name_of(entry.name), stat=stat_text(entry.stat()))
                            )
        except FileNotFoundError:
            return []
        return sorted(found, key=lambda it: (it.name, it.file_name))

    def look(self, file_names: Collection[str]) -> list[JobFile]:
        """As ``scan``, of these files only; those that are not there are left out."""
        found = []
        for file_name in sorted(file_names):
            path = self.folder / file_name
            with contextlib.suppress(OSError):
                if _is_job(file_name) and path.is_file():
                    found.append(JobFile(file_name=file_name, name=name_of(file_name), stat=stat_text(path.stat())))
        return found

    def names(self) -> list[str]:
        """Names of all job files, sorted."""
        return [found.name for found in self.scan()]

    def find(self, name: str) -> JobFile | None:
        """The file of this name without regard to case, None when there is none.

        Of two in different cases, which people can make by hand, the one that is spelled this way.
        """
        from hermes_cron.domain.job import name_key

        key, spelled = name_key(name), name_of(name)
        try:
            listed = os.listdir(self.folder)  # noqa: PTH208  # ten thousand names in one call, no stat
        except FileNotFoundError:
            return None
        same = self.look([name for name in listed if _is_job(name) and name_key(name_of(name)) == key])
        return next((found for found in same if found.name == spelled), same[0] if same else None)

    def path(self, name: str) -> Path:
        """Where the job's file lies, or would lie."""
        found = self.find(name)
        return self.folder / (found.file_name if found else name_of(name) + SUFFIX)

    def shown(self, file_name: str) -> str:
        """The path in messages: ``jobs/x.md``."""
        return f"{self.folder.name}/{file_name}"

    def read(self, name: str) -> bytes:
        """The file's bytes. Raises NotFound."""
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError:
            raise self._missing(name) from None

    def read_file(self, file_name: str) -> tuple[bytes, str] | None:
        """Bytes and ``stat_text`` of one moment, for a sync; None when the file is gone. Raises OSError."""
        try:
            with (self.folder / file_name).open("rb") as stream:
                before = os.fstat(stream.fileno())
                return stream.read(), stat_text(before)
        except FileNotFoundError:
            return None

    def create(self, name: str, data: bytes) -> Path:
        """Write a new file. Raises Conflict when the name exists, in whatever case."""
        from hermes_cron.files import create_new

        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / (name_of(name) + SUFFIX)
        with self._locked():
            taken = self.find(name)
            if taken is not None:
                raise self._taken(taken.name)
            try:
                create_new(target, data)
            except Conflict:  # a writer that takes no lock was quicker
                raise self._taken(name) from None
        return target

    def replace(self, name: str, data: bytes, *, expected_hash: str) -> Path:
        """Write over the file whose content has ``expected_hash``. Raises Conflict when somebody changed it since."""
        from hermes_cron.files import replace_if_unchanged

        target = self.path(name)
        with self._locked():
            if not target.exists():
                raise self._missing(name)
            try:
                replace_if_unchanged(target, data, expected_hash)
            except Conflict:
                raise Conflict(
                    f"{self.shown(target.name)} was changed by someone else meanwhile; their text is kept",
                    hint=f"Look and try again: hermes-cron show {name}",
                ) from None
        return target

    def remove(self, name: str, *, now: datetime) -> Path:
        """Move the file into the trash and return where it lies now. Raises NotFound."""
        import secrets

        from hermes_cron.files import make_folder, move

        with self._locked():
            found = self.find(name)
            if found is None:
                raise self._missing(name)
            make_folder(self._home.trash)
            kept = self._home.trash / f"{found.name}.{now:%Y%m%dT%H%M%SZ}.{secrets.token_hex(2)}{SUFFIX}"
            move(self.folder / found.file_name, kept)
        return kept

    def rename(self, name: str, new_name: str) -> Path:
        """Give the file another name; a mere change of case is allowed. Raises NotFound, Conflict."""
        from hermes_cron.files import move

        with self._locked():
            found = self.find(name)
            if found is None:
                raise self._missing(name)
            taken = self.find(new_name)
            if taken is not None and taken != found:
                raise self._taken(taken.name)
            target = self.folder / (name_of(new_name) + SUFFIX)
            move(self.folder / found.file_name, target)
        return target

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The kernel releases the lock with the process, so a killed writer blocks nobody."""
        import fcntl

        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            raise NotFound(f"no folder {self.folder}", hint="Make a home: hermes-cron init") from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _missing(self, name: str) -> NotFound:
        return NotFound(f'no job "{name}"', hint="Jobs: hermes-cron list")

    @staticmethod
    def _taken(name: str) -> Conflict:
        return Conflict(
            f'a job "{name}" exists already',
            hint=f"Another name: --name NAME   or change it: hermes-cron edit {name}",
        )

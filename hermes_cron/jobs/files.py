"""Which job files lie in a home, and how does one change without ever being half written?

Every change goes through the history (``domain.file_edit.Change``): a new file fails where the name exists, a changed
one replaces only the bytes that were read, a removed one lies in the snapshot before. The folder is looked at while no
other command changes anything; an editor takes no lock, the compare of bytes is what protects its text.

`list` reads the folder through this module, so what only a writer needs is imported where it writes.
"""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_cron.errors import Conflict, NotFound

if TYPE_CHECKING:
    from hermes_cron.domain.file_edit import Change, Drop, Edits, Put
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


def is_job(file_name: str) -> bool:
    return file_name.endswith(SUFFIX) and not file_name.startswith((".", "#"))


class JobFile(NamedTuple):
    """One file as the folder shows it; ``stat`` is ``stat_text``'s. A tuple: a folder may hold 10,000."""

    file_name: str
    name: str
    stat: str


class JobFiles:
    """The folder ``jobs/`` of a home."""

    def __init__(self, home: Home, *, folder: Path | None = None, change: Change | None = None) -> None:
        """``folder`` is another folder to look at than the home's own; without ``change`` all is for reading."""
        self.folder = folder or home.jobs
        self._change = change

    def scan(self) -> list[JobFile]:
        """Every job file, by name; nothing is opened. Hidden files and editors' back-ups (``x.md~``) are not jobs."""
        found = []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if not is_job(entry.name):
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
                if is_job(file_name) and path.is_file():
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
        same = self.look([name for name in listed if is_job(name) and name_key(name_of(name)) == key])
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

        def edits() -> Edits:
            taken = self.find(name)
            if taken is not None:
                raise self._taken(taken.name)
            return {self.shown(target.name): self._put(data, before=None)}

        target = self.folder / (name_of(name) + SUFFIX)
        self._changed(f"add {name_of(name)}", edits, job=name_of(name))
        return target

    def replace(self, name: str, data: bytes, *, expected_hash: str, reason: str = "edit") -> Path:
        """Write over the file whose content has ``expected_hash``. Raises Conflict when somebody changed it since."""

        def edits() -> Edits:
            if self.find(name) is None:
                raise self._missing(name)
            now = target.read_bytes()
            if content_hash(now) != expected_hash:
                raise self._edited(name, target)
            place = self._leads_to(target)
            return {} if place is None else {place: self._put(data, before=now)}

        target = self.path(name)
        self._changed(f"{reason} {name_of(name)}", edits, job=name_of(name))
        if self._leads_to(target) is None:
            self._write_elsewhere(name, target, data, expected_hash)
        return target

    def remove(self, name: str) -> str:
        """The file goes; the snapshot by which that is undone. Raises NotFound."""

        def edits() -> Edits:
            found = self._there(name)
            return {self.shown(found.file_name): self._drop(self.folder / found.file_name)}

        made = self._changed(f"remove {name_of(name)}", edits, job=name_of(name))
        if made is None:
            raise self._missing(name)
        return made

    def rename(self, name: str, new_name: str) -> Path:
        """Give the file another name; a mere change of case is allowed. Raises NotFound, Conflict."""

        def edits() -> Edits:
            found = self._there(name)
            taken = self.find(new_name)
            if taken is not None and taken != found:
                raise self._taken(taken.name)
            old = self.folder / found.file_name
            gone = self._drop(old)
            if target.name == found.file_name:
                return {}
            bits = None if old.is_symlink() else old.stat().st_mode & 0o777
            moved = self._put(gone.before, before=None, bits=bits, link=old.is_symlink())
            return {self.shown(found.file_name): gone, self.shown(target.name): moved}

        target = self.folder / (name_of(new_name) + SUFFIX)
        self._changed(f"rename {name_of(name)} to {name_of(new_name)}", edits, job=name_of(new_name))
        return target

    # --- inside -----------------------------------------------------------------------------------------------------

    def _changed(self, reason: str, edits: Callable[[], Edits], *, job: str) -> str | None:
        if self._change is None:
            raise RuntimeError("these job files are for reading")
        return self._change(reason, edits, job=job)

    def _there(self, name: str) -> JobFile:
        found = self.find(name)
        if found is None:
            raise self._missing(name)
        return found

    @staticmethod
    def _put(data: bytes, *, before: bytes | None, bits: int | None = None, link: bool = False) -> Put:
        from hermes_cron.domain.file_edit import Put

        return Put(data=data, before=before, bits=bits, link=link)

    @staticmethod
    def _drop(path: Path) -> Drop:
        """A link goes as itself; what it leads to stays."""
        from hermes_cron.domain.file_edit import Drop

        return Drop(before=os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes())

    def _leads_to(self, path: Path) -> str | None:
        """The path below the home whose bytes the file has; None for one that is a link to elsewhere."""
        if not path.is_symlink():
            return self.shown(path.name)
        real, folder = Path(os.path.realpath(path)), Path(os.path.realpath(self.folder))
        return self.shown(str(real.relative_to(folder))) if real.is_relative_to(folder) else None

    def _write_elsewhere(self, name: str, link: Path, data: bytes, expected_hash: str) -> None:
        """The history holds the link; what it leads to is kept by whoever keeps it there."""
        from hermes_cron.files import replace_if_unchanged

        try:
            replace_if_unchanged(link, data, expected_hash)
        except Conflict:
            raise self._edited(name, link) from None

    def _edited(self, name: str, path: Path) -> Conflict:
        return Conflict(
            f"{self.shown(path.name)} was changed by someone else meanwhile; their text is kept",
            hint=f"Look and try again: hermes-cron show {name}",
        )

    def _missing(self, name: str) -> NotFound:
        return NotFound(f'no job "{name}"', hint="Jobs: hermes-cron list")

    @staticmethod
    def _taken(name: str) -> Conflict:
        return Conflict(
            f'a job "{name}" exists already',
            hint=f"Another name: --name NAME   or change it: hermes-cron edit {name}",
        )

"""How does the home look with what is planned so far? Several changes become one, whatever files they share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hermes_cron.domain.file_edit import Drop, Edits, Put
from hermes_cron.experience.skill_state import File, read_state


class HomeFiles:
    """Files by path relative to the home, as they lie there and with every ``put`` and ``drop`` since."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: dict[str, File | None] = {}
        self._now: dict[str, File | None] = {}

    def copy(self) -> HomeFiles:
        """To try something on."""
        other = HomeFiles(self._root)
        other._before, other._now = dict(self._before), dict(self._now)
        return other

    def read(self, path: str) -> File | None:
        """None where nothing is."""
        if path not in self._now:
            self._before[path] = self._now[path] = _read(self._root / path)
        return self._now[path]

    def put(self, path: str, data: bytes, *, like: File | None = None) -> None:
        """These bytes; an old file keeps its mode, a new one has that of ``like``, else what the umask leaves."""
        old = self.read(path)
        kind = like or old
        self._now[path] = File(data) if kind is None else File(data, kind.bits, kind.link)

    def drop(self, path: str) -> None:
        """Nothing is there any more."""
        self.read(path)
        self._now[path] = None

    def folder(self, path: str) -> Mapping[str, File]:
        """The files below a folder, by path below it. Raises ``SkillOutsideRoot`` for a folder behind a link."""
        place = self._root / path
        if place.is_dir():
            for name in read_state(place, self._root).files:
                self.read(f"{path}/{name}")
        inside = {name: file for name, file in self._now.items() if name.startswith(f"{path}/")}
        return {name.removeprefix(f"{path}/"): file for name, file in sorted(inside.items()) if file is not None}

    def move(self, path: str, to: str) -> None:
        """A folder with all of its files, byte for byte."""
        for name, file in self.folder(path).items():
            self.put(f"{to}/{name}", file.data, like=file)
            self.drop(f"{path}/{name}")

    def free(self, path: str) -> str:
        """The path, or the first with a number behind it where nothing is."""
        number, found = 1, path
        while (self._root / found).exists() or self.folder(found):
            number += 1
            found = f"{path}.{number}"
        return found

    @property
    def edits(self) -> Edits:
        """What leads from the files that lie there to those that are planned."""
        found: dict[str, Put | Drop] = {}
        for path, file in self._now.items():
            before = self._before[path]
            if file == before:
                continue
            if file is None:
                assert before is not None  # noqa: S101  # it differs from the file
                found[path] = Drop(before=before.data)
            else:
                bits = None if before is not None or file.link else file.bits
                found[path] = Put(
                    data=file.data, before=None if before is None else before.data, bits=bits, link=file.link
                )
        return found


def _read(path: Path) -> File | None:
    if path.is_symlink():
        return File(os.fsencode(path.readlink()), link=True)
    try:
        return File(path.read_bytes(), path.stat().st_mode & 0o777)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None

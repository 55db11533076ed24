"""How are secrets kept so that no file of the home shows one?

``vault.json`` (0600) has names and times in the clear, values as Fernet tokens (AES-128-CBC with HMAC-SHA256). A
token holds its name too, so a token moved to another name is noticed. Writers take turns by a lock and replace the
file in one step; readers need no lock and see a change at their next read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_cron import config_keys, files
from hermes_cron.errors import ConfigError, NotFound, Usage, VaultError
from hermes_cron.settings import Environment, environment
from hermes_cron.vault.finder import Finder
from hermes_cron.vault.keys import key_place, make_key, read_key
from hermes_cron.vault.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cryptography.fernet import MultiFernet

    from hermes_cron.home import Home
    from hermes_cron.ports import Clock

FORMAT = 1
MAX_BYTES = 65_536
"""Of one value as UTF-8: a key, a certificate, a service account's JSON; not a file store."""

_NAME = re.compile(config_keys.NAME_IN_VAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """What may be shown of a secret. ``set_at`` is aware UTC."""

    name: str
    set_at: datetime


@dataclass(frozen=True, slots=True)
class _Entry:
    token: str
    set_at: str


class Vault:
    """The secrets of one home. Cheap to make: nothing is read, and ``cryptography`` not imported, before a value is."""

    def __init__(self, home: Home, clock: Clock, env: Environment | None = None) -> None:
        self._home = home
        self._clock = clock
        self._env = environment() if env is None else env
        self._redactor: tuple[tuple[int, ...] | None, Redactor] | None = None

    def names(self) -> tuple[str, ...]:
        """By name. Needs no key."""
        return tuple(sorted(self._read()))

    def infos(self) -> tuple[SecretInfo, ...]:
        """By name. Needs no key."""
        entries = sorted(self._read().items())
        return tuple(SecretInfo(name=name, set_at=self._time(entry.set_at)) for name, entry in entries)

    def get(self, name: str) -> str:
        """A secret's value.

        Raises:
            NotFound: no secret of that name.
            VaultError: no key, another key, or a damaged file.
        """
        entries = self._read()
        if name not in entries:
            raise NotFound(f'no secret "{name}"', hint=f"hermes-cron secrets set {name}", details=_near(name, entries))
        return self._open(name, entries[name], self._key())

    def resolve(self, reference: str) -> str:
        """The value that ``secret:NAME`` stands for. Raises ConfigError for anything else, without repeating it."""
        found = config_keys.SECRET_REFERENCE.fullmatch(reference)
        if found is None:
            raise ConfigError("not a reference to a secret", hint="write secret:NAME; hermes-cron secrets list")
        return self.get(found[1])

    def set(self, name: str, value: str) -> None:
        """Keep a value under a name, new or replaced.

        Raises:
            Usage: a name or value that is not allowed.
            VaultError: the existing vault cannot be opened with the key there is.
        """
        check_name(name)
        if not value:
            raise Usage(f'the value of "{name}" is empty', hint=f"hermes-cron secrets set {name}")
        if len(value.encode()) > MAX_BYTES:
            raise Usage(f'the value of "{name}" is longer than {MAX_BYTES} bytes', hint="keep a file, name its path")
        with self._locked():
            entries = self._read()
            if not entries:
                make_key(self._key_place)
            key = self._key()
            for other, entry in entries.items():
                self._open(other, entry, key)  # a second key in one file would lose the others at the next change
            sealed = key.encrypt(json.dumps({"name": name, "value": value}).encode()).decode("ascii")
            self._write({**entries, name: _Entry(sealed, self._clock.now().isoformat())})

    def remove(self, name: str) -> None:
        """Forget a secret. Raises NotFound. Needs no key, so a vault with a lost key can be emptied."""
        with self._locked():
            entries = self._read()
            if name not in entries:
                raise NotFound(f'no secret "{name}"', hint="hermes-cron secrets list", details=_near(name, entries))
            self._write({other: entry for other, entry in entries.items() if other != name})

    def redactor(self) -> Redactor:
        """What replaces every value known now. Raises VaultError where values cannot be read.

        Made again only when ``vault.json`` was replaced, since every sink asks for it with every text.
        """
        state = self._state()
        if self._redactor is None or self._redactor[0] != state:
            values = self._values()
            self._redactor = (state, Redactor({**self._unnamed(with_master_key=bool(values)), **values}))
        return self._redactor[1]

    @staticmethod
    def stands_in(value: str, text: str) -> bool:
        """Whether a text would be left out of the history once this value is a secret."""
        return Finder("", lambda: {"": value})(text.encode()) is not None

    def finder(self) -> Finder:
        """What finds the values known now in files."""
        return Finder(repr(self._state()), self._values)

    # --- inside ------------------------------------------------------------------------------------------------

    @property
    def _key_place(self) -> Path:
        return key_place(self._home, self._env)

    def _state(self) -> tuple[int, ...] | None:
        """Changes with every write: each makes a new inode."""
        try:
            stat = self._home.vault.stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def _values(self) -> dict[str, str]:
        entries = self._read()
        key = self._key() if entries else None
        return {name: self._open(name, entry, key) for name, entry in entries.items()} if key else {}

    def _key(self) -> MultiFernet:
        place = self._key_place
        return read_key(place, vault=self._home.vault, private=place == self._home.vault_key)

    def _unnamed(self, *, with_master_key: bool) -> dict[str, str]:
        """Secrets that are in no vault: a command of a job could read them from our process or the home."""
        held = dict(self._env.secrets)
        if self._env.api_key:
            held["OPENAI_API_KEY"] = self._env.api_key
        if with_master_key:
            lines = self._key_place.read_text(encoding="ascii").split()
            held |= {f"master-key-{number}": line for number, line in enumerate(lines, 1)}
        return held

    def _open(self, name: str, entry: _Entry, key: MultiFernet) -> str:
        from cryptography.fernet import InvalidToken

        try:
            opened = json.loads(key.decrypt(entry.token.encode()))
        except (InvalidToken, UnicodeEncodeError) as error:
            raise VaultError(
                f'secret "{name}" cannot be opened: {self._home.vault} is damaged or {self._key_place} is another key',
                hint=f"put the right key or {self._home.vault.name} back from a backup, "
                f"or set it anew: hermes-cron secrets remove {name}, then secrets set {name}",
            ) from error
        if opened.get("name") != name:
            raise VaultError(
                f'secret "{name}" holds the value of another name: {self._home.vault} was changed by hand',
                hint=f"set it anew: hermes-cron secrets remove {name}, then secrets set {name}",
            )
        return str(opened["value"])

    def _read(self) -> dict[str, _Entry]:
        try:
            text = self._home.vault.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise VaultError(f"cannot read {self._home.vault}: {error.strerror}", hint="check its owner") from error
        try:
            stored = json.loads(text)
            if stored["format"] > FORMAT:
                raise VaultError(
                    f"{self._home.vault} was written by a newer hermes-cron (format {stored['format']})",
                    hint="install that version again",
                )
            return {
                str(name): _Entry(str(entry["token"]), str(entry["set_at"]))
                for name, entry in stored["secrets"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VaultError(
                f"{self._home.vault} is damaged: not the JSON that hermes-cron writes",
                hint="put it back from a backup, or move it away and set the secrets anew",
            ) from error

    def _write(self, entries: Mapping[str, _Entry]) -> None:
        body = {name: {"token": entry.token, "set_at": entry.set_at} for name, entry in sorted(entries.items())}
        text = json.dumps({"format": FORMAT, "secrets": body}, indent=1)
        files.write_atomic(self._home.vault, text.encode() + b"\n", mode=0o600)

    def _time(self, text: str) -> datetime:
        try:
            return datetime.fromisoformat(text)
        except ValueError as error:
            raise VaultError(
                f"{self._home.vault} is damaged: {text!r} is no time", hint="set the secret anew"
            ) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; the kernel releases the lock of a process that dies."""
        files.make_folder(self._home.run)
        descriptor = os.open(self._home.run / "vault.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def check_name(name: str) -> None:
    """Raise Usage for a name that no reference could spell."""
    if not _NAME.fullmatch(name):
        raise Usage(
            f"{name!r} cannot name a secret",
            hint="1 to 64 letters, digits, - _ . and no leading mark: db-prod",
        )


def _near(name: str, known: Mapping[str, object]) -> dict[str, object]:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3)
    return {"near": near} if near else {}

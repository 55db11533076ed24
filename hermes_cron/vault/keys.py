"""Where does the master key lie, and is it one?

In this order: ``$CREDENTIALS_DIRECTORY/master-key`` (systemd's LoadCredential), the file that HERMES_CRON_KEY_FILE
names, ``vault.key`` of the home. The last two are made, mode 0600, when the first secret is set. A key file holds
Fernet keys, one a line: the first encrypts, all of them decrypt.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron import files
from hermes_cron.errors import Conflict, VaultError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

    from hermes_cron.home import Home
    from hermes_cron.settings import Environment

_MODE = 0o600


def key_place(home: Home, env: Environment) -> Path:
    """The one file that holds the key, whether it exists yet or not."""
    if env.credentials_directory:
        given = Path(env.credentials_directory) / "master-key"
        if given.is_file():
            return given
    return Path(env.key_file).expanduser() if env.key_file else home.vault_key


def read_key(place: Path, *, vault: Path, private: bool) -> MultiFernet:
    """The key for decrypting and encrypting.

    ``private``: the file is the home's own, so its mode is our business; others mount theirs as they like.

    Raises:
        VaultError: missing, readable by others, or not a key.
    """
    from cryptography.fernet import Fernet, MultiFernet

    try:
        text = place.read_text(encoding="ascii")
        mode = place.stat().st_mode & 0o777
    except FileNotFoundError as error:
        raise VaultError(
            f"the key of {vault} is missing: {place}",
            hint=f"put {place.name} back from a backup; without it the secrets are lost: "
            f"move {vault.name} away and set them anew (hermes-cron secrets set NAME)",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise VaultError(f"cannot read the key {place}: {error}", hint=f"ls -l {place}") from error
    if private and mode & 0o077:
        raise VaultError(f"{place} can be read by others (mode {mode:04o})", hint=f"chmod 600 {place}")
    try:
        keys = [Fernet(line.strip()) for line in text.splitlines() if line.strip()]
        return MultiFernet(keys)
    except ValueError as error:
        raise VaultError(
            f"{place} does not hold a key (32 bytes as base64, one a line)", hint="put it back from a backup"
        ) from error


def make_key(place: Path) -> None:
    """Make a key file if there is none. Two makers at once: one wins and both use its key."""
    from cryptography.fernet import Fernet

    if place.exists():
        return
    try:
        files.create_new(place, Fernet.generate_key() + b"\n", mode=_MODE)
    except Conflict:
        return

"""How does a setting change without its file losing a comment?"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes_cron import config_keys
from hermes_cron.config_keys import Scalar, Setting
from hermes_cron.errors import ConfigError, NotFound, SecretInPlainSight, Usage
from hermes_cron.settings import Environment, Settings

if TYPE_CHECKING:
    from hermes_cron.domain.file_edit import Edits
    from hermes_cron.home import Home

Keys = tuple[str, ...]
Keep = Callable[[Callable[[], "Edits"]], object]
"""Makes the edits, with the state before in the history (``domain.file_edit.Change``)."""


def keys_of(name: str) -> Keys:
    """``model.name`` or ``prices."gpt-5.2".input`` as its parts. Raises Usage for what is no key at all."""
    try:
        inner: object = tomllib.loads(f"{name} = 0")
    except tomllib.TOMLDecodeError as error:
        raise Usage(f"{name!r} is not a key", hint="hermes-cron config get") from error
    keys: list[str] = []
    while isinstance(inner, dict):
        if len(inner) != 1:
            raise Usage(f"{name!r} is not a key", hint="hermes-cron config get")
        ((key, inner),) = inner.items()
        keys.append(key)
    return tuple(keys)


def setting_of(keys: Keys) -> Setting:
    """The row of a key. Raises NotFound with the nearest."""
    found = config_keys.find(keys)
    if found is None:
        import difflib

        name = config_keys.dotted(keys)
        near = difflib.get_close_matches(name, [setting.name for setting in config_keys.SETTINGS], n=3, cutoff=0.5)
        details: dict[str, object] = {"near": near} if near else {}
        raise NotFound(f'no setting "{name}"', hint="hermes-cron config get", details=details)
    return found


def typed(setting: Setting, keys: Keys, text: str) -> Scalar:
    """Words of a command line as the setting's type.

    Raises:
        ConfigError: not of the type, out of range, not one of the choices.
        SecretInPlainSight: a password or key.
    """
    name = config_keys.dotted(keys)
    value: Scalar = text
    try:
        if setting.type is bool:
            value = {"true": True, "false": False}[text.lower()]
        elif setting.type is int or (setting.type is float and text.strip().lstrip("+-").isdigit()):
            value = int(text)
        elif setting.type is float:
            value = float(text)
    except (KeyError, ValueError):
        value = text  # the check below says which type it must be
    try:
        wrong = config_keys.fault(setting, value)
    except config_keys.InPlainSight as sight:
        raise SecretInPlainSight(
            f"{name}: refused, that is {sight}",
            hint=f"hermes-cron secrets set NAME   then   hermes-cron config set {name} secret:NAME",
        ) from None
    if wrong:
        raise ConfigError(f"{name}: {wrong}", hint=f"hermes-cron config set {name} VALUE   (keys: docs/settings.md)")
    return value


def spelled(changes: Mapping[str, Scalar | None]) -> dict[Keys, Scalar | None]:
    """Keys as people spell them, and their words as the settings' types. None also removes a whole table:
    ``databases.prod``. Raises as ``keys_of`` and ``typed``."""
    values: dict[Keys, Scalar | None] = {}
    for name, value in changes.items():
        keys = keys_of(name)
        setting = config_keys.find(keys)
        values[keys] = typed(setting, keys, value) if setting and isinstance(value, str) else value
    return values


def change(home: Home, env: Environment, values: Mapping[Keys, Scalar | None], *, keep: Keep) -> None:
    """Set keys, or remove those whose value is None, all or none; the result is validated before it is in place.

    Raises:
        ConfigError, SecretInPlainSight: the file would not be valid; it stays as it is.
        Conflict: someone else changed it meanwhile.
        SnapshotFailed: what is there cannot be kept first.
    """
    from hermes_cron.domain.file_edit import Put

    def edits() -> Edits:
        Settings.load(home, env)  # a fault that is there already is reported with its own line
        before = home.config.read_bytes()
        changed = _changed(before, values, home, env)
        return {"config.toml": Put(data=changed.encode(), before=before)}

    keep(edits)


def _changed(data: bytes, values: Mapping[Keys, Scalar | None], home: Home, env: Environment) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(data.decode("utf-8-sig"))
        for keys, value in values.items():
            _put(document, keys, value)
        changed = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigError(f"{home.config}: {error}", hint=f"edit {home.config}") from error
    try:
        Settings.parse(changed, home.config, env)
    except ConfigError as error:
        error.hint = (
            "nothing was changed; set what belongs together at once: hermes-cron config set KEY=VALUE KEY=VALUE"
        )
        raise
    return changed


def _put(document: object, keys: Keys, value: Scalar | None) -> None:
    import tomlkit

    *above, last = keys
    table = document
    for depth, key in enumerate(above):
        if not isinstance(table, dict):
            raise ConfigError(f"{config_keys.dotted(keys[:depth])} is not a table")
        if key not in table:
            if value is None:
                return
            # the tables above the last one have no keys of their own, so no header of theirs is needed
            table[key] = tomlkit.table(is_super_table=depth + 1 < len(above))
        table = table[key]
    if not isinstance(table, dict):
        raise ConfigError(f"{config_keys.dotted(above)} is not a table")
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value

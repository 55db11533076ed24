"""``config check get set``: what is configured, is it valid, change it and keep the comments."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from hermes_cron import config_keys
from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import ConfigError, NotFound, Usage

app = typer.Typer(help="Settings: config.toml, with the environment over it.", add_completion=False)

HELP_ZH = {
    "Settings: config.toml, with the environment over it.": "设置：config.toml，环境变量优先。",
    "Validate config.toml and the secrets it names.": "校验 config.toml 及其引用的密钥。",
    "What is in force, and where it comes from.": "当前生效的设置及其来源。",
    "Change settings; comments stay, nothing invalid is written.": "修改设置；保留注释，不写入无效内容。",
    "A key such as model.name; none for all.": "键名，例如 model.name；省略则显示全部。",
    "KEY VALUE, or KEY=VALUE several times.": "键 值，或多个 键=值。",
    "Remove this key instead.": "改为删除该键。",
}

_SECOND_MEMORY = ("memory", "provider")
_HEADERS = {"en": ("KEY", "VALUE", "FROM"), "zh": ("键", "值", "来源")}
_TEXTS = {
    "en": {"fine": "{path} is valid: {count} settings", "set": "{key} = {value}", "unset": "{key} removed",
           "at_start": "The running scheduler takes {key} at its next start.",
           "instead": "One second memory at a time: {old} is asked no more. The files stay as they are."},
    "zh": {"fine": "{path} 有效：{count} 项设置", "set": "{key} = {value}", "unset": "{key} 已删除",
           "at_start": "运行中的调度器下次启动后才采用 {key}。",
           "instead": "同一时间只用一个第二记忆：不再使用 {old}。记忆文件保持不变。"},
}  # fmt: skip


@app.command("check", help="Validate config.toml and the secrets it names.")
def check() -> None:
    state = cli()
    home, settings = state.home, state.settings
    named = {f"databases.{name}.password": db.password_ref for name, db in settings.databases.items()}
    named["model.key"] = settings.model.key_ref
    for name, target in settings.targets.items():
        said = {"url": target.url, "secret": target.secret, "password": target.password}
        named |= {f"targets.{name}.{key}": text for key, text in said.items() if text and text.startswith("secret:")}
    stored = _names(state)
    missing = sorted(key for key, reference in named.items() if reference and _name(reference) not in stored)
    if missing:
        key = missing[0]
        name = _name(named[key] or "")
        line = config_keys.line_of(home.config.read_text(encoding="utf-8-sig"), key.split("."))
        raise ConfigError(
            f'{home.config.name}:{line}: {key}: no secret "{name}" in the vault',
            hint=f"hermes-cron secrets set {name}",
            details={"missing": missing},
        )
    count = len(_in_file(state))
    if state.json:
        state.emit_json({"path": str(home.config), "valid": True, "settings": count})
    else:
        state.out(_TEXTS[state.lang]["fine"].format(path=home.config, count=count))


@app.command("get", help="What is in force, and where it comes from.")
def get(key: str | None = typer.Argument(None, help="A key such as model.name; none for all.")) -> None:
    state = cli()
    rows = _in_force(state)
    if key is None:
        if state.json:
            state.emit_json({"settings": [{"key": k, "value": v, "from": f} for k, v, f in rows]})
        else:
            shown = [(k, _text(v), f) for k, v, f in rows]
            state.out(output.table(shown, _HEADERS[state.lang], max_columns=state.columns, give={1}))
        return
    from hermes_cron.config_edit import keys_of, setting_of

    keys = keys_of(key)
    setting = setting_of(keys)
    name = config_keys.dotted(keys)
    if not any(k.startswith(f"{config_keys.dotted(keys[:-1])}.") or k == name for k, _, _ in rows):
        raise NotFound(f'no "{config_keys.dotted(keys[:-1])}" is configured', hint="hermes-cron config get")
    value, source = next(((v, f) for k, v, f in rows if k == name), (setting.default, "default"))
    if state.json:
        state.emit_json({"key": name, "value": value, "from": source})
    else:
        state.out(_text(value))


@app.command("set", help="Change settings; comments stay, nothing invalid is written.")
def set_(
    words: list[str] = typer.Argument(None, help="KEY VALUE, or KEY=VALUE several times.", metavar="KEY VALUE"),
    unset: list[str] = typer.Option([], "--unset", help="Remove this key instead.", metavar="KEY"),
) -> None:
    from hermes_cron.config_edit import keys_of, setting_of, typed

    state = cli()
    values: dict[tuple[str, ...], config_keys.Scalar | None] = {}
    for key, text in _pairs(words or []):
        keys = keys_of(key)
        values[keys] = typed(setting_of(keys), keys, text)
    for key in unset:
        keys = keys_of(key)
        setting_of(keys)
        values[keys] = None
    if not values:
        raise Usage("nothing to set", hint="hermes-cron config set KEY VALUE")
    second = None if _SECOND_MEMORY not in values else state.settings.memory.provider
    state.configure(f"config set {', '.join(config_keys.dotted(keys) for keys in values)}", values)
    if state.json:
        state.emit_json({"changed": {config_keys.dotted(keys): value for keys, value in values.items()}})
        return
    texts = _TEXTS[state.lang]
    for keys, value in values.items():
        text = texts["unset"] if value is None else texts["set"]
        state.out(text.format(key=config_keys.dotted(keys), value=_text(value)))
    if second not in {None, "none", values.get(_SECOND_MEMORY)}:
        state.note(texts["instead"].format(old=second))
    late = [config_keys.dotted(keys) for keys in values if setting_of(keys).at_start]
    if late and state.app.serving():
        state.note(texts["at_start"].format(key=", ".join(late)))


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    """``KEY VALUE`` or ``KEY=VALUE ...``; a value may hold ``=`` itself."""
    if len(words) == 2 and "=" not in words[0]:
        return [(words[0], words[1])]
    if not all("=" in word for word in words):
        raise Usage("give KEY VALUE, or KEY=VALUE several times", hint="hermes-cron config set --help")
    return [(key.strip(), value) for key, _, value in (word.partition("=") for word in words)]


def _in_force(state: Cli) -> list[tuple[str, object, str]]:
    """Key, value, source: the file's keys and every key without ``*``, in the table's order. Never a secret."""
    settings, file = state.settings, _in_file(state)
    env = state.environment
    over = {
        "model.name": env.model,
        "model.base_url": env.base_url,
        "model.key": "(not shown)" if env.api_key else None,
    }
    rows: list[tuple[str, object, str]] = []
    for setting in config_keys.SETTINGS:
        if over.get(setting.name):
            rows.append((setting.name, over[setting.name], setting.env or "environment"))
            continue
        mine = [(keys, value) for keys, value in file.items() if config_keys.find(keys) is setting]
        rows.extend((config_keys.dotted(keys), value, "config.toml") for keys, value in mine)
        if not mine and setting.name == "timezone":
            rows.append(("timezone", settings.timezone, "TZ" if env.time_zone else "host"))
        elif not mine and "*" not in setting.path:
            rows.append((setting.name, setting.default, "default"))
    return rows


def _in_file(state: Cli) -> dict[tuple[str, ...], object]:
    path = state.home.config
    return dict(config_keys.leaves(config_keys.parse(path.read_text(encoding="utf-8-sig"), path)))


def _names(state: Cli) -> tuple[str, ...]:
    return state.app.vault.names()


def _name(reference: str) -> str:
    return reference.removeprefix("secret:")


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return output.to_json(value)
    return f"{value:g}" if isinstance(value, float) else str(value)

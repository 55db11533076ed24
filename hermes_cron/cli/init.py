"""``init``: a home that works, whoever answered nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hermes_cron import config_keys, files, shipped
from hermes_cron.cli import output, snapshot_words
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import ConfigError, Conflict, SecretInPlainSight, Usage
from hermes_cron.home import with_tilde
from hermes_cron.settings import NO_MODEL, Settings, host_zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_cron.home import Home

app = typer.Typer(add_completion=False)

HELP_ZH = {
    "Make a home: asks on a terminal, takes every answer as an option.": "建立主目录：终端上提问，也可全用选项回答。",
    "Zone of schedules (default: this host's).": "时间表的时区（默认：本机时区）。",
    'A model\'s name; "none" for none.': "模型名称；none 表示不用模型。",
    "Where the model's provider answers.": "模型服务地址。",
    "NAME=URL or NAME=PATH of a database to read.": "要读取的数据库：名称=URL 或 名称=路径。",
    "en or zh (default: the environment's).": "en 或 zh（默认取自环境）。",
}

_TEXTS = {
    "en": {
        "zone": "Time zone of schedules",
        "model": "Model (none: playbooks only)",
        "base_url": "Where its provider answers (empty: api.openai.com)",
        "model_key": "API key, not shown (empty: taken from OPENAI_API_KEY at every run)",
        "database": "A database to read, NAME=URL or NAME=PATH (empty: none yet)",
        "password": "Password of {name}, not shown (empty: none)",
        "made": "Made {root}", "there": "{root} was there already; nothing in it was overwritten",
        "kept": "kept", "new": "new", "files": "{count} files", "files_1": "1 file",
        "updated": "{count} that nobody had edited updated", "updated_1": "1 that nobody had edited updated",
        "comma": ", ", "colon": ": ", "no_model": "no model", "snapshot": "snapshot {id}",
        "unused": "not applied: {options}; config.toml exists",
        "next": "next: ", "add": 'hermes-cron add "every day 9am: inspect {database} db"',
        "add_db": "hermes-cron db add prod", "test": "hermes-cron db test {database}",
    },
    "zh": {
        "zone": "时间表的时区",
        "model": "模型（none：只用 playbook）",
        "base_url": "模型服务地址（空：api.openai.com）",
        "model_key": "API key，不显示（空：每次运行取 OPENAI_API_KEY）",
        "database": "要读取的数据库，名称=URL 或 名称=路径（空：暂无）",
        "password": "{name} 的密码，不显示（空：无）",
        "made": "已建立 {root}", "there": "{root} 已存在；没有覆盖任何内容",
        "kept": "保留", "new": "新建", "files": "{count} 个文件", "files_1": "1 个文件",
        "updated": "更新了 {count} 个无人改动的文件", "updated_1": "更新了 1 个无人改动的文件",
        "comma": "，", "colon": "：", "no_model": "无模型", "snapshot": "快照 {id}",
        "unused": "未应用：{options}；config.toml 已存在",
        "next": "下一步：", "add": 'hermes-cron add "每天早上9点：巡检 {database} 数据库"',
        "add_db": "hermes-cron db add prod", "test": "hermes-cron db test {database}",
    },
}  # fmt: skip

_FOLDERS = ("jobs", "skills", "memories", "outputs", "logs", "run")


@dataclass(kw_only=True)
class _Answers:
    timezone: str
    language: str | None = None
    model: str | None = None
    base_url: str | None = None
    databases: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)


@app.command("init", help="Make a home: asks on a terminal, takes every answer as an option.")
def init(
    timezone: str = typer.Option(None, "--timezone", "--tz", help="Zone of schedules (default: this host's)."),
    model: str = typer.Option(None, help='A model\'s name; "none" for none.'),
    base_url: str = typer.Option(None, help="Where the model's provider answers."),
    database: list[str] = typer.Option([], help="NAME=URL or NAME=PATH of a database to read.", metavar="NAME=URL"),
    language: str = typer.Option(None, help="en or zh (default: the environment's)."),
) -> None:
    state = cli()
    home, env = state.home_path, state.environment
    given = _Answers(
        timezone=timezone or host_zone(env), language=language,
        model=None if model in (None, "", NO_MODEL) else model, base_url=base_url,
        databases=dict(_database(text, home) for text in database),
    )  # fmt: skip
    existed = home.is_home()
    if not existed and state.is_terminal and not state.yes:
        _ask(state, given, asked={"timezone": timezone, "model": model, "database": database})
    _check(given)
    text = config_text(given)
    Settings.parse(text, home.config, env)
    if existed and any(shipped.pending(home.root / kind, kind, _held(home, kind)) for kind in _SHIPPED):
        state.app.keep_hand_edits()
    made = _make(home, text)
    for name, value in given.secrets.items():
        state.app.vault.set(name, value)
    snapshot = _kept(state, made)
    unused = [
        name
        for name, value in (("--timezone", timezone), ("--model", model), ("--base-url", base_url),
                            ("--database", database), ("--language", language))
        if value and existed
    ]  # fmt: skip
    _report(state, made, snapshot, unused=unused, existed=existed)


def _kept(state: Cli, made: _Made) -> str | None:
    """The snapshot that holds what was made; None when nothing was."""
    if not made.config_new and not any(copied.new or copied.updated for copied in made.shipped.values()):
        return None
    return state.app.keep("init")


def _check(answers: _Answers) -> None:
    """Each answer by its option's name: there is no file yet in which a line could be shown.

    Raises ConfigError, or SecretInPlainSight for a key where its reference belongs.
    """
    for option, key, value in (
        ("--timezone", "timezone", answers.timezone), ("--language", "language", answers.language),
        ("--model", "model.name", answers.model), ("--base-url", "model.base_url", answers.base_url),
    ):  # fmt: skip
        if value is None:
            continue
        try:
            wrong = config_keys.fault(_setting(key), value)
        except config_keys.InPlainSight as sight:
            raise SecretInPlainSight(f"{option}: that is {sight}", hint="hermes-cron secrets set NAME") from None
        if wrong:
            raise ConfigError(f"{option}: {wrong}; no home was made", hint=f"hermes-cron init {option} VALUE")


def config_text(answers: _Answers) -> str:
    """A config.toml that says what was answered and shows, as comments, what else there is."""
    quoted = _quoted
    language = f"language = {quoted(answers.language)}" if answers.language else '# language = "en"'
    lines = [
        "# Settings of this home. All keys: docs/settings.md. Check: hermes-cron config check",
        f"timezone = {quoted(answers.timezone)}",
        f"{language}        # en, zh; not set: the environment's",
        "# concurrency = 4         # runs at once",
        "# catch_up_hours = 24     # how far back missed instants are caught up",
        "",
        "[model]                   # none: skills with a playbook run without one",
        f"name = {quoted(answers.model)}" if answers.model else '# name = "gpt-5-mini"',
        f"base_url = {quoted(answers.base_url)}" if answers.base_url else '# base_url = "http://127.0.0.1:11434/v1"',
        'key = "secret:model"' if "model" in answers.secrets else '# key = "secret:openai"  # or OPENAI_API_KEY',
    ]
    for name, url in answers.databases.items():
        lines += ["", f"[databases.{config_keys.dotted([name])}]", f"url = {quoted(url)}"]
        if f"db-{name}" in answers.secrets:
            lines.append(f"password = {quoted(f'secret:db-{name}')}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    home: Home
    config_new: bool
    folders: tuple[str, ...]
    shipped: dict[shipped.Kind, shipped.Copied]


def _make(home: Home, config: str) -> _Made:
    """The tree; every part only where it is missing. config.toml is last: with it the folder is a home."""
    if not files.make_folder(home.root) and not any(home.root.iterdir()):
        home.root.chmod(0o700)
    folders = tuple(name for name in _FOLDERS if files.make_folder(home.root / name))
    copies = {kind: shipped.copy_to(home.root / kind, kind, _held(home, kind)) for kind in _SHIPPED}
    try:
        files.create_new(home.config, config.encode(), mode=0o600)
    except Conflict:
        return _Made(home=home, config_new=False, folders=folders, shipped=copies)
    return _Made(home=home, config_new=True, folders=folders, shipped=copies)


_SHIPPED: tuple[shipped.Kind, ...] = ("jobs", "skills", "memories")


def _held(home: Home, kind: shipped.Kind) -> frozenset[str]:
    """Skills that a newer version does not replace: somebody pinned them."""
    from hermes_cron.experience.skill_pins import pinned

    return pinned(home.skills) if kind == "skills" else frozenset()


def _ask(state: Cli, answers: _Answers, *, asked: dict[str, object]) -> None:
    """Fill in what no option gave. An answer that is not understood is asked for again."""
    texts = _TEXTS[state.lang]
    if not asked["timezone"]:
        answers.timezone = _valid(state, texts["zone"], answers.timezone, "timezone", flag="--timezone")
    if asked["model"] is None:
        name = state.ask(texts["model"], default=state.environment.model or NO_MODEL, flag="--model").strip()
        answers.model = None if name in ("", NO_MODEL) else name
        if answers.model and not answers.base_url:
            url = _valid(
                state, texts["base_url"], state.environment.base_url or "", "model.base_url", flag="--base-url"
            )
            answers.base_url = url or None
        if answers.model and not state.environment.api_key:
            key = state.ask(texts["model_key"], default="", hidden=True, flag="OPENAI_API_KEY")
            answers.secrets.update({"model": key} if key else {})
    if not asked["database"]:
        _ask_database(state, answers)


def _ask_database(state: Cli, answers: _Answers) -> None:
    texts = _TEXTS[state.lang]
    while text := state.ask(texts["database"], default="", flag="--database").strip():
        try:
            name, url = _database(text, state.home_path)
        except (Usage, SecretInPlainSight) as error:
            state.note(f"  {error.message}" + (f"; {error.hint}" if error.hint else ""))
            continue
        answers.databases[name] = url
        if not url.startswith("sqlite"):
            password = state.ask(texts["password"].format(name=name), default="", hidden=True, flag="--database")
            answers.secrets.update({f"db-{name}": password} if password else {})
        return


def _valid(state: Cli, question: str, default: str, key: str, *, flag: str) -> str:
    setting = _setting(key)
    while True:
        answer = state.ask(question, default=default, flag=flag).strip()
        try:
            wrong = config_keys.fault(setting, answer) if answer else None
        except config_keys.InPlainSight as sight:
            wrong = f"that is {sight}"
        if not wrong:
            return answer
        state.note(f"  {wrong}")


def _setting(key: str) -> config_keys.Setting:
    found = config_keys.find(key.split("."))
    if found is None:
        raise LookupError(key)
    return found


def _database(text: str, home: Home) -> tuple[str, str]:
    """``NAME=URL``; a path of an existing file becomes an absolute SQLite URL. A server is asked by `db test`."""
    name, mark, url = text.partition("=")
    name, url = name.strip(), url.strip()
    if not mark or not name.replace("-", "").replace("_", "").isalnum() or not url:
        raise Usage(f'"{output.one_line(text)}" is not NAME=URL', hint="prod=postgresql://USER@HOST/DATABASE")
    try:
        wrong = config_keys.is_database_url(url)
    except config_keys.InPlainSight as sight:
        raise SecretInPlainSight(
            f"refused: {sight}", hint=f"leave it out here, then: hermes-cron secrets set db-{name}"
        ) from None
    if wrong:
        raise Usage(wrong, hint="postgresql://USER@HOST/DATABASE, sqlite:///PATH or a SQLite file's path")
    if "://" in url and not url.startswith("sqlite"):
        return name, url
    path = _file_of(url, home)
    if not path.is_file():
        raise Usage(f"no file {path}", hint="a SQLite database that exists, or postgresql://USER@HOST/DATABASE")
    return name, url if "://" in url else f"sqlite:///{path}"


def _file_of(url: str, home: Home) -> Path:
    """A bare path is meant from here; one in a URL is relative to the home, as config.toml has it."""
    if "://" not in url:
        return Path(url).expanduser().resolve()
    from hermes_cron.databases.url import sqlite_path

    return home.root / sqlite_path(url)


def _report(state: Cli, made: _Made, snapshot: str | None, *, unused: Sequence[str], existed: bool) -> None:
    settings = Settings.load(made.home, state.environment)
    texts = _TEXTS[state.lang]
    databases = sorted(settings.databases)
    follow = _follow(settings, texts)
    if state.json:
        state.emit_json({
            "home": str(made.home.root), "existed": existed, "config_written": made.config_new,
            "folders": list(made.folders),
            "copied": {kind: list(copied.new) for kind, copied in made.shipped.items()},
            "updated": {kind: list(copied.updated) for kind, copied in made.shipped.items()},
            "timezone": settings.timezone, "model": settings.model.name, "databases": databases,
            "not_applied": list(unused), "snapshot": snapshot, "next": follow,
        })  # fmt: skip
        return
    root = with_tilde(made.home.root)
    state.out(texts["there" if existed else "made"].format(root=root))
    comma = texts["comma"]
    summary = comma.join([settings.timezone, settings.model.name or texts["no_model"], *databases])
    rows = [("config.toml", f"{texts['new' if made.config_new else 'kept']}{texts['colon']}{summary}")]
    copies = {str(kind): copied for kind, copied in made.shipped.items()}
    for name in _FOLDERS:
        copied = copies.get(name)
        word = texts["new"] if name in made.folders else texts["kept"]
        parts = [word, _count(texts, "files", len(copied.new))] if copied else [word]
        if copied:
            parts.append(_count(texts, "updated", len(copied.updated)))
        rows.append((f"{name}/", comma.join(part for part in parts if part)))
    if snapshot is not None:
        rows.append(("snapshots.git/", texts["snapshot"].format(id=snapshot_words.short(snapshot))))
    state.out(output.facts(rows))
    if unused:
        state.note(texts["unused"].format(options=", ".join(unused)) + "\n  hermes-cron config set KEY VALUE")
    state.out(f"\n{texts['next']}{follow}")


def _count(texts: dict[str, str], what: str, count: int) -> str:
    return texts[f"{what}_1" if count == 1 else what].format(count=count) if count else ""


def _follow(settings: Settings, texts: dict[str, str]) -> str:
    """The next command: a database on a server is tried before a job relies on it."""
    if not settings.databases:
        return texts["add_db"]
    name = min(settings.databases)
    kind = "test" if settings.databases[name].engine == "postgresql" else "add"
    return texts[kind].format(database=name)


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's (toml.io, v1.0, String)."""
    return json.dumps(text, ensure_ascii=False)

"""``db add list test show remove query``: databases that jobs may read, and what their accounts may do."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import Conflict, HermesCronError, NotFound, SecretInPlainSight, Usage
from hermes_cron.settings import variable

if TYPE_CHECKING:
    from hermes_cron.domain.database import Account, DatabaseConfig, QueryResult

app = typer.Typer(help="Databases that jobs may read.", add_completion=False)

HELP_ZH = {
    "Databases that jobs may read.": "任务可读取的数据库。",
    "Add a database: connect, look at the account, save. Refuses an account that could write.": (
        "添加数据库：连接、检查账号权限、保存。拒绝可写账号。"
    ),
    "Databases of this home; connects to none.": "本主目录的数据库；不连接。",
    "Connect now and say what the account may do.": "立即连接并说明账号权限。",
    "One database: its address and limits; with a pattern, its tables.": "一个数据库：地址与限额；给出模式则列出表。",
    "Forget a database and its password; the database itself stays.": "删除此数据库的登记和口令；数据库本身不受影响。",
    "Run one read-only statement: what a job may ask, by hand.": "执行一条只读语句：与任务可用的相同。",
    "The database's name here.": "数据库在此处的名称。",
    "postgresql://USER@HOST/DATABASE, or a SQLite file; no password in it.": (
        "postgresql://用户@主机/库，或 SQLite 文件；不含口令。"
    ),
    "Read the password from standard input.": "从标准输入读取口令。",
    "env:VARIABLE or file:PATH to read the password from.": "从 env:变量 或 file:路径 读取口令。",
    "Save it although the account could write.": "即使账号可写也保存。",
    "Tables whose name fits, * and ? as wildcards.": "表名模式，可用 * 和 ?。",
    "One statement; - reads it from standard input.": "一条语句；- 表示从标准输入读取。",
    "At most this many rows.": "最多返回的行数。",
}

_TEXTS = {
    "en": {
        "ask_url": "URL (no password in it)",
        "ask_password": "Password (not shown)",
        "head": "{name}: {version}, {tls}{tables}, {seconds:.1f} s",
        "reader": "account {account}: {rights}; cannot write    ok",
        "file": "opened read-only; cannot write    ok",
        "writer": "account {account}: {rights}; could write: {powers}",
        "saved": "saved; password encrypted in vault.json",
        "saved_bare": "saved; no password",
        "next": 'next: hermes-cron run --prompt "inspect {name}"',
        "none": "No databases.  hermes-cron db add NAME",
        "vault": "vault",
        "no_password": "-",
        "may_write": "may write (allowed)",
        "must_read": "reader",
        "limits": "{seconds:g} s, {rows:,} rows, {bytes:,} bytes a statement",
        "sure": "{name} is named in {places}. Remove it?",
        "removed": "{name} removed here; the database itself is as it was",
        "row": "1 row",
        "rows": "{n:,} rows",
        "table": "1 table",
        "tables": "{n:,} tables",
        "took": "{rows}, {ms:,} ms",
        "tls_on": "TLS on, ",
        "tls_off": "TLS off, ",
    },
    "zh": {
        "ask_url": "URL（不含口令）",
        "ask_password": "口令（不显示）",
        "head": "{name}：{version}，{tls}{tables}，{seconds:.1f} 秒",
        "reader": "账号 {account}：{rights}；不可写    ok",
        "file": "以只读方式打开；不可写    ok",
        "writer": "账号 {account}：{rights}；可写：{powers}",
        "saved": "已保存；口令加密存于 vault.json",
        "saved_bare": "已保存；无口令",
        "next": '下一步：hermes-cron run --prompt "巡检 {name}"',
        "none": "没有数据库。  hermes-cron db add 名称",
        "vault": "vault",
        "no_password": "-",
        "may_write": "可写（已允许）",
        "must_read": "只读",
        "limits": "每条语句 {seconds:g} 秒，{rows:,} 行，{bytes:,} 字节",
        "sure": "{places} 中用到 {name}。确定删除？",
        "removed": "{name} 已从此处删除；数据库本身未改动",
        "row": "1 行",
        "rows": "{n:,} 行",
        "table": "1 张表",
        "tables": "{n:,} 张表",
        "took": "{rows}，{ms:,} 毫秒",
        "tls_on": "TLS 已启用，",
        "tls_off": "TLS 未启用，",
    },
}

_HEADERS = {"en": ("NAME", "KIND", "WHERE", "PASSWORD", "ACCOUNT"), "zh": ("名称", "类型", "地址", "口令", "账号")}
_SHOWN = {"en": ("kind", "where", "password", "account", "limits"), "zh": ("类型", "地址", "口令", "账号", "限额")}
_PRODUCTS = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
_NAME = re.compile(r"\w[\w.-]{0,63}")


@app.command("add", help="Add a database: connect, look at the account, save. Refuses an account that could write.")
def add(
    name: str = typer.Argument(..., help="The database's name here."),
    url: str = typer.Option(
        None, "--url", help="postgresql://USER@HOST/DATABASE, or a SQLite file; no password in it."
    ),
    password_stdin: bool = typer.Option(False, "--password-stdin", help="Read the password from standard input."),
    password_from: str = typer.Option(
        None, "--password-from", help="env:VARIABLE or file:PATH to read the password from."
    ),
    allow_writable: bool = typer.Option(
        False, "--allow-writable-account", help="Save it although the account could write."
    ),
) -> None:
    from hermes_cron.databases.connect import require_reader
    from hermes_cron.databases.url import parse_url
    from hermes_cron.domain.database import DatabaseConfig

    state = cli()
    _free_name(state, name)
    if password_stdin and password_from:
        raise Usage("--password-stdin and --password-from exclude each other", hint=f"hermes-cron db add {name}")
    text = url or state.ask(_TEXTS[state.lang]["ask_url"], flag="--url URL")
    engine, address = parse_url(text)
    password = _password(state, engine, stdin=password_stdin, source=password_from)
    config = DatabaseConfig(name=name, engine=engine, url=address, allow_writable_account=allow_writable)
    seen = _look(state, config, password)
    require_reader(seen.account, allow=allow_writable)
    _save(state, config, password)
    if state.json:
        state.emit_json({**_account_json(name, seen), "password_saved": password is not None})
        return
    texts = _TEXTS[state.lang]
    _say_account(state, name, seen)
    state.out(texts["saved" if password is not None else "saved_bare"])
    state.out(texts["next"].format(name=name))


@app.command("list", help="Databases of this home; connects to none.")
def list_databases() -> None:
    state = cli()
    configs = [state.app.databases.config(name) for name in state.app.databases.names()]
    if state.json:
        state.emit_json({"databases": [_config_json(config) for config in configs]})
        return
    texts = _TEXTS[state.lang]
    if not configs:
        state.out(texts["none"])
        return
    rows = [(config.name, *_facts(state, config)[:4]) for config in configs]
    state.out(output.table(rows, _HEADERS[state.lang], max_columns=state.columns, give={2}))


@app.command("test", help="Connect now and say what the account may do.")
def look_again(name: str = typer.Argument(..., help="The database's name here.")) -> None:
    from hermes_cron.databases.connect import require_reader

    state = cli()
    registry = state.app.databases
    config = registry.config(name)
    seen = _look(state, config, registry.password(config))
    require_reader(seen.account, allow=config.allow_writable_account)
    if state.json:
        state.emit_json(_account_json(name, seen))
    else:
        _say_account(state, name, seen)


@app.command("show", help="One database: its address and limits; with a pattern, its tables.")
def show(
    name: str = typer.Argument(..., help="The database's name here."),
    pattern: str | None = typer.Argument(None, help="Tables whose name fits, * and ? as wildcards."),
) -> None:
    state = cli()
    config = state.app.databases.config(name)
    if pattern is not None:
        with state.app.databases.open(name) as database:
            schema = database.tables(pattern)
        if state.json:
            from dataclasses import asdict

            state.emit_json({"name": name, **asdict(schema)})
        else:
            state.out(output.plain(schema.text()))
        return
    if state.json:
        state.emit_json(_config_json(config))
        return
    state.out(name)
    state.out(output.facts(zip(_SHOWN[state.lang], _facts(state, config), strict=True)))


@app.command("remove", help="Forget a database and its password; the database itself stays.")
def remove(name: str = typer.Argument(..., help="The database's name here.")) -> None:
    state = cli()
    config = state.app.databases.config(name)
    places = _uses(state, name)
    if places and not state.yes:
        if not state.is_terminal:
            raise Conflict(
                f'database "{name}" is in use; it was kept',
                hint=f"hermes-cron db remove {name} -y",
                details={"used_in": places},
            )
        if not state.confirm(_TEXTS[state.lang]["sure"].format(name=name, places=", ".join(places))):
            raise typer.Exit(1)
    state.configure(f"db remove {name}", {("databases", name): None})
    if config.password_ref == f"secret:{_secret_name(name)}" and _secret_name(name) in state.app.vault.names():
        state.app.vault.remove(_secret_name(name))
    if state.json:
        state.emit_json({"name": name, "removed": True, "used_in": places})
    else:
        state.out(_TEXTS[state.lang]["removed"].format(name=name))


@app.command("query", help="Run one read-only statement: what a job may ask, by hand.")
def query(
    name: str = typer.Argument(..., help="The database's name here."),
    sql: str = typer.Argument(..., help="One statement; - reads it from standard input."),
    rows: int = typer.Option(None, "--rows", min=1, help="At most this many rows."),
) -> None:
    state = cli()
    text = sys.stdin.read() if sql == "-" else sql
    with state.app.databases.open(name) as database:
        result = database.query(text, row_cap=rows)
    if state.json:
        state.emit_json({
            "columns": list(result.columns),
            "rows": [list(row) for row in result.rows],
            "row_count": len(result.rows),
            "truncated": result.truncated,
            "elapsed_ms": result.elapsed_ms,
        })  # fmt: skip
        return
    _say_rows(state, result)


# --- looking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """``seconds`` from the first packet to the account being known."""

    account: Account
    seconds: float


def _look(state: Cli, config: DatabaseConfig, password: str | None) -> _Seen:
    from hermes_cron.databases.connect import probe
    from hermes_cron.databases.registry import anchored
    from hermes_cron.databases.url import sqlite_path

    began = time.monotonic()
    try:
        account = probe(anchored(config, state.home.root), password=password)
    except HermesCronError as error:
        error.details.pop("look", None)  # it names the command that was just run
        if config.engine == "sqlite" and not sqlite_path(config.url).is_absolute():
            error.details["ways"] = f"sqlite:////PATH is absolute; sqlite:///PATH begins in {state.home.root}"
        raise
    return _Seen(account=account, seconds=time.monotonic() - began)


def _say_account(state: Cli, name: str, seen: _Seen) -> None:
    texts = _TEXTS[state.lang]
    account = seen.account
    tls = "" if account.tls is None else texts["tls_on" if account.tls else "tls_off"]
    version = f"{_PRODUCTS[account.engine]} {account.version}"
    state.out(
        texts["head"].format(
            name=name, version=version, tls=tls, tables=_counted(state, account.tables, "table"), seconds=seen.seconds
        )
    )
    kind = "writer" if account.powers else "file" if account.engine == "sqlite" else "reader"
    state.out(
        texts[kind].format(account=account.name, rights=", ".join(account.rights), powers="; ".join(account.powers))
    )


def _account_json(name: str, seen: _Seen) -> dict[str, object]:
    account = seen.account
    return {
        "name": name,
        "engine": account.engine,
        "version": account.version,
        "tls": account.tls,
        "tables": account.tables,
        "account": account.name,
        "rights": list(account.rights),
        "powers": list(account.powers),
        "can_write": bool(account.powers),
        "seconds": round(seen.seconds, 3),
    }


def _counted(state: Cli, n: int, word: str) -> str:
    return _TEXTS[state.lang][word if n == 1 else f"{word}s"].format(n=n)


def _say_rows(state: Cli, result: QueryResult) -> None:
    shown = [["NULL" if value is None else str(value) for value in row] for row in result.rows]
    numeric = frozenset(
        at
        for at in range(len(result.columns))
        if result.rows and all(isinstance(row[at], int | float) and row[at] is not True for row in result.rows)
    )
    state.out(output.table(shown, list(result.columns), right=numeric, max_columns=state.columns))
    texts = _TEXTS[state.lang]
    counted = _counted(state, len(result.rows), "row")
    state.note(texts["took"].format(rows=counted, ms=result.elapsed_ms))
    if result.truncated:
        state.note(result.truncated)


# --- saving ----------------------------------------------------------------------------------------------------------


def _free_name(state: Cli, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Usage(
            f"{output.one_line(name)!r} is no name for a database",
            hint="letters, digits, - _ and . make a name, for instance prod",
        )
    if name in state.settings.databases:
        raise Conflict(f'database "{name}" exists', hint=f"hermes-cron db remove {name}   then add it again")


def _password(state: Cli, engine: str, *, stdin: bool, source: str | None) -> str | None:
    """None where there is none: a file has none, and a server may trust the socket or know the client."""
    if source:
        return _from(source)
    if stdin:
        return sys.stdin.readline().rstrip("\r\n") or None
    if engine == "sqlite" or not state.is_terminal:
        return None
    return state.ask(_TEXTS[state.lang]["ask_password"], default="", hidden=True, flag="--password-stdin") or None


def _from(source: str) -> str:
    kind, _, place = source.partition(":")
    if kind == "env" and place:
        value = variable(place)
        if value is None:
            raise NotFound(f"the variable {place} is not set", hint="--password-stdin reads it from a pipe")
        return value
    if kind == "file" and place:
        try:
            return Path(place).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise NotFound(f"cannot read the password from {place}: {error}", hint=f"ls -l {place}") from error
    # whatever was typed may be the password itself: it is not repeated
    raise SecretInPlainSight(
        "--password-from takes env:VARIABLE or file:PATH, never the password itself",
        hint="--password-from env:VARIABLE   or   --password-from file:PATH   or   --password-stdin",
    )


def _secret_name(name: str) -> str:
    return f"db-{name}"


def _save(state: Cli, config: DatabaseConfig, password: str | None) -> None:
    """The password first, then the entry that names it; a failed entry takes the password with it.

    Raises ``SecretInPlainSight`` for a password that stands in the URL too: the history would have to leave config.toml
    out.
    """
    reason = f"db add {config.name}"
    values: dict[tuple[str, ...], str | int | float | bool | None] = {("databases", config.name, "url"): config.url}
    if config.allow_writable_account:
        values[("databases", config.name, "allow_writable_account")] = True
    if password is None:
        state.configure(reason, values)
        return
    if state.app.vault.stands_in(password, config.url):
        raise SecretInPlainSight(
            "the password is also a word of the URL, so everybody who may read the settings knows it",
            hint="give the account another password",
        )
    values[("databases", config.name, "password")] = f"secret:{_secret_name(config.name)}"
    state.app.vault.set(_secret_name(config.name), password)
    try:
        state.configure(reason, values)
    except BaseException:
        state.app.vault.remove(_secret_name(config.name))
        raise


# --- showing ---------------------------------------------------------------------------------------------------------


def _facts(state: Cli, config: DatabaseConfig) -> tuple[str, str, str, str, str]:
    """Kind, where, password, account, limits, as words."""
    texts = _TEXTS[state.lang]
    return (
        _PRODUCTS[config.engine],
        output.one_line(config.url),
        texts["vault"] if config.password_ref else texts["no_password"],
        texts["may_write"] if config.allow_writable_account else texts["must_read"],
        texts["limits"].format(seconds=config.statement_timeout_s, rows=config.row_cap, bytes=config.byte_cap),
    )


def _config_json(config: DatabaseConfig) -> dict[str, object]:
    return {
        "name": config.name,
        "engine": config.engine,
        "url": config.url,
        "password": config.password_ref,
        "allow_writable_account": config.allow_writable_account,
        "statement_timeout_s": config.statement_timeout_s,
        "row_cap": config.row_cap,
        "byte_cap": config.byte_cap,
    }


def _uses(state: Cli, name: str) -> list[str]:
    """Job files that name it under ``databases`` or as ``database:``. Plain text search: a broken file counts too."""
    word = re.compile(rf"^\s*(?:-\s*)?databases?\s*:.*(?<![\w.-]){re.escape(name)}(?![\w.-])", re.MULTILINE)
    found = []
    for path in sorted(state.home.jobs.glob("*.md")):
        try:
            if word.search(path.read_text(encoding="utf-8", errors="replace")):
                found.append(str(path.relative_to(state.home.root)))
        except OSError:
            continue
    return found

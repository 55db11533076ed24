"""``upgrade``: the store gets this version's schema, after a snapshot and a backup."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import cli

if TYPE_CHECKING:
    from hermes_cron.upgrade import Situation, Unfinished

app = typer.Typer(add_completion=False)

HELP_ZH = {
    "Bring the home to this version: a backup first, all or nothing.": "升级主目录：先备份，要么完成，要么不动。",
    "Only say what would be done.": "只说明会做什么。",
}

_TEXTS = {
    "en": {
        "none": "Nothing to upgrade: the store has schema {newest}.",
        "no_store": "Nothing to upgrade: there is no store yet.",
        "would": "The store would go from schema {found} to {newest}; nothing was changed.",
        "did": "The store went from schema {found} to {newest}.",
        "brings": "brings", "first": "first", "do": "do it", "snapshot": "snapshot", "backup": "backup", "kept": "kept",
        "first_is": "a snapshot, and a backup of the whole home in {folder}",
        "kept_are": "{tables} tables with {rows:,} rows: every value as before",
        "undo": "undo", "undo_is": "stop it all, install the version before, then\n{command}",
        "old": "An upgrade from schema {found} to {newest} that began {at} UTC did not end; the store is the old one.",
        "new": "An upgrade from schema {found} to {newest} that began {at} UTC did not end; the store is the new one.",
        "its_backup": "Its backup: {backup}",
    },
    "zh": {
        "none": "无需升级：数据库为 schema {newest}。",
        "no_store": "无需升级：还没有数据库。",
        "would": "数据库将从 schema {found} 升到 {newest}；没有改动任何内容。",
        "did": "数据库已从 schema {found} 升到 {newest}。",
        "brings": "内容", "first": "事先", "do": "执行", "snapshot": "快照", "backup": "备份", "kept": "保留",
        "first_is": "先做快照，再把整个主目录备份到 {folder}",
        "kept_are": "{tables} 张表共 {rows:,} 行：所有值与之前相同",
        "undo": "退回", "undo_is": "全部停止，装回之前的版本，然后\n{command}",
        "old": "{at} UTC 开始的从 schema {found} 到 {newest} 的升级没有完成；数据库仍是旧的。",
        "new": "{at} UTC 开始的从 schema {found} 到 {newest} 的升级没有完成；数据库已是新的。",
        "its_backup": "当时的备份：{backup}",
    },
}  # fmt: skip


@app.command("upgrade", help="Bring the home to this version: a backup first, all or nothing.")
def upgrade(
    *, dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False
) -> None:
    state = cli()
    texts, desk = _TEXTS[state.lang], state.app.upgrade
    situation = desk.look()
    if situation.unfinished is not None:
        _tell(situation, situation.unfinished, texts)
    facts: dict[str, object] = {
        "found": situation.found,
        "newest": situation.newest,
        "brings": list(situation.steps),
        "unfinished": _as_json(situation),
    }
    if dry_run or not situation.needed:
        if not dry_run:
            desk.forget()
        if state.json:
            state.emit_json({**facts, "upgraded": False})
        else:
            _would(situation, texts)
        return
    done = desk.run()
    if state.json:
        state.emit_json(
            {
                **facts, "upgraded": True, "snapshot": done.snapshot, "backup": str(done.backup),
                "tables": done.tables, "rows": done.rows,
            }
        )  # fmt: skip
        return
    state.out(texts["did"].format(found=situation.found, newest=situation.newest))
    lines = [
        (texts["brings"], "\n".join(situation.steps)),
        (texts["kept"], texts["kept_are"].format(tables=done.tables, rows=done.rows)),
        (texts["snapshot"], done.snapshot[:8]),
        (texts["backup"], str(done.backup)),
        (texts["undo"], texts["undo_is"].format(command=f"hermes-cron backup restore {done.backup} --to FOLDER")),
    ]
    state.out(output.facts(lines))


def _tell(situation: Situation, left: Unfinished, texts: Mapping[str, str]) -> None:
    word = "old" if situation.found < left.newest else "new"
    at = f"{left.began_at.astimezone(UTC):%Y-%m-%d %H:%M}"
    state = cli()
    state.note(texts[word].format(found=left.found, newest=left.newest, at=at))
    state.note(texts["its_backup"].format(backup=output.one_line(left.backup)))


def _would(situation: Situation, texts: Mapping[str, str]) -> None:
    state = cli()
    if not situation.needed:
        state.out(texts["none" if situation.found else "no_store"].format(newest=situation.newest))
        return
    state.out(texts["would"].format(found=situation.found, newest=situation.newest))
    lines = [
        (texts["brings"], "\n".join(situation.steps)),
        (texts["first"], texts["first_is"].format(folder=state.home.root / "backups")),
        (texts["do"], "hermes-cron upgrade"),
    ]
    state.out(output.facts(lines))


def _as_json(situation: Situation) -> dict[str, object] | None:
    left = situation.unfinished
    if left is None:
        return None
    store = "old" if situation.found < left.newest else "new"
    return {
        "found": left.found, "newest": left.newest, "began_at": left.began_at, "backup": left.backup, "store": store,
    }  # fmt: skip

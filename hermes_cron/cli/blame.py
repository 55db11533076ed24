"""``blame FILE``: each line with who wrote it, when, in which run and why."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_cron.cli import output, snapshot_words
from hermes_cron.cli.snapshot_words import bearing

app = typer.Typer(help="Each line of a file: who wrote it, when, which run, why.", add_completion=False)

HELP_ZH = {
    "Each line of a file: who wrote it, when, which run, why.": "文件的每一行：谁写的、何时、哪次运行、为何。",
    "A file of the home, a job or a skill (its SKILL.md).": "主目录中的文件、任务，或技能（其 SKILL.md）。",
}

_TEXTS = {
    "en": {
        "headers": ("ID", "WHEN", "WHO", "RUN", "WHY", "LINE"),
        "text": "TEXT",
        "empty": "{path} is empty.",
        "since": "{path} has edits that no snapshot has yet: hermes-cron diff {path}",
    },
    "zh": {
        "headers": ("编号", "时间", "谁", "运行", "原因", "行"),
        "text": "内容",
        "empty": "{path} 是空的。",
        "since": "{path} 有尚未进入快照的修改：hermes-cron diff {path}",
    },
}
_WHY = 28
"""Columns of a reason on a terminal: the line's own text is what is read."""


@app.command("blame", help="Each line of a file: who wrote it, when, which run, why.")
def blame(
    word: Annotated[str, typer.Argument(metavar="FILE", help="A file of the home, a job or a skill (its SKILL.md).")],
) -> None:
    state = bearing()
    desk = state.app.history
    path = desk.file(word)
    lines = desk.blame(path)
    if state.json:
        found = [
            {"line": it.number, "text": state.app.redact(it.text), **snapshot_words.as_json(it.commit)} for it in lines
        ]
        state.emit_json({"path": path, "lines": found})
        return
    texts = _TEXTS[state.lang]
    if not lines:
        state.out(str(texts["empty"]).format(path=path))
    rows = []
    for it in lines:
        *told, why = snapshot_words.row(state, it.commit)
        rows.append([*told, why if state.columns is None else output.cut(output.one_line(why), _WHY), str(it.number)])
    table = output.table(rows, texts["headers"], right=frozenset({5})).split("\n")
    for told_line, text in zip(table, [str(texts["text"]), *(state.app.redact(it.text) for it in lines)], strict=False):
        shown = f"{told_line}  {output.plain(text)}".rstrip()
        state.out(shown if state.columns is None else output.cut(shown, state.columns))
    if desk.here(desk.newest(), paths=(path,))[0]:
        state.note(str(texts["since"]).format(path=path))

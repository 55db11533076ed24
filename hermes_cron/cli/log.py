"""``log FILE|SKILL|memory|JOB``: the versions of one thing, newest first."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import output, snapshot_words
from hermes_cron.cli.context import Cli
from hermes_cron.cli.snapshot_words import bearing

if TYPE_CHECKING:
    from hermes_cron.desks.history_plan import Version
    from hermes_cron.domain.home_part import Part

app = typer.Typer(help="The versions of a file, job, skill or the memory.", add_completion=False)

HELP_ZH = {
    "The versions of a file, job, skill or the memory.": "文件、任务、技能或记忆的各个版本。",
    "A path in the home, a job, a skill, or memory.": "主目录中的路径、任务、技能，或 memory。",
    "At most so many, newest first.": "最多条数，新的在前。",
}

_TEXTS = {
    "en": {
        "headers": ("VERSION", "WHEN", "WHO", "RUN", "ID", "WHY"),
        "gone": "{reason} (removed)",
        "none": "{name} has no version in the history yet.  hermes-cron snapshots create",
        "more": "{n} older: --limit {all}",
        "skill": "see: hermes-cron skills diff {name}@{v}     back: hermes-cron skills restore {name}@{back}",
        "file": "see: hermes-cron snapshots show {id}     back: hermes-cron snapshots restore {back_id} {path}",
    },
    "zh": {
        "headers": ("版本", "时间", "谁", "运行", "编号", "原因"),
        "gone": "{reason}（已删除）",
        "none": "{name} 在历史中还没有版本。  hermes-cron snapshots create",
        "more": "更早的还有 {n} 个：--limit {all}",
        "skill": "查看：hermes-cron skills diff {name}@{v}     恢复：hermes-cron skills restore {name}@{back}",
        "file": "查看：hermes-cron snapshots show {id}     恢复：hermes-cron snapshots restore {back_id} {path}",
    },
}  # fmt: skip


@app.command("log", help="The versions of a file, job, skill or the memory.")
def log(
    word: Annotated[
        str, typer.Argument(metavar="FILE|SKILL|JOB|memory", help="A path in the home, a job, a skill, or memory.")
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 20,
) -> None:
    state = bearing()
    told(state, state.app.history.part(word), limit=limit)


def told(state: Cli, part: Part, *, limit: int) -> None:
    """Print the versions of a part."""
    everything = state.app.history.versions(part.path)[::-1]
    known = everything[:limit]
    if state.json:
        versions = [{"version": it.number, "gone": it.gone, **snapshot_words.as_json(it.commit)} for it in known]
        state.emit_json({"kind": part.kind, "name": part.name, "path": part.path, "versions": versions})
        return
    texts = _TEXTS[state.lang]
    if not known:
        state.out(str(texts["none"]).format(name=part.name))
        return
    rows = [_row(state, it, str(texts["gone"])) for it in known]
    state.out(output.table(rows, texts["headers"], max_columns=state.columns))
    if len(everything) > len(known):
        state.note(str(texts["more"]).format(n=len(everything) - len(known), all=len(everything)))
    newest, back = known[0], known[min(1, len(known) - 1)]
    said = {
        "name": part.name,
        "path": shlex.quote(part.path),
        "v": newest.number,
        "id": snapshot_words.short(newest.commit),
        "back": back.number,
        "back_id": snapshot_words.short(back.commit),
    }
    state.note(str(texts["skill" if part.kind == "skill" else "file"]).format(**said))


def _row(state: Cli, version: Version, gone: str) -> list[str]:
    short, at, who, run, reason = snapshot_words.row(state, version.commit)
    return [f"@{version.number}", at, who, run, short, gone.format(reason=reason) if version.gone else reason]

"""``remove``: the file goes, its snapshot and the runs stay, and the way back is said."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_cron.cli import jobs_known, snapshot_words
from hermes_cron.cli.context import cli

app = typer.Typer(help="Remove a job; its history stays.", add_completion=False)

HELP_ZH = {
    "Remove a job; its history stays.": "删除任务，保留历史。",
    "The job: its name, or a unique beginning.": "任务名或其唯一前缀。",
}

_TEXTS = {
    "en": {
        "sure": "Remove {name}? Its history stays, and undo brings it back",
        "kept_job": "Nothing was removed.",
        "removed": "{name} is removed; its history stays.",
        "back": "  restore  {command}",
    },
    "zh": {
        "sure": "删除 {name}？历史保留，可用 undo 恢复",
        "kept_job": "没有删除任何内容。",
        "removed": "{name} 已删除，历史保留。",
        "back": "  还原  {command}",
    },
}


@app.command("remove", help="Remove a job; its history stays.")
def remove(job: Annotated[str, typer.Argument(help="The job: its name, or a unique beginning.")]) -> int:
    state = cli()
    found = jobs_known.one(state, job)
    texts = _TEXTS[state.lang]
    if not state.confirm(texts["sure"].format(name=found.name)):
        state.note(texts["kept_job"])
        return 1
    snapshot = state.app.jobs.remove(found.name)
    state.app.sync_jobs(actor="cli", only={found.file_name})
    state.app.wake()
    command = f"hermes-cron undo {snapshot_words.short(snapshot)}"
    if state.json:
        state.emit_json({"name": found.name, "removed": True, "snapshot": snapshot, "restore": command})
        return 0
    state.out(texts["removed"].format(name=found.name))
    state.out(texts["back"].format(command=command))
    return 0

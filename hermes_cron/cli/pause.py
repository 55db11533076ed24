"""``pause``: the job stays, nothing starts; the file says why, since when and by whom."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import change
from hermes_cron.cli.context import cli
from hermes_cron.cli.who import person

app = typer.Typer(help="Stop starting a job.", add_completion=False)

HELP_ZH = {
    "Stop starting a job.": "暂停任务。",
    "The job: its name, or a unique beginning.": "任务名或其唯一前缀。",
    "Why, for whoever finds it paused.": "暂停的原因。",
}

_TEXTS = {
    "en": {
        "paused": "{name} is paused: {reason}",
        "already": "{name} is paused already: {reason}",
        "on": "again: hermes-cron resume {name}",
    },
    "zh": {
        "paused": "{name} 已暂停：{reason}",
        "already": "{name} 早已暂停：{reason}",
        "on": "恢复：hermes-cron resume {name}",
    },
}


@app.command("pause", help="Stop starting a job.")
def pause(
    job: Annotated[str, typer.Argument(help="The job: its name, or a unique beginning.")],
    reason: Annotated[str | None, typer.Argument(help="Why, for whoever finds it paused.")] = None,
) -> None:
    state = cli()
    file = change.opened(state, job)
    before = file.listed.summary.get("paused")
    zone = ZoneInfo(file.listed.summary.get("timezone", state.settings.timezone))
    since = f"{state.clock.now().astimezone(zone):%Y-%m-%d %H:%M}"
    said = before or f"{' '.join((reason or 'no reason given').split())} ({person()}, {since})"
    if not before:
        data = change.edited(state, file, {"paused": said})
        change.judged(state, file, data, strict=False)
        change.replaced(state, file, data, reason="pause")
    if state.json:
        state.emit_json({"name": file.listed.name, "paused": said, "changed": not before})
        return
    texts = _TEXTS[state.lang]
    state.out(texts["already" if before else "paused"].format(name=file.listed.name, reason=said))
    state.out(texts["on"].format(name=file.listed.name))

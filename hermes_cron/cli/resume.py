"""``resume``: take the pause out of the file, or end the hold that the program put on the job."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import change, jobs_known, when
from hermes_cron.cli.context import cli

app = typer.Typer(help="Start a paused or held job again.", add_completion=False)

HELP_ZH = {
    "Start a paused or held job again.": "恢复暂停或被挂起的任务。",
    "The job: its name, or a unique beginning.": "任务名或其唯一前缀。",
}

_TEXTS = {
    "en": {
        "resumed": "{name} goes on, next {next}",
        "never": "{name} goes on, but no instant is left",
        "already": "{name} was not paused, next {next}",
    },
    "zh": {
        "resumed": "{name} 已恢复，下次 {next}",
        "never": "{name} 已恢复，但没有剩余的时刻",
        "already": "{name} 没有暂停，下次 {next}",
    },
}


@app.command("resume", help="Start a paused or held job again.")
def resume(job: Annotated[str, typer.Argument(help="The job: its name, or a unique beginning.")]) -> None:
    state = cli()
    file = change.opened(state, job)
    name, uid = file.listed.name, file.listed.uid
    paused = file.listed.summary.get("paused") is not None
    held = file.listed.held_reason is not None
    if paused:
        data = change.edited(state, file, {"paused": None})
        change.judged(state, file, data, strict=False)
        change.replaced(state, file, data, reason="resume")
    if held:
        from hermes_cron.store.holds import release

        now, window = state.clock.now(), state.app.catch_up_window
        state.app.store.write(lambda conn: release(conn, uid, now, window=window))
        state.app.wake()
    found = jobs_known.one(state, name)
    zone = ZoneInfo(found.summary.get("timezone", "UTC"))
    changed = paused or held
    if state.json:
        following = found.next_due.astimezone(zone).isoformat() if found.next_due else None
        state.emit_json({"name": name, "changed": changed, "next": following})
        return
    text = _TEXTS[state.lang]["already" if not changed else "resumed" if found.next_due else "never"]
    following = when.whole(found.next_due, zone, state.lang) if found.next_due else "-"
    state.out(text.format(name=name, next=following))

"""``runs feedback RUN TEXT``: what was wrong with a run, so that the next one does it right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import look_back, output, run_learned
from hermes_cron.cli.context import Cli, cli

if TYPE_CHECKING:
    from hermes_cron.store.feedback import Said
    from hermes_cron.store.taught import Taught

HELP = "Say what was wrong with a run; what it teaches is learned."
HELP_ZH = {
    HELP: "指出某次运行的问题，从中学习。",
    "What to say of it.": "要说的话。",
}

_TEXTS = {
    "en": {
        "kept": "kept with run {id}",
        "serving": "a review of the run learns from it now: hermes-cron runs show {id}",
        "here": "No scheduler is running: the run is looked back at here.",
        "left": "it is gone on with by the next scheduler: hermes-cron serve",
        "learned": "learned",
    },
    "zh": {
        "kept": "已随运行 {id} 保存",
        "serving": "正在回顾该运行并从中学习：hermes-cron runs show {id}",
        "here": "没有调度器在运行：在此回顾该运行。",
        "left": "由下一个调度器继续：hermes-cron serve",
        "learned": "学到",
    },
}
_CTRL_C = 130


def feedback(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its beginning.")],
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to say of it.")],
) -> int:
    """A scheduler learns from it beside its other work; without one this command does."""
    from hermes_cron.cli.who import person

    state = cli()
    said = state.app.runs.feedback(run, " ".join(text), by=person())
    texts = _TEXTS[state.lang]
    if not state.json:
        state.out(texts["kept"].format(id=said.run_id))
    if state.app.serving():
        _told(state, said, state.app.runs.taught(said.run_id))
        state.note(texts["serving"].format(id=said.run_id))
        return 0
    state.note(texts["here"])
    _, left = look_back.carried_out(state, said.run_id)
    taught = state.app.runs.taught(said.run_id)
    _told(state, said, taught)
    if left:
        state.note(texts["left"])
        return _CTRL_C
    if not state.json:
        state.out(output.facts([(texts["learned"], run_learned.learned(taught, state.lang))]))
    return 0 if all(row["state"] == "ok" for row in taught.reviews if row["number"] == said.review) else 1


def _told(state: Cli, said: Said, taught: Taught) -> None:
    if state.json:
        known = {"id": said.number, "by": said.by, "at": said.at, "text": said.text, "review": said.review}
        state.emit_json({"run_id": said.run_id, "said": known, **run_learned.as_json(taught)})

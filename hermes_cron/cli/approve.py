"""``approve ID``: the call did not happen, the run does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import approvals
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.who import person

if TYPE_CHECKING:
    from hermes_cron.store.approvals import Approval

app = typer.Typer(help="It did not happen: the run does it now.", add_completion=False)

HELP_ZH = {
    "It did not happen: the run does it now.": "批准：它没有发生，现在执行。",
    "The question, such as a91.": "问题编号，例如 a91。",
}

_TEXTS = {
    "en": {
        "approved": "{id} approved: run {run} does it and goes on",
        "denied": "{id} denied: run {run} goes on without it",
        "waits": "run {run} still waits for {others}",
        "no_serve": "nothing runs it now: hermes-cron serve",
    },
    "zh": {
        "approved": "{id} 已批准：运行 {run} 将执行它并继续",
        "denied": "{id} 已拒绝：运行 {run} 跳过它继续",
        "waits": "运行 {run} 仍在等待 {others}",
        "no_serve": "当前没有调度器执行它：hermes-cron serve",
    },
}


@app.command("approve", help="It did not happen: the run does it now.")
def approve(
    word: Annotated[str, typer.Argument(metavar="ID", help="The question, such as a91.")],
) -> None:
    state = cli()
    said(state, state.app.runs.approve(word, by=person()))


def said(state: Cli, asked: Approval) -> None:
    """What the answer does, and what is still in its way."""
    others = [each.id for each in state.app.runs.approvals() if each.run_id == asked.run_id]
    if state.json:
        state.emit_json(approvals.as_json(asked) | {"still_open": others})
        return
    texts = _TEXTS[state.lang]
    state.out(texts[str(asked.decision)].format(id=asked.id, run=asked.run_id))
    if others:
        state.note(texts["waits"].format(run=asked.run_id, others=" ".join(others)))
    elif not state.app.serving():
        state.note(texts["no_serve"])

"""``approve ID``: the call did not happen, the run does it; what was proposed to be learned is learned now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import approvals, output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.who import person

if TYPE_CHECKING:
    from hermes_cron.domain.learning import Learned
    from hermes_cron.store.approvals import Approval

HELP = "Yes: the run does it, or it is learned."
app = typer.Typer(help=HELP, add_completion=False)

HELP_ZH = {
    HELP: "同意：运行执行它，或学习它。",
    "The question, such as a91.": "问题编号，例如 a91。",
}

_TEXTS = {
    "en": {
        "approved": "{id} approved: run {run} does it and goes on",
        "denied": "{id} denied: run {run} goes on without it",
        "waits": "run {run} still waits for {others}",
        "no_serve": "nothing runs it now: hermes-cron serve",
        "approved_change": "{id} approved: {what} is learned{undo}",
        "denied_change": "{id} denied: {what} is not learned",
        "undo": "; undo: {command}",
    },
    "zh": {
        "approved": "{id} 已批准：运行 {run} 将执行它并继续",
        "denied": "{id} 已拒绝：运行 {run} 跳过它继续",
        "waits": "运行 {run} 仍在等待 {others}",
        "no_serve": "当前没有调度器执行它：hermes-cron serve",
        "approved_change": "{id} 已批准：已学习{what}{undo}",
        "denied_change": "{id} 已拒绝：不学习{what}",
        "undo": "；撤销：{command}",
    },
}


@app.command("approve", help=HELP)
def approve(
    word: Annotated[str, typer.Argument(metavar="ID", help="The question, such as a91.")],
) -> None:
    state = cli()
    said(state, state.app.runs.approve(word, by=person()))


def said(state: Cli, asked: Approval) -> None:
    """What the answer does, and what is still in its way."""
    change = state.app.runs.proposal(asked)
    if change is not None:
        _of_change(state, asked, change)
        return
    others = [each.id for each in state.app.runs.approvals() if each.run_id == asked.run_id and each.learned is None]
    if state.json:
        state.emit_json(approvals.as_json(asked) | {"still_open": others})
        return
    texts = _TEXTS[state.lang]
    state.out(texts[str(asked.decision)].format(id=asked.id, run=asked.run_id))
    if others:
        state.note(texts["waits"].format(run=asked.run_id, others=" ".join(others)))
    elif not state.app.serving():
        state.note(texts["no_serve"])


def _of_change(state: Cli, asked: Approval, change: Learned) -> None:
    from hermes_cron.domain import notice_learned

    if state.json:
        state.emit_json(approvals.as_json(asked, change))
        return
    texts, command = _TEXTS[state.lang], notice_learned.undo(change)
    told = texts[f"{asked.decision}_change"].format(
        id=asked.id,
        what=notice_learned.what(change, state.lang),
        undo=texts["undo"].format(command=command) if command else "",
    )
    state.out(output.one_line(told))

"""``deny ID``: the call happened, or must not, and the run goes on without it; what was proposed is not learned."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_cron.cli.approve import said
from hermes_cron.cli.context import cli
from hermes_cron.cli.who import person
from hermes_cron.errors import Usage

HELP = "No: the run goes on without it, or nothing is learned."
app = typer.Typer(help=HELP, add_completion=False)

HELP_ZH = {
    HELP: "拒绝：运行跳过它，或不学习。",
    "The question, such as a91.": "问题编号，例如 a91。",
    "Why; the agent is told.": "原因；会告知智能体。",
}
_LONGEST = 1_000


@app.command("deny", help=HELP)
def deny(
    word: Annotated[str, typer.Argument(metavar="ID", help="The question, such as a91.")],
    reason: Annotated[str | None, typer.Argument(help="Why; the agent is told.")] = None,
) -> None:
    state = cli()
    why = None if reason is None else " ".join(reason.split())
    if why is not None and len(why) > _LONGEST:
        raise Usage(f"a reason of {len(why):,} characters", hint=f"at most {_LONGEST:,}")
    said(state, state.app.runs.deny(word, by=person(), reason=why or None))

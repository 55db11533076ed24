"""``deny ID``: the call happened, or must not; the run goes on without it."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_cron.cli.approve import said
from hermes_cron.cli.context import cli
from hermes_cron.cli.who import person
from hermes_cron.errors import Usage

app = typer.Typer(help="It happened, or must not: the run goes on without it.", add_completion=False)

HELP_ZH = {
    "It happened, or must not: the run goes on without it.": "拒绝：它已发生或不应执行，运行跳过它继续。",
    "The question, such as a91.": "问题编号，例如 a91。",
    "Why; the agent is told.": "原因；会告知智能体。",
}
_LONGEST = 1_000


@app.command("deny", help="It happened, or must not: the run goes on without it.")
def deny(
    word: Annotated[str, typer.Argument(metavar="ID", help="The question, such as a91.")],
    reason: Annotated[str | None, typer.Argument(help="Why; the agent is told.")] = None,
) -> None:
    state = cli()
    why = None if reason is None else " ".join(reason.split())
    if why is not None and len(why) > _LONGEST:
        raise Usage(f"a reason of {len(why):,} characters", hint=f"at most {_LONGEST:,}")
    said(state, state.app.runs.deny(word, by=person(), reason=why or None))

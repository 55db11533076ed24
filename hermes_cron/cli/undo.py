"""``undo COMMIT|RUN``: take back what an automated change, or a whole run, changed in the home."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_cron.cli import taking_back
from hermes_cron.cli.snapshot_words import bearing

app = typer.Typer(help="Take back a change, or all that a run changed.", add_completion=False)

HELP_ZH = {
    "Take back a change, or all that a run changed.": "撤销一次改动，或某次运行的全部改动。",
    "A snapshot or a run (the first digits of its id), or curator: its last run.": (
        "快照或运行（编号的前几位），或 curator：它的上次运行。"
    ),
}


@app.command("undo", help="Take back a change, or all that a run changed.")
def undo(
    word: Annotated[
        str,
        typer.Argument(
            metavar="ID|RUN|curator", help="A snapshot or a run (the first digits of its id), or curator: its last run."
        ),
    ],
) -> int:
    state = bearing()
    return taking_back.done(state, state.app.history.to_undo(word), ["undo", word])

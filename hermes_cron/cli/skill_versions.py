"""``skills log diff``: the versions of one skill, counted from 1."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import diff as diffs
from hermes_cron.cli import log, skill_shipped
from hermes_cron.cli.context import Cli
from hermes_cron.cli.snapshot_words import bearing

if TYPE_CHECKING:
    from hermes_cron.domain.home_part import Part

HELP_ZH = {
    "From the home's copy of a shipped skill to the one shipped now.": "从主目录的副本到现在附带的技能。",
    "A skill's versions, newest first.": "技能的各个版本，新的在前。",
    "What a version changed; the newest without @V.": "某个版本改动了什么；省略 @V 则为最新版本。",
    "The skill, and which version: inspect-database@4.": "技能及其版本：inspect-database@4。",
    "At most so many, newest first.": "最多条数，新的在前。",
}

_TEXTS = {"en": {"same": "No difference."}, "zh": {"same": "没有差异。"}}
_VERSION = re.compile(r"(.+)@(\d{1,9})")
Versioned = Annotated[str, typer.Argument(metavar="NAME[@V]", help="The skill, and which version: inspect-database@4.")]


def versions(
    name: Annotated[str, typer.Argument(help="The skill's name, or category/name.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 20,
) -> None:
    state = bearing()
    log.told(state, state.app.history.skill(name), limit=limit)


def difference(
    name: Versioned,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="From the home's copy of a shipped skill to the one shipped now.")
    ] = False,
) -> None:
    state = bearing()
    if shipped:
        skill_shipped.difference(state, name)
        return
    desk = state.app.history
    part, number = named(state, name)
    before, version = desk.version(part, number)
    found = desk.between(None if before is None else before.commit, version.commit, paths=(part.path,))
    if state.json:
        state.emit_json({"name": part.name, "version": version.number, **diffs.as_json(state, found)})
    elif found:
        diffs.told(state, found)
    else:
        state.out(_TEXTS[state.lang]["same"])


def named(state: Cli, word: str) -> tuple[Part, int | None]:
    """The skill, and the number of a version where one was said. Raises ``NotFound``, ``NameAmbiguous``."""
    found = _VERSION.fullmatch(word)
    name, number = (found[1], int(found[2])) if found else (word, None)
    return state.app.history.skill(name), number

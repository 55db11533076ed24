"""``diff [ID] [PATH]``: what the home has now that a snapshot has not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import output, snapshot_words
from hermes_cron.cli.context import Cli
from hermes_cron.cli.snapshot_words import bearing
from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.scan import LeftOut
    from hermes_cron.snapshots.text import FileDiff

app = typer.Typer(help="What the home has now against a snapshot.", add_completion=False)

HELP_ZH = {
    "What the home has now against a snapshot.": "主目录现状与某个快照的差异。",
    "A snapshot (default: the newest), then a path, job, skill or memory.": (
        "快照（默认最新的），然后是路径、任务、技能或 memory。"
    ),
}

_TEXTS = {
    "en": {
        "same": "No difference to {id} of {at}.",
        "left_out": "in no snapshot: {path}: {why}",
        "next": "keep it: hermes-cron snapshots create     back: hermes-cron snapshots restore {id} --exact",
    },
    "zh": {
        "same": "与 {at} 的 {id} 没有差异。",
        "left_out": "不在快照中：{path}：{why}",
        "next": "保留：hermes-cron snapshots create     恢复：hermes-cron snapshots restore {id} --exact",
    },
}


@app.command("diff", help="What the home has now against a snapshot.")
def diff(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID] [PATH]", help="A snapshot (default: the newest), then a path, job, skill or memory."
        ),
    ] = None,
) -> None:
    state = bearing()
    desk = state.app.history
    commits, paths = chosen(state, words or [], most=1)
    old = commits[0] if commits else desk.newest()
    found, left_out = desk.here(old, paths=paths)
    if state.json:
        state.emit_json({"snapshot": old.id, **as_json(state, found), "left_out": left_out_json(left_out)})
        return
    texts = _TEXTS[state.lang]
    if found:
        told(state, found)
        state.note(texts["next"].format(id=snapshot_words.short(old)))
    else:
        state.out(texts["same"].format(id=snapshot_words.short(old), at=snapshot_words.at(state, old.at)))
    tell_left_out(state, left_out)


def chosen(state: Cli, words: Sequence[str], *, most: int) -> tuple[list[Commit], tuple[str, ...]]:
    """The snapshots, then the one path, that the words mean. Raises ``Usage`` for more words than that."""
    desk = state.app.history
    commits: list[Commit] = []
    rest = list(words)
    while rest and len(commits) < most and desk.is_id(rest[0]):
        commits.append(desk.find(rest.pop(0)))
    if len(rest) > 1:
        raise Usage(f"too many words: {' '.join(rest[1:])}", hint="first snapshots, then one path")
    return commits, (desk.part(rest[0]).path,) if rest else ()


def told(state: Cli, found: Iterable[FileDiff]) -> None:
    """Print differences."""
    for it in found:
        for line in snapshot_words.lines_of(state, it):
            state.out(line)


def tell_left_out(state: Cli, left_out: Iterable[LeftOut]) -> None:
    """Name what no snapshot holds."""
    for it in left_out:
        state.note(output.one_line(_TEXTS[state.lang]["left_out"].format(path=it.path, why=it.why)))


def as_json(state: Cli, found: Iterable[FileDiff]) -> dict[str, object]:
    """The files that differ."""
    return {"files": [snapshot_words.diff_json(state, it) for it in found]}


def left_out_json(left_out: Iterable[LeftOut]) -> list[dict[str, str]]:
    """What no snapshot holds."""
    return [{"path": it.path, "why": it.why} for it in left_out]

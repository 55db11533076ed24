"""How is a snapshot said: its id, who made it, when, and as JSON?"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli, cli

if TYPE_CHECKING:
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.text import FileDiff

_SHORT = 7
_BY_HAND = {"en": "by hand", "zh": "手动"}
_COUNTS = {
    "en": {"lines": "+{added} -{removed} lines", "other": "not its text", "new": "new", "gone": "removed"},
    "zh": {"lines": "+{added} -{removed} 行", "other": "非文本改动", "new": "新增", "gone": "删除"},
}


def bearing() -> Cli:
    """The command's context, with which a broken config.toml can be taken back as anything else."""
    state = cli()
    state.bear_broken_settings()
    return state


def short(commit: Commit | str) -> str:
    """As many digits as people read."""
    return (commit if isinstance(commit, str) else commit.id)[:_SHORT]


def who(commit: Commit, lang: str) -> str:
    """A person's name where there is one; what was found in the files was made by hand."""
    return commit.by or (_BY_HAND[lang] if commit.actor == "user" else commit.actor)


def at(state: Cli, instant: datetime) -> str:
    """To the minute, in the home's zone."""
    zone = ZoneInfo(state.settings.timezone)
    return when.due(instant.replace(second=0), zone, state.lang, now=state.clock.now())


def row(state: Cli, commit: Commit) -> list[str]:
    """Id, when, who, run, why."""
    return [short(commit), at(state, commit.at), who(commit, state.lang), commit.run or "", commit.reason]


def as_json(commit: Commit) -> dict[str, Any]:
    """Every word of it."""
    return {
        "id": commit.id,
        "at": commit.at,
        "actor": commit.actor,
        "by": commit.by,
        "run": commit.run,
        "job": commit.job,
        "reason": commit.reason,
        "parents": list(commit.parents),
        "undoes": list(commit.undoes),
        "restores": commit.restores,
    }


def counts(added: int, removed: int, lang: str) -> str:
    """Lines that came and went; where none did it was the mode, or no text."""
    form = "lines" if added or removed else "other"
    return _COUNTS[lang][form].format(added=added, removed=removed)


def change(diff: FileDiff, lang: str) -> str:
    """What happened to a file, in a word or two."""
    texts = _COUNTS[lang]
    if diff.before is None:
        return texts["new"]
    return texts["gone"] if diff.after is None else counts(diff.added, diff.removed, lang)


def lines_of(state: Cli, diff: FileDiff) -> list[str]:
    """As ``git diff`` has it, without values of the vault and control characters."""
    text = state.app.redact(diff.text).rstrip("\n")
    return [painted(state, output.plain(line)) for line in text.split("\n")]


def painted(state: Cli, line: str) -> str:
    """Green and red on a terminal."""
    if not state.colour or line.startswith(("---", "+++")):
        return line
    colour = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
    return output.paint(line, colour) if colour else line


def diff_json(state: Cli, diff: FileDiff) -> dict[str, Any]:
    """A file's difference; ``diff`` is its text."""
    return {
        "path": diff.path,
        "change": "added" if diff.before is None else "removed" if diff.after is None else "changed",
        "added": diff.added,
        "removed": diff.removed,
        "binary": diff.binary,
        "diff": state.app.redact(diff.text),
    }

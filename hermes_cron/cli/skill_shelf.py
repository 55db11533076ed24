"""``skills pin unpin archive restore reject``: what a person decides about a skill as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import output, taking_back
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.skill_versions import Versioned, named
from hermes_cron.cli.snapshot_words import bearing, short
from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.desks.skill_shelf import Shelved

HELP_ZH = {
    "No run changes this skill from now on.": "从现在起，任何运行都不得修改此技能。",
    "Runs may change this skill again.": "允许运行再次修改此技能。",
    "Put a skill away; skills restore brings it back, byte for byte.": "归档技能；用 skills restore 原样恢复。",
    "Take back what a run made of a skill; later edits stay.": "退回某次运行对技能的改动；之后的修改保留。",
    "Why, for the history.": "原因，写入历史。",
    "Bring a version back, or an archived skill; later edits by hand stay.": (
        "恢复某个版本，或恢复已归档的技能；之后的手动修改保留。"
    ),
    "Drop edits by hand made since, too; they stay in the history.": "连之后的手动修改也去掉；历史中仍保留。",
}

_TEXTS = {
    "en": {
        "pinned": "{name} is pinned: no run changes it.", "is_pinned": "{name} is pinned already.",
        "unpinned": "{name} is not pinned: runs may change it.", "is_unpinned": "{name} was not pinned.",
        "archived": "{name} is archived.", "pin_back": "back: hermes-cron skills unpin {short}",
        "unpin_back": "back: hermes-cron skills pin {short}",
        "archive_back": "back: hermes-cron skills restore {short}",
        "restored": "{name} is back, as it was archived.", "restore_back": "back: hermes-cron undo {id}",
    },
    "zh": {
        "pinned": "{name} 已锁定：任何运行都不会修改它。", "is_pinned": "{name} 早已锁定。",
        "unpinned": "{name} 未锁定：运行可以修改它。", "is_unpinned": "{name} 本来就未锁定。",
        "archived": "{name} 已归档。", "pin_back": "撤回：hermes-cron skills unpin {short}",
        "unpin_back": "撤回：hermes-cron skills pin {short}",
        "archive_back": "恢复：hermes-cron skills restore {short}",
        "restored": "{name} 已原样恢复。", "restore_back": "撤回：hermes-cron undo {id}",
    },
}  # fmt: skip

Name = Annotated[str, typer.Argument(help="The skill's name, or category/name.")]


def pin(name: Name) -> None:
    from hermes_cron.desks import skill_shelf

    state = cli()
    done = skill_shelf.pin(state.app, name)
    _told(state, done, "pinned" if done.snapshot else "is_pinned", "pin_back", pinned=True)


def unpin(name: Name) -> None:
    from hermes_cron.desks import skill_shelf

    state = cli()
    done = skill_shelf.unpin(state.app, name)
    _told(state, done, "unpinned" if done.snapshot else "is_unpinned", "unpin_back", pinned=False)


def archive(name: Name, reason: Annotated[str | None, typer.Argument(help="Why, for the history.")] = None) -> None:
    from hermes_cron.desks import skill_shelf

    state = cli()
    _told(state, skill_shelf.archive(state.app, name, reason), "archived", "archive_back", archived=True)


def restore(
    name: Versioned,
    exact: Annotated[
        bool, typer.Option("--exact", help="Drop edits by hand made since, too; they stay in the history.")
    ] = False,
) -> int:
    from hermes_cron.desks import skill_shelf

    state = bearing()
    places = skill_shelf.archived(state.app, name.partition("@")[0])
    if places and "@" not in name:
        _told(state, skill_shelf.bring_back(state.app, name), "restored", "restore_back", archived=False)
        return 0
    part, number = named(state, name)
    if number is None:
        raise Usage(f"which version of {part.name}?", hint=f"hermes-cron skills log {part.name}")
    _, version = state.app.history.version(part, number)
    if version.gone:
        raise Usage(
            f"{part.name}@{number} is its removal",
            hint=f"the one before: hermes-cron skills restore {part.name}@{number - 1}",
        )
    paths = (part.path, *(f"skills/{place}" for place in places))  # it is in one place afterwards
    task = state.app.history.to_restore(version.commit, paths=paths, exact=exact)
    return taking_back.done(state, task, ["skills", "restore", name, *(["--exact"] if exact else [])])


def reject(name: Versioned) -> int:
    from hermes_cron.desks import skill_shelf

    state = bearing()
    part, number = named(state, name)
    if number is None:
        raise Usage(f"which version of {part.name}?", hint=f"hermes-cron skills log {part.name}")
    _, version = state.app.history.version(part, number)
    task = skill_shelf.to_reject(state.app, part, version)
    return taking_back.done(state, task, ["skills", "reject", name])


def _told(state: Cli, done: Shelved, word: str, back: str, **facts: bool) -> None:
    if state.json:
        state.emit_json({"name": done.name, "changed": done.snapshot is not None, "snapshot": done.snapshot, **facts})
        return
    said = {"name": output.one_line(done.name), "short": done.name.rpartition("/")[2], "id": short(done.snapshot or "")}
    state.out(_TEXTS[state.lang][word].format(**said))
    if done.snapshot is not None:
        state.note(_TEXTS[state.lang][back].format(**said))

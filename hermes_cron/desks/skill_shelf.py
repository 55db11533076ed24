"""What does a person do with a skill as a whole: hold it fast, put it away, bring it back, reject what runs made of it?

Each is a change of the home like any other: the state before is in the history, and ``undo`` takes it back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_cron.domain.file_edit import Drop, Edits, Put
from hermes_cron.domain.learning import Author, Kind, LearnedState
from hermes_cron.errors import Conflict, NotFound, Refused
from hermes_cron.experience import beside_skills, skill_pins
from hermes_cron.experience.skill_ops import Action, Operation
from hermes_cron.experience.skill_state import read_state
from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

if TYPE_CHECKING:
    from hermes_cron.desks.history_plan import Task, Version
    from hermes_cron.domain.home_part import Part
    from hermes_cron.experience.skills import Skill
    from hermes_cron.wiring import App

_PINS = f"skills/{skill_pins.PINS}"
_NUMBERED = re.compile(r"\.\d+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    """``name`` is the skill's qualified name; ``snapshot`` None: it was so already."""

    name: str
    snapshot: str | None


def pin(app: App, word: str) -> Shelved:
    """From now on no run changes it. Raises ``NotFound``, ``SkillAmbiguous``."""
    name = _skill(app, word).qualified

    def edits() -> Edits:
        data = _pins(app)
        if data is not None and name in skill_pins.names(data):
            return {}
        return {_PINS: Put(data=skill_pins.with_pin(data, name), before=data)}

    return Shelved(name=name, snapshot=app.change(f"pin {name}", edits))


def unpin(app: App, word: str) -> Shelved:
    """Runs may change it again. A pin of a skill that is gone can be taken off too."""
    name = _pinned_name(app, word)

    def edits() -> Edits:
        data = _pins(app)
        if data is None or name not in skill_pins.names(data):
            return {}
        return {_PINS: Put(data=skill_pins.without_pin(data, name), before=data)}

    return Shelved(name=name, snapshot=app.change(f"unpin {name}", edits))


def archive(app: App, word: str, reason: str | None) -> Shelved:
    """Into ``skills/.archive``, byte for byte. A pinned one stays until it is unpinned."""
    skill = _skill(app, word)
    if word not in (skill.name, skill.qualified):  # to put away a name is not to put away what took its place
        raise Conflict(f"{word} was merged into {skill.qualified}", hint=f"hermes-cron skills archive {skill.name}")
    if skill.pinned:
        raise Refused(f"{skill.qualified} is pinned", hint=f"hermes-cron skills unpin {skill.name}")
    operation = Operation(action=Action.ARCHIVE, name=skill.qualified, reason=reason or "by a person")

    def edits() -> Edits:
        return app.skill_desk.plan(Author(actor="cli"), [operation]).edits

    said = f"archive skill {skill.qualified}" + (f": {reason}" if reason else "")
    return Shelved(name=skill.qualified, snapshot=app.change(said, edits))


def archived(app: App, word: str) -> list[str]:
    """Where skills of that name lie in the archive, below ``skills/``: the newest last."""
    top = app.home.skills / ARCHIVE
    found = [path.parent for path in top.glob(f"**/{SKILL_FILE}")] if top.is_dir() else []
    named = [path for path in found if word in (plain_name(path.name), plain_name(path.relative_to(top).as_posix()))]
    return [
        path.relative_to(app.home.skills).as_posix()
        for path in sorted(named, key=lambda path: (len(path.name), path.name))
    ]


def plain_name(name: str) -> str:
    """Without the number of a second one."""
    return _NUMBERED.sub("", name)


def bring_back(app: App, word: str) -> Shelved:
    """Out of the archive, byte for byte; of several the one that was archived last. Raises ``NotFound``, ``Conflict``
    where a skill of that name lies already."""
    places = archived(app, word)
    if not places:
        raise NotFound(f'no skill "{word}" in the archive', hint=f"hermes-cron skills log {word}")
    name = plain_name(places[-1].removeprefix(f"{ARCHIVE}/"))

    def edits() -> Edits:
        root = app.home.skills
        if (root / name).exists():
            raise Conflict(f"there is a skill {name} already", hint=f"hermes-cron skills archive {name}")
        moved: dict[str, Put | Drop] = {}
        for path, file in read_state(root / places[-1], root).files.items():
            moved[f"skills/{places[-1]}/{path}"] = Drop(before=file.data)
            moved[f"skills/{name}/{path}"] = Put(
                data=file.data, before=None, bits=None if file.link else file.bits, link=file.link
            )
        return moved

    return Shelved(name=name, snapshot=app.change(f"restore skill {name} from the archive", edits))


def to_reject(app: App, part: Part, version: Version) -> Task:
    """What takes a learned version back. Raises ``Refused`` for one that a person made, ``Conflict`` for one that was
    taken back already."""
    from hermes_cron.store import learned

    commit, moved = version.commit, app.snapshots.moved()
    with app.store.read() as conn:
        done = [it for it in learned.done(conn) if it.kind is Kind.SKILL and it.after is not None]
    rows = [it for it in done if moved.get(it.after or "", it.after) == commit.id]
    if not rows and not commit.automated:
        raise Refused(
            f"{part.name}@{version.number} was made by a person; only what runs learned is rejected",
            hint=f"hermes-cron undo {commit.id[:7]}   or hermes-cron skills restore {part.name}@N",
        )
    if rows and all(it.state in {LearnedState.REJECTED, LearnedState.UNDONE} for it in rows):
        raise Conflict(
            f"{part.name}@{version.number} is taken back already", hint=f"hermes-cron skills log {part.name}"
        )
    return app.history.to_undo(commit.id, rejects=True)


def _skill(app: App, word: str) -> Skill:
    return app.skills_now().get(word)


def _pinned_name(app: App, word: str) -> str:
    known = skill_pins.pinned(app.home.skills)
    named = [name for name in known if word in (name, name.rpartition("/")[2])]
    return named[0] if len(named) == 1 else _skill(app, word).qualified


def _pins(app: App) -> bytes | None:
    return beside_skills.read(app.home.skills, skill_pins.PINS)

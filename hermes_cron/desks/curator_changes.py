"""How is a merge, a patch or a new workflow carried out on the files of the home?

Each is planned on the files as they are then, with what the same night changed before it, and judged by the rules that
every change of a skill is judged by. A merge archives its source last: by then the target holds all of it, every job
that named the source names the target, and the old name leads there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_cron.desks import curator_carry
from hermes_cron.errors import Conflict, HermesCronError, MergeTargetMissing, NotFound, Refused, SecretInPlainSight
from hermes_cron.experience import skill_merge, skill_ops, skill_pins, skill_redirects, skill_secrets, skill_write
from hermes_cron.experience.curation import Intended, Move
from hermes_cron.experience.skill_index import name_of
from hermes_cron.experience.skill_state import State
from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.desks.curator_carry import Carry
    from hermes_cron.desks.curator_files import HomeFiles
    from hermes_cron.experience.skill_screen import SkillFinding
    from hermes_cron.experience.skills import SkillLibrary
    from hermes_cron.wiring import App

_PINS = f"skills/{skill_pins.PINS}"
_REDIRECTS = f"skills/{skill_redirects.REDIRECTS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a change does: ``name`` is the skill that has new lines, ``said`` what a person should know beside them."""

    name: str
    lines: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """The carriers of one home. ``done`` is filled while changes are carried out, in their order."""

    app: App
    done: list[Done] = field(default_factory=list)

    def carriers(self) -> Mapping[Move, Carry]:
        """As ``curator_carry.CARRY``."""
        return {Move.MERGE: self.merge, Move.PATCH: self.patch, Move.CREATE: self.create}

    # --- merge ------------------------------------------------------------------------------------------------------

    def merge(self, home: HomeFiles, it: Intended, now: datetime) -> None:
        """``it.skill`` into ``it.into``. Raises ``MergeTargetMissing``, ``Refused`` and what the rules raise."""
        source = _part(home, it.skill, NotFound)
        target = _part(home, it.into or "", MergeTargetMissing)
        if source.qualified == target.qualified:
            raise Refused(f"{it.skill} cannot be merged into itself", hint="hermes-cron skills list")
        for name in (source.qualified, target.qualified):
            _refuse_pinned(home, name)
            _refuse_unwritable(name)
        made = skill_merge.merged(source, target, it.details.get("body"))
        lines = self._written(home, target.qualified, target.state, made.state)
        jobs = tuple(self._rename(home, source, target))
        redirects = home.read(_REDIRECTS)
        known = None if redirects is None else redirects.data
        home.put(_REDIRECTS, skill_redirects.with_redirect(known, source.qualified, target.qualified))
        curator_carry.archive(home, it, now)
        said = (*made.said, *(f"job {name} is to name {target.name}" for name in jobs))
        self.done.append(Done(name=target.qualified, lines=lines, said=said, jobs=jobs))

    def _rename(self, home: HomeFiles, source: skill_merge.Part, target: skill_merge.Part) -> list[str]:
        """The jobs whose files named the source and name the target now."""
        library = self.app.skills_now()
        olds, same = _names(library, source.qualified), _names(library, target.qualified)
        new = next((name for name in sorted(same, key=len) if name == target.name), target.qualified)
        changed = []
        for file in self.app.jobs.scan():
            path = f"jobs/{file.file_name}"
            found = home.read(path)
            if found is None or found.link:
                continue
            names = _named_in(found.data)
            after = skill_merge.names_after(names, olds, new, same)
            if after == names:
                continue
            home.put(path, _with_skills(found.data, after, path))
            changed.append(file.name)
        return changed

    # --- patch, create ----------------------------------------------------------------------------------------------

    def patch(self, home: HomeFiles, it: Intended, now: datetime) -> None:
        """The operations in ``it.details``."""
        part = _part(home, it.skill, NotFound)
        _refuse_pinned(home, it.skill)
        operations = skill_ops.understood(_operations(it))
        state, said, warnings = skill_write.planned(part.name, part.state, operations, _check_playbook)
        lines = self._put(home, it.skill, part.state, state)
        self.done.append(Done(name=it.skill, lines=lines, said=(*said, *map(_warning, warnings))))

    def create(self, home: HomeFiles, it: Intended, now: datetime) -> None:
        """A new skill; each of its parts must be there."""
        category, _, short = it.skill.rpartition("/")
        for name in (*category.split("/"), short):
            skill_ops.refuse_name(name)
        library = self.app.skills_now()
        for part in it.parts:
            library.get(part)
        taken = [skill.qualified for skill in library.all() if short in (skill.name, skill.folder.name)]
        if taken or home.folder(f"skills/{it.skill}") or home.folder(f"skills/{ARCHIVE}/{it.skill}"):
            raise Conflict(f"there is a skill {(taken or [it.skill])[0]} already", hint="hermes-cron skills list")
        operations = skill_ops.understood(_operations(it))
        state, said, warnings = skill_write.planned(short, None, operations, _check_playbook)
        lines = self._put(home, it.skill, None, state)
        self.done.append(Done(name=it.skill, lines=lines, said=(*said, *map(_warning, warnings))))

    # --- writing ----------------------------------------------------------------------------------------------------

    def _written(self, home: HomeFiles, name: str, before: State, after: State) -> tuple[str, ...]:
        state, _ = skill_write.accepted(name.rpartition("/")[2], before, after, _check_playbook)
        return self._put(home, name, before, state)

    def _put(self, home: HomeFiles, name: str, before: State | None, after: State) -> tuple[str, ...]:
        if skill_secrets.comes_in(before, after, self.app.redact):
            raise SecretInPlainSight(
                "the new text holds a secret, or what looks like one; nothing was changed",
                hint="name it: secret:NAME, which a person sets with hermes-cron secrets set NAME",
            )
        old = {} if before is None else before.files
        for path, file in after.files.items():
            if old.get(path) != file:
                home.put(f"skills/{name}/{path}", file.data, like=None if path in old else file)
        return skill_ops.lines_between(before, after)


def carry_of(app: App) -> Mapping[Move, Carry]:
    """How each move is carried out in this home."""
    return {**curator_carry.CARRY, **Changes(app).carriers()}


def previewed(app: App, it: Intended, now: datetime, *, after: Sequence[Intended] = ()) -> Done:
    """What the change would do to the home as it lies there, or as it is ``after`` others. Raises why it may not be
    done; changes nothing."""
    from hermes_cron.desks.curator_files import HomeFiles

    changes, home = Changes(app), HomeFiles(app.home.root)
    carry = {**curator_carry.CARRY, **changes.carriers()}
    for each in (*after, it):
        changes.done.clear()
        carry[each.kind](home, each, now)
    return changes.done[0] if changes.done else Done(name=it.skill)


def _part(home: HomeFiles, name: str, missing: type[NotFound]) -> skill_merge.Part:
    """A skill of the home with what was planned so far."""
    hint = "hermes-cron skills list"
    if not name or name.startswith((".", "/")) or ".." in name.split("/"):
        raise missing(f"no skill {name!r} in this home", hint=hint)
    files = home.folder(f"skills/{name}")
    if SKILL_FILE not in files:
        raise missing(f"no skill {name!r} in this home", hint=hint)
    return skill_merge.Part(name=name.rpartition("/")[2], qualified=name, state=State(files=files))


def _warning(it: SkillFinding) -> str:
    return f"reads like {it.finding.kind.words} to the scanner, {it.place}: {it.finding.excerpt}"


def _refuse_pinned(home: HomeFiles, name: str) -> None:
    pins = home.read(_PINS)
    if pins is not None and name in skill_pins.names(pins.data):
        raise Refused(f"{name} is pinned: only a person changes it", hint=f"hermes-cron skills unpin {name}")


def _refuse_unwritable(name: str) -> None:
    """A line of redirects is two words."""
    if name.split() != [name] or "#" in name:
        raise Refused(f"{name!r} has a blank or # in it: no redirect can name it", hint="give its folder another name")


def _operations(it: Intended) -> list[dict[str, Any]]:
    return [dict(each) for each in it.details.get("operations", ())]


def _check_playbook(path: Path, shown: str) -> None:
    from hermes_cron.models.playbook.load import load

    load(path, shown=shown)


# --- jobs -------------------------------------------------------------------------------------------------------------


def _names(library: SkillLibrary, qualified: str) -> frozenset[str]:
    """What a job may call this skill."""
    found = {qualified}
    for skill in library.all():
        if skill.qualified == qualified and skill.fault is None:
            found.add(name_of(library, skill))
    return frozenset(found)


def _named_in(data: bytes) -> tuple[str, ...]:
    """The skills in the head of a job's file; nothing where it cannot be read: the redirect stands for that one."""
    from hermes_cron.jobs.frontmatter import FaultsFound, Several, Single, read_table, split

    try:
        entries = read_table(split(data)).entries
    except FaultsFound:
        return ()
    value = next((entry.value for entry in entries if entry.key == "skills"), None)
    items = value.items if isinstance(value, Several) else ()
    return tuple(item.text for item in items if isinstance(item, Single))


def _with_skills(data: bytes, names: tuple[str, ...], path: str) -> bytes:
    from hermes_cron.jobs import save

    try:
        return save.edit(data, {"skills": list(names)}, path=path)
    except HermesCronError as error:
        raise Conflict(
            f"{path} names the skill, and that line cannot be changed: {error.message}",
            hint=f"hermes-cron check {path}",
        ) from error

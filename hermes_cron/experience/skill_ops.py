"""What may somebody do with a skill, and what is the skill then?

The operations of one call are about one skill and follow one another in memory: either all of them lead to a state
that may be written, or nothing is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from hermes_cron.errors import InvalidArguments, NotFound, Refused, SkillNameInvalid
from hermes_cron.experience import patch as patching
from hermes_cron.experience.skill_state import State, path_in_skill
from hermes_cron.experience.skills import SKILL_FILE

CATEGORY = "general"
"""Of a new skill that says none."""

_MOST = 20
_NAME = re.compile(r"[^\W_](?:-?[^\W_])*")
_LONGEST = 64


class Action(StrEnum):
    """There is no delete: what is archived comes back with the same bytes."""

    CREATE = "create"
    PATCH = "patch"
    EDIT = "edit"
    WRITE_FILE = "write_file"
    REMOVE_FILE = "remove_file"
    ARCHIVE = "archive"


class Because(StrEnum):
    """Why a method deserves a skill of its own (spec A5-3)."""

    STEPS = "steps"
    ERRORS = "errors"
    CORRECTION = "correction"
    METHOD = "method"
    ASKED = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step. ``name`` is the skill's, or category/name; ``reason`` is for the history."""

    action: Action
    name: str
    reason: str
    because: Because | None = None
    file: str = SKILL_FILE
    content: str | None = None
    old: str | None = None
    new: str | None = None
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A state after an operation, and what the operation did, for whoever asked for it."""

    state: State
    said: str


def understood(raw: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations of one call. Raises ``InvalidArguments`` for what is none, or is about several skills."""
    if not 1 <= len(raw) <= _MOST:
        raise InvalidArguments(f"{len(raw)} operations; one to {_MOST} in a call")
    operations = tuple(_operation(each) for each in raw)
    if len({operation.name for operation in operations}) > 1:
        raise InvalidArguments("the operations of one call are about one skill", hint="one call for each skill")
    actions = [operation.action for operation in operations]
    if Action.ARCHIVE in actions and len(actions) > 1:
        raise InvalidArguments("archive stands alone in its call")
    if Action.CREATE in actions[1:]:
        raise InvalidArguments("create comes first")
    return operations


def _operation(raw: Mapping[str, Any]) -> Operation:
    known = {field.name for field in fields(Operation)}
    values = {key: value for key, value in raw.items() if value is not None}
    try:
        values["action"] = Action(values.get("action", ""))
        values["because"] = Because(values["because"]) if "because" in values else None
    except ValueError as error:
        raise InvalidArguments(str(error), hint=", ".join(Action)) from error
    if not set(values) <= known or not values.get("name") or not str(values.get("reason", "")).strip():
        raise InvalidArguments("an operation has an action, a name and a reason")
    operation = Operation(**values)
    for key in _NEEDS[operation.action]:
        if getattr(operation, key) is None:
            raise InvalidArguments(f"{operation.action} needs {key}")
    return operation


_NEEDS: Mapping[Action, tuple[str, ...]] = {
    Action.CREATE: ("content", "because"),
    Action.PATCH: ("old", "new"),
    Action.EDIT: ("content",),
    Action.WRITE_FILE: ("content",),
    Action.REMOVE_FILE: (),
    Action.ARCHIVE: (),
}


def change_of(operations: Sequence[Operation]) -> str:
    """The word of ``Learned.change``."""
    actions = {operation.action for operation in operations}
    for action, word in (
        (Action.ARCHIVE, "archived"),
        (Action.CREATE, "created"),
        (Action.EDIT, "rewritten"),
    ):
        if action in actions:
            return word
    return "patched"


def refuse_name(name: str) -> None:
    """Raises ``SkillNameInvalid`` for what may not be the name of a new skill or a category's part."""
    if not _NAME.fullmatch(name) or name != name.lower() or len(name) > _LONGEST:
        raise SkillNameInvalid(
            f"{name[:80]!r} is no name for a skill", hint=f"1 to {_LONGEST} lowercase letters, digits and single -"
        )


def applied(state: State, operation: Operation) -> Step:
    """The state after it. Raises what stands in its way."""
    path = path_in_skill(operation.file)
    if operation.action is Action.PATCH:
        return _patched(state, path, operation)
    if operation.action is Action.REMOVE_FILE:
        if path == SKILL_FILE:
            raise Refused(f"a skill is its {SKILL_FILE}; it is not removed", hint="archive the skill")
        if path not in state.files:
            raise _no_file(state, path)
        return Step(state.without(path), f"{path} removed")
    if operation.action is Action.WRITE_FILE and path == SKILL_FILE:
        raise Refused(f"write_file is for the files beside {SKILL_FILE}", hint="patch it, or edit for all of it")
    if operation.action is not Action.WRITE_FILE:
        path = SKILL_FILE
    there = path in state.files
    data = _encoded(path, operation.content or "")
    if there:
        data = _in_style_of(state.files[path].data, data)
        if data == state.files[path].data:
            raise Refused(f"{path} says that already: nothing would change")
    return Step(state.put(path, data), f"{path} {'rewritten' if there else 'made'}")


def _patched(state: State, path: str, operation: Operation) -> Step:
    if path not in state.files:
        raise _no_file(state, path)
    old, new = operation.old or "", operation.new or ""
    _encoded(path, old + new)
    before = state.files[path].data
    found = patching.patch(before, old, new, shown=path, replace_all=operation.replace_all)
    if found.data == before:
        raise Refused(f"{path}: old and new are the same, nothing would change")
    note = {
        patching.How.EXACT: "",
        patching.How.ESCAPES: " (its escapes read as what they stand for)",
        patching.How.BLANKS: " (found although blanks differ)",
        patching.How.FUZZY: " (found although some letters differ: look at the lines)",
    }[found.how]
    places = f" and at {found.places - 1} more places" if found.places > 1 else ""
    return Step(state.put(path, found.data), f"{path} changed at line {found.line:,}{places}{note}")


def _no_file(state: State, path: str) -> NotFound:
    near = difflib.get_close_matches(path, state.files, n=1)
    known = f"did you mean {near[0]}?" if near else f"its files: {', '.join(sorted(state.files)[:20])}"
    return NotFound(f"the skill has no file {path}", hint=known)


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArguments(f"{path}: not valid Unicode at character {error.start:,}") from error


def _in_style_of(old: bytes, new: bytes) -> bytes:
    """The new text with the old one's byte-order mark and line ends, where those were all alike."""
    mark = b"\xef\xbb\xbf"
    if old.startswith(mark) and not new.startswith(mark):
        new = mark + new
    if old.count(b"\r\n") and old.count(b"\r\n") == old.count(b"\n") and b"\r" not in new:
        new = new.replace(b"\n", b"\r\n")
    return new


def lines_between(before: State | None, after: State) -> tuple[str, ...]:
    """What changed, each line with its sign; the version that goes up by itself is left out."""
    found: list[str] = []
    old, new = ({} if state is None else dict(state.files) for state in (before, after))
    for path in sorted(old.keys() | new.keys(), key=lambda it: (it != SKILL_FILE, it)):
        one, other = (files[path].data if path in files else b"" for files in (old, new))
        if one != other or (path in old) != (path in new):
            found += _lines(path, one, other)
    return tuple(found)


_VERSION_LINE = re.compile(r"\s*version: \"[^\"]*\"\s*|metadata:\s*")


def _lines(path: str, one: bytes, other: bytes) -> list[str]:
    if b"\0" in one[:8192] + other[:8192]:
        return [f"+ {path}: {len(other):,} bytes" if other else f"- {path}"]
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (one, other))
    if path == SKILL_FILE:
        old, new = _without_version(old), _without_version(new)
    lines = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:1] in "+-"][2:]
    told = [f"{line[0]} {line[1:].rstrip()}" for line in lines if line[1:].strip()]
    if path != SKILL_FILE:
        return [f"{line[0]} {path}: {line[2:]}" for line in told] or [f"{'+' if other else '-'} {path}"]
    return told


def _without_version(lines: list[str]) -> list[str]:
    """A version in the text, of a compose file say, is a line like any other: only the front matter's goes up."""
    if not lines or lines[0].strip().lstrip("\ufeff") != "---":
        return lines
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), 0)
    return [*(line for line in lines[:end] if not _VERSION_LINE.fullmatch(line)), *lines[end:]]

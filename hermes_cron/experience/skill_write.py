"""May a skill be as somebody wants it to be?

Judged before anything is written, the whole skill as it would be: the standard's every rule, sizes and places, a
version of its own, and the scanner. Faults that the skill had before are not the change's.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes_cron.domain.scan import Verdict
from hermes_cron.errors import HermesCronError, Refused, SkillFrontmatterError, TextBlocked
from hermes_cron.experience import frontmatter, skill_ops, skill_version
from hermes_cron.experience.skill_lint import CheckPlaybook, Fault, lint
from hermes_cron.experience.skill_ops import Action, Operation
from hermes_cron.experience.skill_screen import SkillFinding, screen
from hermes_cron.experience.skill_state import FILE_BYTES, State, refuse_too_much
from hermes_cron.experience.skills import SKILL_FILE
from hermes_cron.files import explained, inside

_TOLD = 5
_BLOCKED = "blocked, "
_PITFALLS = re.compile(r"pitfalls?\b|known issues|陷阱|注意事项|常见问题", re.IGNORECASE)
_HEADING = re.compile(r"(#{1,6})\s+(.*)")


def planned(
    name: str, before: State | None, operations: Sequence[Operation], check_playbook: CheckPlaybook
) -> tuple[State, tuple[str, ...], tuple[SkillFinding, ...]]:
    """The state to write, what each operation did, and what the scanner warns of since. Raises why it may not be."""
    state, said = before or State(), []
    for operation in operations:
        step = skill_ops.applied(state, operation)
        state = step.state
        said.append(step.said)
    whole = any(operation.action in {Action.CREATE, Action.EDIT} for operation in operations)
    state, found = accepted(name, before, state, check_playbook, strict=whole)
    return state, tuple(said), found


def accepted(
    name: str, before: State | None, after: State, check_playbook: CheckPlaybook, *, strict: bool = False
) -> tuple[State, tuple[SkillFinding, ...]]:
    """``after`` with a version of its own, as it may be written, and what the scanner warns of since. Raises why it may
    not be. ``strict``: faults that were there before are faults of this change too."""
    state = _versioned(before, after)
    refuse_too_much(state)
    return state, _judged(name, before, state, check_playbook, strict=strict)


def _versioned(before: State | None, after: State) -> State:
    """With a version that is not the one before. Who wrote one of their own keeps it."""
    old = None if before is None else skill_version.version_of(before.skill)
    new = skill_version.version_of(after.skill)
    wanted = new if new is not None and new != old else skill_version.next_version(old)
    return after.put(SKILL_FILE, skill_version.with_version(after.skill, wanted))


def _judged(
    name: str, before: State | None, after: State, check_playbook: CheckPlaybook, *, strict: bool
) -> tuple[SkillFinding, ...]:
    with _beside() as top:
        folder = _staged(Path(top, "after", name), after)
        found = screen(folder)
        blocked = [each for each in found if each.finding.verdict is Verdict.BLOCK]
        if blocked:
            raise _blocked(blocked)
        faults = _faults(folder, check_playbook)
        if before is not None and (found or faults):
            was = _staged(Path(top, "before", name), before)
            warned = {(it.file, it.finding.kind, it.finding.excerpt) for it in screen(was)}
            found = tuple(it for it in found if (it.file, it.finding.kind, it.finding.excerpt) not in warned)
            known = set() if strict else {_message(fault) for fault in _faults(was, check_playbook)}
            faults = [fault for fault in faults if _message(fault) not in known or _is_unreadable(fault)]
    if faults:
        told = "; ".join(f"{fault.path}:{fault.line}: {fault.message}" for fault in faults[:_TOLD])
        more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
        raise SkillFrontmatterError(
            f"not written, nothing was changed: {told}{more}", hint="docs/formats/skills.md: how they are checked"
        )
    return found


def _beside() -> tempfile.TemporaryDirectory[str]:
    """A folder outside the home, for as long as the skill is judged. Raises ``DiskFull``, ``NotWritable``."""
    with explained(Path(tempfile.gettempdir())):
        return tempfile.TemporaryDirectory(prefix="hermes-cron-skill-", ignore_cleanup_errors=True)


def _staged(folder: Path, state: State) -> Path:
    """The skill on disk beside the home. Links out of it and what is too large to be read are left out."""
    with explained(folder):
        for path, file in state.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.link:
                if inside(place.parent / os.fsdecode(file.data), folder) is not None:
                    place.symlink_to(os.fsdecode(file.data))
            else:
                place.write_bytes(file.data if len(file.data) <= FILE_BYTES else b"")
    return folder


def _faults(folder: Path, check_playbook: CheckPlaybook) -> list[Fault]:
    """With paths below the skill's folder; what the scanner said stands in a report of its own."""
    return [
        Fault(path=fault.path.relative_to(folder), line=fault.line, message=fault.message.replace(f"{folder}/", ""))
        for fault in lint(folder, check_playbook)
        if not fault.message.startswith(_BLOCKED)
    ]


def _message(fault: Fault) -> tuple[str, str]:
    return str(fault.path), fault.message


def _is_unreadable(fault: Fault) -> bool:
    """Nobody could use such a skill, however long it has been so."""
    return str(fault.path) == SKILL_FILE and fault.message.startswith(
        ("no front matter", "the front matter", "not UTF-8", '"name"', '"description" is missing')
    )


def _blocked(found: Sequence[SkillFinding]) -> TextBlocked:
    report = "; ".join(f"{it.place}: {it.finding.kind.words}: {it.finding.excerpt}" for it in found[:_TOLD])
    first = found[0]
    return TextBlocked(
        f"refused, nothing was changed: {report}",
        hint="a skill says how work is done; quote what is only spoken of",
        details={"class": str(first.finding.kind), "file": first.file, "line": first.finding.line},
    )


def refuse_methods(before: State | None, after: State) -> None:
    """A run that did not end well teaches what to look out for: lines under *Pitfalls*, and nothing else.

    Raises ``Refused``.
    """
    hint = "add a line under Pitfalls of the skill that was used"
    if before is None:
        raise Refused("the run did not end well: it teaches no method", hint=hint)
    if {path: file for path, file in before.files.items() if path != SKILL_FILE} != {
        path: file for path, file in after.files.items() if path != SKILL_FILE
    }:
        raise Refused("the run did not end well: it may add pitfalls and change nothing else", hint=hint)
    if list(_without_pitfalls(before.skill)) != list(_without_pitfalls(after.skill)):
        raise Refused("the run did not end well: it may add pitfalls and change nothing else", hint=hint)


def _without_pitfalls(data: bytes) -> Iterator[str]:
    """The body's lines outside sections of pitfalls, and the head but for the version."""
    try:
        front = frontmatter.parse(frontmatter.decode(data, SKILL_FILE), SKILL_FILE)
    except HermesCronError:
        yield data.decode("utf-8", "replace")
        return
    metadata = front.fields.get("metadata")
    plain = {k: v for k, v in metadata.items() if k != "version"} if isinstance(metadata, dict) else {}
    yield repr({**front.fields, "metadata": plain})
    level = 0  # of the heading of pitfalls that we are below
    for line in front.body.split("\n"):
        heading = _HEADING.match(line)
        if heading is not None and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if _PITFALLS.search(heading[2]) else 0
            if level:
                continue  # a new section of pitfalls may come
        if not level and line.strip():
            yield line

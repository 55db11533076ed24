"""Which skills do their work together so often that one name should stand for them?

A workflow is a skill that says which others are read, in which order. It repeats nothing of them: what one of them
learns, the workflow has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hermes_cron.domain.clip import one_line
from hermes_cron.experience.curation import Intended, Move
from hermes_cron.experience.lifecycle import SkillFacts

ENOUGH = 5
"""Good runs that used the same skills."""

PARTS_KEY = "hermes-cron.workflow"
"""In the metadata of a workflow: the skills that it is made of."""

CATEGORY = "workflows"
_MOST_PARTS = 5
_SETS = 200  # different sets of skills that are looked at, the most frequent ones
_NAME = 64
_DESCRIPTION = 1_024
_OF_A_PART = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """A good run and the skills that it used, by the names that uses are counted by, in the order it came to them."""

    run: str
    skills: tuple[str, ...]


def composed(
    skills: Sequence[SkillFacts], runs: Iterable[Together], workflows: Mapping[str, frozenset[str]]
) -> tuple[Intended, ...]:
    """A workflow for each largest set of skills that enough of these runs used together.

    ``workflows`` are those that there are, with their parts: none is made a part, and none is made twice.
    """
    by_call = {skill.called: skill for skill in skills if skill.fault is None and skill.name not in workflows}
    by_name = {skill.name: skill for skill in by_call.values()}
    used = Counter(names for run in runs if len(names := _qualified(run, by_call)) > 1)
    new = [parts for parts in _largest(used) if not any(parts <= known for known in workflows.values())]
    found = [_workflow(_in_order(parts, used), by_name, _times(parts, used)) for parts in new]
    return tuple(sorted(found, key=lambda it: it.skill))


def _qualified(run: Together, by_call: Mapping[str, SkillFacts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(by_call[name].name for name in run.skills if name in by_call))


def _times(parts: frozenset[str], used: Mapping[tuple[str, ...], int]) -> int:
    return sum(count for names, count in used.items() if parts <= set(names))


def _largest(used: Counter[tuple[str, ...]]) -> list[frozenset[str]]:
    """Sets that enough runs used whole, and that lie in no larger such set: what runs used, and what two have alike."""
    whole = {frozenset(names) for names, _ in used.most_common(_SETS)}
    sets = {it for it in whole | {one & other for one in whole for other in whole} if 1 < len(it) <= _MOST_PARTS}
    often = [it for it in sets if _times(it, used) >= ENOUGH]
    return [it for it in often if not any(it < other for other in often)]


def _in_order(parts: frozenset[str], used: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """As most of the runs came to them."""
    together = [names for names in used if parts <= set(names)]
    return tuple(sorted(parts, key=lambda it: (sum(names.index(it) * used[names] for names in together), it)))


# --- the skill --------------------------------------------------------------------------------------------------------


def _workflow(parts: Sequence[str], by_name: Mapping[str, SkillFacts], times: int) -> Intended:
    short = [part.rpartition("/")[2] for part in parts]
    name = _name(short)
    why = f"{', '.join(parts)} were used together in {times} runs that went well"
    content = "\n".join(_lines(name, [by_name[part] for part in parts], short, times))
    operation = {"action": "create", "name": f"{CATEGORY}/{name}", "reason": why, "because": "method",
                 "content": content}  # fmt: skip
    return Intended(
        kind=Move.CREATE, skill=f"{CATEGORY}/{name}", why=why, asks=True, parts=tuple(parts),
        evidence={"runs": times}, details={"operations": [operation]},
    )  # fmt: skip


def _name(short: Sequence[str]) -> str:
    """``build-image-then-roll-out``; as many of the names as there is room for."""
    for count in range(len(short), 0, -1):
        name = "-then-".join(short[:count]).lower().replace("_", "-").replace(".", "-")
        if len(name) <= _NAME - 5:
            return name if count > 1 else f"{name}-flow"
    return f"{short[0][: _NAME - 5]}-flow"


def _lines(name: str, parts: Sequence[SkillFacts], short: Sequence[str], times: int) -> Iterator[str]:
    described = [one_line(part.description, _OF_A_PART) for part in parts]
    does = one_line(f"{', then '.join(short)}. Use when all of it is to be done: {' '.join(described)}", _DESCRIPTION)
    yield "---"
    yield f"name: {name}"
    yield f"description: {_quoted(does)}"
    yield "metadata:"
    yield '  version: "1.0"'
    yield f"  {PARTS_KEY}: {_quoted(' '.join(part.name for part in parts))}"
    yield "---"
    yield ""
    yield f"# {', then '.join(short)}"
    yield ""
    yield "## When to use"
    yield ""
    yield f"The task needs all of these. {times} runs used them together and went well."
    yield ""
    yield "## Steps"
    yield ""
    for number, (part, said) in enumerate(zip(parts, described, strict=True), start=1):
        yield f"{number}. Read the skill {part.name} with skill_view and do what it says. {said}"
    yield ""
    yield "## Pitfalls"
    yield ""
    yield "- What each part learned stands in that part: a pitfall of one of them belongs there, not here."
    yield ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parts_of(metadata: Mapping[str, str]) -> frozenset[str]:
    """The skills that a workflow is made of; empty for any other skill."""
    return frozenset(metadata.get(PARTS_KEY, "").split())

"""How does a way of working that lies in the memory become a skill? Its own words, under the headings of a skill."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from hermes_cron.domain.clip import one_line
from hermes_cron.experience.facts import missing, normal
from hermes_cron.experience.memory import Target, shown
from hermes_cron.experience.memory_lint import Fault, remarks
from hermes_cron.experience.skill_ops import CATEGORY

_LONGEST = 48
_WORDS = 6
_DESCRIPTION = 300
_CJK: Final = re.compile(r"[\u3400-\u9fff]")
_HOW: Final = re.compile(
    r"^\s*(?:how\s+(?:to|we|you)\s+|steps?\s+(?:to|for)\s+|to\s+|procedure\s*(?:for|to)?[:\s]+|如何|怎么|怎样|操作步骤|步骤)",
    re.I,
)
_HEAD: Final = re.compile(r"\s*(?:[:：\n]|(?<![\w.])1[.、)）]\s|①|第一步|首先|\bfirst\b|\bstep\s+1\b)", re.I)
_HEADINGS: Final = {
    "en": ("When to use", "For this task: {title}.", "Steps", "Use it for: {title}"),
    "zh": ("何时使用", "用于：{title}。", "步骤", "用于：{title}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a model calls a method, and how it writes its steps. Nothing of it is believed before it was checked."""

    name: str = ""
    description: str = ""
    steps: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """A skill to be proposed: ``name`` with its category, ``content`` of its SKILL.md."""

    name: str
    content: str


def is_method(entry: str, target: Target) -> bool:
    """Steps in order: what no command would write into the memory."""
    return any(remark.fault is Fault.METHOD and remark.refused for remark in remarks(shown(entry), target))


def skill_of(entry: str, taken: Collection[str], named: Named | None = None) -> SkillText:
    """``taken`` are names that there are. Steps of a model stand there only if they have every fact of the entry."""
    text, named = shown(entry).strip(), named or Named()
    title = one_line(_title(text), 80)
    name = _free(_slug(named.name) or _slug(title) or "method", taken)
    heading, when, steps, use = _HEADINGS["zh" if _CJK.search(text) else "en"]
    description = one_line(named.description or use.format(title=title), _DESCRIPTION)
    body = named.steps.strip() if named.steps.strip() and not missing([text], named.steps) else text
    lines = [
        "---", f"name: {name}", f"description: {_quoted(description)}", "---", "", f"## {heading}", "",
        when.format(title=title), "", f"## {steps}", "", body, "",
    ]  # fmt: skip
    return SkillText(name=f"{CATEGORY}/{name}", content="\n".join(lines))


def _title(text: str) -> str:
    bare = _HOW.sub("", text)
    found = _HEAD.search(bare)
    return (bare[: found.start()] if found is not None and found.start() > 0 else bare).strip(" ,，.。")


def _slug(text: str) -> str:
    plain = normal(text).casefold()
    words = re.findall(r"[^\W_]+", plain)[:_WORDS]
    return re.sub(r"-+", "-", "-".join(words))[:_LONGEST].strip("-")


def _free(name: str, taken: Collection[str]) -> str:
    known = {each.casefold() for each in taken}
    number, free = 1, name
    while free in known:
        number += 1
        free = f"{name}-{number}"
    return free


def _quoted(text: str) -> str:
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'

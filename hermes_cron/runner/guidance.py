"""What is a run told about learning? One text for each set of tools, the same bytes in every run that has it.

It says what to save where, when a skill is made or mended, and what is never kept. Only what the run has the tools for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hermes_cron.domain.learning import Learn

MEMORY, LIST, VIEW, MANAGE = "memory", "skills_list", "skill_view", "skill_manage"
"""The tools that it speaks of."""

_HEAD = "What this run learns outlasts it only where it is saved, and each kind has one place:"
_FACTS = """\
- Facts that stay true go to memory, with the tool memory: preferences, conventions, names and addresses, quirks of \
tools and hosts; best of all what spares people from saying it again. State them, do not order: "The registry is \
r.example:5000", not "Always push to r.example:5000"."""
_METHODS = "- Ways of working are skills."
_READ = "Look for one in the index before you begin; read one that fits with skill_view, then follow it."
_MAKE = """\
Make one with skill_manage after work that will come again and took five or more tool calls, or met errors that you \
overcame, after a correction that proved right, or when asked. One-off work makes no skill."""
_MEND = """\
When a skill that you used proved wrong, incomplete or out of date, patch it before you end, without being asked: \
change the lines concerned, keep the rest. Unmaintained skills are liabilities."""
_MEND_ONLY = "You may change skills that are there; new ones are not made in this job's runs."
_ASKS = "- What you save is a proposal here: a person decides."
_TRAIL = """\
- What happened, results and progress stay in this session, which is kept and searched. Save none of it. Never save \
secrets, failures that pass, "tool X is broken", or what the notes of the working folder say."""


def guidance(tools: Collection[str], learn: Learn) -> str:
    """ "" for a run that can neither read nor save."""
    lines = list(_lines(tools, learn))
    if not {MEMORY, MANAGE} & set(tools):
        return "\n".join(lines)
    return "\n".join([_HEAD, *lines, *([_ASKS] if learn is Learn.PROPOSE else []), _TRAIL])


def _lines(tools: Collection[str], learn: Learn) -> Iterator[str]:
    if MEMORY in tools:
        yield _FACTS
    about_skills = [
        *([_READ] if VIEW in tools else []),
        *([_MEND_ONLY if learn is Learn.ABSORB else _MAKE, _MEND] if MANAGE in tools else []),
    ]
    if about_skills:
        yield " ".join([_METHODS, *about_skills])

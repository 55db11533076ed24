"""What must a person be told of a change of memory or of a skill that the change itself does not say?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.learning import Kind

if TYPE_CHECKING:
    from hermes_cron.wiring import App


def facts(app: App, kind: Kind, name: str, lines: Sequence[str], *, after: str | None) -> dict[str, Any]:
    """Of a skill: what commands call it, the heading that the change stands under, and the version that it made.

    What cannot be told is left out: a change is never refused for want of a heading.
    """
    if kind is not Kind.SKILL or not name:
        return {}
    found: dict[str, Any] = {"called": _called(app, name), "section": _section(app, name, lines)}
    if after is not None:
        found["version"] = _version(app, name)
    return {key: value for key, value in found.items() if value}


def _called(app: App, name: str) -> str:
    """Its own name where it is the only one of that name in the home."""
    short = name.rpartition("/")[2]
    others = [path for path in app.home.skills.glob(f"**/{short}/SKILL.md") if path.parent != app.home.skills / name]
    return name if others else short


def _section(app: App, name: str, lines: Sequence[str]) -> str | None:
    """The heading above the first line that was added, as the file has it now."""
    added = next((line[1:].strip() for line in lines if line.startswith("+") and line[1:].strip()), None)
    try:
        text = (app.home.skills / name / "SKILL.md").read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    heading = None
    for line in map(str.strip, text.splitlines()):
        if line == added:
            return heading
        if line.startswith("#"):
            heading = line.lstrip("#").strip() or None
    return None


def _version(app: App, name: str) -> int:
    return len(app.history.versions(f"skills/{name}"))

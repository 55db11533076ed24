"""``skills diff NAME --shipped``: how does the home's copy of a shipped skill differ from the one shipped now?"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli
from hermes_cron.errors import NotFound

if TYPE_CHECKING:
    from hermes_cron.experience.skills import Skill
    from hermes_cron.shipped import Standing

_TEXTS = {
    "en": {
        "older": "a newer one is shipped: hermes-cron init brings it",
        "pinned": "a newer one is shipped; this one is pinned: hermes-cron skills diff {name} --shipped",
        "edited_older": "edited here, and a newer one is shipped: hermes-cron skills diff {name} --shipped",
        "same": "No difference.",
    },
    "zh": {
        "older": "附带的技能有新版本：hermes-cron init 可更新",
        "pinned": "附带的技能有新版本，但此技能已锁定：hermes-cron skills diff {name} --shipped",
        "edited_older": "此处已修改，附带的技能有新版本：hermes-cron skills diff {name} --shipped",
        "same": "没有差异。",
    },
}  # fmt: skip


def standings(state: Cli) -> dict[str, Standing]:
    """Of the home's copies of shipped skills, by ``category/name``."""
    from hermes_cron.shipped import standings

    return standings(state.home.skills) if state.home_path.is_home() else {}


def said(state: Cli, skill: Skill, standing: Standing) -> str | None:
    """What a person should know of it; None when nothing newer is shipped."""
    if not standing.newer_is_shipped:
        return None
    word = "pinned" if skill.pinned and standing.value == "older" else standing.value
    return _TEXTS[state.lang][word].format(name=skill.qualified)


def difference(state: Cli, name: str) -> None:
    """From the home's copy to what is shipped. Raises ``NotFound`` for a skill that is not a copy of a shipped one."""
    from hermes_cron.shipped import contents

    folder = next((each for each in standings(state) if name in (each, each.rpartition("/")[2])), None)
    if folder is None:
        raise NotFound(f"{name} is no copy of a shipped skill", hint="hermes-cron skills list --bundled")
    now = {file.path: file.data for file in contents("skills") if file.path.startswith(f"{folder}/")}
    here = {path: (state.home.skills / path).read_bytes() for path in _paths(state.home.skills, folder)}
    files = [(path, _diff(path, here.get(path), now.get(path))) for path in sorted({*here, *now})]
    changed = [(path, lines) for path, lines in files if lines]
    if state.json:
        state.emit_json({"name": folder, "files": [{"path": path, "diff": lines} for path, lines in changed]})
        return
    for _, lines in changed:
        state.out(output.plain("\n".join(lines)))
    if not changed:
        state.out(_TEXTS[state.lang]["same"])


def _paths(skills: Path, folder: str) -> list[str]:
    found = (path for path in (skills / folder).rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path.relative_to(skills).as_posix() for path in found)


def _diff(path: str, here: bytes | None, now: bytes | None) -> list[str]:
    """A unified diff; one line for what is no text; none for what is equal."""
    if here == now:
        return []
    try:
        old, new = ("" if data is None else data.decode() for data in (here, now))
    except UnicodeDecodeError:
        return [f"{path}: differs, no text"]
    labels = f"{path} (home)" if here is not None else "(nothing)", f"{path} (shipped)" if now is not None else "(gone)"
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), *labels, lineterm=""))

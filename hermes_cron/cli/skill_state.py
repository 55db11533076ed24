"""How does a skill stand with the curator: in use, stale or put away, made by whom, named by which jobs?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli
from hermes_cron.errors import HermesCronError

if TYPE_CHECKING:
    from hermes_cron.domain.skill_use import SkillRecord
    from hermes_cron.experience.lifecycle import Mark, SkillState
    from hermes_cron.experience.skills import Skill

_TEXTS: Mapping[str, Mapping[str, Any]] = {
    "en": {
        "states": {"active": "active", "stale": "stale", "archived": "archived"},
        "state": "state", "since": "stale since {day}: {why}",
        "why": {"unused": "not used", "failing": "its runs go badly"},
        "made": "made by", "origins": {"learned": "a run", "hand": "a person", "shipped": "hermes-cron"},
        "jobs": "named by", "put_away": "{n} archived: hermes-cron skills list --archived",
        "none": "Nothing is archived.", "back": "back: hermes-cron skills restore NAME",
        "headers": ("NAME", "CATEGORY"),
    },
    "zh": {
        "states": {"active": "使用中", "stale": "闲置", "archived": "已归档"},
        "state": "状态", "since": "自 {day} 起闲置：{why}",
        "why": {"unused": "未使用", "failing": "运行效果不好"},
        "made": "制作者", "origins": {"learned": "某次运行", "hand": "人", "shipped": "hermes-cron"},
        "jobs": "引用者", "put_away": "{n} 个已归档：hermes-cron skills list --archived",
        "none": "没有已归档的技能。", "back": "恢复：hermes-cron skills restore 名称",
        "headers": ("名称", "类别"),
    },
}  # fmt: skip


class States:
    """The states of a home's skills, read once."""

    def __init__(self, state: Cli) -> None:
        from hermes_cron.experience.lifecycle import stale

        self._state = state
        self._marks: Mapping[str, Mark] = stale(state.home.skills) if state.home_path.is_home() else {}

    def of(self, skill: Skill, record: SkillRecord) -> SkillState:
        from hermes_cron.experience.lifecycle import shown

        return shown(self._marks.get(skill.qualified), record)

    def suffix(self, skill: Skill, record: SkillRecord) -> str:
        """``, stale`` for a cell of a table; "" for what is in use."""
        found = self.of(skill, record)
        if found.value == "active":
            return ""
        comma = "，" if self._state.lang == "zh" else ", "
        return f"{comma}{_TEXTS[self._state.lang]['states'][found.value]}"

    def facts(self, skill: Skill, record: SkillRecord) -> Iterator[tuple[str, str]]:
        """Labels and words for a page about one skill."""
        texts = _TEXTS[self._state.lang]
        said = texts["states"][self.of(skill, record).value]
        mark = self._marks.get(skill.qualified)
        if mark is not None and self.of(skill, record).value == "stale":
            said = texts["since"].format(day=f"{mark.since:%Y-%m-%d}", why=texts["why"][mark.cause.value])
        yield texts["state"], said
        about = _about(self._state, skill)
        if about is not None:
            yield texts["made"], texts["origins"][about["origin"]]
            if about["jobs"]:
                yield texts["jobs"], output.one_line(", ".join(about["jobs"]))

    def as_json(self, skill: Skill, record: SkillRecord) -> dict[str, Any]:
        """Of one skill, with who made it and which jobs name it; null where the store or the history cannot say."""
        mark = self._marks.get(skill.qualified)
        about = _about(self._state, skill) or {"origin": None, "jobs": None}
        since = None if mark is None or self.of(skill, record).value != "stale" else mark.since
        return {"state": self.of(skill, record).value, "stale_since": since, **about}


def _about(state: Cli, skill: Skill) -> dict[str, Any] | None:
    if skill.bundled or not state.home_path.is_home():
        return {"origin": "shipped", "jobs": []} if skill.bundled else None
    try:
        return state.app.curator.about(skill)
    except HermesCronError as error:
        state.note(error.message)
        return None


def archived(state: Cli) -> list[str]:
    """Qualified names of what lies in the archive, a second one of a name with its number."""
    from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

    if not state.home_path.is_home():
        return []
    top = state.home.skills / ARCHIVE
    return sorted(path.parent.relative_to(top).as_posix() for path in top.glob(f"**/{SKILL_FILE}"))


def note_archived(state: Cli) -> None:
    """Where what is not listed can be seen."""
    count = len(archived(state))
    if count:
        state.note(_TEXTS[state.lang]["put_away"].format(n=count))


def list_archived(state: Cli) -> None:
    """What lies in the archive, in place of the list."""
    names, texts = archived(state), _TEXTS[state.lang]
    if state.json:
        found = [{"name": name.rpartition("/")[2], "qualified": name, "state": "archived"} for name in names]
        state.emit_json({"skills": found})
        return
    if not names:
        state.out(texts["none"])
        return
    rows = [(name.rpartition("/")[2], name.rpartition("/")[0]) for name in names]
    state.out(output.table(rows, texts["headers"], max_columns=state.columns))
    state.note(texts["back"])

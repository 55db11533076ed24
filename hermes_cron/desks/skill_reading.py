"""What does a run see of the skills: a list by what is looked for, a text, a file? And what was made of them?

One resolver for all: what a prompt, a list, a command and a view call a skill is one name (``SkillLibrary.get``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.learning import Author, SkillDoor
from hermes_cron.domain.scan import Purpose, Verdict, scan
from hermes_cron.domain.skill_use import SUCCESS, Success
from hermes_cron.domain.tool_call import Probe, ToolOutput, error_output, error_text
from hermes_cron.errors import HermesCronError, NotFound
from hermes_cron.experience.skill_index import name_of, record_of
from hermes_cron.experience.skill_screen import SkillFinding
from hermes_cron.experience.skill_text import body, file_text, find
from hermes_cron.experience.skills import SKILL_FILE

if TYPE_CHECKING:
    from hermes_cron.domain.skill_use import SkillRecord
    from hermes_cron.experience.skill_index import Hit, SkillIndex
    from hermes_cron.experience.skills import Skill, SkillLibrary
    from hermes_cron.wiring import App

_HITS = 20
_OF_CATEGORY = 60
_NAMES = 6  # of a category in the list of all
_WHOLE = 40  # skills that are listed with what they are for, without a query


class SkillReading:
    """Skills of one home, as they are at the moment of each question."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._read: tuple[object, Mapping[str, SkillRecord]] | None = None

    def index(self, prompt: str, named: Sequence[str]) -> SkillIndex:
        """The block for the system prompt of a run; ``named`` are the skills that its job names."""
        return self._app.skill_indexer.index(self._app.read_skills(), prompt, named=named, records=self._lately())

    def _lately(self) -> Mapping[str, SkillRecord]:
        """The same records, summed again only after something was added: they cost more than the rest of a prompt."""
        from hermes_cron.store import skill_uses

        if not self._app.home.store.exists():
            return {}
        with self._app.store.read() as conn:
            mark = (skill_uses.mark(conn), self._app.settings_now.curator)
        if self._read is None or self._read[0] != mark:
            self._read = mark, self.records()
        return self._read[1]

    def door(self, author: Author) -> SkillDoor:
        """Skills to look at for one author. Who may write adds ``write`` and ``probe``."""
        return SkillDoor(
            listing=self.listing,
            view=lambda name, file, key: self.view(author, name, file, key),
            write=None,
            probe=lambda _: Probe(happened=None, text="nothing is written here"),
        )

    def records(self, *, job_uid: str | None = None) -> Mapping[str, SkillRecord]:
        """What runs made of skills, by the name they knew each by. Empty for a home whose store was never made."""
        from hermes_cron.store import skill_uses

        if not self._app.home.store.exists():
            return {}
        with self._app.store.read() as conn:
            found = skill_uses.records(conn, job_uid=job_uid)
        said = self._app.settings_now.curator
        success = Success(below=said.success_below, runs=said.success_runs)
        return found if success == SUCCESS else {name: replace(it, success=success) for name, it in found.items()}

    def by_job(self, names: Collection[str]) -> Mapping[str | None, SkillRecord]:
        """What runs of each job made of a skill, by the names they knew it by."""
        from hermes_cron.store import skill_uses

        if not self._app.home.store.exists():
            return {}
        with self._app.store.read() as conn:
            return skill_uses.by_job(conn, names)

    def listing(self, query: str | None) -> ToolOutput:
        """Categories without a query; a category by its name; else what fits, best first."""
        library = self._app.read_skills()
        words = (query or "").strip()
        if not words:
            return ToolOutput(text="\n".join(self._all(library)))
        of_category = [s for s in _good(library) if s.category.casefold() == words.casefold()]
        if of_category:
            return ToolOutput(text="\n".join(self._category(library, of_category)))
        return ToolOutput(text="\n".join(self._found(library, words)))

    def view(self, author: Author, name: str, file: str | None, key: str) -> ToolOutput:
        """A skill's body, or the text of one of its files. What the scanner blocks is refused with class and place."""
        library = self._app.read_skills()
        try:
            skill = find(library, name, file)
            text = body(skill) if file is None else file_text(skill, file)
            found = self._refused(author, library, skill, file, text)
        except NotFound as error:
            return self._archived(author, name) or error_output(error)
        except HermesCronError as error:
            return error_output(error)
        if found is not None:
            return found
        if author.run_id is not None:
            self._note_view(author, name_of(library, skill), key)
        if file is None and name not in (skill.name, skill.qualified):
            text = f"{one_line(name, 100)} was merged into {skill.qualified}.\n{text}"
        return ToolOutput(text=text)

    def _archived(self, author: Author, name: str) -> ToolOutput | None:
        """The answer for a skill that was put away: a person is asked whether it comes back."""
        from hermes_cron.desks.curator_wanted import wanted

        found = wanted(self._app, author, name)
        if found is None:
            return None
        skill, question = found
        asked = "" if question is None else f"; a person is asked whether it comes back ({question})"
        return error_text("SkillArchived", f"skill {skill} was archived{asked}", "go on without it, and report that")

    def _note_view(self, author: Author, skill: str, key: str) -> None:
        from hermes_cron.store import skill_uses

        run_id, job_uid, now = author.run_id or "", author.job_uid, self._app.clock.now()
        self._app.store.write(
            lambda conn: skill_uses.note_view(conn, skill, run_id=run_id, job_uid=job_uid, key=key, now=now)
        )

    def _refused(
        self, author: Author, library: SkillLibrary, skill: Skill, file: str | None, text: str
    ) -> ToolOutput | None:
        """The answer where something of the skill, or the very text that would be given, is blocked."""
        found = library.blocked(skill)
        said = scan(text, Purpose.SKILL)
        if found is None and said.verdict is Verdict.BLOCK:  # changed since it was looked at
            found = SkillFinding(file or SKILL_FILE, said.findings[0])
        if found is None:
            return None
        place = f"skills/{skill.qualified}/{found.place}"
        self._app.note_security(
            [
                SecurityFinding(
                    guard=Purpose.SKILL, kind=found.finding.kind, verdict=found.finding.verdict, place=place,
                    job=author.job_name, run_id=author.run_id,
                )
            ]
        )  # fmt: skip
        return error_text(
            "SkillBlocked",
            f"skill {skill.name} is not to be used: {found.finding.kind.words} in {place}",
            "go on without it; a person looks at it: hermes-cron skills show NAME",
        )

    # --- lists -----------------------------------------------------------------------------------------------------

    def _all(self, library: SkillLibrary) -> Iterator[str]:
        skills = _good(library)
        broken = [skill for skill in library.all() if skill.fault is not None]
        if not skills:
            yield "There are no skills yet."
        elif len(skills) <= _WHOLE:
            yield f"{len(skills)} skills. Read one with skill_view."
            yield from self._lines(library, skills)
        else:
            categories = Counter(skill.category for skill in skills)
            yield (
                f"{len(skills):,} skills in {len(categories):,} categories. "
                "Ask again with words of what is to be done, or with a category's name."
            )
            yield from self._by_category(library, skills, categories)
        yield from _broken_lines(broken)

    def _by_category(
        self, library: SkillLibrary, skills: Sequence[Skill], categories: Mapping[str, int]
    ) -> Iterator[str]:
        records = self.records()
        members: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for skill in skills:
            name = name_of(library, skill)
            members[skill.category].append((-record_of(records, skill, name).uses, name))
        for category in sorted(categories, key=lambda each: (-categories[each], each)):
            names = [name for _, name in sorted(members[category])]
            more = len(names) - _NAMES
            shown = ", ".join([*names[:_NAMES], *([f"{more:,} more"] if more > 0 else [])])
            yield f"{one_line(category, 60) or 'without a category'} ({len(names):,}): {shown}"

    def _category(self, library: SkillLibrary, skills: Sequence[Skill]) -> Iterator[str]:
        yield f"{len(skills):,} skills in {one_line(skills[0].category, 60)}:"
        yield from self._lines(library, skills[:_OF_CATEGORY])
        if len(skills) > _OF_CATEGORY:
            yield f"{len(skills) - _OF_CATEGORY:,} more: ask again with words of what is to be done"

    def _lines(self, library: SkillLibrary, skills: Iterable[Skill]) -> Iterator[str]:
        records = self.records()
        for skill in skills:
            name = name_of(library, skill)
            yield _line(name, skill, record_of(records, skill, name), library.blocked(skill))

    def _found(self, library: SkillLibrary, words: str) -> Iterator[str]:
        hits: list[Hit] = self._app.skill_indexer.search(library, words, records=self.records())
        known = {hit.name for hit in hits}
        records = self.records()
        part = words.casefold()
        by_name = [s for s in _good(library) if part in s.qualified.casefold() and name_of(library, s) not in known]
        found = [(hit.name, hit.skill, hit.record) for hit in hits]
        found += [(name, s, record_of(records, s, name)) for s in by_name for name in (name_of(library, s),)]
        broken = [
            s for s in library.all() if s.fault is not None and part in (s.name.casefold(), s.qualified.casefold())
        ]
        if not found and not broken:
            yield "No skill fits that. Other words may; without a query every category is listed."
            return
        many = f", the best {_HITS} of {len(found):,}" if len(found) > _HITS else ""
        yield f"{min(len(found), _HITS)} skills{many}. Read one with skill_view."
        for name, skill, record in found[:_HITS]:
            yield _line(name, skill, record, library.blocked(skill))
        yield from _broken_lines(broken)


def _good(library: SkillLibrary) -> list[Skill]:
    return [skill for skill in library.all() if skill.fault is None]


def _line(name: str, skill: Skill, record: SkillRecord, found: SkillFinding | None) -> str:
    if found is not None:
        return f"- {name}: not to be used, {found.finding.kind.words} in {one_line(found.place, 200)}"
    went = f" [went well in {record.well} of {record.judged} runs]" if record.judged else ""
    return f"- {name}: {one_line(skill.description, 240)}{went}"


def _broken_lines(skills: Iterable[Skill]) -> Iterator[str]:
    for skill in list(skills)[:_HITS]:
        if skill.fault is not None:
            yield f"- {one_line(skill.qualified, 200)}: broken, {one_line(skill.fault.message, 300)}"

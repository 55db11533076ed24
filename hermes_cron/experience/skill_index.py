"""Which skills does a run know of before it looks? The index in the system prompt, never longer than its budget.

Skills that are pinned or named by the job come first, then those that fit the prompt, each with what it is for. The
others are named in a line for each category as far as there is room, better ones first, and what is left out is said:
``skills_list`` finds it. The same skills, prompt and records give the same bytes.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.scan import Purpose, Verdict, scan
from hermes_cron.domain.skill_use import UNKNOWN, SkillRecord
from hermes_cron.domain.template import Fence, fence, harmless
from hermes_cron.experience.skill_fit import Fit, Terms, said_by
from hermes_cron.experience.skill_screen import SkillFinding
from hermes_cron.experience.skills import SKILL_FILE, Skill, SkillLibrary

BUDGET = 8_000
"""Characters of the whole block, its fence included."""

_DESCRIPTION = 150  # characters: what it does, not all of when
_DESCRIBED = 0.6  # of the budget, where there is not room for every skill
_SCREENED = 12  # skills whose every file is looked at: those that are most likely to be read
_CATEGORY = 60  # characters of a category's name
_MOST = 9_999_999  # skills: what room is kept for their number

_HEAD = """\
Skills: ways of working that proved themselves here. Before you do something that one of them is about, read it with \
skill_view and follow it. skills_list finds more by what is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillIndex:
    """``text`` is the block for the system prompt, "" when there is no skill. Names as ``skill_view`` takes them.

    ``described`` are shown with what they are for, ``named`` by name alone, ``left_out`` counts the others. ``blocked``
    would have been described, but for what the scanner found in them.
    """

    text: str = ""
    described: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: int = 0
    blocked: tuple[tuple[Skill, SkillFinding], ...] = ()

    @property
    def shown(self) -> frozenset[str]:
        return frozenset((*self.described, *self.named))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A skill that was looked for. ``fit`` compares skills for one query; ``record`` is what runs made of it."""

    skill: Skill
    name: str
    fit: float
    record: SkillRecord


class SkillIndexer:
    """Makes indexes and answers searches. Thread-safe: what is kept of a library is replaced whole."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, str, str], Terms] = {}
        self._kept: _Catalogue | None = None
        self._making = threading.Lock()

    def index(
        self,
        library: SkillLibrary,
        prompt: str,
        *,
        named: Collection[str] = (),
        records: Mapping[str, SkillRecord] | None = None,
        budget: int = BUDGET,
    ) -> SkillIndex:
        """For a run of ``prompt``. ``named``: what the job names, by name or ``category/name``; their texts are in the
        prompt already. ``records`` by name, as ``store.skill_uses`` has them."""
        catalogue = self._catalogue(library)
        if not catalogue.skills:
            return SkillIndex()
        order, known = catalogue.ranked(prompt, records or {}, frozenset(named))
        return _Page(catalogue, frozenset(named), known, budget - len(_block("", ""))).made(order)

    def search(
        self, library: SkillLibrary, query: str, *, records: Mapping[str, SkillRecord] | None = None
    ) -> list[Hit]:
        """Skills that fit, best first; a failing one comes after those that do not fail."""
        catalogue = self._catalogue(library)
        order, known = catalogue.ranked(query, records or {})
        fits = catalogue.fit.scores(query)
        return [
            Hit(skill=catalogue.skills[at], name=catalogue.names[at], fit=fits[at], record=known.get(at, UNKNOWN))
            for at in order
            if fits[at] > 0
        ]

    def _catalogue(self, library: SkillLibrary) -> _Catalogue:
        with self._making:
            kept = self._kept
            if kept is not None and kept.library is library:
                return kept
            skills = tuple(skill for skill in library.all() if skill.fault is None)
            if kept is not None and kept.skills == skills:  # read again, and nothing had changed
                made = replace(kept, library=library, screened={})
            else:
                made = self._made(library, skills)
            self._kept = made
            return made

    def _made(self, library: SkillLibrary, skills: tuple[Skill, ...]) -> _Catalogue:
        keys = [_key(skill) for skill in skills]
        said = [self._said.get(key) or said_by(skill) for key, skill in zip(keys, skills, strict=True)]
        self._said = dict(zip(keys, said, strict=True))
        return _Catalogue.of(library, skills, Fit(said))


def _key(skill: Skill) -> tuple[str, str, str, str]:
    return skill.name, skill.category, skill.description, str(sorted(skill.metadata.items()))


def pinned(skill: Skill) -> bool:
    """Whether a person holds it fast: agents do not change it, and it is shown first."""
    return skill.pinned


def name_of(library: SkillLibrary, skill: Skill) -> str:
    """What ``library.get`` finds this skill by: its name, or ``category/name`` where the name is not unique."""
    return skill.qualified if library.duplicates(skill) else skill.name


def record_of(records: Mapping[str, SkillRecord], skill: Skill, name: str) -> SkillRecord:
    """What runs made of it, under whichever of its names they knew it."""
    return sum((records[key] for key in sorted({name, skill.qualified} & records.keys())), start=UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """A library as it was read, ready to be compared with prompts. Skills are known by their place in ``skills``.

    ``places``: where a name or ``category/name`` stands; ``first``: pinned ones.
    """

    library: SkillLibrary
    skills: tuple[Skill, ...]
    names: tuple[str, ...]
    places: Mapping[str, tuple[int, ...]]
    first: frozenset[int]
    sizes: Mapping[str, int]
    fit: Fit
    screened: dict[tuple[int, bool], SkillFinding | None] = field(default_factory=dict)
    said: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def of(library: SkillLibrary, skills: tuple[Skill, ...], fit: Fit) -> _Catalogue:
        places: dict[str, tuple[int, ...]] = {}
        for at, skill in enumerate(skills):
            for name in {skill.name, skill.qualified}:
                places[name] = (*places.get(name, ()), at)
        return _Catalogue(
            library=library,
            skills=skills,
            names=tuple(name_of(library, skill) for skill in skills),
            places=places,
            first=frozenset(at for at, skill in enumerate(skills) if pinned(skill)),
            sizes=Counter(skill.category for skill in skills),
            fit=fit,
        )

    def ranked(
        self, prompt: str, records: Mapping[str, SkillRecord], given: Collection[str] = ()
    ) -> tuple[list[int], dict[int, SkillRecord]]:
        """Pinned and given ones first; then by fit, failing ones last, of equals the proven ones first, then by name.

        And the records of those that have one.
        """
        known: dict[int, SkillRecord] = {}
        for name in sorted(records.keys() & self.places.keys()):
            if len(self.places[name]) == 1:  # of two of one name nobody knows whose it is
                (at,) = self.places[name]
                known[at] = known[at] + records[name] if at in known else records[name]
        failing = {at for at, record in known.items() if record.failing}
        proven = {at for at, record in known.items() if record.proven}
        first = self.first.union(*(self.places.get(name, ()) for name in given))
        keys = [
            (at not in first, at in failing, -round(fit * 1.1 if at in proven else fit, 9), at not in proven, name)
            for at, (fit, name) in enumerate(zip(self.fit.scores(prompt), self.names, strict=True))
        ]
        return sorted(range(len(keys)), key=keys.__getitem__), known

    def description(self, at: int) -> str:
        """One line, cut; made when it is first shown."""
        if at not in self.said:
            self.said[at] = one_line(self.skills[at].description, _DESCRIPTION)
        return self.said[at]

    def blocked(self, at: int, *, whole: bool) -> SkillFinding | None:
        """Why it is not shown: for all of its files or, not ``whole``, for what an index says of it.

        Looked at once: the catalogue is of one moment, as its library is.
        """
        if (at, whole) not in self.screened:
            skill = self.skills[at]
            self.screened[at, whole] = self.library.blocked(skill) if whole else _blocked_words(skill)
        return self.screened[at, whole]


def _blocked_words(skill: Skill) -> SkillFinding | None:
    found = scan(f"{skill.name}: {skill.description}", Purpose.SKILL)
    if found.verdict is not Verdict.BLOCK:
        return None
    return SkillFinding(SKILL_FILE, found.findings[0])


class _Page:
    """One index on its way: what fits into ``room`` characters. ``given``: names of skills that the job names."""

    def __init__(
        self, catalogue: _Catalogue, given: frozenset[str], records: Mapping[int, SkillRecord], room: int
    ) -> None:
        self._catalogue = catalogue
        self._given = given
        self._records = records
        self._room = room
        self._described: list[str] = []
        self._blocked: list[tuple[Skill, SkillFinding]] = []

    def made(self, order: Sequence[int]) -> SkillIndex:
        if _fit_all((self._line(at) for at in order), self._room):
            return self._result(self._describe(order, self._room)[0], [], 0)
        room = self._room - len(_said_of(_MOST))
        lines, others = self._describe(order, int(room * _DESCRIBED))
        more, names = _by_category(self._catalogue, others, room - sum(len(line) + 1 for line in lines))
        return self._result([*lines, *more], names, len(others) - len(names))

    def _describe(self, order: Sequence[int], room: int) -> tuple[list[str], Sequence[int]]:
        """Lines for the first of these, and those that there was no room for."""
        lines: list[str] = []
        for number, at in enumerate(order):
            line = self._line(at)
            if len(line) + 1 > room:
                return lines, order[number:]
            found = self._catalogue.blocked(at, whole=number < _SCREENED)
            if found is not None:
                self._blocked.append((self._catalogue.skills[at], found))
                continue
            room -= len(line) + 1
            self._described.append(self._catalogue.names[at])
            lines.append(line)
        return lines, ()

    def _line(self, at: int) -> str:
        skill, record = self._catalogue.skills[at], self._records.get(at, UNKNOWN)
        own = " (this job's)" if skill.name in self._given or skill.qualified in self._given else ""
        failing = f" (went badly in {record.against[0]} of {record.against[1]} runs)" if record.failing else ""
        return harmless(f"- {self._catalogue.names[at]}{own}{failing}: {self._catalogue.description(at)}")

    def _result(self, lines: Sequence[str], names: Sequence[str], left: int) -> SkillIndex:
        return SkillIndex(
            text=_block("\n".join(lines), _said_of(left)) if lines else "",
            described=tuple(self._described),
            named=tuple(names),
            left_out=left,
            blocked=tuple(self._blocked),
        )


def _fit_all(lines: Iterable[str], room: int) -> bool:
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return False
    return True


def _by_category(catalogue: _Catalogue, others: Sequence[int], room: int) -> tuple[list[str], list[str]]:
    """A line for each category of ``others``, the largest first; names go in by rank as long as there is room. Lines,
    and the names that they show. The numbers count all skills of a category, also those that are described above."""
    categories = {at: catalogue.skills[at].category for at in others}
    unnamed = Counter(categories.values())
    order = sorted(unnamed, key=lambda category: (-catalogue.sizes[category], category))
    room -= len(_others_line(len(order), len(others))) + 1
    heads: dict[str, str] = {}
    for category in order:
        head = _category_head(category, catalogue.sizes[category])
        reserve = len(head) + len(f", {unnamed[category]:,} more") + 1
        if room < reserve:
            break
        room -= reserve
        heads[category] = head
    shown: dict[str, list[str]] = defaultdict(list)
    for at, category in categories.items():
        name = catalogue.names[at]
        if len(name) + 2 <= room and category in heads:
            room -= len(name) + 2
            shown[category].append(name)
    lines = [_category_line(head, shown[category], unnamed[category]) for category, head in heads.items()]
    hidden = [category for category in order if category not in heads]
    if hidden:
        lines.append(_others_line(len(hidden), sum(unnamed[category] for category in hidden)))
    return lines, [name for category in heads for name in shown[category]]


def _category_head(category: str, count: int) -> str:
    return harmless(f"{one_line(category, _CATEGORY) or 'without a category'} ({count:,}): ")


def _category_line(head: str, names: Sequence[str], count: int) -> str:
    more = count - len(names)
    return head + ", ".join([*names, *([f"{more:,} more"] if more else [])])


def _others_line(categories: int, skills: int) -> str:
    return f"{categories:,} other categories with {skills:,} skills"


def _said_of(left: int) -> str:
    return f"\n{left:,} skills are not named here: skills_list finds them by what is to be done." if left else ""


def _block(lines: str, said: str) -> str:
    """The words around are ours, what is inside is what skills say of themselves."""
    return f"{_HEAD}\n{fence(lines, source='skills', kind=Fence.DATA)}{said}"

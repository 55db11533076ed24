"""``skills list show lint test log diff restore``: what the agent knows how to do, whether it works, how it was."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hermes_cron.cli import output, skill_shelf, skill_shipped, skill_state, skill_stats, skill_versions
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import NotFound, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_cron.domain.skill_use import SkillRecord
    from hermes_cron.experience.skill_screen import SkillFinding
    from hermes_cron.experience.skills import Skill, SkillLibrary
    from hermes_cron.models.playbook.program import Program
    from hermes_cron.shipped import Standing

app = typer.Typer(help="List, show, lint and test skills; their versions.", add_completion=False)
app.command("log", help="A skill's versions, newest first.")(skill_versions.versions)
app.command("diff", help="What a version changed; the newest without @V.")(skill_versions.difference)
app.command("restore", help="Bring a version back, or an archived skill; later edits by hand stay.")(
    skill_shelf.restore
)
app.command("pin", help="No run changes this skill from now on.")(skill_shelf.pin)
app.command("unpin", help="Runs may change this skill again.")(skill_shelf.unpin)
app.command("archive", help="Put a skill away; skills restore brings it back, byte for byte.")(skill_shelf.archive)
app.command("stats", help="Uses, views and changes of skills, and how runs ended that used them.")(skill_stats.stats)
app.command("reject", help="Take back what a run made of a skill; later edits stay.")(skill_shelf.reject)

HELP_ZH = {
    "List, show, lint and test skills; their versions.": "列出、查看、校验和测试技能；查看其版本。",
    **skill_versions.HELP_ZH,
    **skill_shelf.HELP_ZH,
    **skill_stats.HELP_ZH,
    "Skills by category; broken ones with file and line.": "按类别列出技能；损坏的附文件和行号。",
    "One skill: what it is for, its checks, its text.": "一个技能：用途、检查项和正文。",
    "Check skills against the standard and their playbooks; exit 2 on a fault.": (
        "按标准校验技能及其 playbook；有错则退出码 2。"
    ),
    "Run a skill's playbook now: every step, then the report. Changes nothing.": (
        "立即运行技能的 playbook：逐步显示，最后给出报告。不改动任何东西。"
    ),
    "Only those that came with hermes-cron.": "只列随程序附带的技能。",
    "Only what lies in the archive.": "只列已归档的技能。",
    "The skill's name, or category/name.": "技能名，或 类别/名称。",
    "A skill's name, its folder, or a folder of skills; all of the home's without it.": (
        "技能名、技能文件夹或技能总文件夹；省略则检查全部。"
    ),
    "The database to look at.": "要检查的数据库。",
}

_TEXTS = {
    "en": {
        "headers": ("NAME", "CATEGORY", "VERSION", "FROM", "USED", "PLAYBOOK", "DESCRIPTION"),
        "home": "home", "bundled": "bundled", "pinned": ", pinned", "none": "No skills.",
        "clean": "{n} skills, no faults", "faults": "{n} faults",
        "merged": "{old} was merged into {new}.",
        "show": ("category", "version", "from", "file", "hides", "playbook", "checks", "shipped"),
        "ambiguous": "name is not unique", "blocked": "blocked: {kind}, {place}",
        "which": "which database? {skill} looks at one", "no_playbook": "{skill} has no playbook to test",
        "no_engine": "{skill} has no playbook for {engine}",
        "started": "test  {skill}  on {where}", "host": "this host",
        "nothing_stored": "nothing was changed, stored or sent",
    },
    "zh": {
        "headers": ("名称", "类别", "版本", "来源", "使用", "PLAYBOOK", "说明"),
        "home": "主目录", "bundled": "附带", "pinned": "，已锁定", "none": "没有技能。",
        "clean": "{n} 个技能，无错误", "faults": "{n} 处错误",
        "merged": "{old} 已并入 {new}。",
        "show": ("类别", "版本", "来源", "文件", "遮盖", "playbook", "检查项", "附带版本"),
        "ambiguous": "名称不唯一", "blocked": "已拦截：{kind}，{place}",
        "which": "哪个数据库？{skill} 需要一个", "no_playbook": "{skill} 没有可测试的 playbook",
        "no_engine": "{skill} 没有适用于 {engine} 的 playbook",
        "started": "测试  {skill}  对象 {where}", "host": "本机", "nothing_stored": "未改动、未保存、未发送任何内容",
    },
}  # fmt: skip


@app.command("list", help="Skills by category; broken ones with file and line.")
def list_skills(
    bundled: bool = typer.Option(False, "--bundled", help="Only those that came with hermes-cron."),
    archived: bool = typer.Option(False, "--archived", help="Only what lies in the archive."),
) -> None:
    state = cli()
    if archived:
        skill_state.list_archived(state)
        return
    library = _library(state, bundled=bundled)
    known = _Known(state)
    if state.json:
        state.emit_json({"skills": [_as_json(library, skill, known) for skill in library.all()]})
        return
    rows = [_row(state, library, skill, known) for skill in library.all() if skill.fault is None]
    text = _TEXTS[state.lang]
    state.out(output.table(rows, text["headers"], max_columns=state.columns) if rows else str(text["none"]))
    for skill in library.all():
        if skill.fault is not None:
            state.out(f"{output.one_line(skill.name)}  BROKEN {output.one_line(skill.fault.message)}")
        elif library.duplicates(skill):
            state.note(f"{skill.qualified}: {text['ambiguous']}")
        for warning in (*skill.warnings, *known.newer(skill)):
            state.note(output.one_line(warning))
    if not bundled:
        skill_state.note_archived(state)


class _Known:
    """What is known of skills beside their files: what runs made of them, and whether newer ones are shipped."""

    def __init__(self, state: Cli) -> None:
        self._state = state
        self.records = skill_stats.known(state)
        self.standings = skill_shipped.standings(state)
        self.states = skill_state.States(state)

    def record(self, library: SkillLibrary, skill: Skill) -> SkillRecord:
        return skill_stats.of(library, self.records, skill)

    def standing(self, skill: Skill) -> Standing | None:
        """None for a skill that is no copy of a shipped one."""
        return None if skill.bundled else self.standings.get(skill.qualified)

    def newer(self, skill: Skill) -> Iterator[str]:
        """A sentence where a newer one is shipped."""
        standing = self.standing(skill)
        if standing is not None and (said := skill_shipped.said(self._state, skill, standing)) is not None:
            yield f"{skill.qualified}: {said}"


@app.command("show", help="One skill: what it is for, its checks, its text.")
def show(name: str = typer.Argument(..., help="The skill's name, or category/name.")) -> None:
    state = cli()
    library = _library(state)
    skill, known = library.get(name), _Known(state)
    if state.json:
        state.emit_json(
            {
                **_as_json(library, skill, known),
                **known.states.as_json(skill, known.record(library, skill)),
                "body": skill.body,
                "metadata": dict(skill.metadata),
            }
        )
        return
    text = _TEXTS[state.lang]
    labels = text["show"]
    checks = [f"{path.name}: {', '.join(step.id for step in _load(path).steps)}" for path in library.playbooks(skill)]
    playbooks = ", ".join(path.name for path in library.playbooks(skill))
    values = (
        skill.category, skill.version, _source(skill, state.lang), str(skill.path), str(skill.shadows or ""),
        playbooks, "\n".join(checks), "\n".join(known.newer(skill)),
    )  # fmt: skip
    if name not in (skill.name, skill.qualified):
        state.out(str(text["merged"]).format(old=output.one_line(name), new=skill.qualified))
    state.out(f"{skill.name}: {output.one_line(skill.description)}")
    found = library.blocked(skill)
    if found is not None:
        state.out(f"{_blocked(found, state.lang)}: {found.finding.excerpt}")
    pairs = [(label, value) for label, value in zip(labels, values, strict=True) if value]
    record = known.record(library, skill)
    state.out(output.facts([*pairs, *known.states.facts(skill, record), *skill_stats.facts(state, record)]))
    state.out()
    state.out(output.plain(skill.body.strip("\n")))


@app.command("lint", help="Check skills against the standard and their playbooks; exit 2 on a fault.")
def lint(
    target: str = typer.Argument(
        None,
        metavar="[PATH|NAME]",
        help="A skill's name, its folder, or a folder of skills; all of the home's without it.",
    ),
) -> None:
    from hermes_cron.experience.skill_lint import lint as faults_of
    from hermes_cron.experience.skill_lint import skill_folders

    state = cli()
    paths = _lint_paths(state, target)
    faults = [fault for path in paths for fault in faults_of(path, _check)]
    if state.json:
        state.emit_json({"faults": [{"path": str(f.path), "line": f.line, "message": f.message} for f in faults]})
    else:
        for fault in faults:
            state.out(output.one_line(str(fault)))
        count = len(faults) or sum(len(skill_folders(path)) for path in paths)
        state.note(str(_TEXTS[state.lang]["faults" if faults else "clean"]).format(n=count))
    if faults:
        raise typer.Exit(2)


@app.command("test", help="Run a skill's playbook now: every step, then the report. Changes nothing.")
def rehearse_skill(
    name: str = typer.Argument(..., help="The skill's name, or category/name."),
    db: str = typer.Option(None, "--db", help="The database to look at."),
) -> None:
    from hermes_cron.cli.progress import Progress
    from hermes_cron.models.playbook.inputs import Inputs
    from hermes_cron.rehearsal import rehearse

    state = cli()
    text = _TEXTS[state.lang]
    library = _library(state)
    skill = library.get(name)
    program, database, engine = _program(state, library, skill, db)
    inputs = Inputs(
        skill=skill.name, program=program, language=state.lang, database=database, engine=engine,
        zone=state.settings.timezone, now=state.clock.now(),
    )  # fmt: skip
    state.note(str(text["started"]).format(skill=skill.name, where=database or text["host"]))
    began = time.monotonic()
    result = rehearse(
        inputs, databases=state.app.databases if database else None, home=state.home, clock=state.clock,
        emit=Progress(state).emit,
    )  # fmt: skip
    if state.json:
        import json

        state.emit_json({"skill": skill.name, "text": result.text, "result": json.loads(result.state_json or "null")})
        return
    state.out(output.plain(result.text))
    state.note(f"{time.monotonic() - began:.1f} s, {text['nothing_stored']}")


def _program(state: Cli, library: SkillLibrary, skill: Skill, db: str | None) -> tuple[Program, str | None, str | None]:
    """The playbook for the database's engine, that database and engine."""
    text = _TEXTS[state.lang]
    if db is None and library.playbook(skill) is not None:
        path = library.playbook(skill)
        assert path is not None  # noqa: S101
        program = _load(path)
        if program.needs.engine is None and "sql_query" not in program.tools():
            return program, None, None
    files = library.playbooks(skill)
    if not files:
        raise NotFound(str(text["no_playbook"]).format(skill=skill.name), hint="docs/formats/playbook.md")
    known = sorted(state.settings.databases)
    if db is None and len(known) != 1:
        hint = f"--db {' | '.join(known)}" if known else "hermes-cron db add prod"
        raise Usage(str(text["which"]).format(skill=skill.name), hint=hint)
    database = db or known[0]
    engine = state.app.databases.engine(database)
    path = library.playbook(skill, engine)
    if path is None:
        raise NotFound(str(text["no_engine"]).format(skill=skill.name, engine=engine), hint="docs/formats/playbook.md")
    return _load(path), database, engine


def _load(path: Path) -> Program:
    from hermes_cron.models.playbook.load import load

    return load(path)


def _check(path: Path, shown: str) -> None:
    from hermes_cron.models.playbook.load import load

    load(path, shown=shown)


def _library(state: Cli, *, bundled: bool = False) -> SkillLibrary:
    from hermes_cron.experience.skills import Root, SkillLibrary
    from hermes_cron.shipped import folder

    roots = []
    if not bundled and state.home_path.is_home():
        roots.append(Root(path=state.home.skills))
    shipped = folder("skills")
    if isinstance(shipped, Path):
        roots.append(Root(path=shipped, bundled=True))
    return SkillLibrary(roots)


def _lint_paths(state: Cli, target: str | None) -> list[Path]:
    if target is None:
        return [state.home.skills]
    path = Path(target).expanduser()
    if path.exists():
        return [path]
    for skill in _library(state).all():  # a broken skill has a folder too
        if target in (skill.name, skill.qualified):
            return [skill.folder]
    return [_library(state).get(target).folder]


def _row(state: Cli, library: SkillLibrary, skill: Skill, known: _Known) -> tuple[str, ...]:
    engines = [
        path.name.removeprefix("playbook").removesuffix(".yaml").lstrip(".") for path in library.playbooks(skill)
    ]
    playbook = ", ".join(engine or "yes" for engine in engines)
    name = skill.qualified if library.duplicates(skill) else skill.name
    record = known.record(library, skill)
    source = _source(skill, state.lang) + known.states.suffix(skill, record)
    found = library.blocked(skill)
    said = _summary(skill.description, state.lang) if found is None else _blocked(found, state.lang)
    used = skill_stats.brief(record)
    return name, skill.category, skill.version, source, used, playbook, said


def _source(skill: Skill, language: str) -> str:
    text = _TEXTS[language]
    return f"{text['bundled' if skill.bundled else 'home']}{text['pinned'] if skill.pinned else ''}"


def _blocked(found: SkillFinding, language: str) -> str:
    """Such a skill is in no prompt and drives no run."""
    return str(_TEXTS[language]["blocked"]).format(kind=found.finding.kind.words, place=output.one_line(found.place))


_FIRST_CHINESE = re.compile(r"[\u3400-\u9fff][^。]*。?")


def _summary(description: str, language: str) -> str:
    """The first sentence; the first Chinese one for who reads Chinese, if there is one."""
    chinese = _FIRST_CHINESE.search(description) if language == "zh" else None
    return chinese.group() if chinese else re.split(r"(?<=[.。]) |(?<=。)", description, maxsplit=1)[0]


def _finding_json(library: SkillLibrary, skill: Skill) -> dict[str, Any] | None:
    found = None if skill.fault is not None else library.blocked(skill)
    if found is None:
        return None
    return {"class": found.finding.kind, "file": found.file, "line": found.finding.line}


def _as_json(library: SkillLibrary, skill: Skill, known: _Known) -> dict[str, Any]:
    return {
        "name": skill.name, "qualified": skill.qualified, "category": skill.category, "version": skill.version,
        "description": skill.description, "bundled": skill.bundled, "pinned": skill.pinned, "path": str(skill.path),
        "playbooks": [path.name for path in library.playbooks(skill)],
        "ambiguous": bool(skill.fault is None and library.duplicates(skill)),
        "shadows": str(skill.shadows) if skill.shadows else None,
        "broken": None if skill.fault is None else {"code": skill.fault.code, "message": skill.fault.message},
        "blocked": _finding_json(library, skill),
        "shipped": known.standing(skill),
        "state": known.states.of(skill, known.record(library, skill)),
        "usage": skill_stats.as_json(known.record(library, skill)),
        "warnings": [*skill.warnings, *known.newer(skill)],
    }  # fmt: skip

"""``memory list show add replace remove consolidate lint log``: what later runs will know, and who wrote it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hermes_cron.cli import log, output, snapshot_words
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.snapshot_words import bearing
from hermes_cron.errors import MemoryFull, SnapshotFailed

if TYPE_CHECKING:
    from hermes_cron.desks.memory import Done
    from hermes_cron.desks.memory_lost import Lost
    from hermes_cron.domain.job import Scalar
    from hermes_cron.domain.scan import Finding
    from hermes_cron.experience.memory import Operation, Target
    from hermes_cron.experience.memory_block import Kept
    from hermes_cron.experience.memory_lint import Remark
    from hermes_cron.snapshots.blame import Line
    from hermes_cron.store.runs import Start

app = typer.Typer(help="Facts that later runs know: list, add, replace, remove.", add_completion=False)

HELP_ZH = {
    "Facts that later runs know: list, add, replace, remove.": "以后的运行会知道的事实：列出、添加、替换、删除。",
    "Every entry, with how full the files are.": "全部条目，以及两个文件的用量。",
    "What a run's prompt has of it; with PART one entry, and who wrote it.": (
        "运行的提示词里会有的内容；给出 PART 则显示一个条目及其作者。"
    ),
    "Add an entry: one fact.": "添加一个条目：一条事实。",
    "Put another text in an entry's place.": "用新文字替换一个条目。",
    "Take an entry away; the history keeps it.": "删除一个条目；历史中仍保留。",
    "Orders, ways of working, repetitions, attacks; exit 2 where one must go.": (
        "检查命令句、操作步骤、重复和攻击性文字；有必须处理的则退出码 2。"
    ),
    "The files' versions, newest first.": "两个文件的各个版本，新的在前。",
    "The entry; - reads it from standard input.": "条目内容；- 表示从标准输入读取。",
    "A part of the entry that no other has.": "该条目独有的一段文字。",
    "Which file: memory (environment, conventions) or user (what the person likes).": (
        "哪个文件：memory（环境、惯例）或 user（用户偏好）。"
    ),
    "Only this file.": "只看此文件。",
    "Instead: which second memory may stand beside the files.": "改为列出可以与文件并用的第二记忆。",
    "At most so many, newest first.": "最多条数，新的在前。",
    "Tidy it now: what is said twice is merged, what has ended is dropped.": "立即整理：合并重复的，删除已过期的。",
    "Say what would be done; change nothing.": "只说明会做什么，不改动。",
}

_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "used": "{used:,} of {limit:,} characters, {percent} % full",
        "none": "no entry yet",
        "unread": "cannot be read: {fault}",
        "lost": "a save by hand took this away soon after it was written: {entry}",
        "back": "bring it back: {command}     see: hermes-cron memory log",
        "nothing": "A run's prompt has nothing of it: there is no entry.",
        "left_out": "left out of the prompt, {kind}: {place}",
        "at": "place", "wrote": "written", "why": "why", "snapshot": "snapshot", "unkept": "not in a snapshot yet",
        "add": "Added to {file}", "replace": "Replaced in {file}", "remove": "Removed from {file}",
        "same": "{file} is as it was", "undo": "undo: hermes-cron undo {id}",
        "there": "this very entry is there already",
        "order": "an order, not a fact; later runs read it as a command",
        "fact": "as a fact", "change": "change it",
        "method": "a way of working: it belongs into a skill (docs/formats/skills.md)",
        "duplicate": "the same as: {other}", "alike": "nearly the same as: {other}",
        "scanned": "{kind}: {excerpt}",
        "over": "longer than {limit:,} characters: nothing can be added, and the prompt has only its beginning",
        "secret": "a secret, or what looks like one: hermes-cron secrets set NAME, and write secret:NAME",
        "clean": "nothing to remark", "warning": "warning", "colon": ": ",
        "always": "always on", "built_in": "MEMORY.md and USER.md, in every prompt", "active": "active",
        "lacks": "lacks {what}", "interface": "a package may bring one more (entry point hermes_cron.memory, {name})",
        "choose": "one at a time: hermes-cron config set memory.provider NAME     off: NAME none",
    },
    "zh": {
        "used": "{used:,} / {limit:,} 个字符，已用 {percent}%",
        "none": "还没有条目",
        "unread": "无法读取：{fault}",
        "lost": "此条目写入不久就被手动保存覆盖：{entry}",
        "back": "恢复：{command}     查看：hermes-cron memory log",
        "nothing": "没有条目，运行的提示词中没有记忆。",
        "left_out": "未放入提示词，{kind}：{place}",
        "at": "位置", "wrote": "写入", "why": "原因", "snapshot": "快照", "unkept": "尚未进入快照",
        "add": "已添加到 {file}", "replace": "已替换 {file} 中的条目", "remove": "已从 {file} 删除",
        "same": "{file} 没有变化", "undo": "撤销：hermes-cron undo {id}",
        "there": "已有完全相同的条目",
        "order": "这是命令而不是事实；以后的运行会把它当作指令",
        "fact": "写成事实", "change": "修改",
        "method": "这是操作方法，应写成技能（docs/formats/skills.md）",
        "duplicate": "与此相同：{other}", "alike": "与此几乎相同：{other}",
        "scanned": "{kind}：{excerpt}",
        "over": "超过 {limit:,} 个字符：不能再添加，提示词中只有开头部分",
        "secret": "密钥或疑似密钥：hermes-cron secrets set NAME，然后写 secret:NAME",
        "clean": "没有问题", "warning": "警告", "colon": "：",
        "always": "始终启用", "built_in": "MEMORY.md 与 USER.md，在每个提示词中", "active": "使用中",
        "lacks": "缺少 {what}", "interface": "安装包可以再提供一个（入口点 hermes_cron.memory，{name}）",
        "choose": "每次只能用一个：hermes-cron config set memory.provider 名称     关闭：名称写 none",
    },
}  # fmt: skip
_PROVIDERS = {"en": ("MEMORY", "STATE", "WHAT"), "zh": ("记忆", "状态", "说明")}
_INTERFACE = "hermes_cron.ports.ExternalMemory"
_SHORT = 60


class Which(StrEnum):
    """The files, known without reading them: help imports nothing of the memory."""

    MEMORY = "memory"
    USER = "user"


Text = Annotated[str, typer.Argument(metavar="TEXT|-", help="The entry; - reads it from standard input.")]
Part = Annotated[str, typer.Argument(metavar="PART", help="A part of the entry that no other has.")]
Into = Annotated[
    Which,
    typer.Option("--target", help="Which file: memory (environment, conventions) or user (what the person likes)."),
]
Only = Annotated[Which | None, typer.Option("--target", help="Only this file.")]


# --- looking ----------------------------------------------------------------------------------------------------------


@app.command("list", help="Every entry, with how full the files are.")
def list_entries(
    target: Only = None,
    providers: Annotated[
        bool, typer.Option("--providers", help="Instead: which second memory may stand beside the files.")
    ] = False,
) -> None:
    state = bearing()
    if providers:
        _providers(state)
        return
    desk = state.app.memory
    files = [desk.kept(each) for each in _targets(target)]
    lost = {kept.target: _lost(state, kept) for kept in files}
    if state.json:
        state.emit_json(
            {
                kept.target.value: {
                    **_kept_json(state, kept),
                    "lost": [
                        {"entry": _shown(it.entry, state), "snapshot": it.snapshot, "at": it.at}
                        for it in lost[kept.target]
                    ],
                }
                for kept in files
            }
        )
        return
    texts = _TEXTS[state.lang]
    for kept in files:
        for line in _listed(kept, state):
            state.out(line)
        for it in lost[kept.target]:
            entry = _shown(it.entry, state)
            state.note(texts["lost"].format(entry=output.one_line(entry)))
            command = _command("add", entry, to=None if kept.target.value == Which.MEMORY else kept.target)
            state.note(texts["back"].format(command=command))


def _lost(state: Cli, kept: Kept) -> tuple[Lost, ...]:
    """A history that cannot be read hides no entry."""
    if kept.fault is not None:
        return ()
    try:
        return state.app.memory.lost(kept.target)
    except SnapshotFailed as error:
        state.note(error.message)
        return ()


def _providers(state: Cli) -> None:
    desk, texts = state.app.recall, _TEXTS[state.lang]
    known, active = desk.providers(), desk.active
    if state.json:
        facts = [{"name": it.name, "about": it.about, "lacks": it.lacks, "active": it.name == active} for it in known]
        state.emit_json({"interface": _INTERFACE, "built_in": True, "active": active, "providers": facts})
        return
    rows = [("files", texts["always"], texts["built_in"])]
    for it in known:
        how = texts["active"] if it.name == active else "" if it.lacks is None else texts["lacks"].format(what=it.lacks)
        rows.append((it.name, how, it.about))
    state.out(output.table(rows, _PROVIDERS[state.lang], max_columns=state.columns, give=(2,)))
    state.note(texts["interface"].format(name=_INTERFACE))
    state.note(texts["choose"])


def _listed(kept: Kept, state: Cli) -> Iterator[str]:
    texts = _TEXTS[state.lang]
    yield f"{kept.target.file}  {_used(kept, state)}"
    if kept.fault is None and not kept.entries:
        yield f"  -  {texts['none']}"
    for at, entry in enumerate(kept.entries, start=1):
        line = f"{at:>3}  {output.one_line(_shown(entry.text, state))}"
        yield line if state.columns is None else output.cut(line, state.columns)


def _used(kept: Kept, state: Cli) -> str:
    texts = _TEXTS[state.lang]
    if kept.fault is not None:
        return texts["unread"].format(fault=output.one_line(kept.fault))
    used = kept.memory.characters
    return texts["used"].format(used=used, limit=kept.limit, percent=100 * used // kept.limit)


def _kept_json(state: Cli, kept: Kept) -> dict[str, Any]:
    memory = kept.memory
    return {
        "file": kept.target.path,
        "usage": memory.usage,
        "characters": memory.characters,
        "limit": kept.limit,
        "fault": kept.fault,
        "entries": [_shown(entry, state) for entry in memory.entries],
    }


@app.command("show", help="What a run's prompt has of it; with PART one entry, and who wrote it.")
def show(
    part: Annotated[str | None, typer.Argument(metavar="[PART]", help="A part of the entry that no other has.")] = None,
    target: Only = None,
) -> None:
    state = bearing()
    if part is not None:
        _one(state, part, target)
        return
    from hermes_cron.domain.learning import MemoryMode

    block = state.app.memory.block(MemoryMode.READ_WRITE)
    if state.json:
        left_out = [{"place": each.place, "class": each.finding.kind} for each in block.left_out]
        state.emit_json({"prompt": state.app.redact(block.text), "left_out": left_out})
        return
    texts = _TEXTS[state.lang]
    state.out(output.plain(state.app.redact(block.text)) or texts["nothing"])
    for each in block.left_out:
        state.note(texts["left_out"].format(kind=each.finding.kind.words, place=each.place))


def _one(state: Cli, part: str, which: Which | None) -> None:
    target, entry = state.app.memory.find(part, _targets(which))
    line = next(each.line for each in state.app.memory.kept(target).entries if each.text == entry)
    origin = _origin(state, target, entry)
    if state.json:
        wrote = None if origin is None else snapshot_words.as_json(origin.commit)
        state.emit_json({"file": target.path, "line": line, "entry": _shown(entry, state), "written": wrote})
        return
    texts = _TEXTS[state.lang]
    state.out(output.plain(_shown(entry, state)))
    facts = [(texts["at"], f"{target.path}:{line}")]
    if origin is None:
        facts.append((texts["wrote"], texts["unkept"]))
    else:
        commit = origin.commit
        who = snapshot_words.who(commit, state.lang)
        facts += [
            (texts["wrote"], f"{snapshot_words.at(state, commit.at)}, {who}{f', {commit.run}' if commit.run else ''}"),
            (texts["why"], commit.reason),
            (texts["snapshot"], snapshot_words.short(commit)),
        ]
    state.out(output.facts(facts))


def _origin(state: Cli, target: Target, entry: str) -> Line | None:
    """The entry's newest line in the newest snapshot; None where that has no such entry."""
    from hermes_cron.errors import NotFound

    try:
        lines = state.app.history.blame(target.path)
    except NotFound:
        return None
    wanted = {line.strip() for line in entry.splitlines() if line.strip()}
    found = [line for line in lines if line.text.strip() in wanted]
    return max(found, key=lambda line: line.commit.at, default=None)


@app.command("log", help="The files' versions, newest first.")
def versions(
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 20,
) -> None:
    state = bearing()
    log.told(state, state.app.history.part("memory"), limit=limit)


# --- writing ----------------------------------------------------------------------------------------------------------


@app.command("add", help="Add an entry: one fact.")
def add(text: Text, target: Into = Which.MEMORY) -> None:
    from hermes_cron.experience.memory import Action, Operation, Target

    state = cli()
    _carried_out(state, Target(target.value), Operation(action=Action.ADD, content=_typed(text)))


@app.command("replace", help="Put another text in an entry's place.")
def replace(part: Part, text: Text, target: Only = None) -> None:
    from hermes_cron.experience.memory import Action, Operation

    state = cli()
    found, entry = state.app.memory.find(part, _targets(target))
    _carried_out(state, found, Operation(action=Action.REPLACE, part=entry, content=_typed(text)))


@app.command("remove", help="Take an entry away; the history keeps it.")
def remove(part: Part, target: Only = None) -> None:
    from hermes_cron.experience.memory import Action, Operation

    state = cli()
    found, entry = state.app.memory.find(part, _targets(target))
    _carried_out(state, found, Operation(action=Action.REMOVE, part=entry))


def _typed(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _carried_out(state: Cli, target: Target, operation: Operation) -> None:
    try:
        done = state.app.memory.carry_out(target, [operation])
    except MemoryFull as error:
        details = {"usage": error.details["usage"]}
        if state.json:
            details["current_entries"] = [_shown(entry.text, state) for entry in state.app.memory.kept(target).entries]
        else:
            for line in _listed(state.app.memory.kept(target), state):  # each on a line of its own
                state.note(line)
        raise MemoryFull(error.message, hint=error.hint, details=details) from error
    if state.json:
        state.emit_json(_done_json(state, target, done))
        return
    texts = _TEXTS[state.lang]
    kept = state.app.memory.kept(target)
    said = texts[operation.action.value] if done.planned.lines else texts["same"]
    state.out(f"{said.format(file=target.file)}: {_used(kept, state)}")
    if not done.planned.lines or state.lang == "en":
        for note in done.planned.notes:
            state.note(note if state.lang == "en" else texts["there"])
    for line in _warned(state, target, operation.content.strip(), done):
        state.note(line)
    for lost in done.lost:
        state.note(texts["lost"].format(entry=lost))
    if done.snapshot is not None:
        state.note(texts["undo"].format(id=snapshot_words.short(done.snapshot)))


def _warned(state: Cli, target: Target, entry: str, done: Done) -> Iterator[str]:
    texts = _TEXTS[state.lang]
    for remark in done.remarks:
        yield f"{texts['warning']}{texts['colon']}{_said(state, remark)}"
        if remark.suggestion is not None:
            command = _replacing(state, target, entry, remark.suggestion)
            yield output.facts([(texts["fact"], output.one_line(remark.suggestion)), (texts["change"], command)])
    for found in done.warnings:
        said = texts["scanned"].format(kind=found.kind.words, excerpt=found.excerpt)
        yield f"{texts['warning']}{texts['colon']}{said}"


def _replacing(state: Cli, target: Target, entry: str, fact: str) -> str:
    """The command, with as little of the entry as names it and no other."""
    first = entry.split("\n", 1)[0]
    short = first if len(first) <= _SHORT else first[:_SHORT].rsplit(" ", 1)[0]
    for part in (short, first, entry):
        if _names(state, part, target, entry):
            return _command("replace", part, fact)
    return _command("replace", entry, fact, to=target)


def _names(state: Cli, part: str, target: Target, entry: str) -> bool:
    from hermes_cron.errors import NameAmbiguous, NotFound

    try:
        return state.app.memory.find(part, _targets(None)) == (target, entry)
    except (NameAmbiguous, NotFound):
        return False


def _command(verb: str, *words: str, to: Target | None = None) -> str:
    """As it may be copied into a shell: one line, whatever an entry holds and begins with."""
    into = [] if to is None else ["--target", to.value]
    dashes = ["--"] if any(word.startswith("-") for word in words) else []
    return " ".join(["hermes-cron memory", verb, *into, *dashes, *map(_word, words)])


def _word(text: str) -> str:
    if text.isprintable():
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(it if it.isprintable() else f"\\U{ord(it):08x}" for it in plain) + "'"


def _said(state: Cli, remark: Remark) -> str:
    other = "" if remark.other is None else output.cut(output.one_line(_shown(remark.other, state)), _SHORT)
    return _TEXTS[state.lang][remark.fault.value].format(other=other)


def _done_json(state: Cli, target: Target, done: Done) -> dict[str, Any]:
    return {
        "target": target.value,
        **_kept_json(state, state.app.memory.kept(target)),
        "changed": bool(done.planned.lines),
        "lines": list(done.planned.lines),
        "notes": list(done.planned.notes),
        "archived": [_shown(entry, state) for entry in done.planned.archived],
        "warnings": [*map(_remark_json, done.remarks), *map(_finding_json, done.warnings)],
        "lost": list(done.lost),
        "snapshot": done.snapshot,
    }


# --- consolidating ----------------------------------------------------------------------------------------------------


@app.command("consolidate", help="Tidy it now: what is said twice is merged, what has ended is dropped.")
def consolidate(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")] = False,
) -> None:
    from hermes_cron.cli.run import foreground

    state = cli()
    raise typer.Exit(foreground(state, _start(state, dry_run=dry_run)))


def _start(state: Cli, *, dry_run: bool) -> Start:
    """A run of the job that consolidates; of several the one that is called as ours is. A broken file is no job."""
    from hermes_cron.cli import jobs_known
    from hermes_cron.desks.consolidation import JOB
    from hermes_cron.store.runs import Start

    arguments: dict[str, Scalar] = {"dry_run": True} if dry_run else {}
    known = jobs_known.current(state).listed
    found = [it for it in known if it.summary.get("action") == "consolidate" and not it.broken]
    if not found:
        return Start(job=state.app.consolidation.job(), job_uid=None, actor="cli", arguments=arguments)
    chosen = min(found, key=lambda it: (it.name != JOB, it.name))
    return Start(job=state.app.runs.job(chosen.uid), job_uid=chosen.uid, actor="cli", arguments=arguments)


# --- lint -------------------------------------------------------------------------------------------------------------


@app.command("lint", help="Orders, ways of working, repetitions, attacks; exit 2 where one must go.")
def lint(target: Only = None) -> int:
    state = bearing()
    found = [each for file in _targets(target) for each in _linted(state, file)]
    if state.json:
        state.emit_json({"remarks": found})
    elif not found:
        state.out(_TEXTS[state.lang]["clean"])
    else:
        for each in found:
            for line in _lint_lines(each, state):
                state.out(line)
    return 2 if any(each["level"] == "error" for each in found) else 0


def _linted(state: Cli, target: Target) -> Iterator[dict[str, Any]]:
    from hermes_cron.domain.scan import Finding, Verdict
    from hermes_cron.experience.memory_lint import Fault

    texts = _TEXTS[state.lang]
    kept = state.app.memory.kept(target)
    whole = {"file": target.path, "line": None, "entry": None, "suggestion": None, "level": "error"}
    if kept.fault is not None:
        yield {**whole, "kind": "unreadable", "message": texts["unread"].format(fault=kept.fault)}
    elif kept.memory.characters > kept.limit:
        yield {**whole, "kind": "over_limit", "message": texts["over"].format(limit=kept.limit)}
    secret = {entry.text for entry in kept.entries if state.app.memory.secret(entry.text)}
    for entry in kept.entries:
        if entry.text in secret:
            shown = {"file": target.path, "line": entry.line, "entry": _shown(entry.text, state)}
            yield {**shown, "kind": "secret", "message": texts["secret"], "suggestion": None, "level": "error"}
    for line, text, each in state.app.memory.lint(target):
        place = {"file": target.path, "line": line, "entry": _shown(text, state)}
        if isinstance(each, Finding):
            error = each.verdict is Verdict.BLOCK
            message = texts["scanned"].format(kind=each.kind.words, excerpt=each.excerpt)
            facts: dict[str, str | None] = {"kind": each.kind.value, "message": message, "suggestion": None}
        else:
            error = each.refused or each.fault is Fault.DUPLICATE
            facts = {"kind": each.fault.value, "message": _said(state, each)}
            facts["suggestion"] = None if text in secret else each.suggestion
        yield {**place, **facts, "level": "error" if error else "warning"}


def _lint_lines(found: dict[str, Any], state: Cli) -> Iterator[str]:
    texts = _TEXTS[state.lang]
    place = found["file"] if found["line"] is None else f"{found['file']}:{found['line']}"
    entry = "" if found["entry"] is None else f"  {output.cut(output.one_line(found['entry']), _SHORT)}"
    level = f"{texts['warning']}{texts['colon']}" if found["level"] == "warning" else ""
    yield f"{place}  {level}{output.one_line(found['message'])}{entry}"
    if found["suggestion"]:
        target = next(each for each in _targets(None) if each.path == found["file"])
        command = _replacing(state, target, found["entry"], found["suggestion"])
        yield output.facts([(texts["change"], command)])


# --- both -------------------------------------------------------------------------------------------------------------


def _targets(which: Which | None) -> Sequence[Target]:
    from hermes_cron.experience.memory import Target

    return tuple(Target) if which is None else (Target(which.value),)


def _shown(entry: str, state: Cli) -> str:
    """As a prompt has it, too: bytes that are no text and secrets are not printed."""
    from hermes_cron.experience.memory import shown

    return state.app.redact(shown(entry))


def _remark_json(remark: Remark) -> dict[str, Any]:
    return {
        "kind": remark.fault.value,
        "message": remark.message,
        "suggestion": remark.suggestion,
        "other": remark.other,
    }


def _finding_json(found: Finding) -> dict[str, Any]:
    return {"kind": found.kind.value, "message": found.excerpt, "suggestion": None, "other": None}

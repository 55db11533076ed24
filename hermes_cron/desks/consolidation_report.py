"""What did a consolidation do, in words for people and as JSON for programs?

``outputs/JOB/RUN.json`` is written with the history's lock held, before the change is made, and again when all is done:
a run that is gone on with knows what it changed. ``RUN.md``, beside it, says the same to people. Its counts are those
of the difference: entries before are kept, merged or dropped; entries after are kept or written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_cron import files
from hermes_cron.domain.clip import one_line
from hermes_cron.experience.consolidation import Done, Step
from hermes_cron.experience.consolidation_guard import Refusal
from hermes_cron.experience.facts import Kind
from hermes_cron.experience.memory import shown

if TYPE_CHECKING:
    from hermes_cron.home import Home

SHORT = 7
"""Digits of a snapshot's id on a screen."""

_ENTRY = 160
_COUNTS = ("kept", "merged", "dropped", "written")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model came to: ``state`` is ``answered``, ``none`` (there is no model), ``unchanged`` (since it was last
    asked), ``little`` (nothing to tidy) or ``failed``; ``why`` is one line."""

    state: str
    name: str | None = None
    why: str = ""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What stands in a report beside what was done to the files."""

    run: str
    job: str
    at: str
    dry: bool
    said: Said
    faults: Mapping[str, str] = field(default_factory=dict)
    look: tuple[tuple[str, str], ...] = ()


Record = dict[str, Any]
"""The JSON."""


def record(facts: Facts, done: Sequence[Done], state: str) -> Record:
    """``state``: ``planned`` or ``done``."""
    counts = {name: sum(getattr(each, name) for each in done) for name in _COUNTS}
    refused = facts.said.refused
    return {
        "run": facts.run, "job": facts.job, "at": facts.at, "state": state, "dry": facts.dry,
        "before": None, "after": None,
        "counts": {**counts, "refused": len(refused), "proposed": 0},
        "files": {each.target.file: _file(each) for each in done},
        "faults": dict(facts.faults),
        "refused": [
            {"entries": [shown(source) for source in it.sources], "fault": it.fault.value, "detail": it.detail}
            for it in refused
        ],
        "look": [{"file": file, "entry": shown(entry)} for file, entry in facts.look],
        "proposed": [],
        "model": {"state": facts.said.state, "name": facts.said.name, "why": facts.said.why},
    }  # fmt: skip


def _file(done: Done) -> Record:
    from hermes_cron.domain.entries import size

    return {
        "entries_before": len(done.before), "entries_after": len(done.after),
        "characters": size(done.after), "limit": done.limit,
        **{name: getattr(done, name) for name in _COUNTS},
        "steps": [_step(step) for step in done.steps],
        "lines": list(done.lines),
    }  # fmt: skip


def _step(step: Step) -> Record:
    return {
        "why": step.why.value,
        "kind": "merged" if step.why.merges else "dropped",
        "entries": [shown(source) for source in step.sources],
        "text": step.text,
        "by": None if step.by is None else shown(step.by),
        "day": None if step.day is None else step.day.isoformat(),
        "facts": [
            {"kind": left.fact.kind.value, "what": left.fact.text, "why": left.why.value, "by": left.by}
            for left in step.left
            if left.fact.kind is not Kind.NEGATION
        ],
    }


# --- the file ---------------------------------------------------------------------------------------------------------


def path_of(home: Home, job: str, run: str) -> Path:
    return home.outputs / job / f"{run}.json"


def keep(home: Home, found: Record, redact: Callable[[str], str]) -> None:
    """Raises ``DiskFull`` and its kin."""
    place = path_of(home, found["job"], found["run"])
    files.make_folder(place.parent)
    files.write_atomic(place, (redact(json.dumps(found, ensure_ascii=False, indent=2)) + "\n").encode())


def read(home: Home, job: str, run: str) -> Record | None:
    """None when there is none, or none that can be understood."""
    try:
        found = json.loads(path_of(home, job, run).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("run") == run and "files" in found else None


# --- for people -------------------------------------------------------------------------------------------------------

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "head": "Memory: {kept} kept, {merged} merged, {dropped} dropped, {written} written.",
        "head_dry": "Memory, a dry run: {kept} would be kept, {merged} merged, {dropped} dropped, {written} written.",
        "file": "{file}: {entries_before} -> {entries_after} entries, {characters:,} of {limit:,} characters",
        "fault": "{file} was left alone: {why}",
        "duplicate": "merged, the same as another: {entry}",
        "near_duplicate": "merged, another says it: {entry}  ->  {by}",
        "rewritten": "merged: {entry}", "into": "into: {text}",
        "expired": "dropped, it held until {day}: {entry}",
        "superseded": "dropped, superseded: {entry}  ->  {by}",
        "moved_to_skill": "dropped, the skill {by} says it: {entry}",
        "no_room": "dropped, no room; it lies in the archive beside the file: {entry}",
        "left_expired": "not said any more: {what}, expired",
        "left_superseded": "not said any more: {what}, superseded by {by}",
        "refused": "left as they are, the model's text for them was refused ({n}):",
        "lost": "would lose {detail}", "invented": "makes up {detail}", "mixed_up": "says {detail} of something else",
        "longer": "is longer than what it stands for ({detail} characters)",
        "words": "leaves out most of what an entry says", "order": "gives an order, where facts stood",
        "unfit": "{detail}", "same": "changes nothing", "form": "not understood: {detail}",
        "look": "a part of it has ended; change it, or leave it to a model: {entry}",
        "proposed": "a way of working; as a skill ({skill})? hermes-cron approve {approval}: {entry}",
        "proposed_dry": "a way of working; would be proposed as a skill ({skill}): {entry}",
        "answered": "asked: {name}", "none": "no model was asked: none is configured",
        "unchanged": "no model was asked: the memory is as it was when one was asked last",
        "little": "no model was asked: there is nothing to merge",
        "failed": "the model ({name}) was of no use: {why}. What needs no model was done.",
        "undo": "undo all: hermes-cron undo {id}     what went: hermes-cron memory log",
        "dry": "nothing was changed", "none_entry": "(entries that there are not)",
    },
    "zh": {
        "head": "记忆：保留 {kept} 条，合并 {merged} 条，删除 {dropped} 条，新写 {written} 条。",
        "head_dry": "记忆，试运行：将保留 {kept} 条，合并 {merged} 条，删除 {dropped} 条，新写 {written} 条。",
        "file": "{file}：{entries_before} -> {entries_after} 条，{characters:,} / {limit:,} 个字符",
        "fault": "{file} 未处理：{why}",
        "duplicate": "合并，与另一条相同：{entry}",
        "near_duplicate": "合并，另一条已说明：{entry}  ->  {by}",
        "rewritten": "合并：{entry}", "into": "成为：{text}",
        "expired": "删除，有效至 {day}：{entry}",
        "superseded": "删除，已被取代：{entry}  ->  {by}",
        "moved_to_skill": "删除，技能 {by} 已包含：{entry}",
        "no_room": "删除，没有空间；已放入旁边的归档文件：{entry}",
        "left_expired": "不再记录：{what}，已过期",
        "left_superseded": "不再记录：{what}，已被 {by} 取代",
        "refused": "保持原样，模型给出的文字被拒绝（{n}）：",
        "lost": "会丢失 {detail}", "invented": "凭空增加 {detail}", "mixed_up": "把 {detail} 用在了别处",
        "longer": "比原文更长（{detail} 个字符）",
        "words": "漏掉了条目的大部分内容", "order": "变成了命令，原文是事实",
        "unfit": "{detail}", "same": "没有变化", "form": "无法理解：{detail}",
        "look": "其中一部分已过期；请修改，或交给模型：{entry}",
        "proposed": "操作方法；改为技能（{skill}）？hermes-cron approve {approval}：{entry}",
        "proposed_dry": "操作方法；将提议改为技能（{skill}）：{entry}",
        "answered": "已询问：{name}", "none": "没有询问模型：未配置",
        "unchanged": "没有询问模型：记忆与上次询问时相同",
        "little": "没有询问模型：没有可合并的内容",
        "failed": "模型（{name}）没有帮上忙：{why}。不需要模型的部分已完成。",
        "undo": "全部撤销：hermes-cron undo {id}     去掉了什么：hermes-cron memory log",
        "dry": "没有改动", "none_entry": "（不存在的条目）",
    },
}  # fmt: skip


def moved(found: Record) -> bool:
    """Whether there is something to tell: what changed, or a file that cannot be read."""
    counts = found["counts"]
    return bool(found["faults"] or counts["merged"] or counts["dropped"] or counts["written"] or counts["proposed"])


def text(found: Record, lang: str) -> str:
    """The whole report."""
    return "\n".join(_lines(found, _TEXTS[lang]))


def _lines(found: Record, texts: Mapping[str, str]) -> Iterator[str]:
    yield texts["head_dry" if found["dry"] else "head"].format(**found["counts"])
    for file, facts in found["files"].items():
        if not facts["entries_before"]:
            continue
        yield ""
        yield texts["file"].format(file=file, **facts)
        for step in facts["steps"]:
            yield from _of_step(step, texts)
        yield from (f"  {_said(texts['look'], entry=it['entry'])}" for it in found["look"] if it["file"] == file)
    yield from (_said(texts["fault"], file=file, why=why) for file, why in found["faults"].items())
    if found["refused"]:
        yield ""
        yield texts["refused"].format(n=len(found["refused"]))
        yield from _refused(found["refused"], texts)
    if found["proposed"]:
        yield ""
        form = texts["proposed_dry" if found["dry"] else "proposed"]
        yield from (f"  {_said(form, **it)}" for it in found["proposed"])
    yield ""
    yield _said(texts[found["model"]["state"]], name=found["model"]["name"] or "", why=found["model"]["why"])
    if found["after"] is not None:
        yield texts["undo"].format(id=found["after"][:SHORT])
    elif found["dry"]:
        yield texts["dry"]


def _of_step(step: Record, texts: Mapping[str, str]) -> Iterator[str]:
    for entry in step["entries"]:
        yield f"  {_said(texts[step['why']], entry=entry, by=step['by'] or '', day=step['day'] or '')}"
    if step["text"] is not None:
        yield f"    {_said(texts['into'], text=step['text'])}"
    if step["kind"] == "merged":
        for it in step["facts"]:
            yield f"    {_said(texts['left_' + it['why']], what=it['what'], by=it['by'] or '')}"


def _refused(refused: Iterable[Record], texts: Mapping[str, str]) -> Iterator[str]:
    for it in refused:
        entries = " + ".join(it["entries"]) or texts["none_entry"]
        yield f"  {one_line(entries, _ENTRY)}"
        yield f"    {_said(texts[it['fault']], detail=it['detail'])}"


def _said(form: str, **values: str) -> str:
    return form.format(**{name: one_line(str(value), _ENTRY) for name, value in values.items()})

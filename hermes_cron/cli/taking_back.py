"""How is a restore or an undo done: shown first, asked, carried out, proved, and with the way back?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, snapshot_words, when
from hermes_cron.cli.context import Cli
from hermes_cron.cli.who import person
from hermes_cron.errors import Conflict, PersonNeeded

if TYPE_CHECKING:
    from hermes_cron.desks.history_plan import Done, Row, Task

_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "undo_run": "Will undo run {run} ({job}, {day}):",
        "undo": "Will undo {id} ({who}, {at}: {reason}):",
        "restore": "Will restore {id} ({who}, {at}: {reason}):",
        "restore_paths": "Will restore {paths} of {id} ({who}, {at}: {reason}):",
        "job": "job", "skill": "skill", "memory": "memory", "settings": "settings", "file": "file",
        "kept": "kept", "stays": "stays", "cannot": "cannot",
        "comes back": "{name} comes back", "comes back as": "{name} comes back as @{to}", "goes": "{name} goes",
        "versions": "{name} @{old} -> @{to}", "new_version": "{name} @{old} -> a new version, {counts}",
        "lines": "{name}: {counts}", "archived": "{name} in the archive",
        "edit_not_run": "your edit of {name} at {at} (not by the run)",
        "edit_since": "your edit of {name} at {at} (made since)",
        "message": "{n} message to {name}", "messages": "{n} messages to {name}",
        "call": "what {n} call of {name} did outside of the home",
        "calls": "what {n} calls of {name} did outside of the home",
        "more": "and {n} more: --json lists them",
        "go_on": "Go on?", "left": "Nothing was changed.",
        "nothing": "Nothing to do: the home is so already.",
        "only_kept": "Nothing to do but for your own edits since; --exact drops those too (they stay in the history).",
        "undone": "Undone.", "restored": "Restored {id}.",
        "snapshot": "snapshot", "proven": "proven", "take_back": "take it back",
        "proof": "{files} files, sha256 {sha256}",
    },
    "zh": {
        "undo_run": "将撤销运行 {run}（{job}，{day}）：",
        "undo": "将撤销 {id}（{who}，{at}：{reason}）：",
        "restore": "将恢复到 {id}（{who}，{at}：{reason}）：",
        "restore_paths": "将从 {id}（{who}，{at}：{reason}）恢复 {paths}：",
        "job": "任务", "skill": "技能", "memory": "记忆", "settings": "设置", "file": "文件",
        "kept": "保留", "stays": "不变", "cannot": "无法撤销",
        "comes back": "{name} 恢复", "comes back as": "{name} 恢复为 @{to}", "goes": "{name} 移除",
        "versions": "{name} @{old} -> @{to}", "new_version": "{name} @{old} -> 新版本，{counts}",
        "lines": "{name}: {counts}", "archived": "归档中的 {name}",
        "edit_not_run": "您于 {at} 对 {name} 的修改（不是该运行所做）",
        "edit_since": "您于 {at} 对 {name} 的修改（在此之后）",
        "message": "发往 {name} 的 {n} 条消息", "messages": "发往 {name} 的 {n} 条消息",
        "call": "{name} 的 {n} 次调用在主目录之外的影响", "calls": "{name} 的 {n} 次调用在主目录之外的影响",
        "more": "另有 {n} 项：--json 列出全部",
        "go_on": "继续？", "left": "没有改动。",
        "nothing": "无需改动：主目录已是如此。",
        "only_kept": "除您之后的修改外无需改动；--exact 连这些也去掉（历史中仍保留）。",
        "undone": "已撤销。", "restored": "已恢复到 {id}。",
        "snapshot": "快照", "proven": "已核实", "take_back": "反悔",
        "proof": "{files} 个文件，sha256 {sha256}",
    },
}  # fmt: skip

_ON_A_SCREEN = 30
_CONFLICTS = 3
"""Whose lines are shown; of all others the paths."""
_DIFF_LINES = 20


def done(state: Cli, task: Task, command: Sequence[str]) -> int:
    """Show, ask, do, prove. ``command`` are the words that were typed, for the hint. Raises ``Conflict`` with both
    versions, ``PersonNeeded`` with the plan where nobody can be asked."""
    texts = _TEXTS[state.lang]
    if task.clashes:
        raise _conflict(state, task, command)
    if not task.rows:
        return _nothing(state, task)
    if not _agreed(state, task, command):
        state.note(texts["left"])
        return 1
    result = state.app.history.carry_out(task, by=person())
    if state.json:
        state.emit_json({**as_json(task), **_done_json(result)})
        return 0
    state.out(
        texts["undone" if task.asked.verb == "undo" else "restored"].format(id=snapshot_words.short(task.asked.commit))
    )
    after = snapshot_words.short(result.after or result.before)
    proof = texts["proof"].format(files=f"{result.files:,}", sha256=result.sha256)
    lines = ((texts["snapshot"], after), (texts["proven"], proof), (texts["take_back"], f"hermes-cron undo {after}"))
    state.out(output.facts(lines))
    return 0


def _nothing(state: Cli, task: Task) -> int:
    if state.json:
        state.emit_json({**as_json(task), "before": task.plan.base, "commit": None})
        return 0
    texts = _TEXTS[state.lang]
    own = task.kept and task.asked.verb == "restore" and not task.stays
    state.out(texts["only_kept" if own else "nothing"])
    if task.stays:
        state.out(output.facts(_stays(task, texts)))
    return 0


def _agreed(state: Cli, task: Task, command: Sequence[str]) -> bool:
    text = shown(state, task)
    if not state.json:
        state.out(text)
    if state.yes:
        return True
    if not state.is_terminal:
        yes = shlex.join(["hermes-cron", *command, "-y"])
        plan: dict[str, object] = {"plan": as_json(task)} if state.json else {}
        raise PersonNeeded("somebody must say yes to that first; nothing was done", hint=yes, details=plan)
    if state.json:
        state.note(text)
    return state.confirm(_TEXTS[state.lang]["go_on"])


def shown(state: Cli, task: Task) -> str:
    """What will be done, a line for each job, skill, memory or setting."""
    texts = _TEXTS[state.lang]
    changes = [(texts[row.part.kind], _change(row, state.lang)) for row in task.rows]
    if state.columns is not None and len(changes) > _ON_A_SCREEN:
        more = texts["more"].format(n=len(changes) - _ON_A_SCREEN)
        changes = [*changes[:_ON_A_SCREEN], ("...", more)]
    lines = [*changes, *_kept(state, task), *_stays(task, texts), *_cannot(task, texts)]
    return f"{_head(state, task)}\n{output.facts((label, output.one_line(text)) for label, text in lines)}"


def _head(state: Cli, task: Task) -> str:
    texts, asked, commit = _TEXTS[state.lang], task.asked, task.asked.commit
    if asked.run is not None:
        from hermes_cron.domain.when import day

        on = day(asked.run.at, ZoneInfo(state.settings.timezone), state.lang)
        return output.one_line(texts["undo_run"].format(run=asked.run.id, job=asked.run.job, day=on))
    form = "restore_paths" if asked.paths else asked.verb
    said = {
        "id": snapshot_words.short(commit),
        "who": snapshot_words.who(commit, state.lang),
        "at": snapshot_words.at(state, commit.at),
        "reason": commit.reason,
        "paths": ", ".join(asked.paths),
    }
    return output.one_line(texts[form].format(**said))


def _change(row: Row, lang: str) -> str:
    texts = _TEXTS[lang]
    name = row.part.name
    said = {
        "name": texts["archived"].format(name=name) if row.part.path.startswith("skills/.archive/") else name,
        "old": row.from_version or "?",
        "to": row.to_version,
        "counts": snapshot_words.counts(row.added, row.removed, lang),
    }
    if row.what == "goes":
        return texts["goes"].format(**said)
    if row.what == "comes back":
        return texts["comes back as" if row.to_version else "comes back"].format(**said)
    if row.part.kind != "skill":
        return texts["lines"].format(**said)
    return texts["versions" if row.to_version else "new_version"].format(**said)


def _kept(state: Cli, task: Task) -> Iterator[tuple[str, str]]:
    texts, zone = _TEXTS[state.lang], ZoneInfo(state.settings.timezone)
    form = texts["edit_not_run" if task.asked.run is not None else "edit_since"]
    for it in task.kept:
        at = when.brief(it.commit.at.replace(second=0), zone, now=state.clock.now())
        yield texts["kept"], form.format(name=it.part.name, at=at)


def _stays(task: Task, texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(texts["stays"], output.one_line(f"{path}: {why}")) for path, why in task.stays]


def _cannot(task: Task, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    for kind, name, count in () if task.asked.run is None else task.asked.run.outside:
        yield texts["cannot"], texts[kind if count == 1 else f"{kind}s"].format(n=count, name=name)


def _conflict(state: Cli, task: Task, command: Sequence[str]) -> Conflict:
    def version(commit: Any) -> str:
        at = snapshot_words.at(state, commit.at)
        return f"{snapshot_words.short(commit)}, {snapshot_words.who(commit, state.lang)}, {at}: {commit.reason}"

    told, found = [], []
    for it in task.clashes:
        diff = [line for line in state.app.redact(it.diff.text).split("\n") if line and not _is_head(line)]
        body = {"now": snapshot_words.as_json(it.now_from), "wanted": snapshot_words.as_json(it.wanted_from)}
        found.append({"path": it.path, **body, "diff": "\n".join(diff)})
        if len(found) <= _CONFLICTS:
            told += [it.path, f"  - now     {version(it.now_from)}", f"  + wanted  {version(it.wanted_from)}"]
            told += [f"  {line}" for line in (*diff[:_DIFF_LINES], *(["..."] if len(diff) > _DIFF_LINES else []))]
        else:
            told.append(it.path)
    first = task.clashes[0]
    look = shlex.join(["hermes-cron", "diff", snapshot_words.short(first.wanted_from), first.path])
    drop = f"\nor drop your edits too: {shlex.join(['hermes-cron', *command, '--exact'])}"
    return Conflict(
        f"{len(found)} {'file was' if len(found) == 1 else 'files were'} changed since in the same place; "
        "nothing was done",
        hint=f"{look}, edit the file, then again" + (drop if task.asked.verb == "restore" else ""),
        details={"conflicts": found, "versions": "\n".join(told)},
    )


def _is_head(line: str) -> bool:
    """The versions are named above: names and modes would only push them away."""
    return line.startswith(("diff --git ", "--- ", "+++ "))


def as_json(task: Task) -> dict[str, Any]:
    """The plan."""
    asked = task.asked
    return {
        "verb": asked.verb,
        "snapshot": asked.commit.id,
        "run": None if asked.run is None else asked.run.id,
        "undoes": list(asked.undoes),
        "paths": list(asked.paths),
        "exact": asked.exact,
        "changes": [
            {
                "kind": row.part.kind,
                "name": row.part.name,
                "path": row.part.path,
                "what": row.what,
                "added": row.added,
                "removed": row.removed,
                "from_version": row.from_version,
                "to_version": row.to_version,
            }
            for row in task.rows
        ],
        "files": [it.path for it in task.diffs],
        "kept": [{"path": it.part.path, "snapshot": it.commit.id, "at": it.commit.at} for it in task.kept],
        "stays": [{"path": path, "why": why} for path, why in task.stays],
        "cannot": [
            {"kind": kind, "name": name, "count": count}
            for kind, name, count in (() if asked.run is None else asked.run.outside)
        ],
    }


def _done_json(result: Done) -> dict[str, Any]:
    after = (result.after or result.before).id
    return {
        "before": result.before.id,
        "commit": after,
        "sha256": result.sha256,
        "file_count": result.files,
        "take_back": f"hermes-cron undo {snapshot_words.short(after)}",
    }

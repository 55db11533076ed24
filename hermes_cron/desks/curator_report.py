"""What did a run of the curator do, in words for people and as JSON for programs?

``outputs/JOB/RUN.json`` is written before anything is changed, as a plan, and again when all is done: a run whose
process died between the two knows what it had begun. ``RUN.md``, beside it, says the same to people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron import files
from hermes_cron.desks.curator_words import said
from hermes_cron.domain import when
from hermes_cron.domain.clip import one_line
from hermes_cron.experience.curation import Intended, Move, dumped, loaded

if TYPE_CHECKING:
    from hermes_cron.home import Home

SHORT = 7
"""Digits of a snapshot's id on a screen."""

_NAMED = 5
_SHOWN = 50
_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One intended change and what became of it: ``done``, ``proposed`` (with its question), ``would``, ``refused``
    (with the reason in ``said``) or ``noted``."""

    it: Intended
    state: str
    approval: str | None = None
    said: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``dry``: why nothing was changed, "asked" or "2/3" (which of the first nights); None where it was.

    ``before`` and ``after`` are snapshots, None where nothing was to be changed. ``states`` counts skills afterwards.
    """

    run: str
    job: str
    at: datetime
    state: str = "planned"
    dry: str | None = None
    before: str | None = None
    after: str | None = None
    entries: tuple[Entry, ...] = ()
    states: Mapping[str, int]
    exempt: Mapping[str, int]
    said: tuple[str, ...] = ()
    model: str | None = None

    @property
    def moved(self) -> bool:
        """Whether there is something to tell."""
        return any(it.state in {"done", "proposed"} for it in self.entries)

    @property
    def asked(self) -> tuple[Intended, ...]:
        """What waits for a person, or is to."""
        return tuple(each.it for each in self.entries if each.state == "proposed")

    @property
    def done(self) -> tuple[Intended, ...]:
        """What is changed, or is to be."""
        return tuple(each.it for each in self.entries if each.state == "done")

    def counts(self) -> dict[str, int]:
        """How many of each move were done, and of all how many were proposed, refused, noted, or would be done."""
        done = Counter(each.it.kind.value for each in self.entries if each.state == "done")
        states = Counter(each.state for each in self.entries)
        moves = {move.value: done[move.value] for move in Move if move not in (Move.RESTORE, Move.NOTE)}
        return {**moves, **{state: states[state] for state in ("proposed", "refused", "noted", "would")}}


# --- the file ---------------------------------------------------------------------------------------------------------


def path_of(home: Home, job: str, run: str) -> Path:
    return home.outputs / job / f"{run}.json"


def keep(home: Home, record: Record) -> None:
    """Raises ``DiskFull`` and its kin."""
    place = path_of(home, record.job, record.run)
    files.make_folder(place.parent)
    files.write_atomic(place, (json.dumps(as_json(record), ensure_ascii=False, indent=2) + "\n").encode())


def read(home: Home, job: str, run: str) -> Record | None:
    """None when there is none, or none that can be understood."""
    try:
        return _loaded(json.loads(path_of(home, job, run).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_json(record: Record) -> dict[str, Any]:
    """``renamed`` leads from each merged skill to the one that has it now."""
    return {
        "run": record.run,
        "job": record.job,
        "at": record.at.isoformat(),
        "state": record.state,
        "dry": record.dry,
        "before": record.before,
        "after": record.after,
        "counts": record.counts(),
        "changes": [
            {**dumped(each.it), "state": each.state, "approval": each.approval, "said": each.said}
            for each in record.entries
        ],
        "renamed": {it.skill: it.into for it in record.done if it.kind is Move.MERGE},
        "skills": dict(record.states),
        "exempt": dict(record.exempt),
        "said": list(record.said),
        "model": record.model,
    }


def _loaded(found: Mapping[str, Any]) -> Record:
    entries = [
        Entry(it=loaded(each), state=each["state"], approval=each["approval"], said=each["said"])
        for each in found["changes"]
    ]
    return Record(
        run=found["run"], job=found["job"], at=datetime.fromisoformat(found["at"]), state=found["state"],
        dry=found["dry"], before=found["before"], after=found["after"], entries=tuple(entries),
        states=found["skills"], exempt=found["exempt"], said=tuple(found["said"]), model=found["model"],
    )  # fmt: skip


# --- for people -------------------------------------------------------------------------------------------------------

_TEXTS = {
    "en": {
        "head": "Curator, {at}: {what}.", "dry": "Curator, {at}, a dry run: {what}.",
        "see": " See hermes-cron curator report", "undo": "; undo all: hermes-cron undo {id}",
        "comma": ", ", "nothing": "nothing to do", "stale": "{n} skills stale", "stale_1": "1 skill stale",
        "archive": "{n} archived", "active": "{n} active again",
        "merge": "{n} merged", "patch": "{n} patched", "create": "{n} made", "proposed": "{n} {move} proposed",
        "asked": "nothing was changed: it was only asked what would be done",
        "night": "nothing was changed: this is night {n} of the first {of}, which only say what they would do "
        "(curator.dry_nights)",
        "would": "would", "refused": "refused", "noted": "look at", "done": "done", "open": "waits for a yes",
        "into": "into {name}", "jobs": " ({names} rewritten)", "to_jobs": " (rewrites {names})",
        "more": "and {n} more: --json has them all",
        "skills": "{total} skills: {active} active, {stale} stale, {archived} archived",
        "exempt": "never moved: {what}",
        "moves": {"stale": "stale", "active": "active", "archive": "archive", "merge": "merge", "patch": "patch",
                  "create": "create", "note": "note"},
        "proposed_moves": {"merge": "merge", "patch": "patch", "archive": "archive", "create": "new skill"},
        "back": "hermes-cron skills restore NAME brings an archived skill back",
    },
    "zh": {
        "head": "技能整理，{at}：{what}。", "dry": "技能整理，{at}，试运行：{what}。",
        "see": "详见 hermes-cron curator report", "undo": "；全部撤销：hermes-cron undo {id}",
        "comma": "，", "nothing": "无事可做",
        "stale": "{n} 个技能闲置", "stale_1": "1 个技能闲置", "archive": "{n} 个归档", "active": "{n} 个恢复使用",
        "merge": "{n} 个合并", "patch": "{n} 个修补", "create": "{n} 个新建", "proposed": "{n} 项{move}提议",
        "asked": "没有改动：只是询问会做什么",
        "night": "没有改动：这是最初 {of} 夜中的第 {n} 夜，只说明会做什么（curator.dry_nights）",
        "would": "将会", "refused": "拒绝", "noted": "请查看", "done": "已做", "open": "等待同意",
        "into": "并入 {name}", "jobs": "（已改写 {names}）", "to_jobs": "（将改写 {names}）",
        "more": "另有 {n} 项：--json 列出全部",
        "skills": "共 {total} 个技能：{active} 个使用中，{stale} 个闲置，{archived} 个已归档",
        "exempt": "从不移动：{what}",
        "moves": {"stale": "闲置", "active": "使用", "archive": "归档", "merge": "合并", "patch": "修补",
                  "create": "新建", "note": "注意"},
        "proposed_moves": {"merge": "合并", "patch": "修补", "archive": "归档", "create": "新建"},
        "back": "hermes-cron skills restore 名称 可恢复已归档的技能",
    },
}  # fmt: skip

_EXEMPT = {
    "en": {"pinned": "{n} pinned", "jobs": "{n} named by jobs", "hand": "{n} written by hand", "shipped": "{n} shipped",
           "broken": "{n} broken"},
    "zh": {"pinned": "{n} 个已固定", "jobs": "{n} 个被任务引用", "hand": "{n} 个手写", "shipped": "{n} 个自带",
           "broken": "{n} 个损坏"},
}  # fmt: skip


def notice(record: Record, zone: ZoneInfo, lang: str) -> str:
    """One line: what moved, and how it is taken back."""
    texts: dict[str, Any] = _TEXTS[lang]
    local = record.at.astimezone(zone)
    head: str = texts["head" if record.dry is None else "dry"].format(at=f"{local:%H:%M}", what=_moved(record, lang))
    see: str = texts["see"] if record.moved else ""
    undo: str = "" if record.after is None else texts["undo"].format(id=record.after[:SHORT])
    return head + see + undo


def _moved(record: Record, lang: str) -> str:
    texts: dict[str, Any] = _TEXTS[lang]
    state = "done" if record.dry is None else "would"
    by_move: dict[Move, list[str]] = {}
    for each in record.entries:
        if each.state == state:
            by_move.setdefault(each.it.kind, []).append(one_line(each.it.skill.rpartition("/")[2], 60))
    parts = []
    for move in (Move.STALE, Move.ARCHIVE, Move.MERGE, Move.PATCH, Move.CREATE, Move.ACTIVE):
        names = by_move.get(move, [])
        if names or (move is Move.ARCHIVE and by_move):
            said = texts["stale_1"] if move is Move.STALE and len(names) == 1 else texts[move.value]
            parts.append(said.format(n=len(names)) + _names(names, texts))
    asked = Counter(each.it.kind.value for each in record.entries if each.state == "proposed")
    parts += [texts["proposed"].format(n=asked[move], move=word)
              for move, word in texts["proposed_moves"].items() if asked[move]]  # fmt: skip
    return str(texts["comma"]).join(parts) or str(texts["nothing"])


def _names(names: Sequence[str], texts: Mapping[str, Any]) -> str:
    if not names:
        return ""
    more = [f"+{len(names) - _NAMED}"] if len(names) > _NAMED else []
    return f" ({texts['comma'].join([*names[:_NAMED], *more])})"


def text(record: Record, zone: ZoneInfo, lang: str) -> str:
    """The whole report."""
    return "\n".join([notice(record, zone, lang), *_lines(record, zone, lang)])


def _lines(record: Record, zone: ZoneInfo, lang: str) -> Iterator[str]:
    texts: dict[str, Any] = _TEXTS[lang]
    if record.dry == "asked":
        yield texts["asked"]
    elif record.dry is not None:
        night, _, nights = record.dry.partition("/")
        yield texts["night"].format(n=night, of=nights)
    for state, head in (
        ("done", "done"),
        ("would", "would"),
        ("proposed", "open"),
        ("refused", "refused"),
        ("noted", "noted"),
    ):
        entries = [each for each in record.entries if each.state == state]
        if entries:
            yield ""
            yield f"{texts[head]}:"
            yield from (_entry(each, zone, lang) for each in entries[:_SHOWN])
            if len(entries) > _SHOWN:
                yield "  " + texts["more"].format(n=len(entries) - _SHOWN)
    if record.said:
        yield ""
        yield from (one_line(said(line, lang), _TEXT) for line in record.said)
    yield ""
    yield texts["skills"].format(total=sum(record.states.values()), **record.states)
    kept = [_EXEMPT[lang][why].format(n=count) for why, count in record.exempt.items() if count]
    if kept:
        yield texts["exempt"].format(what=texts["comma"].join(kept))
    if any(it.kind is Move.ARCHIVE for it in record.done):
        yield texts["back"]


def _entry(each: Entry, zone: ZoneInfo, lang: str) -> str:
    texts: dict[str, Any] = _TEXTS[lang]
    it = each.it
    into = " " + texts["into"].format(name=it.into) if it.into is not None and it.kind is not Move.NOTE else ""
    move = "" if it.kind is Move.NOTE else f"{texts['moves'][it.kind.value]} "
    used = it.evidence.get("activity")
    since = (
        f" ({when.day(datetime.fromisoformat(str(used)), zone, lang)})" if used and it.kind is not Move.ACTIVE else ""
    )
    asked = f"  hermes-cron approve {each.approval}" if each.approval else ""
    why = f": {each.said}" if each.said else ""
    names = texts["comma"].join(map(str, it.evidence.get("jobs", ())))
    jobs = texts["jobs" if each.state == "done" else "to_jobs"].format(names=names) if names else ""
    return "  " + one_line(f"{move}{it.skill}{into}: {said(it.why, lang)}{since}{jobs}{why}", _TEXT) + asked


def settled(record: Record, **changes: Any) -> Record:
    """The record when all is done."""
    return replace(record, state="done", **changes)

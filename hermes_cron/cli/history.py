"""``history``: what became of every due instant?"""

from __future__ import annotations

import heapq
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, sent, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import Usage

if TYPE_CHECKING:
    from hermes_cron.store.history import Accounted, DueRow
    from hermes_cron.store.outbox import DeliveryView
    from hermes_cron.store.reader import Listed

app = typer.Typer(help="Every due instant and what became of it.", add_completion=False)

HELP_ZH = {
    "Every due instant and what became of it.": "每个应运行时刻及其结果。",
    "The job (default: all): its name, or a unique beginning.": "任务名或其唯一前缀（默认全部）。",
    "Only what failed or was missed.": "只列出失败或错过的。",
    "How many rows.": "列出多少行。",
    "Not before: 2h, 7d, or 2026-12-01T09:00.": "起始：2h、7d 或 2026-12-01T09:00。",
}

_TEXTS = {
    "en": {
        "headers": ("DUE", "START", "TOOK", "RESULT", "CHECKED", "SENT", "TOKENS", "RUN"),
        "job": "JOB",
        "none": "Nothing was due yet.",
        "by_hand": " Runs by hand are no instants: hermes-cron runs list{of}",
        "sum": "{due} due, {accounted} accounted for.",
        "waiting": " {count} wait for a scheduler.",
        "missing": " MISSING: {instants}.",
        "into": "into {due}",
        "late": "late",
    },
    "zh": {
        "headers": ("应于", "开始", "用时", "结果", "核查", "送达", "TOKEN", "运行"),
        "job": "任务",
        "none": "还没有到点的时刻。",
        "by_hand": "手动运行不在其中：hermes-cron runs list{of}",
        "sum": "应运行 {due} 次，已交代 {accounted} 次。",
        "waiting": " {count} 次等待调度器。",
        "missing": " 缺失：{instants}。",
        "into": "并入 {due}",
        "late": "迟到",
    },
}

_GOOD = frozenset({"ok", "skipped", "queued", "running", "waiting_approval", "waiting_retry"})
_DOUBTED = frozenset({"check_failed", "not_checkable"})
_LOST = frozenset({"failed", "unknown"})
_LONGEST = 300
"""Of why it is not well."""
_START, _TOOK, _SENT, _TOKENS, _WHY = 1, 2, 5, 6, 8
"""Columns of one job's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    job: Listed
    due: DueRow
    deliveries: Sequence[DeliveryView] = ()

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.job.summary.get("timezone", "UTC"))

    @property
    def ran(self) -> bool:
        """A merged instant shows another instant's run, which is not its own."""
        return self.due.run is not None and self.due.into is None

    @property
    def run_id(self) -> str | None:
        """Of its own run."""
        return str(self.due.run["id"]) if self.ran and self.due.run else None

    @property
    def result(self) -> str:
        return str(self.due.run["state"]) if self.ran and self.due.run else str(self.due.state)

    @property
    def failed(self) -> bool:
        """It ended badly, its checks doubt it, or what it had to say did not arrive."""
        if not self.ran or self.due.run is None:
            return self.due.state == "missed"
        doubted = self.due.run["verdict"] in _DOUBTED
        return self.result not in _GOOD or doubted or any(each.state in _LOST for each in self.deliveries)


@app.command("history", help="Every due instant and what became of it.")
def history(
    job: Annotated[str | None, typer.Argument(help="The job (default: all): its name, or a unique beginning.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what failed or was missed.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many rows.")] = 20,
    since: Annotated[str | None, typer.Option("--since", help="Not before: 2h, 7d, or 2026-12-01T09:00.")] = None,
) -> None:
    from hermes_cron.store.reader import resolve

    state = cli()
    now = state.clock.now()
    listed = jobs_known.current(state, removed=True).listed
    live = [each for each in listed if each.removed_at is None]
    chosen = [resolve(live or listed, job) if _names(live, job) else resolve(listed, job)] if job else listed
    begin = _since(since, now, state) if since else None
    rows, proof = _read(state, chosen, limit=limit, begin=begin, failed=failed, one=job is not None)
    if state.json:
        state.emit_json(_json(rows, proof))
        return
    texts: dict[str, Any] = _TEXTS[state.lang]
    if not rows and proof.due == 0:
        state.out(texts["none"] + _runs_by_hand(state, chosen if job else None, texts))
        return
    headers = texts["headers"] if job else (texts["headers"][0], texts["job"], *texts["headers"][1:])
    lines = [_cells(row, state, texts, now, named=job is None) for row in rows]
    if lines:
        at = 0 if job else 1  # how far the columns behind the first one are moved by that of the job
        table = output.table(
            lines,
            headers,
            right=frozenset({_TOKENS + at}),
            max_columns=state.columns,
            give={*range(1, 1 + at), _SENT + at, _WHY + at},
            spare=(_TOKENS + at, _TOOK + at, _START + at),
        )
        state.out("\n".join(sent.painted(table, [_colour(row) for row in rows] if state.colour else [])))
    state.out(_sum(proof, texts))


def _runs_by_hand(state: Cli, chosen: Sequence[Listed] | None, texts: dict[str, Any]) -> str:
    """Where to look, if there are any."""
    uid = chosen[0].uid if chosen else None
    if not state.app.runs.rows(job_uid=uid, states=(), limit=1):
        return ""
    return str(texts["by_hand"]).format(of=f" --job {shlex.quote(chosen[0].name)}" if chosen else "")


def _names(live: Sequence[Listed], word: str) -> bool:
    """Whether a living job answers to the word: it goes before removed ones of the same beginning."""
    from hermes_cron.domain.job import name_key

    return any(name_key(each.name).startswith(name_key(word)) for each in live)


def _since(text: str, now: datetime, state: Cli) -> datetime:
    from hermes_cron.cli.explain import instant_of, zone_named
    from hermes_cron.jobs.forms import duration

    span = duration(text.strip())
    if span is not None:
        return now - span
    found = instant_of(text, zone_named(state, None))
    if found > now:
        raise Usage(f"--since {text} is to come", hint="--since 7d")
    return found - timedelta(microseconds=1)


def _read(
    state: Cli, jobs: Sequence[Listed], *, limit: int, begin: datetime | None, failed: bool, one: bool
) -> tuple[list[_Row], Accounted]:
    """The newest rows of these jobs, and the proof over the same time: from the oldest row shown, or ``begin``."""
    from hermes_cron.store import outbox
    from hermes_cron.store.history import accounted
    from hermes_cron.store.history import rows as due_rows

    now = state.clock.now()
    many = limit if not failed else 100_000
    with state.app.store.read() as conn:
        found = [
            _Row(job=job, due=due)
            for job in jobs
            for due in due_rows(conn, job.uid, limit=many, since=begin, until=now)
        ]
        newest = heapq.nlargest(many, found, key=lambda row: row.due.due)
        oldest = newest[-1].due.due - timedelta(microseconds=1) if newest else now
        whole = begin if begin is not None and len(found) < many else oldest
        proof = accounted(conn, since=whole, now=now, job_uid=jobs[0].uid if one else None)
        messages = outbox.of_runs(conn, [row.run_id for row in newest if row.run_id])
    told = [replace(row, deliveries=messages.get(row.run_id or "", ())) for row in newest]
    shown = [row for row in told if row.failed] if failed else told
    return shown[:limit], proof


def _cells(row: _Row, state: Cli, texts: dict[str, Any], now: datetime, *, named: bool) -> list[str]:
    due, run = row.due, row.due.run if row.ran else None
    cells = [when.due(due.due, row.zone, state.lang, now=now)]
    if named:
        cells.append(row.job.name)
    started = run["started_at"] if run else None
    ended = run["ended_at"] if run else None
    cells += [
        f"+{when.length(started - due.due, state.lang)}" if started else "",
        when.length(ended - started, state.lang) if started and ended else "",
        row.result,
        (run["verdict"] or "") if run else "",
        sent.whom(row.deliveries, state.lang),
        f"{run['tokens_input'] + run['tokens_output']:,}" if run and ended else "",
        run["id"] if run else "",
    ]
    note = _note(row, state, texts, now)
    return [*cells, note] if note else cells


def _colour(row: _Row) -> str | None:
    run = row.due.run if row.ran else None
    if run is None:
        return "red" if row.failed else None
    return sent.colour(run["state"], run["verdict"], [each.state for each in row.deliveries])


def _note(row: _Row, state: Cli, texts: dict[str, Any], now: datetime) -> str:
    """Why it is not simply well, in a few words."""
    due, run = row.due, row.due.run
    if due.into is not None:
        return str(texts["into"].format(due=when.due(due.into, row.zone, state.lang, now=now)))
    words = [texts["late"]] if due.late else []
    if row.ran and run is not None and run["state"] != "ok":
        words.append(output.one_line(str(run["error"] or run["reason"] or "")))
    elif not row.ran:
        words.append(due.reason or "")
    return output.cut(", ".join(word for word in words if word), _LONGEST)


def _sum(proof: Accounted, texts: dict[str, Any]) -> str:
    text = texts["sum"].format(due=proof.due, accounted=proof.accounted_for)
    if proof.waiting:
        text += texts["waiting"].format(count=proof.waiting)
    if proof.missing:
        instants = ", ".join(f"{name} {at:%Y-%m-%dT%H:%MZ}" for name, at in proof.missing)
        text += texts["missing"].format(instants=instants)
    return str(text)


def _json(rows: Sequence[_Row], proof: Accounted) -> dict[str, object]:
    return {
        "history": [_row_json(row) for row in rows],
        "due": proof.due,
        "accounted_for": proof.accounted_for,
        "waiting": proof.waiting,
        "missing": [{"job": name, "scheduled_at": at.isoformat()} for name, at in proof.missing],
    }


def _row_json(row: _Row) -> dict[str, object]:
    due, run = row.due, row.due.run
    own = run if row.ran else None
    return {
        "job": row.job.name,
        "scheduled_at": _iso(due.due, row.zone),
        "state": str(due.state),
        "reason": due.reason or (own["reason"] if own else None),
        "late": due.late,
        "run_id": run["id"] if run else None,
        "into": _iso(due.into, row.zone),
        "result": own["state"] if own else None,
        "error": own["error"] if own else None,
        "started_at": _iso(own["started_at"], row.zone) if own else None,
        "ended_at": _iso(own["ended_at"], row.zone) if own else None,
        "checked": own["verdict"] if own else None,
        "sent": [sent.as_json(each) for each in row.deliveries],
        "tokens": {"input": own["tokens_input"], "output": own["tokens_output"], "cached": own["tokens_cached"]}
        if own
        else None,
    }


def _iso(instant: datetime | None, zone: ZoneInfo) -> str | None:
    return instant.astimezone(zone).isoformat() if instant else None

"""``status``: is all well, and what needs a person? Exit 0, 6 (somebody is needed), 1 (no scheduler lives)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.clock import SystemClock

if TYPE_CHECKING:
    from hermes_cron.scheduler.owners import Living
    from hermes_cron.store.history import Accounted
    from hermes_cron.store.overview import Coming, Need

app = typer.Typer(help="Is all well, and what needs a person?", add_completion=False)

HELP_ZH = {"Is all well, and what needs a person?": "是否一切正常，什么需要人处理？"}

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "scheduler": "scheduler",
        "day": "last 24 h",
        "truth": "truth",
        "sent": "sent",
        "money": "money",
        "learned": "learned",
        "next": "next",
        "running": "running since {since} (pid {pid}, last tick {ago} ago)",
        "more": ", and {count} more",
        "stopped": "not running; nothing starts by itself:  hermes-cron serve",
        "due": "{due} due, {accounted} accounted for",
        "counts": "{ok} ok, {skipped} skipped, {merged} merged, {failed} failed",
        "missed": ", {count} missed",
        "open": ", {count} not ended",
        "cancelled": ", {count} cancelled",
        "latest": "; latest {span} late",
        "waiting": "; {count} wait for a scheduler",
        "lost": "; MISSING {instants}",
        "verdicts": "{verified} verified, {check_failed} check_failed, {without} without checks",
        "well": "nothing needs you",
        "one": "1 needs you",
        "many": "{count} need you",
        "broken": "broken file",
        "held": "held",
        "run": "{state}",
        "missed_kind": "missed",
        "missed_text": "{job}: due {at}, and it has no other time",
        "held_text": "{job}: {text}",
        "run_text": "{job}: {text}",
    },
    "zh": {
        "scheduler": "调度器",
        "day": "近 24 小时",
        "truth": "核查",
        "sent": "送达",
        "money": "费用",
        "learned": "学到",
        "next": "接下来",
        "running": "运行中，自 {since}（pid {pid}，{ago} 前心跳）",
        "more": "，另有 {count} 个",
        "stopped": "未运行，任务不会自动启动：  hermes-cron serve",
        "due": "应运行 {due} 次，已交代 {accounted} 次",
        "counts": "成功 {ok}，跳过 {skipped}，合并 {merged}，失败 {failed}",
        "missed": "，错过 {count}",
        "open": "，未结束 {count}",
        "cancelled": "，取消 {count}",
        "latest": "；最晚迟到 {span}",
        "waiting": "；{count} 次等待调度器",
        "lost": "；缺失 {instants}",
        "verdicts": "已核实 {verified}，核查未过 {check_failed}，无核查 {without}",
        "well": "没有需要处理的事",
        "one": "1 项需要处理",
        "many": "{count} 项需要处理",
        "broken": "文件有误",
        "held": "挂起",
        "run": "{state}",
        "missed_kind": "错过",
        "missed_text": "{job}：应于 {at}，此后再无时刻",
        "held_text": "{job}：{text}",
        "run_text": "{job}：{text}",
    },
}

_NEEDED, _NO_SCHEDULER = 6, 1
_SOON = 3
_ENDED_WELL = frozenset({"ok", "skipped"})
_OPEN = frozenset({"queued", "running", "waiting_approval", "waiting_retry"})


@app.command("status", help="Is all well, and what needs a person?")
def status() -> None:
    from hermes_cron.store import overview
    from hermes_cron.store.history import accounted

    state = cli()
    unlisted = jobs_known.current(state).unlisted
    now = state.clock.now()
    since = now - timedelta(hours=24)
    with state.app.store.read() as conn:
        proof = accounted(conn, since=since, now=now)
        needs = overview.needs(conn)
        coming = overview.coming(conn, _SOON)
        verdicts = overview.verdicts(conn, since)
    needs = [overview.Need(kind="broken", job=name, text=fault) for name, fault in unlisted] + needs
    serving = state.app.schedulers()
    if state.json:
        state.emit_json(_as_json(serving, proof, needs, coming, verdicts))
    else:
        _show(state, serving, proof, needs, coming, verdicts)
    raise typer.Exit(_NO_SCHEDULER if not serving else _NEEDED if needs or proof.missing else 0)


def _show(
    state: Cli,
    serving: Sequence[Living],
    proof: Accounted,
    needs: Sequence[Need],
    coming: Sequence[Coming],
    verdicts: Mapping[str, int],
) -> None:
    texts, now = _TEXTS[state.lang], state.clock.now()
    zone = ZoneInfo(state.settings.timezone)
    soon = [f"{when.brief(each.at, ZoneInfo(each.timezone), now=now)} {each.job}" for each in coming]
    facts = [
        (texts["scheduler"], _scheduler(serving, texts, zone, state.lang)),
        (texts["day"], _day(proof, texts)),
        (texts["truth"], _truth(proof, verdicts, texts)),
        (texts["sent"], "-"),
        (texts["money"], "-"),
        (texts["learned"], "-"),
        (texts["next"], ", ".join(soon) or "-"),
    ]
    state.out(output.facts(facts, indent=0, gap=3))
    state.out()
    if not needs:
        state.out(texts["well"])
        return
    state.out(texts["one"] if len(needs) == 1 else texts["many"].format(count=len(needs)))
    rows = [_need(each, texts, zone, state.lang) for each in needs]
    table = output.table(rows, max_columns=None if state.columns is None else state.columns - 2)
    state.out("\n".join(f"  {line}" for line in table.splitlines()))


def _scheduler(serving: Sequence[Living], texts: Mapping[str, str], zone: ZoneInfo, lang: str) -> str:
    if not serving:
        return texts["stopped"]
    first = serving[0]
    started = first.started_at.astimezone(zone)
    ago = SystemClock().now() - max(each.heartbeat for each in serving)
    text = texts["running"].format(
        since=when.due(started, zone, lang, now=started), pid=first.pid, ago=when.length(ago)
    )
    return text + (texts["more"].format(count=len(serving) - 1) if len(serving) > 1 else "")


def _day(proof: Accounted, texts: Mapping[str, str]) -> str:
    text = texts["due"].format(due=proof.due, accounted=proof.accounted_for)
    if proof.due:
        counted = _counts(proof)
        text += (": " if texts is _TEXTS["en"] else "：") + texts["counts"].format(**counted)
        for word in ("missed", "cancelled", "open"):
            text += texts[word].format(count=counted[word]) if counted[word] else ""
        text += texts["latest"].format(span=when.length(proof.latest)) if proof.latest is not None else ""
    if proof.waiting:
        text += texts["waiting"].format(count=proof.waiting)
    if proof.missing:
        named = ", ".join(f"{name}@{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in proof.missing)
        text += texts["lost"].format(instants=named)
    return text


def _counts(proof: Accounted) -> dict[str, int]:
    """Every instant in exactly one column. ``failed`` is every end of a run that is not well and was nobody's wish."""
    ends = {str(state): count for state, count in proof.ends.items()}
    states = {str(state): count for state, count in proof.states.items()}
    cancelled = ends.get("cancelled", 0)
    open_ = sum(count for state, count in ends.items() if state in _OPEN)
    return {
        "ok": ends.get("ok", 0),
        "skipped": states.get("skipped", 0) + ends.get("skipped", 0),
        "merged": states.get("merged", 0),
        "missed": states.get("missed", 0),
        "failed": sum(ends.values()) - cancelled - open_ - sum(ends.get(state, 0) for state in _ENDED_WELL),
        "cancelled": cancelled,
        "open": open_,
    }


def _truth(proof: Accounted, verdicts: Mapping[str, int], texts: Mapping[str, str]) -> str:
    """``-`` while no run has checks: nothing was found true, and nothing false."""
    if not verdicts:
        return "-"
    checked = sum(verdicts.values())
    ended = sum(count for state, count in proof.ends.items() if state not in _OPEN)
    return texts["verdicts"].format(
        verified=verdicts.get("verified", 0),
        check_failed=verdicts.get("check_failed", 0),
        without=max(0, ended - checked),
    )


def _need(need: Need, texts: Mapping[str, str], zone: ZoneInfo, lang: str) -> tuple[str, str, str]:
    text = output.one_line(need.text)
    match need.kind:
        case "broken":
            return texts["broken"], text, _command(need)
        case "held":
            return texts["held"], texts["held_text"].format(job=need.job, text=text), _command(need)
        case "run":
            kind = texts["run"].format(state=need.state)
            return kind, texts["run_text"].format(job=need.job, text=text or need.state), _command(need)
        case "missed":
            at = "" if need.at is None else when.whole(need.at, zone, lang)
            return texts["missed_kind"], texts["missed_text"].format(job=need.job, at=at), _command(need)


def _command(need: Need) -> str:
    """What to type next."""
    match need.kind:
        case "broken":
            return f"hermes-cron edit {need.job}"
        case "held":
            return f"hermes-cron resume {need.job}"
        case "run":
            return f"hermes-cron runs show {need.run_id}"
        case "missed":
            return f"hermes-cron run {need.job}"


def _as_json(
    serving: Sequence[Living],
    proof: Accounted,
    needs: Sequence[Need],
    coming: Sequence[Coming],
    verdicts: Mapping[str, int],
) -> dict[str, Any]:
    def local(at: datetime, zone: str) -> str:
        return at.astimezone(ZoneInfo(zone)).isoformat()

    return {
        "schedulers": [asdict(each) for each in serving],
        "last_24h": {
            "due": proof.due,
            "accounted_for": proof.accounted_for,
            "waiting": proof.waiting,
            "missing": [{"job": name, "due": at} for name, at in proof.missing],
            **_counts(proof),
            "latest_late_s": None if proof.latest is None else proof.latest.total_seconds(),
        },
        "truth": dict(verdicts) or None,
        "sent": None,
        "money": None,
        "learned": None,
        "next": [{"job": each.job, "at": local(each.at, each.timezone)} for each in coming],
        "need_you": [{**asdict(each), "command": _command(each)} for each in needs],
    }

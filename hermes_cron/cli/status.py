"""``status``: is all well, and what needs a person? Exit 0, 6 (somebody is needed), 1 (no scheduler lives)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, need_you, output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.clock import SystemClock
from hermes_cron.domain.money import dollars
from hermes_cron.errors import ConfigError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from hermes_cron.domain.money import Spent
    from hermes_cron.scheduler.owners import Living
    from hermes_cron.settings import BudgetSettings
    from hermes_cron.store.history import Accounted
    from hermes_cron.store.overview import Coming, Need
    from hermes_cron.store.taught import Day

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
        "metrics": ", metrics on {address}",
        "more": ", and {count} more",
        "stopped": "not running; nothing starts by itself:  hermes-cron serve",
        "left_one": "not running; 1 run waits for it:  hermes-cron serve",
        "left": "not running; {count} runs wait for it:  hermes-cron serve",
        "due": "{due} due, {accounted} accounted for",
        "counts": "{ok} ok, {skipped} skipped, {merged} merged, {failed} failed",
        "missed": ", {count} missed",
        "open": ", {count} not ended",
        "cancelled": ", {count} cancelled",
        "latest": "; latest {span} late",
        "waiting": "; {count} wait for a scheduler",
        "lost": "; MISSING {instants}",
        "verdicts": "{verified} verified, {check_failed} check_failed, {without_checks} without checks",
        "not_checkable": ", {count} not_checkable",
        "deliveries": "{sent} sent, {failed} failed, {unknown} unknown, {silent} silent",
        "queued": ", {count} queued",
        "held_back": ", {count} held",
        "usd_today": "{used} USD today",
        "usd_month": ", {used} this month",
        "tokens_today": ", {used} tokens today",
        "tokens_month": ", {used} tokens this month",
        "of": "{used} of {cap}",
        "unpriced": ", what {count} calls cost is unknown",
        "unpriced_one": ", what 1 call cost is unknown",
        "dearest": "; dearest: {job} {usd}",
        "skill": "1 skill {word}",
        "skills": "{n} skills {word}",
        "entry": "1 memory entry",
        "entries": "{n} memory entries",
        "entry_removed": "1 memory entry removed",
        "entries_removed": "{n} memory entries removed",
        "created": "created",
        "patched": "patched",
        "rewritten": "rewritten",
        "changed": "changed",
        "list": ", ",
        "nothing": "nothing",
        "stale": "; {n} stale",
        "active": "; {n} in use again",
        "none_archived": "; nothing archived",
        "archived": "; {n} archived",
        "proposed": "; {n} proposed",
        "review_failed": "; 1 review failed",
        "reviews_failed": "; {n} reviews failed",
        "review_open": "; 1 review not ended",
        "reviews_open": "; {n} reviews not ended",
        "blocked": "{kind} in {place}",
        "times": ", {times} times",
        "of_job": ", for {job}",
        "well": "nothing needs you",
        "one": "1 needs you",
        "many": "{count} need you",
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
        "metrics": "，指标在 {address}",
        "more": "，另有 {count} 个",
        "stopped": "未运行，任务不会自动启动：  hermes-cron serve",
        "left_one": "未运行，1 次运行在等它：  hermes-cron serve",
        "left": "未运行，{count} 次运行在等它：  hermes-cron serve",
        "due": "应运行 {due} 次，已交代 {accounted} 次",
        "counts": "成功 {ok}，跳过 {skipped}，合并 {merged}，失败 {failed}",
        "missed": "，错过 {count}",
        "open": "，未结束 {count}",
        "cancelled": "，取消 {count}",
        "latest": "；最晚迟到 {span}",
        "waiting": "；{count} 次等待调度器",
        "lost": "；缺失 {instants}",
        "verdicts": "已核实 {verified}，核查未过 {check_failed}，无核查 {without_checks}",
        "not_checkable": "，无法核查 {count}",
        "deliveries": "已送达 {sent}，失败 {failed}，不明 {unknown}，静默 {silent}",
        "queued": "，待发 {count}",
        "held_back": "，暂缓 {count}",
        "usd_today": "今天 {used} 美元",
        "usd_month": "，本月 {used}",
        "tokens_today": "，今天 {used} token",
        "tokens_month": "，本月 {used} token",
        "of": "{used}/{cap}",
        "unpriced": "，另有 {count} 次调用费用未知",
        "unpriced_one": "，另有 1 次调用费用未知",
        "dearest": "；最贵：{job} {usd}",
        "skill": "1 个技能{word}",
        "skills": "{n} 个技能{word}",
        "entry": "1 条记忆",
        "entries": "{n} 条记忆",
        "entry_removed": "删除 1 条记忆",
        "entries_removed": "删除 {n} 条记忆",
        "created": "新建",
        "patched": "修补",
        "rewritten": "重写",
        "changed": "修改",
        "list": "，",
        "nothing": "无",
        "stale": "；闲置 {n} 个",
        "active": "；重新启用 {n} 个",
        "none_archived": "；无归档",
        "archived": "；归档 {n} 个",
        "proposed": "；提议 {n} 项",
        "review_failed": "；1 次回顾失败",
        "reviews_failed": "；{n} 次回顾失败",
        "review_open": "；1 次回顾未结束",
        "reviews_open": "；{n} 次回顾未结束",
        "well": "没有需要处理的事",
        "blocked": "{place}：{kind}",
        "times": "，{times} 次",
        "of_job": "，任务 {job}",
        "one": "1 项需要处理",
        "many": "{count} 项需要处理",
    },
}

_NEEDED, _NO_SCHEDULER = 6, 1
_SOON = 3
_ENDED_WELL = frozenset({"ok", "skipped"})
_OPEN = frozenset({"queued", "running", "waiting_approval", "waiting_retry"})


@app.command("status", help="Is all well, and what needs a person?")
def status() -> None:
    state = cli()
    morning = _looked(state)
    if state.json:
        state.emit_json(_as_json(state, morning))
    else:
        _show(state, morning)
    well = not (morning.needs or morning.proof.missing)
    raise typer.Exit(_NO_SCHEDULER if not morning.serving else 0 if well else _NEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Morning:
    """Everything that the screen says, of one moment. ``left`` counts runs that only a scheduler could go on with."""

    serving: Sequence[Living]
    left: int
    proof: Accounted
    needs: Sequence[Need]
    coming: Sequence[Coming]
    verdicts: Mapping[str, int]
    sent: Mapping[str, int]
    today: Spent
    month: Spent
    dearest: tuple[str, float] | None
    learned: Day
    moved: Mapping[str, int]


def _looked(state: Cli) -> _Morning:
    from hermes_cron.domain.money import day_began
    from hermes_cron.store import curator, outbox, overview, spending, taught
    from hermes_cron.store.history import accounted

    unlisted = jobs_known.current(state).unlisted
    now, zone = state.clock.now(), ZoneInfo(state.settings.timezone)
    since = now - timedelta(hours=24)
    serving = state.app.schedulers()
    with state.app.store.read() as conn:
        broken = [overview.Need(kind="broken", job=name, text=fault) for name, fault in unlisted]
        return _Morning(
            serving=serving,
            left=0 if serving else _left(state, conn),
            proof=accounted(conn, since=since, now=now),
            needs=[*overview.needs(conn), *broken, *_blocked(state, conn, since), *_of_the_home(state)],
            coming=overview.coming(conn, _SOON),
            verdicts=_judged(overview.verdicts(conn, since)),
            sent={str(state): count for state, count in outbox.counts(conn, since).items()},
            today=spending.today(conn, zone, now),
            month=spending.this_month(conn, zone, now),
            dearest=spending.dearest(conn, day_began(now, zone)),
            learned=taught.since(conn, since),
            moved=_moved(state, curator.ended_since(conn, since)),
        )


def _moved(state: Cli, runs: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """Skills by where the curator moved them, as far as they still are there: an undo or a use takes them back."""
    if not runs:
        return {}
    from hermes_cron.desks import curator_report
    from hermes_cron.experience import lifecycle
    from hermes_cron.experience.curation import Move
    from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

    root = state.home.skills
    try:
        marks = lifecycle.stale(root)
    except ConfigError:  # the curator's own run says it, and fails of it
        return {}
    newest: dict[str, Move] = {}
    for run, job in runs:
        record = curator_report.read(state.home, job, run)
        newest |= {} if record is None else {it.skill: it.kind for it in record.done}

    def stands(name: str, move: Move) -> bool:
        there = (root / name / SKILL_FILE).is_file()
        if move is Move.ARCHIVE:
            return not there and (root / ARCHIVE / name).is_dir()
        return there and (name in marks) == (move is Move.STALE)

    moves = (Move.STALE, Move.ACTIVE, Move.ARCHIVE)
    return Counter(move.value for name, move in newest.items() if move in moves and stands(name, move))


def _judged(verdicts: Mapping[str, int]) -> Mapping[str, int]:
    """Nothing while no run had checks."""
    from hermes_cron.store.overview import NO_VERDICT

    return verdicts if verdicts.keys() - {NO_VERDICT} else {}


def _left(state: Cli, conn: Connection) -> int:
    """Runs that wait, and those whose process died."""
    from hermes_cron.scheduler import owners
    from hermes_cron.store import runs, takes

    counted = takes.states(conn)
    dead = [run for run in runs.owned(conn) if not owners.lives(state.app.home.owners, run.owner)]
    return counted["queued"] + counted["waiting_retry"] + len(dead)


def _blocked(state: Cli, conn: Connection, since: datetime) -> list[Need]:
    """What the scanner kept from an agent in the last 24 hours, a line for each class and place."""
    from hermes_cron.domain.notice_security import look_at
    from hermes_cron.store import security
    from hermes_cron.store.overview import Need

    texts = _TEXTS[state.lang]
    return [
        Need(
            kind="security",
            job=row["job_name"] or "",
            text=texts["blocked"].format(kind=row["kind"].replace("_", " "), place=row["place"])
            + (texts["times"].format(times=row["times"]) if row["times"] > 1 else "")
            + (texts["of_job"].format(job=row["job_name"]) if row["job_name"] else ""),
            run_id=row["run_id"],
            ref=look_at(row["place"], row["run_id"], row["guard"]),
            at=row["at"],
        )
        for row in security.blocked(conn, since)
    ]


def _of_the_home(state: Cli) -> list[Need]:
    """What is wrong with the history and the memory, and jobs that vanished: nothing of it is in the store."""
    from hermes_cron.experience.memory import Target
    from hermes_cron.lost_jobs import problem
    from hermes_cron.store.overview import Need

    trouble, lost = problem(state.app)
    found = [Need(kind="history", job="", text=trouble)] if trouble else []
    if lost is not None:
        number = str(len(lost.files))
        found.append(Need(kind="lost", job="", text=number, ref=lost.command, at=lost.snapshot.at))
    for target in Target:
        if (fault := state.app.memory.kept(target).fault) is not None:
            place = shlex.quote(str(state.home.root / target.path))
            found.append(Need(kind="memory", job="", text=fault, ref=place))
    return found


def _show(state: Cli, morning: _Morning) -> None:
    texts, now = _TEXTS[state.lang], state.clock.now()
    zone = ZoneInfo(state.settings.timezone)
    needs = morning.needs
    soon = [f"{when.brief(each.at, ZoneInfo(each.timezone), now=now)} {each.job}" for each in morning.coming]
    facts = [
        (texts["scheduler"], _scheduler(morning, texts, zone, state.lang)),
        (texts["day"], _day(morning.proof, texts, state.lang)),
        (texts["truth"], _truth(morning.verdicts, texts)),
        (texts["sent"], _sent(morning.sent, texts)),
        (texts["money"], _money(morning, state.settings.budget, texts)),
        (texts["learned"], _learned(morning.learned, morning.moved, texts)),
        (texts["next"], ", ".join(soon) or "-"),
    ]
    state.out(output.facts(facts, indent=0, gap=3))
    state.out()
    if not needs:
        state.out(texts["well"])
        return
    state.out(texts["one"] if len(needs) == 1 else texts["many"].format(count=len(needs)))
    rows = [need_you.row(each, state, zone) for each in needs]
    table = output.table(rows, max_columns=None if state.columns is None else state.columns - 2, give={1})
    state.out("\n".join(f"  {line}" for line in table.splitlines()))


def _scheduler(morning: _Morning, texts: Mapping[str, str], zone: ZoneInfo, lang: str) -> str:
    serving = morning.serving
    if not serving:
        return texts["left_one" if morning.left == 1 else "left" if morning.left else "stopped"].format(
            count=morning.left
        )
    first = serving[0]
    started = first.started_at.astimezone(zone)
    ago = SystemClock().now() - max(each.heartbeat for each in serving)
    text = texts["running"].format(
        since=when.due(started, zone, lang, now=started), pid=first.pid, ago=when.length(ago, lang)
    )
    if len(serving) > 1:
        text += texts["more"].format(count=len(serving) - 1)
    addresses = [each.metrics for each in serving if each.metrics]
    return text + (texts["metrics"].format(address=texts["list"].join(addresses)) if addresses else "")


def _day(proof: Accounted, texts: Mapping[str, str], lang: str) -> str:
    text = texts["due"].format(due=proof.due, accounted=proof.accounted_for)
    if proof.due:
        counted = _counts(proof)
        text += ("：" if lang == "zh" else ": ") + texts["counts"].format(**counted)
        for word in ("missed", "cancelled", "open"):
            text += texts[word].format(count=counted[word]) if counted[word] else ""
        text += texts["latest"].format(span=when.length(proof.latest, lang)) if proof.latest is not None else ""
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


def _truth(verdicts: Mapping[str, int], texts: Mapping[str, str]) -> str:
    """``-`` while no run has checks: nothing was found true, and nothing false."""
    if not verdicts:
        return "-"
    doubted = verdicts.get("not_checkable", 0)
    return texts["verdicts"].format(
        **{word: verdicts.get(word, 0) for word in ("verified", "check_failed", "without_checks")}
    ) + (texts["not_checkable"].format(count=doubted) if doubted else "")


def _sent(sent: Mapping[str, int], texts: Mapping[str, str]) -> str:
    """``-`` while nothing was to be told to anybody."""
    if not sent:
        return "-"
    text = texts["deliveries"].format(**{state: sent.get(state, 0) for state in _TOLD})
    for state, word in (("queued", "queued"), ("held", "held_back")):
        text += texts[word].format(count=sent[state]) if sent.get(state) else ""
    return text


def _money(morning: _Morning, budget: BudgetSettings, texts: Mapping[str, str]) -> str:
    """``-`` while no model was called this month and no cap is set. What has no price is said, never taken for 0."""
    today, month = morning.today, morning.month
    if not month.tokens and not month.unpriced and all(cap is None for cap in asdict(budget).values()):
        return "-"

    def of(used: str, cap: str | None) -> str:
        return used if cap is None else texts["of"].format(used=used, cap=cap)

    def usd(cap: float | None) -> str | None:
        return None if cap is None else dollars(cap)

    text = texts["usd_today"].format(used=of(dollars(today.cost_usd), usd(budget.cost_usd_per_day)))
    text += texts["usd_month"].format(used=of(dollars(month.cost_usd), usd(budget.cost_usd_per_month)))
    if budget.tokens_per_day is not None:
        text += texts["tokens_today"].format(used=of(f"{today.tokens:,}", f"{budget.tokens_per_day:,}"))
    if budget.tokens_per_month is not None:
        text += texts["tokens_month"].format(used=of(f"{month.tokens:,}", f"{budget.tokens_per_month:,}"))
    if month.unpriced:
        text += texts["unpriced_one" if month.unpriced == 1 else "unpriced"].format(count=month.unpriced)
    if morning.dearest is not None:
        text += texts["dearest"].format(job=morning.dearest[0], usd=dollars(morning.dearest[1]))
    return text


_OF_SKILLS = ("created", "patched", "rewritten")


def _learned(day: Day, moved: Mapping[str, int], texts: Mapping[str, str]) -> str:
    """``-`` while nothing was learned, moved or proposed, and no review says that nobody knows."""
    if not (day or moved):
        return "-"
    put_away = day.skills.get("archived", 0)
    known = {word: day.skills.get(word, 0) for word in _OF_SKILLS}
    known["changed"] = sum(day.skills.values()) - put_away - sum(known.values())
    parts = [texts["skill" if n == 1 else "skills"].format(n=n, word=texts[word]) for word, n in known.items() if n]
    removed = day.memory.get("removed", 0)
    for form, n in (("entry", sum(day.memory.values()) - removed), ("entry_removed", removed)):
        if n:
            parts.append(texts[form if n == 1 else form.replace("entry", "entries")].format(n=n))
    text = texts["list"].join(parts) or texts["nothing"]
    text += "".join(texts[word].format(n=moved[word]) for word in ("stale", "active") if moved.get(word))
    archived = put_away + moved.get("archive", 0)
    if day.skills or day.memory or day.proposed or moved:
        text += texts["archived"].format(n=archived) if archived else texts["none_archived"]
    text += texts["proposed"].format(n=day.proposed) if day.proposed else ""
    for form, n in (("failed", day.reviews_failed), ("open", day.reviews_open)):
        if n:
            text += texts[f"review_{form}" if n == 1 else f"reviews_{form}"].format(n=n)
    return text


_TOLD = ("sent", "failed", "unknown", "silent")


def _as_json(state: Cli, morning: _Morning) -> dict[str, Any]:
    def local(at: datetime, zone: str) -> str:
        return at.astimezone(ZoneInfo(zone)).isoformat()

    proof, budget, learned = morning.proof, state.settings.budget, morning.learned or morning.moved
    return {
        "schedulers": [asdict(each) for each in morning.serving],
        "runs_left": morning.left,
        "last_24h": {
            "due": proof.due,
            "accounted_for": proof.accounted_for,
            "waiting": proof.waiting,
            "missing": [{"job": name, "due": at} for name, at in proof.missing],
            **_counts(proof),
            "latest_late_s": None if proof.latest is None else proof.latest.total_seconds(),
        },
        "truth": dict(morning.verdicts) or None,
        "sent": dict(morning.sent) or None,
        "money": {
            "today": asdict(morning.today),
            "month": asdict(morning.month),
            "caps": asdict(budget),
            "dearest": None if morning.dearest is None else {"job": morning.dearest[0], "cost_usd": morning.dearest[1]},
        },
        "learned": {**asdict(morning.learned), "curator": morning.moved} if learned else None,
        "next": [{"job": each.job, "at": local(each.at, each.timezone)} for each in morning.coming],
        "need_you": [{**asdict(each), "command": need_you.command(each, state.clock.now())} for each in morning.needs],
    }

"""``outbox list show retry``: what was sent, what was not, and once more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import jobs_known, output, sent
from hermes_cron.cli.context import Cli, cli
from hermes_cron.domain.delivery import DeliveryState
from hermes_cron.errors import NotDelivered, NotFound, Usage
from hermes_cron.store import reader

if TYPE_CHECKING:
    from datetime import datetime

    from hermes_cron.store.outbox import DeliveryView

app = typer.Typer(help="Messages: sent, waiting, failed.", add_completion=False)

HELP_ZH = {
    "Messages: sent, waiting, failed.": "消息：已发、待发、失败。",
    "Messages that did not arrive yet; --all has the others too.": "尚未送达的消息；--all 显示全部。",
    "One message: its text, its tries and the last answer.": "一条消息：正文、尝试次数和最后的答复。",
    "Try a failed or unknown message once more.": "重发失败或结果不明的消息。",
    "Sent and silent ones too.": "也显示已发送的和无需发送的。",
    "queued, held, sent, failed, unknown or silent.": "queued、held、sent、failed、unknown 或 silent。",
    "Of this job alone.": "只看此任务。",
    "At most so many, newest first.": "最多条数，新的在前。",
    "Pings of outside switches too.": "也显示外部开关的 ping。",
    "The message, for instance d52.": "消息编号，如 d52。",
}

_TEXTS = {
    "en": {
        "none": "Nothing waits and nothing failed.  hermes-cron outbox list --all",
        "none_all": "No messages yet.",
        "none_state": "No such messages.",
        "retry": "once more: hermes-cron outbox retry {id}",
        "doubt": "{id} may have arrived ({why}); sending it again may double it. Send it again?",
        "sent": "{id} sent to {target}: {receipt}",
        "later": "{id} to {target} is tried again at {at}: {error}",
        "waiting": "{id} is queued; it is sent when a scheduler runs",
    },
    "zh": {
        "none": "没有待发或失败的消息。  hermes-cron outbox list --all",
        "none_all": "还没有消息。",
        "none_state": "没有这样的消息。",
        "retry": "再试一次：hermes-cron outbox retry {id}",
        "doubt": "{id} 可能已送达（{why}），重发可能重复。要重发吗？",
        "sent": "{id} 已发到 {target}：{receipt}",
        "later": "{id}（{target}）将于 {at} 再试：{error}",
        "waiting": "{id} 已排队；调度器运行时发送",
    },
}
_HEADERS = {
    "en": ("ID", "AT", "JOB", "KIND", "TARGET", "STATE", "TRIES", "ANSWER"),
    "zh": ("编号", "时间", "任务", "内容", "目标", "状态", "次数", "答复"),
}
_SHOWN = {
    "en": ("message", "job", "run", "target", "state", "tries", "made", "next try", "sent", "answer"),
    "zh": ("内容", "任务", "运行", "目标", "状态", "次数", "产生", "下次", "送达", "答复"),
}
_OPEN = (DeliveryState.QUEUED, DeliveryState.HELD, DeliveryState.FAILED, DeliveryState.UNKNOWN)
_ID = re.compile(r"d?(\d{1,18})")


@app.command("list", help="Messages that did not arrive yet; --all has the others too.")
def list_messages(
    everything: bool = typer.Option(False, "--all", help="Sent and silent ones too."),
    state_word: str = typer.Option(None, "--state", help="queued, held, sent, failed, unknown or silent."),
    job: str = typer.Option(None, "--job", help="Of this job alone."),
    limit: int = typer.Option(50, "--limit", min=1, max=10_000, help="At most so many, newest first."),
    pings: bool = typer.Option(False, "--pings", help="Pings of outside switches too."),
) -> None:
    from hermes_cron.store import outbox

    state = cli()
    states = _states(state_word, everything=everything)
    known = None if job is None else _job(state, job)
    with state.app.store.read() as conn:
        found = outbox.listed(
            conn, states=states, job_name=known.name if known else job, job_uid=known.uid if known else None,
            pings=pings, limit=limit,
        )  # fmt: skip
    if state.json:
        state.emit_json({"deliveries": [as_json(view) for view in found]})
        return
    texts = _TEXTS[state.lang]
    if not found:
        state.out(texts["none_all" if everything else "none_state" if state_word or job else "none"])
        return
    rows = [_row(state, view) for view in found]
    state.out(
        output.table(
            rows, _HEADERS[state.lang], right=frozenset({6}), max_columns=state.columns, give={2, 4, 7}, spare=(6,)
        )
    )
    stuck = next((view for view in found if view.state in {DeliveryState.FAILED, DeliveryState.UNKNOWN}), None)
    if stuck is not None:
        state.note(texts["retry"].format(id=stuck.id))


@app.command("show", help="One message: its text, its tries and the last answer.")
def show(word: str = typer.Argument(..., metavar="ID", help="The message, for instance d52.")) -> None:
    from hermes_cron.store import outbox

    state = cli()
    number = _number(word)
    with state.app.store.read() as conn:
        view, body = outbox.one(conn, number), outbox.body_of(conn, number)
    if state.json:
        state.emit_json({**as_json(view), "title": view.title, "body": body})
        return
    state.out(view.id)
    facts = (
        view.kind, view.job_name, view.run_id or "-", view.target, _state_words(view), f"{view.attempts}",
        _at(state, view.created_at), _at(state, view.next_try_at), _at(state, view.sent_at), _answer(view) or "-",
    )  # fmt: skip
    state.out(output.facts(zip(_SHOWN[state.lang], map(output.one_line, facts), strict=True)))
    state.out()
    state.out(output.plain(f"{view.title}\n\n{body}"))


@app.command("retry", help="Try a failed or unknown message once more.")
def retry(word: str = typer.Argument(..., metavar="ID", help="The message, for instance d52.")) -> None:
    from hermes_cron.store import outbox

    state = cli()
    number = _number(word)
    with state.app.store.read() as conn:
        before = outbox.one(conn, number)
    texts = _TEXTS[state.lang]
    if before.state is DeliveryState.UNKNOWN:
        why = output.one_line(before.error or "")
        if not state.confirm(texts["doubt"].format(id=before.id, why=why)):
            raise typer.Exit(1)
    now = state.clock.now()
    state.app.store.write(lambda conn: outbox.retry(conn, number, now))
    (view,) = state.app.messages.send_now(number)
    if view.state in {DeliveryState.FAILED, DeliveryState.UNKNOWN}:
        raise NotDelivered(
            f"{view.id} to {view.target}: {output.one_line(view.error or view.state)}",
            hint=f"hermes-cron targets test {view.target}",
            details={"id": view.id, "state": view.state},
        )
    if state.json:
        state.emit_json(as_json(view))
        return
    word = "sent" if view.state is DeliveryState.SENT else "waiting" if view.untried else "later"
    told = texts[word].format(
        id=view.id, target=view.target, receipt=view.receipt, error=view.error, at=_at(state, view.next_try_at)
    )
    state.out(output.one_line(told))


def as_json(view: DeliveryView) -> dict[str, object]:
    """A delivery for scripts, as everywhere, and what it belongs to."""
    return {
        **sent.as_json(view),
        "job": view.job_name,
        "run_id": view.run_id,
        "created_at": view.created_at,
        "message_id": view.message_id,
    }


def _job(state: Cli, word: str) -> reader.Listed | None:
    """Removed ones too; None where only messages remember the name. Raises NotFound, NameAmbiguous."""
    from hermes_cron.store import outbox

    try:
        return reader.resolve(jobs_known.current(state, removed=True).listed, word)
    except NotFound:
        with state.app.store.read() as conn:
            if outbox.listed(conn, job_name=word, pings=True, limit=1):
                return None
        raise


def _states(word: str | None, *, everything: bool) -> tuple[DeliveryState, ...]:
    if word is None:
        return () if everything else _OPEN
    try:
        return (DeliveryState(word.strip().lower()),)
    except ValueError:
        known = ", ".join(state.value for state in DeliveryState)
        raise Usage(f"{output.one_line(word)!r} is no state of a message", hint=f"--state {known}") from None


def _number(word: str) -> int:
    found = _ID.fullmatch(word.strip().lower())
    if found is None:
        raise NotFound(f'no delivery "{output.one_line(word)}"', hint="hermes-cron outbox list --all")
    return int(found[1])


def _row(state: Cli, view: DeliveryView) -> tuple[str, ...]:
    return (
        view.id, _at(state, view.created_at), view.job_name, view.kind, view.target, view.state,
        str(view.attempts), _answer(view),
    )  # fmt: skip


def _answer(view: DeliveryView) -> str:
    return view.receipt or view.error or view.reason or ""


def _state_words(view: DeliveryView) -> str:
    return f"{view.state} ({view.reason})" if view.reason else view.state.value


def _at(state: Cli, instant: datetime | None) -> str:
    if instant is None:
        return "-"
    return f"{instant.astimezone(ZoneInfo(state.settings.timezone)):%m-%d %H:%M:%S}"

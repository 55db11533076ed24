"""``incidents``: list the open ones, show one, take one on so that it is quiet until solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.who import person

if TYPE_CHECKING:
    from hermes_cron.store.incident_desk import IncidentView
    from hermes_cron.store.outbox import DeliveryView

app = typer.Typer(help="Failures that are not solved yet.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "Failures that are not solved yet.": "尚未解决的故障。",
    "Open incidents, newest first.": "未解决的故障，最新的在前。",
    "One incident: since when, how often, who was told.": "一个故障：何时开始、几次、通知了谁。",
    "Take it on: no more messages until it is solved.": "接手处理：解决之前不再提醒。",
    "Those that are over as well.": "包括已解决的。",
    "At most so many.": "最多显示多少条。",
    "The incident, such as i17.": "故障编号，例如 i17。",
}

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "headers": ("ID", "JOB", "KIND", "SINCE", "RUNS", "OVER", "ACK", "WHY"),
        "none": "No open incidents.",
        "none_ever": "No incidents yet.",
        "next": "look: hermes-cron incidents show ID     quiet until solved: hermes-cron incidents ack ID",
        "job": "job", "kind": "kind", "why": "why", "since": "since", "failed": "failed", "over": "over", "ack": "ack",
        "told": "told", "look": "look",
        "runs": "{n} runs, {first} to {last}", "run": "1 run, {first}",
        "open": "not yet",
        "ended": "{at}, by run {run}",
        "acked": "{by}, {at}",
        "nobody": "nobody",
        "message": "{target}: {kind}, {state}",
        "taken": "{id} is {by}'s: {job} is quiet until it is solved",
        "before": "{id} is {by}'s already, since {at}",
    },
    "zh": {
        "headers": ("编号", "任务", "类别", "开始", "次数", "结束", "接手", "原因"),
        "none": "没有未解决的故障。",
        "none_ever": "还没有故障。",
        "next": "查看：hermes-cron incidents show 编号     解决前不再提醒：hermes-cron incidents ack 编号",
        "job": "任务", "kind": "类别", "why": "原因", "since": "开始", "failed": "失败", "over": "结束", "ack": "接手",
        "told": "通知", "look": "查看",
        "runs": "{n} 次，{first} 至 {last}", "run": "1 次，{first}",
        "open": "尚未",
        "ended": "{at}，运行 {run}",
        "acked": "{by}，{at}",
        "nobody": "无人",
        "message": "{target}：{kind}，{state}",
        "taken": "{id} 由 {by} 接手：{job} 在解决之前不再提醒",
        "before": "{id} 已由 {by} 于 {at} 接手",
    },
}  # fmt: skip

Word = Annotated[str, typer.Argument(metavar="ID", help="The incident, such as i17.")]


@app.command("list", help="Open incidents, newest first.")
def list_incidents(
    ended: Annotated[bool, typer.Option("--all", help="Those that are over as well.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 50,
) -> None:
    from hermes_cron.store import incident_desk as desk

    state = cli()
    with state.app.store.read() as conn:
        found = desk.listed(conn, ended=ended, limit=limit)
    if state.json:
        state.emit_json({"incidents": [_as_json(each) for each in found]})
        return
    texts = _TEXTS[state.lang]
    if not found:
        state.out(texts["none_ever" if ended else "none"])
        return
    rows = [_row(each, state) for each in found]
    headers = texts["headers"]
    if not ended:
        rows, headers = [[*row[:5], *row[6:]] for row in rows], (*headers[:5], *headers[6:])
    state.out(
        output.table(
            rows, headers, right=frozenset({4}), max_columns=state.columns, give={1, 2, len(headers) - 1}, spare=(4,)
        )
    )
    if any(each.ended_at is None and each.acked_at is None for each in found):
        state.note(texts["next"])


def _row(incident: IncidentView, state: Cli) -> list[str]:
    zone, now = ZoneInfo(state.settings.timezone), state.clock.now()

    def at(instant: datetime | None) -> str:
        """To the minute."""
        return "" if instant is None else when.due(instant.replace(second=0), zone, state.lang, now=now)

    return [
        incident.id,
        incident.job_name,
        incident.kind,
        at(incident.opened_at),
        f"{incident.failures:,}",
        at(incident.ended_at),
        incident.acked_by or "",
        incident.error or "",
    ]


@app.command("show", help="One incident: since when, how often, who was told.")
def show(word: Word) -> None:
    from hermes_cron.store import incident_desk as desk

    state = cli()
    with state.app.store.read() as conn:
        found = desk.one(conn, word)
        told, command = desk.told(conn, found), desk.look(conn, found)
    if state.json:
        messages = [
            {"id": each.id, "target": each.target, "kind": each.kind, "state": each.state, "reason": each.reason}
            for each in told
        ]
        state.emit_json(_as_json(found) | {"messages": messages, "next_command": command})
        return
    state.out(found.id)
    state.out(output.facts(_facts(found, told, command, state)))


def _facts(incident: IncidentView, told: list[DeliveryView], command: str, state: Cli) -> list[tuple[str, str]]:
    texts, zone = _TEXTS[state.lang], ZoneInfo(state.settings.timezone)

    def at(instant: datetime) -> str:
        return when.whole(instant, zone, state.lang)

    over = texts["open"]
    if incident.ended_at is not None:
        over = texts["ended"].format(at=at(incident.ended_at), run=incident.ended_run)
    acked = "-"
    if incident.acked_at is not None:
        acked = texts["acked"].format(by=incident.acked_by, at=at(incident.acked_at))
    runs = texts["run" if incident.failures == 1 else "runs"]
    return [
        (texts["job"], incident.job_name),
        (texts["kind"], incident.kind),
        (texts["why"], output.one_line(incident.error or "-")),
        (texts["since"], f"{at(incident.opened_at)} ({zone.key})"),
        (texts["failed"], runs.format(n=incident.failures, first=incident.first_run, last=incident.last_run)),
        (texts["over"], over),
        (texts["ack"], acked),
        (texts["told"], "\n".join(_message(each, texts) for each in told) or texts["nobody"]),
        (texts["look"], command),
    ]


def _message(view: DeliveryView, texts: Mapping[str, str]) -> str:
    state = f"{view.state} ({view.reason})" if view.reason else str(view.state)
    return texts["message"].format(target=view.target, kind=view.kind, state=state)


@app.command("ack", help="Take it on: no more messages until it is solved.")
def ack(word: Word) -> None:
    from hermes_cron.store import incident_desk as desk

    state = cli()
    by, now = person(), state.clock.now()
    found, changed = state.app.store.write(lambda conn: desk.ack(conn, word, by=by, now=now))
    if state.json:
        state.emit_json(_as_json(found) | {"changed": changed})
        return
    texts, zone = _TEXTS[state.lang], ZoneInfo(state.settings.timezone)
    at = when.whole(found.acked_at or now, zone, state.lang)
    said = texts["taken" if changed else "before"]
    state.out(said.format(id=found.id, by=found.acked_by, at=at, job=found.job_name))


def _as_json(incident: IncidentView) -> dict[str, object]:
    values = asdict(incident)
    del values["number"], values["job_uid"]
    return {"id": incident.id, "job": values.pop("job_name"), **values}

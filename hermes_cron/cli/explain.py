"""``explain``: what does a schedule mean, and when does it surprise?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.schedule_faults import explained
from hermes_cron.errors import PromptEmpty, Usage
from hermes_cron.settings import host_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

app = typer.Typer(help="What a schedule means, with its next times.", add_completion=False)

HELP_ZH = {
    "What a schedule means, with its next times.": "解释一个时间表并列出接下来的时间。",
    'A phrase, cron text or instant, also with ": prompt".': "短语、cron 表达式或时刻，也可带“：提示词”。",
    "The time zone, an IANA name.": "时区（IANA 名称）。",
    "As if it were this instant: 2026-12-01T09:00.": "假设现在是此刻：2026-12-01T09:00。",
    "How many next instants.": "列出多少个时刻。",
}


@app.command("explain", help="What a schedule means, with its next times.")
def explain(
    phrase: Annotated[
        list[str], typer.Argument(metavar="PHRASE", help='A phrase, cron text or instant, also with ": prompt".')
    ],
    tz: Annotated[str | None, typer.Option("--tz", help="The time zone, an IANA name.")] = None,
    now: Annotated[str | None, typer.Option("--now", help="As if it were this instant: 2026-12-01T09:00.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many next instants.")] = 3,
) -> None:
    from hermes_cron.domain.schedule.forecast import explain as forecast
    from hermes_cron.domain.schedule.forecast import render
    from hermes_cron.domain.schedule.phrase import language

    state = cli()
    zone = zone_named(state, tz)
    moment = instant_of(now, zone) if now else state.clock.now()
    text = " ".join(phrase).strip()
    with explained(state, text):
        schedule, prompt = _parts(text, moment, zone)
        found = forecast(schedule, now=moment, zone=zone, prompt=prompt, count=count)
    if state.json:
        state.emit_json(found.as_json())
        return
    state.out(render(found, state.lang_option or ("zh" if language(schedule) == "zh" else state.lang)))


def zone_named(state: Cli, name: str | None) -> ZoneInfo:
    """The zone of ``--tz``, else of the home, else of the environment. Raises Usage for an unknown one."""
    from hermes_cron.jobs.load import near_zone, zone_of

    if name is None:
        name = state.settings.timezone if state.home_path.is_home() else host_zone(state.environment)
    zone = zone_of(name)
    if zone is None:
        raise Usage(f'no time zone "{name}"{near_zone(name)}', hint="an IANA name such as Asia/Shanghai")
    return zone


def instant_of(text: str, zone: ZoneInfo) -> datetime:
    """An option's instant, in ``zone`` where it says no offset. Raises Usage."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Usage(f'"{text}" is not an instant', hint="such as 2026-12-01T09:00 or 2026-12-01T09:00+08:00") from None


def instant_or_ago(text: str, now: datetime, state: Cli) -> datetime:
    """An option's instant in the home's zone, or ``2h`` before ``now``. Raises Usage."""
    from hermes_cron.jobs.forms import duration

    span: timedelta | None = duration(text.strip())
    return now - span if span is not None else instant_of(text, zone_named(state, None))


def _parts(text: str, now: datetime, zone: ZoneInfo) -> tuple[str, str | None]:
    """The schedule, and the prompt where one follows."""
    from hermes_cron.domain.schedule.phrase import split

    try:
        return split(text, now=now, zone=zone)
    except PromptEmpty:
        return text.rstrip(":： "), None

"""``logs``: the scheduler's lines, those of today's file and of the older ones beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import NotFound, Usage

app = typer.Typer(help="The scheduler's log lines.", add_completion=False)

HELP_ZH = {
    "The scheduler's log lines.": "调度器日志。",
    "Wait for more lines.": "持续等待新日志。",
    "Only lines since then: 2h, 7d, or 2026-12-01T09:00.": "只看此后的日志：2h、7d 或 2026-12-01T09:00。",
    "At most so many of the newest lines.": "最多显示多少行（取最新）。",
}

_POLL_S = 0.25


@app.command("logs", help="The scheduler's log lines.")
def logs(
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more lines.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", help="Only lines since then: 2h, 7d, or 2026-12-01T09:00.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, max=1_000_000, help="At most so many of the newest lines.")
    ] = 100,
) -> None:
    from hermes_cron.observe.logs import NAME

    state = cli()
    path = state.home.logs / NAME
    begin = None if since is None else _since(since, state)
    if not path.exists() and not follow:
        raise NotFound("no scheduler has written here yet", hint="hermes-cron serve")
    files = [path.with_name(f"{NAME}.{number}") for number in range(9, 0, -1)] + [path]
    place = path.stat().st_size if path.exists() else 0
    found = [line for file in files for line in _lines(file) if begin is None or _at(line) >= begin]
    newest = found[-limit:] if limit else []
    if state.json and not follow:
        state.emit_json({"lines": newest})
        return
    for line in newest:
        _print(line, state)
    if follow:
        for line in _following(path, place):
            _print(line, state)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines; one that a full disk cut short is passed over."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line for text in file if (line := _read(text)) is not None)
    except FileNotFoundError:
        return


def _read(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _at(line: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(str(line["at"]))


def _print(line: dict[str, Any], state: Cli) -> None:
    from hermes_cron.observe.logs import render

    print(json.dumps(line, ensure_ascii=False) if state.json else output.plain(render(line)), flush=True)


def _following(path: Path, place: int) -> Iterator[dict[str, Any]]:
    """Lines that come after byte ``place``; goes on with the new file when the old one was moved aside."""
    rest = b""
    inode = path.stat().st_ino if path.exists() else 0
    while True:
        time.sleep(_POLL_S)
        try:
            with path.open("rb") as file:
                stat = path.stat()
                if stat.st_ino != inode or stat.st_size < place:
                    inode, place, rest = stat.st_ino, 0, b""
                file.seek(place)
                data = rest + file.read()
        except FileNotFoundError:
            continue
        place += len(data) - len(rest)
        *whole, rest = data.split(b"\n")
        yield from (line for text in whole if (line := _read(text.decode("utf-8", "replace"))) is not None)


def _since(text: str, state: Cli) -> datetime:
    from hermes_cron.cli.explain import instant_or_ago

    now = state.clock.now()
    found = instant_or_ago(text, now, state)
    if found > now:
        raise Usage(f"--since {text} is to come", hint="--since 2h")
    return found

"""``scan``: would this text be let in where an agent reads it? Exit 0 (allow, warn), 4 (block)."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import NotFound, TextBlocked, Usage

app = typer.Typer(help="Would a text be let in where an agent reads it?", add_completion=False)

HELP_ZH = {
    "Would a text be let in where an agent reads it?": "一段文字能否进入智能体会读到的地方？",
    "A file, a skill's folder, or - for standard input.": "文件、技能文件夹，或 -（标准输入）。",
    "Where the text would go.": "文字将放在哪里。",
}

_TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "place": "PLACE",
        "verdict": "VERDICT",
        "class": "CLASS",
        "text": "TEXT",
        "clean": "nothing found; as {purpose}: allow",
        "sum": "as {purpose}: {verdict}",
        "blocked": "blocked as {purpose}: {kind} at {place}",
        "hint": "quote what is only spoken of; the classes: docs/formats/scanner.md",
        "says": "{excerpt}  says: {decoded}",
    },
    "zh": {
        "place": "位置",
        "verdict": "结论",
        "class": "类别",
        "text": "文字",
        "clean": "未发现问题；作为 {purpose}：allow",
        "sum": "作为 {purpose}：{verdict}",
        "blocked": "作为 {purpose} 被拦截：{kind}，{place}",
        "hint": "仅作谈论的文字请加引号；类别见 docs/formats/scanner.md",
        "says": "{excerpt}  内容：{decoded}",
    },
}
_LONGEST = 16_777_216


class As(StrEnum):
    """The purposes, known without the scanner: help imports nothing of it."""

    MEMORY = "memory"
    SKILL = "skill"
    CONTEXT = "context"
    PROMPT = "prompt"


@app.command("scan", help="Would a text be let in where an agent reads it?")
def scan_text(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A file, a skill's folder, or - for standard input.")],
    purpose: Annotated[As, typer.Option("--as", help="Where the text would go.")],
) -> None:
    from hermes_cron.domain.scan import Purpose, Verdict, scan

    state = cli()
    found = sorted(
        ((place, each) for place, text in _texts(file, purpose) for each in scan(text, Purpose(purpose)).findings),
        key=lambda it: (-it[1].verdict.rank, it[0], it[1].line),
    )
    verdict = found[0][1].verdict if found else Verdict.ALLOW
    facts: list[dict[str, object]] = [
        {
            "file": place,
            "line": each.line,
            "column": each.column,
            "class": each.kind.value,
            "verdict": each.verdict.value,
            "excerpt": each.excerpt,
            "decoded": each.decoded,
        }
        for place, each in found
    ]
    if state.json:
        state.emit_json({"as": purpose.value, "verdict": verdict.value, "findings": facts})
    else:
        _show(state, facts, verdict, purpose)
    if verdict is Verdict.BLOCK:
        raise _refusal(state, facts[0], purpose)


def _refusal(state: Cli, worst: dict[str, object], purpose: As) -> TextBlocked:
    texts, kind = _TEXTS[state.lang], str(worst["class"]).replace("_", " ")
    place = f"{output.one_line(str(worst['file']))}:{worst['line']}"
    return TextBlocked(
        texts["blocked"].format(purpose=purpose, kind=kind, place=place),
        hint=texts["hint"],
        details={key: worst[key] for key in ("class", "file", "line")},
    )


def _show(state: Cli, facts: list[dict[str, object]], verdict: str, purpose: As) -> None:
    texts = _TEXTS[state.lang]
    if not facts:
        state.out(texts["clean"].format(purpose=purpose))
        return
    rows = [
        (
            f"{output.one_line(str(fact['file']))}:{fact['line']}:{fact['column']}",
            str(fact["verdict"]),
            str(fact["class"]).replace("_", " "),
            texts["says"].format(**fact) if fact["decoded"] else str(fact["excerpt"]),
        )
        for fact in facts
    ]
    headers = (texts["place"], texts["verdict"], texts["class"], texts["text"])
    state.out(output.table(rows, headers, max_columns=state.columns))
    state.note(texts["sum"].format(purpose=purpose, verdict=verdict))


def _texts(file: str, purpose: As) -> list[tuple[str, str]]:
    """What to scan, with the name that is shown. A folder is a skill: all its files."""
    if file == "-":
        return [("-", _decoded(sys.stdin.buffer.read(_LONGEST)))]
    path = Path(file).expanduser()
    if path.is_dir():
        if purpose is not As.SKILL:
            raise Usage(f"{file} is a folder", hint=f"hermes-cron scan {file} --as skill")
        from hermes_cron.experience.skill_screen import texts

        return [(f"{file.rstrip('/')}/{name}", text) for name, text in texts(path)]
    try:
        with path.open("rb") as stream:
            return [(file, _decoded(stream.read(_LONGEST)))]
    except OSError as error:
        raise NotFound(f"{file}: {error.strerror}", hint="hermes-cron scan FILE --as prompt") from error


def _decoded(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")

"""How is a fault said: the fact, the place and the next command, to people and to scripts?"""

from __future__ import annotations

from collections.abc import Sequence

import click

from hermes_cron.cli import output
from hermes_cron.cli.commands import COMMANDS, canonical
from hermes_cron.errors import (
    ConfigError,
    DatabaseError,
    HermesCronError,
    JobFileError,
    ModelError,
    PlaybookInvalid,
    SkillFrontmatterError,
    SkillOutsideRoot,
    Usage,
)

_LABELS_ZH = {
    "add one": "添加", "always": "每次", "cheaper": "更省", "decision": "答复", "error": "错误",
    "examples": "示例", "kept": "保留", "known": "已有",
    "left over": "多余", "length": "间隔", "look": "查看", "make a reader": "建只读账号", "matches": "匹配",
    "missing": "缺少", "near": "相近", "next try": "下次重试", "once": "一次", "or insist": "或坚持",
    "or raise": "或提高上限", "time of day": "时刻",
    "try": "可以试", "understood": "已理解", "usage": "用量", "used in": "使用处", "versions": "版本",
    "ways": "可行的方式",
}  # fmt: skip


_NEXT: tuple[tuple[type[HermesCronError], str], ...] = (
    (JobFileError, "hermes-cron check"),
    (SkillFrontmatterError, "hermes-cron skills lint"),
    (SkillOutsideRoot, "hermes-cron skills lint"),
    (PlaybookInvalid, "hermes-cron skills lint"),
    (DatabaseError, "hermes-cron db list"),
    (ModelError, "hermes-cron model show"),
    (ConfigError, "hermes-cron config check"),
)
"""Where to look when the fault lies in something that is there already and its raiser named no command."""

_WRITERS = frozenset({"add", "edit", "init"})
"""Their faults are mostly about what was typed, which `check` does not see."""


def as_json(error: HermesCronError, encoding: str | None, argv: Sequence[str] = ()) -> str:
    """``{"error": {"code", "message", "hint", ...details}}``; the hint is never empty."""
    lines = _detail_lines(error)
    told = "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in lines)
    body = {"code": error.code, "message": error.message, "hint": error.hint or told or _next_command(error, argv)}
    return output.to_json({"error": {**body, **error.details}}, encoding)


def as_text(error: HermesCronError, language: str, argv: Sequence[str] = ()) -> str:
    """One line with the fact and the place, then a labelled line for each detail and for the hint.

    Details that are text or a list of texts are shown, in their order; other values are for scripts only.
    """
    lines = _detail_lines(error)
    if error.hint or not lines:
        lines.append(("try", error.hint or _next_command(error, argv)))
    if language == "zh":
        from hermes_cron.cli import problems_zh

        said = f"{_LABELS_ZH['error']}：{problems_zh.message(error.message)}"
        lines = [(_label(key, language), problems_zh.hint(value)) for key, value in lines]
    else:
        said = f"error: {error.message}"
        lines = [(_label(key, language), value) for key, value in lines]
    return f"{output.plain(said)}\n{output.facts(lines)}"


def _detail_lines(error: HermesCronError) -> list[tuple[str, str]]:
    return [(key, shown) for key, value in error.details.items() if (shown := _shown(value)) is not None]


def _next_command(error: HermesCronError, argv: Sequence[str]) -> str:
    """For a fault that came without one: the command that shows the thing, else the help of what was typed."""
    words = [word for word in argv if not word.startswith("-")]
    at = next((position for position, word in enumerate(words) if canonical(word) in COMMANDS), None)
    if at is None:
        return "hermes-cron --help"
    verb = canonical(words[at])
    below = words[at + 1 : at + 2] if COMMANDS[verb].noun else []
    if not _WRITERS & {verb, *below}:
        for kind, command in _NEXT:
            if isinstance(error, kind):
                return command
    return " ".join(["hermes-cron", verb, *below, "--help"])


def from_click(error: click.ClickException) -> Usage:
    """click's word for a wrong option or argument as ours."""
    message = error.format_message().rstrip(".")
    hint = None
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"{error.ctx.command_path} --help"
        if isinstance(error, click.NoSuchOption) and not error.possibilities:
            hint += "\ntext that begins with a dash goes after --"
    return Usage(message[:1].lower() + message[1:], hint=hint)


def _shown(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return None


def _label(key: str, language: str) -> str:
    words = key.replace("_", " ")
    return _LABELS_ZH.get(words, words) if language == "zh" else words

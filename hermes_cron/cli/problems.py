"""How is a fault said: the fact, the place and the next command, to people and to scripts?"""

from __future__ import annotations

import click

from hermes_cron.cli import output
from hermes_cron.errors import HermesCronError, Usage

_LABELS_ZH = {
    "add one": "添加", "always": "每次", "error": "错误", "examples": "示例", "kept": "保留", "known": "已有",
    "left over": "多余", "length": "间隔", "look": "查看", "make a reader": "建只读账号", "missing": "缺少",
    "near": "相近", "next try": "下次重试", "once": "一次", "or insist": "或坚持", "time of day": "时刻",
    "try": "可以试", "understood": "已理解", "used in": "使用处", "ways": "可行的方式",
}  # fmt: skip


def as_json(error: HermesCronError, encoding: str | None) -> str:
    """``{"error": {"code", "message", "hint", ...details}}``."""
    body = {"code": error.code, "message": error.message, "hint": error.hint, **error.details}
    return output.to_json({"error": body}, encoding)


def as_text(error: HermesCronError, language: str) -> str:
    """One line with the fact and the place, then a labelled line for each detail and for the hint.

    Details that are text or a list of texts are shown, in their order; other values are for scripts only.
    """
    word = _LABELS_ZH["error"] if language == "zh" else "error"
    lines = [(key, shown) for key, value in error.details.items() if (shown := _shown(value)) is not None]
    if error.hint:
        lines.append(("try", error.hint))
    labelled = [(_label(key, language), value) for key, value in lines]
    head = f"{word}: {output.plain(error.message)}"
    return f"{head}\n{output.facts(labelled)}" if labelled else head


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

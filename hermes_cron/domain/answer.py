"""What is a final text: a report, silence, nothing, or a refusal? Read by fixed rules, never guessed.

The silence marker is ``[SILENT]``, exactly, alone on the last line that is not empty. Whatever only resembles it is
text: an odd word that is sent is safer than a report that is dropped. A refusal in words counts as one only where the
text is nothing else: short, the first thing the agent did, and of a refusal's form from its first word to its end.
"""

from __future__ import annotations

import re
from enum import StrEnum

MARKER = "[SILENT]"
_LONGEST_REFUSAL = 400


class Answer(StrEnum):
    """What a run's last text is."""

    REPORT = "report"
    SILENT = "silent"
    EMPTY = "empty"
    REFUSAL = "refusal"


def read(text: str, *, tool_calls: int = 0) -> Answer:
    """``tool_calls`` are those of the run: who looked at something and then says no, reports."""
    lines = [line.removesuffix("\r") for line in text.split("\n") if line.strip()]
    if not lines:
        return Answer.EMPTY
    if lines[-1] == MARKER:
        return Answer.SILENT
    return Answer.REFUSAL if tool_calls == 0 and _refuses(text) else Answer.REPORT


_SORRY = r"(?:(?:i['’]m|i am) (?:very |so |really )?sorry|sorry|my apologies|i apologi[sz]e|unfortunately)"
_CANNOT = (
    r"(?:can['’]?t|cannot|can not|won['’]?t|will not|am unable to|am not able to|['’]m unable to|['’]m not able to"
    r"|must decline to|have to decline to)"
)
_DO = r"(?:help|assist|comply|engage|fulfill?)"
_WHAT = r"(?:\s+(?:you|with|in|to|your|this|that|the|these|those|such|it|any|requests?|tasks?|topics?)\b)*"
_ENGLISH = re.compile(
    rf"(?:{_SORRY}[,.!;]?\s*(?:but\s+)?)?(?:as an? [^.,:;\n]{{1,40}},\s*)?i\s*{_CANNOT}\s+(?:be able to\s+)?{_DO}\b"
    rf"{_WHAT}(?P<rest>[^:\n]*)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:(?:非常|很|十分)?(?:抱歉|对不起|遗憾)[，,。！! ]*)?(?:但是?|作为[^，。：\n]{1,20}[，,])?"
    r"我?(?:无法|不能|没办法|不便|不可以)"
    r"(?:为您|为你|向您|向你|给您|给你)?"
    r"(?:(?:提供|给予)(?:这方面的|这类|此类|相关的?)?(?:协助|帮助|支持)|协助|帮助您|帮助你|帮您|帮你"
    r"|(?:满足|完成|处理|执行|回答|回应)(?:您的|你的|这个|这一|该|此|这类|此类)(?:请求|要求|问题|任务))"
    r"(?P<rest>[^：:\n]*)",
)
_LACKS = re.compile(
    r"\b(?:tools?|no|not|missing|without|needs?|databases?|files?|tables?|logs?|data|configured|connect\w*)\b"
    r"|缺|没有|找不到|未|连接|权限|工具|数据库|文件|需要",
    re.IGNORECASE,
)
"""Words of somebody who says what is missing: the prompt asks for that, and it is a report."""


def _refuses(text: str) -> bool:
    """One paragraph, no figure, no list, no colon: whoever lists what is missing tells something."""
    said = " ".join(text.split())
    if len(said) > _LONGEST_REFUSAL or len(text.strip().splitlines()) > 3 or re.search(r"\d", said):
        return False
    found = next((match for form in (_ENGLISH, _CHINESE) if (match := form.fullmatch(said))), None)
    return found is not None and _LACKS.search(found["rest"]) is None

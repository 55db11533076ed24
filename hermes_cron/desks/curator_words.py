"""How are the curator's own reasons said in Chinese? They are kept in English; what a model wrote stays as it is."""

from __future__ import annotations

import re
from typing import Final

_ZH: Final = tuple(
    (re.compile(said, re.DOTALL), chinese)
    for said, chinese in (
        (r"not used in its (\d+) days", r"创建 \1 天以来未使用"),
        (r"not used for (\d+) days", r"已 \1 天未使用"),
        (r"went badly in (\d+) of its last (\d+) runs", r"最近 \2 次运行中有 \1 次结果不好"),
        (r"in use again", r"又在使用"),
        (r"pinned", r"已固定"),
        (r"written by hand", r"手写"),
        (r"came with hermes-cron", r"hermes-cron 自带"),
        (r"broken: a person looks at it", r"损坏：请人查看"),
        (r"named by (.+?) and (\d+) more", r"被任务引用：\1，另有 \2 个"),
        (r"named by (.+)", r"被任务引用：\1"),
        (r"the same text as in (\S+)", r"与 \1 文本相同"),
        (r"(\d+%) of the text is the same as in (\S+)", r"与 \2 有 \1 的文本相同"),
        (r"broken: (.+)", r"损坏：\1"),
        (r"its text names files that are not there: (.+)", r"文中提到的文件不存在：\1"),
        (r"job (.+) names it, and there is no such skill", r"任务 \1 引用了它，但没有这个技能"),
        (r"no model was asked: none is configured", r"没有询问模型：未配置"),
        (r"no model was asked: there is no skill to look at", r"没有询问模型：没有可看的技能"),
        (r"(.+) was asked about (\d+) skills and proposes nothing", r"已就 \2 个技能询问 \1，没有提议"),
        (r"(.+) proposes nothing, and nothing was changed on its word: (.+)", r"\1 没有提议，也没有据其改动：\2"),
    )
)


def said(text: str, lang: str) -> str:
    """In the reader's language, where the words are the curator's own."""
    if lang == "zh":
        for pattern, chinese in _ZH:
            found = pattern.fullmatch(text)
            if found is not None:
                return found.expand(chinese)
    return text

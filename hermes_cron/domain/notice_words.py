"""In which words is a message said? English and Chinese, the same keys in both."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        # heads
        "failed": "FAILED",
        "budget_exhausted": "OUT OF BUDGET",
        "check_failed": "CHECK FAILED",
        "not_checkable": "NOT CHECKABLE",
        "head": "{word} {job}, due {due}",
        "head_by_hand": "{word} {job}, started by hand {due}",
        "recovered": "RECOVERED {job}: {due} ok, {verdict}. Failed {runs} in {span} ({ids}).",
        "recovered_by_hand": "RECOVERED {job}: by hand {due} ok, {verdict}. Failed {runs} in {span} ({ids}).",
        "held": "HELD {job} after {n} in a row",
        "asks": "[{id}] {job} asks whether to do this (again)",
        # verdicts
        "verified": "verified",
        "unchecked": "no checks",
        # counts
        "run": "1 run", "runs": "{n} runs",
        "failure": "1 failure", "failures": "{n} failures",
        "tries": "{what} ({n} tries in {span})",
        "more": "and {n} more",
        # the footer of a report
        "footer": "{job} {run}, {verdict}, {usage}.",
        "footer_bad": "{job} {run}, {verdict}. {usage}. Look: {look}",
        "bad_check": "{word}: {what}",
        "tokens": "{n} tokens", "tokens_unknown": "tokens unknown",
        "cost": "{usd} USD", "cost_unknown": "cost unknown",
        "join": ", ", "list": "; ", "space": " ",
        # what is known
        "last_good": "Last good run: {at}.", "never": "none",
        "next": "Next: {at}.", "paused": "Next: none, it is paused.",
        "no_report_today": "No report exists for today.",
        "no_report_day": "No report exists for {day}.",
        "no_report_run": "This run has no report.",
        "kept": "What was known: {path}.",
        "false_done": "The run ended as done; its checks say otherwise:",
        "unproved": "The run ended as done; it could not be checked:",
        "distrust": "Its report is kept, not proven: {path}.",
        "stays_held": "Nothing of it starts until somebody resumes it.",
        # the last line
        "look": "look: {command}",
        "quiet": "quiet until solved: hermes-cron incidents ack {id}",
        "resume": "go on: hermes-cron resume {job}",
        # an approval
        "why": "why", "known": "known", "approve": "approve", "deny": "deny", "asked": "asked by", "silence": "silence",
        "why_text": "whoever ran it was lost before it reported back: it may have happened, or not",
        "approve_text": "means it did not happen and shall be done now",
        "deny_text": "means it did happen, or must not; it is not done",
        "asked_text": "run {run}",
        "silence_text": "means no, on {at} ({span})",
        "answers": 'yes: hermes-cron approve {id}     no: hermes-cron deny {id} "reason"     '
        "more: hermes-cron approvals show {id}",
        # why a run ended that said nothing itself
        "owner_died": "the scheduler that ran it died, and it is not repeated on a guess",
        "shutdown": "the scheduler was stopped while it ran",
        "overlong": "it did not end at its time limit",
        "crashed": "its scheduler died three times at the same step",
        "denied": "what it asked for was refused",
        "expired": "nobody answered what it asked",
        "unexplained": "it ended as {state}",
        "unexplained_reason": "it ended as {state} ({reason})",
    },
    "zh": {
        "failed": "失败",
        "budget_exhausted": "预算用尽",
        "check_failed": "核查未过",
        "not_checkable": "无法核查",
        "head": "{word} {job}，应于 {due} 执行",
        "head_by_hand": "{word} {job}，{due} 手动启动",
        "recovered": "恢复 {job}：{due} 成功，{verdict}。{span}内失败 {runs}（{ids}）。",
        "recovered_by_hand": "恢复 {job}：{due} 手动运行成功，{verdict}。{span}内失败 {runs}（{ids}）。",
        "held": "挂起 {job}：连续{n}",
        "asks": "[{id}] {job} 询问是否（再次）执行",
        "verified": "已核实",
        "unchecked": "无核查",
        "run": "1 次", "runs": "{n} 次",
        "failure": "失败 1 次", "failures": "失败 {n} 次",
        "tries": "{what}（{span}内试了 {n} 次）",
        "more": "另有 {n} 项",
        "footer": "{job} {run}，{verdict}，{usage}。",
        "footer_bad": "{job} {run}，{verdict}。{usage}。查看：{look}",
        "bad_check": "{word}：{what}",
        "tokens": "{n} token", "tokens_unknown": "token 数未知",
        "cost": "{usd} 美元", "cost_unknown": "费用未知",
        "join": "，", "list": "；", "space": "",
        "last_good": "上次成功：{at}。", "never": "无",
        "next": "下次：{at}。", "paused": "下次：无（已暂停）。",
        "no_report_today": "今天没有报告。",
        "no_report_day": "{day} 没有报告。",
        "no_report_run": "这次运行没有报告。",
        "kept": "已知内容：{path}。",
        "false_done": "运行自称完成，核查结果不符：",
        "unproved": "运行自称完成，但无法核查：",
        "distrust": "报告已保存，未经证实：{path}。",
        "stays_held": "恢复之前不会再启动。",
        "look": "查看：{command}",
        "quiet": "解决前不再提醒：hermes-cron incidents ack {id}",
        "resume": "恢复：hermes-cron resume {job}",
        "why": "原因", "known": "已知", "approve": "批准", "deny": "拒绝", "asked": "来自", "silence": "不答复",
        "why_text": "执行者在报告结果之前中断：可能已经发生，也可能没有",
        "approve_text": "表示它没有发生，现在执行",
        "deny_text": "表示它已经发生，或不应发生；不再执行",
        "asked_text": "运行 {run}",
        "silence_text": "视为拒绝，截至 {at}（{span}）",
        "answers": '同意：hermes-cron approve {id}     拒绝：hermes-cron deny {id} "原因"     '
        "详情：hermes-cron approvals show {id}",
        "owner_died": "运行它的调度器中断，不会凭猜测重复执行",
        "shutdown": "运行途中调度器被停止",
        "overlong": "到了时限仍未结束",
        "crashed": "调度器在同一步中断了三次",
        "denied": "它请求的操作被拒绝",
        "expired": "它的询问无人答复",
        "unexplained": "结束状态为 {state}",
        "unexplained_reason": "结束状态为 {state}（{reason}）",
    },
}  # fmt: skip

LEARNED_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "head": "{job} learned something in run {run}",
        # labels
        "changed": "changed", "added": "added", "removed": "removed", "created": "created", "rewritten": "rewritten",
        "archived": "archived", "proposed": "proposed", "from": "from", "used": "used", "see": "see", "undo": "undo",
        "silence": "silence",
        # what
        "skill": "skill", "memory": "memory", "section": ", {section}", "counts": " ({counts})",
        "line": "line", "lines": "lines", "entry": "entry", "entries": "entries",
        "more": "and {n} more: hermes-cron log memory, hermes-cron skills log NAME",
        "more_lines": "... and {n} more",
        # where it came from
        "from_run": "step {step} of {run}", "from_review": "the review of {run}",
        "from_flush": "{run}, before its transcript was compacted", "from_cli": "{run}",
        "from_consolidation": "the consolidation of the memory, run {run}",
        "because": " ({why})",
        "used_text": "from the next run on",
        "silence_text": "means no, on {at} ({span})",
        "answers": 'yes: hermes-cron approve {id}     no: hermes-cron deny {id} "reason"     '
        "more: hermes-cron approvals show {id}",
    },
    "zh": {
        "head": "{job} 在运行 {run} 中学到了东西",
        "changed": "修改", "added": "新增", "removed": "删除", "created": "新建", "rewritten": "重写",
        "archived": "归档", "proposed": "提议", "from": "来自", "used": "启用", "see": "查看", "undo": "撤销",
        "silence": "不答复",
        "skill": "技能", "memory": "记忆", "section": "，{section}", "counts": "（{counts}）",
        "line": "行", "lines": "行", "entry": "条", "entries": "条",
        "more": "另有 {n} 项：hermes-cron log memory，hermes-cron skills log 名称",
        "more_lines": "……另有 {n} 行",
        "from_run": "{run} 第 {step} 步", "from_review": "对 {run} 的回顾",
        "from_flush": "{run}，压缩对话之前", "from_cli": "{run}",
        "from_consolidation": "整理记忆的运行 {run}",
        "because": "（{why}）",
        "used_text": "下次运行起",
        "silence_text": "视为拒绝，截至 {at}（{span}）",
        "answers": '同意：hermes-cron approve {id}     拒绝：hermes-cron deny {id} "原因"     '
        "详情：hermes-cron approvals show {id}",
    },
}  # fmt: skip
"""Of what was learned, or is proposed to be."""

SECURITY_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "head": "BLOCKED {kind} in {place}",
        "memory": "An entry for the memory was refused: nothing was written.",
        "skill": "A skill's text was refused: it is in no prompt, and a change that brought it is taken back.",
        "context": "Notes of a working folder were refused: the agent did not see them.",
        "prompt": "A text for an agent was refused: no run is given it.",
        "job": "job {job}", "run": "run {run}", "join": ", ", "whose": "From {whose}.",
        "once": "You hear of this class at this place once a day.",
        "look": "look: {command}     all: hermes-cron status",
    },
    "zh": {
        "head": "已拦截 {place} 中的文本：{kind}",
        "memory": "一条记忆被拒绝：没有写入任何内容。",
        "skill": "一个技能的文本被拒绝：它不进入任何提示词，带来它的改动已撤回。",
        "context": "工作目录的说明文件被拒绝：智能体没有看到它。",
        "prompt": "给智能体的一段文本被拒绝：任何运行都得不到它。",
        "job": "任务 {job}", "run": "运行 {run}", "join": "，", "whose": "来自{whose}。",
        "once": "同一位置的同一类别每天只通知一次。",
        "look": "查看：{command}     全部：hermes-cron status",
    },
}  # fmt: skip
"""Of a text that the scanner kept from an agent."""

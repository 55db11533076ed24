"""Silence, emptiness and refusals are read by fixed rules; whatever only looks like one of them is a report."""

from __future__ import annotations

import pytest

from hermes_cron.domain.answer import Answer, read


def test_c112_the_marker_on_its_own_last_line_is_silence_whatever_stands_before() -> None:
    assert read("3 items skipped.\n\n[SILENT]") is Answer.SILENT


@pytest.mark.parametrize(
    "text",
    [
        "[SILENT]",
        "[SILENT]\n",
        "[SILENT]\r\n\r\n",
        "\n\n[SILENT]\n   \n",
        "# Nothing new\n[SILENT]",
        "一切正常。\n[SILENT]",
    ],
)
def test_c112_neighbours_that_are_the_marker(text: str) -> None:
    assert read(text) is Answer.SILENT


@pytest.mark.parametrize("text", ["[SILENT", "[SILENT].", " [silent] \n", "SILENT"])
def test_c113_a_mistyped_marker_is_text(text: str) -> None:
    assert read(text) is Answer.REPORT


@pytest.mark.parametrize(
    "text",
    [
        "[silent]",
        " [SILENT]",
        "[SILENT] ",
        "`[SILENT]`",
        "**[SILENT]**",
        "- [SILENT]",
        "[SILENT] nothing new",
        "nothing new [SILENT]",
        "[SILENT]\n2 orders failed",
        "```\n[SILENT]\n```",
        "[ SILENT ]",
        "【SILENT】",
        "[SILENT][SILENT]",
        "[SILENT]\u2028nothing",
    ],
)
def test_c113_neighbours_that_are_text(text: str) -> None:
    assert read(text) is Answer.REPORT


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\r\n\t"])
def test_nothing_is_empty(text: str) -> None:
    assert read(text) is Answer.EMPTY


REFUSALS = [
    "I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "I'm sorry, I cannot help you with this.",
    "Sorry, I cannot comply with this request because it could cause harm.",
    "I'm not able to help with this kind of request.",
    "As an AI language model, I cannot assist with that.",
    "Unfortunately, I won't be able to help with that. Please ask about something else.",
    "I must decline to engage with this topic.",
    "抱歉，我无法协助完成此请求。",
    "很抱歉，我不能帮助您。",
    "对不起，我无法回答这个问题。",
    "抱歉，我不能满足您的要求。",
    "作为一个人工智能助手，我无法提供相关帮助。",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_text_that_is_only_a_refusal_is_one(text: str) -> None:
    assert read(text) is Answer.REFUSAL


@pytest.mark.parametrize("text", REFUSALS)
def test_who_looked_at_something_first_reports(text: str) -> None:
    assert read(text, tool_calls=1) is Answer.REPORT


@pytest.mark.parametrize(
    "text",
    [
        "I can't reach prod: connection refused.",
        "I cannot help with this: no database is attached to the job.",
        "I can't help with that, the tool that reads mail is missing.",
        "I can't help with that without access to the log files.",
        "I can't help with that.\n\n1. orders: 3 failed\n2. stock: fine",
        "I can't assist with the third host, but 2 of 3 are fine.",
        "Sorry for the delay. The backup ran and is complete.",
        "Sorry, the backup did not run tonight.",
        "I'm sorry to say that the disk is full.",
        "Unfortunately the index is still invalid.",
        "The vendor wrote: I can't help with that.",
        '"I can\'t help with that" was the answer of the support desk.',
        "We can't help with that yet, says the release note.",
        "Nothing to report. I can't help with that.",
        "I can't help with that. " + "The report follows. " * 30,
        "无法连接数据库 prod。",
        "抱歉，昨晚的备份没有运行。",
        "抱歉，我无法提供帮助，因为没有可用的工具。",
        "我无法完成此任务：缺少数据库权限。",
        "很遗憾，磁盘已满。",
        "供应商回复：抱歉，我无法协助。",
    ],
)
def test_what_only_looks_like_a_refusal_is_a_report(text: str) -> None:
    assert read(text) is Answer.REPORT

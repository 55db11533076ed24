"""How does a fault of the command line read in Chinese?

Faults are raised in English, which is what ``--json`` keeps; ``domain.schedule.refusal_zh`` has those of schedules.
Here are the sentences that people meet when they mistype, forget or repeat something; a rare one stays English.
"""

from __future__ import annotations

import re

_THINGS = {
    "job": "任务", "run": "运行", "database": "数据库", "target": "目标", "secret": "密钥", "skill": "技能",
    "setting": "设置项", "command": "命令", "incident": "故障", "delivery": "消息", "approval": "询问",
    "session": "会话", "snapshot": "快照", "run state": "运行状态", "time zone": "时区",
}  # fmt: skip
_THING = "|".join(sorted(_THINGS, key=len, reverse=True))
_WORDS = _THINGS | {"argument": "参数", "option": "选项"}

_MESSAGES = (
    (r"no home at (.*)", r"\1 没有主目录"),
    (r'no skill "(.*)" in the history of this home', r"主目录的历史中没有技能“\1”"),
    (r"(\S+) has (\d+) versions? in the history", r"\1 在历史中有 \2 个版本"),
    (r"(\d+) files? (?:was|were) changed since in the same place; nothing was done",
     r"有 \1 个文件在同一处又被改动；什么也没有做"),
    (r'no skill "(.*)" in the archive', r"归档中没有技能“\1”"),
    (r"there is a skill (\S+) already", r"已有技能 \1"),
    (r"(\S+) is pinned", r"\1 已锁定"),
    (r"(\S+) is no copy of a shipped skill", r"\1 不是附带技能的副本"),
    (r"(\S+@\d+) was made by a person; only what runs learned is rejected", r"\1 是人改的；只能退回运行学到的内容"),
    (r"(\S+@\d+) is taken back already", r"\1 已经退回"),
    (rf'no ({_THING}) "([^"]*)"', r"没有<?>“\2”"),
    (rf"no ({_THING}) '(.*)'", r"没有<?>“\2”"),
    (r'no snapshot and no run "(.*)"', r"没有快照或运行“\1”"),
    (r'no run and no session "(.*)"', r"没有运行或会话“\1”"),
    (r"no (run|session|snapshot) (\S+)", r"没有<?>“\2”"),
    (r"'(.*)' is no id of a snapshot", r"“\1”不是快照编号"),
    (r'(?:a )?(job|target|database) "(.*)" exists(?: already)?', r"<?>“\2”已存在"),
    (r'no file or folder (.*)', r"没有文件或目录 \1"),
    (r"missing (argument|option) '(.*?)'", r"缺少<?> \2"),
    (r"no such option:? '?(-[^\s'.]+)'?\.? ?(?:\(?[Dd]id you mean.*|\(?[Pp]ossible options:.*)?", r"没有选项 \1"),
    (r"got unexpected extra arguments? \((.*)\)", r"多余的参数：\1"),
    (r"invalid value for '(.*?)': (.*)", r"\1 的值无效：\2"),
    (r"option '(.*)' requires an argument", r"选项 \1 需要一个值"),
    (r"cannot ask here: (.*)", r"这里无法提问：\1"),
    (r"database (\S+): there is no file (.*)", r"数据库 \1：没有文件 \2"),
    (r"'(.*)' is neither a URL nor an existing file", r"“\1”既不是 URL，也不是已有的文件"),
    (r"'(.*)' is no name for a database", r"“\1”不能作数据库名"),
    (r"unknown kind of database: '(.*)'", r"不支持的数据库种类：\1"),
    (r"'(.*)' is no kind of target", r"没有目标种类“\1”"),
    (r"'(.*)' is no mail address", r"“\1”不是邮件地址"),
    (r"that is not an http or https URL", "这不是 http 或 https 的 URL"),
    (r"'(.*)' is not a key", r"“\1”不是设置项"),
    (r"nothing to set", "没有要设置的内容"),
    (r"give KEY VALUE, or KEY=VALUE several times", "写“键 值”，或多个“键=值”"),
    (r"a model's name is empty", "模型名为空"),
    (r"nothing to change was said", "没有说要改什么"),
    (r"run what\? Name a job, or give --prompt TEXT", "运行什么？写任务名，或用 --prompt 文字"),
    (r"several runs begin with \"(.*?)\"(?:: (.*))?", r"有多个运行以“\1”开头"),
    (r'"(.*)" could be (\d+) jobs', r"“\1”可能是 \2 个任务"),
    (r"(.*) is running already, and its next run waits for that", r"\1 正在运行，下一次运行在等它"),
    (r"(.*) is running already(?: \(run (\S+)\))?", r"\1 正在运行"),
    (r"run (\S+) has ended already: (\S+)", r"运行 \1 已结束：\2"),
    (r"run (\S+) is a script: there is no agent to tell", r"运行 \1 是脚本，没有智能体可以指示"),
    (r"run (\S+) will follow a playbook: there is no agent to tell", r"运行 \1 由 playbook 执行，没有智能体可以指示"),
    (r"run (\S+) changed nothing in the home", r"运行 \1 没有改动主目录"),
    (r"nothing can be learned from run (\S+): it has not ended", r"运行 \1 尚未结束，还不能从中学习"),
    (r"nothing can be learned from run (\S+): no model runs it", r"运行 \1 不由模型执行，无法从中学习"),
    (r"nothing can be learned from run (\S+): it followed a playbook", r"运行 \1 由 playbook 执行，无法从中学习"),
    (r"nothing can be learned from run (\S+): its job says learn: off", r"运行 \1 的任务设置了 learn: off，不从中学习"),
    (r"nothing can be learned from run (\S+): it summed up what a search found",
     r"运行 \1 只是搜索结果的摘要，无法从中学习"),
    (r"nothing can be learned from run (\S+): no model answered in it", r"运行 \1 中没有模型的答复，无法从中学习"),
    (r"nothing was said of the run", "没有说要反馈什么"),
    (r"([\d,]+) characters are more than ([\d,]+)", r"\1 个字符，超过了 \2 个"),
    (r"there is (?:a|an) (.*) in the feedback", r"反馈中有密钥或口令（\1）"),
    (r"the feedback is blocked, (.*?): (.*)", r"反馈被拦截，\1：\2"),
    (r"(a\d+) cannot be done any more: (.*)", r"\1 已经做不成了：\2"),
    (r"(a\d+) waited until (.*), and silence meant no", r"\1 等到 \2，不答即为否"),
    (r"no approval (a\d+)", r"没有询问 \1"),
    (r"(a\d+) was answered already: (.*)", r"\1 已有答复：\2"),
    (r"(d\d+) is (\S+): there is nothing to try again", r"\1 的状态是 \2：没有可重发的"),
    (r"no scheduler has written here yet", "调度器还没有写过日志"),
    (r"the store must be upgraded from schema (\d+) to (\d+), and another hermes-cron has it open",
     r"数据库须从 schema \1 升级到 \2，但另一个 hermes-cron 正打开着它"),
    (r"the store is held by another process for more than 5 s", "数据库被另一个进程占用超过 5 秒"),
    (r"`hermes-cron serve` \(pid (\d+)\) has the store open; nothing was changed",
     r"`hermes-cron serve`（pid \1）正打开着数据库；未做改动"),
    (r"(.*) is not empty; nothing was changed", r"\1 不是空目录；未做改动"),
    (r"(.*): no such file", r"没有文件 \1"),
    (r"--since (.*) is to come", r"--since \1 还没有到"),
    (r'"(.*)" is not an instant', r"“\1”不是时刻"),
    (r"there is no snapshot yet", "还没有快照"),
    (r"something was changed meanwhile; nothing was done", "其间有改动；什么也没有做"),
    (r"(.*) was changed meanwhile; that version is kept", r"\1 其间被改动；保留了那个版本"),
    (r"the model server at (\S+) cannot be reached: (.*)", r"连不上模型服务 \1：\2"),
    (r"the model server at (\S+) refused the key(.*)", r"模型服务 \1 拒绝了密钥\2"),
    (r"no model is configured, and no skill's playbook fits the prompt",
     "没有设置模型，也没有技能的 playbook 适合这段提示词"),
    (r"no model is configured, and skill (\S+) has no playbook for this",
     r"没有设置模型，技能 \1 也没有适用的 playbook"),
    (r"the variable (\S+) is not set", r"没有设置变量 \1"),
    (r"(\S+\.md) holds (\d+/\d+) characters; an entry of (\d+) characters would make it (\d+): .*",
     r"\1 已有 \2 个字符；\3 个字符的条目会使它达到 \4：请先替换或删除已有条目"),
    (r"a line of the entry is § alone: it would read back as two entries", "条目中有单独一行 §：会被读成两个条目"),
    (r"an entry of the memory must say something", "记忆条目不能为空"),
    (r"which entry\? Say a part of its text that no other entry has", "哪个条目？请写出它独有的一段文字"),
    (r'no entry of (\S+) holds "(.*)"', r"\1 中没有包含“\2”的条目"),
    (r'no entry of (\S+) and (\S+) holds "(.*)"', r"\1 和 \2 中都没有包含“\3”的条目"),
    (r'"(.*)" stands in (\d+) entries of (\S+); nothing was changed', r"\3 中有 \2 个条目包含“\1”；未做改动"),
    (r'"(.*)" stands in both files; nothing was changed', r"两个文件中都有“\1”；未做改动"),
    (r"the entry is a way of working, not a fact: .*", "这是操作方法而不是事实，应写成技能；未做改动"),
    (r"the entry is blocked, (.*?): (.*)", r"条目被拦截，\1：\2"),
    (r"the entry holds a secret, or what looks like one; nothing was changed", "条目含有密钥或疑似密钥；未做改动"),
    (r"cannot read (?:the password from )?(.*?): (.*)", r"读不了 \1：\2"),
)  # fmt: skip
_HINTS = (
    (r"say it in the job: (hermes-cron edit .*)", r"写进任务：\1"),
    (r"learn: auto in its file lets its next runs learn: (hermes-cron edit .*)",
     r"在任务文件中写 learn: auto，之后的运行就会学习：\1"),
    (r"leave it out: a model reads what is said of a run", "请去掉它：模型会读到这些反馈"),
    (r"say it shorter, or in two parts", "写短一些，或分两次写"),
    (r"pass (--\S+)(.*)", r"加上 \1\2"),
    (r"(hermes-cron .*)\ntext that begins with a dash goes after --", r"\1\n以横线开头的文字写在 -- 之后"),
    (r"(hermes-cron .*?)   then add it again", r"\1   然后重新添加"),
    (r"(hermes-cron .*?)   or (hermes-cron .*)", r"\1   或 \2"),
    (r"stop `hermes-cron serve`, then repeat the command", "停止 `hermes-cron serve`，然后重复此命令"),
    (r"stop it, then repeat: (.*)", r"停止它，然后重复：\1"),
    (r"Another name: (--name \S+)   or: (.*)", r"换个名称：\1   或：\2"),
    (r"name a new folder: --to FOLDER", "写一个新目录：--to 目录"),
    (r"write more of the id", "多写几位编号"),
    (r"more digits", "多写几位"),
    (r"did you mean (.*)\?", r"是否指 \1？"),
    (r"(hermes-cron diff .*), edit the file, then again", r"\1，编辑该文件，然后重复"),
    (r"quote what is only spoken of; look: (hermes-cron scan .*)", r"只是提到的话请加引号；查看：\1"),
    (r"look again, then repeat", "重新查看，然后重复"),
    (r"look at it, then try again", "先看一看，然后再试"),
    (r"one of: (.*)", r"可选：\1"),
    (r"an IANA name such as (\S+)", r"IANA 名称，例如 \1"),
    (r"such as (\S+) or (\S+)", r"例如 \1 或 \2"),
    (r"options: (hermes-cron edit --help)   or set EDITOR", r"选项：\1   或设置 EDITOR"),
    (r"letters, digits, - _ and \. make a name, for instance prod", "名称由字母、数字和 - _ . 组成，例如 prod"),
    (r"known: (.*)", r"已有：\1"),
    (r"say one thing once and in few words; .*", "一事只写一次，尽量简短；操作方法写成技能"),
    (r"remove takes an entry away", "删除条目用 remove"),
    (r"a part of the entry's own words; (hermes-cron memory list)", r"写条目原文的一部分；\1"),
    (r"say more of the one that is meant", "多写几个字，指明是哪一个"),
    (r"say which: (--target memory) or (--target user)", r"指明文件：\1 或 \2"),
    (r"make it a skill \((\S+); .*", r"写成技能（\1），这里只记下有此技能；若是事实清单，请不要编号"),
    (r"name it: (hermes-cron secrets set NAME), and write secret:NAME", r"先保存：\1，条目中写 secret:NAME"),
)  # fmt: skip
_ITS_KIND = "<?>"
"""Stands for the Chinese word of the first group."""


def message(sentence: str) -> str:
    """What is wrong; a sentence that is not known stays as it is."""
    return _said(sentence, _MESSAGES)


def hint(sentence: str) -> str:
    """What to do next; commands stay as they are typed."""
    return _said(sentence, _HINTS)


def _said(sentence: str, known: tuple[tuple[str, str], ...]) -> str:
    for english, chinese in known:
        if found := re.fullmatch(english, sentence, re.DOTALL):
            thing = _WORDS.get(found[1], "") if found.re.groups else ""
            return found.expand(chinese.replace(_ITS_KIND, thing))
    return sentence

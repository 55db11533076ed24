"""How is what a playbook found said to people? The layout of every inspection report, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hermes_cron.models.playbook.expressions import expressions, thousands
from hermes_cron.models.playbook.inputs import Inputs, local
from hermes_cron.models.playbook.judge import Finding
from hermes_cron.models.playbook.needs import ENGINE_NAMES, VERSION_FACT
from hermes_cron.models.playbook.program import Severity, Source
from hermes_cron.models.playbook.since import Since, Worse, compare, label
from hermes_cron.models.playbook.walk import Done

_DAYS = {
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}
_GONE_SHOWN = 10
_MB_PER_GB = 1024

_WORDS = {
    "en": {
        "critical": "critical", "warning": "warning", "warnings": "warnings", "info": "info",
        "Critical": "Critical", "Warning": "Warning", "Info": "Info", "Fine": "Fine", "NotChecked": "Not checked",
        "colon": ": ", "bold_colon": ": ", "comma": ", ", "stop": ".", "do": "Do: ", "open": " (", "close": ")",
        "nothing": "nothing found", "none": "nothing", "since": "Since ", "since_none": "Since the last run",
        "first": "this is the first", "new": "new ", "worse": "worse ", "gone": "gone: ", "was": "was ",
        "gone_numbers": "gone ", "between": ". ", "same": "no change", "more": "and {} more",
        "least": "and at least {} more",
    },
    "zh": {
        "critical": "项严重", "warning": "项警告", "warnings": "项警告", "info": "项提示",
        "Critical": "严重", "Warning": "警告", "Info": "提示", "Fine": "正常", "NotChecked": "未检查",
        "colon": "：", "bold_colon": "：", "comma": "，", "stop": "。", "do": "建议：", "open": "（", "close": "）",
        "nothing": "未发现问题", "none": "无", "since": "较 ", "since_none": "较上次",
        "first": "这是第一次运行", "new": "新增 ", "worse": "变差 ", "gone": "消失：", "was": "原",
        "gone_numbers": "消失 ", "between": "；", "same": "无变化", "more": "另有 {} 项",
        "least": "另有至少 {} 项",
    },
}  # fmt: skip
_SECTIONS = {Severity.CRITICAL: "Critical", Severity.WARNING: "Warning", Severity.INFO: "Info"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``text`` for people; ``result`` for the next run, plain JSON values."""

    text: str
    result: dict[str, Any]


def report(inputs: Inputs, done: Done) -> Report:
    """Pure: the same facts give the same bytes."""
    page = _Page(inputs, done)
    if inputs.program.report == "default":
        text = page.text()
    else:
        text = expressions().page(inputs.program.report, page.names()).strip()
    return Report(text=text, result=page.result())


class _Page:
    def __init__(self, inputs: Inputs, done: Done) -> None:
        self._inputs = inputs
        self._done = done
        self._language = "zh" if inputs.language == "zh" else "en"
        self._w = _WORDS[self._language]
        findings = [finding for one in done.judged for finding in one.findings]
        self._findings = [f for severity in Severity for f in findings if f.severity is severity]
        shown = [finding.key for finding in self._findings if finding.shown]
        self._numbers = {key: number for number, key in enumerate(shown, start=1)}
        self._since = self._compared()

    def _compared(self) -> Since | None:
        if self._inputs.last is None:
            return None
        labels = {step.id: step.finding.in_(self._language) for step in self._inputs.program.steps}
        return compare(self._done.judged, self._inputs.last, self._language, labels)

    # --- the page ----------------------------------------------------------------------------------------------

    def text(self) -> str:
        lines = [f"# {self._subject()}{self._w['colon']}{self._verdict()}", self._header()]
        if not self._findings:
            lines.append(self._since_short())
            if self._not_checked():
                lines.append(self._line("NotChecked", self._not_checked()))
            return "\n".join(lines)
        for severity in Severity:
            section = self._section(severity)
            if section:
                lines += ["", f"**{self._w[_SECTIONS[severity]]}**", *section]
        lines += ["", self._since_line(), self._line("Fine", self._fine() or [self._w["none"]])]
        if self._not_checked():
            lines.append(self._line("NotChecked", self._not_checked()))
        return "\n".join(lines)

    def _line(self, word: str, items: Sequence[str]) -> str:
        return f"**{self._w[word]}**{self._w['bold_colon']}{self._w['comma'].join(items)}{self._w['stop']}"

    def _subject(self) -> str:
        return self._inputs.database or str(self._done.facts.get("host") or self._inputs.skill)

    def _verdict(self) -> str:
        counts = {severity: sum(f.severity is severity for f in self._findings) for severity in Severity}
        said = [f"{n} {self._w[self._plural(severity, n)]}" for severity, n in counts.items() if n]
        return self._w["comma"].join(said) or self._w["nothing"]

    @staticmethod
    def _plural(severity: Severity, count: int) -> str:
        return "warnings" if severity is Severity.WARNING and count != 1 else severity.value

    def _header(self) -> str:
        total = len(self._done.judged)
        checked = sum(one.checked for one in self._done.judged)
        when = local(self._inputs.now, self._inputs.zone)
        day = _DAYS[self._language][when.weekday()]
        read_only = all(step.source is Source.SQL for step in self._inputs.program.steps)
        if self._language == "zh":
            tail = "，全程只读。" if read_only else "。"
            said = f"{when:%Y-%m-%d} {day} {when:%H:%M}（{self._inputs.zone}）已检查 {checked}/{total} 项{tail}"
            return f"{self._system()}。{said}" if self._system() else said
        tail = ", read only." if read_only else "."
        said = f"Checked {checked} of {total} on {day} {when:%Y-%m-%d %H:%M} ({self._inputs.zone}){tail}"
        return f"{self._system()}. {said}" if self._system() else said

    def _system(self) -> str:
        """``PostgreSQL 15.18, 43 MB``; what is not known is left out."""
        engine = ENGINE_NAMES.get(str(self._inputs.engine), "") if self._inputs.database else ""
        version = self._done.facts.get(VERSION_FACT)
        parts = [f"{engine} {version}" if version else engine, _size(self._done.facts.get("size_mb"))]
        return self._w["comma"].join(part for part in parts if part)

    def _section(self, severity: Severity) -> list[str]:
        lines = []
        for one in self._done.judged:
            here = [f for f in one.findings if f.severity is severity]
            for finding in here:
                if finding.shown:
                    number = self._numbers[finding.key]
                    lines.append(f"{number}. {finding.name}{self._w['colon']}{finding.evidence}")
                    if finding.advice:
                        lines.append(f"   {self._w['do']}{finding.advice}")
            hidden = sum(not f.shown for f in here)
            if hidden:
                lines.append("   " + self._w["least" if one.at_least else "more"].format(thousands(hidden)))
        return lines

    def _fine(self) -> list[str]:
        return [one.fine for one in self._done.judged if one.checked and not one.findings]

    def _not_checked(self) -> list[str]:
        said = []
        for one in self._done.judged:
            if one.not_checked is not None:
                title = one.title if self._language == "zh" or one.title[1:2].isupper() else _lower_first(one.title)
                said.append(f"{title}{self._w['open']}{one.not_checked}{self._w['close']}")
        return said

    # --- since the last run ------------------------------------------------------------------------------------

    def _since_line(self) -> str:
        if self._since is None:
            return f"**{self._w['since_none']}**{self._w['bold_colon']}{self._w['first']}{self._w['stop']}"
        parts = [self._new(self._since), self._worse(self._since), self._gone(self._since)]
        said = [part for part in parts if part] or [self._w["same"]]
        if self._language == "en":
            said = [said[0], *(part[:1].upper() + part[1:] for part in said[1:])]
        head = f"**{self._w['since']}{self._day(full=True)}**{self._w['bold_colon']}"
        return head + self._w["between"].join(said) + self._w["stop"]

    def _since_short(self) -> str:
        """All is well: one short line, the gone ones by their numbers in the last report."""
        if self._since is None:
            return f"{self._w['since_none']}{self._w['colon']}{self._w['first']}{self._w['stop']}"
        numbers = [str(number) for number in sorted(n for n, _ in self._since.gone if n is not None)]
        said = self._w["gone_numbers"] + _join(numbers, self._language) if numbers else self._w["same"]
        day = self._day(full=False)
        space = " " if self._language == "en" or day[:1].isdigit() else ""
        return f"{self._w['since'].strip()}{space}{day}{self._w['colon']}{said}{self._w['stop']}"

    def _day(self, *, full: bool) -> str:
        """``Mon 2026-11-30``; with the time when it was today; the weekday alone when that is plain and short."""
        then = local(self._inputs.last.at, self._inputs.zone) if self._inputs.last else None
        now = local(self._inputs.now, self._inputs.zone)
        assert then is not None  # noqa: S101  only called when there is a last run
        day = _DAYS[self._language][then.weekday()]
        if then.date() == now.date():
            return f"{then:%H:%M}"
        if not full and now - then < timedelta(days=6):
            return day
        return f"{_date(then, now)} {day}" if self._language == "zh" else f"{day} {then:%Y-%m-%d}"

    def _new(self, since: Since) -> str:
        numbers = [str(n) for n in sorted(self._numbers[f.key] for f in since.new if f.shown)]
        hidden = sum(not finding.shown for finding in since.new)
        if hidden:
            numbers.append(self._w["more"].format(thousands(hidden)))
        return self._w["new"] + _join(numbers, self._language) if numbers else ""

    def _worse(self, since: Since) -> str:
        shown = sorted((w for w in since.worse if w.finding.shown), key=lambda w: self._numbers[w.finding.key])
        said = [f"{self._numbers[w.finding.key]}{self._was(w)}" for w in shown]
        return self._w["worse"] + _join(said, self._language) if said else ""

    def _was(self, worse: Worse) -> str:
        then = worse.was
        if then is None and worse.severity_was is not None:
            word = self._w[_SECTIONS[worse.severity_was]]
            then = word if self._language == "zh" else word.lower()
        space = " " if self._language == "zh" and then and then[0].isdigit() else ""
        return f"{self._w['open']}{self._w['was']}{space}{then}{self._w['close']}"

    def _gone(self, since: Since) -> str:
        names = [label for _, label in since.gone[:_GONE_SHOWN]]
        if len(since.gone) > _GONE_SHOWN:
            names.append(self._w["more"].format(len(since.gone) - _GONE_SHOWN))
        return self._w["gone"] + _join(names, self._language) if names else ""

    # --- as data -----------------------------------------------------------------------------------------------

    def result(self) -> dict[str, Any]:
        """What the next run compares with, and what people read with ``--json``."""
        return {
            "playbook": self._inputs.skill,
            "database": self._inputs.database,
            "facts": {("version" if k == VERSION_FACT else k): v for k, v in self._done.facts.items()},
            "checked": [one.step for one in self._done.judged if one.checked],
            "fine": [one.step for one in self._done.judged if one.checked and not one.findings],
            "not_checked": [
                {"step": one.step, "because": one.not_checked}
                for one in self._done.judged
                if one.not_checked is not None
            ],
            "findings": [self._stored(finding) for finding in self._findings],
        }

    def _stored(self, finding: Finding) -> dict[str, Any]:
        return {
            "key": finding.key, "step": finding.step, "severity": finding.severity.value,
            "number": self._numbers.get(finding.key), "value": finding.value,
            "label": label(finding.name, finding.subject, self._language),
            **({"evidence": finding.evidence} if finding.shown else {}),
        }  # fmt: skip

    def names(self) -> dict[str, Any]:
        """For a report template of the skill's own."""
        since = self._since
        return {
            "findings": [{**self._stored(f), "name": f.name, "advice": f.advice} for f in self._findings if f.shown],
            "fine": self._fine(), "not_checked": self._not_checked(), "facts": self.result()["facts"],
            "since_last": None if since is None else {
                "at": since.last.at, "new": [self._numbers.get(f.key) for f in since.new],
                "worse": [self._numbers.get(w.finding.key) for w in since.worse],
                "gone": [name for _, name in since.gone],
            },
            "params": dict(self._inputs.program.params), "lang": self._language, "subject": self._subject(),
            "verdict": self._verdict(), "header": self._header(),
        }  # fmt: skip


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _join(items: Sequence[str], language: str) -> str:
    return ("、" if language == "zh" else ", ").join(items)


def _date(then: datetime, now: datetime) -> str:
    return f"{then:%m-%d}" if then.year == now.year or now - then < timedelta(days=180) else f"{then:%Y-%m-%d}"


def _size(size_mb: object) -> str:
    if not isinstance(size_mb, int | float) or isinstance(size_mb, bool):
        return ""
    if size_mb >= 10 * _MB_PER_GB:
        return f"{thousands(round(size_mb / _MB_PER_GB, 1))} GB"
    return f"{thousands(round(size_mb, 1) if size_mb < 10 else round(size_mb))} MB"

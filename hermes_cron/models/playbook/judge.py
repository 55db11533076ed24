"""Which rows of a step are findings, how bad, and what is said about each?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hermes_cron.models.playbook.expressions import ExpressionFailed, expressions, one_line
from hermes_cron.models.playbook.lint import measured
from hermes_cron.models.playbook.program import Expect, Severity, Step
from hermes_cron.models.playbook.replies import Answer, Row

SHOWN_PER_STEP = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``key`` is the same for the same thing in every run. ``value`` is what the limit was compared with."""

    key: str
    step: str
    severity: Severity
    name: str  # "No primary key"
    subject: str  # "public.audit_log"; "" when the step has one row
    evidence: str = ""
    advice: str = ""
    value: float | None = None
    more_is_worse: bool = True
    unit: str = ""
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """``not_checked`` says why a step, or a part of it, proves nothing. ``fine`` is its words when nothing was found.

    ``at_least``: the tool cut the rows, so there may be more findings than were seen.
    """

    step: str
    title: str
    findings: tuple[Finding, ...] = ()
    at_least: bool = False
    fine: str = ""
    not_checked: str | None = None
    failed: bool = False  # not checked because something went wrong, not because its `when` said so

    @property
    def checked(self) -> bool:
        """A step with findings was checked, even when some rows could not be judged."""
        return self.not_checked is None or bool(self.findings)

    def status(self, language: str) -> str:
        """``ok``, ``1 critical, 2 warnings``, ``not checked: why``."""
        words = _STATUS["zh" if language == "zh" else "en"]
        counts = {level: sum(f.severity is level for f in self.findings) for level in Severity}
        said = [f"{n} {words[_plural(level, n)]}" for level, n in counts.items() if n]
        if self.not_checked is not None and not said:
            return f"{words['not_checked']}{self.not_checked}"
        return words["comma"].join(said) or words["ok"]


def _plural(level: Severity, count: int) -> str:
    return "warnings" if level is Severity.WARNING and count != 1 else level.value


_STATUS = {
    "en": {"ok": "ok", "critical": "critical", "warning": "warning", "warnings": "warnings", "info": "info",
           "not_checked": "not checked: ", "comma": ", "},
    "zh": {"ok": "正常", "critical": "项严重", "warning": "项警告", "warnings": "项警告", "info": "项提示",
           "not_checked": "未检查：", "comma": "，"},
}  # fmt: skip


def judge(step: Step, answer: Answer, names: Mapping[str, Any], language: str) -> Judged:
    """``names`` are params, facts, last and earlier rows; the row's own columns come before facts of the same name."""
    title = step.title.in_(language)
    if answer.error is not None and any(text in answer.error for text in step.error_is_row):
        answer = Answer(rows=({"error": one_line(answer.error)},))
    broken = answer.error or _unexpected(step, answer, language)
    if broken is not None:
        return Judged(step=step.id, title=title, not_checked=one_line(broken), failed=True)
    findings: list[Finding] = []
    unknown: list[str] = []
    for row in answer.rows:
        scope = {**names, **row, "params": names["params"], "facts": names["facts"], "last": names["last"]}
        try:
            severity = _severity(step, scope)
            if severity is not None:
                findings.append(_finding(step, severity, row, scope, language))
        except ExpressionFailed as error:
            unknown.append(error.message)
    findings.sort(key=lambda finding: list(Severity).index(finding.severity))
    return Judged(
        step=step.id, title=title, findings=_distinct(findings), at_least=answer.cut,
        fine=_fine(step, answer, names, language), not_checked=_unknown(step, unknown, answer, names, language),
        failed=bool(unknown),
    )  # fmt: skip


def _unexpected(step: Step, answer: Answer, language: str) -> str | None:
    count = len(answer.rows)
    if step.expect is Expect.ONE_ROW and count != 1:
        return f"应为 1 行，得到 {count} 行" if language == "zh" else f"expected one row, got {count}"
    if step.expect is Expect.SOME and not count:
        return "没有返回任何行" if language == "zh" else "expected rows, got none"
    return None


def _unknown(step: Step, unknown: list[str], answer: Answer, names: Mapping[str, Any], language: str) -> str | None:
    """Why some rows could not be judged: in the step's own words, or the first error's."""
    if not unknown:
        return None
    if step.because is not None and step.when is None:
        return expressions().line(step.because.in_(language), {**names, "unjudged": len(unknown)})
    few = len(unknown) < len(answer.rows)
    where = "" if not few else (f"{len(unknown)} 行：" if language == "zh" else f"{len(unknown)} of its rows: ")
    return where + unknown[0]


def _severity(step: Step, scope: Mapping[str, Any]) -> Severity | None:
    """First true wins."""
    for severity in Severity:
        expression = step.levels.get(severity)
        if expression is not None and expressions().holds(expression, scope):
            return severity
    return None


def _finding(step: Step, severity: Severity, row: Row, scope: Mapping[str, Any], language: str) -> Finding:
    subject = _subject(step, row)
    value, more_is_worse, name = _measure(step, scope)
    unit = step.unit.in_(language) if step.unit else ("%" if name == "pct" or name.endswith("_pct") else "")
    return Finding(
        key=f"{step.id}/{subject}" if subject else step.id, step=step.id, severity=severity, subject=subject,
        name=step.finding.in_(language), evidence=expressions().line(step.evidence.in_(language), scope),
        advice=expressions().line(step.advice.in_(language), scope) if step.advice else "",
        value=value, more_is_worse=more_is_worse, unit=unit,
    )  # fmt: skip


def _subject(step: Step, row: Row) -> str:
    """The row's name: the ``key`` columns, else the first column; a step of one row needs none."""
    if step.key:
        return one_line(", ".join(str(row.get(column)) for column in step.key))
    if step.expect is Expect.ONE_ROW or not row:
        return ""
    return one_line(str(next(iter(row.values()))))


def _measure(step: Step, scope: Mapping[str, Any]) -> tuple[float | None, bool, str]:
    for expression in step.levels.values():
        found = measured(expression)
        if found is not None:
            value = scope.get(found[0])
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return (float(value) if number else None), found[1], found[0]  # type: ignore[arg-type]
    return None, True, ""


def _distinct(findings: list[Finding]) -> tuple[Finding, ...]:
    """Keys made unique (two rows of one name become name and name#2); from the 21st on not shown."""
    from dataclasses import replace

    seen: dict[str, int] = {}
    out = []
    for position, finding in enumerate(findings):
        seen[finding.key] = seen.get(finding.key, 0) + 1
        key = finding.key if seen[finding.key] == 1 else f"{finding.key}#{seen[finding.key]}"
        out.append(replace(finding, key=key, shown=position < SHOWN_PER_STEP))
    return tuple(out)


def _fine(step: Step, answer: Answer, names: Mapping[str, Any], language: str) -> str:
    title = step.title.in_(language)
    plain = title if language == "zh" or title[1:2].isupper() else title[:1].lower() + title[1:]
    if step.fine is None or (step.expect is Expect.ONE_ROW and len(answer.rows) != 1):
        return plain
    row = answer.rows[0] if len(answer.rows) == 1 else {}
    try:
        return expressions().line(step.fine.in_(language), {**names, **row, "rows": list(answer.rows)})
    except ExpressionFailed:
        return plain

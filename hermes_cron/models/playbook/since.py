"""What changed since the last run: which findings are new, worse, gone?

A check that was not made proves nothing: its earlier findings are not gone, and what a check finds for the first time
after it could not be made is not new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_cron.models.playbook.expressions import thousands
from hermes_cron.models.playbook.inputs import Last
from hermes_cron.models.playbook.judge import Finding, Judged
from hermes_cron.models.playbook.program import Severity

_RANK = {severity.value: rank for rank, severity in enumerate(Severity)}
_NOTABLE = 0.1  # a value that moved by less than a tenth is the same trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    """``was`` is the earlier value in words, or None when only the severity rose."""

    finding: Finding
    was: str | None
    severity_was: Severity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """``gone`` are (number in the last report or None, name) in the last report's order."""

    last: Last
    new: tuple[Finding, ...]
    worse: tuple[Worse, ...]
    gone: tuple[tuple[int | None, str], ...]

    @property
    def unchanged(self) -> bool:
        return not (self.new or self.worse or self.gone)


def compare(judged: Sequence[Judged], last: Last, language: str, labels: Mapping[str, str]) -> Since:
    """Findings by key, against what the last run stored.

    ``labels`` say by step what a finding is called, in today's language; a step that is no more keeps its old words.
    """
    stored = {entry["key"]: entry for entry in last.result.get("findings", ()) if isinstance(entry, dict)}
    checked_then = set(last.result.get("checked", ()))
    findings = [finding for one in judged for finding in one.findings]
    now = {finding.key for finding in findings}
    whole = {one.step for one in judged if one.not_checked is None and not one.at_least}
    return Since(
        last=last,
        new=tuple(f for f in findings if f.key not in stored and f.step in checked_then),
        worse=tuple(w for f in findings if f.key in stored and (w := _worse(f, stored[f.key], language)) is not None),
        gone=tuple(
            (entry.get("number"), _label(entry, key, labels, language))
            for key, entry in stored.items()
            if key not in now and entry.get("step") in whole
        ),
    )


def _label(entry: Mapping[str, Any], key: str, labels: Mapping[str, str], language: str) -> str:
    name, subject = labels.get(str(entry.get("step"))), key.partition("/")[2]
    if name is None:
        return str(entry.get("label", key))
    return label(name, subject, language)


def label(name: str, subject: str, language: str) -> str:
    """``no primary key (public.audit_log)``: a finding in a running sentence."""
    short = name if language == "zh" or name[1:2].isupper() else name[:1].lower() + name[1:]
    if not subject:
        return short
    return f"{short}（{subject}）" if language == "zh" else f"{short} ({subject})"


def _worse(finding: Finding, then: Mapping[str, Any], language: str) -> Worse | None:
    was = then.get("value")
    severity = str(then.get("severity"))
    rose = severity in _RANK and _RANK[finding.severity] < _RANK[severity]
    moved = (
        finding.value is not None
        and isinstance(was, int | float)
        and (finding.value - was if finding.more_is_worse else was - finding.value) > _NOTABLE * abs(was)
    )
    if not rose and not moved:
        return None
    said = _quantity(float(was), finding.unit, language) if moved and isinstance(was, int | float) else None
    return Worse(finding=finding, was=said, severity_was=Severity(severity) if rose else None)


def _quantity(value: float, unit: str, language: str) -> str:
    """``12 %`` in English, ``12%`` in Chinese, ``1,200`` without a unit."""
    number = thousands(value)
    if not unit:
        return number
    return f"{number}{unit}" if language == "zh" and unit == "%" else f"{number} {unit}"

"""How do earlier reports look to a run: as ``{{ context.* }}``, or under its task where the body does not name them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from hermes_cron.domain.earlier import Fitted, Report
from hermes_cron.domain.job import Job, Template
from hermes_cron.domain.template import fence, placeholders

_NAME = "context"
_NONE = "(there is no earlier report yet)"
_HEAD = "Earlier reports, the oldest first. They were true when they were written; check what may have changed."


@dataclass(frozen=True, slots=True)
class ReportText:
    """One report as a body names it; ``text`` is fenced, ``verified`` what the checks of its run said."""

    job: str
    run_id: str
    date: str
    verified: str
    text: str

    def __str__(self) -> str:
        return self.text


class ReportTexts(tuple[ReportText, ...]):
    """Reports that print as what they say, and can be walked in a jinja body."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(report.text for report in self) or _NONE


def values(found: Fitted, zone: ZoneInfo) -> dict[str, object]:
    """What ``{{ context.KEY }}`` stands for."""
    return {
        "reports": _texts(found.reports, zone),
        "own": _texts([report for report in found.reports if report.own], zone),
        "others": _texts([report for report in found.reports if not report.own], zone),
        "count": len(found.reports),
        "left_out": found.left_out,
    }


def below_the_task(job: Job, found: Fitted, zone: ZoneInfo) -> str:
    """The reports as one block; "" where the job asks for none, or says itself where they stand."""
    if not job.context.wanted or _named(job):
        return ""
    left_out = f"\n\n{found.left_out} more had no room." if found.left_out else ""
    return f"{_HEAD}\n\n{_texts(found.reports, zone)}{left_out}"


def _named(job: Job) -> bool:
    body = job.prompt or ""
    if job.template is Template.JINJA:
        from hermes_cron.runner.jinja import names

        return _NAME in names(body)
    return any(placeholder.name == _NAME for placeholder in placeholders(body))


def _texts(reports: Sequence[Report], zone: ZoneInfo) -> ReportTexts:
    return ReportTexts(_text(report, zone) for report in reports)


def _text(report: Report, zone: ZoneInfo) -> ReportText:
    local = report.at.astimezone(zone)
    verified = report.verdict or "without checks"
    cut = "" if report.cut is None else f"\n[cut here: {len(report.text):,} of {report.cut:,} characters]"
    source = f"report of {report.job}, {local:%Y-%m-%d %H:%M}, run {report.run_id}, {verified}"
    return ReportText(
        job=report.job,
        run_id=report.run_id,
        date=f"{local:%Y-%m-%d}",
        verified=verified,
        text=fence(report.text.strip("\n") + cut, source=source),
    )

"""What does a message about a blocked text say? Class and place; never the text."""

from __future__ import annotations

from hermes_cron.domain import notice
from hermes_cron.domain.event import SecurityFinding
from hermes_cron.domain.notice_words import SECURITY_WORDS


def blocked(finding: SecurityFinding, lang: str) -> notice.Text:
    """The first block of its class at its place today."""
    words = SECURITY_WORDS[lang]
    place = notice.one_line(finding.place)
    head = words["head"].format(kind=finding.kind.words, place=place)
    whose = [
        words[key].format(**{key: value}) for key, value in (("job", finding.job), ("run", finding.run_id)) if value
    ]
    lines = [
        head,
        words[finding.guard.value],
        *([words["whose"].format(whose=words["join"].join(whose))] if whose else []),
        words["once"],
        words["look"].format(command=look(finding)),
    ]
    return notice.Text(head, "\n".join(lines))


def look(finding: SecurityFinding) -> str:
    """The command that shows more."""
    return look_at(finding.place, finding.run_id, finding.guard)


def look_at(place: str, run_id: str | None, guard: str) -> str:
    """The run; else the versions of a file of the home; of a text that was kept nowhere, how it can be tried."""
    if run_id is not None:
        return f"hermes-cron runs show {run_id}"
    if place.startswith(_PARTS):
        return f"hermes-cron log {notice.one_line(place).partition(':')[0]}"
    return f"hermes-cron scan FILE --as {guard}"


_PARTS = ("jobs/", "skills/", "memories/")

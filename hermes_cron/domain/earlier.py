"""Which earlier reports does a run read (a job's key ``context``), and which of them have room?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

MAX_CHARS = 12_000
"""Of all reports together, where the job says nothing."""
OWN_MOST = 100
"""How many of its own reports a job may ask for."""
_WORTH = 200
"""Characters of a report below which its beginning says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a job asks for: the newest ``own`` reports of its own, and of each of ``jobs`` the newest one.

    With ``since`` only what is younger, and then all of it from ``jobs``.
    """

    own: int = 0
    jobs: tuple[str, ...] = ()
    since: timedelta | None = None
    max_chars: int = MAX_CHARS

    @property
    def wanted(self) -> bool:
        """Whether anything is asked for at all."""
        return bool(self.own or self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run that ended ok told, and when it ended. ``verdict`` is that of its checks, None: it had none.

    ``cut``: how many characters the whole has, where ``text`` is only its beginning.
    """

    run_id: str
    job: str
    at: datetime
    verdict: str | None
    text: str
    own: bool = False
    cut: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """``reports`` from the oldest to the newest; ``left_out`` are so many that had no room."""

    reports: tuple[Report, ...] = ()
    left_out: int = 0


def fitted(reports: Iterable[Report], max_chars: int) -> Fitted:
    """The newest of each job goes before the second newest of any; one that does not fit whole is cut at a line."""
    room = max_chars
    taken: list[Report] = []
    in_turn = _in_turn(reports)
    for report in in_turn:
        if len(report.text) > room:
            if room >= _WORTH or not taken:
                taken.append(_beginning(report, room))
            break
        taken.append(report)
        room -= len(report.text)
    oldest_first = tuple(sorted(taken, key=lambda report: (report.at, report.run_id)))
    return Fitted(reports=oldest_first, left_out=len(in_turn) - len(taken))


def _in_turn(reports: Iterable[Report]) -> Sequence[Report]:
    """Newest first, one of each job in turn."""
    newest_first = sorted(reports, key=lambda report: (report.at, report.run_id), reverse=True)
    met: dict[str, int] = {}
    ranked: list[tuple[int, Report]] = []
    for report in newest_first:
        rank = met[report.job] = met.get(report.job, -1) + 1
        ranked.append((rank, report))
    return [report for _, report in sorted(ranked, key=lambda pair: pair[0])]


def _beginning(report: Report, room: int) -> Report:
    text = report.text[:room]
    end = text.rfind("\n")
    return replace(report, text=text[:end] if end >= room // 2 else text, cut=len(report.text))

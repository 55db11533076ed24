"""What comes to mind at the beginning of a run? The second memory's part of its system prompt, behind a fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

from hermes_cron.domain.clip import one_line
from hermes_cron.domain.recall import From, Recalled, told
from hermes_cron.domain.scan import Finding, Purpose, scan
from hermes_cron.domain.template import Fence, fence

MOST = 3
_CHARACTERS = 600
_HEAD = """\
Recalled by a second memory: what earlier runs and archived notes say that is nearest in meaning to this task. It is \
material, it may be beside the point or out of date: where a tool's result says otherwise, the result is right."""
_FAILED = "The second memory gave no answer for this run: "


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallBlock:
    """``text`` is "" where nothing comes to mind. ``left_out``: places of passages that the scanner lets into no
    prompt."""

    text: str = ""
    left_out: tuple[tuple[str, Finding], ...] = ()


def block(found: Sequence[Recalled], zone: ZoneInfo) -> RecallBlock:
    """The nearest ``MOST`` that are not in the prompt already, as the built-in memory is."""
    other = [each.passage for each in found if each.passage.origin is not From.MEMORY][:MOST]
    judged = [(passage, _blocked(passage.text)) for passage in other]
    good = [passage for passage, finding in judged if finding is None]
    left_out = tuple((passage.source, finding) for passage, finding in judged if finding is not None)
    if not good:
        return RecallBlock(left_out=left_out)
    inside = "\n\n".join(f"{told(passage, zone)}:\n{_short(passage.text)}" for passage in good)
    return RecallBlock(text=f"{_HEAD}\n{fence(inside, source='recall', kind=Fence.RECALLED)}", left_out=left_out)


def failed(why: str) -> RecallBlock:
    """Said, so that nobody takes silence for an empty memory."""
    return RecallBlock(text=_FAILED + one_line(why, 200))


def _short(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS].rstrip()} …"


@lru_cache(maxsize=256)
def _blocked(text: str) -> Finding | None:
    return scan(text, Purpose.MEMORY).blocked

"""What is one thing to write into the memory or a skill?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hermes_cron.domain.learning import Kind

if TYPE_CHECKING:
    from hermes_cron.domain.file_edit import Edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One thing to write: what it is in words, and ``edits``, asked for while nobody else changes the home.

    ``details`` is what carries a proposal out later.
    """

    kind: Kind
    name: str
    change: str
    reason: str
    lines: Sequence[str]
    edits: Callable[[], Edits]
    details: Mapping[str, Any] = field(default_factory=dict)

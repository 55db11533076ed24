"""What comes to mind? The second memory of a home, beside the built-in one: at most one, asked by runs and people."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.domain.learning import Author, MemoryMode
from hermes_cron.domain.recall import From, Passage, ProviderInfo, RecallFailed, Recollection
from hermes_cron.experience.memory import Target, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_cron.domain.command import Flag
    from hermes_cron.domain.run import TakenRun
    from hermes_cron.experience.recall_block import RecallBlock
    from hermes_cron.wiring import App

_LOG = logging.getLogger(__name__)

SESSIONS = 1_500
"""The newest runs whose last words may be recalled."""
_CHARACTERS = 1_000
_BEFORE_A_RUN_S = 5.0


class RecallDesk:
    """The second memory of one home, as config.toml names it now."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def active(self) -> str | None:
        """The provider's name, None for none."""
        from hermes_cron.memory_providers import NONE

        name = self._app.settings_now.memory.provider
        return None if name == NONE else name

    def providers(self) -> list[ProviderInfo]:
        """Those that could be active."""
        from hermes_cron.recall.registry import providers

        return providers()

    def door(self, author: Author) -> Callable[[str, int, float, Flag], Recollection] | None:
        """None where there is no second memory, or the author may not read the first."""
        if self.active is None or author.memory is MemoryMode.OFF:
            return None
        return self._asked

    def _asked(self, query: str, limit: int, within_s: float, cancel: Flag) -> Recollection:
        return self.recall(query, limit=limit, within_s=within_s, cancel=cancel)

    def recall(self, query: str, *, limit: int, within_s: float, cancel: Flag | None = None) -> Recollection:
        """The nearest of all that may be recalled. Raises ``RecallFailed``, also for what a provider of others does
        wrong."""
        if self.active is None:
            raise RecallFailed("there is no second memory (memory.provider is none)")
        provider = self._app.second_memory(self.active)
        among = self.passages()
        try:
            return provider.recall(query, among, limit=limit, within_s=within_s, cancel=cancel)
        except RecallFailed:
            raise
        except Exception as error:
            raise RecallFailed(f"{provider.name}: {type(error).__name__}: {error}") from error

    def block(self, taken: TakenRun) -> RecallBlock:
        """What a run that begins now has of it in its system prompt."""
        from hermes_cron.experience import recall_block

        if self.active is None or taken.job.memory is MemoryMode.OFF:
            return recall_block.RecallBlock()
        built_in = sum(len(self._app.memory.kept(target).entries) for target in Target)
        try:
            found = self.recall(
                taken.job.prompt or "", limit=recall_block.MOST + built_in, within_s=_BEFORE_A_RUN_S
            ).found
        except RecallFailed as error:
            _LOG.warning("recall for run %s: %s", taken.id, error)
            return recall_block.failed(str(error))
        return recall_block.block(found, ZoneInfo(taken.job.timezone))

    def passages(self) -> list[Passage]:
        """All that may be recalled: entries of the memory, archived ones, and what runs said last; the newest first."""
        from hermes_cron.store import recall

        with self._app.store.read() as conn:
            redact = self._app.vault.redactor().redact
            said = list(recall.sessions(conn, redact, many=SESSIONS, most=_CHARACTERS))
        return [*self._entries(), *said]

    def _entries(self) -> Iterator[Passage]:
        memory = self._app.memory
        for target in Target:
            for entry in memory.kept(target).entries:
                yield Passage(origin=From.MEMORY, source=f"{target.path}:{entry.line}", text=shown(entry.text))
            for entry in memory.archived(target):
                yield Passage(origin=From.ARCHIVE, source=f"{target.archive}:{entry.line}", text=shown(entry.text))

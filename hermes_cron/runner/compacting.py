"""What keeps a run's requests within its model's window? The engine of the home, and what it may ask beside the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hermes_cron.agent.batch import Toolbox
from hermes_cron.agent.compaction_side import Beside
from hermes_cron.agent.fitting import Fit, Window
from hermes_cron.domain.compaction import Bench, Ends
from hermes_cron.domain.learning import Doors
from hermes_cron.domain.run import TakenRun
from hermes_cron.ports import ContextEngine
from hermes_cron.tools.box import ToolBox

MEMORY = "memory"
_LEAST_ROOM = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """``engine`` makes that of a session. ``auxiliary`` is the model that is asked beside a run, None: the run's own;
    ``doors`` are those of who saves memory before a compaction.
    """

    engine: Callable[[Bench], ContextEngine]
    window: Window
    ends: Ends
    auxiliary: str | None
    doors: Callable[[TakenRun], Doors]

    def asked(self, model: str) -> str:
        """Which model is asked beside a run that ``model`` drives."""
        return self.auxiliary or model

    def fit(self, beside: Beside) -> Fit:
        """What keeps the session within its window."""
        room = max(_LEAST_ROOM, self.window.of(beside.name) // 2)
        bench = Bench(ends=self.ends, summarise=beside.summarise, flush=beside.flush, room=room)
        return Fit(engine=self.engine(bench), window=self.window, ends=self.ends)

    def memory(self, taken: TakenRun, toolbox: ToolBox) -> tuple[Toolbox, tuple[Mapping[str, Any], ...]] | None:
        """The memory tool alone, where the run has it."""
        tool = toolbox.tools.get(MEMORY)
        if tool is None:
            return None
        box = ToolBox({MEMORY: tool}, replace(toolbox.context, doors=self.doors(taken)))
        return box, box.schemas()

"""What is said of this home in a scrape?"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_cron.observe.metrics import Exposition, Totals
    from hermes_cron.wiring import App

LOOK_S = 15.0
"""How old what is read from files may be: names of skills, sizes of memory and history."""
WAIT_S = 0.03
"""How long a scrape waits for a new look. One at a thousand skills takes longer: the next scrape has it."""

_STATES = ("active", "stale", "archived", "pinned")
_LOG = logging.getLogger(__name__)


class MetricsDesk:
    """Thread-safe: scrapes are made one after the other."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._exposition: Exposition | None = None
        self._looked: tuple[float, tuple[str, ...], Totals] | None = None
        self._looking: threading.Thread | None = None

    def text(self) -> bytes:
        """One scrape. What cannot be read now is left out and logged; the rest is told."""
        from hermes_cron import __version__
        from hermes_cron.observe.metrics import Declared, Exposition
        from hermes_cron.store import metrics

        with self._lock:
            self._exposition = self._exposition or Exposition()
            with self._app.store.read() as conn:
                told = metrics.tell(conn)
            skills, files = self._files()
            declared = Declared(jobs=told.jobs, skills=skills, models=told.models, version=__version__)
            gauges = {**told.gauges, **files, **self._heartbeat()}
            return self._exposition.text(declared, told.totals, gauges)

    def _heartbeat(self) -> Totals:
        beats = [each.heartbeat.timestamp() for each in self._app.schedulers()]
        return {"hermes_cron_scheduler_heartbeat_timestamp_seconds": {(): max(beats)}} if beats else {}

    def _files(self) -> tuple[tuple[str, ...], Totals]:
        """The first look is waited for, a later one only for a moment."""
        looked = self._looked or self._look()
        if monotonic() - looked[0] > LOOK_S:
            if self._looking is None or not self._looking.is_alive():
                self._looking = threading.Thread(
                    target=lambda: self._tried(self._look), name="metrics-look", daemon=True
                )
                self._looking.start()
            self._looking.join(WAIT_S)
            looked = self._looked or looked
        return looked[1], looked[2]

    def _look(self) -> tuple[float, tuple[str, ...], Totals]:
        now = monotonic()
        gauges: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        names: list[str] = []
        for look in (self._memory, self._history, lambda: self._skills(names)):
            self._tried(lambda look=look: gauges.update(look()))  # type: ignore[misc]
        self._looked = found = now, tuple(sorted(names)), gauges
        return found

    def _tried(self, look: Callable[[], object]) -> None:
        try:
            look()
        except Exception:  # noqa: BLE001  # one gauge that cannot be read must not hide the others
            _LOG.exception("a part of the metrics cannot be told")

    def _skills(self, names: list[str]) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """How many are in each state; ``names`` gets those under which uses are counted."""
        from hermes_cron.experience.lifecycle import shown, stale
        from hermes_cron.experience.skill_index import name_of, record_of

        library, records = self._app.read_skills(), self._app.skill_reading.records()
        good = [(skill, name_of(library, skill)) for skill in library.all() if skill.fault is None]
        names += {name for _, name in good}
        marks, states = stale(self._app.home.skills), Counter(archived=self._archived())
        for skill, name in good:
            state = shown(marks.get(skill.qualified), record_of(records, skill, name))
            states["pinned" if skill.pinned else state.value] += 1
        return {"hermes_cron_skills": {(("state", state),): float(states[state]) for state in _STATES}}

    def _archived(self) -> int:
        from hermes_cron.experience.skills import ARCHIVE, SKILL_FILE

        return sum(1 for _ in (self._app.home.skills / ARCHIVE).glob(f"**/{SKILL_FILE}"))

    def _memory(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        from hermes_cron.experience.memory import Target

        files = [self._app.memory.kept(target) for target in Target]
        return {
            "hermes_cron_memory_chars": {
                (("store", kept.target.value),): float(kept.memory.characters) for kept in files
            },
            "hermes_cron_memory_limit_chars": {(("store", kept.target.value),): float(kept.limit) for kept in files},
        }

    def _history(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        head = self._app.snapshots.head()
        if head is None:
            return {}
        kept = sum(path.stat().st_size for path in self._app.snapshots.path.rglob("*") if path.is_file())
        return {
            "hermes_cron_snapshot_last_success_timestamp_seconds": {(): head.at.timestamp()},
            "hermes_cron_snapshot_store_bytes": {(): float(kept)},
        }

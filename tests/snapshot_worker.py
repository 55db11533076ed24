"""One of several processes that edit a home by hand, change it, undo and restore, as chance has it.

``python -m tests.snapshot_worker HOME SEED ACTS``; writes what it did as one JSON list.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from hermes_cron.errors import Conflict
from hermes_cron.snapshots.history import carry_out, plan_restore, plan_undo
from hermes_cron.snapshots.repository import Remove, Why, Write
from tests import snapshots_rig as rig

SHARED = [f"jobs/shared-{number}.md" for number in range(3)]


class Worker:
    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.seed = seed
        self.chance = random.Random(seed)
        self.snapshots = rig.repository(home)
        self.did: list[dict[str, Any]] = []
        self.count = 0

    def by_hand(self) -> None:
        """A new file, or a new text of one of our own whose last text is in the history."""
        self.count += 1
        path = f"jobs/hand-{self.seed}-{self.chance.randrange(4)}.md"
        self.snapshots.create(Why(actor="user", reason="edited by hand"))
        self._replace(path, f"by hand {self.seed} {self.count}\n")
        self.did.append({"what": "hand", "path": path, "text": f"by hand {self.seed} {self.count}\n"})

    def of_a_shared_file(self) -> None:
        """A line more at the end of a file that others change too, as an editor saves it."""
        self.count += 1
        path = self.chance.choice(SHARED)
        try:
            text = (self.home / path).read_text()
        except FileNotFoundError:
            return
        self._replace(path, f"{text}hand {self.seed} {self.count}\n")

    def _replace(self, path: str, text: str) -> None:
        draft = self.home / f"draft-{self.seed}"
        draft.write_text(text)
        os.replace(draft, self.home / path)

    def automated(self) -> None:
        self.count += 1
        edits: dict[str, Write | Remove] = {}
        for path in self.chance.sample([*SHARED, f"jobs/run-{self.seed}.md", "skills/s/SKILL.md"], 2):
            edits[path] = Write(self._changed(path).encode())
        if self.chance.random() < 0.2:
            edits[f"jobs/hand-{self.chance.randrange(4)}-0.md"] = Remove()
        made = self.snapshots.change(rig.run(f"{self.seed} {self.count}"), edits)
        if made.after is not None:
            texts = {path: edit.data.decode() if isinstance(edit, Write) else None for path, edit in edits.items()}
            self.did.append({"what": "run", "commit": made.after.id, "before": made.before.id, "edits": texts})

    def _changed(self, path: str) -> str:
        try:
            lines = (self.home / path).read_text().splitlines()
        except FileNotFoundError:
            lines = [f"line {number}" for number in range(8)]
        lines[self.chance.randrange(len(lines))] = f"run {self.seed} {self.count}"
        return "\n".join(lines[-20:]) + "\n"

    def undo(self) -> None:
        log = list(self.snapshots.log())[:12]
        chosen = self.chance.choice(log)
        if chosen.parent is not None:
            self._carry(plan_undo(self.snapshots, [chosen.id]), Why(actor="cli", reason="undo", undoes=(chosen.id,)))

    def restore(self) -> None:
        wanted = self.chance.choice(list(self.snapshots.log())[:12])
        exact = self.chance.random() < 0.3
        why = Why(actor="restore", reason="restore", restores=wanted.id, exact=exact)
        self._carry(plan_restore(self.snapshots, wanted, exact=exact), why)

    def _carry(self, plan: Any, why: Why) -> None:
        try:
            made = carry_out(self.snapshots, plan, why)
        except Conflict as error:
            self.did.append({"what": "conflict", "paths": error.details.get("conflicts")})
            return
        if made.after is not None:
            self.did.append({"what": why.reason, "commit": made.after.id, "kept": made.kept})


def main(home: str, seed: str, acts: str) -> None:
    worker = Worker(Path(home), int(seed))
    moves = [worker.by_hand, worker.of_a_shared_file, worker.automated, worker.automated, worker.undo, worker.restore]
    for _ in range(int(acts)):
        worker.chance.choice(moves)()
    print(json.dumps(worker.did))


if __name__ == "__main__":
    main(*sys.argv[1:])

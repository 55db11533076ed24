"""One of several processes that add entries to one memory.

``python -m tests.memory_writer HOME NAME COUNT`` adds ``NAME 0``, ``NAME 1``, ...; each added one is a line on standard
error at once, and in the end what was added, and what was refused with why, is one JSON object on standard output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hermes_cron.clock import SystemClock
from hermes_cron.errors import Conflict, MemoryFull
from hermes_cron.experience.memory import Action, Operation, Target
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.wiring import App


def main(root: str, name: str, count: str) -> None:
    home = Home(Path(root))
    app = App(home, Settings.load(home), SystemClock(), person=lambda: name)
    added, refused = [], {}
    for number in range(int(count)):
        entry = f"{name} {number}"
        try:
            app.memory.carry_out(Target.MEMORY, [Operation(action=Action.ADD, content=entry)])
        except (Conflict, MemoryFull) as error:
            refused[entry] = error.message
        else:
            added.append(entry)
            print(entry, file=sys.stderr, flush=True)
    app.close()
    print(json.dumps({"added": added, "refused": refused}))


if __name__ == "__main__":
    main(*sys.argv[1:])

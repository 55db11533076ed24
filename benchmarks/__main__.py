"""Run the benchmarks: ``python -m benchmarks [NAME ...]``. Exit 1 when a figure misses its bound."""

from __future__ import annotations

import importlib
import sys

from benchmarks.figures import show

NAMES = (
    "startup",
    "scheduler",
    "agents",
    "loop_floor",
    "takeover",
    "memory",
    "deliveries",
    "snapshots",
    "search",
    "skill_index",
    "learning",
    "curator",
    "metrics",
)


def main() -> int:
    wanted = sys.argv[1:] or NAMES
    good = True
    for name in wanted:
        if name not in NAMES:
            print(f"no benchmark {name!r}; there are: {', '.join(NAMES)}", file=sys.stderr)
            return 2
        print(f"--- {name}", flush=True)
        good = show(importlib.import_module(f"benchmarks.{name}").run()) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Does a run use what earlier ones learned? The same model deploys three projects, then one after a correction.

The world is that of the tests: real files, a `docker` and a `kubectl` on the PATH, the command line as people start it,
and a model that only follows what stands in its request (``tests/learning_policy.py``). The table is read from the
transcripts that the runs left in the store. A fourth deployment follows what a person said of the third.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from benchmarks.figures import Figure, show
from tests.learning_world import Deployed, World, stable, world

CORRECTION = "The namespace is preview, not staging."
WANTED = {"shop": (12, 2), "orders": (9, 1), "news": (6, 0), "forum": (6, 0)}
"""Tool calls and errors of each deployment."""
ROOM = 10_000
"""Bytes that the prompt and the tools of a job take that says nothing but its task, in a home without skills of its
own. What a model is told of the same things has to stay short: it is paid for with every call."""
CACHE = "of the first deployment; a stub that keeps prefixes in steps of 128 tokens"
PLAIN = "---\nschedule: every day 3am\ntimezone: UTC\nmodel: stub-model\n---\nSay hello.\n"


def _learned(deployed: Deployed) -> str:
    return ", ".join(f"{each.name} {each.change} by the {each.actor}" for each in deployed.learned) or "nothing"


def _print(rows: Sequence[Deployed]) -> None:
    print(f"{'deployment':<14}{'calls':>7}{'errors':>8}{'namespace':>11}  learned from it")
    for number, row in enumerate(rows, 1):
        namespace = row.report.partition(" is up in ")[2].partition(",")[0]
        name = f"{number}  {row.project}"
        print(f"{name:<14}{row.calls:>7}{row.errors:>8}{namespace:>11}  {_learned(row)}")


def _prompt(made: World) -> dict[str, int]:
    (made.home.jobs / "plain.md").write_text(PLAIN, encoding="utf-8")
    sizes: dict[str, int] = made.ask("run", "plain", "--dry-run")["bytes"]
    return sizes


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, world(Path(folder) / "world") as made:
        sizes = _prompt(made)
        rows = [made.deploy(project) for project in ("shop", "orders", "news")]
        made.say(rows[-1].run, CORRECTION)
        rows.append(made.deploy("forum"))
        rows[2] = made.read("news", rows[2].run)  # with what the correction taught
        extended = list(chain.from_iterable(stable(bodies) for bodies in made.conversations()))
    _print(rows)
    figures = []
    for row in rows:
        calls, errors = WANTED[row.project]
        figures += [
            Figure(
                name=f"deploying {row.project}, tool calls", value=row.calls, unit="calls", limit=calls, floor=calls
            ),
            Figure(name="  errors among them", value=row.errors, unit="calls", limit=errors),
        ]
    note = f"of {len(extended)} requests after the first of their session"
    stability = sum(extended) / len(extended)
    parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    return [
        *figures,
        Figure(name="prefix stability", value=stability, unit="", floor=1.0, note=note),
        Figure(
            name="tokens that the provider had read before", value=rows[0].cached, unit="share", floor=0.8, note=CACHE
        ),
        Figure(name="prompt and tools of a plain job", value=sum(sizes.values()), unit="bytes", limit=ROOM, note=parts),
    ]


if __name__ == "__main__":
    raise SystemExit(0 if show(run()) else 1)

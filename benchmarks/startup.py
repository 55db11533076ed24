"""How long does a person wait for a command that only looks?"""

from __future__ import annotations

from benchmarks import rig
from benchmarks.figures import Figure, spread


def run() -> list[Figure]:
    figures: list[Figure] = []
    for count, limit in ((100, 8.0), (1000, 12.0)):
        with rig.fresh_home() as home:
            rig.write_jobs(home, count, rig.far_future)
            rig.cli(home, "list")  # the rows are made once
            times = rig.side_by_side(
                {
                    "pass": [rig.PYTHON, "-c", "pass"],
                    "typer": [rig.PYTHON, "-c", "import typer"],
                    "list": [rig.HERMES, "list"],
                    "help": [rig.HERMES, "--help"],
                },
                rig.environment(home),
            )
        bare = rig.ratios(times["list"], times["pass"])
        note = (
            f"{spread(bare)}; {rig.median(times['list']) * 1000:.0f} ms against {rig.median(times['pass']) * 1000:.0f}"
        )
        figures.append(
            Figure(
                name=f"list, {count} jobs / python -c pass", value=rig.median(bare), unit="x", limit=limit, note=note
            )
        )
        if count == 100:
            typer = rig.ratios(times["list"], times["typer"])
            figures.append(
                Figure(
                    name="list, 100 jobs / import typer",
                    value=rig.median(typer),
                    unit="x",
                    limit=1.6,
                    note=spread(typer),
                )
            )
            help_ = rig.ratios(times["help"], times["pass"])
            figures.append(
                Figure(
                    name="--help / python -c pass", value=rig.median(help_), unit="x", limit=15.0, note=spread(help_)
                )
            )
    return figures

"""What does a snapshot cost before every change, and how long does it take to have everything back?

1,000 skills of 3 KB, fsync on, on the disk that holds temporary files; beside a ``tar.gz`` of the same folder, which is
what peers make.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import rig
from benchmarks.figures import Figure, show, spread
from hermes_cron.clock import SystemClock
from hermes_cron.home import Home
from hermes_cron.snapshots.history import carry_out, plan_restore
from hermes_cron.snapshots.repository import SnapshotRepository, Why, Write

SKILLS = 1000
ROUNDS = 15
WHY = Why(actor="run", reason="a change")


def furnish(home: Home) -> None:
    """Text as people write it: it compresses to about a half."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3000)]
    for number in range(SKILLS):
        folder = home.skills / f"category-{number % 20:02}" / f"skill-{number:04}"
        folder.mkdir(parents=True)
        text = " ".join(chance.choices(words, k=470))
        (folder / "SKILL.md").write_text(f"---\nname: skill-{number:04}\ndescription: x\n---\n{text}\n"[:3000])


def seconds(do: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    do(*arguments)
    return time.perf_counter() - began


def tar(home: Home, to: Path) -> None:
    """Written, gzipped and durable."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        archive.add(home.skills, "skills")
    with to.open("wb") as file:
        file.write(held.getvalue())
        os.fsync(file.fileno())


def run() -> list[Figure]:
    times: dict[str, list[float]] = {name: [] for name in ("cold", "unchanged", "one", "change", "restore", "tar")}
    with rig.fresh_home() as home:
        furnish(home)
        skill = next(home.skills.rglob("SKILL.md"))
        inside = str(skill.relative_to(home.root))
        time.sleep(1.2)  # a file counts as unchanged by its time stamp when that is older than a second
        snapshots = SnapshotRepository(home.root, SystemClock())
        for _ in range(5):
            shutil.rmtree(home.root / "snapshots.git", ignore_errors=True)
            times["cold"].append(seconds(snapshots.create, WHY))
        for number in range(ROUNDS):
            times["unchanged"].append(seconds(snapshots.create, WHY))
            skill.write_text(f"changed {number}\n")
            times["one"].append(seconds(snapshots.create, WHY))
            edit = {inside: Write(f"by a run {number}\n".encode())}
            times["change"].append(seconds(snapshots.change, WHY, edit))
            if number < 5:
                times["tar"].append(seconds(tar, home, home.root / "skills.tar.gz"))
        first = list(snapshots.log())[-1]
        for number in range(3):
            # Moved away and not removed: for a minute or so ext4 finds no room quickly where much was removed
            home.skills.rename(home.root / f"away-{number}")
            home.skills.mkdir()
            plan = plan_restore(snapshots, first, exact=True)
            times["restore"].append(seconds(carry_out, snapshots, plan, WHY))
            if sum(1 for _ in home.skills.rglob("SKILL.md")) != SKILLS:
                raise RuntimeError("not everything came back")
    limits = {
        "unchanged": ("snapshot of 1,000 skills, nothing changed", 20.0),
        "one": ("  one file changed", 30.0),
        "change": ("  a change of one file, snapshot before included", None),
        "cold": ("  the first one", 200.0),
        "restore": ("restore of 1,000 files", 400.0),
        "tar": ("  tar.gz of the same, each time", None),
    }
    return [
        Figure(
            name=name,
            value=rig.median(times[key]) * 1000,
            unit="ms",
            limit=limit,
            note=spread([value * 1000 for value in times[key]]),
        )
        for key, (name, limit) in limits.items()
    ]


if __name__ == "__main__":
    show(run())

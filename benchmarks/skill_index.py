"""How fast is the index of a thousand skills chosen, how long is it, and is the right skill in it?

The thousand and the probes are ``tests.skill_probes``, written by somebody who had not read the ranking. Cold: a
library that was just read and of which nothing else is known. Warm: any probe's prompt, once its like was asked.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure, spread
from hermes_cron.domain.skill_use import SkillRecord
from hermes_cron.experience import skill_fit
from hermes_cron.experience.skill_index import BUDGET, SkillIndexer
from hermes_cron.experience.skills import Readings, Root, SkillLibrary
from tests.skill_probes import CHECK_PROBES, FIGURE_PROBES, write_library

TIMES = 9
USED_AT = datetime(2026, 12, 1, tzinfo=UTC)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "skills"
        write_library(root)
        roots = [Root(path=root)]
        readings = Readings()
        first = _ms(lambda: SkillLibrary(roots, readings).all())
        again = [_ms(lambda: SkillLibrary(roots, readings).all()) for _ in range(TIMES)]
        anew = [_ms(lambda: SkillLibrary(roots).all()) for _ in range(TIMES)]
        library = SkillLibrary(roots, readings)
        return [
            *_chosen(library, roots),
            *_found(library),
            Figure(name="1,000 skills read anew", value=sorted(anew)[TIMES // 2], unit="ms", limit=400,
                   note=f"{spread(anew)}; the first time {first:.0f}"),
            Figure(name="1,000 skills looked at again", value=sorted(again)[TIMES // 2], unit="ms", limit=80,
                   note=spread(again)),
        ]  # fmt: skip


def _chosen(library: SkillLibrary, roots: list[Root]) -> list[Figure]:
    records = {
        skill.name: SkillRecord(uses=number % 9, well=number % 7, badly=number % 3, used_at=USED_AT)
        for number, skill in enumerate(library.all())
    }
    prompt = FIGURE_PROBES[0].prompt
    cold = []
    for _ in range(TIMES):
        fresh = SkillLibrary(roots, Readings())
        fresh.all()
        for kept in (skill_fit.stem, skill_fit._senses, skill_fit._concepts_of_stems):
            kept.cache_clear()
        cold.append(_ms(lambda fresh=fresh: SkillIndexer().index(fresh, prompt, records=records)))
    indexer = SkillIndexer()
    for probe in FIGURE_PROBES:
        indexer.index(library, probe.prompt, records=records)
    warm = [_ms(lambda probe=probe: indexer.index(library, probe.prompt, records=records)) for probe in FIGURE_PROBES]
    return [
        Figure(name="skill index of 1,000, warm", value=max(warm), unit="ms", limit=5.0,
               note=f"the slowest of {len(warm)} prompts; {spread(warm)}"),
        Figure(name="skill index of 1,000, cold", value=sorted(cold)[TIMES // 2], unit="ms", limit=50.0,
               note=spread(cold)),
    ]  # fmt: skip


def _found(library: SkillLibrary) -> list[Figure]:
    indexer = SkillIndexer()
    figures = [indexer.index(library, probe.prompt) for probe in FIGURE_PROBES]
    hits = sum(probe.skill in found.shown for probe, found in zip(FIGURE_PROBES, figures, strict=True))
    by_call = 0
    for probe in CHECK_PROBES:
        shown = probe.skill in indexer.index(library, probe.prompt).shown
        by_call += shown or probe.skill in [hit.name for hit in indexer.search(library, probe.prompt)[:20]]
    return [
        Figure(name="probes whose skill is in the index", value=hits / len(FIGURE_PROBES), unit="", floor=0.9,
               note=f"{hits} of {len(FIGURE_PROBES)}"),
        Figure(name="  or found by one skills_list call", value=by_call / len(CHECK_PROBES), unit="", floor=1.0,
               note=f"{by_call} of {len(CHECK_PROBES)} others"),
        Figure(name="characters of the index", value=max(len(each.text) for each in figures), unit="", limit=BUDGET),
    ]  # fmt: skip


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000

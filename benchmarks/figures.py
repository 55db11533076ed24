"""How is a measured figure written down and printed beside its limit?

Each benchmark is a module with ``run() -> list[Figure]``.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """``value`` must not exceed ``limit`` and not fall below ``floor``; None: no such bound. ``note`` says how."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    floor: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return (self.limit is None or self.value <= self.limit) and (self.floor is None or self.value >= self.floor)


def spread(values: Sequence[float]) -> str:
    """``min / median / max`` of repeated measurements."""
    return f"{min(values):.3g} / {statistics.median(values):.3g} / {max(values):.3g}"


def show(figures: Iterable[Figure]) -> bool:
    """Print them; True when all are within their bounds."""
    rows = list(figures)
    for figure in rows:
        bounds = [f"<= {figure.limit:g}" if figure.limit is not None else ""]
        bounds.append(f">= {figure.floor:g}" if figure.floor is not None else "")
        bound = " ".join(part for part in bounds if part) or "-"
        mark = "ok  " if figure.ok else "FAIL"
        print(f"{mark} {figure.name:<48} {figure.value:>10.3g} {figure.unit:<6} {bound:<10} {figure.note}".rstrip())
    return all(figure.ok for figure in rows)

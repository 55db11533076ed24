"""How are servers asked when some may never answer? All at once, and no longer than a person waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import TypeVar

from hermes_cron.errors import HermesCronError

T = TypeVar("T")


def all_of(questions: Mapping[str, Callable[[], T]], limit_s: float) -> dict[str, T | Exception]:
    """By name the answer, or the error; ``TimeoutError`` for what took longer. Threads that still wait end with us."""
    said: SimpleQueue[tuple[str, T | Exception]] = SimpleQueue()
    for name, question in questions.items():
        Thread(target=lambda name=name, question=question: said.put((name, _answer(question))), daemon=True).start()
    found: dict[str, T | Exception] = {}
    end = monotonic() + limit_s
    while len(found) < len(questions):
        try:
            name, answer = said.get(timeout=max(0.0, end - monotonic()))
        except Empty:
            break
        found[name] = answer
    late = TimeoutError(f"no answer within {limit_s:g} s")
    return {name: found.get(name, late) for name in questions}


def _answer(question: Callable[[], T]) -> T | Exception:
    try:
        return question()
    except (HermesCronError, OSError) as error:
        return error

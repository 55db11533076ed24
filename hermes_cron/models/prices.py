"""What did a model call cost? Unknown is None, never 0."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

from hermes_cron.domain.transcript import Usage

_DATED = re.compile(r"(?:-latest|[-@]20\d\d-?\d\d-?\d\d)$")  # gpt-5-mini-2025-08-07, claude-opus-4-5@20251101
_SELLERS = ("openai/", "anthropic/", "google/", "mistralai/")  # OpenRouter's spelling; it passes the list price on


class OwnPrice(Protocol):
    """A price of config.toml, USD for a million tokens; ``cached`` None: as ``input``."""

    @property
    def input(self) -> float: ...
    @property
    def output(self) -> float: ...
    @property
    def cached(self) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD for a million tokens. ``cached`` and ``cache_write`` None: as ``input``.

    ``long`` holds for a call whose prompt has more than ``long_above`` tokens.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    long_above: int | None = None
    long: Price | None = None

    def cost(self, usage: Usage) -> float:
        """USD of one call."""
        if self.long is not None and self.long_above is not None and usage.input > self.long_above:
            return self.long.cost(usage)
        cached = min(usage.cached, usage.input)
        written = min(usage.cache_write, usage.input - cached)
        fresh = usage.input - cached - written
        millionths = (
            fresh * self.input
            + cached * _or(self.cached, self.input)
            + written * _or(self.cache_write, self.input)
            + usage.output * self.output
        )
        return millionths / 1_000_000

    def worst(self, tokens_input: int, tokens_output: int) -> float:
        """USD of a call that uses at most these tokens, at the dearest rate that may apply to them."""
        dearest = max(self.input, _or(self.cached, 0), _or(self.cache_write, 0))
        mine = (tokens_input * dearest + tokens_output * self.output) / 1_000_000
        if self.long is None or self.long_above is None or tokens_input <= self.long_above:
            return mine
        return max(mine, self.long.worst(tokens_input, tokens_output))


class Prices:
    """Own prices first, then the shipped table. A name is looked up as spelt, then without seller and date."""

    def __init__(self, own: Mapping[str, OwnPrice] | None = None) -> None:
        self._table = shipped()
        for name, price in (own or {}).items():
            self._table[name.lower()] = Price(input=price.input, output=price.output, cached=price.cached)

    def price(self, model: str) -> Price | None:
        """None for a model that nobody priced."""
        return next((self._table[name] for name in spellings(model) if name in self._table), None)

    def cost(self, model: str, usage: Usage) -> float | None:
        """USD of one call, None when the price is unknown."""
        price = self.price(model)
        return None if price is None else price.cost(usage)


def same(model: str, other: str) -> bool:
    """Whether two names are of one model, as far as sellers and dates in names go."""
    return not set(spellings(model)).isdisjoint(spellings(other))


def spellings(model: str) -> list[str]:
    """Names under which a model may be listed: as it is written, then without seller and date."""
    name = model.strip().lower()
    return [
        spelling[len(seller) :]
        for spelling in (name, _DATED.sub("", name))
        for seller in ("", *_SELLERS)
        if spelling.startswith(seller)
    ]


def shipped() -> dict[str, Price]:
    """The table that comes with this version, by lower-case name."""
    text = files("hermes_cron.models").joinpath("prices.toml").read_text(encoding="utf-8")
    return {name.lower(): _price(row) for name, row in tomllib.loads(text)["models"].items()}


def _price(row: Mapping[str, Any]) -> Price:
    long = row.get("long")
    return Price(
        input=row["input"],
        output=row["output"],
        cached=row.get("cached"),
        cache_write=row.get("cache_write"),
        long_above=long["above"] if long else None,
        long=_price({**row, "long": None, **{k: v for k, v in long.items() if k != "above"}}) if long else None,
    )


def _or(value: float | None, other: float) -> float:
    return other if value is None else value

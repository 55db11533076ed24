"""Which context engine does config.toml name? One of ours, or one of an installed package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hermes_cron.domain.compaction import Bench
from hermes_cron.errors import ConfigError
from hermes_cron.ports import ContextEngine

SUMMARY, DIGEST = "summary", "digest"
_HINT = "compaction.engine is summary, digest, or MODULE:NAME of an installed package: docs/compaction.md"


def engine(name: str, bench: Bench) -> ContextEngine:
    """The engine of one session. Raises ``ConfigError`` where there is none of that name."""
    if name in (SUMMARY, DIGEST):
        from hermes_cron.agent.compaction import SummaryEngine

        return SummaryEngine(bench if name == SUMMARY else replace(bench, summarise=None))
    return _installed(name)(bench)


def _installed(name: str) -> Callable[[Bench], ContextEngine]:
    import importlib

    module, found, attribute = name.partition(":")
    if not found:
        raise ConfigError(f'no context engine "{name}"', hint=_HINT)
    try:
        made: Callable[[Bench], ContextEngine] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f'compaction.engine "{name}" cannot be imported: {error}', hint=_HINT) from error
    return made

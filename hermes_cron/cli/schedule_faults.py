"""How is a refused schedule shown: what was understood, what was left over, and sentences that can be typed back?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_cron.cli.context import Cli
from hermes_cron.errors import HermesCronError, ScheduleAmbiguous, ScheduleInvalid


@contextmanager
def explained(state: Cli) -> Iterator[None]:
    """Give a fault of the grammar the layout for people; ``--json`` keeps its facts as they are."""
    try:
        yield
    except (ScheduleAmbiguous, ScheduleInvalid) as error:
        prompt = str(error.details.pop("prompt", "") or "")
        if not state.json:
            _lay_out(error, prompt)
        raise


def _lay_out(error: HermesCronError, prompt: str) -> None:
    facts = error.details
    readings = facts.get("readings")
    examples = facts.get("examples")
    if isinstance(readings, list):
        end = f": {prompt}" if prompt else ""
        error.details = {str(label): f'"{phrase}{end}"' for label, phrase in readings}
        error.hint = None
    elif isinstance(examples, list):
        error.details = {key: facts[key] for key in ("understood", "left_over") if facts.get(key)}
        error.details["examples"] = "   ".join(f'"{example}{_end(str(example))}"' for example in examples)
        error.hint = None


def _end(example: str) -> str:
    return "：..." if any("\u4e00" <= character <= "\u9fff" for character in example) else ": ..."

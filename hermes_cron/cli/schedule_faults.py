"""How is a refused schedule shown: what was understood, what was left over, and sentences that can be typed back?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_cron.cli.context import Cli
from hermes_cron.errors import (
    HermesCronError,
    PromptEmpty,
    ScheduleAmbiguous,
    ScheduleInPast,
    ScheduleInvalid,
    ScheduleNeverFires,
)


@contextmanager
def explained(state: Cli, text: str = "") -> Iterator[None]:
    """Give a fault of the grammar the layout for people; ``--json`` keeps its facts as they are.

    ``text`` is what was typed: a Chinese sentence is answered in Chinese, unless another language was asked for.
    """
    try:
        yield
    except (ScheduleAmbiguous, ScheduleInvalid, ScheduleInPast, ScheduleNeverFires, PromptEmpty) as error:
        prompt = str(error.details.pop("prompt", "") or "")
        if not state.json:
            _lay_out(error, prompt)
            if _chinese(state, text):
                state.lang_option = "zh"
                _translate(error)
        raise


def _chinese(state: Cli, text: str) -> bool:
    from hermes_cron.domain.schedule.phrase import language

    configured = state.settings.language if state.home_path.is_home() else None
    return (state.lang_option or configured or language(text)) == "zh"


def _translate(error: HermesCronError) -> None:
    from hermes_cron.domain.schedule.refusal_zh import in_chinese, label

    error.message = in_chinese(error.message)
    error.hint = in_chinese(error.hint) if error.hint else None
    error.details = {label(key): value for key, value in error.details.items()}


def _lay_out(error: HermesCronError, prompt: str) -> None:
    facts = error.details
    readings = facts.get("readings")
    examples = facts.get("examples")
    if isinstance(readings, list):
        error.details = {str(label): f'"{phrase}{_colon(str(phrase))}{prompt}"' for label, phrase in readings}
        if not prompt:
            error.details = {str(label): f'"{phrase}"' for label, phrase in readings}
        error.hint = None
    elif isinstance(examples, list):
        error.details = {key: facts[key] for key in ("understood", "left_over") if facts.get(key)}
        error.details["examples"] = "   ".join(f'"{example}{_colon(str(example))}..."' for example in examples)
        if error.hint and error.hint.startswith(("examples: ", "needs ", "known: ")):
            error.hint = None


def _colon(phrase: str) -> str:
    return "：" if any("\u4e00" <= character <= "\u9fff" for character in phrase) else ": "

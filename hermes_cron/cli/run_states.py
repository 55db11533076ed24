"""Which states did a person name with ``--state``?"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_cron.errors import Usage


def known_states(wanted: Sequence[str]) -> tuple[str, ...]:
    """The words, each one a state of runs. Raises Usage with all there are."""
    from hermes_cron.domain.run import RunState

    known = [state.value for state in RunState]
    for word in wanted:
        if word not in known:
            raise Usage(f'no run state "{word}"', hint="one of: " + " ".join(known))
    return tuple(wanted)

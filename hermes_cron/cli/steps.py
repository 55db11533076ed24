"""How does one step of a playbook look on the screen while it runs? The same for ``run`` and ``skills test``."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_cron.cli import output

_STATUS_WIDTH = 10
_STEP_WIDTH = 22  # as wide as the longest id of the shipped playbooks and some air


def line(facts: Mapping[str, object], *, width: int) -> str:
    """``  dead_rows             1 warning  0.0 s``, from the facts of a ``playbook_step`` event.

    ``width`` is that of the longest step id. A step that was not checked has its reason in place of the seconds.
    """
    step, status = output.pad(str(facts["step"]), max(_STEP_WIDTH, width + 2)), output.one_line(str(facts["status"]))
    if not facts["checked"]:
        return f"  {step}{status}"
    return f"  {step}{output.pad(status, _STATUS_WIDTH)} {facts['elapsed_s']} s"

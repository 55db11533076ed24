"""How is a playbook tried without a job: same loop, same tools, nothing stored, nothing delivered?"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from hermes_cron.agent.loop import AgentRun, run_agent
from hermes_cron.agent.stop import LoopResult, StopReason
from hermes_cron.domain.budget import Budget
from hermes_cron.domain.transcript import Header
from hermes_cron.errors import DatabaseError, RunFailed
from hermes_cron.home import Home
from hermes_cron.models.playbook.inputs import Inputs, header
from hermes_cron.models.playbook.model import PlaybookModel
from hermes_cron.ports import Clock, Databases, Emit
from hermes_cron.settings import variable
from hermes_cron.testing_journal import MemoryJournal
from hermes_cron.tools.box import ToolBox
from hermes_cron.tools.connections import Connections
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.registry import discover

LIMIT_S = 600.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def rehearse(inputs: Inputs, *, databases: Databases | None, home: Home, clock: Clock, emit: Emit) -> LoopResult:
    """Run the playbook and return its report.

    Raises:
        DatabaseError: the database does not answer.
        RunFailed: nothing could be checked, or the run was ended.
    """
    from hermes_cron.environments.local import run as run_command
    from hermes_cron.models.playbook.inputs import zone_of

    registry = discover()
    names = (inputs.database,) if inputs.database is not None else ()
    deadline = time.monotonic() + LIMIT_S
    cancel = threading.Event()
    with tempfile.TemporaryDirectory(prefix="hermes-cron-") as folder, Connections(databases, names) as connections:
        context = ToolContext(
            run_id="rehearsal", job_name=inputs.skill, workdir=Path(folder), home=home, clock=clock,
            zone=zone_of(inputs.zone), deadline=deadline, cancel=cancel,
            env={"PATH": variable("PATH") or _PATH, "LC_ALL": "C.UTF-8"}, run_command=run_command,
            connections=connections,
        )  # fmt: skip
        tools = {name: registry.tools[name] for name in inputs.program.tools() if name in registry.tools}
        box = ToolBox(tools, context)
        journal = MemoryJournal(
            Header(system="", tools=box.schemas(), model=inputs.model, playbook=header(inputs)),
            [{"role": "user", "content": inputs.skill}],
        )
        run = AgentRun(
            model=PlaybookModel(emit), toolbox=box, journal=journal, budget=Budget(10_000), deadline=deadline,
            cancel=cancel, emit=lambda *_: None,
        )  # fmt: skip
        result = run_agent(run)
    if result.stop is StopReason.FINAL:
        return result
    failed = DatabaseError if result.reason == "database_unreachable" else RunFailed
    look = f"hermes-cron db test {inputs.database}" if inputs.database else None
    raise failed(result.error or str(result.stop), hint=look)

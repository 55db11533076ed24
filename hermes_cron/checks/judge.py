"""Did the run do what it says? Every check of the job, one after the other, by code and without the agent.

Implements ``ports.Checks``. A check that raises, takes too long or lacks what it needs is ``not_checkable``: it never
counts as good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_cron.checks import file, http, report, shell, sql
from hermes_cron.checks.bench import Bench, NotCheckable, Said
from hermes_cron.checks.pins import FileState, Pins, dump, load
from hermes_cron.checks.words import one_line, says
from hermes_cron.domain.check import Check, CheckKind, CheckResult, Trial, Verdict
from hermes_cron.domain.command import Flag, RunCommand
from hermes_cron.errors import HermesCronError
from hermes_cron.ports import Databases, Fenced

_JUDGES: Mapping[CheckKind, Callable[[Mapping[str, Any], Bench], Said]] = {
    CheckKind.SQL: sql.judge,
    CheckKind.HTTP: http.judge,
    CheckKind.SHELL: shell.judge,
    CheckKind.FILE: file.judge,
    CheckKind.REPORT: report.judge,
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeChecks:
    """Thread-safe: a trial's state lives in its own call."""

    databases: Databases
    run_command: RunCommand

    def pin(self, checks: Sequence[Check], folder: Path, env: Mapping[str, str]) -> str:
        """Files as they are now: hashes of what is compared or started, the text of schemas."""
        files: dict[str, FileState] = {}
        texts: dict[str, Mapping[str, str | None]] = {}
        for check in checks:
            match check.kind:
                case CheckKind.SHELL:
                    files |= shell.pinned(check.params, folder, env)
                case CheckKind.FILE:
                    files |= file.pinned(check.params, folder)
                case CheckKind.REPORT:
                    texts |= report.pinned(check.params, folder)
                case CheckKind.SQL | CheckKind.HTTP:
                    pass  # they compare with what the job itself says
        return dump(Pins(files=files, texts=texts))

    def judge(self, trial: Trial, cancel: Flag) -> tuple[CheckResult, ...]:
        """What each check says, in order."""
        bench = Bench(
            folder=trial.folder,
            env=trial.env,
            report=trial.report,
            pins=load(trial.pinned),
            end=time.monotonic() + trial.seconds,
            cancel=cancel,
            databases=self.databases,
            run_command=self.run_command,
            on_spawn=trial.on_spawn,
        )
        return tuple(_result(check, bench) for check in trial.checks)


def _result(check: Check, bench: Bench) -> CheckResult:
    began = time.monotonic()
    verdict, detail = _verdict(check, bench)
    return CheckResult(
        kind=check.kind,
        says=says(check),
        verdict=verdict,
        detail=one_line(detail),
        elapsed_ms=round((time.monotonic() - began) * 1000),
    )


def _verdict(check: Check, bench: Bench) -> tuple[Verdict, str]:
    try:
        bench.seconds(0)
        good, said = _JUDGES[check.kind](check.params, bench)
    except Fenced:
        raise
    except NotCheckable as error:
        return Verdict.NOT_CHECKABLE, str(error)
    except HermesCronError as error:
        return Verdict.NOT_CHECKABLE, error.message
    except Exception as error:  # noqa: BLE001  # a check's crash must not lose the run's outcome, and proves nothing
        _log.error("a %s check crashed", check.kind, exc_info=error)
        return Verdict.NOT_CHECKABLE, f"the check crashed: {type(error).__name__}: {error}"
    return (Verdict.VERIFIED if good else Verdict.CHECK_FAILED), said

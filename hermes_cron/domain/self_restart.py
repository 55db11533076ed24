"""Would a command stop the service that runs it?

systemd ends a stopped service's whole control group: a run that restarts hermes-cron is killed together with it, and
nothing comes back to say so.
"""

from __future__ import annotations

import re

REMEDY = "restart it from outside: a shell of yours, or systemd-run --on-active=5s systemctl restart hermes-cron"

_ACTIONS = "restart|try-restart|reload-or-restart|try-reload-or-restart|stop|kill|isolate"
_BY_MANAGER = re.compile(rf"\bsystemctl\b[^;&|\n]*\s(?:{_ACTIONS})\s[^;&|\n]*\bhermes-cron(?:\.service)?(?![-\w.])")
_BY_SERVICE = re.compile(r"\bservice\s+hermes-cron\s+(?:restart|stop|force-reload)\b")
_BY_NAME = re.compile(r"\b(?:pkill|killall)\b[^;&|\n]*\bhermes-cron\b")
_BY_COMMAND = re.compile(r"\bhermes-cron\b[^;&|\n]*\bservice\s+(?:uninstall|install)\b")
_OUTSIDE = re.compile(r"\bsystemd-run\b[^;&|\n]*$")


def restarts_itself(command: str) -> str | None:
    """The words that would do it; None when none would. A ``systemd-run`` before them runs them elsewhere."""
    for line in re.split(r"[;&|\n]+", command.replace("\\\n", " ")):
        if line.lstrip().startswith("#"):
            continue
        for rule in (_BY_MANAGER, _BY_SERVICE, _BY_NAME, _BY_COMMAND):
            found = rule.search(line)
            if found is not None and not _OUTSIDE.search(line[: found.start()]):
                return " ".join(found[0].split())
    return None

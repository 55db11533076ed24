"""Which keys may a job file have, and of which form is each one's value?

The form only: what needs the zone, the clock, other keys or the home's names is judged in ``load``. A reader raises
``FaultsFound`` with the line of the very value that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from hermes_cron.domain.earlier import OWN_MOST
from hermes_cron.domain.job import Action, CatchUp, Overlap, PlaybookMode, PlaybookUse, Retries, Template, When
from hermes_cron.domain.learning import Learn, MemoryMode
from hermes_cron.jobs import forms
from hermes_cron.jobs.checks import read_checks
from hermes_cron.jobs.forms import Reader, Words
from hermes_cron.jobs.frontmatter import Fault, FaultsFound, Several, Single, Table, Value
from hermes_cron.jobs.nearest import did_you_mean
from hermes_cron.jobs.plain_sight import looks_secret

NOT_YET = frozenset(
    {
        "calendar", "triggers", "window", "priority", "owner", "gate", "for_each", "accounts", "secrets",
        "environment", "reasoning", "policy", "approval", "notify",
    }
)  # fmt: skip
"""Keys of the format that this version refuses by name: a key that is accepted and does nothing would be a lie."""

NOT_WITH_ACTION = (
    "script", "template", "vars", "timeout", "skills", "playbook", "databases", "env", "workdir", "model",
    "fallback_models", "tools", "context", "memory", "learn",
)  # fmt: skip

LIMITS_NOT_YET = frozenset({"writes"})
DELIVER_NOT_YET = frozenset({"language", "attach", "quiet_hours", "failures", "digest"})

RETRY_ON = frozenset(
    {
        # states
        "failed", "timeout", "interrupted", "unknown",
        # of the model and what leads to it
        "rate_limited", "model_overloaded", "model_unreachable", "model_timeout", "model_garbage",
        "stream_truncated", "stream_stalled", "empty_reply", "reply_truncated", "loop_detected",
        # of the work
        "exit_code", "deadline", "owner_died", "shutdown", "crashed", "error", "disk_full", "output_not_written",
        "database_unreachable", "nothing_checked",
    }
)  # fmt: skip
"""Words of failures that another attempt may mend."""
NEVER_AGAIN = frozenset(
    {
        "model_auth", "model_bad_request", "context_length", "model_refused", "quota_exhausted", "no_model",
        "several_databases", "budget_exhausted", "cancelled", "denied",
    }
)  # fmt: skip
"""Words of ends that no other attempt follows, whatever a job says (design decision 4)."""

_SECRET = re.compile(r"secret:[A-Za-z0-9][A-Za-z0-9._-]*")


# --- readers of one key -----------------------------------------------------------------------------------------------


def _schedule(value: Value, key: str) -> Words:
    if isinstance(value, Several):
        if not value.items:
            forms.wrong(value, key, "a phrase or a list of phrases")
        return tuple(forms.placed_text(item, key) for item in value.items)
    return (forms.placed_text(value, key),)


def _tags(value: Value, key: str) -> Words:
    words = forms.words(value, key)
    for word, line in words:
        if not re.fullmatch(r"[^\W_][\w.:/-]{0,63}", word):
            raise FaultsFound(Fault(line=line, message=f'{key}: "{word}" is not a label (letters, digits, - _ . : /)'))
    return words


def _minutes(value: Value, key: str) -> float:
    number = forms.number(value, key)
    if not 0 < number <= 60 * 24 * 30:
        forms.wrong(value, key, "minutes above 0 and at most 43200 (30 days)")
    return number


def _usd(value: Value, key: str) -> float:
    number = forms.number(value, key)
    if not 0 < number <= 1_000_000:
        forms.wrong(value, key, "US dollars above 0")
    return float(number)


def _paused(value: Value, key: str) -> str | None:
    """The reason. ``off`` and ``false`` say that the job is not paused; ``on`` gives no reason but pauses."""
    if isinstance(value, Single) and value.text.lower() in forms.OFF:
        return None
    if isinstance(value, Single) and value.text.lower() in forms.ON:
        return "no reason given"
    return forms.text(value, key)


def _env(value: Value, key: str) -> dict[str, str]:
    """Plain variables, as text the way they are written; what looks like a secret is refused and not repeated."""
    values = forms.scalars(value, key)
    assert isinstance(value, Table)  # noqa: S101 - scalars refused anything else
    found: dict[str, str] = {}
    for entry in value.entries:
        if not isinstance(entry.value, Single) or values[entry.key] is None:
            forms.wrong(entry.value, f"{key}.{entry.key}", "text")
        kind = looks_secret(entry.key, entry.value.text)
        if kind is not None:
            message = f"{key}.{entry.key}: the value looks like {kind}; secrets do not belong in job files"
            raise FaultsFound(Fault(line=entry.value.line, message=message))
        found[entry.key] = entry.value.text
    return found


def _playbook(value: Value, key: str) -> PlaybookUse:
    """``auto``, ``only``, ``never``, or ``{params: {...}}`` (with ``mode`` beside it where both are meant)."""
    mode = forms.choice(PlaybookMode)
    if not isinstance(value, Table):
        return PlaybookUse(mode=mode(value, key))
    return PlaybookUse(**forms.members(value, key, {"mode": mode, "params": forms.scalars}))


def _limits(value: Value, key: str) -> dict[str, Any]:
    """What the job says; the home's defaults fill in the rest."""
    readers: dict[str, Reader] = {
        "minutes": _minutes,
        "iterations": forms.count,
        "tokens": forms.count,
        "cost_usd": _usd,
        "cost_usd_per_day": _usd,
    }
    return forms.members(value, key, readers, later=LIMITS_NOT_YET)


def _keep(value: Value, key: str) -> dict[str, Any]:
    """As ``_limits``."""
    return forms.members(value, key, {"runs": forms.count, "days": forms.count})


def _retries(value: Value, key: str) -> Retries:
    """A number alone is that of the attempts."""
    if isinstance(value, Single) and value.value is not None and not isinstance(value.value, str):
        return Retries(attempts=_attempts(value, key))
    return Retries(**forms.members(value, key, {"attempts": _attempts, "backoff": forms.span, "on": _retry_on}))


def _attempts(value: Value, key: str) -> int:
    attempts = forms.count_or_zero(value, key)
    if attempts > 20:
        forms.wrong(value, key, "at most 20 attempts")
    return attempts


def _retry_on(value: Value, key: str) -> tuple[str, ...]:
    words = forms.words(value, key)
    if not words:  # left out, the key has a default that an empty list would stand for
        forms.refuse(value, f"{key}: an empty list says nothing; retries: 0 tries nothing again")
    for word, line in words:
        if word in NEVER_AGAIN:
            message = f'{key}: "{word}" is never tried again: another attempt would end the same'
            raise FaultsFound(Fault(line=line, message=message))
        if word not in RETRY_ON:
            message = f'{key}: "{word}" is no failure that runs end with{did_you_mean(word, RETRY_ON)}'
            raise FaultsFound(Fault(line=line, message=message))
    return tuple(word for word, _ in words)


def _pause_after(value: Value, key: str) -> int:
    """Failures in a row; ``off``, as ``0``: never."""
    if isinstance(value, Single) and value.text.lower() in forms.OFF:
        return 0
    return forms.count_or_zero(value, key)


def _on_check_failure(value: Value, key: str) -> dict[str, Any]:
    """``notify`` keeps its lines: whether the targets exist is judged in ``load``."""
    return forms.members(value, key, {"attempts": _attempts, "notify": forms.words})


def _deliver(value: Value, key: str) -> dict[str, Any]:
    """A list of targets, or a mapping with ``to``; names and the title keep their lines."""
    if isinstance(value, Several):
        return {"to": forms.words(value, key)}
    if not isinstance(value, Table):
        forms.words(value, key)  # says what a list looks like
    readers: dict[str, Reader] = {"to": forms.words, "when": forms.choice(When), "title": forms.placed_line}
    found = forms.members(value, key, readers, later=DELIVER_NOT_YET)
    if not found.get("to"):
        forms.refuse(value, f"{key}: to is missing: which targets is it sent to?")
    return found


def _ping(value: Value, key: str) -> str:
    """``secret:NAME`` or an address of http or https. An address with a name in it is refused and not repeated."""
    said = forms.line(value, key)
    if _SECRET.fullmatch(said):
        return said
    try:
        parts = urlsplit(said)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        bare = parts.username is None and parts.password is None
    except ValueError:
        good = bare = False
    if not bare and "@" in said:
        forms.refuse(value, f"{key}: a name or password stands in the URL; write secret:NAME instead")
    if not good:
        forms.refuse(value, f"{key}: expected secret:NAME or an http or https URL")
    return said


def _context(value: Value, key: str) -> dict[str, Any]:
    """``from`` keeps its lines: whether the jobs exist is judged in ``load``."""
    if isinstance(value, Single) and value.text.lower() in forms.OFF | {"none"}:
        return {}
    readers: dict[str, Reader] = {
        "own": _own_reports,
        "from": forms.words,
        "since": forms.span,
        "max_chars": _context_chars,
    }
    found = forms.members(value, key, readers)
    if not {"own", "from"} & found.keys():
        forms.refuse(value, f"{key}: own or from is missing: whose reports?")
    return found


def _own_reports(value: Value, key: str) -> int:
    """``last``, ``none``, or how many."""
    word = value.text.lower() if isinstance(value, Single) else ""
    if word in forms.OFF | {"none"}:
        return 0
    if word == "last":
        return 1
    if not re.fullmatch(r"[1-9][0-9]{0,2}", word, re.ASCII) or int(word) > OWN_MOST:
        forms.wrong(value, key, f"last, none, or a number up to {OWN_MOST}")
    return int(word)


def _context_chars(value: Value, key: str) -> int:
    number = forms.count(value, key)
    if not 200 <= number <= 200_000:
        forms.wrong(value, key, "200 to 200000 characters")
    return number


KEYS: Mapping[str, Reader] = {
    "description": forms.line,
    "schedule": _schedule,
    "timezone": forms.placed_text,
    "start": forms.placed_text,
    "until": forms.placed_text,
    "max_runs": forms.count,
    "jitter": forms.span_or_zero,
    "catch_up": forms.choice(CatchUp, off=CatchUp.NONE),
    "grace": forms.span,
    "overlap": forms.choice(Overlap),
    "paused": _paused,
    "tags": _tags,
    "template": forms.choice(Template),
    "vars": forms.scalars,
    "script": forms.text,
    "action": forms.choice(Action),
    "timeout": forms.span,
    "skills": forms.words,
    "playbook": _playbook,
    "databases": forms.words,
    "env": _env,
    "workdir": forms.placed_text,
    "model": forms.line,
    "fallback_models": forms.words,
    "tools": forms.words,
    "limits": _limits,
    "retries": _retries,
    "pause_after": _pause_after,
    "checks": read_checks,
    "on_check_failure": _on_check_failure,
    "deliver": _deliver,
    "ping": _ping,
    "keep": _keep,
    "context": _context,
    "memory": forms.choice(MemoryMode, off=MemoryMode.OFF),
    "learn": forms.choice(Learn, off=Learn.OFF),
}
"""In the order in which a new file is written."""

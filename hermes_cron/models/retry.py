"""After a failed model call: how long to wait inside the call, or is it the run's to decide? Pure."""

from __future__ import annotations

from hermes_cron.errors import ModelError, ModelOverloaded, ModelRateLimited, ModelUnreachable

ATTEMPTS = 3
LONGEST_WAIT_S = 30.0  # what asks for more is the run's to wait for: it can free its slot
_BACKOFF_S = (1.0, 2.0)


def wait_before_retry(error: ModelError, *, attempt: int, time_left_s: float) -> float | None:
    """Seconds before attempt ``attempt + 1`` (from 1), or None: give up. Never beyond ``time_left_s``.

    A server's Retry-After is a minimum (RFC 9110 10.2.3): never cut short, refused if too long. A try that may have
    been paid for is not repeated here: whoever pays reserves money for each.
    """
    passes = isinstance(error, ModelRateLimited | ModelOverloaded | ModelUnreachable)
    if attempt >= ATTEMPTS or not passes or error.paid:
        return None
    wait_s = _BACKOFF_S[attempt - 1]
    if error.retry_after_s is not None:
        wait_s = error.retry_after_s
    return wait_s if wait_s <= LONGEST_WAIT_S and wait_s < time_left_s else None

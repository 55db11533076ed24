"""How is an instant or a length of time shown on a screen? In the words that messages use too (``domain.when``)."""

from __future__ import annotations

from hermes_cron.domain.when import brief, due, length, whole

__all__ = ["brief", "due", "length", "whole"]

"""What does the guard say when it refuses?"""

from __future__ import annotations

from typing import Final

from hermes_cron.errors import SqlNotReadOnly

HINT: Final = "only reading is allowed here: one SELECT, VALUES, TABLE, EXPLAIN or SHOW; see docs/formats/databases.md"


def refusal(reason: str, *, hint: str = HINT) -> SqlNotReadOnly:
    return SqlNotReadOnly(f"refused before it was sent: {reason}", hint=hint)

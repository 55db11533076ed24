"""docs/formats/databases.md lists exactly the functions and PRAGMAs the guard knows.

``python -m tests.unit.databases.test_docs`` writes the list anew.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from hermes_cron.databases.functions import ALLOWED, SQLITE_PRAGMAS, SQLITE_PRAGMAS_WITH_ARGUMENT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "formats" / "databases.md"
BEGIN, END = "<!-- lists: written from hermes_cron/databases/functions.py -->\n", "<!-- end of lists -->\n"
TITLES = {"postgres": "PostgreSQL", "sqlite": "SQLite", "mysql": "MySQL, MariaDB", "tsql": "SQL Server"}


def lists() -> str:
    parts = [
        f"### Functions: {TITLES[dialect]} ({len(names)})\n\n{_words(names)}\n" for dialect, names in ALLOWED.items()
    ]
    plain = SQLITE_PRAGMAS - SQLITE_PRAGMAS_WITH_ARGUMENT
    parts.append(f"### PRAGMAs: SQLite\n\nWithout an argument: {_words(plain)}\n")
    parts.append(f"With or without: {_words(SQLITE_PRAGMAS_WITH_ARGUMENT)}\n")
    return "\n".join(parts)


def _words(names: frozenset[str]) -> str:
    return textwrap.fill(" ".join(f"`{name}`" for name in sorted(names)), 118, break_on_hyphens=False)


def test_the_page_lists_what_the_guard_knows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == lists()


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + lists() + END + rest.partition(END)[2], encoding="utf-8")

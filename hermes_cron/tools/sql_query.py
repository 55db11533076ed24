"""The tool ``sql_query``: one read-only statement."""

from __future__ import annotations

import json
import threading
from contextlib import AbstractContextManager
from dataclasses import replace

from pydantic import Field

from hermes_cron.deadline import cancelled_after
from hermes_cron.domain.database import QueryResult
from hermes_cron.ports import Database
from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool


class SqlQuery(Arguments):
    database: str = Field(description="name of a database this run may read")
    sql: str = Field(min_length=1, description="one SELECT; anything that could write is refused")
    max_rows: int | None = Field(default=None, ge=1, description="rows at most; default: the database's own limit")


def query(arguments: SqlQuery, context: ToolContext) -> str:
    """``{"columns", "rows", "row_count", "truncated"}``; ``row_count`` is how many rows are here.

    The database's own limits of rows and time hold; ``max_rows`` and the run's end can only lower them.
    """
    with context.connections.borrow(arguments.database) as database, until_deadline(database, context):
        result = database.query(arguments.sql)
    return as_json(result, context.caps.sql_bytes, max_rows=arguments.max_rows)


def until_deadline(database: Database, context: ToolContext) -> AbstractContextManager[None]:
    """Cancels what the connection does when the run's time is up. Raises ``ToolFailed`` when it is up already."""
    return cancelled_after(context.seconds(threading.TIMEOUT_MAX), database)


def as_json(result: QueryResult, cap_bytes: int, *, max_rows: int | None = None) -> str:
    """Whole rows only, so that the text always parses; what is left out is said in ``truncated``."""
    used, kept = 0, 0
    for row in result.rows[:max_rows]:
        used += len(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")) + 2
        if used > cap_bytes:
            break
        kept += 1
    if kept < len(result.rows):
        why = f"max_rows {max_rows:,}" if kept == max_rows else f"they did not fit into {cap_bytes:,} bytes"
        cut = f"{len(result.rows) - kept:,} of {len(result.rows):,} rows left out: {why}"
        said = f"{result.truncated}; {cut}" if result.truncated else cut
        result = replace(result, rows=result.rows[:kept], truncated=said)
    return json.dumps(
        {
            "columns": list(result.columns),
            "rows": [list(row) for row in result.rows],
            "row_count": len(result.rows),
            "truncated": result.truncated,
        },
        ensure_ascii=False,
    )


def no_database(context: ToolContext) -> str | None:
    return None if context.connections.names else "the job names no database"


TOOL = Tool(
    name="sql_query",
    toolset="databases",
    description="Run one read-only SQL statement and get columns and rows as JSON.",
    arguments=SqlQuery,
    handler=query,
    available=no_database,
)

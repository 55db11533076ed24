"""The tool ``sql_schema``: which tables, columns, keys and indexes a database has."""

from __future__ import annotations

from pydantic import Field

from hermes_cron.tools.context import ToolContext
from hermes_cron.tools.declaration import Arguments, Tool
from hermes_cron.tools.sql_query import no_database, until_deadline


class SqlSchema(Arguments):
    database: str = Field(description="name of a database this run may read")
    pattern: str | None = Field(default=None, description="only tables whose name matches, e.g. order*")


def schema(arguments: SqlSchema, context: ToolContext) -> str:
    with context.connections.borrow(arguments.database) as database, until_deadline(database, context):
        return context.clip(database.schema(arguments.pattern), context.caps.output_bytes)[0]


TOOL = Tool(
    name="sql_schema",
    toolset="databases",
    description="List tables and views of a database with columns, keys, indexes and estimated rows.",
    arguments=SqlSchema,
    handler=schema,
    available=no_database,
)

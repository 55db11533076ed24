"""How does the guard read SQL so that nothing is renamed on the way back to text?

The four dialects of sqlglot with an empty table of known functions: every call stays an anonymous call under the name
that was typed. That keeps the meaning (sqlglot would turn ``json_extract(a, '$.x')`` into ``a -> '$.x'`` and ``now()``
into ``CURRENT_TIMESTAMP``), and it makes the allow-list in functions.py the one place that knows a function. Only the
calls with a syntax of their own (``CAST(x AS t)``, ``EXTRACT(f FROM x)``, ``TRIM(BOTH ...)``) keep their parsers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.dialects.tsql import TSQL
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.parsers.sqlite import SQLiteParser
from sqlglot.parsers.tsql import TSQLParser

DialectName: TypeAlias = Literal["sqlite", "postgres", "mysql", "tsql"]
_Parsers: TypeAlias = dict[str, Callable[..., Any]]


def _only(parsers: _Parsers, *names: str) -> _Parsers:
    return {name: parsers[name] for name in names}


class _Strict:
    """What a parser of sqlglot would keep as unparsed text (with a warning in the log) does not parse here."""

    def _warn_unsupported(self) -> None:
        self.raise_error("not understood")  # type: ignore[attr-defined]


class GuardPostgres(Postgres):
    class Parser(_Strict, PostgresParser):
        FUNCTIONS: ClassVar[_Parsers] = {}
        FUNCTION_PARSERS: ClassVar[_Parsers] = _only(
            PostgresParser.FUNCTION_PARSERS,
            "CAST",
            "EXTRACT",
            "OVERLAY",
            "POSITION",
            "STRING_AGG",
            "SUBSTRING",
            "TRIM",
        )

    class Generator(PostgresGenerator):
        TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
            **PostgresGenerator.TRANSFORMS,
            exp.CurrentTime: lambda *_: "CURRENT_TIME",  # sqlglot writes CURRENT_TIME(), a syntax error
            exp.Pow: lambda generator, node: generator.binary(node, "^"),
        }


class GuardSQLite(SQLite):
    class Parser(_Strict, SQLiteParser):
        FUNCTIONS: ClassVar[_Parsers] = {}
        FUNCTION_PARSERS: ClassVar[_Parsers] = _only(SQLiteParser.FUNCTION_PARSERS, "CAST")

    class Generator(SQLiteGenerator):
        # sqlglot writes CAST(x AS numeric) as REAL and CAST(x AS date) as DATE(x); SQLite means NUMERIC by both.
        TYPE_MAPPING: ClassVar[dict[exp.DType, str]] = {
            **SQLiteGenerator.TYPE_MAPPING,
            **dict.fromkeys(
                (
                    exp.DType.DECIMAL,
                    exp.DType.BOOLEAN,
                    exp.DType.DATE,
                    exp.DType.TIME,
                    exp.DType.DATETIME,
                    exp.DType.TIMESTAMP,
                    exp.DType.TIMESTAMPNTZ,
                ),
                "NUMERIC",
            ),
        }

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            return f"CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"


class GuardMySQL(MySQL):
    class Parser(_Strict, MySQLParser):
        FUNCTIONS: ClassVar[_Parsers] = {}
        FUNCTION_PARSERS: ClassVar[_Parsers] = _only(
            MySQLParser.FUNCTION_PARSERS, "CAST", "CONVERT", "EXTRACT", "GROUP_CONCAT", "POSITION", "SUBSTRING", "TRIM"
        )


class GuardTSQL(TSQL):
    class Parser(_Strict, TSQLParser):
        FUNCTIONS: ClassVar[_Parsers] = {}
        FUNCTION_PARSERS: ClassVar[_Parsers] = _only(
            TSQLParser.FUNCTION_PARSERS, "CAST", "CONVERT", "STRING_AGG", "TRIM", "TRY_CAST", "TRY_CONVERT"
        )


DIALECTS: Final[dict[str, type[Dialect]]] = {
    "postgres": GuardPostgres,
    "sqlite": GuardSQLite,
    "mysql": GuardMySQL,
    "tsql": GuardTSQL,
}

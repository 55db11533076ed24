"""May this SQL text be sent to a database that must not change, and in which spelling?

The second of three fences (the account and the session are the others). Nothing is looked for that is bad: what is not
on a list of good things is refused, and a text that does not parse is refused. What is sent is never the text that came
in but the text made from the tree that was checked, without comments, so that the server can see nothing the guard did
not see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_cron.databases import statements
from hermes_cron.databases.functions import (
    ALLOWED,
    ATTRIBUTE_CALLS,
    ATTRIBUTE_PREFIXES,
    COMPOSITE_FIELDS,
    SECRET_TABLES,
    SQLITE_PRAGMAS_WITH_ARGUMENT,
    names,
)
from hermes_cron.databases.lexical import stray, without_quotes
from hermes_cron.databases.refusal import HINT, refusal

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

    from hermes_cron.databases.dialects import DialectName

MAX_CHARACTERS: Final = 100_000

_FIRST_WORDS: Final = frozenset({"select", "with", "values", "table"})

# Nodes of a tree that only reads. Func nodes are judged by name (functions.py), except those listed here, which are
# operators, constants or calls with a syntax of their own.
_NODES: Final = names(
    """
    Select Union Except Intersect Subquery Values Tuple Paren Table TableAlias From Join Lateral Where Group Having
    Order Ordered Limit LimitOptions Offset Fetch Distinct With CTE RecursiveWithSearch TableSample Window WindowSpec
    WithinGroup Filter GroupingSets Cube Rollup Qualify Unnest
    Column Star Identifier Alias Aliases Dot Literal RawString ByteString NationalString BitString HexString Null
    Boolean Var Interval IntervalSpan Kwarg PropertyEQ Variadic Anonymous
    And Or Not Xor EQ NEQ GT GTE LT LTE Is NullSafeEQ NullSafeNEQ Between In Like ILike SimilarTo Glob RegexpLike
    RegexpILike Escape Any All Exists Overlaps
    Add Sub Mul Div IntDiv Mod Neg Pow DPipe Concat Collate AtTimeZone BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
    BitwiseLeftShift BitwiseRightShift Adjacent ArrayOverlaps ArrayContainsAll ArrayContainedBy ArrayContains Distance
    Cast TryCast DataType DataTypeParam ObjectIdentifier PseudoType ColumnDef Case If Array Bracket Slice
    JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBContainsTopKey
    JSONBContainsAnyTopKeys JSONBContainsAllTopKeys JSONBPathExists JSONBDeleteAtPath JSONPath JSONPathRoot JSONPathKey
    JSONPathSubscript JSONKeyValue MatchAgainst Match ExtendsLeft ExtendsRight StartsWith Operator
    CurrentDate CurrentTime CurrentTimestamp CurrentDatetime CurrentUser CurrentRole CurrentSchema CurrentCatalog
    Localtime Localtimestamp SessionUser
    Extract Trim Substring StrPosition Overlay GroupConcat Convert Collation CharacterSet
    """
)
# Where a system's own schema may stand before a function's name.
_SYSTEM_SCHEMAS: Final = {"postgres": frozenset({"pg_catalog", "information_schema"})}

# What each refused first word does, for the message.
_EFFECTS: Final = {
    word: effect
    for effect, words in {
        "changes rows": "insert update delete merge replace upsert truncate copy load",
        "changes the schema": "create alter drop rename comment reindex cluster refresh",
        "changes rights": "grant revoke reassign security",
        "changes the session or the transaction": "set reset begin start commit rollback end abort savepoint use",
        "runs code": "call do exec execute prepare deallocate declare fetch move",
        "takes locks or wakes other sessions": "lock unlock listen unlisten notify kill",
        "changes or rewrites files": "vacuum analyze checkpoint attach detach import discard optimize repair",
    }.items()
    for word in words.split()
}


def read_only(sql: str, *, dialect: DialectName) -> str:
    """The text to send in place of ``sql``: the same meaning, no comments, one statement.

    Raises SqlNotReadOnly, and then nothing may be sent: the message names the node or function, the hint what to do.
    """
    _check_characters(sql, dialect)
    special = _special(sql, dialect)
    return special if special is not None else _select(sql, dialect)


def _check_characters(sql: str, dialect: DialectName) -> None:
    if not sql.strip():
        raise refusal("the statement is empty")
    if len(sql) > MAX_CHARACTERS:
        raise refusal(f"the statement has {len(sql):,} characters, at most {MAX_CHARACTERS:,} are checked")
    if re.search(r"[\ud800-\udfff]", sql):
        raise refusal("the statement is not text: half a character stands in it")
    if "\x00" in sql:
        raise refusal("the statement holds a NUL character, and what follows one is read differently by servers")
    if dialect == "mysql":
        if re.search(r"/\*M?!", sql):
            raise refusal("/*! ... */ looks like a comment and MySQL and MariaDB execute it")
        if re.search(r"--(?=[^\s])", without_quotes(sql, dialect)):
            raise refusal("-- without a blank behind it is no comment in MySQL; write -- with a blank, or - -")


# --- EXPLAIN, SHOW, PRAGMA, DESCRIBE: read by forms of our own, sqlglot keeps them as unparsed text -------------------


def _special(sql: str, dialect: DialectName) -> str | None:
    text = _without_leading_comments(sql, nested=dialect == "postgres")
    word = _first_word(text)
    if word in _FIRST_WORDS or text.startswith("("):
        return None
    reader = statements.READERS.get((dialect, word))
    if reader is None:
        said = word.upper() or repr(text[:20])
        effect = _EFFECTS.get(word, "is not on the read list")
        raise refusal(f"{said} {effect}")
    return reader(text.rstrip().removesuffix(";").rstrip(), lambda body: _select(body, dialect))


def _first_word(text: str) -> str:
    found = re.match(r"[A-Za-z_]+", text)
    return found.group().lower() if found else ""


def _without_leading_comments(sql: str, *, nested: bool) -> str:
    text = sql.lstrip()
    while text.startswith(("--", "/*")):
        if text.startswith("--"):
            text = text.partition("\n")[2].lstrip()
            continue
        end = _comment_end(text, nested=nested)
        if end is None:
            raise refusal("a comment is never closed")
        text = text[end:].lstrip()
    return text


def _comment_end(text: str, *, nested: bool) -> int | None:
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text):
        if mark.group() == "*/":
            depth -= 1
            if depth <= 0:
                return mark.end()
        elif nested or depth == 0:
            depth += 1
    return None


# --- SELECT and its relatives ----------------------------------------------------------------------------------------


def _select(sql: str, dialect: DialectName) -> str:
    from hermes_cron.databases.dialects import DIALECTS

    language = DIALECTS[dialect]
    tree = _parse_one(sql, language)
    for node in tree.walk():
        _check_node(node, dialect)
    if dialect == "postgres" and re.search(r"\b0x[0-9a-f]", sql, re.IGNORECASE) and _has_hex(tree):
        raise refusal("0x... is a number since PostgreSQL 16 only; write it in decimal")
    text = _generate(tree, language)
    if (found := stray(text, dialect)) is not None:
        raise refusal(f"{found} would stand outside the quotes in what is sent; write the statement in a simpler way")
    _check_calls(text, tree, dialect)
    # What the server gets must read back as what was checked: a spelling that drifts is not carried faithfully.
    again = _generate(_parse_one(text, language), language)
    if again != text:
        raise refusal("this form is not carried to the server faithfully; write it in a simpler way")
    return text


def _has_hex(tree: exp.Expr) -> bool:
    from sqlglot import exp

    return tree.find(exp.HexString) is not None


def _parse_one(sql: str, language: type[Dialect]) -> exp.Expr:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        parsed = sqlglot.parse(sql, dialect=language)
        # a comment behind the last semicolon comes as a statement of its own, an empty one
        trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    except (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # the last five are the parser's own stumbles over text that is no SQL: such text is not sent either
        raise refusal(f"it does not parse: {_first_line(error)}", hint=f"check the spelling; {HINT}") from error
    except RecursionError as error:
        raise refusal("it is nested too deeply to be checked") from error
    if len(trees) != 1:
        raise refusal(f"{len(trees)} statements in one text, one is allowed" if trees else "the statement is empty")
    tree = trees[0]
    inner = tree
    while isinstance(inner, exp.Subquery | exp.Paren):
        inner = inner.this
    if not isinstance(inner, exp.Select | exp.SetOperation | exp.Values):
        word = _first_word(_without_leading_comments(sql, nested=True))
        raise refusal(f"{(word or type(inner).__name__).upper()} ... {type(inner).__name__} is not a reading statement")
    return tree


def _first_line(error: Exception) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    return plain.splitlines()[0][:200] if plain else type(error).__name__


def _generate(tree: exp.Expr, language: type[Dialect]) -> str:
    from sqlglot.errors import ErrorLevel, SqlglotError

    try:
        return tree.sql(dialect=language, comments=False, normalize_functions=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise refusal(f"this form has no safe spelling: {_first_line(error)}") from error
    except RecursionError as error:
        raise refusal("it is nested too deeply to be checked") from error


_WHY_NOT: Final = {
    "Into": "SELECT ... INTO writes a table or a file",
    "Lock": "FOR UPDATE and FOR SHARE take row locks",
    "Hint": "optimizer hints can change settings",
    "Command": "a statement the guard cannot read",
    "NextValueFor": "NEXT VALUE FOR moves a sequence",
    "Parameter": "variables and parameters ($1, @a, :x) have no value here or would be assigned",
    "Placeholder": "placeholders have no value here; write the value itself",
    "UnicodeString": "U&'...' is not carried faithfully; write the characters themselves",
    "Insert": "INSERT changes rows",
    "Update": "UPDATE changes rows",
    "Delete": "DELETE changes rows",
    "Merge": "MERGE changes rows",
    "WithTableHint": "table hints can take locks",
}


def _check_node(node: exp.Expr, dialect: DialectName) -> None:
    from sqlglot import exp

    kind = type(node).__name__
    if kind not in _NODES and not _is_server_variable(node, dialect):
        raise refusal(_WHY_NOT.get(kind, f"{kind} is not on the read list"))
    if isinstance(node, exp.CTE):
        _check_cte(node)
    elif isinstance(node, exp.Concat) and dialect in ("sqlite", "tsql"):
        raise refusal("two texts side by side are not one text here; write ||, or AS before a name")
    elif isinstance(node, exp.PropertyEQ) and not isinstance(node.parent, exp.Anonymous):
        raise refusal("an assignment (:= or SELECT @a = ...) changes the session")
    elif isinstance(node, exp.Literal | exp.Operator | exp.Alias):
        if dialect == "postgres":
            _check_postgres_node(node)
    elif isinstance(node, exp.Anonymous | exp.Dot | exp.Table):
        _check_call_or_table(node, dialect)
    if isinstance(node, exp.Column):
        _check_column(node, dialect)


def _is_server_variable(node: exp.Expr, dialect: DialectName) -> bool:
    """``@@version``: only the server sets it, or SET does, which is refused."""
    from sqlglot import exp

    if dialect == "mysql":
        return isinstance(node, exp.SessionParameter)
    if isinstance(node.parent, exp.EQ):
        return False  # SELECT @@x = 1
    doubled = isinstance(node, exp.Parameter) and isinstance(node.this, exp.Parameter)
    inner = isinstance(node, exp.Parameter) and isinstance(node.parent, exp.Parameter)
    return dialect == "tsql" and (doubled or inner)


def _check_call_or_table(node: exp.Expr, dialect: DialectName) -> None:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        _check_function(node, dialect)
    elif isinstance(node, exp.Dot):
        _check_dot(node, dialect)
    elif isinstance(node, exp.Table):
        _check_table(node, dialect)


def _check_postgres_node(node: exp.Expr) -> None:
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        _check_number(node)
    elif isinstance(node, exp.Alias):
        if isinstance(node.this, exp.Literal) and re.match(r"_\d", node.alias):
            raise refusal("1_000 is a number since PostgreSQL 16 only; write 1000")
    elif isinstance(node, exp.Operator) and not str(node.args.get("operator") or "").lower().startswith("pg_catalog."):
        raise refusal("OPERATOR(...) may name an operator somebody defined; write the operator itself")


def _check_number(node: exp.Literal) -> None:
    if not node.is_string and not re.fullmatch(r"\d*\.?\d*(e[+-]?\d+)?", str(node.this), re.IGNORECASE):
        raise refusal(f"the number {node.this} is read differently by different versions")


def _check_function(node: exp.Anonymous, dialect: DialectName) -> None:
    from sqlglot import exp

    name = node.this
    quoted = isinstance(name, exp.Identifier) and bool(name.args.get("quoted"))
    spelled = node.name
    known = spelled if quoted and dialect == "postgres" else spelled.lower()
    if (
        dialect == "sqlite"
        and known.startswith("pragma_")
        and node.expressions
        and (known.removeprefix("pragma_") not in SQLITE_PRAGMAS_WITH_ARGUMENT)
    ):
        raise refusal(f"{spelled}(...) with an argument sets a value")
    if known not in ALLOWED[dialect] or not spelled.isascii():
        raise refusal(
            f"function {spelled}() is not on the read list",
            hint="functions that wait, lock, write, read files, run SQL text or are user-defined are never called; "
            "the list is in docs/formats/databases.md",
        )


def _check_dot(node: exp.Dot, dialect: DialectName) -> None:
    """``schema.function()`` only for the system's own schemas; ``(row).field`` is a column."""
    from sqlglot import exp

    called = node.expression
    if isinstance(called, exp.Star):
        return
    if isinstance(called, exp.Identifier):
        if isinstance(node.parent, exp.DataType):  # CAST(x AS schema.type)
            return
        if called.name.lower() not in COMPOSITE_FIELDS:
            raise refusal(
                f"(...).{called.name} would call a function of that name if there were no such field",
                hint="name the fields in FROM instead: select x.field from lateral (...) as x",
            )
        return
    schema = node.this
    system = _SYSTEM_SCHEMAS.get(dialect, frozenset())
    if not isinstance(called, exp.Anonymous) or not isinstance(schema, exp.Identifier) or _folded(schema) not in system:
        raise refusal(
            f"{node.sql(dialect=dialect)[:80]} calls a function by its schema or on a value; it may be anybody's code"
        )


def _check_column(node: exp.Column, dialect: DialectName) -> None:
    from sqlglot import exp

    if not all(isinstance(part, exp.Identifier | exp.Star) for part in node.parts):
        raise refusal(f"{node.sql(dialect=dialect)[:80]} is neither a column nor a field")
    if node.table and dialect == "postgres":
        _check_attribute(node.name)


def _check_attribute(name: str) -> None:
    folded = name.lower()
    if folded in ATTRIBUTE_CALLS or folded.startswith(ATTRIBUTE_PREFIXES):
        raise refusal(f"the column name {name} is a function's, and PostgreSQL would call it")


def _folded(identifier: exp.Identifier) -> str:
    return str(identifier.this) if identifier.args.get("quoted") else str(identifier.this).lower()


def _check_table(node: exp.Table, dialect: DialectName) -> None:
    from sqlglot import exp

    if isinstance(node.this, exp.Identifier):
        name = node.name.lower()
        if name in SECRET_TABLES[dialect] or f"{node.db.lower()}.{name}" in SECRET_TABLES[dialect]:
            raise refusal(f"{node.name} holds password hashes or other servers' passwords")
    elif node.db and not (dialect in _SYSTEM_SCHEMAS and node.db.lower() in _SYSTEM_SCHEMAS[dialect]):
        raise refusal(f"{node.sql(dialect=dialect)[:80]} calls a function by its schema; it may be anybody's code")


def _check_cte(node: exp.CTE) -> None:
    from sqlglot import exp

    body = node.this
    while isinstance(body, exp.Subquery | exp.Paren):
        body = body.this
    if not isinstance(body, exp.Select | exp.SetOperation | exp.Values):
        raise refusal(
            f"the body of WITH {node.alias} is {type(body).__name__.upper()}, only SELECT, VALUES or TABLE may be"
        )


# Words that stand before "(" without being a call.
_NOT_CALLS: Final = names(
    """
    all and any array as between by case cube distinct else escape except exists filter from full group having ilike in
    intersect is join lateral like limit materialized not offset on only or ordinality over over rollup select sets some
    table then to union using values when where with within for interval rows overlaps similar top percent cast
    try_cast row returning collate div mod rlike regexp xor against repeatable bernoulli system glob match set separator
    of from_ end zone operator breadth depth first last
    """
)
_TYPES: Final = names(
    """
    bit char character varchar varying nchar nvarchar decimal dec numeric float time timetz timestamp timestamptz
    timestampntz interval binary varbinary datetime datetime2 datetimeoffset int integer bigint smallint tinyint text
    real double blob bpchar vector signed unsigned
    """
)
_SYNTAX_CALLS: Final = names(
    "extract trim ltrim rtrim substring substr position locate instr charindex overlay string_agg group_concat unnest "
    "convert try_convert concat power starts_with json_extract cast greatest least iif"
)


def _check_calls(text: str, tree: exp.Expr, dialect: DialectName) -> None:
    """A second reading of the text to be sent, by tokens: every name before "(" is known, whatever node made it."""
    from sqlglot import exp
    from sqlglot.tokenizer_core import TokenType

    from hermes_cron.databases.dialects import DIALECTS

    aliases = {
        alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns") and alias.this
    } | {window.alias.lower() for window in tree.find_all(exp.Window) if window.alias}
    tokens = DIALECTS[dialect]().tokenize(text)
    system = _SYSTEM_SCHEMAS.get(dialect, frozenset())
    for at, token in enumerate(tokens):
        if token.token_type is not TokenType.L_PAREN or at == 0:
            continue
        before = tokens[at - 1]
        name = before.text.lower()
        if before.token_type is TokenType.IDENTIFIER:
            fine = name in aliases or name in ALLOWED[dialect]
        elif re.fullmatch(r"\w+", before.text) and before.token_type not in (TokenType.STRING, TokenType.NUMBER):
            fine = name in _NOT_CALLS or name in _TYPES or name in _SYNTAX_CALLS or name in aliases
            fine = fine or name in ALLOWED[dialect]
        else:
            continue
        schema = tokens[at - 3].text.lower() if at >= 3 and tokens[at - 2].token_type is TokenType.DOT else None
        if not fine or (schema is not None and schema not in system):
            raise refusal(f"function {f'{schema}.' if schema else ''}{before.text}() is not on the read list")

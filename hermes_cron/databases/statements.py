"""Which forms of EXPLAIN, SHOW, DESCRIBE and PRAGMA only read, and how are they spelled for the server?

sqlglot keeps these as unparsed text, so each form is matched whole here and written anew from its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from hermes_cron.databases.functions import SQLITE_PRAGMAS, SQLITE_PRAGMAS_WITH_ARGUMENT, names
from hermes_cron.databases.refusal import refusal

# (text without leading comments and without the last semicolon, the check of an inner statement) -> text to send
Reader: TypeAlias = Callable[[str, Callable[[str], str]], str]

_TRUE: Final = frozenset({"", "true", "on", "1"})
_FALSE: Final = frozenset({"false", "off", "0"})
_PLAIN_OPTIONS: Final = frozenset({"verbose", "costs", "settings", "buffers", "summary", "generic_plan"})
_FORMATS: Final = frozenset({"text", "xml", "json", "yaml"})


def _postgres_explain(text: str, check: Callable[[str], str]) -> str:
    listed = re.match(r"explain\s*\(([^()]*)\)", text, re.IGNORECASE)
    # "EXPLAIN (SELECT 1)": the parenthesis belongs to the statement
    if listed and not re.match(r"\s*(select|with|values|table)\b", listed.group(1), re.IGNORECASE):
        options = [_explain_option(part) for part in listed.group(1).split(",")]
        return _explained([option for option in options if option], check(text[listed.end() :]))
    words = re.match(r"explain\b(\s+analy[sz]e\b)?(\s+verbose\b)?", text, re.IGNORECASE)
    if words is None or words.group(1):
        raise refusal("EXPLAIN ANALYZE runs the statement; plain EXPLAIN shows the plan without running it")
    return _explained(["VERBOSE"] if words.group(2) else [], check(text[words.end() :]))


def _explained(options: list[str], body: str) -> str:
    return f"EXPLAIN ({', '.join(options)}) {body}" if options else f"EXPLAIN {body}"


def _explain_option(part: str) -> str | None:
    name, *rest = part.strip().lower().split()
    value = " ".join(rest).strip("'")
    if name == "format" and value in _FORMATS:
        return f"FORMAT {value.upper()}"
    if name in ("analyze", "analyse", "wal", "timing", "serialize") and value in _FALSE:
        return None  # off is what plain EXPLAIN does anyway
    if name in ("analyze", "analyse"):
        raise refusal("EXPLAIN (ANALYZE) runs the statement; leave ANALYZE out")
    if name in _PLAIN_OPTIONS and value in _TRUE | _FALSE:
        return f"{name.upper()} {'OFF' if value in _FALSE else 'ON'}"
    raise refusal(f"EXPLAIN option {part.strip()!r} is not on the read list")


def _postgres_show(text: str, check: Callable[[str], str]) -> str:
    named = re.fullmatch(
        r"show\s+(time\s+zone|transaction\s+isolation\s+level|session\s+authorization|[a-z_]\w*(?:\.[a-z_]\w*)?)",
        text,
        re.IGNORECASE,
    )
    if named is None:
        raise refusal("SHOW takes one setting's name")
    return f"SHOW {' '.join(named.group(1).split())}"


def _sqlite_explain(text: str, check: Callable[[str], str]) -> str:
    plan = re.match(r"explain\s+query\s+plan\b", text, re.IGNORECASE)
    if plan is None:
        raise refusal("of EXPLAIN only EXPLAIN QUERY PLAN is read")
    return f"EXPLAIN QUERY PLAN {check(text[plan.end() :])}"


_NAME = r"""(?:[A-Za-z_]\w*|"(?:[^"]|"")+"|'(?:[^']|'')+'|\[[^\]]+\]|`[^`]+`|\d+)"""


def _sqlite_pragma(text: str, check: Callable[[str], str]) -> str:
    form = re.fullmatch(
        rf"pragma\s+(?:(?P<schema>[A-Za-z_]\w*)\s*\.\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<argument>{_NAME})\s*\))?",
        text,
        re.IGNORECASE,
    )
    if form is None:
        raise refusal("PRAGMA is read in the forms PRAGMA name and PRAGMA name(argument) only; = sets a value")
    name = form["name"].lower()
    if name not in SQLITE_PRAGMAS or name == "stats":
        raise refusal(f"PRAGMA {name} is not on the read list")
    if form["argument"] is not None and name not in SQLITE_PRAGMAS_WITH_ARGUMENT:
        raise refusal(f"PRAGMA {name}(...) sets a value; PRAGMA {name} reads it")
    schema = f"{form['schema']}." if form["schema"] else ""
    return f"PRAGMA {schema}{name}" + (f"({_quoted(form['argument'])})" if form["argument"] is not None else "")


def _quoted(argument: str) -> str:
    if argument.isdigit():
        return argument
    if argument[0] in "\"'":
        mark = argument[0]
        argument = argument[1:-1].replace(mark * 2, mark)
    elif argument[0] in "[`":
        argument = argument[1:-1]
    return '"' + argument.replace('"', '""') + '"'


def _mysql_explain(text: str, check: Callable[[str], str]) -> str:
    table = re.fullmatch(
        r"(?:explain|describe|desc)\s+((?:[A-Za-z_]\w*|`[^`]+`)(?:\.(?:[A-Za-z_]\w*|`[^`]+`))?)", text, re.I
    )
    if table is not None:
        return f"DESCRIBE {table.group(1)}"
    plan = re.match(
        r"(?:explain|describe|desc)\s+(?:format\s*=\s*(json|tree|traditional)\s+)?(?=select\b|with\b|table\b|values\b|\()",
        text,
        re.IGNORECASE,
    )
    if plan is None:
        raise refusal("EXPLAIN is read before SELECT only; EXPLAIN ANALYZE runs the statement")
    shape = f"FORMAT={plan.group(1).upper()} " if plan.group(1) else ""
    return f"EXPLAIN {shape}{check(text[plan.end() :])}"


_MYSQL_SHOWS: Final = names(
    """
    databases schemas tables columns fields index indexes keys create status variables processlist engine engines grants
    warnings errors replica replicas slave master binary binlog open plugins privileges table triggers events function
    procedure character collation
    """
)


def _mysql_show(text: str, check: Callable[[str], str]) -> str:
    words = re.sub(r"^show\s+(?:(?:global|session|full|extended|all|storage)\s+)*", "", text, flags=re.I).split()
    if not words or words[0].lower() not in _MYSQL_SHOWS or not re.fullmatch(r"[\w\s.`'%=<>@-]+", text) or "--" in text:
        raise refusal("this form of SHOW is not on the read list")
    return " ".join(text.split())


READERS: Final[dict[tuple[str, str], Reader]] = {
    ("postgres", "explain"): _postgres_explain,
    ("postgres", "show"): _postgres_show,
    ("sqlite", "explain"): _sqlite_explain,
    ("sqlite", "pragma"): _sqlite_pragma,
    ("mysql", "explain"): _mysql_explain,
    ("mysql", "describe"): _mysql_explain,
    ("mysql", "desc"): _mysql_explain,
    ("mysql", "show"): _mysql_show,
}

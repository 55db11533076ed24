"""How are a playbook's expressions and lines evaluated? Jinja2 in its sandbox, one language for all of them.

What may stand in a statement is decided by the names that are there: SQL is rendered with params and facts only, shell
text with params only. Rows and texts of other systems never reach a statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from hermes_cron.errors import HermesCronError

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LINE_LIMIT = 400  # characters of one evidence or advice line


class ExpressionFailed(HermesCronError):
    """An expression could not be evaluated; the message has the expression and why."""


@lru_cache(maxsize=1)
def expressions() -> Expressions:
    """One set of compiled environments a process; they hold no state of a run."""
    return Expressions()


class Expressions:
    """Compiles on first use and keeps what it compiled."""

    def __init__(self) -> None:
        self._conditions: dict[str, Callable[..., Any]] = {}
        self._templates: dict[tuple[int, str], Template] = {}

    @cached_property
    def text(self) -> Environment:
        """For lines that people read: 92.0 prints as 92, nothing as -."""
        return _environment(_printed)

    @cached_property
    def sql(self) -> Environment:
        """For SQL: texts become literals, so that no value can end its own quotes."""
        return _environment(_sql_literal)

    @cached_property
    def shell(self) -> Environment:
        """For shell text: params as written, since a glob must stay one."""
        return _environment(_printed)

    def value(self, expression: str, names: Mapping[str, Any]) -> Any:
        """Raises ``ExpressionFailed``."""
        compiled = self._conditions.get(expression)
        try:
            if compiled is None:
                compiled = self.text.compile_expression(expression, undefined_to_none=False)
                self._conditions[expression] = compiled
            value = compiled(**names)
            return _defined(value)
        except Exception as error:
            raise ExpressionFailed(f"{expression}: {_why(error, names)}") from error

    def holds(self, expression: str, names: Mapping[str, Any]) -> bool:
        """Raises ``ExpressionFailed``. A name without a value makes a comparison fail, not false."""
        return bool(self.value(expression, names))

    def line(self, template: str, names: Mapping[str, Any]) -> str:
        """One printable line of at most ``LINE_LIMIT`` characters. Raises ``ExpressionFailed``."""
        return one_line(self._render(self.text, template, names))

    def page(self, template: str, names: Mapping[str, Any]) -> str:
        """A whole report. Raises ``ExpressionFailed``."""
        return self._render(self.text, template, names)

    def statement(self, template: str, *, params: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
        """SQL. Raises ``ExpressionFailed``."""
        return self._render(self.sql, template, {**facts, "facts": facts, "params": params})

    def command(self, template: str, *, params: Mapping[str, Any]) -> str:
        """Shell text or a URL. Raises ``ExpressionFailed``."""
        return self._render(self.shell, template, {"params": params})

    def _render(self, environment: Environment, template: str, names: Mapping[str, Any]) -> str:
        try:
            return self._template(environment, template).render(**names)
        except Exception as error:
            short = one_line(template)[:60]
            raise ExpressionFailed(f"{short}: {_why(error, names)}") from error

    def _template(self, environment: Environment, text: str) -> Template:
        # A run replays its steps at every call, so each text is compiled once and rendered many times.
        key = (id(environment), text)
        if key not in self._templates:
            self._templates[key] = environment.from_string(text)
        return self._templates[key]


def one_line(text: str) -> str:
    """Rows are other people's text: no line ends, no control or invisible characters, no end without an end."""
    visible = "".join(c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else " " for c in text)
    line = re.sub(r"\s+", " ", visible).strip()
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 3] + "..."


def thousands(value: object) -> str:
    """1986422310 is 1,986,422,310; 12.50 is 12.5; what is no number stays as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _plain(value)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{int(value):,}"


def amount(value: object, noun: str) -> str:
    """``1 | amount("row")`` is "1 row", 2000 is "2,000 rows"."""
    return f"{thousands(value)} {noun}" + ("" if value == 1 else "s")


# Words that SQLite never takes for a name (sqlite.org/lang_keywords.html); other engines bring names quoted already.
_RESERVED_WORDS = (
    "add all alter and as autoincrement between case check collate commit constraint create default deferrable "
    "delete distinct drop else escape except exists foreign from group having if in index insert intersect into is "
    "isnull join limit not nothing notnull null on or order primary references returning select set table then to "
    "transaction union unique update using values when where "
)
_RESERVED = frozenset(_RESERVED_WORDS.split())


def quoted(name: object) -> str:
    """A name as SQL wants it: in double quotes only where it needs them."""
    text = str(name)
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text.lower() not in _RESERVED
    return text if plain else '"' + text.replace('"', '""') + '"'


def _plain(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _environment(finalize: Callable[[Any], Any]) -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, finalize=finalize, keep_trailing_newline=True
    )
    environment.filters.update(n=thousands, amount=amount, q=quoted)
    return environment


def _printed(value: Any) -> Any:
    return _plain(value) if value is None or isinstance(value, float) else value


def _sql_literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _plain(value)
    return "'" + str(value).replace("'", "''") + "'"


def _defined(value: Any) -> Any:
    from jinja2 import Undefined
    from jinja2.exceptions import UndefinedError

    if isinstance(value, Undefined):
        raise UndefinedError(f"{value._undefined_name!r} is undefined")
    return value


def _why(error: Exception, names: Mapping[str, Any]) -> str:
    empty = sorted(name for name, value in names.items() if value is None and name != "last")
    if isinstance(error, TypeError) and empty:
        return f"{', '.join(empty)} has no value"
    return one_line(str(error)) or type(error).__name__

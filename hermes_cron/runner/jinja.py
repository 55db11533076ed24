"""How is a body with ``template: jinja`` rendered? The full sandbox; an undefined name is an error, not a blank."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hermes_cron.errors import JobFileError


def _week(instant: datetime) -> int:
    """ISO week number."""
    return instant.isocalendar().week


def _or_nothing(value: object) -> object:
    """A value that is not there is no text, as in a plain body: the first run has no ``last.output``."""
    return "" if value is None else value


def names(text: str) -> set[str]:
    """The names that the body takes from outside. Raises nothing: one that does not parse has none."""
    from jinja2 import TemplateSyntaxError, meta
    from jinja2.sandbox import SandboxedEnvironment

    try:
        return meta.find_undeclared_variables(SandboxedEnvironment().parse(text))
    except TemplateSyntaxError:  # rendering it names the line
        return set()


def render(text: str, values: Mapping[str, Mapping[str, object]], *, where: str) -> str:
    """Raises ``JobFileError`` naming ``where`` and the line. Autoescape is for HTML; a prompt is text."""
    from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
    from jinja2.sandbox import SandboxedEnvironment

    sandbox = SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, finalize=_or_nothing
    )
    sandbox.filters["week"] = _week
    try:
        return sandbox.from_string(text).render(values)
    except TemplateSyntaxError as error:
        raise JobFileError(f"{where}: template line {error.lineno}: {error.message}") from error
    except TemplateError as error:
        raise JobFileError(
            f"{where}: template: {error.message}", hint="known names: docs/formats/jobfile.md"
        ) from error

"""Where does the process begin and with which exit code does it end?

0 ok, the class's code for a ``HermesCronError``, 130 for Ctrl-C, and a traceback for whatever is a bug of ours.
A command's function may return an exit code; None is 0.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from hermes_cron.cli import problems
from hermes_cron.cli.context import Cli
from hermes_cron.cli.groups import Root
from hermes_cron.errors import HermesCronError
from hermes_cron.settings import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_cron.cli.commands import Language

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and leave the process."""
    _never_crash_on_a_character()
    code = _flushed(run(list(sys.argv[1:] if argv is None else argv)))
    if _nothing_to_close():
        os._exit(code)
    sys.exit(code)


def _nothing_to_close() -> bool:
    """Whether the process may simply end: no store was opened, no thread lives, nobody asked to be called at exit.

    Taking the modules apart costs 10 ms, a seventh of `list`.
    """
    if "sqlalchemy" in sys.modules or threading.active_count() > 1 or atexit._ncallbacks():
        return False
    if sys.stderr is not None:
        sys.stderr.flush()
    return True


def run(argv: Sequence[str]) -> int:
    """Run one command in this process; its exit code. Faults are printed, bugs are raised."""
    state = _first_look(argv)
    try:
        return _invoke(argv, state)
    except (KeyboardInterrupt, click.Abort):
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except click.ClickException as error:
        return _say(problems.from_click(error), state, argv)
    except HermesCronError as error:
        return _say(error, state, argv)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return _no_space(error)


def _invoke(argv: Sequence[str], state: Cli) -> int:
    root = Root(state.lang_option or state.environment.language)
    if state.environment.complete:
        return _complete(root, state)
    try:
        with root.make_context("hermes-cron", list(argv), obj=state) as ctx:
            result = root.invoke(ctx)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    return result if isinstance(result, int) else 0


def _first_look(argv: Sequence[str]) -> Cli:
    """What must be known before parsing: the language of help, and how to word an error of the parser itself."""
    options = list(argv[: argv.index("--")] if "--" in argv else argv)
    return Cli(environment=environment(), json="--json" in options, lang_option=_language(options))


def _language(options: Sequence[str]) -> Language | None:
    for position, word in enumerate(options):
        value = word.partition("=")[2] if word.startswith("--lang=") else None
        if word == "--lang" and position + 1 < len(options):
            value = options[position + 1]
        if value == "en":
            return "en"
        if value == "zh":
            return "zh"
    return None


def _say(error: HermesCronError, state: Cli, argv: Sequence[str]) -> int:
    try:
        encoding = getattr(sys.stderr, "encoding", None)
        text = problems.as_json(error, encoding, argv) if state.json else problems.as_text(error, state.lang, argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        print(text, file=sys.stderr)
    except BrokenPipeError:
        _reader_left()
    return error.exit_code


def _never_crash_on_a_character() -> None:
    """A symbol that a terminal's code page has not is replaced, never an exception."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _reader_left() -> int:
    """Whoever read our output closed it (``| head``): say nothing, and keep the interpreter from saying it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return 1


def _flushed(code: int) -> int:
    """Buffered output is written only here; a full disk must not pass for success."""
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        return _no_space(error)
    return code


def _no_space(error: OSError) -> int:
    """A full disk is nobody's bug, whoever met it; without a file's name it was the output."""
    print(f"error: cannot write {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
    return _reader_left()


def _complete(root: Root, state: Cli) -> int:
    from click.shell_completion import shell_complete

    from hermes_cron.settings import COMPLETION_VARIABLE

    return shell_complete(root, {"obj": state}, "hermes-cron", COMPLETION_VARIABLE, state.environment.complete or "")

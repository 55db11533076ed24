"""What does every command know: the common options, the home, the app and the ways to speak?

``cli()`` is the current command's ``Cli``. Threads that a command starts take it from the command, not from here:
click keeps the current command per thread.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from hermes_cron.cli import output
from hermes_cron.clock import FileClock, SystemClock
from hermes_cron.errors import ConfigError, HermesCronError, HomeMissing, SecretInPlainSight, Usage
from hermes_cron.home import Home
from hermes_cron.settings import Environment, Settings, host_zone

if TYPE_CHECKING:
    from hermes_cron.cli.commands import Language
    from hermes_cron.config_edit import Keys
    from hermes_cron.config_keys import Scalar
    from hermes_cron.ports import Clock
    from hermes_cron.wiring import App


def cli() -> Cli:
    """The running command's context."""
    found = click.get_current_context().find_object(Cli)
    if found is None:
        raise RuntimeError("cli() was called outside a command")
    return found


@dataclass
class Cli:
    """Filled by the parser from options before and after the verb; commands only read it."""

    environment: Environment
    json: bool = False
    yes: bool = False
    no_input: bool = False
    quiet: bool = False
    no_color: bool = False
    home_option: str | None = None
    lang_option: Language | None = None
    _app: App | None = field(default=None, repr=False)
    _settled: bool = field(default=False, repr=False)

    # --- where -------------------------------------------------------------------------------------------------

    @cached_property
    def home_path(self) -> Home:
        """The home that options and environment name, whether it exists or not."""
        chosen = self.home_option or self.environment.home
        return Home(Path(chosen).expanduser().absolute() if chosen else Path.home() / ".hermes-cron")

    @property
    def home(self) -> Home:
        """The home.

        Raises:
            HomeMissing: there is none; the hint has the command that makes one.
        """
        home = self.home_path
        if not home.is_home():
            where = f" --home {self.home_option}" if self.home_option else ""
            raise HomeMissing(f"no home at {home.root}", hint=f"hermes-cron{where} init")
        if not self._settled:
            self._settled = True
            self._settle(home)
        return home

    def _settle(self, home: Home) -> None:
        """Finish a change whose process died, whichever command comes next. Costs one look when there is none."""
        if not home.unfinished_change.exists():
            return
        from hermes_cron.wiring import settle

        with contextlib.suppress(HermesCronError):  # what changes the home says it, `status` and `doctor` show it
            settle(home, self.clock)

    @cached_property
    def settings(self) -> Settings:
        """config.toml with the environment over it. Raises ConfigError or HomeMissing."""
        return Settings.load(self.home, self.environment)

    def bear_broken_settings(self) -> None:
        """For commands with which a broken config.toml is mended: say what is wrong and go on with the defaults."""
        try:
            _ = self.settings
        except (ConfigError, SecretInPlainSight) as error:
            self.note(error.message)
            self.settings = Settings(timezone=host_zone(self.environment))

    @cached_property
    def clock(self) -> Clock:
        """The host's clock, or the file that tests set (HERMES_CRON_TESTING=1 and HERMES_CRON_CLOCK_FILE)."""
        file = self.environment.clock_file
        return FileClock(Path(file)) if file else SystemClock()

    @property
    def app(self) -> App:
        """Everything that needs more than the files of the home. Imports what it is asked for, when asked."""
        if self._app is None:
            self._app = self.app_with(self.clock)
        return self._app

    def app_with(self, clock: Clock) -> App:
        """An app on another clock (``serve --clock-file``); closed when the command ends."""
        from hermes_cron.wiring import App

        app = App(home=self.home, settings=self.settings, clock=clock, language=self.lang, person=_person)
        click.get_current_context().find_root().call_on_close(app.close)
        return app

    def configure(self, reason: str, values: Mapping[Keys, Scalar | None]) -> None:
        """Change config.toml, kept in the history first; ``reason`` is what was typed, without secrets.

        Raises what ``config_edit.change`` does.
        """
        from hermes_cron.config_edit import change

        change(self.home, self.environment, values, keep=lambda edits: self.app.change(reason, edits))

    # --- speaking ----------------------------------------------------------------------------------------------

    @cached_property
    def lang(self) -> Language:
        """``--lang``, else ``language`` of config.toml, else LC_ALL, LC_MESSAGES, LANG; English when none says."""
        if self.lang_option:
            return self.lang_option
        configured: Language | None = None
        if self._says_language():
            try:
                configured = self.settings.language
            except HermesCronError:
                configured = None  # whoever needs the settings reports what is wrong with them
        return configured or self.environment.language

    def _says_language(self) -> bool:
        """Whether config.toml names a language: most do not, and `list` should not read all settings to learn that."""
        try:
            lines = self.home_path.config.read_bytes().splitlines()
        except OSError:
            return False
        return any(line.lstrip(b"\xef\xbb\xbf \t\"'").startswith(b"language") for line in lines)

    @property
    def colour(self) -> bool:
        """Whether stdout may have colours: a terminal, and nobody said no."""
        return _is_terminal(sys.stdout) and not (self.no_color or self.environment.no_color)

    @property
    def columns(self) -> int | None:
        """The width to cut tables to: None on a pipe, where nothing is cut."""
        if not _is_terminal(sys.stdout):
            return None
        import shutil

        return min(shutil.get_terminal_size().columns, output.MAX_COLUMNS)

    @property
    def is_terminal(self) -> bool:
        """Whether a person can be asked: stdin and stderr are terminals and ``--no-input`` was not given."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr) and not self.no_input

    def out(self, text: str = "") -> None:
        """A line of the result, on stdout."""
        print(text)

    def note(self, text: str) -> None:
        """A line about the way there, on stderr; silent with ``-q``."""
        if not self.quiet:
            if sys.stdout is not None:
                sys.stdout.flush()  # on a pipe the report was written first and would otherwise come last
            print(text, file=sys.stderr, flush=True)

    def emit_json(self, value: object) -> None:
        """The one JSON object of ``--json``, on stdout. Dates become ISO text, unknown types ``str``."""
        print(output.to_json(value, getattr(sys.stdout, "encoding", None)))

    # --- asking ------------------------------------------------------------------------------------------------

    def confirm(self, question: str, *, default: bool = False) -> bool:
        """True with ``-y``. Raises Usage when nobody can be asked."""
        if self.yes:
            return True
        self._need_person(question, "add -y to say yes")
        return click.confirm(question, default=default, err=True)

    def ask(self, question: str, *, default: str | None = None, hidden: bool = False, flag: str) -> str:
        """One line typed by a person; ``hidden`` shows nothing. ``flag`` is what to pass where nobody can be asked."""
        self._need_person(question, f"pass {flag}")
        answer = click.prompt(
            question, default=default, hide_input=hidden, err=True, show_default=bool(default) and not hidden
        )
        return str(answer)

    def _need_person(self, question: str, hint: str) -> None:
        if not self.is_terminal:
            raise Usage(f"cannot ask here: {question}", hint=hint)


def _person() -> str:
    from hermes_cron.cli.who import person

    return person()


def _is_terminal(stream: TextIO | None) -> bool:
    """A stream that the caller closed (``<&-``) is None."""
    return stream is not None and stream.isatty()


__all__ = ["Cli", "cli"]

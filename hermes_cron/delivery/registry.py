"""Which targets does config.toml name, and what stands behind each?"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from hermes_cron.domain.target import TargetConfig, TargetKind
from hermes_cron.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from hermes_cron.home import Home
    from hermes_cron.ports import Clock, Target

_REFERENCE = "secret:"


class TargetRegistry:
    """``configs`` is asked each time, so that a target that was just added is known to a scheduler that runs.

    ``resolve`` gives the value of ``secret:NAME``.
    """

    def __init__(
        self,
        *,
        home: Home,
        clock: Clock,
        configs: Callable[[], Mapping[str, TargetConfig]],
        resolve: Callable[[str], str],
    ) -> None:
        from hermes_cron.delivery.http import Poster

        self._home = home
        self._clock = clock
        self._configs = configs
        self._resolve = resolve
        self._poster = Poster(clock)

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._configs()))

    def config(self, name: str) -> TargetConfig:
        """Raises ``NotFound`` with the nearest names."""
        known = self._configs()
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=3)
            raise NotFound(
                f'no target "{name}"',
                hint=f"hermes-cron targets add {name}",
                details={"near": near} if near else {},
            )
        return known[name]

    def open(self, name: str) -> Target:
        """Raises ``NotFound``, ``ConfigError``."""
        return self.made(self.config(name))

    def made(self, config: TargetConfig) -> Target:
        """What stands behind a configuration, also one that is not saved yet. Nothing is reached before ``send``."""
        match config.kind:
            case TargetKind.FILE:
                from hermes_cron.delivery.file import AppendedFile

                return AppendedFile(home=self._home, path=_said(config, config.path), timeout_s=config.timeout_s)
            case TargetKind.WEBHOOK:
                from hermes_cron.delivery.webhook import Webhook

                return Webhook(
                    url=partial(self._plain, _said(config, config.url)),
                    key=None if config.secret is None else partial(self._plain, config.secret),
                    timeout_s=config.timeout_s,
                    poster=self._poster,
                    clock=self._clock,
                )
            case TargetKind.EMAIL:
                from hermes_cron.delivery.mail import Mailbox

                password = None if config.password is None else partial(self._plain, config.password)
                return Mailbox(config=config, password=password)

    def switch(self, address: str) -> Target:
        """The dead man's switch at an address, a URL or ``secret:NAME``."""
        from hermes_cron.delivery.switch import Switch

        return Switch(url=partial(self._plain, address), poster=self._poster)

    def _plain(self, text: str) -> str:
        return self._resolve(text) if text.startswith(_REFERENCE) else text


def _said(config: TargetConfig, value: str | None) -> str:
    if value is None:
        raise ConfigError(
            f'target "{config.name}" of kind {config.kind} is not complete', hint="hermes-cron config check"
        )
    return value

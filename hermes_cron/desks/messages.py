"""Where do messages go, and how is one sent at once?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from time import monotonic, sleep
from typing import TYPE_CHECKING

from hermes_cron.ports import Target

if TYPE_CHECKING:
    from hermes_cron.delivery.registry import TargetRegistry
    from hermes_cron.domain.event import Event
    from hermes_cron.domain.target import TargetConfig
    from hermes_cron.scheduler.sending import Sender
    from hermes_cron.store.outbox import DeliveryView
    from hermes_cron.wiring import App


class MessageDesk:
    """Targets and the outbox of one home."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def targets(self) -> TargetRegistry:
        """Where messages may go, as config.toml says now: a target added a moment ago is known to a scheduler."""
        from hermes_cron.delivery.registry import TargetRegistry

        return TargetRegistry(
            home=self._app.home,
            clock=self._app.clock,
            configs=lambda: self._app.settings_now.targets,
            resolve=self._app.vault.resolve,
        )

    def try_target(self, config: TargetConfig, secrets: Mapping[str, str]) -> Target:
        """A target that may not be saved yet; ``secrets`` are values by the names that the vault will have."""
        from hermes_cron.delivery.registry import TargetRegistry

        def resolve(reference: str) -> str:
            return secrets.get(reference.removeprefix("secret:")) or self._app.vault.resolve(reference)

        return TargetRegistry(home=self._app.home, clock=self._app.clock, configs=dict, resolve=resolve).made(config)

    def sender(self, emit: Callable[[Event], None], *, only: str | int | None = None) -> Sender:
        """What sends the messages of the outbox; ``only`` those of a run, or the one with a number."""
        from hermes_cron.scheduler.sending import Post, Sender

        return Sender(
            Post(
                store=self._app.store,
                clock=self._app.clock,
                owners=self._app.home.owners,
                targets=self.targets,
                redact=self._app.redact,
                emit=emit,
                only=only,
            )
        )

    def send_now(self, only: str | int, *, limit_s: float = 30.0) -> list[DeliveryView]:
        """Each message of a run, or the one with a number, is tried once, by a living scheduler or here; what became of
        them.

        A message that is tried again later is still ``queued`` then, and so is one that took longer than ``limit_s``.
        """
        from hermes_cron.scheduler.owners import Owner
        from hermes_cron.store import outbox

        def views() -> list[DeliveryView]:
            with self._app.store.read() as conn:
                return [outbox.one(conn, only)] if isinstance(only, int) else outbox.of_runs(conn, [only]).get(only, [])

        if not any(view.untried for view in views()):
            return views()
        if self._app.serving():
            self._app.wake()
            end = monotonic() + limit_s
            while monotonic() < end and any(view.untried for view in views()):
                sleep(0.05)
            return views()
        with Owner(self._app.home.owners, kind="run", started_at=self._app.clock.now()) as owner:
            sender = self.sender(lambda _: None, only=only)
            sender.start(owner.name)
            sender.flush(limit_s)
            sender.stop()
        return views()

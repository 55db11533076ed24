"""How do messages leave the house: at once, a few at a time, and never twice after a receipt?

One thread looks what is due; each message is sent on a thread of its own, at most ``THREADS`` at once and half of
them to one target, so that a target that does not answer holds up no other. A thread writes the receipt and takes the
next message in one transaction. Several senders on one home share the work: the rows say whose hand each is in.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_cron.domain.delivery import Answer, DeliveryKind, DeliveryState, Heard, Message, wait
from hermes_cron.domain.event import DeliveryFailed, DeliverySent, DeliveryUnknown, Emit
from hermes_cron.domain.job import load_job
from hermes_cron.errors import HermesCronError, NotFound
from hermes_cron.ports import Clock, Targets
from hermes_cron.scheduler import owners
from hermes_cron.store import outbox, pings
from hermes_cron.store.engine import Store
from hermes_cron.store.outbox import Claimed, DeliveryView, Receipt

if TYPE_CHECKING:
    from sqlalchemy import Connection

THREADS = 4
PER_TARGET = 2
PING_LATE = timedelta(minutes=2)
"""A start signal that is older says nothing true any more."""

_LONGEST_S = 60.0  # between two looks while something waits: a clock may be set
_SHORTEST_S = 0.05
_STORE_RETRY_S = 1.0
_LATE = "late"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What a sender is made of. ``owners`` is the folder of living owners.

    ``only``: it sends the messages of this run alone, or the one with this number.
    """

    store: Store
    clock: Clock
    owners: Path
    targets: Targets
    redact: Callable[[str], str]
    emit: Emit
    only: str | int | None = None


class Sender:
    """The sender of one owner. Methods may be called on any thread; ``start`` and ``stop`` once each."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._owner = ""
        self._state = threading.Condition()
        self._busy: Counter[str] = Counter()  # threads at work by target
        self._kicked = False
        self._stopping = False
        self._looking = False
        self._looker: threading.Thread | None = None

    def start(self, owner: str) -> None:
        """Begin to send in the name of this owner, which must live as long as this process sends."""
        self._owner = owner
        self._kicked = True
        self._looker = threading.Thread(target=self._look_on, name="outbox", daemon=True)
        self._looker.start()

    def kick(self) -> None:
        """Something may be due. Costs nothing here; safe before ``start`` and after ``stop``."""
        with self._state:
            self._kicked = True
            self._state.notify_all()

    def flush(self, limit_s: float) -> bool:
        """Wait until nothing is due and nothing on its way; False when ``limit_s`` was not enough."""
        self.kick()
        with self._state:
            return self._state.wait_for(
                lambda: self._stopping or not (self._kicked or self._looking or self._busy.total()), timeout=limit_s
            )

    def stop(self) -> None:
        """Begin nothing more and wait for what is on its way: each try is bounded by its target's time-out.

        What was not begun stays queued for the next sender.
        """
        with self._state:
            self._stopping = True
            self._state.notify_all()
        if self._looker is not None:
            self._looker.join()
        with self._state:
            self._state.wait_for(lambda: not self._busy.total())

    # --- looking ----------------------------------------------------------------------------------------------------

    def _look_on(self) -> None:
        while True:
            with self._state:
                if self._stopping:
                    return
                self._kicked, self._looking = False, True
            pause: float | None = _STORE_RETRY_S
            try:
                pause = self._look()
            except HermesCronError as error:  # a full disk or a busy store passes by
                _LOG.warning("the outbox cannot be looked at yet: %s", error.message)
            except Exception:  # noqa: BLE001  # logged; the next look tries again
                _LOG.exception("a look at the outbox failed")
            with self._state:
                self._looking = False
                self._state.notify_all()
                self._state.wait_for(lambda: self._kicked or self._stopping, timeout=pause)

    def _look(self) -> float | None:
        """Send what is due; seconds until the next look, None: not before a kick."""
        post = self._post
        with post.store.look() as conn:
            if not outbox.anything_queued(conn):
                return None
        self._recover()
        while (free := self._free()) > 0:
            now = post.clock.now()
            with post.store.read() as conn:
                due = outbox.next_due(conn, now, full=self._full(), only=post.only)
            if due is None:
                return None
            if due > now:
                return self._pause((due - now).total_seconds())
            for claimed in post.store.write(partial(self._claim, free, now)):
                self._begin(claimed)
        return None  # a thread that ends kicks

    def _pause(self, seconds: float) -> float:
        polled = self._post.clock.poll_s
        return polled if polled is not None else min(_LONGEST_S, max(_SHORTEST_S, seconds))

    def _recover(self) -> None:
        """Messages in the hands of senders that died."""
        post = self._post
        with post.store.read() as conn:
            named = {view.sending_by for view in outbox.in_hand(conn)} - {self._owner, None}
        dead = {name for name in named if name is not None and not owners.lives(post.owners, name)}
        if not dead:
            return
        provable, platforms = self._kinds()
        now = post.clock.now()
        lost = post.store.write(
            lambda conn: outbox.lost(conn, dead, now, provable=provable, platforms=platforms),
        )
        for view in lost:
            post.emit(DeliveryUnknown(delivery=view.id, job=view.job_name, target=view.target, error=outbox.DIED))

    def _kinds(self) -> tuple[frozenset[str], dict[str, str]]:
        """The targets that can tell what they have, and the kind of each."""
        found = {}
        for name in self._post.targets.names():
            with suppress(HermesCronError):
                found[name] = self._post.targets.open(name)
        provable = frozenset(name for name, target in found.items() if target.provable)
        return provable, {name: target.platform for name, target in found.items()}

    # --- threads ----------------------------------------------------------------------------------------------------

    def _free(self) -> int:
        with self._state:
            return 0 if self._stopping else THREADS - self._busy.total()

    def _full(self) -> frozenset[str]:
        with self._state:
            return frozenset(name for name, n in self._busy.items() if n >= PER_TARGET)

    def _claim(self, limit: int, now: datetime, conn: Connection) -> list[Claimed]:
        """One at a time: each may fill its target."""
        full = set(self._full())
        taken: Counter[str] = Counter()
        found: list[Claimed] = []
        while len(found) < limit:
            claimed = outbox.claim(conn, self._owner, now, limit=1, full=full, only=self._post.only)
            if not claimed:
                break
            found += claimed
            name = claimed[0].view.target
            taken[name] += 1
            with self._state:
                if self._busy[name] + taken[name] >= PER_TARGET:
                    full.add(name)
        return found

    def _begin(self, claimed: Claimed) -> None:
        with self._state:
            self._busy[claimed.view.target] += 1
        name = f"send-{claimed.view.id}"
        threading.Thread(target=self._work, args=(claimed,), name=name, daemon=True).start()

    def _work(self, first: Claimed) -> None:
        claimed: Claimed | None = first
        target = first.view.target
        try:
            while claimed is not None:
                receipt = self._try(claimed)
                following = self._settled(claimed.view, receipt, target)
                with self._state:
                    if following is not None:
                        self._busy[following.view.target] += 1
                        self._leave(target)
                        target = following.view.target
                claimed = following
        finally:
            with self._state:
                self._leave(target)
                self._kicked = True
                self._state.notify_all()

    def _leave(self, target: str) -> None:
        self._busy[target] -= 1
        if self._busy[target] <= 0:
            del self._busy[target]

    # --- one message ------------------------------------------------------------------------------------------------

    def _try(self, claimed: Claimed) -> Receipt:
        view = claimed.view
        now = self._post.clock.now()
        if view.kind is DeliveryKind.PING and view.title == pings.START and now - view.created_at > PING_LATE:
            return Receipt(number=view.number, state=DeliveryState.SILENT, text=_LATE, platform=outbox.NO_PLATFORM)
        platform, answer = self._answer(claimed)
        text = self._told(answer.text)
        state, next_try_at = _became(view, answer, self._post.clock.now())
        if state is DeliveryState.FAILED and answer.heard is Heard.LATER:
            text = f"{text} (try {view.attempts}, the last one)"
        return Receipt(number=view.number, state=state, text=text, platform=platform, next_try_at=next_try_at)

    def _answer(self, claimed: Claimed) -> tuple[str, Answer]:
        """Of the target, or what kept us from asking it."""
        platform = outbox.NO_PLATFORM
        try:
            message = self._message(claimed)
            if claimed.view.kind is DeliveryKind.PING:
                target = self._post.targets.switch(self._address(claimed.view))
            else:
                target = self._post.targets.open(claimed.view.target)
            platform = target.platform
            return platform, target.send(message)
        except NotFound as error:
            hint = f"; {error.hint}" if error.hint else ""
            return platform, Answer(heard=Heard.FAILED, text=f"{error.message}{hint}")
        except HermesCronError as error:  # the vault, the settings: somebody is at it, or will be
            return platform, Answer(heard=Heard.LATER, text=error.message)
        except Exception as error:  # noqa: BLE001  # a bug of ours: it may have been sent, and the sender goes on
            _LOG.exception("delivery %s crashed", claimed.view.id)
            return platform, Answer(heard=Heard.UNKNOWN, text=f"{type(error).__name__} while it was sent")

    def _message(self, claimed: Claimed) -> Message:
        view = claimed.view
        return Message(
            id=view.message_id,
            kind=view.kind,
            title=self._post.redact(view.title),
            body=self._post.redact(claimed.body),
            job=view.job_name,
            created_at=view.created_at,
            run_id=view.run_id,
            facts=self._facts(view),
            again=view.again,
        )

    def _facts(self, view: DeliveryView) -> dict[str, object]:
        if view.run_id is None or view.kind is DeliveryKind.PING:
            return {}
        with self._post.store.read() as conn:
            return outbox.facts(conn, view.run_id)

    def _address(self, view: DeliveryView) -> str:
        with self._post.store.read() as conn:
            spec = outbox.spec_of(conn, view.run_id or "")
        address = None if spec is None else load_job(spec).ping
        if address is None:
            raise NotFound(f"run {view.run_id} is gone, and with it the address of its ping")
        return address

    def _told(self, text: str) -> str:
        """What is stored of a foreign answer. Unredacted text is never stored, not even where the vault is locked."""
        try:
            return self._post.redact(text)
        except HermesCronError:
            return "the answer is not shown: the vault cannot be opened, so it cannot be redacted"

    def _settled(self, view: DeliveryView, receipt: Receipt, target: str) -> Claimed | None:
        """Write the receipt and take the next message. A store that is full or busy is waited for."""
        while True:
            work = partial(self._settle, receipt, target, self._post.clock.now())
            try:
                kept, following = self._post.store.write(work)
                if kept:
                    self._tell(view, receipt)
                return following
            except HermesCronError as error:
                _LOG.warning("delivery %s: its receipt cannot be written yet: %s", view.id, error.message)
            except Exception:  # noqa: BLE001  # a text that the store cannot hold would be refused for ever
                _LOG.exception("delivery %s: its receipt was refused", view.id)
                receipt = replace(receipt, text="the receipt's text could not be stored")
            with self._state:
                if self._stopping:
                    return None  # whoever finds this owner dead says that nobody knows
            time.sleep(_STORE_RETRY_S)

    def _settle(self, receipt: Receipt, target: str, now: datetime, conn: Connection) -> tuple[bool, Claimed | None]:
        kept = outbox.settle(conn, self._owner, receipt, now)
        with self._state:
            stopping = self._stopping
            full = frozenset(name for name, n in self._busy.items() if n - (name == target) >= PER_TARGET)
        if stopping:
            return kept, None
        claimed = outbox.claim(conn, self._owner, now, limit=1, full=full, only=self._post.only)
        return kept, claimed[0] if claimed else None

    def _tell(self, view: DeliveryView, receipt: Receipt) -> None:
        name, job, target, tries = view.id, view.job_name, view.target, view.attempts
        match receipt.state:
            case DeliveryState.SENT:
                self._post.emit(DeliverySent(delivery=name, job=job, target=target, attempts=tries))
            case DeliveryState.FAILED:
                told = DeliveryFailed(delivery=name, job=job, target=target, attempts=tries, error=receipt.text)
                self._post.emit(told)
            case DeliveryState.UNKNOWN:
                self._post.emit(DeliveryUnknown(delivery=name, job=job, target=target, error=receipt.text))
            case DeliveryState.QUEUED | DeliveryState.HELD | DeliveryState.SILENT:
                pass


def _became(view: DeliveryView, answer: Answer, now: datetime) -> tuple[DeliveryState, datetime | None]:
    match answer.heard:
        case Heard.SENT:
            return DeliveryState.SENT, None
        case Heard.FAILED:
            return DeliveryState.FAILED, None
        case Heard.UNKNOWN:
            return DeliveryState.UNKNOWN, None
        case Heard.LATER:
            pause = wait(view.kind, view.attempts, answer.retry_after_s)
            return (DeliveryState.FAILED, None) if pause is None else (DeliveryState.QUEUED, now + pause)

"""What may a person, or a run, look up in what sessions said?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_cron.desks.summing_up import Summary
    from hermes_cron.domain.session import Found, Said, Wanted, Within
    from hermes_cron.store.lineage import Lineage
    from hermes_cron.wiring import App

CATCH_UP_S = 2.0
"""How long a search may put in what is new before it answers with what is there."""


class SessionDesk:
    """Sessions of one home."""

    def __init__(self, app: App) -> None:
        self._app = app

    def search(self, wanted: Wanted) -> Found:
        """What was said until now, unless the answer says ``behind``. Raises ``StoreDamaged`` with the remedy."""
        from hermes_cron.store.message_index import damage_told
        from hermes_cron.store.sessions import Sessions

        with damage_told():
            behind = not self._bring_up(CATCH_UP_S)
            with self._app.store.read() as conn:
                found = Sessions(conn, self._app.vault.redactor().redact).search(wanted)
        return replace(found, behind=behind)

    def summed_up(self, words: str, found: Found) -> Summary:
        """What was found, in a few lines of the auxiliary model. Raises ``ModelNotConfigured``."""
        from hermes_cron.desks.summing_up import summed_up

        return summed_up(self._app, words, found.hits)

    def _bring_up(self, limit_s: float) -> bool:
        """False when not all of it is in: there is too much, or the store cannot be written just now."""
        from hermes_cron.errors import Conflict, DiskFull

        end = monotonic() + limit_s
        try:
            return self.put_in(lambda: monotonic() > end)
        except (Conflict, DiskFull):
            return False

    def put_in(self, enough: Callable[[], bool]) -> bool:
        """Bring the index up to what is said now; False when it had ``enough`` before."""
        from hermes_cron.store.message_index import bring_up

        return bring_up(self._app.store, now=self._app.clock.now(), enough=enough)

    def fault(self) -> str | None:
        """What is wrong with the index; None when it is sound."""
        from hermes_cron.store.message_index import fault

        return fault(self._app.store)

    def rebuild(self) -> None:
        """Make the index anew from the messages, whole."""
        from hermes_cron.store.message_index import rebuild

        rebuild(self._app.store)
        self.put_in(lambda: False)

    def around(self, session: str, seq: int, back: int, on: int) -> tuple[Within, tuple[Said, ...]]:
        """A message with ``back`` before it and ``on`` behind it, and whose it is. Raises ``NotFound``."""
        from hermes_cron.store.sessions import Sessions

        with self._app.store.read() as conn:
            sessions = Sessions(conn, self._app.vault.redactor().redact)
            return sessions.within(session), sessions.around(session, seq, back=back, on=on)

    def of(self, word: str) -> list[str]:
        """Ids of the sessions of a run, oldest first, or of the one session that is named so.

        Raises ``NotFound``, ``NameAmbiguous``.
        """
        from hermes_cron.errors import NotFound
        from hermes_cron.store import sessions, views

        with self._app.store.read() as conn:
            try:
                run = views.run(conn, word)
            except NotFound:
                one = sessions.named(conn, word)
                if one is None:
                    raise NotFound(f'no run and no session "{word}"', hint="hermes-cron runs list") from None
                return [one]
            return [row["id"] for row in views.sessions(conn, run["id"])]

    def whole(self, session: str) -> tuple[Within, tuple[Said, ...]]:
        """All that is said in a session. Raises ``NotFound``."""
        from hermes_cron.store.sessions import Sessions

        with self._app.store.read() as conn:
            sessions = Sessions(conn, self._app.vault.redactor().redact)
            return sessions.within(session), sessions.after(session, 0, -1)

    def lineage(self, session: str) -> Lineage:
        """The segments that a session went through. Raises ``NotFound``."""
        from hermes_cron.store.lineage import lineage
        from hermes_cron.store.sessions import Sessions

        with self._app.store.read() as conn:
            Sessions(conn, self._app.vault.redactor().redact).within(session)
            return lineage(conn, session)

    def exported(self, session: str) -> Iterator[dict[str, Any]]:
        """Each row of a session as one object, in order; row 0 is the header that was sent with all of them."""
        from hermes_cron.store import views
        from hermes_cron.store.sessions import Sessions

        redact = self._app.vault.redactor().redact
        with self._app.store.read() as conn:
            within = Sessions(conn, redact).within(session)
            rows = views.rows(conn, session)
        for row in rows:
            yield {
                "run_id": within.run_id, "job": within.job, "session": session, "kind": within.kind,
                "seq": row["seq"], "role": row["role"], "tool": row["tool"], "at": row["at"], "ok": row["ok"],
                "covers": None if row["covers_to"] is None else [row["covers_from"], row["covers_to"]],
                "message": _redacted(row["body"], redact),
            }  # fmt: skip


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(inner, redact) for key, inner in value.items()}
    return [_redacted(inner, redact) for inner in value] if isinstance(value, list) else value

"""What follows when a run asks for a skill that was put away? A person is asked whether to bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_cron.desks.curator import ACTOR
from hermes_cron.domain.learning import Author, Kind, Learn, Learned, LearnedState
from hermes_cron.experience.curation import Intended, Move, dumped

if TYPE_CHECKING:
    from hermes_cron.wiring import App

_CHANGE = "restored"


def wanted(app: App, author: Author, word: str) -> tuple[str, str | None] | None:
    """The archived skill that a word means, and the question (``a12``) about it; None when nothing of that name lies in
    the archive.

    Asked once: not while it waits, and not again after a no. A run that learns nothing asks nothing.
    """
    from hermes_cron.desks.skill_shelf import archived, plain_name
    from hermes_cron.experience.skills import ARCHIVE

    places = archived(app, word)
    if not places:
        return None
    name = plain_name(places[-1].removeprefix(f"{ARCHIVE}/"))
    if author.run_id is None or author.learn is Learn.OFF or (app.home.skills / name).exists():
        return name, None
    known = _asked(app, name)
    if known is not None and known.state is not LearnedState.PROPOSED:
        return name, None
    number = known.approval if known is not None else _ask(app, author, name, places[-1])
    return name, None if number is None else f"a{number}"


def _asked(app: App, name: str) -> Learned | None:
    """The newest question about it; one that was carried out, or that nobody answered, is none."""
    from datetime import UTC, datetime

    from hermes_cron.store import learned

    with app.store.read() as conn:
        rows = learned.since(conn, datetime.min.replace(tzinfo=UTC))
    theirs = [row for row in rows if row.actor == ACTOR and row.change == _CHANGE and row.name == name]
    done = (LearnedState.APPLIED, LearnedState.EXPIRED)
    return theirs[-1] if theirs and theirs[-1].state not in done else None


def _ask(app: App, author: Author, name: str, place: str) -> int | None:
    from hermes_cron.experience.skill_ops import lines_between
    from hermes_cron.experience.skill_state import read_state
    from hermes_cron.store.proposals import propose

    now, within, when = app.clock.now(), app.answer_within, app.settings_now.learning.notice
    why = f"run {author.run_id} asked for it, and it was archived"
    it = Intended(kind=Move.RESTORE, skill=name, why=why, asks=True)
    state = read_state(app.home.skills / place, app.home.skills)
    row = Learned(
        number=0, key=f"{author.run_id}/wanted/{name}", at=now, actor=ACTOR, kind=Kind.SKILL, name=name,
        change=_CHANGE, state=LearnedState.PROPOSED, lines=tuple(map(app.redact, lines_between(None, state))),
        reason=why, run_id=author.run_id, job_uid=author.job_uid, job_name=author.job_name,
        details={"intended": dumped(it), "because": why, "called": name.rpartition("/")[2]},
    )  # fmt: skip
    kept = app.store.write(lambda conn: propose(conn, row, when=when, answer_within=within, now=now))
    app.wake()
    return kept.approval

"""The sender against real targets on loopback: states, patience, order, deaths, several at once."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from hermes_cron.delivery.registry import TargetRegistry
from hermes_cron.domain.delivery import DeliveryKind, DeliveryState
from hermes_cron.domain.event import DeliveryFailed, DeliverySent, DeliveryUnknown, Event
from hermes_cron.domain.job import Job
from hermes_cron.domain.run import Cause
from hermes_cron.domain.target import TargetConfig, TargetKind, Tls
from hermes_cron.errors import HermesCronError, NotFound, VaultError
from hermes_cron.home import Home
from hermes_cron.scheduler.owners import Owner
from hermes_cron.scheduler.sending import PER_TARGET, Post, Sender
from hermes_cron.store import counters, outbox, runs
from hermes_cron.store.engine import Store
from hermes_cron.store.outbox import DeliveryView
from hermes_cron.testing import FixedClock
from tests.receivers import MailServer, Manners, Receiver, Reply, dead_port, until

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECRET = "hunter2-in-the-vault"


@dataclass
class Rig:
    home: Home
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))
    configs: dict[str, TargetConfig] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    locked: bool = False

    def __post_init__(self) -> None:
        self.store = Store(self.home.store)
        self.targets = TargetRegistry(
            home=self.home, clock=self.clock, configs=lambda: self.configs, resolve=self._resolve
        )

    def _resolve(self, reference: str) -> str:
        try:
            return self.secrets[reference.removeprefix("secret:")]
        except KeyError:
            raise NotFound(f'no secret "{reference}"', hint="hermes-cron secrets set") from None

    def redact(self, text: str) -> str:
        if self.locked:
            raise VaultError("the vault cannot be opened")
        return text.replace(SECRET, "[secret:x]")

    def webhook(self, url: str, name: str = "ops", **more: object) -> None:
        made = TargetConfig(name=name, kind=TargetKind.WEBHOOK, url=url, timeout_s=5)
        self.configs[name] = replace(made, **more)  # type: ignore[arg-type]

    def file(self, name: str = "file") -> None:
        self.configs[name] = TargetConfig(name=name, kind=TargetKind.FILE, path=f"{name}.md")

    def mail(self, port: int, name: str = "mail") -> None:
        self.configs[name] = TargetConfig(
            name=name, kind=TargetKind.EMAIL, to=("a@x.org",), sender="b@x.org", host="localhost", port=port,
            tls=Tls.NONE, timeout_s=0.3,
        )  # fmt: skip

    def put(self, target: str = "ops", *, body: str = "report", **more: object) -> int:
        row: dict[str, object] = {
            "kind": DeliveryKind.REPORT, "title": "title", "run_id": None, "job_uid": None, "job_name": "inspect",
            "now": self.clock.now(),
        }  # fmt: skip
        row.update(more)
        return self.store.write(lambda conn: outbox.put(conn, target=target, body=body, **row))  # type: ignore[arg-type]

    def see(self, number: int) -> DeliveryView:
        with self.store.read() as conn:
            return outbox.one(conn, number)

    def is_now(self, number: int, state: DeliveryState) -> DeliveryView:
        until(lambda: self.see(number).state is state, f"{number} {state}; it is {self.see(number)}")
        return self.see(number)

    def waits_again(self, number: int, attempts: int) -> DeliveryView:
        def back() -> bool:
            view = self.see(number)
            return view.attempts == attempts and not view.in_hand

        until(back, f"try {attempts} is over")
        return self.see(number)

    def sender(self, **more: object) -> Sender:
        post = Post(
            store=self.store, clock=self.clock, owners=self.home.owners, targets=self.targets, redact=self.redact,
            emit=self.events.append,
        )  # fmt: skip
        return Sender(replace(post, **more))  # type: ignore[arg-type]

    @contextmanager
    def sending(self, **more: object) -> Iterator[Sender]:
        with Owner(self.home.owners, kind="serve", started_at=NOON) as owner:
            sender = self.sender(**more)
            sender.start(owner.name)
            try:
                yield sender
            finally:
                sender.stop()

    def total(self, outcome: str) -> dict[str, float]:
        with self.store.read() as conn:
            rows = conn.exec_driver_sql("SELECT name, labels, value FROM counters").fetchall()
        found = {}
        for name, labels, value in rows:
            told = json.loads(labels)
            if name == counters.DELIVERIES and told["outcome"] == outcome:
                found[told["platform"]] = value
        return found


@pytest.fixture
def rig(home: Home) -> Iterator[Rig]:
    made = Rig(home)
    yield made
    made.store.close()


# --- what an answer makes of a message --------------------------------------------------------------------------------


def test_a_message_is_sent_once_with_its_receipt_counter_and_event(rig: Rig) -> None:
    number = rig.put()
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending() as sender:
            view = rig.is_now(number, DeliveryState.SENT)
            assert sender.flush(20)
    assert (view.attempts, view.receipt, view.error, view.sent_at) == (1, "HTTP 200: ok", None, NOON)
    assert (view.sending_by, view.next_try_at) == (None, None)
    assert [got.key for got in receiver.got] == [view.message_id]
    assert rig.total("sent") == {"webhook": 1}
    assert rig.events == [DeliverySent(delivery=f"d{number}", job="inspect", target="ops", attempts=1)]


def test_a_refusal_is_failed_at_once_and_nowhere_ok(rig: Rig) -> None:
    number = rig.put()
    with Receiver(Reply(400, b"chat not found")) as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            view = rig.is_now(number, DeliveryState.FAILED)
    assert (view.attempts, view.error, view.receipt, view.sent_at) == (1, "HTTP 400: chat not found", None, None)
    assert rig.total("failed") == {"webhook": 1}
    assert rig.total("sent") == {}
    assert [type(event) for event in rig.events] == [DeliveryFailed]


def test_200_with_an_error_in_it_is_failed(rig: Rig) -> None:
    number = rig.put()
    with Receiver(Reply(200, b'{"code": 19024, "msg": "Key Words Not Found"}')) as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            view = rig.is_now(number, DeliveryState.FAILED)
    assert "code: 19024" in (view.error or "")


def test_trouble_is_waited_out_with_the_same_id_until_it_works(rig: Rig) -> None:
    number = rig.put()
    with Receiver(Reply(500), Reply(503), Reply(502)) as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            for attempt, seconds in ((1, 10), (2, 60), (3, 300)):
                view = rig.waits_again(number, attempt)
                assert view.state is DeliveryState.QUEUED
                assert view.next_try_at == rig.clock.now() + timedelta(seconds=seconds)
                rig.clock.advance(seconds - 1)
                assert len(receiver.got) == attempt
                rig.clock.advance(1)
            rig.is_now(number, DeliveryState.SENT)
    assert len({got.key for got in receiver.got}) == 1
    assert rig.see(number).attempts == 4
    assert rig.total("failed") == rig.total("queued") == {}
    assert rig.total("sent") == {"webhook": 1}


def test_after_a_day_it_is_failed_with_the_last_answer(rig: Rig) -> None:
    number = rig.put()
    with Receiver(otherwise=Reply(500, b"still broken")) as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            attempt = 0
            while rig.see(number).state is DeliveryState.QUEUED:
                attempt += 1
                view = rig.waits_again(number, attempt)
                if view.next_try_at is not None:
                    rig.clock.set(view.next_try_at)
    view = rig.see(number)
    assert view.state is DeliveryState.FAILED
    assert view.error == "HTTP 500: still broken (try 17, the last one)"
    assert timedelta(hours=23) < rig.clock.now() - NOON <= timedelta(hours=24)
    assert len(receiver.got) == 17


def test_retry_after_is_honoured_and_never_shortens_the_wait(rig: Rig) -> None:
    first, second, third = rig.put("ops"), rig.put("b"), rig.put("c")
    with (
        Receiver(Reply(429, headers={"Retry-After": "120"})) as a,
        Receiver(Reply(429, headers={"Retry-After": "1"})) as b,
        Receiver(Reply(429, headers={"Retry-After": "999999"})) as c,
    ):
        rig.webhook(a.url)
        rig.webhook(b.url, "b")
        rig.webhook(c.url, "c")
        with rig.sending():
            assert rig.waits_again(first, 1).next_try_at == NOON + timedelta(seconds=120)
            assert rig.waits_again(second, 1).next_try_at == NOON + timedelta(seconds=10)
            assert rig.is_now(third, DeliveryState.FAILED).error == "HTTP 429: ok (try 1, the last one)"


def test_a_target_that_is_gone_says_how_to_add_it(rig: Rig) -> None:
    number = rig.put("ops-chat")
    with rig.sending():
        view = rig.is_now(number, DeliveryState.FAILED)
    assert view.error == 'no target "ops-chat"; hermes-cron targets add ops-chat'
    assert rig.total("failed") == {"none": 1}


def test_a_target_that_was_just_added_is_known(rig: Rig) -> None:
    with Receiver() as receiver, rig.sending() as sender:
        rig.webhook(receiver.url, "new")
        number = rig.put("new")
        sender.kick()
        rig.is_now(number, DeliveryState.SENT)


def test_secrets_are_redacted_once_more_in_what_is_sent_and_in_what_is_kept(rig: Rig) -> None:
    number = rig.put(body=f"the password is {SECRET}", title=f"{SECRET}!")
    with Receiver(Reply(400, f"you sent {SECRET}".encode())) as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            view = rig.is_now(number, DeliveryState.FAILED)
    assert SECRET.encode() not in receiver.got[0].body
    assert view.error == "HTTP 400: you sent [secret:x]"


def test_nothing_is_sent_that_cannot_be_redacted(rig: Rig) -> None:
    number = rig.put()
    rig.locked = True
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            view = rig.waits_again(number, 1)
            assert receiver.got == []
            assert "vault" in (view.error or "")
            rig.locked = False
            rig.clock.advance(10)
            rig.is_now(number, DeliveryState.SENT)


def test_a_missing_secret_is_failed_with_its_name(rig: Rig) -> None:
    number = rig.put()
    rig.webhook("secret:target-ops")
    with rig.sending():
        assert "target-ops" in (rig.is_now(number, DeliveryState.FAILED).error or "")


def test_mail_that_was_handed_over_without_an_answer_is_unknown_and_stays_so(rig: Rig) -> None:
    number = rig.put("mail")
    with MailServer(Manners(silent_after="text")) as server:
        rig.mail(server.port)
        with rig.sending() as sender:
            rig.is_now(number, DeliveryState.UNKNOWN)
            rig.clock.advance(timedelta(days=2))
            assert sender.flush(20)
        assert len(server.mails) == 1
    assert rig.total("unknown") == {"email": 1}
    assert [type(event) for event in rig.events] == [DeliveryUnknown]


def test_facts_of_the_run_go_along(rig: Rig) -> None:
    job = Job(name="inspect", prompt="x")
    start = runs.Start(job=job, job_uid=None, actor="t")
    run_id = rig.store.write(lambda conn: runs.enqueue(conn, start, NOON))
    number = rig.put(run_id=run_id)
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending():
            rig.is_now(number, DeliveryState.SENT)
    told = json.loads(receiver.got[0].body)
    assert told["run_id"] == run_id
    assert told["facts"]["state"] == "queued"
    assert told["facts"]["cause"] == "manual"


# --- order and fairness -----------------------------------------------------------------------------------------------


def test_a_target_that_does_not_answer_holds_up_no_other(rig: Rig) -> None:
    stuck = [rig.put("slow") for _ in range(6)]
    good = rig.put("ops")
    with Receiver(otherwise=Reply(silent=True)) as slow, Receiver() as receiver:
        rig.webhook(slow.url, "slow", timeout_s=20)
        rig.webhook(receiver.url)
        with rig.sending():
            rig.is_now(good, DeliveryState.SENT)
            until(lambda: len(slow.got) == PER_TARGET, "the slow one has its share")
            assert sum(rig.see(number).in_hand for number in stuck) == PER_TARGET
            slow.ended.set()


def test_a_recovery_waits_for_the_failure_that_it_ends(rig: Rig) -> None:
    failure = rig.put(kind=DeliveryKind.FAILURE, incident=17, job_uid="j1", body="FAILED")
    recovery = rig.put(kind=DeliveryKind.RECOVERY, incident=17, job_uid="j1", body="RECOVERED")
    other = rig.put(kind=DeliveryKind.REPORT, job_uid="j1", body="report")
    with Receiver(Reply(500), about=b"FAILED") as receiver:
        rig.webhook(receiver.url)
        with rig.sending() as sender:
            rig.is_now(other, DeliveryState.SENT)
            assert rig.waits_again(failure, 1).state is DeliveryState.QUEUED
            assert sender.flush(20)
            assert rig.see(recovery).attempts == 0
            rig.clock.advance(10)
            rig.is_now(recovery, DeliveryState.SENT)
    told = [json.loads(got.body)["text"] for got in receiver.got]
    assert told.index("RECOVERED") > max(at for at, text in enumerate(told) if text == "FAILED")


def test_many_messages_by_several_senders_arrive_once_each(rig: Rig) -> None:
    numbers = [rig.put(body=f"report {n}") for n in range(60)]
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending(), rig.sending(), rig.sending():
            until(lambda: all(rig.see(n).state is DeliveryState.SENT for n in numbers), "all are sent")
    keys = [got.key for got in receiver.got]
    assert len(keys) == len(set(keys)) == 60
    assert rig.total("sent") == {"webhook": 60}


# --- deaths and stops -------------------------------------------------------------------------------------------------


def die_with(rig: Rig, target: str, *, arrived: Callable[[DeliveryView], None] = lambda _: None) -> int:
    """A sender that took the message and died; its owner's lock is released, as the kernel does."""
    number = rig.put(target)
    with Owner(rig.home.owners, kind="serve", started_at=NOON) as owner:
        (claimed,) = rig.store.write(lambda conn: outbox.claim(conn, owner.name, NOON, limit=1))
        arrived(claimed.view)
    return number


def test_a_death_between_send_and_receipt_is_unknown_and_nobody_resends(rig: Rig) -> None:
    number = die_with(rig, "ops")
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending() as sender:
            view = rig.is_now(number, DeliveryState.UNKNOWN)
            rig.clock.advance(timedelta(days=2))
            assert sender.flush(20)
        assert receiver.got == []
    assert view.error == "died between send and receipt"
    assert rig.total("unknown") == {"webhook": 1}
    assert rig.events == [
        DeliveryUnknown(delivery=f"d{number}", job="inspect", target="ops", error="died between send and receipt")
    ]


@pytest.mark.parametrize("arrived", [True, False])
def test_a_file_proves_what_it_has(rig: Rig, arrived: bool) -> None:
    rig.file()
    number = rig.put("file")
    with Owner(rig.home.owners, kind="serve", started_at=NOON) as owner:
        (claimed,) = rig.store.write(lambda conn: outbox.claim(conn, owner.name, NOON, limit=1))
        if arrived:
            message = rig.sender()._message(claimed)
            rig.targets.open("file").send(message)
    with rig.sending():
        view = rig.is_now(number, DeliveryState.SENT)
    text = (rig.home.root / "file.md").read_text()
    assert text.count(view.message_id) == 1
    assert ("already" in (view.receipt or "")) is arrived


def test_a_file_that_was_not_configured_when_its_sender_died_proves_it_at_a_retry_by_hand(rig: Rig) -> None:
    rig.file()
    number = rig.put("file")
    with Owner(rig.home.owners, kind="serve", started_at=NOON) as owner:
        (claimed,) = rig.store.write(lambda conn: outbox.claim(conn, owner.name, NOON, limit=1))
        rig.targets.open("file").send(rig.sender()._message(claimed))
    was = rig.configs.pop("file")
    with rig.sending():
        rig.is_now(number, DeliveryState.UNKNOWN)
    rig.configs["file"] = was
    rig.clock.advance(60)
    rig.store.write(lambda conn: outbox.retry(conn, number, rig.clock.now()))
    with rig.sending():
        view = rig.is_now(number, DeliveryState.SENT)
    assert (rig.home.root / "file.md").read_text().count(view.message_id) == 1
    assert "already" in (view.receipt or "")


def test_a_clock_that_is_set_back_holds_up_no_first_try(rig: Rig) -> None:
    rig.file()
    number = rig.put("file")
    rig.clock.set(NOON - timedelta(hours=2))
    with rig.sending():
        view = rig.is_now(number, DeliveryState.SENT)
    assert view.attempts == 1


def test_what_is_in_a_living_hand_is_left_alone(rig: Rig) -> None:
    number = rig.put()
    with Owner(rig.home.owners, kind="serve", started_at=NOON) as other:
        rig.store.write(lambda conn: outbox.claim(conn, other.name, NOON, limit=1))
        with Receiver() as receiver:
            rig.webhook(receiver.url)
            with rig.sending() as sender:
                assert sender.flush(20)
                assert rig.see(number).sending_by == other.name
            assert receiver.got == []


def test_a_stop_waits_for_what_is_on_its_way_and_leaves_the_rest_queued(rig: Rig) -> None:
    numbers = [rig.put(body=str(n)) for n in range(5)]
    with Receiver(otherwise=Reply(silent=True)) as receiver:
        rig.webhook(receiver.url)
        with Owner(rig.home.owners, kind="serve", started_at=NOON) as owner:
            sender = rig.sender()
            sender.start(owner.name)
            until(lambda: len(receiver.got) == PER_TARGET, "two are on their way")
            stopping = threading.Thread(target=sender.stop)
            stopping.start()
            stopping.join(0.3)
            assert stopping.is_alive()  # for as long as they are on their way
            receiver.ended.set()
            stopping.join(20)
            assert not stopping.is_alive()
    views = [rig.see(number) for number in numbers]
    assert not any(view.in_hand for view in views)
    assert sorted(view.attempts for view in views) == [0, 0, 0, 1, 1]
    assert {view.state for view in views} == {DeliveryState.QUEUED}


def test_only_the_messages_of_one_run_are_sent_where_that_is_asked(rig: Rig) -> None:
    mine, other = rig.put(run_id="r1"), rig.put(run_id="r2")
    with Receiver() as receiver:
        rig.webhook(receiver.url)
        with rig.sending(only="r1") as sender:
            assert sender.flush(20)
    assert rig.see(mine).state is DeliveryState.SENT
    assert rig.see(other).attempts == 0


def test_retry_starts_anew_with_the_same_id(rig: Rig) -> None:
    number = rig.put()
    with Receiver(Reply(400)) as receiver:
        rig.webhook(receiver.url)
        with rig.sending() as sender:
            rig.is_now(number, DeliveryState.FAILED)
            rig.store.write(lambda conn: outbox.retry(conn, number, rig.clock.now()))
            sender.kick()
            rig.is_now(number, DeliveryState.SENT)
    assert receiver.got[0].key == receiver.got[1].key
    with pytest.raises(HermesCronError, match="nothing to try again"):
        rig.store.write(lambda conn: outbox.retry(conn, number, rig.clock.now()))


# --- pings ------------------------------------------------------------------------------------------------------------


def ping_run(rig: Rig, url: str) -> str:
    job = Job(name="inspect", prompt="x", ping=url)
    start = runs.Start(job=job, job_uid=None, actor="t", cause=Cause.SCHEDULE)
    return rig.store.write(lambda conn: runs.enqueue(conn, start, NOON))


def put_ping(rig: Rig, run_id: str, signal: str) -> int:
    return rig.put("ping", kind=DeliveryKind.PING, title=signal, body=f"{signal} of {run_id}", run_id=run_id)


def test_start_comes_before_success_also_when_start_has_to_wait(rig: Rig) -> None:
    rig.secrets["hc"] = "set below"
    run_id = ping_run(rig, "secret:hc")
    start, success = put_ping(rig, run_id, "start"), put_ping(rig, run_id, "success")
    with Receiver(Reply(500)) as receiver:
        rig.secrets["hc"] = receiver.url
        with rig.sending() as sender:
            rig.waits_again(start, 1)
            assert sender.flush(20)
            assert rig.see(success).attempts == 0
            rig.clock.advance(10)
            rig.is_now(success, DeliveryState.SENT)
    assert [got.path.partition("?")[0] for got in receiver.got] == ["/hook/start", "/hook/start", "/hook"]
    with rig.store.read() as conn:
        assert outbox.of_runs(conn, [run_id]) == {}
        assert outbox.counts(conn, NOON - timedelta(days=1)).total() == 0
    assert rig.total("sent") == {}


def test_a_start_that_is_late_is_not_sent_and_holds_up_nothing(rig: Rig) -> None:
    run_id = ping_run(rig, f"http://127.0.0.1:{dead_port()}/x")
    start, fail = put_ping(rig, run_id, "start"), put_ping(rig, run_id, "fail")
    rig.clock.advance(121)
    with rig.sending():
        late = rig.is_now(start, DeliveryState.SILENT)
        assert (late.reason, late.error) == ("late", None)
        for attempt, seconds in ((1, 10), (2, 30), (3, 60)):
            view = rig.waits_again(fail, attempt)
            assert view.next_try_at == rig.clock.now() + timedelta(seconds=seconds)
            rig.clock.advance(seconds)
        rig.is_now(fail, DeliveryState.FAILED)


# --- every history ----------------------------------------------------------------------------------------------------

_ANSWERS: Mapping[str, tuple[Reply, str]] = {
    "sent": (Reply(200), "sent"), "refused": (Reply(404), "failed"), "broken": (Reply(500), "queued"),
    "busy": (Reply(429, headers={"Retry-After": "30"}), "queued"), "liar": (Reply(200, b'{"ok": false}'), "failed"),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_target_answers_an_end_is_an_end_and_only_a_receipt_is_sent(rig: Rig, seed: int) -> None:
    digits = hashlib.sha256(str(seed).encode()).digest()
    words = [list(_ANSWERS)[byte % len(_ANSWERS)] for byte in digits[:10]]
    expected = next((_ANSWERS[word][1] for word in words if _ANSWERS[word][1] != "queued"), "sent")
    number = rig.put()
    with Receiver(*(_ANSWERS[word][0] for word in words)) as receiver:
        rig.webhook(receiver.url)
        with rig.sending() as sender:
            for attempt in range(1, len(words) + 2):
                view = rig.waits_again(number, attempt)
                if view.state is not DeliveryState.QUEUED:
                    break
                assert view.next_try_at is not None
                rig.clock.set(view.next_try_at)
            tries = len(receiver.got)
            rig.clock.advance(timedelta(days=3))
            sender.flush(20)
    view = rig.see(number)
    assert view.state.value == expected
    assert len(receiver.got) == tries == view.attempts
    assert (view.sent_at is not None) == (view.receipt is not None) == (expected == "sent")
    assert rig.total("sent").get("webhook", 0) + rig.total("failed").get("webhook", 0) == 1

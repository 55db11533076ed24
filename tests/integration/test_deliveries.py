"""Messages of a real ``serve`` that is killed, and what a person does about them on the command line."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_cron.domain.delivery import DeliveryKind
from hermes_cron.home import Home
from hermes_cron.store import outbox
from hermes_cron.store.engine import Store
from tests.conftest import RunCli, clean_env
from tests.receivers import MailServer, Receiver, Reply, dead_port, until

MANY = 150
KEY = "a-long-key-that-signs-things"


def configure(home: Home, *lines: str) -> None:
    home.config.write_text("\n".join(['timezone = "UTC"', *lines, ""]))


def webhook(name: str, url: str, *lines: str) -> list[str]:
    return [f"[targets.{name}]", 'kind = "webhook"', f'url = "{url}"', *lines]


def put(home: Home, count: int = 1, *, target: str = "ops", job: str = "inspect") -> list[int]:
    now = datetime.now(UTC)
    with Store(home.store) as store:
        return store.write(
            lambda conn: [
                outbox.put(
                    conn, kind=DeliveryKind.REPORT, target=target, title=f"report {n}", body=f"text {n}", run_id=None,
                    job_uid=None, job_name=job, now=now,
                )
                for n in range(count)
            ]
        )  # fmt: skip


@contextmanager
def serving(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler that lives until it is killed, or until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve", "-q"],
        env=clean_env({"HERMES_CRON_HOME": str(home.root)}), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)


def states(home: Home) -> Counter[str]:
    with sqlite3.connect(f"{home.store.as_uri()}?mode=ro", uri=True, timeout=20) as conn:
        found = conn.execute("SELECT state, count(*) FROM deliveries GROUP BY state").fetchall()
    conn.close()
    return Counter(dict(found))


def test_with_two_kills_nothing_is_lost_and_nothing_doubled_after_a_receipt(home: Home) -> None:
    with Receiver() as receiver:
        configure(home, *webhook("ops", receiver.url))
        numbers = put(home, MANY)
        for so_far in (MANY // 3, 2 * MANY // 3):
            with serving(home) as process:
                until(lambda so_far=so_far: len(receiver.got) >= so_far, f"{so_far} arrived", 60)
                process.kill()
        with serving(home):
            until(lambda: not states(home)["queued"], "nothing waits any more", 60)
    with Store(home.store) as store, store.read() as conn:
        views = [outbox.one(conn, number) for number in numbers]
    arrived = Counter(got.key for got in receiver.got)
    for view in views:
        assert arrived[view.message_id] == 1 or (view.state == "unknown" and not arrived[view.message_id]), view
    assert set(states(home)) <= {"sent", "unknown"}
    assert states(home).total() == MANY
    assert states(home)["unknown"] <= 4  # what was in a hand when it was killed


def test_killed_between_send_and_receipt_it_is_unknown_until_a_person_decides(home: Home, run_cli: RunCli) -> None:
    with Receiver(Reply(silent=True)) as receiver:
        configure(home, *webhook("ops", receiver.url))
        (number,) = put(home)
        with serving(home) as process:
            until(lambda: receiver.got, "it was sent")
            process.kill()
        with serving(home):
            until(lambda: states(home)["unknown"], "nobody knows")
        assert len(receiver.got) == 1

        listed = run_cli("outbox", "list")
        assert listed.rc == 0
        assert "unknown" in listed.out
        assert "died between send and receipt" in listed.out
        refused = run_cli("outbox", "retry", f"d{number}")
        assert refused.rc == 2
        assert "may have arrived" in refused.err
        assert len(receiver.got) == 1

        again = run_cli("outbox", "retry", f"d{number}", "-y")
        assert (again.rc, again.out) == (0, f"d{number} sent to ops: HTTP 200: ok\n")
    assert receiver.got[0].key == receiver.got[1].key
    assert states(home) == {"sent": 1}


def test_a_failed_message_says_why_and_is_sent_once_it_can_be(home: Home, run_cli: RunCli) -> None:
    with Receiver(Reply(403, b"key word missing"), Reply(403, b"key word missing")) as receiver:
        configure(home, *webhook("ops", receiver.url))
        (number,) = put(home)
        with serving(home):
            until(lambda: states(home)["failed"], "it failed")
            failed = run_cli("outbox", "retry", f"d{number}")
            assert failed.rc == 1
            assert "HTTP 403: key word missing" in failed.err
            told = json.loads(run_cli("outbox", "list", "--json").out)["deliveries"]
            assert [(row["id"], row["state"], row["error"]) for row in told] == [
                (f"d{number}", "failed", "HTTP 403: key word missing")
            ]
            assert run_cli("outbox", "retry", f"d{number}").rc == 0
        assert run_cli("outbox", "list").out.startswith("Nothing waits")
        shown = run_cli("outbox", "list", "--all").out
        assert "sent" in shown
        assert "HTTP 200: ok" in shown
        assert run_cli("outbox", "retry", f"d{number}").rc == 5
        assert run_cli("outbox", "retry", "d999").rc == 3
        detail = run_cli("outbox", "show", f"d{number}").out
        assert "report 0\n\ntext 0" in detail


def test_the_list_is_of_a_state_or_a_job(home: Home, run_cli: RunCli) -> None:
    put(home, 1, job="a")
    put(home, 2, job="b")
    rows = json.loads(run_cli("outbox", "list", "--job", "b", "--json").out)["deliveries"]
    assert [row["job"] for row in rows] == ["b", "b"]
    assert run_cli("outbox", "list", "--state", "sent").out == "No such messages.\n"
    nobody = run_cli("outbox", "list", "--job", "c")
    assert (nobody.rc, 'no job "c"' in nobody.err) == (3, True)
    wrong = run_cli("outbox", "list", "--state", "lost")
    assert (wrong.rc, "is no state of a message" in wrong.err) == (2, True)


def test_the_messages_of_a_job_are_found_under_its_new_name_too(home: Home, run_cli: RunCli) -> None:
    configure(home, "[targets.f]", 'kind = "file"', 'path = "r.md"')
    job = home.jobs / "old.md"
    job.write_text("---\nschedule: every hour\ntimezone: UTC\nscript: echo hello\ndeliver: [f]\n---\n")
    assert run_cli("run", "old").rc == 0
    job.rename(home.jobs / "new.md")
    for name in ("old", "new"):
        rows = json.loads(run_cli("outbox", "list", "--all", "--job", name, "--json").out)["deliveries"]
        assert [row["job"] for row in rows] == ["old"]


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_webhook_that_signs_is_added_tested_shown_and_removed_with_its_secrets(home: Home, run_cli: RunCli) -> None:
    with Receiver(otherwise=Reply(200, b'{"code": 0}')) as receiver:
        added = run_cli(
            "targets", "add", "ops-chat", "--kind", "webhook", "--url-from", "env:HOOK", "--secret-from", "env:KEY",
            env={"HOOK": receiver.url, "KEY": KEY},
        )  # fmt: skip
        assert (added.rc, added.out) == (0, "saved as ops-chat\n")
        assert 'sent a test line; HTTP 200: {"code": 0}' in added.err
        tested = run_cli("targets", "test", "ops-chat", "--json")
        assert json.loads(tested.out) == {"name": "ops-chat", "sent": True, "answer": 'HTTP 200: {"code": 0}'}
    assert all("x-hermes-cron-signature" in got.headers for got in receiver.got)
    config = home.config.read_text()
    assert receiver.url not in config
    assert KEY not in config
    assert 'url = "secret:target-ops-chat"' in config
    assert "secret:target-ops-chat-key" in run_cli("targets", "list").out
    assert run_cli("targets", "add", "ops-chat", "--kind", "file", "--path", "x.md").rc == 5
    assert run_cli("targets", "remove", "ops-chat").rc == 0
    assert "targets" not in home.config.read_text()
    assert run_cli("secrets", "list").out.startswith("No secrets")


def test_a_target_that_does_not_answer_is_not_saved_unless_told_to(home: Home, run_cli: RunCli) -> None:
    url = f"http://127.0.0.1:{dead_port()}/hook"
    refused = run_cli("targets", "add", "x", "--kind", "webhook", "--url", url)
    assert refused.rc == 1
    assert "Connection refused" in refused.err
    assert "targets" not in home.config.read_text()
    assert run_cli("targets", "add", "x", "--kind", "webhook", "--url", url, "--no-test").rc == 0
    assert run_cli("targets", "test", "x").rc == 1


@pytest.mark.parametrize(
    "argv, words",
    [
        (("--url", "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx"), "holds a key"),
        (("--url", "https://me:hunter2@host/x"), "holds a key"),
        (("--url", "https://host/x", "--secret", KEY), "never the secret itself"),
        (("--url-from", KEY), "never the secret itself"),
    ],
)
def test_no_secret_is_taken_from_the_command_line(
    home: Home, run_cli: RunCli, argv: tuple[str, ...], words: str
) -> None:
    refused = run_cli("targets", "add", "x", "--kind", "webhook", *argv)
    assert refused.rc == 4
    assert words in refused.err
    assert KEY not in refused.err
    assert "hunter2" not in refused.err
    assert "targets" not in home.config.read_text()


def test_a_receiver_that_repeats_a_key_shows_it_to_nobody(home: Home, run_cli: RunCli) -> None:
    with Receiver(Reply(200, f"signed with {KEY}".encode())) as receiver:
        argv = ("targets", "add", "x", "--kind", "webhook", "--url", receiver.url, "--secret-from", "env:KEY")
        added = run_cli(*argv, env={"KEY": KEY})
    assert added.rc == 0
    assert KEY not in added.out + added.err
    assert "signed with [secret:" in added.err


def test_mail_is_added_and_a_login_without_tls_is_refused(home: Home, run_cli: RunCli) -> None:
    with MailServer() as server:
        base = ("--kind", "email", "--to", "ops@example.org", "--from", "cron@example.org", "--host", "localhost",
                "--port", str(server.port), "--tls", "none")  # fmt: skip
        refused = run_cli("targets", "add", "mail", *base, "--user", "cron", "--password", "secret:x")
        assert (refused.rc, "login without TLS" in refused.err) == (2, True)
        added = run_cli("--lang", "zh", "targets", "add", "mail", *base)
        assert (added.rc, added.out) == (0, "已保存为 mail\n")
    assert len(server.mails) == 1
    shown = run_cli("targets", "show", "mail").out
    assert f"ops@example.org via localhost:{server.port} (none)" in shown


def test_a_target_in_use_is_kept(home: Home, run_cli: RunCli) -> None:
    configure(home, "[targets.ops]", 'kind = "file"', 'path = "r.md"', "[targets.o]", 'kind = "file"', 'path = "s.md"')
    for name, lines in (
        ("a", "deliver: [ops]"),
        ("b", "deliver:\n  to:\n    - ops\n  when: change"),
        ("c", "on_check_failure: {attempts: 1}\ndeliver: ops"),
        ("d", "tags: [ops]"),
        ("e", "on_check_failure:\n  notify:\n  - ops"),
    ):
        (home.jobs / f"{name}.md").write_text(f"---\nschedule: every day 9am\n{lines}\n---\ntalk to ops\n")
    kept = run_cli("targets", "remove", "ops", "--json")
    assert kept.rc == 5
    used = json.loads(kept.err)["error"]["used_in"]
    assert used == ["jobs/a.md", "jobs/b.md", "jobs/c.md", "jobs/e.md"]
    assert run_cli("targets", "remove", "o").rc == 0
    assert run_cli("targets", "remove", "ops", "-y").rc == 0


def test_wrong_words(home: Home, run_cli: RunCli) -> None:
    assert run_cli("targets", "add", "x", "--kind", "pigeon").rc == 2
    assert run_cli("targets", "add", "x").rc == 2
    stranger = run_cli("targets", "add", "x", "--kind", "file", "--path", "r.md", "--from", "a@b.c")
    assert (stranger.rc, "--from belongs to targets of kind email" in stranger.err) == (2, True)
    assert run_cli("targets", "add", "a b", "--kind", "file", "--path", "r.md").rc == 2
    assert run_cli("targets", "test", "nothing").rc == 3
    guarded = run_cli("targets", "add", "x", "--kind", "file", "--path", "jobs/x.md")
    assert (guarded.rc, "is refused" in guarded.err) == (1, True)


def _dialogue(home: Home, argv: Sequence[str], answers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Run on a terminal of its own; wait for each text, then type."""
    pid, terminal = pty.fork()
    if pid == 0:  # the child: nothing but exec
        env = clean_env({"HERMES_CRON_HOME": str(home.root), "TERM": "dumb"})
        os.execve(sys.executable, [sys.executable, "-m", "hermes_cron", *argv], env)
    shown, seen, deadline = b"", 0, time.monotonic() + 30
    waiting = list(answers)
    while time.monotonic() < deadline:
        if waiting and waiting[0][0].encode() in shown[seen:]:
            seen = len(shown)
            os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other end is closed: the process is done
                break
    os.close(terminal)
    assert not waiting, f"never asked: {waiting[0][0]}; shown:\n{shown.decode()}"
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


@pytest.mark.parametrize("arrived", ["y", "n"])
def test_on_a_terminal_it_asks_hides_secrets_and_believes_the_person(home: Home, tmp_path: Path, arrived: str) -> None:
    with Receiver() as receiver:
        code, shown = _dialogue(
            home,
            ("targets", "add", "ops-chat"),
            [
                ("Kind [file, webhook, email]", "webhook"),
                ("Webhook URL (not shown)", receiver.url),
                ("Signing key", KEY),
                ("Do you see it?", arrived),
            ],
        )
    assert KEY not in shown
    assert receiver.url not in shown
    assert "sent a test line; HTTP 200: ok" in shown
    assert code == (0 if arrived == "y" else 1)
    assert ("saved as ops-chat" in shown) == ("[targets.ops-chat]" in home.config.read_text()) == (arrived == "y")


# --- from a job to its receiver ---------------------------------------------------------------------------------------


def script(home: Home, name: str, command: str, *lines: str) -> None:
    text = ["---", 'schedule: "*/5 * * * *"', "timezone: UTC", f"script: {json.dumps(command)}", *lines, "---", ""]
    (home.jobs / f"{name}.md").write_text("\n".join(text))


def at(clock: Path, text: str) -> dict[str, str]:
    clock.write_text(text)
    return {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(clock)}


def test_a_pass_runs_reports_and_pings_and_ends_when_all_is_said(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    with Receiver() as hook, Receiver() as switch:
        configure(home, *webhook("ops", hook.url))
        script(home, "good", "echo all is well", "deliver: [ops]", f"ping: {switch.url}")
        env = at(tmp_path / "clock", "2026-12-01T12:00:00Z")
        assert run_cli("serve", "--once", env=env).rc == 0
        at(tmp_path / "clock", "2026-12-01T12:05:00Z")
        assert run_cli("serve", "--once", env=env).rc == 0
    (report,) = [json.loads(got.body) for got in hook.got]
    assert (report["kind"], report["job"]) == ("report", "good")
    assert report["text"].startswith("all is well\n")
    assert (report["facts"]["state"], report["facts"]["scheduled_at"]) == ("ok", "2026-12-01T12:05:00+00:00")
    assert [got.path.partition("?")[0] for got in switch.got] == ["/hook/start", "/hook"]
    assert switch.got[1].body.decode() == f"good {report['run_id']}: ok"


def test_a_run_by_hand_without_a_scheduler_sends_its_own_report_and_is_no_success_without(
    home: Home, run_cli: RunCli
) -> None:
    with Receiver(Reply(200), Reply(400, b"chat not found")) as receiver:
        configure(home, *webhook("ops", receiver.url))
        script(home, "good", "echo all is well", "deliver: [ops]")
        assert run_cli("run", "good").rc == 0
        assert len(receiver.got) == 1
        failed = run_cli("run", "good", "--json")
    assert failed.rc == 1
    told = json.loads(failed.out)
    assert told["state"] == "ok"
    assert [(row["target"], row["state"], row["error"]) for row in told["deliveries"]] == [
        ("ops", "failed", "HTTP 400: chat not found")
    ]
    assert "failed" in run_cli("list").out


def test_a_receiver_that_hangs_delays_no_run(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    """The first job's report is on its way for ever; the second one's instant comes all the same."""
    with Receiver(otherwise=Reply(silent=True)) as receiver:
        configure(home, *webhook("ops", receiver.url, "timeout_s = 60"))
        for name in ("a", "b", "c", "d", "e"):
            script(home, name, f"echo {name}", "deliver: [ops]")
        clock = tmp_path / "clock"
        env = at(clock, "2026-12-01T12:00:00Z")
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_cron", "serve", "-q"],
            env=clean_env({"HERMES_CRON_HOME": str(home.root), **env}), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(lambda: "ServeReady" in _log(home), "it serves")
            at(clock, "2026-12-01T12:05:00Z")
            until(lambda: len(receiver.got) == 2, "two reports hang")
            until(lambda: _log(home).count("RunFinished") == 5, "the runs of the first instant ended")
            at(clock, "2026-12-01T12:10:00Z")
            until(lambda: _log(home).count("RunFinished") == 10, "all runs of both instants ended")
            process.send_signal(signal.SIGTERM)
            receiver.ended.set()
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.wait()
    assert states(home)["queued"] >= 8


def _log(home: Home) -> str:
    path = home.logs / "serve.log"
    return path.read_text() if path.exists() else ""

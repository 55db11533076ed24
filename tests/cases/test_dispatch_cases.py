"""The real faults of dispatch.jsonl: none comes back. C087 waits for the issue that brings its means."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hermes_cron.domain.delivery import DeliveryState
from hermes_cron.domain.job import load_job
from hermes_cron.domain.run import Outcome, RunState
from hermes_cron.files import TEMP_PREFIX
from hermes_cron.home import Home
from hermes_cron.lost_jobs import lost_jobs
from hermes_cron.scheduler.housekeeping import housekeep
from hermes_cron.snapshots.held import BY_HAND
from hermes_cron.snapshots.repository import SnapshotRepository
from hermes_cron.store import claims, endings, outbox, overview, runs, takeovers
from hermes_cron.store.engine import Store
from hermes_cron.testing import FixedClock, StubServer
from tests.conftest import Ran, RunCli, clean_env
from tests.scheduler_rig import Rig, until
from tests.serving import Serving

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "dispatch.jsonl").read_text("utf-8").splitlines())
}
LATER = {"C087": "an agent tool that adds jobs"}


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def rig_at(home: Home, text: str, **options: object) -> Rig:
    return Rig(home, clock=FixedClock(instant(text)), **options)  # type: ignore[arg-type]


def test_every_case_is_here_or_waits_for_its_issue() -> None:
    here = {name.split("_")[1].upper() for name in globals() if name.startswith("test_c")}
    assert here | set(LATER) == set(CASES)


def test_c079_a_run_that_kills_the_process_is_not_started_again(home: Home) -> None:
    case = CASES["C079"]
    with rig_at(home, "2026-12-01T06:00Z") as rig:
        rig.write("j", case["input"]["schedule"])
        rig.rescan()
        rig.work.hold("j")
        rig.at("06:15")
        until(lambda: rig.work.starts("j"), "the run started")
        for restart in case["input"]["restarts_at"]:
            rig.again()
            rig.at(restart.removesuffix("Z"))
        assert len(rig.work.starts("j")) == case["expected"]["fires_for_slot_2026-12-01T06:15Z"]
        assert rig.job("j").next_due == instant(case["expected"]["next_run"])
        assert rig.history("j") == [("06:15", "interrupted", "shutdown")]


def test_c079_kind_an_agents_run_is_gone_on_with_and_is_no_second_run(home: Home) -> None:
    case = CASES["C079"]
    with rig_at(home, "2026-12-01T06:00Z") as rig:
        rig.write("j", case["input"]["schedule"], body="do it")
        rig.rescan()
        gate = rig.work.hold("j")
        rig.at("06:15")
        until(lambda: rig.work.starts("j"), "the run started")
        for restart in case["input"]["restarts_at"]:
            rig.again()
            rig.at(restart.removesuffix("Z"))
        until(lambda: len(rig.work.started) == 4, "each service went on with it")
        gate.set()
        rig.idle()
        assert len({run.id for run in rig.work.started}) == case["expected"]["fires_for_slot_2026-12-01T06:15Z"]
        assert [run.fence for run in rig.work.started] == [1, 2, 3, 4]
        assert {run.attempt for run in rig.work.started} == {1}
        assert rig.history("j") == [("06:15", "ok", None)]
        assert rig.job("j").next_due == instant(case["expected"]["next_run"])


def test_c080_a_one_shot_missed_for_days_is_told_of(home: Home) -> None:
    case = CASES["C080"]
    at = case["input"]["job"].removeprefix("once at ")
    with rig_at(home, "2026-06-30T15:00Z") as rig:
        rig.write("j", at)
        rig.rescan()
        rig.stop()
        rig.clock.set(instant("2026-07-03T16:00Z"))
        rig.again()
        assert rig.history("j") == [("16:00", case["expected"]["state"], "too_old")]
        assert rig.job("j").next_due is None
        assert any(type(event).__name__ == "InstantsMissed" for event in rig.events)
        with rig.store.read() as conn:
            assert [(need.kind, need.job) for need in overview.needs(conn)] == [("missed", "j")]


def test_c080_kind_a_one_shot_found_within_a_day_runs_once_and_late(home: Home) -> None:
    with rig_at(home, "2026-06-30T15:00Z") as rig:
        rig.write("j", "2026-06-30T09:00:00-07:00")
        rig.rescan()
        rig.stop()
        rig.clock.set(instant("2026-07-01T16:00Z"))
        rig.again()
        rig.idle()
        assert [(run.scheduled_at, run.late) for run in rig.work.started] == [(instant("2026-06-30T16:00Z"), True)]


@pytest.mark.parametrize("seconds", [0.0, 0.6], ids=["at-once", "as-reported"])
def test_c082_two_ticks_at_once_start_an_instant_once(home: Home, seconds: float) -> None:
    rig = rig_at(home, "2026-12-01T11:00Z")
    rig.write("j", CASES["C082"]["input"]["schedule"])
    rig.sync()
    first = instant("2026-12-01T12:00:56.4Z")
    barrier, taken = threading.Barrier(2), []

    def tick(now: datetime) -> None:
        with Store(home.store) as store:
            barrier.wait()
            taken.extend(store.write(lambda conn: (claims.claim_due(conn, now), claims.take(conn, "o", 4, now))[1]))

    threads = [threading.Thread(target=tick, args=(first + timedelta(seconds=seconds * n),)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == CASES["C082"]["expected"]["runs_for_slot"]
    rig.store.close()


def test_c083_a_long_job_does_not_make_others_late(home: Home) -> None:
    with rig_at(home, "2026-12-01T11:59Z") as rig:
        rig.write("a", "*/5 * * * *")
        rig.write("b", "*/10 * * * *")
        rig.write("c", "15 12 * * *")
        rig.rescan()
        ends: dict[str, datetime] = {}
        lasts = {"a": 400, "b": 200, "c": 1}
        gates = {name: rig.work.hold(name) for name in lasts}
        for second in range(60, 32 * 60, 20):
            rig.clock.set(instant("2026-12-01T11:59Z") + timedelta(seconds=second))
            rig.settle()
            now = rig.clock.now()
            with rig.store.read() as conn:
                running = {run.job_name for run in runs.owned(conn)}
            for name, lasting_s in lasts.items():
                if name in running and name not in ends:
                    ends[name] = now + timedelta(seconds=lasting_s)
                elif name in running and now >= ends[name]:
                    gates[name].set()
                    until(lambda name=name: name not in _running(rig), f"{name} ended")
                    gates[name].clear()
                    del ends[name]
        assert rig.work.starts("c") == ["12:15"]
        (run,) = [run for run in rig.work.started if run.job.name == "c"]
        assert run.started_at < instant(CASES["C083"]["expected"]["C_started_before"])
        skipped = [row for row in rig.history("a") if row[1] == "skipped"]
        assert skipped
        assert {reason for _, _, reason in skipped} == {"overlap"}
        for gate in gates.values():
            gate.set()


def _running(rig: Rig) -> set[str]:
    with rig.store.read() as conn:
        return {run.job_name for run in runs.owned(conn)}


def test_c086_a_restart_before_the_time_fires_nothing(home: Home) -> None:
    case = CASES["C086"]
    with rig_at(home, "2026-05-11T10:00Z") as rig:
        rig.write("j", case["input"]["schedule"])
        rig.rescan()
        rig.stop()
        rig.clock.set(instant(case["input"]["restart_at"]))
        rig.again()
        assert rig.work.started == []
        rig.at("2026-05-12 09:00")
        rig.again()
        rig.at("2026-05-12 23:59")
        rig.idle()
        assert [run.scheduled_at for run in rig.work.started] == [instant(at) for at in case["expected"]["fires"]]


def test_c089_a_job_added_while_the_service_runs_stays(home: Home) -> None:
    with Rig(home) as rig:
        rig.write("A", "*/5 * * * *")
        rig.rescan()
        gate = rig.work.hold("A")
        rig.at("12:05")
        until(lambda: rig.work.starts("A"), "A runs")
        rig.write("B", "0 9 * * *")
        with Store(home.store) as other:
            from hermes_cron.store import jobs

            jobs.sync(other, rig.source, now=rig.clock.now(), actor="cli")
        gate.set()
        rig.idle()
        assert rig.names() == CASES["C089"]["expected"]["list"]


def test_c091_a_partial_loss_is_missed_by_name_and_not_restored_by_itself(home: Home) -> None:
    case = CASES["C091"]
    now = instant("2026-12-01T06:00Z")
    for number in range(case["input"]["before"]):
        (home.jobs / f"j{number}.md").write_text("---\nschedule: every day 9am\n---\nx\n")
    snapshots = SnapshotRepository(home.root, FixedClock(now))
    snapshots.create(BY_HAND)
    for path in sorted(home.jobs.iterdir())[case["input"]["after_update"] :]:
        path.unlink()
    lost = lost_jobs(snapshots, home, now)
    assert lost is not None
    assert f"{len(lost.files)} jobs present in the snapshot are missing" == case["expected"]["warning"]
    assert case["expected"]["offer"] in lost.command
    assert len(list(home.jobs.iterdir())) == case["input"]["after_update"]


def test_c092_the_prompt_comes_through_a_change_of_the_store_whole(home: Home) -> None:
    prompt = ("Tell what changed since yesterday. 每天的变化。 " * 80)[:2618]
    rig = Rig(home)
    rig.write("daily-brief", "0 9 * * *", body=prompt)
    rig.sync()
    rig.store.close()
    with Store(home.store) as store, store.read() as conn:
        from sqlalchemy import select

        from hermes_cron.store.tables import JobRow

        job = load_job(conn.execute(select(JobRow.__table__.c.spec)).scalar_one())  # type: ignore[attr-defined]
    kept = job.prompt or ""
    assert len(kept.strip()) == len(prompt.strip())
    assert hashlib.sha256(kept.strip().encode()).digest() == hashlib.sha256(prompt.strip().encode()).digest()


def test_c095_a_job_added_before_the_next_wake_up_shortens_the_sleep(home: Home) -> None:
    with rig_at(home, "2026-12-01T14:00Z") as rig:
        rig.write("recurring", "0 15 * * *")
        rig.rescan()
        rig.at("14:03")
        rig.write("once", "2026-12-01T14:05:00+00:00")
        rig.rescan()
        rig.at("14:05")
        rig.idle()
        assert rig.work.starts("once") == ["14:05"]


def test_c096_after_an_edit_only_the_new_schedule_fires(home: Home) -> None:
    case = CASES["C096"]
    with rig_at(home, "2026-04-24T12:00Z") as rig:
        rig.write("J", "0 6 * * *")
        rig.rescan()
        rig.write("J", "30 5 * * 1-5")
        rig.rescan()
        for hour in range(24):
            rig.at(f"2026-04-25 {hour:02}:59")
        rig.idle()
        assert len(rig.work.started) == case["expected"]["fires_on_2026-04-25"]


def test_c098_adding_a_job_runs_no_other_job_again(home: Home) -> None:
    with rig_at(home, "2026-12-01T11:00Z") as rig:
        rig.write("A", "1 11 * * *")
        rig.rescan()
        rig.at("11:01")
        rig.idle()
        rig.at("11:30")
        rig.write("B", "0 12 * * *")
        rig.rescan()
        rig.again()
        rig.idle()
        assert len(rig.work.starts("A")) == CASES["C098"]["expected"]["A_runs"]


def test_c099_ten_minutes_down_is_one_run_and_one_span(home: Home) -> None:
    case = CASES["C099"]
    with rig_at(home, "2026-12-01T12:00Z") as rig:
        rig.write("J", case["input"]["schedule"])
        rig.rescan()
        rig.at("12:00:30")
        rig.stop()
        rig.clock.set(instant("2026-12-01T12:10:30Z"))
        rig.again()
        rig.idle()
        assert len(rig.work.started) == case["expected"]["runs_at_start"]
        assert [row[:2] for row in rig.history("J")] == [
            *((f"12:0{minute}", "merged") for minute in range(1, 10)),
            ("12:10", "ok"),
        ]
        assert f"{rig.job('J').next_due:%H:%M:%S}" == case["expected"]["next_run"]


def test_c102_a_run_that_ended_is_never_called_interrupted(home: Home) -> None:
    rig = Rig(home)
    rig.write("J", "*/5 * * * *")
    rig.sync()
    now = instant("2026-12-01T12:05Z")
    run = rig.store.write(lambda conn: (claims.claim_due(conn, now), claims.take(conn, "o", 1, now))[1])[0]
    with rig.store.read() as conn:
        stale = runs.owned(conn)
    rig.store.write(lambda conn: runs.finish(conn, run.id, run.fence, Outcome(state=RunState.OK), now))
    assert rig.store.write(lambda conn: [takeovers.take_over(conn, run, now) for run in stale]) == [None]
    with rig.store.read() as conn:
        assert runs.find(conn, run.id)["state"] == CASES["C102"]["expected"]["state"]
    rig.store.close()


def test_c102_kind_a_run_whose_report_arrived_stays_ok_and_so_does_its_delivery(home: Home) -> None:
    rig = Rig(home)
    rig.write("J", "*/5 * * * *", "deliver: [ops]")
    rig.sync()
    now = instant("2026-12-01T12:05Z")
    (run,) = rig.store.write(lambda conn: (claims.claim_due(conn, now), claims.take(conn, "o", 1, now))[1])
    with rig.store.read() as conn:
        stale = runs.owned(conn)
    rig.store.write(lambda conn: endings.end(conn, run, Outcome(state=RunState.OK, text="report"), now))
    (claimed,) = rig.store.write(lambda conn: outbox.claim(conn, "o", now, limit=1))
    receipt = outbox.Receipt(number=claimed.view.number, state=DeliveryState.SENT, text="HTTP 200", platform="webhook")
    assert rig.store.write(lambda conn: outbox.settle(conn, "o", receipt, now))
    later = now + timedelta(seconds=1)
    assert rig.store.write(lambda conn: [takeovers.take_over(conn, run, later) for run in stale]) == [None]
    assert rig.store.write(lambda conn: outbox.lost(conn, ["o"], later, provable=(), platforms={})) == []
    with rig.store.read() as conn:
        assert runs.find(conn, run.id)["state"] == CASES["C102"]["expected"]["state"]
        assert [each.state for each in outbox.of_runs(conn, [run.id])[run.id]] == [DeliveryState.SENT]
    rig.store.close()


def test_c103_a_run_cut_by_a_stop_keeps_its_row(home: Home) -> None:
    with rig_at(home, "2026-12-01T21:59Z") as rig:
        rig.write("J", "0 22 * * *")
        rig.rescan()
        rig.work.hold("J")
        rig.at("22:00")
        until(lambda: rig.work.starts("J"), "J runs")
        rig.clock.set(instant("2026-12-01T22:30Z"))
        rig.again()
        assert rig.history("J") == [("22:00", "interrupted", "shutdown")]
        with rig.store.read() as conn:
            row = runs.find(conn, rig.work.started[0].id)
            assert (f"{row['started_at']:%H:%M}", f"{row['ended_at']:%H:%M}") == ("22:00", "22:30")
            assert [need.state for need in overview.needs(conn)] == ["interrupted"]
        last = rig.job("J").last
        assert last is not None
        assert last.state == "interrupted"


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_c103_kind_an_agents_run_cut_by_a_restart_goes_on_at_its_step(home: Home, end: str) -> None:
    (home.jobs / "j.md").write_text('---\nschedule: "0 22 * * *"\ntimezone: UTC\n---\nlook at the clock\n')
    look = {"tool_calls": [{"name": "now", "arguments": {}}]}
    with StubServer([look, {**look, "delay_ms": 2000}, "all is well"]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "m", "OPENAI_API_KEY": "k"}
        with Serving(home, env=env, start_at="21:59") as serve:
            serve.at("22:00")
            until(lambda: len(stub.requests) == 2, "the second step began", 60)
            if end == "SIGKILL":
                serve.kill()
            else:
                serve.stop()
            (cut,) = serve.runs("j")
            assert cut["state"] in ("running", "queued")
            serve.at("22:30")
            serve.start()
            serve.due("22:30", runs=1)
            (run,) = serve.runs("j")
            assert (run["id"], run["state"]) == (cut["id"], "ok")
            assert (run["started_at"][11:16], run["ended_at"][11:16]) == ("22:00", "22:30")
        assert len(stub.requests) == 3  # the answer that the killed one waited for is asked for again
        asked, going_on = stub.requests[1].messages, stub.requests[2].messages
        assert going_on[: len(asked)] == asked
        assert (going_on == asked) is (end == "SIGKILL")


def test_c103_kind_an_agents_run_is_taken_over_and_keeps_its_start(home: Home) -> None:
    with rig_at(home, "2026-12-01T21:59Z") as rig:
        rig.write("J", "0 22 * * *", body="do it")
        rig.rescan()
        gate = rig.work.hold("J")
        rig.at("22:00")
        until(lambda: rig.work.starts("J"), "J runs")
        rig.clock.set(instant("2026-12-01T22:30Z"))
        rig.stop()
        assert rig.history("J") == [("22:00", "queued", None)]  # told of, and not called healthy
        rig.again()
        until(lambda: len(rig.work.started) == 2, "J is gone on with")
        gate.set()
        rig.idle()
        assert rig.history("J") == [("22:00", "ok", None)]
        with rig.store.read() as conn:
            row = runs.find(conn, rig.work.started[0].id)
        assert (f"{row['started_at']:%H:%M}", f"{row['ended_at']:%H:%M}") == ("22:00", "22:30")


def test_c104_twenty_adds_at_once(home: Home, run_cli: RunCli) -> None:
    serve = subprocess.Popen(
        [sys.executable, "-m", "hermes_cron", "serve"], env=clean_env({"HERMES_CRON_HOME": str(home.root)}),
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    done: list[Ran] = []
    threads = [
        threading.Thread(target=lambda n=n: done.append(run_cli("add", f"every day 9am: p{n}", "--name", f"p{n}")))
        for n in range(20)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        serve.send_signal(signal.SIGTERM)
        serve.wait(30)
    assert [ran.err for ran in done if ran.rc] == []
    listed = json.loads(run_cli("list", "--json").out)["jobs"]
    assert len(listed) == CASES["C104"]["expected"]["list_count"]
    assert len({job["uid"] for job in listed}) == 20


CHILD = """
import os, signal, sys
from pathlib import Path
from hermes_cron import files
point, path = sys.argv[1], Path(sys.argv[2])
new = b"new " * 1000
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
real_write, real_fsync, calls = os.write, os.fsync, []
if point == "half":
    def write(fd, data):
        real_write(fd, bytes(data)[: len(data) // 2]); die()
    os.write = write
else:
    def fsync(fd):
        real_fsync(fd); calls.append(fd)
        if point == "temp" or len(calls) == 2: die()
    os.fsync = fsync
files.write_atomic(path, new)
"""


@pytest.mark.parametrize(("point", "new"), [("half", False), ("temp", False), ("renamed", True)])
def test_c105_a_kill_in_the_middle_of_a_write_leaves_old_or_new(home: Home, point: str, new: bool) -> None:
    path = home.jobs / "j.md"
    path.write_bytes(b"old " * 1000)
    done = subprocess.run([sys.executable, "-c", CHILD, point, str(path)], env=clean_env(), check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == (b"new " if new else b"old ") * 1000
    strays = [stray for stray in home.jobs.iterdir() if stray.name.startswith(TEMP_PREFIX)]
    assert len(strays) == (0 if new else 1)
    for stray in strays:
        an_hour_ago = stray.stat().st_mtime - 3601  # a younger one may be a living writer's
        os.utime(stray, (an_hour_ago, an_hour_ago))
    rig = Rig(home)
    assert [read.file_name for read in rig.source.folder.scan()] == ["j.md"]
    from hermes_cron.domain.job import Keep

    housekeep(rig.store, home, keep=Keep(), emit=rig.events.append, now=rig.clock.now())
    assert [file.name for file in home.jobs.iterdir()] == ["j.md"]
    rig.store.close()


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    yield
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("run-")], "no run's thread is left")

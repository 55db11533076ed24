"""The history's screens: snapshots, what an undo says before it does it, versions, lines and differences."""

from __future__ import annotations

import json

import pytest

from hermes_cron.home import Home
from tests.golden.screens import START, Screens, insert_delivery, insert_run, made
from tests.history_rig import JOB, LINES, SKILL, Past, in_process, masked, tree_sha

RUN = "r7m3d000"
LEARNED = LINES.replace("two\n", "two\nLEARNED\n")


@pytest.fixture
def screens(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Screens:
    monkeypatch.setenv("LOGNAME", "oncall")
    return made(home, in_process(home, monkeypatch, capsys))


@pytest.fixture
def past(screens: Screens, home: Home) -> Past:
    """The first snapshot at 09:00, what a run learned at 09:01, an edit of the same skill by hand at 09:02."""
    past = Past(home)
    edits = {SKILL: LEARNED, "memories/MEMORY.md": "prod was reset\n", "jobs/daily.md": JOB.replace("9am", "8am")}
    past.by_run(RUN, edits)  # type: ignore[arg-type]
    past.put(SKILL, LEARNED.replace("seven", "SEVEN"))
    past.by_hand()
    screens.at(past.clock.now())
    return past


def test_an_undo_says_first_what_it_will_do(screens: Screens, past: Past) -> None:
    screens("list")
    with screens.store() as conn:
        (uid,) = conn.execute("SELECT uid FROM jobs").fetchone()
        insert_run(conn, uid, RUN, START, job_name="daily")
        insert_delivery(conn, uid, RUN, target="dba-chat")
    refused = screens("undo", RUN, "--no-input", rc=6)
    assert refused.out.splitlines() == [
        f"Will undo run {RUN} (daily, Tue 2026-12-01):",
        "  job     daily: +1 -1 lines",
        "  skill   tidy @3 -> a new version, +0 -1 lines",
        "  memory  MEMORY.md goes",
        "  kept    your edit of tidy at 09:02 (not by the run)",
        "  cannot  1 message to dba-chat",
    ]
    assert refused.err.splitlines() == [
        "error: somebody must say yes to that first; nothing was done",
        f"  try  hermes-cron undo {RUN} -y",
    ]
    assert past.text() == LEARNED.replace("seven", "SEVEN")


def test_an_undo_is_done_proved_and_can_be_undone(screens: Screens, past: Past, home: Home) -> None:
    before = tree_sha(home)
    done = screens("undo", RUN[:4], "-y", rc=3)
    assert "no snapshot and no run" in done.err, "a run that the store forgot needs its whole id"
    done = screens("undo", RUN, "-y")
    assert masked(done.out).splitlines()[5:] == [
        "Undone.",
        "  snapshot      #######",
        "  proven        3 files, sha256 ########",
        "  take it back  hermes-cron undo #######",
    ]
    assert past.text() == LINES.replace("seven", "SEVEN"), "what the run wrote is gone, the edit by hand is not"
    assert past.text("jobs/daily.md") == JOB
    assert not (home.memories / "MEMORY.md").exists()
    back = done.out.splitlines()[-1].split()[-1]
    screens("undo", back, "-y")
    assert tree_sha(home) == before
    again = json.loads(screens("undo", back, "-y", "--json").out)
    assert (again["commit"], again["changes"]) == (None, [])


def test_in_chinese(screens: Screens, past: Past) -> None:
    assert screens("undo", RUN, "--no-input", "--lang", "zh", rc=6).out.splitlines() == [
        f"将撤销运行 {RUN}（daily，2026-12-01 周二）：",
        "  任务  daily: +1 -1 行",
        "  技能  tidy @3 -> 新版本，+0 -1 行",
        "  记忆  MEMORY.md 移除",
        "  保留  您于 09:02 对 tidy 的修改（不是该运行所做）",
    ]


def test_snapshots_are_listed_and_one_is_shown(screens: Screens, past: Past) -> None:
    past.put("memories/USER.md", "likes tea\n")
    screens.at(past.clock.now())
    made = screens("snapshots", "create", "before the holidays")
    assert masked(made.out) == "Kept as #######: 1 file changed since the last.\n"
    listed = screens("snapshots", "list")
    assert masked(listed.out).splitlines() == [
        "ID       WHEN             WHO      RUN       FILES  WHY",
        "#######  Tue 12-01 09:03  oncall   -             1  before the holidays",
        "#######  Tue 12-01 09:02  by hand  -             1  edited by hand",
        "#######  Tue 12-01 09:01  run      r7m3d000      3  learned a pitfall",
        "#######  Tue 12-01 09:00  by hand  -             3  first",
    ]
    run = listed.out.splitlines()[3].split()[0]
    assert masked(screens("snapshots", "show", run).out).splitlines() == [
        "  id      ########",
        "  when    Tue 12-01 09:01",
        "  who     run",
        "  run     r7m3d000",
        "  job     daily",
        "  why     learned a pitfall",
        "  before  #######",
        "  holds   4 files, sha256 ########",
        "",
        "jobs/daily.md            +1 -1 lines",
        "memories/MEMORY.md       new",
        "skills/db/tidy/SKILL.md  +1 -0 lines",
    ]


def test_versions_lines_and_differences(screens: Screens, past: Past) -> None:
    logged = screens("log", "tidy")
    assert masked(logged.out).splitlines() == [
        "VERSION  WHEN             WHO      RUN       ID       WHY",
        "@3       Tue 12-01 09:02  by hand  -         #######  edited by hand",
        "@2       Tue 12-01 09:01  run      r7m3d000  #######  learned a pitfall",
        "@1       Tue 12-01 09:00  by hand  -         #######  first",
    ]
    assert logged.err == "see: hermes-cron skills diff tidy@3     back: hermes-cron skills restore tidy@2\n"
    assert masked(screens("blame", "tidy").out).splitlines()[5:9] == [
        "#######  Tue 12-01 09:00  by hand  -         first                 5  one",
        "#######  Tue 12-01 09:00  by hand  -         first                 6  two",
        "#######  Tue 12-01 09:01  run      r7m3d000  learned a pitfall     7  LEARNED",
        "#######  Tue 12-01 09:00  by hand  -         first                 8  three",
    ]
    assert screens("skills", "diff", "tidy@2").out.splitlines()[3:] == [
        "@@ -4,6 +4,7 @@ description: tidy up", " ---", " one", " two", "+LEARNED", " three", " four", " five",
    ]  # fmt: skip
    past.put("memories/MEMORY.md", "prod was reset\nand again\n")
    assert screens("diff").out.splitlines() == [
        "diff --git a/memories/MEMORY.md b/memories/MEMORY.md",
        "--- a/memories/MEMORY.md",
        "+++ b/memories/MEMORY.md",
        "@@ -1 +1,2 @@",
        " prod was reset",
        "+and again",
    ]


def test_a_conflict_names_both_versions_and_does_nothing(screens: Screens, past: Past, home: Home) -> None:
    past.put(SKILL, LEARNED.replace("LEARNED", "better"))
    before = tree_sha(home)
    refused = screens("undo", RUN, "-y", rc=5)
    assert refused.out == ""
    lines = masked(refused.err).splitlines()
    assert lines[:4] == [
        "error: 1 file was changed since in the same place; nothing was done",
        f"  versions  {SKILL}",
        "              - now     #######, by hand, Tue 12-01 09:03: edited by hand",
        "              + wanted  #######, by hand, Tue 12-01 09:00: first",
    ]
    assert "              -better" in lines
    assert lines[-1] == f"  try       hermes-cron diff ####### {SKILL}, edit the file, then again"
    assert tree_sha(home) == before

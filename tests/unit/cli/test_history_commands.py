"""snapshots, undo, log, blame, diff and the versions of a skill, as they are typed."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from hermes_cron.home import Home
from hermes_cron.vault.vault import Vault
from tests.conftest import Ran
from tests.history_rig import JOB, LINES, SKILL, Past, in_process, tree_sha

Run = Callable[..., Ran]
LEARNED = LINES.replace("two\n", "two\nLEARNED\n")


@pytest.fixture
def cli(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("LOGNAME", "oncall")
    return in_process(home, monkeypatch, capsys)


@pytest.fixture
def past(home: Home) -> Past:
    return Past(home)


def said(ran: Ran, rc: int = 0) -> dict[str, Any]:
    assert ran.rc == rc, ran.err
    found = json.loads(ran.out if rc == 0 else ran.err)
    assert isinstance(found, dict)
    return found


# --- restore ----------------------------------------------------------------------------------------------------------


def test_a_restore_keeps_later_edits_by_hand_and_exact_drops_them(cli: Run, past: Past) -> None:
    past.by_run("r1", {SKILL: LEARNED})
    past.put(SKILL, LEARNED.replace("seven", "SEVEN"))
    done = said(cli("snapshots", "restore", past.first[:4], "-y", "--json"))
    assert past.text() == LINES.replace("seven", "SEVEN")
    assert [it["path"] for it in done["kept"]] == ["skills/db/tidy"]
    assert done["take_back"] == f"hermes-cron undo {done['commit'][:7]}"
    exact = said(cli("snapshots", "restore", past.first[:7], "-y", "--exact", "--json"))
    assert past.text() == LINES
    assert exact["kept"] == []
    said(cli("undo", exact["commit"], "-y", "--json"))
    assert past.text() == LINES.replace("seven", "SEVEN"), "what --exact drops is in the history"


def test_a_restore_of_some_paths_leaves_the_rest(cli: Run, past: Past) -> None:
    past.by_run("r1", {SKILL: LEARNED, "jobs/daily.md": JOB.replace("9am", "8am"), "memories/MEMORY.md": "x\n"})
    assert cli("snapshots", "restore", past.first, "daily", "memory", "-y").rc == 0
    assert (past.text("jobs/daily.md"), past.text()) == (JOB, LEARNED)
    assert not (past.home.memories / "MEMORY.md").exists()


def test_a_job_that_comes_back_is_known_at_once(cli: Run, past: Past, home: Home) -> None:
    assert [job["name"] for job in said(cli("list", "--json"))["jobs"]] == ["daily"]
    past.by_run("r1", {"jobs/daily.md": None})
    assert said(cli("list", "--json"))["jobs"] == []
    home.wake.unlink(missing_ok=True)
    done = cli("undo", "r1", "-y")
    assert "  job  daily comes back" in done.out
    with contextlib.closing(sqlite3.connect(home.store)) as store:
        assert store.execute("SELECT name FROM jobs WHERE removed_at IS NULL").fetchall() == [("daily",)]
    assert home.wake.exists(), "a living scheduler was not told"
    (job,) = said(cli("list", "--json"))["jobs"]
    assert (job["name"], job["broken"]) == ("daily", None)


def test_an_undo_of_one_change_leaves_the_others(cli: Run, past: Past) -> None:
    first = past.by_run("r1", {SKILL: LEARNED})
    past.by_run("r1", {SKILL: LEARNED.replace("six", "SIX")})
    shown = cli("undo", first[:6], "-y").out.splitlines()
    assert shown[0] == f"Will undo {first[:7]} (run, Tue 12-01 01:01: learned a pitfall):"
    assert past.text() == LINES.replace("six", "SIX")
    both = said(cli("undo", "r1", "--no-input", "--json"), rc=6)["error"]["plan"]
    assert len(both["undoes"]) == 2
    assert both["changes"][0]["to_version"] == 1


def test_the_first_snapshot_has_nothing_before_it(cli: Run, past: Past) -> None:
    refused = cli("undo", past.first, "-y")
    assert refused.rc == 5
    assert "nothing came before it" in refused.err


def test_broken_settings_can_be_taken_back(cli: Run, past: Past, home: Home) -> None:
    good = home.config.read_text()
    past.by_run("r1", {"config.toml": good + "bogus = 1\n", "jobs/daily.md": JOB.replace("9am", "8am")})
    assert cli("list").rc in {0, 78}
    assert cli("config", "check").rc == 78
    assert 'unknown key "bogus"' in cli("snapshots", "list").err
    done = cli("undo", "r1", "-y")
    assert done.rc == 0, done.err
    assert "  settings  config.toml: +0 -1 lines" in done.out
    assert home.config.read_text() == good
    (job,) = said(cli("list", "--json"))["jobs"]
    assert job["schedule"] == ["every day 9am"]


def test_what_came_into_the_vault_since_does_not_come_back(cli: Run, past: Past, home: Home) -> None:
    past.put("memories/USER.md", "the key is tops3cret-42\n")
    with_key = past.by_hand()
    past.put("memories/USER.md", "no key here\n")
    past.put("memories/MEMORY.md", "a note\n")
    past.by_hand()
    Vault(home, past.clock).set("tok", "tops3cret-42")
    done = cli("snapshots", "restore", with_key, "-y", "--exact")
    assert done.rc == 0
    assert '  stays   memories/USER.md: it holds the value of the secret "tok"' in done.out.splitlines()
    assert past.text("memories/USER.md") == "no key here\n"
    assert not (home.memories / "MEMORY.md").exists(), "the rest is restored"
    shown = cli("snapshots", "diff", past.first, with_key)
    assert "tops3cret" not in shown.out
    assert "+the key is [secret:tok]" in shown.out


def test_of_many_conflicts_some_are_shown_and_all_are_named(cli: Run, past: Past) -> None:
    names = [f"skills/db/tidy/{number}.md" for number in range(5)]  # of the memory, entries are merged
    past.by_run("r1", dict.fromkeys(names, "run\n"))
    for name in names:
        past.put(name, "hand\n")
    refused = cli("undo", "r1", "-y")
    assert refused.rc == 5
    assert all(name in refused.err for name in names)
    assert refused.err.count("-hand") == 3
    found = said(cli("undo", "r1", "-y", "--json"), rc=5)["error"]["conflicts"]
    assert [it["path"] for it in found] == names
    assert all("-hand" in it["diff"] for it in found)
    assert {past.text(name) for name in names} == {"hand\n"}


# --- versions of a skill ----------------------------------------------------------------------------------------------


def test_a_version_of_a_skill_comes_back_and_goes_again(cli: Run, past: Past) -> None:
    past.by_run("r1", {SKILL: LEARNED, "skills/db/tidy/scripts/a.sh": "#!/bin/sh\n"})
    past.by_run("r2", {SKILL: LEARNED.replace("six", "SIX")})
    assert [it["version"] for it in said(cli("skills", "log", "tidy", "--json"))["versions"]] == [3, 2, 1]
    done = cli("skills", "restore", "tidy@1", "-y")
    assert done.out.splitlines()[1] == "  skill  tidy @3 -> @1"
    assert past.text() == LINES
    assert not (past.home.skills / "db/tidy/scripts").exists(), "all of the skill's files, not SKILL.md alone"
    assert cli("skills", "restore", "db/tidy@3", "-y").rc == 0
    assert past.text() == LEARNED.replace("six", "SIX")


def test_a_skill_that_was_removed_comes_back(cli: Run, past: Past, home: Home) -> None:
    shutil.rmtree(home.skills / "db")
    past.by_hand()
    logged = said(cli("skills", "log", "tidy", "--json"))["versions"]
    assert [(it["version"], it["gone"]) for it in logged] == [(2, True), (1, False)]
    assert cli("skills", "restore", "tidy@2", "-y").rc == 2
    done = cli("skills", "restore", "tidy@1", "-y", "--exact")
    assert done.out.splitlines()[1] == "  skill  tidy comes back as @1"
    assert past.text() == LINES


# --- looking ----------------------------------------------------------------------------------------------------------


def test_an_empty_history_says_what_to_do(cli: Run, home: Home) -> None:
    assert cli("snapshots", "list").out == "No snapshots yet.  hermes-cron snapshots create\n"
    for argv in (("diff",), ("log", "x"), ("blame", "x"), ("undo", "abcd"), ("snapshots", "show", "abcd")):
        ran = cli(*argv)
        assert (ran.rc, ran.out) == (3, ""), argv
        assert "  try  hermes-cron snapshots" in ran.err
    created = said(cli("snapshots", "create", "--json"))
    assert (created["created"], created["by"]) == (True, "oncall")
    assert said(cli("snapshots", "create", "--json"))["created"] is False


def test_what_no_snapshot_holds_is_named(cli: Run, past: Past, home: Home) -> None:
    Vault(home, past.clock).set("tok", "tops3cret-42")
    past.put("memories/USER.md", "tops3cret-42")
    why = 'in no snapshot: memories/USER.md: it holds the value of the secret "tok"'
    for argv in (("snapshots", "create"), ("diff",)):
        assert why in cli(*argv).err.splitlines()
    (out,) = said(cli("diff", "--json"))["left_out"]
    assert out["path"] == "memories/USER.md"


def test_a_look_at_the_home_keeps_nothing(cli: Run, past: Past) -> None:
    past.put("memories/MEMORY.md", "a note\n")
    for _ in range(2):
        (found,) = said(cli("diff", "--json"))["files"]
        assert (found["path"], found["change"], found["added"]) == ("memories/MEMORY.md", "added", 1)
    assert len(said(cli("snapshots", "list", "--json"))["snapshots"]) == 1
    assert said(cli("diff", "jobs", "--json"))["files"] == []


def test_what_no_snapshot_has_yet_is_found_too(cli: Run, past: Past) -> None:
    past.put("memories/new.md", "x\n")
    past.put("jobs/weekly.md", JOB)
    assert [it["path"] for it in said(cli("diff", "memories/new.md", "--json"))["files"]] == ["memories/new.md"]
    assert [it["path"] for it in said(cli("diff", "weekly", "--json"))["files"]] == ["jobs/weekly.md"]
    assert "no version in the history yet" in cli("log", "weekly").out


def test_snapshots_are_compared(cli: Run, past: Past) -> None:
    second = past.by_run("r1", {SKILL: LEARNED})
    third = past.by_run("r2", {"jobs/daily.md": JOB.replace("9am", "8am")})

    def paths(*words: str) -> list[str]:
        return [it["path"] for it in said(cli("snapshots", "diff", *words, "--json"))["files"]]

    assert paths() == ["jobs/daily.md"]
    assert paths(past.first) == ["jobs/daily.md", SKILL]
    assert paths(past.first, second) == [SKILL]
    assert paths(past.first, third, "tidy") == [SKILL]
    assert paths("tidy") == []
    assert cli("snapshots", "diff", second, second).out == "No difference.\n"
    assert [it["path"] for it in said(cli("diff", second[:5], "daily", "--json"))["files"]] == ["jobs/daily.md"]


@pytest.mark.parametrize("word", ["daily", "DAILY", "dai", "jobs/daily.md", "./jobs/daily.md", "{home}/jobs/daily.md"])
def test_a_job_is_found_however_it_is_said(cli: Run, past: Past, word: str) -> None:
    past.put("jobs/daily.md", None)
    past.by_hand()
    found = said(cli("log", word.replace("{home}", str(past.home.root)), "--json"))
    assert (found["kind"], found["path"]) == ("job", "jobs/daily.md")
    assert [it["gone"] for it in found["versions"]] == [True, False]


def test_a_word_that_is_two_things_is_asked_back(cli: Run, past: Past) -> None:
    past.put("jobs/tidy.md", JOB)
    past.by_hand()
    ran = cli("log", "tidy")
    assert ran.rc == 3
    assert "jobs/tidy.md" in ran.err
    assert SKILL.removesuffix("/SKILL.md") in ran.err
    assert said(cli("log", "jobs/tidy.md", "--json"))["kind"] == "job"
    near = cli("log", "dayly")
    assert "did you mean daily?" in near.err


def test_lines_are_whose_they_are(cli: Run, past: Past) -> None:
    learned = past.by_run("r1", {SKILL: LEARNED})
    past.put(SKILL, LEARNED + "mine\n")
    ran = cli("blame", "tidy", "--json")
    lines = said(ran)["lines"]
    assert [it["text"] for it in lines] == LEARNED.splitlines()
    assert {it["text"] for it in lines if it["id"] == learned} == {"LEARNED"}
    assert {(it["run"], it["reason"]) for it in lines if it["id"] == learned} == {("r1", "learned a pitfall")}
    assert "has edits that no snapshot has yet" in cli("blame", SKILL).err


# --- the history as a whole -------------------------------------------------------------------------------------------


def test_damage_is_found_and_the_mend_is_said(cli: Run, past: Past) -> None:
    assert cli("snapshots", "verify").out.startswith("clean: 1 snapshots")
    pack = next((past.snapshots.path / "objects").rglob("*.pack"))
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    ran = cli("snapshots", "verify")
    assert ran.rc == 1
    assert "damaged" in ran.out
    assert "  try  " in ran.out
    assert json.loads(cli("snapshots", "verify", "--json").out)["clean"] is False


def test_old_automated_changes_are_thinned(cli: Run, past: Past, home: Home) -> None:
    for number in range(5):
        past.by_run(f"r{number}", {SKILL: LEARNED + f"{number}\n"})
    past.clock.advance(200 * 86400.0)
    (home.root / "clock").write_text(past.clock.now().isoformat())
    env = {"HERMES_CRON_TESTING": "1", "HERMES_CRON_CLOCK_FILE": str(home.root / "clock")}
    done = said(cli("snapshots", "gc", "--days", "30", "--json", env=env))
    assert (done["snapshots"], done["thinned"]) == (6, 4)
    assert len(said(cli("snapshots", "list", "--json"))["snapshots"]) == 2
    assert cli("snapshots", "verify").rc == 0


def test_a_team_reviews_it_elsewhere(cli: Run, past: Past, home: Home) -> None:
    shared = home.root.parent / "team.git"
    import pygit2

    pygit2.init_repository(str(shared), bare=True)
    assert "has everything up to" in cli("snapshots", "push", str(shared)).out
    assert cli("snapshots", "pull", str(shared)).out == f"{shared} has nothing new\n"
    git = ["git", "-c", "user.name=eve", "-c", "user.email=e@x"]
    clone = home.root.parent / "clone"
    subprocess.run([*git, "clone", "-q", "-b", "main", str(shared), str(clone)], check=True, capture_output=True)
    (clone / "jobs/daily.md").write_text(JOB.replace("9am", "7am"))
    subprocess.run([*git, "-C", str(clone), "commit", "-qam", "earlier"], check=True)
    subprocess.run([*git, "-C", str(clone), "push", "-q"], check=True, capture_output=True)
    past.put(SKILL, LEARNED)
    assert cli("list").rc == 0
    pulled = cli("snapshots", "pull", str(shared))
    assert f"1 file came from {shared}" in pulled.out
    assert (past.text("jobs/daily.md"), past.text()) == (JOB.replace("9am", "7am"), LEARNED)
    (job,) = said(cli("list", "--json"))["jobs"]
    assert job["schedule"] == ["every day 7am"]
    (clone / "jobs/daily.md").write_text(JOB.replace("9am", "6am"))
    subprocess.run([*git, "-C", str(clone), "commit", "-qam", "earlier still"], check=True)
    subprocess.run([*git, "-C", str(clone), "push", "-q"], check=True, capture_output=True)
    past.put("jobs/daily.md", JOB.replace("9am", "10am"))
    before = tree_sha(home)
    refused = cli("snapshots", "pull", str(shared))
    assert refused.rc == 5
    assert "jobs/daily.md" in refused.err
    assert tree_sha(home) == before


WRONG = [
    (("undo",), 2), (("undo", "nope"), 3), (("undo", "abcd1234"), 3), (("log",), 2), (("log", "nope"), 3),
    (("blame", "nope"), 3), (("blame", "skills"), 3), (("diff", "abcd1234"), 3), (("diff", "nope"), 3),
    (("diff", "daily", "tidy"), 2), (("snapshots", "show", "zz"), 3), (("snapshots", "diff", "a", "b", "c"), 2),
    (("snapshots", "restore", "abcd"), 3), (("snapshots", "gc", "--days", "x"), 2), (("snapshots", "push"), 2),
    (("snapshots", "push", "https://u:pw@h/x"), 4), (("snapshots", "pull", "nowhere.git"), 1),
    (("snapshots", "push", "https://h/x", "--login", "me"), 2),
    (("snapshots", "push", "https://h/x", "--login", "me:secret:nope"), 3),
    (("skills", "log", "nope"), 3), (("skills", "diff", "tidy@9"), 3), (("skills", "restore", "tidy"), 2),
    (("skills", "restore", "tidy@0"), 3), (("skills", "restore", "inspect-database@1"), 3),
]  # fmt: skip


@pytest.mark.parametrize("argv, rc", WRONG, ids=[" ".join(argv) for argv, _ in WRONG])
def test_every_mistake_has_its_code_and_a_next_step(cli: Run, past: Past, argv: tuple[str, ...], rc: int) -> None:
    before = tree_sha(past.home)
    ran = cli(*argv)
    assert (ran.rc, ran.out) == (rc, ""), ran.err
    first, *rest = ran.err.splitlines()
    assert first.startswith("error: ")
    assert rest
    told = json.loads(cli(*argv, "--json").err)["error"]
    assert all(told[key] for key in ("code", "message", "hint"))
    assert tree_sha(past.home) == before


@pytest.mark.parametrize(
    "argv", [("snapshots", "restore", "FIRST", "", "-y"), ("log", ""), ("blame", ""), ("diff", "")]
)
def test_an_empty_word_means_nothing(cli: Run, past: Past, argv: tuple[str, ...]) -> None:
    """``"$FILE"`` of a variable that is not set: it is no beginning of the only job's name."""
    past.by_run("r1", {"jobs/daily.md": JOB.replace("9am", "8am")})
    ran = cli(*(past.first if word == "FIRST" else word for word in argv))
    assert ran.rc == 3, ran.out
    assert 'job or skill ""' in ran.err
    assert past.text("jobs/daily.md") == JOB.replace("9am", "8am")


def test_a_job_whose_name_could_be_an_id_is_that_job(cli: Run, past: Past) -> None:
    past.by_run("r1", {"jobs/face.md": JOB})
    past.by_run("r2", {"jobs/face.md": JOB.replace("9am", "8am")})
    assert "+schedule: every day 8am" in cli("snapshots", "diff", past.first, "face").out
    assert cli("diff", "face").rc == 0
    assert cli("diff", "facf").rc == 3

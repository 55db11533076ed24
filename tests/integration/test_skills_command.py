"""``skills list show lint test stats diff``, as a person types them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import RunCli
from tests.planted import plant_sqlite


def _put(home: Home, place: str, text: str) -> Path:
    folder = home.skills / place
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def _good(name: str) -> str:
    return f'---\nname: {name}\ndescription: does {name}. More.\nmetadata:\n  version: "1.0"\n---\nBody of {name}\n'


def test_list_shows_good_broken_and_doubled_ones(home: Home, run_cli: RunCli) -> None:
    _put(home, "x/fine", _good("fine"))
    _put(home, "x/bad", "---\nname: bad\ndescription: `x`\n---\n")
    _put(home, "a/one", _good("dup"))
    _put(home, "b/two", _good("dup"))
    done = run_cli("skills", "list")

    assert done.rc == 0
    assert "does fine." in done.out
    assert "inspect-database" in done.out
    assert "bad  BROKEN skills/x/bad/SKILL.md:3: " in done.out
    assert "a/one" in done.out
    assert "b/two" in done.out
    listed = {skill["qualified"]: skill for skill in json.loads(run_cli("skills", "list", "--json").out)["skills"]}
    assert listed["x/bad"]["broken"]["code"] == "SkillFrontmatterError"
    assert listed["a/one"]["ambiguous"]
    assert run_cli("skills", "show", "dup").rc == 3
    assert "Body of dup" in run_cli("skills", "show", "a/one").out


def test_bundled_ones_are_listed_without_a_home(tmp_path: Path, run_cli: RunCli) -> None:
    done = run_cli("skills", "list", "--bundled", at=Home(tmp_path / "none"))
    assert done.rc == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == ["inspect-database", "host-health"]


def test_lint_says_where_and_exits_2(home: Home, run_cli: RunCli) -> None:
    folder = _put(home, "x/fine", _good("fine"))
    assert run_cli("skills", "lint", "fine").rc == 0
    (folder / "playbook.yaml").write_text("playbook: 1\nsteps:\n  - idd: x\n", encoding="utf-8")
    (folder / "SKILL.md").write_text(_good("other").replace('"1.0"', "1.0"), encoding="utf-8")
    done = run_cli("skills", "lint", str(folder))

    assert done.rc == 2
    lines = done.out.splitlines()
    assert f"{folder}/SKILL.md:2: name 'other' differs from its folder 'fine'" in lines
    assert f'{folder}/SKILL.md:5: metadata "version" is not a text; write it in quotes' in lines
    assert any(line.startswith(f"{folder}/playbook.yaml:3: unknown key") for line in lines)


def test_test_runs_every_step_and_changes_nothing(home: Home, run_cli: RunCli, tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    plant_sqlite(shop)
    before = shop.read_bytes()
    home.config.write_text(
        f'timezone = "UTC"\n[databases.prod]\nurl = "sqlite:///{shop}"\n[databases.other]\nurl = "sqlite:///x.db"\n',
        encoding="utf-8",
    )
    which = run_cli("skills", "test", "inspect-database")
    done = run_cli("skills", "test", "inspect-database", "--db", "prod")

    assert (which.rc, done.rc) == (2, 0)
    assert done.out.startswith("# prod: ")
    assert "3 rows of lines point at rows of items" in done.out
    steps = [line.split()[0] for line in done.err.splitlines() if line.startswith("  ")]
    assert steps[0] == "integrity"
    assert len(steps) == 9
    assert shop.read_bytes() == before
    assert not home.store.exists()

    gone = run_cli("skills", "test", "inspect-database", "--db", "other")
    assert gone.rc == 1
    assert "there is no file" in gone.err


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("name: fine\n", '"name" is missing'),
        ("description: does fine. More.\n", '"description" is missing'),
        ('metadata:\n  version: "1.0"\n', 'metadata "version" is missing'),
        ('  version: "1.0"\n', 'metadata "version" is missing'),
    ],
    ids=["name", "description", "metadata", "version"],
)
def test_lint_fails_without_each_of_what_a_skill_must_say(home: Home, run_cli: RunCli, line: str, fault: str) -> None:
    folder = _put(home, "x/fine", _good("fine"))
    assert run_cli("skills", "lint", str(folder)).rc == 0
    text = _good("fine").replace(line, "").replace("metadata:\n---", "metadata: {}\n---")
    (folder / "SKILL.md").write_text(text + "\nversion 9 stands here\n", encoding="utf-8")
    done = run_cli("skills", "lint", str(folder))
    assert (done.rc, fault in done.out) == (2, True), done.out


def test_a_version_at_the_top_is_read_as_text_and_no_substitute(home: Home, run_cli: RunCli) -> None:
    text = _good("fine").replace('metadata:\n  version: "1.0"', "version: 1.10")
    folder = _put(home, "x/fine", text)
    listed = json.loads(run_cli("skills", "show", "fine", "--json").out)
    assert listed["version"] == "1.10"
    assert 'metadata "version" is missing' in run_cli("skills", "lint", str(folder)).out


def test_a_newer_shipped_skill_is_told_and_shown_and_an_edited_copy_stays(home: Home, run_cli: RunCli) -> None:
    """As if the home had been made by an earlier version: its manifest has another hash of what was copied."""
    run_cli("init")
    skill = home.skills / "databases" / "inspect-database" / "SKILL.md"
    manifest = home.skills / ".shipped.json"
    mine = skill.read_text().replace("# Inspect a database", "# Inspect a database, our way")
    assert mine != skill.read_text()
    old = json.loads(manifest.read_text())
    path = "databases/inspect-database/SKILL.md"

    old["files"][path] = "0" * 64
    manifest.write_text(json.dumps(old))
    skill.write_text(mine)
    listed = run_cli("skills", "list")
    assert (
        "databases/inspect-database: edited here, and a newer one is shipped: "
        "hermes-cron skills diff databases/inspect-database --shipped"
    ) in listed.err
    assert "host-health: " not in listed.err
    shown = run_cli("skills", "diff", "inspect-database", "--shipped").out
    assert "-# Inspect a database, our way" in shown.splitlines()
    assert "+# Inspect a database" in shown.splitlines()
    run_cli("init")
    assert skill.read_text() == mine

    old["files"][path] = hashlib.sha256(mine.encode()).hexdigest()  # copied as it is now, by an earlier version
    manifest.write_text(json.dumps(old))
    told = {each["name"]: each for each in json.loads(run_cli("skills", "list", "--json").out)["skills"]}
    assert (told["inspect-database"]["shipped"], told["host-health"]["shipped"]) == ("older", "same")
    done = run_cli("init")
    assert "1 that nobody had edited updated" in done.out
    assert "# Inspect a database\n" in skill.read_text()
    assert run_cli("skills", "diff", "inspect-database", "--shipped").out == "No difference.\n"
    assert run_cli("skills", "diff", "nothing", "--shipped").rc == 3
    assert "init" in run_cli("skills", "log", "inspect-database").out


def test_stats_tell_uses_views_and_changes_as_a_run_made_them(home: Home, run_cli: RunCli) -> None:
    _put(home, "x/fine", _good("fine"))
    _put(home, "x/other", _good("other"))
    (home.jobs / "j.md").write_text("---\nschedule: every day 9am\n---\nlook\n")
    empty = json.loads(run_cli("skills", "stats", "--json").out)
    assert {skill["use_count"] for skill in empty["skills"]} == {0}
    patch = {"name": "fine", "action": "patch", "old": "Body of fine", "new": "Body of fine, quickly"}
    script = [
        {"tool_calls": [{"name": "skill_view", "arguments": {"name": "fine"}}]},
        {"tool_calls": [{"name": "now", "arguments": {}}]},
        {"tool_calls": [{"name": "skill_manage", "arguments": {**patch, "reason": "it was slow"}}]},
        {"text": "done"},
    ]
    with StubServer(script) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "m"}
        ran = run_cli("run", "j", "--json", env=env)
        assert json.loads(ran.out)["tool_errors"] == 0, stub.requests[-1].json()["messages"][-1]
    found = json.loads(run_cli("skills", "stats", "--json").out)
    first = found["skills"][0]
    assert [first[key] for key in ("name", "use_count", "view_count", "patch_count", "rewrite_count")] == [
        "fine", 1, 1, 1, 0,
    ]  # fmt: skip
    assert (first["successes"], first["failures"]) == (1, 0)
    assert all(first[key] for key in ("last_used_at", "last_patched_at", "last_viewed_at"))
    assert (found["patches"], found["rewrites"]) == (1, 0)
    shown = run_cli("skills", "stats")
    assert [line.split()[:7] for line in shown.out.splitlines()][:2] == [
        ["SKILL", "USES", "WELL", "BADLY", "VIEWS", "PATCHED", "REWRITTEN"],
        ["fine", "1", "1", "0", "1", "1", "0"],
    ]
    assert "changes by agents: patches 1, rewrites 0" in shown.out
    of_job = json.loads(run_cli("skills", "stats", "fine", "--json").out)["jobs"]
    assert [(each["job"], each["use_count"]) for each in of_job] == [("j", 1)]
    assert [each["name"] for each in json.loads(run_cli("skills", "stats", "--job", "j", "--json").out)["skills"]] == [
        "fine"
    ]
    assert "runs that used it: 1, went well: 1 of 1; last " in run_cli("skills", "show", "fine").out
    assert "1 (100%)" in run_cli("skills", "list").out
    assert run_cli("skills", "stats", "other").out == "No run has used other yet.\n"
    shutil.rmtree(home.skills / "x" / "fine")
    gone = json.loads(run_cli("skills", "stats", "fine", "--json").out)
    assert (gone["use_count"], gone["patch_count"]) == (1, 1), "runs remember it"
    names = [each["name"] for each in json.loads(run_cli("skills", "stats", "--json").out)["skills"]]
    assert (names[0], names.count("fine"), "x/fine" in names) == ("fine", 1, False)
    unknown = run_cli("skills", "stats", "othr")
    assert (unknown.rc, "did you mean other?" in unknown.err) == (3, True)

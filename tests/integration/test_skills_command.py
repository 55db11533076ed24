"""``skills list show lint test``, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

from hermes_cron.home import Home
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

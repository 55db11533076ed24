"""Shipped content is found in a checkout and in an installed package, and a home's copy belongs to the person."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_cron import shipped

REPOSITORY = Path(__file__).parents[2]


def test_a_checkout_ships_its_folders() -> None:
    assert shipped.folder("skills") == REPOSITORY / "skills"


def test_an_installed_package_ships_what_is_inside_it(tmp_path: Path) -> None:
    """The layout of the wheel: content below the package, nothing beside it."""
    installed = tmp_path / "site" / "hermes_cron"
    shutil.copytree(REPOSITORY / "hermes_cron", installed, ignore=shutil.ignore_patterns("__pycache__"))
    skill = installed / "shipped" / "skills" / "databases" / "look"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# look\n")
    (skill / ".hidden").write_text("x")
    (skill / "run.sh").write_text("#!/bin/sh\n")
    (skill / "run.sh").chmod(0o755)
    code = (
        "from pathlib import Path\nfrom hermes_cron import shipped\n"
        "print([f.path for f in shipped.contents('skills')], shipped.contents('dashboards'))\n"
        f"print(shipped.copy_to(Path({str(tmp_path / 'home')!r}), 'skills').new)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "['databases/look/SKILL.md', 'databases/look/run.sh'] ()\n"
        "('databases/look/SKILL.md', 'databases/look/run.sh')\n"
    )
    manifest = json.loads((tmp_path / "home" / shipped.MANIFEST).read_text())
    assert manifest["files"]["databases/look/SKILL.md"] == hashlib.sha256(b"# look\n").hexdigest()
    copied = tmp_path / "home" / "databases" / "look"
    assert [(copied / name).stat().st_mode & 0o100 for name in ("SKILL.md", "run.sh")] == [0, 0o100]


def test_a_checkout_that_is_a_home_gives_its_jobs_to_no_other_home(tmp_path: Path) -> None:
    """Else `init` elsewhere, or `make demo`, would start a person's jobs a second time."""
    checkout = tmp_path / "clone"
    shutil.copytree(REPOSITORY / "hermes_cron", checkout / "hermes_cron", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "skills", checkout / "skills")
    (checkout / "pyproject.toml").write_text("")
    for kind, name in (("jobs", "mine.md"), ("memories", "MEMORY.md")):
        (checkout / kind).mkdir()
        (checkout / kind / name).write_text("mine\n")

    def given() -> str:
        code = (
            "from hermes_cron import shipped\n"
            "print([len(shipped.contents(kind)) for kind in ('jobs', 'memories', 'skills')])"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert given().startswith("[1, 1, ")
    (checkout / "config.toml").write_text("")
    assert given().startswith("[0, 0, ")
    assert not given().endswith(" 0]")


def test_the_repository_as_a_home_is_left_alone() -> None:
    assert shipped.copy_to(REPOSITORY / "skills", "skills") == shipped.Copied(new=(), kept=())
    assert not (REPOSITORY / "skills" / shipped.MANIFEST).exists()


# --- a newer version is shipped ---------------------------------------------------------------------------------------


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is shipped, in a folder that the test changes; a home's skills lie beside it."""
    monkeypatch.setattr(shipped, "folder", lambda _kind: tmp_path / "shipped")
    _ship(tmp_path, "db/look", **{"SKILL.md": "look 1", "playbook.yaml": "steps 1"})
    _ship(tmp_path, "db/back", **{"SKILL.md": "back 1", "run.sh": "true"})
    return tmp_path


def _ship(stand: Path, folder: str, **contents: str) -> None:
    place = stand / "shipped" / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (place / name).write_text(text)


def _bytes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != shipped.MANIFEST
    }


def test_a_skill_that_nobody_edited_is_brought_up_whole(stand: Path) -> None:
    home = stand / "home"
    assert len(shipped.copy_to(home, "skills").new) == 4
    assert set(shipped.standings(home).values()) == {shipped.Standing.SAME}
    assert not shipped.pending(home, "skills")
    _ship(stand, "db/look", **{"SKILL.md": "look 2", "playbook.sqlite.yaml": "steps 2"})
    (stand / "shipped" / "db" / "look" / "playbook.yaml").unlink()

    assert shipped.standings(home)["db/look"] is shipped.Standing.OLDER
    assert shipped.pending(home, "skills")
    assert shipped.copy_to(home, "skills").updated == (
        "db/look/SKILL.md", "db/look/playbook.sqlite.yaml", "db/look/playbook.yaml"
    )  # fmt: skip
    assert _bytes(home / "db" / "look") == {"SKILL.md": "look 2", "playbook.sqlite.yaml": "steps 2"}
    assert shipped.standings(home)["db/look"] is shipped.Standing.SAME
    assert shipped.copy_to(home, "skills") == shipped.Copied(
        new=(), kept=("db/back/SKILL.md", "db/back/run.sh", "db/look/SKILL.md", "db/look/playbook.sqlite.yaml")
    )


@pytest.mark.parametrize("edit", ["changed", "added", "removed"])
def test_an_edited_skill_keeps_every_byte_and_it_is_said_that_a_newer_one_is_shipped(stand: Path, edit: str) -> None:
    home = stand / "home"
    shipped.copy_to(home, "skills")
    look = home / "db" / "look"
    if edit == "changed":
        (look / "SKILL.md").write_text("mine")
    elif edit == "added":
        (look / "notes.md").write_text("mine")
    else:
        (look / "playbook.yaml").unlink()
    assert shipped.standings(home)["db/look"] is shipped.Standing.EDITED
    before = _bytes(look)
    _ship(stand, "db/look", **{"SKILL.md": "look 2", "playbook.mysql.yaml": "steps 2"})

    assert shipped.standings(home)["db/look"] is shipped.Standing.EDITED_OLDER
    assert not shipped.pending(home, "skills")
    assert shipped.copy_to(home, "skills").updated == ()
    assert _bytes(look) == before
    for name, text in (("SKILL.md", "look 2"), ("playbook.mysql.yaml", "steps 2"), ("playbook.yaml", "steps 1")):
        (look / name).write_text(text)
    (look / "notes.md").unlink(missing_ok=True)
    assert shipped.standings(home)["db/look"] is shipped.Standing.SAME, "taken over by hand"


def test_a_pinned_skill_stays_and_a_removed_one_does_not_come_back_by_a_new_file(stand: Path) -> None:
    home = stand / "home"
    shipped.copy_to(home, "skills")
    shutil.rmtree(home / "db" / "back")
    for folder in ("db/look", "db/back"):
        _ship(stand, folder, **{"SKILL.md": "2", "more.md": "2"})
    assert shipped.copy_to(home, "skills", held={"db/look"}).updated == ()
    assert _bytes(home) == {"db/look/SKILL.md": "look 1", "db/look/playbook.yaml": "steps 1"}
    assert shipped.standings(home) == {"db/look": shipped.Standing.OLDER}


def test_a_skill_of_the_homes_own_gets_no_file_of_a_shipped_one(stand: Path) -> None:
    home = stand / "home"
    (home / "db" / "look").mkdir(parents=True)
    (home / "db" / "look" / "SKILL.md").write_text("my own")
    shipped.copy_to(home, "skills")
    assert _bytes(home / "db" / "look") == {"SKILL.md": "my own"}
    assert "db/look" not in shipped.standings(home)


def test_a_copy_that_broke_off_is_completed(stand: Path) -> None:
    home = stand / "home"
    (home / "db" / "look").mkdir(parents=True)
    (home / "db" / "look" / "SKILL.md").write_text("look 1")  # written, and then the power failed
    shipped.copy_to(home, "skills")
    assert _bytes(home / "db" / "look") == {"SKILL.md": "look 1", "playbook.yaml": "steps 1"}

"""Shipped content is found in a checkout and in an installed package, and a home's copy belongs to the person."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

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

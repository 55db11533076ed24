"""What a person gets who installs hermes-cron: everything it needs, nothing of ours, and it works far from here."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermes_cron import __version__
from tests.conftest import clean_env

ROOT = Path(__file__).parents[2]
NAME = f"hermes_cron-{__version__}"
WHEEL = f"{NAME}-py3-none-any.whl"
SHIPPED = ("jobs", "skills", "memories", "dashboards")
NEEDED = {
    "hermes_cron/py.typed",
    "hermes_cron/models/prices.toml",
    "hermes_cron/models/windows.toml",
    "hermes_cron/store/migrations/0001_initial.sql",
    "hermes_cron/shipped/skills/databases/inspect-database/SKILL.md",
    "hermes_cron/shipped/skills/databases/inspect-database/playbook.postgresql.yaml",
    "hermes_cron/shipped/skills/databases/inspect-database/playbook.sqlite.yaml",
    "hermes_cron/shipped/skills/hosts/host-health/SKILL.md",
    "hermes_cron/shipped/skills/hosts/host-health/playbook.yaml",
    *(f"{NAME}.dist-info/{part}" for part in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")),
}


def _build(source: Path, target: Path, kind: str) -> None:
    """With hatchling as it is installed here: no isolated environment, so no network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source, check=True, capture_output=True, text=True,
    )  # fmt: skip


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    target = tmp_path_factory.mktemp("dist")
    _build(ROOT, target, "wheel")
    _build(ROOT, target, "sdist")
    return Built(wheel=target / WHEEL, sdist=target / f"{NAME}.tar.gz")


def _files(top: Path) -> Iterator[str]:
    for path in top.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(top).as_posix()


def test_the_wheel_holds_the_package_and_the_content_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        inside = {name for name in archive.namelist() if not name.endswith("/")}
    package = {f"hermes_cron/{name}" for name in _files(ROOT / "hermes_cron")}
    content = {f"hermes_cron/shipped/{kind}/{name}" for kind in SHIPPED for name in _files(ROOT / kind)}
    about = {name for name in inside if name.startswith(f"{NAME}.dist-info/")}
    assert inside == package | content | about
    assert inside >= NEEDED
    assert all(any(name.startswith(f"hermes_cron/shipped/{kind}/") for name in inside) for kind in SHIPPED)


def test_the_source_archive_builds_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / NAME
    assert all(
        (source / name).exists() for name in ("README.md", "LICENSE", "CHANGELOG.md", "Makefile", "uv.lock", "scripts")
    )
    _build(source, tmp_path / "again", "wheel")
    with zipfile.ZipFile(built.wheel) as first, zipfile.ZipFile(tmp_path / "again" / WHEEL) as second:
        assert {each.filename: each.CRC for each in first.infolist()} == {
            each.filename: each.CRC for each in second.infolist()
        }


@pytest.fixture(scope="module")
def command(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in a fresh environment that holds the wheel; its dependencies are those of this one, by a .pth."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, env=clean_env())
    python = venv / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check",
         str(built.wheel)],
        check=True, capture_output=True, text=True, env=clean_env(),
    )  # fmt: skip
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin" / "hermes-cron"


def test_it_works_far_from_the_repository(command: Path, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("create table log (line text)")
    shop.close()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "TZ": "UTC"}

    def call(*argv: str) -> str:
        done = subprocess.run([str(command), *argv], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [str(command.parent / "python"), "-c", "import hermes_cron; print(hermes_cron.__file__)"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(command.parents[1]))
    assert call("--version") == f"hermes-cron {__version__}\n"
    assert "5 files" in call("init")
    assert "inspect-database" in call("skills", "list", "--bundled")
    call("db", "add", "prod", "--url", "shop.db")
    assert "playbook inspect-database" in call("add", "every day 9am: inspect prod db")
    report = call("run", "inspect-prod-db")
    assert "No primary key: log" in report
    call("serve", "--once")
    (kept,) = (tmp_path / ".hermes-cron" / "outputs" / "inspect-prod-db").iterdir()
    assert kept.read_text(encoding="utf-8").rstrip() == report.rstrip()

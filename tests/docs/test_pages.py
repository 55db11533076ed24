"""The pages name only what is there: files, commands, options; and the index names every page."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import click
import pytest

from hermes_cron.cli.commands import COMMANDS, canonical
from hermes_cron.cli.groups import Noun, load

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]+)?\)")
_CALL = re.compile(r"hermes-cron((?: +(?:\"[^\"]*\"|'[^']*'|[^\s`|;)\"']+))+)")


def _pages() -> list[Path]:
    """In a clone what git keeps, in an unpacked archive what lies there."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.splitlines() if listed.returncode == 0 else [str(page) for page in ROOT.rglob("*.md")]
    pages = [ROOT / name for name in names]
    return sorted(page for page in pages if page.parent == ROOT or (ROOT / "docs") in page.parents)


PAGES = _pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [link for link, _ in _LINK.findall(text) if not link.startswith(("http://", "https://"))]
    assert [link for link in targets if not (page.parent / link).exists()] == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link).resolve() for link, _ in _LINK.findall(index.read_text(encoding="utf-8"))}
    assert [page for page in PAGES if (ROOT / "docs") in page.parents and page != index and page not in linked] == []


@cache
def _command(name: str) -> click.Command:
    return load(name, COMMANDS[name], "en")


def _faults(words: list[str]) -> list[str]:
    """Which words of a command line that is shown are no command, verb or option of it."""
    name = canonical(words[0])
    if not re.fullmatch(r"[a-z]+", words[0]) or words[0] in {"alone"}:
        return []
    if name not in COMMANDS:
        return [f"no command {words[0]}"]
    command = _command(name)
    if isinstance(command, Noun) and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
        below = command.commands.get(words[1]) or command.commands.get(canonical(words[1]))
        if below is None:
            return [f"no verb {name} {words[1]}"]
        command = below
    verbs = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    known = {option for verb in verbs for param in verb.params for option in (*param.opts, *param.secondary_opts)}
    used = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
    return [f"{name} has no {option}" for option in used if option not in known and option not in {"--help", "-h"}]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_line_shown_exists(page: Path) -> None:
    faults = []
    for line in page.read_text(encoding="utf-8").splitlines():
        for span in [
            *re.findall(r"`([^`]+)`", line),
            *([line] if line.startswith(("$ ", "    ")) else []),
        ]:
            for found in _CALL.finditer(span):
                words = re.findall(r"\"[^\"]*\"|'[^']*'|\S+", found[1])
                while words and words[0].startswith("--"):
                    words = words[1:] if words[0] in {"--json", "--yes"} else words[2:]
                faults += _faults(words) if words else []
    assert faults == []


def test_the_changelog_and_the_version_agree() -> None:
    from hermes_cron import __version__

    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in log or f"## {__version__}" in log

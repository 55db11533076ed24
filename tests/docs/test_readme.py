"""What the README claims is counted, not remembered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_cron.cli.commands import COMMANDS
from hermes_cron.tools.registry import discover

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "README.zh-CN.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_number_of_tools_is_the_length_of_the_list(page: str) -> None:
    (claimed, shown) = re.findall(r"<!-- tools: (\d+) -->(\d+)", (ROOT / page).read_text(encoding="utf-8"))[0]
    assert int(claimed) == int(shown) == len(discover().tools)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_shown_exists(page: str) -> None:
    used = set(re.findall(r"hermes-cron ([a-z]+)", (ROOT / page).read_text(encoding="utf-8")))
    assert used - set(COMMANDS) == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []

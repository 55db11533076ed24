"""The pages that are made from the code say what the code says."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _pages() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    pages: Callable[[], dict[str, str]] = module.pages
    return pages()


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return _pages()


@pytest.mark.parametrize("name", ["commands.md", "settings.md", "exit-codes.md", "events.md", "metrics.md"])
def test_a_generated_page_is_up_to_date(pages: dict[str, str], name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages[name], f"docs/{name} is out of date: make docs"


def test_no_option_goes_without_a_word(pages: dict[str, str]) -> None:
    empty = [line for line in pages["commands.md"].splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert empty == []

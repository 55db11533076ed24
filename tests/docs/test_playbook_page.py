"""The playbook on the format page is one, and the page knows every key."""

from __future__ import annotations

import re
from pathlib import Path

from hermes_cron.models.playbook.load import _STEP, _TOP, load

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "playbook.md"


def test_the_example_is_a_playbook(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "playbook.yaml").write_text(example, encoding="utf-8")
    assert [step.id for step in load(tmp_path / "playbook.yaml").steps] == ["dead_rows"]


def test_every_key_is_described() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in (*_TOP, *_STEP) if f"`{key}`" not in text] == []

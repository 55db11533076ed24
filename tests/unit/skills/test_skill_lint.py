"""The strict rules of agentskills.io, each with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_cron.experience.skill_lint import lint
from hermes_cron.models.playbook.load import load

GOOD = '---\nname: a\ndescription: d\nmetadata:\n  version: "1.0"\n---\nBody\n'


def _check(path: Path, shown: str) -> None:
    load(path, shown=shown)


def _faults(folder: Path, text: str) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return [str(fault).removeprefix(f"{folder}/") for fault in lint(folder, _check)]


def test_shipped_skills_are_clean() -> None:
    assert lint(Path(__file__).parents[3] / "skills", _check) == []


def test_a_good_one_is_clean(tmp_path: Path) -> None:
    assert _faults(tmp_path / "a", GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("name: a\n", "", 'SKILL.md:1: "name" is missing'),
        ("description: d\n", "", 'SKILL.md:1: "description" is missing'),
        ('  version: "1.0"\n', '  other: "x"\n', 'SKILL.md:4: metadata "version" is missing'),
        ('"1.0"', "1.0", 'SKILL.md:5: metadata "version" is not a text; write it in quotes'),
        ("name: a", "name: b", "SKILL.md:2: name 'b' differs from its folder 'a'"),
        ("metadata:", "tags: [x]\nmetadata:", 'SKILL.md:4: "tags" is no key of the standard; put it under metadata'),
        ("description: d", f"description: {'d' * 1025}",
         'SKILL.md:3: "description" has 1,025 characters, at most 1,024'),
        ("metadata:", f"compatibility: {'c' * 501}\nmetadata:",
         'SKILL.md:4: "compatibility" has 501 characters, at most 500'),
        ("Body\n", "", "SKILL.md:7: nothing stands below the front matter"),
        ("Body", "See [x](references/x.md).", "SKILL.md:7: there is no file references/x.md"),
        ("Body", "See [x](../b/SKILL.md).", "SKILL.md:7: ../b/SKILL.md lies outside the skill"),
        ("description: d", "description: a: b",
         "SKILL.md:3: read as if quoted, because of the colon; quote the text"),
    ],
)  # fmt: skip
def test_each_rule_has_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert _faults(tmp_path / "a", GOOD.replace(old, new)) == [fault]


def test_a_skill_inside_of_a_skill_is_found_by_nobody_and_the_lint_says_so(tmp_path: Path) -> None:
    _faults(tmp_path / "skills" / "a", GOOD)
    nested = tmp_path / "skills" / "a" / "b"
    nested.mkdir()
    (nested / "SKILL.md").write_text(GOOD.replace("name: a", "name: b"), encoding="utf-8")
    faults = [str(fault) for fault in lint(tmp_path / "skills", _check)]
    assert faults == [f"{nested}/SKILL.md:1: lies inside the skill 'a', where no skill is found"]
    (tmp_path / "SKILL.md").write_text(GOOD, encoding="utf-8")
    assert [str(fault) for fault in lint(tmp_path / "skills", _check)] == faults, "what lies above is no skill of these"


def test_what_the_text_points_at_may_be_what_no_file_system_takes(tmp_path: Path) -> None:
    (tmp_path / "a" / "references").mkdir(parents=True)
    (tmp_path / "a" / "references" / "loop.md").symlink_to("loop.md")
    faults = _faults(tmp_path / "a", GOOD.replace("Body", f"`references/loop.md`, `references/{'x' * 300}`"))
    assert [fault.partition(": ")[0] for fault in faults] == ["SKILL.md:7"] * 2
    assert all(fault.endswith(" lies outside the skill") for fault in faults)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a--b", "a" * 65, "a b"])
def test_names(tmp_path: Path, name: str) -> None:
    assert any("lowercase" in fault for fault in _faults(tmp_path / name, GOOD.replace("name: a", f"name: {name}")))


def test_broken_yaml_and_a_broken_playbook_have_lines_too(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "playbook.yaml").write_text("playbook: 1\nsteps:\n  - idd: x\n", encoding="utf-8")
    faults = _faults(folder, "---\nname: a\ndescription: `x`\n---\n")
    assert faults[0].startswith("SKILL.md:3: ")
    assert faults[1].startswith('playbook.yaml:3: unknown key "idd" in a step, did you mean "id"?')


@pytest.mark.parametrize("name", ["SKILL.md", "playbook.yaml"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_plain_file_is_a_fault_and_nothing_waits_for_it(tmp_path: Path, name: str, kind: str) -> None:
    _faults(tmp_path / "a", GOOD)
    place = tmp_path / "a" / name
    place.unlink(missing_ok=True)
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(name)
    assert [str(fault) for fault in lint(tmp_path, _check)] == [f"{place}:1: no plain file"]

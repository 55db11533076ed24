"""A name that a merge took away still finds its skill; chains are followed, and a circle is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.errors import NotFound
from hermes_cron.experience import skill_redirects
from hermes_cron.experience.skills import Root, SkillLibrary


def library(root: Path, skills: list[str], *lines: str) -> SkillLibrary:
    for name in skills:
        folder = root / name
        folder.mkdir(parents=True)
        short = name.rpartition("/")[2]
        (folder / "SKILL.md").write_text(f"---\nname: {short}\ndescription: does {short}\n---\nBody\n")
    if lines:
        (root / skill_redirects.REDIRECTS).write_text("# a comment\n" + "".join(f"{line}\n" for line in lines))
    return SkillLibrary([Root(path=root)])


def test_a_merged_skill_is_found_by_its_old_names(tmp_path: Path) -> None:
    found = library(tmp_path, ["news/briefing"], "news/radar news/briefing")

    assert found.get("radar").qualified == found.get("news/radar").qualified == "news/briefing"
    assert found.names() == ("briefing",)
    assert found.former_names() == ("news/radar", "radar")


def test_a_chain_leads_to_its_end(tmp_path: Path) -> None:
    found = library(tmp_path, ["c/z"], "a/x b/y", "b/y c/z")

    assert found.get("x").qualified == "c/z"
    assert found.get("b/y").qualified == "c/z"


def test_a_chain_ends_at_the_first_skill_that_is_there(tmp_path: Path) -> None:
    """``y`` came out of the archive again after it had been merged."""
    assert library(tmp_path, ["b/y", "c/z"], "a/x b/y", "b/y c/z").get("x").qualified == "b/y"


def test_a_skill_of_the_name_is_nearer_than_a_redirect(tmp_path: Path) -> None:
    found = library(tmp_path, ["a/x", "b/y"], "a/x b/y")

    assert found.get("x").qualified == "a/x"
    assert found.former_names() == ()


def test_a_circle_is_said_and_ends(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="lead in a circle: a/x -> b/y -> a/x") as caught:
        library(tmp_path, ["c/z"], "a/x b/y", "b/y a/x").get("x")
    assert "skills restore x" in str(caught.value.hint)


def test_a_redirect_to_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="end where no skill is: a/x -> b/y"):
        library(tmp_path, ["c/z"], "a/x b/y").get("a/x")


def test_a_short_name_of_two_merged_skills_is_not_guessed(tmp_path: Path) -> None:
    found = library(tmp_path, ["c/z", "c/w"], "a/x c/z", "b/x c/w")

    with pytest.raises(NotFound, match="no skill 'x'"):
        found.get("x")
    assert found.get("b/x").qualified == "c/w"


def test_a_line_is_added_and_what_it_replaces_goes() -> None:
    data = skill_redirects.with_redirect(None, "a/x", "b/y")
    again = skill_redirects.with_redirect(data, "b/y", "a/x")  # y was merged back, after x had been restored

    assert skill_redirects.pairs(data) == {"a/x": "b/y"}
    assert skill_redirects.pairs(again) == {"b/y": "a/x"}
    assert again.startswith(b"# ")


def test_a_prompt_that_asks_for_a_merged_skill_gets_the_one_that_has_it(tmp_path: Path) -> None:
    """A job that names no skill is given one by its words: they mean the same after a merge."""
    old = tmp_path / ".archive" / "news" / "market-radar"
    old.mkdir(parents=True)
    (old / "SKILL.md").write_text(
        '---\nname: market-radar\ndescription: x\nmetadata:\n  hermes-cron.match: "market + scan|radar"\n---\nBody\n'
    )
    found = library(tmp_path, ["news/briefing", "a/b"], "news/market-radar news/briefing")

    assert [it.name for it in found.all()] == ["b", "briefing"]
    matched = found.match("scan the market")
    assert matched is not None
    assert matched.qualified == "news/briefing"
    assert found.match("scan the sky") is None
    with_skill = library(tmp_path, ["own/scan-market"], "news/market-radar news/briefing").match("scan market")
    assert with_skill is not None
    assert with_skill.qualified == "own/scan-market"


def test_lines_of_people_stay_as_they_are() -> None:
    mine = b"# ours\r\nold/a new/b # since May\r\n\r\n"

    assert skill_redirects.with_redirect(mine, "c/d", "new/b") == mine + b"c/d new/b\n"


def test_a_line_that_is_no_pair_leads_nowhere() -> None:
    assert skill_redirects.pairs("\ufeffa/x\na b c\n\n# a b\nx y\n".encode()) == {"x": "y"}

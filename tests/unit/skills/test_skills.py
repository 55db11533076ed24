"""The library: nothing vanishes, one resolver, links stay inside, names are not guessed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hermes_cron.errors import (
    HermesCronError,
    NotFound,
    SkillAmbiguous,
    SkillEncodingError,
    SkillFrontmatterError,
    SkillNameInvalid,
    SkillNameMissing,
    SkillOutsideRoot,
)
from hermes_cron.experience import frontmatter
from hermes_cron.experience.skills import Readings, Root, Skill, SkillLibrary

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[2] / "cases" / "data" / "skills.jsonl").read_text(encoding="utf-8").splitlines()
    if (case := json.loads(line))
}


def put(root: Path, place: str, data: str | bytes) -> Path:
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def only(root: Path, place: str, data: str | bytes) -> Skill:
    put(root, place, data)
    (skill,) = SkillLibrary([Root(path=root)]).all()
    return skill


def good(name: str, extra: str = "") -> str:
    return f"---\nname: {name}\ndescription: about {name}\n{extra}---\nBody\n"


# --- cases ------------------------------------------------------------------------------------------------------------


def test_c131_a_byte_order_mark_hides_nothing(tmp_path: Path) -> None:
    case = CASES["C131"]
    skill = only(tmp_path, "a", bytes.fromhex(case["input"]["bytes_hex"]))
    assert (skill.name, skill.description, skill.body) == tuple(case["expected"].values())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "gbk", "latin-1"])
def test_c133_another_encoding_is_listed_with_the_remedy_and_others_still_load(tmp_path: Path, encoding: str) -> None:
    put(tmp_path, "wrong", good("wrong", "license: é 数\n" if encoding == "gbk" else "license: é\n").encode(
        encoding, "ignore"))  # fmt: skip
    put(tmp_path, "fine", good("fine"))
    library = SkillLibrary([Root(path=tmp_path)])

    (broken,) = [skill for skill in library.all() if skill.fault is not None]
    assert isinstance(broken.fault, SkillEncodingError)
    assert "wrong/SKILL.md" in broken.fault.message
    assert broken.fault.hint == "save as UTF-8"
    assert library.names() == ("fine",)
    with pytest.raises(SkillEncodingError):
        library.get("wrong")


def test_c133_as_given(tmp_path: Path) -> None:
    skill = only(tmp_path, "a", bytes.fromhex(CASES["C133"]["input"]["bytes_hex"]))
    assert isinstance(skill.fault, SkillEncodingError)


def test_c136_scalars_stay_as_written(tmp_path: Path) -> None:
    head = CASES["C136"]["input"]["frontmatter"]
    fields = frontmatter.parse(f"---\n{head}\n---\n", "x").fields
    assert (fields["version"], fields["enabled"], fields["id"]) == ("1.10", "yes", "0123")
    assert only(tmp_path, "demo", f"---\n{head}\n---\nB").version == "1.10"


@pytest.mark.parametrize(
    ("said", "name"),
    [("no", "no"), ("on", "on"), ("off", "off"), ("true", "true"), ("1e3", "1e3"), ("0x1f", "0x1f"), ("007", "007"),
     ("2026-12-01", "2026-12-01"), ('"~"', None), ("名", "名")],
)  # fmt: skip
def test_c137_names_are_text(tmp_path: Path, said: str, name: str | None) -> None:
    skill = only(tmp_path, "x", f"---\nname: {said}\ndescription: d\n---\nB")
    if name is None:
        assert isinstance(skill.fault, SkillNameInvalid)
    else:
        assert (skill.name, skill.fault) == (name, None)


@pytest.mark.parametrize("said", ["~", "null", "", '""', "Null"])
def test_c137_no_name_is_said(tmp_path: Path, said: str) -> None:
    assert isinstance(only(tmp_path, "x", f"---\nname: {said}\ndescription: d\n---\nB").fault, SkillNameMissing)


@pytest.mark.parametrize(("said", "because"), [("12:30:00", "colon"), ("a b", "space"), ("a/b", "slash"), ("../x", "")])
def test_c137_a_name_that_is_none_says_why(tmp_path: Path, said: str, because: str) -> None:
    fault = only(tmp_path, "x", f"---\nname: {said}\ndescription: d\n---\nB").fault
    assert isinstance(fault, SkillNameInvalid)
    assert because in fault.message


def test_c139_a_rule_line_in_the_content_ends_nothing() -> None:
    first, second = CASES["C139"]["input"]["bytes"]
    assert frontmatter.parse(first, "x").body == "Body\n---\nmore"
    parsed = frontmatter.parse(second, "x")
    assert (parsed.fields["description"], parsed.body) == ("x\n---\ny\n", "Body")


@pytest.mark.parametrize(
    "head",
    [*CASES["C140"]["input"]["frontmatter"], "description: @x", "description: !!python/object:os.system x",
     "description: [a", 'description: "a', "description: *nowhere", "name: a\nname: b", "- a\n- b", "a: &x [*x]"],
)  # fmt: skip
def test_c140_yaml_errors_have_a_line_and_run_nothing(tmp_path: Path, head: str) -> None:
    fault = only(tmp_path, "x", f"---\n{head}\n---\nB").fault
    assert isinstance(fault, HermesCronError)
    assert isinstance(fault, SkillFrontmatterError | SkillNameMissing)
    assert fault.message.split(":")[1].isdigit()


def test_c147_two_of_one_name_are_both_listed_and_bare_name_is_ambiguous(tmp_path: Path) -> None:
    put(tmp_path, "a/one", good("dup"))
    put(tmp_path, "b/two", good("dup"))
    library = SkillLibrary([Root(path=tmp_path)])

    assert [skill.qualified for skill in library.all()] == ["a/one", "b/two"]
    with pytest.raises(SkillAmbiguous, match="a/one, b/two"):
        library.get("dup")
    assert library.get("b/two").folder == tmp_path / "b" / "two"
    assert library.names() == ()
    assert library.match("dup") is None


def test_c149_links_stay_inside_and_loops_end(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    put(root, "real/one", good("one"))
    outside = put(tmp_path / "elsewhere", "two", good("two"))
    (root / "y").symlink_to("/etc")
    (root / "z").symlink_to(root)
    (root / "w").symlink_to(outside)
    (root / "inside").symlink_to(root / "real")
    (root / "self").symlink_to("self")
    (root / "there").symlink_to("back")
    (root / "back").symlink_to("there")
    (root / "nowhere").symlink_to("not-there")
    library = SkillLibrary([Root(path=root)])

    faults = {skill.name: type(skill.fault) for skill in library.all() if skill.fault is not None}
    assert faults == {"y": SkillOutsideRoot, "w": SkillOutsideRoot}
    assert library.names() == ("one",)


def test_c151_a_half_written_file_is_listed(tmp_path: Path) -> None:
    fault = only(tmp_path, "a", CASES["C151"]["input"]["bytes"]).fault
    assert isinstance(fault, SkillFrontmatterError)
    assert "does not end" in fault.message


@pytest.mark.parametrize("now", [CASES["C151"]["input"]["bytes"], "", "---\nname: [\n---\nx"])
def test_c151_what_breaks_while_a_service_runs_leaves_the_version_before_in_use(
    tmp_path: Path, now: str, caplog: pytest.LogCaptureFixture
) -> None:
    readings, roots = Readings(), [Root(path=tmp_path)]
    folder = put(tmp_path, "x/a", good("a"))
    assert SkillLibrary(roots, readings).get("a").warnings == ()
    (folder / "SKILL.md").write_text(now)
    kept = SkillLibrary(roots, readings).get("a")
    assert (kept.body, kept.fault) == ("Body\n", None)
    assert kept.warnings[0].startswith(f"{tmp_path.name}/x/a/SKILL.md:")
    assert "the version before stays in use" in kept.warnings[0]
    assert kept.warnings[0] in caplog.text
    assert SkillLibrary(roots, readings).get("a") == kept
    assert SkillLibrary(roots).all()[0].fault is not None, "whoever looks anew is told"

    put(tmp_path, "x/a", good("a").replace("Body", "Mended"))
    mended = SkillLibrary(roots, readings).get("a")
    assert (mended.body, mended.warnings) == ("Mended\n", ())


def test_c151_what_is_removed_is_not_kept(tmp_path: Path) -> None:
    readings, roots = Readings(), [Root(path=tmp_path)]
    folder = put(tmp_path, "x/a", good("a"))
    assert SkillLibrary(roots, readings).names() == ("a",)
    (folder / "SKILL.md").unlink()
    assert SkillLibrary(roots, readings).all() == ()


def test_c149_a_skill_file_that_links_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    elsewhere = put(tmp_path / "elsewhere", "two", good("two"))
    for name, target in (("out", elsewhere / "SKILL.md"), ("passwd", Path("/etc/passwd")), ("self", "SKILL.md")):
        (root / name).mkdir(parents=True)
        (root / name / "SKILL.md").symlink_to(target)
    found = SkillLibrary([Root(path=root)]).all()
    assert [type(skill.fault) for skill in found] == [SkillOutsideRoot] * 3
    assert all(skill.body == "" for skill in found)


def test_more_folders_than_are_looked_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_cron.experience.skills._MAX_FOLDERS", 3)
    for name in ("a", "b", "c", "d"):
        put(tmp_path, name, good(name))
    library = SkillLibrary([Root(path=tmp_path)])
    assert library.names() == ("a", "b")
    (broken,) = [skill for skill in library.all() if skill.fault is not None]
    assert "has more than 3 folders" in str(broken.fault)


# --- lenient reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_any_line_ends(tmp_path: Path, ends: str) -> None:
    skill = only(tmp_path, "a", good("a").replace("\n", ends).encode())
    assert (skill.fault, skill.body) == (None, "Body\n")


def test_an_unquoted_colon_is_read_with_a_warning(tmp_path: Path) -> None:
    skill = only(tmp_path, "a", "---\nname: a\ndescription: Use when: it's asked: now\ntags: [x, y]\n---\nB")
    assert skill.description == "Use when: it's asked: now"
    assert skill.warnings[0].startswith(f"{tmp_path.name}/a/SKILL.md:3: ")


def test_a_name_that_differs_from_the_folder_is_a_warning(tmp_path: Path) -> None:
    skill = only(tmp_path, "folder", good("other"))
    assert (skill.name, skill.fault) == ("other", None)
    assert "folder" in skill.warnings[0]


def test_a_home_hides_the_shipped_skill_of_the_same_name(tmp_path: Path) -> None:
    mine, shipped = put(tmp_path / "home", "x/a", good("a")), put(tmp_path / "shipped", "y/a", good("a"))
    library = SkillLibrary([Root(path=tmp_path / "home"), Root(path=tmp_path / "shipped", bundled=True)])
    assert (library.get("a").folder, library.get("a").shadows) == (mine, shipped)
    assert len(library.all()) == 1


def test_a_broken_skill_of_the_home_does_not_hide_the_shipped_one(tmp_path: Path) -> None:
    put(tmp_path / "home", "a", "no front matter")
    shipped = put(tmp_path / "shipped", "a", good("a"))
    library = SkillLibrary([Root(path=tmp_path / "home"), Root(path=tmp_path / "shipped", bundled=True)])
    assert library.get("a").folder == shipped
    assert [skill.fault is None for skill in library.all()] == [False, True]


def test_an_unknown_name_names_the_nearest(tmp_path: Path) -> None:
    put(tmp_path, "inspect-database", good("inspect-database"))
    with pytest.raises(NotFound) as caught:
        SkillLibrary([Root(path=tmp_path)]).get("inspect-databse")
    assert caught.value.hint == "did you mean inspect-database?"


def test_the_playbook_of_an_engine_comes_before_the_general_one(tmp_path: Path) -> None:
    folder = put(tmp_path, "a", good("a"))
    for name in ("playbook.yaml", "playbook.sqlite.yaml"):
        (folder / name).write_text("x", encoding="utf-8")
    library = SkillLibrary([Root(path=tmp_path)])
    found = [library.playbook(library.get("a"), engine) for engine in ("sqlite", "postgresql", None)]
    assert [path.name if path else None for path in found] == ["playbook.sqlite.yaml", "playbook.yaml", "playbook.yaml"]


def test_a_pipe_in_the_place_of_a_skill_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "cat" / "pipe").mkdir(parents=True)
    os.mkfifo(tmp_path / "cat" / "pipe" / "SKILL.md")
    with pytest.raises(SkillFrontmatterError, match="no plain file"):
        SkillLibrary((Root(path=tmp_path),)).get("pipe")


def test_a_folded_description_has_no_sign_of_the_fold(tmp_path: Path) -> None:
    skill = only(tmp_path, "a", "---\nname: a\ndescription: >-\n  one\n  two\n---\nBody\n")

    assert skill.description == "one two"

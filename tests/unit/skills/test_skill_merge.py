"""A merge loses nothing: every file is carried along, names that clash are told apart, texts say the new names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_cron.errors import Refused
from hermes_cron.experience import frontmatter
from hermes_cron.experience.skill_merge import Part, merged, names_after
from hermes_cron.experience.skill_state import File, State

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[2] / "cases" / "data" / "curator.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
    if (case := json.loads(line))
}
RADAR = """\
# Radar

## Steps

1. Read `references/sources.md`, then run scripts/fetch.sh.
2. Fill `templates/page.md`.

## Pitfalls

- The feed is slow before seven.
"""
BRIEFING = """\
# Briefing

## Steps

1. Read `references/sources.md`.

## Pitfalls

- Numbers want a unit.
"""


FETCH = "#!/bin/sh\ncat references/sources.md ./references/sources.md xreferences/sources.md\n"


def part(name: str, body: str, description: str = "", head: str | None = None, **files: str | bytes) -> Part:
    front = (
        head or f'---\nname: {name}\ndescription: {description or f"Does {name}."}\nmetadata:\n  version: "1.2"\n---\n'
    )
    made = {"SKILL.md": File(f"{front}\n{body}".encode(), 0o644)}
    for path, data in files.items():
        place = path.replace("__", "/").replace("_md", ".md").replace("_sh", ".sh").replace("_yaml", ".yaml")
        made[place] = File(
            data if isinstance(data, bytes) else data.encode(), 0o755 if place.endswith(".sh") else 0o644
        )
    return Part(name=name, qualified=f"news/{name}", state=State(files=made))


def text(state: State, path: str = "SKILL.md") -> str:
    return state.files[path].data.decode()


def radar(**more: str | bytes) -> Part:
    return part(
        "radar", RADAR, references__sources_md="radar's sources\n", templates__page_md="a page\n",
        scripts__fetch_sh=FETCH, **more,
    )  # fmt: skip


def briefing(**more: str | bytes) -> Part:
    return part("briefing", BRIEFING, references__sources_md="briefing's sources\n", **more)


def test_every_file_comes_along_and_a_clash_has_the_old_name_in_front() -> None:
    done = merged(radar(), briefing())

    files = done.state.files
    assert text(done.state, "references/sources.md") == "briefing's sources\n"
    assert text(done.state, "references/radar-sources.md") == "radar's sources\n"
    assert text(done.state, "templates/page.md") == "a page\n"
    assert files["scripts/fetch.sh"].bits == 0o755
    assert set(done.places) == {"references/sources.md", "templates/page.md", "scripts/fetch.sh"}
    assert done.said[0] == "references/sources.md is references/radar-sources.md now"


def test_texts_that_come_along_say_the_new_names_and_others_stay() -> None:
    done = merged(radar(), briefing())

    assert text(done.state, "scripts/fetch.sh") == (
        "#!/bin/sh\ncat references/radar-sources.md ./references/radar-sources.md xreferences/sources.md\n"
    )
    assert "Read `references/radar-sources.md`" in text(done.state, "references/radar.md")
    assert "Read `references/sources.md`." in text(done.state)  # the target's own


def test_the_target_says_where_the_rest_stands_and_for_what_it_is() -> None:
    done = merged(radar(), briefing())

    front = frontmatter.parse(text(done.state), "SKILL.md")
    assert front.fields["description"] == "Does briefing. Does radar."
    assert BRIEFING.strip() in front.body
    assert front.body.strip().endswith("Does radar. How it is done: `references/radar.md`.")
    assert "- The feed is slow before seven." in text(done.state, "references/radar.md")


def test_the_same_file_is_no_second_file() -> None:
    source = part("radar", BRIEFING, references__sources_md="briefing's sources\n")

    done = merged(source, briefing())

    assert set(done.state.files) == {"SKILL.md", "references/sources.md"}
    assert done.places == {"references/sources.md": "references/sources.md"}
    assert "Also" not in text(done.state)  # the same text too: nothing to add


def test_names_that_differ_in_case_only_do_not_clash_on_any_disk() -> None:
    source = part(
        "radar",
        RADAR.replace("sources", "Sources"),
        references__Sources_md="other\n",
        references__radar_Sources_md="x\n",
    )
    target = briefing()
    target.state.files["references/radar-sources.md"] = File(b"taken\n")  # type: ignore[index]

    done = merged(source, target)

    assert text(done.state, "references/radar-Sources-2.md") == "other\n"
    assert len({path.casefold() for path in done.state.files}) == len(done.state.files)


def test_a_program_that_is_no_text_is_carried_byte_for_byte() -> None:
    data = b"\x7fELF\0references/sources.md\xff"
    source = radar()
    source.state.files["assets/tool"] = File(data, 0o755)  # type: ignore[index]

    assert merged(source, briefing()).state.files["assets/tool"] == File(data, 0o755)


def test_two_playbooks_are_brought_together_by_a_person() -> None:
    with pytest.raises(Refused, match=r"each have a playbook\.yaml"):
        merged(radar(playbook_yaml="steps: [a]\n"), briefing(playbook_yaml="steps: [b]\n"))
    assert "playbook.yaml" in merged(radar(playbook_yaml="steps: [a]\n"), briefing()).state.files


def test_links_are_not_carried() -> None:
    source = radar()
    source.state.files["references/out"] = File(b"/etc/passwd", link=True)  # type: ignore[index]

    with pytest.raises(Refused, match="has links"):
        merged(source, briefing())


BOTH = """\
# News in the morning

## Steps

1. Read `references/sources.md`, then `references/radar-sources.md`; run scripts/fetch.sh.
2. Fill `templates/page.md`.

## Pitfalls

- Numbers want a unit.
- The feed is slow before seven.
"""


def test_a_text_that_keeps_everything_is_taken_and_the_front_matter_stays() -> None:
    done = merged(radar(), briefing(), BOTH)

    front = frontmatter.parse(text(done.state), "SKILL.md")
    assert front.body.strip() == BOTH.strip()
    assert front.fields["name"] == "briefing"
    assert "references/radar.md" not in done.state.files


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        (BOTH.replace("templates/page.md", "a page"), "the file templates/page.md"),
        (BOTH.replace("`references/radar-sources.md`", "them"), "the file references/radar-sources.md"),
        (BOTH.replace("- The feed is slow before seven.\n", ""), "the pitfall 'The feed is slow before seven.'"),
        (BOTH.replace("- Numbers want a unit.\n", ""), "the pitfall 'Numbers want a unit.'"),
        (BOTH.replace("## Steps", "## How"), "the heading 'steps'"),
        ("Merged.", "more than half of the text"),
    ],
)
def test_a_text_that_loses_something_is_refused(said: str, lost: str) -> None:
    with pytest.raises(Refused) as caught:
        merged(radar(), briefing(), said)
    if lost != "more than half of the text":
        assert lost in caught.value.message


@pytest.mark.parametrize(
    "head",
    [
        '---\nname: briefing\ndescription: "Does briefing." # ours\nmetadata: {version: "1.2"}\n---\n',
        '---\ndescription: >-\n  Does\n  briefing.\nname: briefing\nmetadata:\n  version: "1.2"\n---\n',
        "---\nname: briefing\ndescription: Does\n  briefing.\n---\n",
        '---\r\nname: briefing\r\ndescription: Does briefing.\r\nmetadata:\r\n  version: "1.2"\r\n---\r\n',
        "\ufeff---\nname: briefing\ndescription: Does briefing.\n---\n",
    ],
)
def test_a_description_of_any_form_is_joined(head: str) -> None:
    done = merged(radar(), part("briefing", BRIEFING, head=head))

    front = frontmatter.parse(frontmatter.decode(done.state.skill, "SKILL.md"), "SKILL.md")
    assert front.fields["description"] == "Does briefing. Does radar."
    assert front.fields["name"] == "briefing"
    assert text(done.state).startswith(head[:4])


def test_a_description_without_room_stays() -> None:
    long = "word " * 204 + "end."

    assert "Does radar" not in text(merged(radar(), part("briefing", BRIEFING, description=long)).state).split("---")[1]


# --- names in jobs ----------------------------------------------------------------------------------------------------


def test_c153_order_is_kept_and_none_stands_twice() -> None:
    case = CASES["C153"]
    names = tuple(case["input"]["job_skills"])
    into = case["input"]["into"]
    for old in case["input"]["merge"]:
        names = names_after(names, frozenset({old}), into, frozenset({into, f"g/{into}"}))

    assert list(names) == case["expected"]["job_skills"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("x", "a", "y"), ("x", "new", "y")),
        (("a", "g/new"), ("new",)),
        (("g/new", "a"), ("g/new",)),
        (("g/a", "a"), ("new",)),
        (("x",), ("x",)),
    ],
)
def test_names_after_a_merge(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert names_after(before, frozenset({"a", "g/a"}), "new", frozenset({"new", "g/new"})) == after

"""Whatever two skills hold, a merge of them loses no file of either and no line of the target."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_cron.errors import Refused
from hermes_cron.experience import frontmatter
from hermes_cron.experience.skill_merge import Part, merged, names_after
from hermes_cron.experience.skill_state import File, State

FOLDERS = st.sampled_from(["references", "templates", "scripts", "assets", "scripts/lib"])
NAMES = st.sampled_from(["a.md", "A.md", "b.sh", "b", "s-a.md", "s-a-2.md", "noext", "x.tar.gz"])
PATHS = st.one_of(st.builds("{}/{}".format, FOLDERS, NAMES), st.just("playbook.yaml"), st.just("LICENSE"))
DATA = st.one_of(st.binary(max_size=40), st.sampled_from([b"one\n", b"see references/a.md and scripts/b.sh\n"]))
FILES = st.dictionaries(PATHS, DATA, max_size=8)


def part(name: str, files: dict[str, bytes], body: str) -> Part:
    head = f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}"
    state = State(files={"SKILL.md": File(head.encode()), **{path: File(data) for path, data in files.items()}})
    return Part(name=name, qualified=f"g/{name}", state=state)


@settings(deadline=None)
@given(FILES, FILES, st.sampled_from(["Do it.\n", "Read references/a.md.\n", "# T\n\nRun `scripts/b.sh`.\n"]))
def test_no_file_is_lost(mine: dict[str, bytes], theirs: dict[str, bytes], text: str) -> None:
    source, target = part("s", mine, text), part("t", theirs, "The target's way.\n")
    if {"playbook.yaml"} <= mine.keys() & theirs.keys() and mine["playbook.yaml"] != theirs["playbook.yaml"]:
        with pytest.raises(Refused, match="playbook"):
            merged(source, target)
        return
    done = merged(source, target)
    files = done.state.files
    assert set(done.places) == set(mine)
    for path, data in theirs.items():
        assert files[path].data == data  # nothing of the target is another one
    moved = {old: new for old, new in done.places.items() if old != new}
    for path, place in done.places.items():
        assert files[place].data == mine[path] or any(old.encode() in mine[path] for old in moved)
    places = [place for path, place in done.places.items() if theirs.get(place) != mine[path]]
    assert len(set(places)) == len(places)  # two files are never one
    body = frontmatter.parse(frontmatter.decode(done.state.skill, "SKILL.md"), "SKILL.md").body
    assert "The target's way." in body
    assert any(b"Read" in it.data or b"Do it." in it.data or b"Run" in it.data for it in files.values())


WORDS = st.sampled_from(["a", "g/a", "t", "g/t", "x", "y", "g/x"])


@settings(deadline=None)
@given(st.lists(WORDS, unique=True, max_size=6).map(tuple))
def test_names_of_a_job_keep_their_order_and_none_stands_twice(names: tuple[str, ...]) -> None:
    after = names_after(names, frozenset({"a", "g/a"}), "t", frozenset({"t", "g/t"}))

    assert not {"a", "g/a"} & set(after)
    assert sum(name in {"t", "g/t"} for name in after) == int(bool({"a", "g/a", "t", "g/t"} & set(names)))
    others = [name for name in names if name in {"x", "y", "g/x"}]
    assert [name for name in after if name in {"x", "y", "g/x"}] == others

"""Three-way: text merges as ``git merge-file`` does, and a tree as its files do, one by one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_cron.snapshots.merge import merge, merged
from hermes_cron.snapshots.pack import BLOB
from hermes_cron.snapshots.trees import EMPTY_FOLDER, EMPTY_TREE, Entry, Mode, Objects
from tests import snapshots_rig as rig

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "f\r", "\u00e9", ""])
LINES = st.lists(WORDS, max_size=8)


def text_of(lines: list[str], *, ends: bool) -> bytes:
    return ("\n".join(lines) + ("\n" if ends and lines else "")).encode()


@st.composite
def three(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A text and two edits of it."""
    base = draw(LINES)
    sides = []
    for _ in range(2):
        lines = list(base)
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = draw(st.lists(WORDS, max_size=2))
        sides.append(lines)
    return tuple(text_of(lines, ends=draw(st.booleans())) for lines in (base, *sides))  # type: ignore[return-value]


def by_git(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    done = subprocess.run(
        ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=three())
def test_text_merges_as_git_merge_file_does(tmp_path: Path, texts: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = texts
    if ours == theirs or base in (ours, theirs):  # decided before any text is merged
        return
    assert merged(base, ours, theirs) == by_git(tmp_path, base, ours, theirs)


@pytest.mark.parametrize("base", [b"", b"a\0b\n"])
def test_what_is_no_text_does_not_merge(base: bytes) -> None:
    assert merged(base, base + b"x\0\n", base + b"y\0\n") is None


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    (tmp_path / "home" / "jobs").mkdir(parents=True)
    snapshots = rig.repository(tmp_path / "home")
    snapshots.create(rig.cli())
    return snapshots.objects()


FILES = st.dictionaries(
    st.sampled_from([b"jobs/a", b"jobs/b", b"jobs/a/x", b"jobs/a/y", b"jobs/b/x", b"jobs/c/d/e"]),
    st.sampled_from(["1", "2", "x1", "l1", "p1", "folder"]),
    max_size=4,
)


def tree_of(objects: Objects, files: dict[bytes, str]) -> tuple[bytes, dict[bytes, Entry]]:
    """The tree of these files as far as they can be together, and what it then has."""
    entries: dict[bytes, Entry] = {}
    for path, what in sorted(files.items()):
        if any(path.startswith(other + b"/") for other in entries):
            continue
        oid = objects.put(BLOB, what[-1].encode())
        kinds = {
            "x": Entry(Mode.EXECUTABLE, oid),
            "l": Entry(Mode.LINK, oid),
            "p": Entry(Mode.FILE, oid, 0o600),
            "f": EMPTY_FOLDER,
        }
        entries[path] = kinds.get(what[0], Entry(Mode.FILE, oid))
    return objects.edited(EMPTY_TREE, entries), entries


def can_be_together(files: dict[bytes, Entry]) -> bool:
    return not any(other.startswith(path + b"/") for path in files for other in files)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=FILES, ours=FILES, theirs=FILES)
def test_trees_merge_file_by_file(
    objects: Objects, base: dict[bytes, str], ours: dict[bytes, str], theirs: dict[bytes, str]
) -> None:
    (one, was), (two, mine), (three, yours) = (tree_of(objects, files) for files in (base, ours, theirs))
    for tree, entries in ((one, was), (two, mine), (three, yours)):
        assert objects.files(tree) == entries
        assert {path: objects.at(tree, path) for path in entries} == entries
    done = merge(objects, one, two, three)
    if not done.clashes:
        result = objects.files(done.tree)
        for path in was.keys() | mine.keys() | yours.keys():
            before, here, there = was.get(path), mine.get(path), yours.get(path)
            if EMPTY_FOLDER in (before, here, there):
                continue  # there or not by what else is in it
            if here == before:
                assert result.get(path) == there
            elif there in (before, here):
                assert result.get(path) == here
            else:
                assert result[path].oid in (here.oid, there.oid)  # type: ignore[union-attr]  # one changed the bits only
        assert can_be_together(result)
    else:
        again = {path for path in was.keys() | mine.keys() | yours.keys() if mine.get(path) != was.get(path)}
        assert again  # without a change of ours nothing clashes
    assert merge(objects, one, one, three).tree == three
    assert merge(objects, one, two, one).tree == two
    assert merge(objects, one, two, two).tree == two

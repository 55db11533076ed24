"""A person holds a skill fast, puts it away and back, and rejects what a run made of it; as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_cron.domain.learning import LearnedState
from tests import history_rig
from tests.conftest import Ran
from tests.skill_rig import NAME, PATCH, SKILL, Rig

Call = Callable[..., Ran]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        yield made


@pytest.fixture
def call(rig: Rig, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return history_rig.in_process(rig.home, monkeypatch, capsys)


def test_a_pin_is_kept_beside_the_skills_and_in_the_history(rig: Rig, call: Call) -> None:
    done = call("skills", "pin", "flask-deploy")
    assert (done.rc, done.out) == (0, f"{NAME} is pinned: no run changes it.\n")
    assert done.err == "back: hermes-cron skills unpin flask-deploy\n"
    assert rig.text(".pinned").splitlines()[-1] == NAME
    assert rig.text() == SKILL
    head = rig.app.snapshots.head()
    assert head is not None
    assert (head.actor, head.reason) == ("cli", f"pin {NAME}")
    assert rig.refused(**PATCH)["code"] == "Refused"
    again = call("skills", "pin", NAME, "--json")
    assert json.loads(again.out) == {"name": NAME, "changed": False, "snapshot": None, "pinned": True}
    listed = json.loads(call("skills", "list", "--json").out)["skills"]
    assert [it["qualified"] for it in listed if it["pinned"]] == [NAME]


def test_a_pin_survives_the_restore_of_an_old_version(rig: Rig, call: Call) -> None:
    rig.done(**PATCH)
    assert call("skills", "pin", "flask-deploy").rc == 0
    assert call("skills", "restore", "flask-deploy@1", "-y").rc == 0
    assert rig.text() == SKILL
    assert rig.refused(**PATCH)["code"] == "Refused"


def test_unpinned_is_open_again_and_a_persons_notes_stay(rig: Rig, call: Call) -> None:
    rig.put(".pinned", f"# do not touch\r\n{NAME}\r\ndatabases/other # later\r\n")
    assert call("skills", "unpin", "flask-deploy", "--lang", "zh").out == f"{NAME} 未锁定：运行可以修改它。\n"
    assert rig.text(".pinned") == "# do not touch\r\ndatabases/other # later\r\n"
    assert rig.call(**PATCH).ok
    assert call("skills", "unpin", "flask-deploy").out == f"{NAME} was not pinned.\n"
    assert call("skills", "pin", "nothing-such").rc == 3


def test_archive_and_restore_bring_the_same_bytes_back(rig: Rig, call: Call) -> None:
    rig.put(f"{NAME}/scripts/a.sh", "echo\n", 0o755)
    rig.put(f"{NAME}/references/x.md", b"\xff\x00raw\r\n", 0o600)
    before = rig.tree()
    done = call("skills", "archive", "flask-deploy", "nobody deploys by hand now")
    assert (done.rc, done.out) == (0, f"{NAME} is archived.\n")
    assert done.err == "back: hermes-cron skills restore flask-deploy\n"
    assert {f".archive/{path}": it for path, it in before.items()} == rig.tree()
    assert "flask-deploy" not in call("skills", "list").out
    assert call("skills", "lint").rc == 3  # nothing is left to look at
    assert call("skills", "show", "flask-deploy").rc == 3
    log = call("skills", "log", "flask-deploy")
    assert f"archive skill {NAME}: nobody deploys by hand now (removed)" in log.out
    done = call("skills", "restore", "flask-deploy")
    assert (done.rc, done.out) == (0, f"{NAME} is back, as it was archived.\n")
    assert rig.tree() == before


def test_an_archived_skill_comes_back_as_any_of_its_versions(rig: Rig, call: Call) -> None:
    rig.done(**PATCH)
    assert call("skills", "archive", "flask-deploy").rc == 0
    assert call("skills", "restore", "flask-deploy@1", "-y").rc == 0
    assert {path: it[1] for path, it in rig.tree().items()} == {f"{NAME}/SKILL.md": SKILL.encode()}


def test_undo_takes_an_archive_back(rig: Rig, call: Call) -> None:
    before = rig.tree()
    made = json.loads(call("skills", "archive", "flask-deploy", "--json").out)
    assert made["archived"] is True
    assert call("undo", made["snapshot"], "-y").rc == 0
    assert rig.tree() == before


def test_the_plan_of_an_undo_tells_the_copy_in_the_archive_from_the_skill(rig: Rig, call: Call) -> None:
    made = json.loads(call("skills", "archive", "flask-deploy", "--json").out)
    for lang, goes, comes in (
        ("en", "flask-deploy in the archive goes", "flask-deploy comes back as @1"),
        ("zh", "归档中的 flask-deploy 移除", "flask-deploy 恢复为 @1"),
    ):
        shown = [line.split(None, 1)[-1] for line in call("undo", made["snapshot"], "--lang", lang).out.splitlines()]
        assert sorted(shown[1:]) == sorted([goes, comes])


def test_a_pinned_skill_is_not_archived(rig: Rig, call: Call) -> None:
    assert call("skills", "pin", "flask-deploy").rc == 0
    refused = call("skills", "archive", "flask-deploy")
    assert refused.rc == 4
    assert "skills unpin flask-deploy" in refused.err
    assert f"{NAME} 已锁定" in call("skills", "archive", "flask-deploy", "--lang", "zh").err
    assert rig.text() == SKILL


def test_an_archived_shipped_skill_comes_back_as_it_was_shipped(rig: Rig, call: Call) -> None:
    shipped = json.loads(call("skills", "show", "host-health", "--json").out)
    assert call("skills", "archive", "host-health").rc == 0
    assert call("skills", "show", "host-health").rc == 3
    assert call("skills", "restore", "host-health").rc == 0
    there = json.loads(call("skills", "show", "host-health", "--json").out)
    assert (there["body"], there["bundled"]) == (shipped["body"], False)


def test_the_log_says_run_and_why_of_each_version(rig: Rig, call: Call) -> None:
    rig.done(**PATCH)
    versions = json.loads(call("skills", "log", "flask-deploy", "--json").out)["versions"]
    assert [(it["version"], it["run"], it["reason"]) for it in versions] == [
        (2, "r1", f"skill {NAME} patched: it proved wrong"),
        (1, None, "edited by hand"),
    ]
    assert "r1" in call("skills", "log", "flask-deploy").out
    blamed = call("blame", "flask-deploy").out
    assert "r1" in next(line for line in blamed.splitlines() if "registry.local" in line)


def test_reject_takes_one_version_back_and_keeps_what_came_after(rig: Rig, call: Call) -> None:
    rig.done(**PATCH)
    rig.put(f"{NAME}/SKILL.md", rig.text() + "- Added by hand.\n")
    refused = call("skills", "reject", "flask-deploy@2")
    assert refused.rc == 6  # nobody can be asked
    assert "hermes-cron skills reject flask-deploy@2 -y" in refused.err
    done = call("skills", "reject", "flask-deploy@2", "-y")
    assert done.rc == 0, done.err
    assert rig.text() == SKILL + "- Added by hand.\n"
    (row,) = rig.rows()
    assert row.state is LearnedState.REJECTED
    again = call("skills", "reject", "flask-deploy@2", "-y")
    assert again.rc == 5
    assert "taken back already" in again.err


def test_reject_is_about_what_runs_learned(rig: Rig, call: Call) -> None:
    refused = call("skills", "reject", "flask-deploy@1", "-y")
    assert refused.rc == 4
    assert "made by a person" in refused.err
    unknown = call("skills", "reject", "flask-deploy")
    assert unknown.rc == 2
    assert "which version" in unknown.err

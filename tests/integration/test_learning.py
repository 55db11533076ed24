"""The same model deploys again and again: only what hermes-cron put into its context differs, and so what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.learning_policy import PrefixCache
from tests.learning_world import MIRROR, PROJECTS, REGISTRY, Deployed, World, stable, world

SKILL = "operations/deploy-project"
SKILL_FILE = f"skills/{SKILL}/SKILL.md"


@dataclass
class Story:
    """What happened, and the files of the home before and after each thing that a person said."""

    world: World
    runs: dict[str, Deployed] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, set[str]] = field(default_factory=dict)

    def deploy(self, project: str) -> None:
        self.runs[project] = self.world.deploy(project)

    def correct(self, project: str, text: str) -> None:
        before = self.world.files()
        self.said[project] = self.world.say(self.runs[project].run, text)
        after = self.world.files()
        self.changed[project] = {name for name in before | after if before.get(name) != after.get(name)}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with world(tmp_path_factory.mktemp("learning") / "world") as made:
        told = Story(made)
        for project in ("shop", "orders", "news"):
            told.deploy(project)
        told.correct("news", "The namespace is preview, not staging.")
        told.deploy("forum")
        told.correct("forum", f"The registry is {MIRROR} from today on.")
        told.deploy("wiki")
        yield told


def counts(deployed: Deployed) -> tuple[int, int]:
    return deployed.calls, deployed.errors


def told_by(deployed: Deployed) -> list[tuple[str, str, str, str]]:
    return [(each.actor, each.kind.value, each.name, each.change) for each in deployed.learned]


def commands(deployed: Deployed) -> list[str]:
    """Without what is of this one project: its name, and the route at which it answers."""
    of_this = re.compile(rf"\b{deployed.project}\b")
    route = PROJECTS[deployed.project][1]
    return [of_this.sub("NAME", command).replace(f"path: {route}", "path: ROUTE") for command, _ in deployed.commands]


def test_a_first_deployment_finds_its_way_and_the_review_makes_a_skill_of_it(story: Story) -> None:
    first = story.runs["shop"]
    assert counts(first) == (12, 2)
    assert [command for command, ok in first.commands if not ok] == [
        "docker push shop:1", "kubectl apply -f shop/deploy/deployment.yaml",
    ]  # fmt: skip
    assert told_by(first) == [("review", "skill", SKILL, "created")]


def test_a_second_one_follows_it_and_the_review_mends_it_and_keeps_the_registry(story: Story) -> None:
    second = story.runs["orders"]
    assert counts(second) == (9, 1)
    assert second.commands[0] == ("skill_view", True)
    assert [command for command, ok in second.commands if not ok] == [
        "kubectl rollout status -n staging deployment/orders"
    ]
    assert told_by(second) == [
        ("review", "skill", SKILL, "patched"),
        ("review", "memory", "MEMORY.md", "added"),
    ]


def test_a_third_one_needs_no_detour(story: Story) -> None:
    third = story.runs["news"]
    assert counts(third) == (6, 0)
    assert told_by(third) == []


def test_what_was_deployed_is_really_up(story: Story) -> None:
    assert story.world.up == {
        **{name: {"namespace": "staging", "image": f"{REGISTRY}/{name}:1"} for name in ("shop", "orders", "news")},
        "forum": {"namespace": "preview", "image": f"{REGISTRY}/forum:1"},
        "wiki": {"namespace": "preview", "image": f"{MIRROR}/wiki:1"},
    }


def test_without_what_was_learned_the_same_model_begins_anew(tmp_path: Path) -> None:
    with world(tmp_path / "world") as other:
        assert counts(other.deploy("news")) == (14, 3)


def test_what_a_person_says_changes_the_skill_and_so_what_the_next_run_does(story: Story) -> None:
    assert story.changed["news"] == {SKILL_FILE}
    assert [(each["name"], each["change"]) for each in story.said["news"]["learned"]] == [(SKILL, "patched")]
    before, after = commands(story.runs["news"]), commands(story.runs["forum"])
    assert after == [command.replace("-n staging", "-n preview") for command in before]
    assert after != before


def test_what_a_person_says_changes_the_memory_and_so_what_the_next_run_does(story: Story) -> None:
    assert story.changed["forum"] == {"memories/MEMORY.md"}
    before, after = commands(story.runs["forum"]), commands(story.runs["wiki"])
    assert after == [command.replace(REGISTRY, MIRROR) for command in before]
    assert after != before


def test_each_request_is_the_one_before_with_messages_added(story: Story) -> None:
    """Of all sessions: runs, and the looks back at them."""
    conversations = story.world.conversations()
    assert len(conversations) >= 5 + 4
    assert [stable(bodies) for bodies in conversations] == [[True] * (len(bodies) - 1) for bodies in conversations]


def test_most_of_what_a_run_sends_was_read_before_because_its_prompt_stands(story: Story) -> None:
    """With a memory that is read anew for each call, what it says would no longer be where it was."""
    first = story.runs["shop"]
    assert first.cached >= 0.8
    (bodies,) = [
        bodies
        for bodies in story.world.conversations()
        if len(bodies) == first.calls + 1 and b"Deploy shop" in bodies[0]
    ]
    frozen, thawed = PrefixCache(), PrefixCache()
    shares = []
    for cache, change in ((frozen, lambda number: b""), (thawed, lambda number: f"fact {number}".encode())):
        bills = [
            cache.usage(body.replace(b"(nothing yet)", b"(nothing yet)" + change(number)).decode())
            for number, body in enumerate(bodies)
        ]
        read = sum(bill["prompt_tokens"] for bill in bills)
        shares.append(sum(bill["prompt_tokens_details"]["cached_tokens"] for bill in bills) / read)
    assert shares[0] == pytest.approx(first.cached, abs=0.1)
    assert shares[1] < shares[0] - 0.1


def test_each_version_of_the_skill_says_which_run_it_came_from(story: Story) -> None:
    log = story.world.ask("skills", "log", SKILL)
    runs = [each["run"] for each in log["versions"]]
    assert runs == [story.runs[name].run for name in ("news", "orders", "shop")]

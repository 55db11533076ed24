"""A scheduler that runs while people and editors change its skills."""

from __future__ import annotations

from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.serving import Serving, until, write_job

GOOD = "---\nname: deploy\ndescription: Deploys it.\n---\n{body}\n"


def test_c151_a_skill_that_is_found_half_written_stays_in_use_as_it_was(home: Home) -> None:
    skill = home.skills / "ops" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(GOOD.format(body="first way"))
    write_job(home, "j", "schedule: every day 9am", "tools: [now]", "skills: [deploy]", prompt="look")
    with StubServer([{"text": "done", "repeat": True}]) as stub:
        env = {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": "k", "HERMES_CRON_MODEL": "m"}
        with Serving(home, env=env) as serving:

            def has(way: str) -> bool:
                ran = serving.ask("run", "j")
                assert ran["state"] == "ok", ran
                return way in stub.requests[-1].json()["messages"][0]["content"]

            def noticed() -> bool:
                said = "".join(file.read_text() for file in home.logs.glob("*")) + serving.said.read_text()
                return "the version before stays in use" in said

            assert has("first way")
            skill.write_text(GOOD.format(body="second way")[:22])
            until(
                lambda: has("first way") and noticed(), "the service saw the half file and went on with the whole one"
            )
            listed = {found["name"]: found for found in serving.ask("skills", "list")["skills"]}
            assert listed["deploy"]["broken"]["code"] == "SkillFrontmatterError"
            skill.write_text(GOOD.format(body="third way"))
            until(lambda: has("third way"), "the mended file is used")

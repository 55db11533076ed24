"""A long run in a small window as people meet it: what was sent, what they can still find, what it cost."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain.compaction import unpaired
from hermes_cron.domain.tokens import message_tokens
from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.compaction_rig import SUMMARY
from tests.conftest import RunCli

STEPS = 149
ROOT = Path(__file__).parents[2]
TASK = "Look at every shard of prod, one after the other, and say which one is slow. 逐一检查所有分片。"
LOOK = """
from hermes_cron.tools.declaration import Arguments, Tool

class Look(Arguments):
    shard: str

def look(arguments, context):
    return "shard " + arguments.shard + " answers in 12 ms, nothing waits, replica is up to date" + " ." * 40

TOOL = Tool(name="look", toolset="test", description="Looks at a shard.", arguments=Look, handler=look)
"""
JOB = f"""---
schedule: every day 9am
timezone: UTC
tools: [look, memory, session_search]
learn: off
limits: {{{{iterations: 300{{limits}}}}}}
---
{TASK}
"""
CONFIG = """
[compaction]
engine = "{engine}"
[model]
{window}
auxiliary = "aux"
[learning]
memory_turns = 0
skill_iterations = 0
"""
FACT = {"action": "add", "content": "prod has 149 shards"}


def script(steps: int, refused: dict[str, Any] | None, aside: dict[str, Any]) -> dict[str, Any]:
    """The run's model, and the auxiliary one that keeps memory and sums up. Nobody counts the run's tokens."""
    step = {"repeat": steps, "usage": None, "tool_calls": [{"name": "look", "arguments": {"shard": "no{{n}}end"}}]}
    flush = [
        {"usage": None, "tool_calls": [{"name": "memory", "arguments": FACT}]},
        {"text": "Nothing to save.", "usage": {"prompt_tokens": 70, "completion_tokens": 7}, "repeat": True},
    ]
    summary = {"text": SUMMARY, "usage": {"prompt_tokens": 500, "completion_tokens": 50}, "repeat": True}
    return {
        "conversations": [
            {"model": "aux", "contains": "You keep the memory of an agent", "replies": flush},
            {"model": "aux", "replies": [aside or summary]},
        ],
        "replies": [
            *((step, refused) if refused else ()),
            step,
            {"text": "Shard no77end is the slow one.", "usage": None},
        ],
    }


@dataclass(frozen=True, kw_only=True)
class Ran:
    told: dict[str, Any]
    main: list[list[dict[str, Any]]]
    aside: list[dict[str, Any]]
    notes: str
    raw: list[bytes]
    run: Callable[..., Any]


@pytest.fixture
def long_run(home: Home, run_cli: RunCli) -> Callable[..., Ran]:
    plain = home.config.read_text()

    def run(
        *,
        window: int | None = 6_000,
        models: list[Any] | None = None,
        steps: int = STEPS,
        engine: str = "summary",
        limits: str = "",
        refused: dict[str, Any] | None = None,
        path: str = "",
        **aside: Any,
    ) -> Ran:
        home.tools.mkdir(exist_ok=True)
        (home.tools / "look.py").write_text(LOOK)
        (home.jobs / "j.md").write_text(JOB.format(limits=limits and f", {limits}"))
        said = "" if window is None else f"window = {window}"
        home.config.write_text(plain + CONFIG.format(window=said, engine=engine))
        with StubServer(script(steps, refused, aside) | {"models": models or []}) as stub:
            env = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}
            env |= {"PYTHONPATH": f"{path}:{ROOT}"} if path else {}
            ran = run_cli("run", "j", "--json", env=env)
            assert ran.out, ran.err
            told = json.loads(ran.out)
            bodies = [request.json() for request in stub.requests]
            raw = [request.body for request in stub.requests if request.json()["model"] == "stub-model"]
        return Ran(
            told=told,
            main=[body["messages"] for body in bodies if body["model"] == "stub-model"],
            aside=[body for body in bodies if body["model"] == "aux"],
            notes=ran.err,
            raw=raw,
            run=lambda *argv: json.loads(run_cli(*argv, "--json").out),
        )

    return run


def test_three_hundred_messages_in_a_small_window(long_run: Callable[..., Ran], home: Home, run_cli: RunCli) -> None:
    """Check 7 of the issue, but for the kills."""
    it = long_run()
    run_id = it.told["run_id"]
    assert (it.told["state"], it.told["iterations"], it.told["tool_calls"]) == ("ok", STEPS + 1, STEPS)
    assert it.told["text"].strip() == "Shard no77end is the slow one."

    # every request is valid, within the window, and holds the task word for word
    assert len(it.main) == STEPS + 1
    for messages in it.main:
        assert unpaired(messages) is None
        assert sum(map(message_tokens, messages)) < 6_000 * 85 // 100
        assert messages[1]["content"] == it.main[0][1]["content"]
        assert TASK in messages[1]["content"]
        assert messages[0] == it.main[0][0]
    cuts = [at for at in range(1, len(it.main)) if it.main[at][: len(it.main[at - 1])] != it.main[at - 1]]
    assert len(cuts) >= 4, "compacted several times"

    grown = [after.startswith(before.removesuffix(b"]}")) for before, after in itertools.pairwise(it.raw)]
    assert grown == [at not in cuts for at in range(1, len(it.main))], "byte for byte, except at a compaction"
    assert it.notes.count("  context: rows 4-") == len(cuts)

    # both ends of each compaction are as they were before it
    for at in cuts:
        before, after = it.main[at - 1], it.main[at]
        assert after[:4] == before[:4]
        assert after[-20:-2] == before[-18:]

    # the chain can be walked
    (chain,) = it.run("sessions", "show", it.told["run_id"], "--lineage")["sessions"]
    segments = chain["segments"]
    assert len(segments) == len(cuts) + 1
    assert segments[0]["compaction"] is None
    covers = [row["covers"] for segment in segments[1:] for row in segment["compaction"]["rows"]]
    assert all(inner[0] == outer[0] and inner[1] < outer[1] for inner, outer in itertools.pairwise(covers))
    assert all(
        [each["kind"] for each in segment["compaction"]["beside"]] == ["flush", "summary"] for segment in segments[1:]
    )
    shown = run_cli("sessions", "show", run_id, "--lineage").out
    assert f"segment {len(segments)}" in shown
    assert "a summary in the place of rows 4-" in shown

    aside = segments[1]["compaction"]["beside"][1]["session"]
    (side,) = it.run("sessions", "show", aside, "--lineage")["sessions"]
    assert side["parent"] == {"session": chain["session"], "up_to": covers[0][1]}

    # what was compacted is found once, by people, and can be taken elsewhere
    hits = it.run("sessions", "search", "no3end")["hits"]
    assert {hit["session"] for hit in hits} == {chain["session"]}
    assert sorted(hit["role"] for hit in hits) == ["assistant", "tool"]
    assert not it.run("sessions", "search", "owner")["hits"], "a summary says again what others said"
    exported = [json.loads(line) for line in run_cli("sessions", "export", chain["session"]).out.splitlines()]
    assert sum(row["role"] in ("user", "assistant", "tool") for row in exported) == 2 * STEPS + 2
    assert [row["covers"] for row in exported if row["role"] == "compaction"] == covers

    # memory first, by its tool alone; then the summary; both by the auxiliary model, both counted
    trace = it.run("runs", "trace", run_id)["steps"]
    order = [step["phase"] if step["step"] != "compaction" else "cut" for step in trace]
    assert order.index("flush") < order.index("summary") < order.index("cut")
    flushes = [body for body in it.aside if "tools" in body]
    assert {tuple(tool["function"]["name"] for tool in body["tools"]) for body in flushes} == {("memory",)}
    assert home.memories.joinpath("MEMORY.md").read_text().count("prod has 149 shards") == 1
    usage = {line["phase"]: line for line in it.run("usage", "--by", "phase")["lines"]}
    summaries = [body for body in it.aside if "tools" not in body]
    assert (usage["summary"]["calls"], usage["flush"]["calls"]) == (len(summaries), len(flushes))
    assert usage["summary"]["tokens"] == {"input": 500 * len(summaries), "output": 50 * len(summaries), "cached": 0}
    aside_tokens = sum(
        sum(usage[phase]["tokens"][way] for way in ("input", "output")) for phase in ("flush", "summary")
    )
    told = it.run("runs", "show", run_id)
    assert told["compaction"] == {"model_calls": len(it.aside), "tokens": aside_tokens}
    (line,) = (line for line in run_cli("runs", "show", run_id).out.splitlines() if line.startswith("  usage"))
    assert f"{STEPS + 1} model calls, " in line
    assert f" tokens ({aside_tokens:,} of them for compaction, {len(it.aside)} model calls), " in line


def test_a_run_whose_summaries_fail_goes_on_with_digests_and_says_so(
    long_run: Callable[..., Ran], run_cli: RunCli
) -> None:
    it = long_run(window=3_000, steps=40, status=400, body={"error": {"message": "no such model: aux"}}, repeat=True)
    assert (it.told["state"], it.told["tool_calls"]) == ("ok", 40)
    for messages in it.main:
        assert unpaired(messages) is None
        assert TASK in messages[1]["content"]
    shown = run_cli("sessions", "show", it.told["run_id"], "--lineage").out
    assert "a digest, since no summary could be made, in the place of rows 4-" in shown
    assert "no summary could be made, a digest stands in its place" in it.notes
    assert "digest, no summary" in run_cli("runs", "trace", it.told["run_id"]).out
    assert "未能生成摘要" in str(it.main[-1]), "in the language of the task"
    assert it.run("sessions", "search", "no3end")["hits"]


def test_caps_hold_for_what_is_asked_beside_a_run_too(long_run: Callable[..., Ran]) -> None:
    it = long_run(window=3_000, limits="tokens: 150_000")
    assert (it.told["state"], it.told["reason"]) == ("budget_exhausted", "limits.tokens")
    used = it.run("usage", "--by", "phase")
    assert {"main", "summary"} <= {line["phase"] for line in used["lines"]}
    assert used["total"]["tokens"]["input"] + used["total"]["tokens"]["output"] <= 150_000


def test_what_the_server_says_of_its_window_is_believed(long_run: Callable[..., Ran]) -> None:
    refusal = {"message": "request (3100 tokens) exceeds the available context size (3072 tokens)", "n_ctx": 3072}
    it = long_run(window=100_000, steps=30, refused={"status": 400, "body": {"error": refusal}})
    assert (it.told["state"], it.told["iterations"], it.told["tool_calls"]) == ("ok", 61, 60)
    first_cut = next(at for at in range(1, len(it.main)) if len(it.main[at]) < len(it.main[at - 1]))
    assert first_cut == 31, "one refusal, one compaction, one more try"
    assert all(sum(map(message_tokens, messages)) < 3_072 for messages in it.main[first_cut:])


def test_a_window_that_nobody_configured_is_read_from_the_servers_list(long_run: Callable[..., Ran]) -> None:
    it = long_run(window=None, steps=100, models=[{"id": "stub-model", "max_model_len": 9_000}])
    assert it.told["state"] == "ok"
    largest = max(sum(map(message_tokens, messages)) for messages in it.main)
    assert 3_000 < largest < 9_000 // 2


ENGINE = """
from hermes_cron.domain.compaction import Compacted, How, sent

class OneStep:
    def __init__(self, bench):
        self.bench = bench

    def due(self, load):
        return load.tokens > 2_000

    def compact(self, work):
        placed = [each for each in sent(work.rows) if each.first > 1]
        if len(placed) < 3:
            return []
        message = {"role": "user", "content": f"of {work.load.window} tokens: two rows were here"}
        return [Compacted(first=placed[0].first, last=placed[1].last, message=message, how=How.SUMMARY)]
"""


def test_another_engine_is_called_by_its_name_in_the_config(
    long_run: Callable[..., Ran], home: Home, run_cli: RunCli, tmp_path: Path
) -> None:
    (tmp_path / "my_engines.py").write_text(ENGINE)
    it = long_run(window=50_000, steps=60, engine="my_engines:OneStep", path=str(tmp_path))
    assert it.told["state"] == "ok"
    assert "of 50000 tokens: two rows were here" in str(it.main[-1])
    assert not it.aside
    wrong = run_cli("config", "set", "compaction.engine", "whatever")
    assert wrong.rc in (2, 78)
    assert "MODULE:NAME" in wrong.err
    missing = long_run(window=50_000, steps=20, engine="my_engines:Absent", path=str(tmp_path))
    assert missing.told["state"] == "failed"
    assert "my_engines:Absent" in missing.told["error"]

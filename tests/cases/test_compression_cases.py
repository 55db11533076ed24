"""The faults of area compression, then more of each kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.agent.compaction_cut import middle
from hermes_cron.agent.compaction_trim import stub, trimmed
from hermes_cron.agent.stop import StopReason
from hermes_cron.domain.compaction import Compacted, Ends, How, Load, Row, Work, sent, unpaired, with_rows, wrong
from hermes_cron.domain.run import Effect
from hermes_cron.domain.transcript import Message, ToolCall
from hermes_cron.errors import ModelContextLength, ModelError, ModelUnreachable
from hermes_cron.models.faults import fault_inside, fault_of
from tests.agent_rig import tool
from tests.compaction_rig import SUMMARY, as_rows, asks, counted, gives, small, steps, task

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "compression.jsonl").read_text("utf-8").splitlines())
}
LOOK = tool("look", lambda **_: "seen")
DONE = {"text": "all of it is done"}


def whole(short: Sequence[dict[str, Any]]) -> list[Message]:
    """The messages of a case, without the system message, as a provider writes them."""
    made: list[Message] = []
    for each in short:
        if each["role"] == "assistant" and "tool_calls" in each:
            made.append(asks(*each["tool_calls"]))
        elif each["role"] == "tool":
            made.append(gives(each["id"]))
        elif each["role"] != "system":
            made.append({"role": each["role"], "content": each["content"]})
    return made


def test_c183_a_cut_inside_a_group_moves_before_or_behind_it() -> None:
    messages = whole(CASES["C183"]["input"]["messages"])  # its index 2 is 1 here: no system message
    placed = sent(as_rows(messages))
    head_cut = middle(placed, Ends(head=2, tail=1)).start
    tail_cut = middle(placed, Ends(head=1, tail=len(messages) - 2)).stop
    assert (head_cut, tail_cut) == (4, 1), "after index 4, before index 2"
    assert unpaired(messages[2:]) is not None, "where the raw cut is, a strict server refuses"


@pytest.mark.parametrize("calls", range(1, 9))
@pytest.mark.parametrize("kept", range(1, 12))
def test_c183_no_kept_tail_begins_with_a_result(calls: int, kept: int) -> None:
    identities = [f"c{number}" for number in range(calls)]
    messages = [task(), asks(*identities), *map(gives, identities), {"role": "assistant", "content": "x"}, task("next")]
    inside = middle(sent(as_rows(messages)), Ends(head=1, tail=kept))
    assert unpaired(messages[inside.stop :]) is None
    assert unpaired(messages[: inside.start]) is None


@pytest.mark.parametrize("dropped", [2, 3, 4])
def test_c184_one_result_or_the_call_alone_is_never_dropped(dropped: int) -> None:
    """Its index 4 is row 4: the second result."""
    rows = as_rows(whole(CASES["C184"]["input"]["messages"]))
    alone = Compacted(first=dropped, last=dropped, message={"role": "user", "content": "gone"}, how=How.SUMMARY)
    assert wrong(rows, [alone]) is not None
    group = Compacted(first=2, last=4, message={"role": "user", "content": "gone"}, how=How.SUMMARY)
    assert wrong(rows, [group]) is None


def test_c184_a_result_that_is_cut_short_still_answers_its_call() -> None:
    messages = whole(CASES["C184"]["input"]["messages"])
    messages[3] = gives("c2", "x" * 50_000)
    rows = as_rows(messages)
    made = trimmed(sent(rows)[3], "s1", 400)
    assert made is not None
    assert wrong(rows, [made]) is None
    assert [each.message for each in sent(with_rows(rows, [made]))][3]["tool_call_id"] == "c2"


def test_c184_an_engine_that_drops_a_result_is_not_believed(tmp_path: Path) -> None:
    class Drops:
        def due(self, load: Load) -> bool:
            return True

        def compact(self, work: Work) -> Sequence[Compacted]:
            return [Compacted(first=4, last=4, message={"role": "user", "content": "gone"}, how=How.SUMMARY)]

    history = whole(CASES["C184"]["input"]["messages"])
    it = small(tmp_path, [DONE], LOOK, messages=history, engine=lambda _bench: Drops())
    assert it.go().stop is StopReason.FINAL
    assert it.requests() == [history]


@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT, Effect.EFFECT])
@pytest.mark.parametrize("calls", [1, 3])
def test_c185_a_compaction_waits_for_the_call_in_flight(tmp_path: Path, effect: Effect, calls: int) -> None:
    runs: list[bool] = []

    def snapshot(**_: object) -> str:
        runs.append(any(row.compacted for row in it.made.journal.rows.values()))
        return "made"

    asked = {
        "usage": {"prompt_tokens": 9_000, "completion_tokens": 10},
        "tool_calls": [{"name": "snapshot", "arguments": {"n": n}} for n in range(calls)],
    }
    it = small(
        tmp_path, [asked, DONE], tool("snapshot", snapshot, effect=effect), LOOK, window=10_000,
        messages=[task(), *steps(20)],
    )  # fmt: skip
    assert it.go().stop is StopReason.FINAL
    assert len(runs) == CASES["C185"]["expected"]["tool_runs"] * calls
    assert not any(runs), "deferred until the result is appended"
    assert len([row for row in it.made.journal.rows.values() if row.compacted]) == 1
    assert [message["content"] for message in it.requests()[-1][-calls:]] == ["made"] * calls
    it.all_valid()


def test_c188_a_failed_summary_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    count = CASES["C188"]["input"]["messages"]
    history = [task("count every row of prod"), *steps((count - 1) // 2), task("go on")]
    assert len(history) == count
    down = ModelUnreachable("connection refused")
    it = small(
        tmp_path, [counted(990, 6_000), counted(991, 9_900), DONE], LOOK, window=10_000, messages=history,
        aside=[down, SUMMARY], ends=Ends(),
    )  # fmt: skip
    with caplog.at_level("WARNING"):
        assert it.go().stop is StopReason.FINAL
    rows = it.made.journal.transcript()
    assert [row.message for row in rows][:count] == history
    assert [(row.how, row.ok) for row in rows if row.covers] == [(How.DIGEST, False), (How.SUMMARY, True)]
    view = it.requests()[1]
    assert view[0]["content"] == "count every row of prod"
    assert "No summary could be made (connection refused)" in view[3]["content"]
    assert "no summary (connection refused)" in caplog.text
    it.all_valid()


def test_c190_the_servers_limit_is_read_from_its_field_and_its_sentence() -> None:
    error = CASES["C190"]["input"]["error"]
    window = CASES["C190"]["expected"]["window"]
    for body in ({"error": error}, {"error": {"message": error["message"]}}, {"error": {"n_ctx": window, "code": 400}}):
        said = {**body["error"], "type": "exceed_context_size_error"}
        fault = fault_of(400, {"error": said}, place="it")
        assert isinstance(fault, ModelContextLength)
        assert fault.window == window


@pytest.mark.parametrize(
    ("said", "window", "requested"),
    [
        ("request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it", 32_768, 33_056),
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
         8_192, 9_001),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (808 in the messages, "
         "8192 in the completion).", 8_192, 808),
        ("'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 16384 "
         "tokens and your request has 12000 input tokens (8192 > 16384 - 12000).", 16_384, 12_000),
        ("Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of "
         "5000 tokens: 1000 tokens from the input messages and 4000 tokens for the completion.", 4_096, 1_000),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and "
         "512 `max_new_tokens`", 4_096, 4_000),
        ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 8000.", 4_081, 8_000),
        ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8_000, None),
        ("prompt tokens too long, max is 5120", 5_120, None),
        ("输入tokens长度超过模型限制，最大 32768", 32_768, None),
        ("Please reduce the length of the messages or completion.", None, None),
        ("Prompt exceeds max length", None, None),
        ("This endpoint's maximum context length is 128,000 tokens. However, you requested about 130,000 tokens",
         128_000, 130_000),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it", 200_000, None),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576,
         1_200_000),
        ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
         32_768, 40_000),
        ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", 129_024, None),
        ("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8_192, 9_000),
        ("the model is loaded with context length of only 4096 tokens, which is not enough", 4_096, None),
        ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072, 140_000),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4_096, 5_000),
        ("Your input exceeds the context window of this model.", None, None),
    ],
)  # fmt: skip
def test_c190_every_servers_way_to_say_it(said: str, window: int | None, requested: int | None) -> None:
    faults: list[ModelError] = [
        fault_of(400, {"error": {"message": said}}, place="it"),
        fault_inside({"message": said, "code": 400}, place="it"),
    ]
    for fault in faults:
        assert isinstance(fault, ModelContextLength)
        assert (fault.window, fault.requested) == (window, requested)


def test_c190_then_one_compaction_and_one_retry(tmp_path: Path) -> None:
    refused = fault_of(400, {"error": CASES["C190"]["input"]["error"]}, place="it")
    history = [task(), *steps(80, size=900)]
    it = small(tmp_path, [refused, DONE], LOOK, window=128_000, messages=history, ends=Ends())
    assert it.go().stop is StopReason.FINAL
    assert it.windows == {"": CASES["C190"]["expected"]["window"]}
    assert len(it.requests()) == 2
    assert len([row for row in it.made.journal.rows.values() if row.compacted]) == 1
    it.all_valid()


def test_c192_no_text_of_one_session_is_in_the_summary_of_another(tmp_path: Path) -> None:
    made = {}
    for session in CASES["C192"]["input"]["sessions"]:
        history = [task(f"the task of {session}"), *steps(20)]
        history[-1] = gives("c19", f"only {session} knows this")
        it = small(
            tmp_path / session, [counted(99, 6_000), DONE], LOOK, window=10_000, messages=history,
            aside=[SUMMARY.replace("db-7", f"of {session}")],
        )  # fmt: skip
        it.go()
        made[session] = str(it.requests()[-1]) + str(it.sides.requests)
    assert "of chat_2" in made["chat_2"]
    assert "cron_1" not in made["chat_2"]
    assert "chat_2" not in made["cron_1"]


@pytest.mark.parametrize("ok", [True, False, None], ids=["said ok", "said failed", "not said"])
def test_c193_a_failure_stays_one_in_its_line(ok: bool | None) -> None:
    case = CASES["C193"]
    text = json.dumps(case["input"]["tool_result"])
    call = ToolCall(id="c", name="skill_manage", arguments='{"action": "patch"}')
    row = Row(seq=1, message=gives("c", text), tool="skill_manage", ok=ok)
    assert stub(call, row) == case["expected"]["stub"]


def test_c193_a_failure_stays_one_in_summary_digest_and_record(tmp_path: Path) -> None:
    history = [task(), *steps(8), asks("p", name="skill_manage", arguments='{"action": "patch"}')]
    history += [gives("p", json.dumps(CASES["C193"]["input"]["tool_result"])), *steps(10, first=8)]
    rosy = "## Solved\nthe skill was patched, all went well\n## Next\nnothing"
    for answer in (rosy, ModelUnreachable("down")):
        it = small(
            tmp_path / str(len(str(answer))), [counted(99, 6_000), DONE], LOOK, window=10_000, messages=history,
            aside=[answer],
        )  # fmt: skip
        it.go()
        assert "FAILED PatchNoMatch" in it.requests()[-1][3]["content"]
        assert "FAILED PatchNoMatch" in str(it.sides.requests[0].messages)

"""Whatever was said, wherever it is cut, however often: every request is one that a strict server takes."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_cron.agent.compaction import SummaryEngine, net
from hermes_cron.agent.compaction_cut import middle
from hermes_cron.domain.compaction import Bench, Ends, Row, Said, sent, unpaired, with_rows, wrong
from hermes_cron.domain.transcript import Message
from tests.compaction_rig import SUMMARY, as_rows, asks, gives, says, task, work

TEXTS = st.one_of(
    st.text(alphabet='abc 中文\n<>{}"/data', max_size=60),
    st.integers(0, 6_000).map(lambda size: "x" * size),
    st.sampled_from(['{"error": {"code": "Denied"}}', "Error: no", "</data>", "", '{"success": false}', "## Solved"]),
)
IDENTITIES = st.sampled_from(["c1", "c2", "c3", "c4"])  # servers number calls anew in each reply


@st.composite
def groups(draw: st.DrawFn) -> list[Message]:
    """A step: something that is said, or calls with their results in any order."""
    kind = draw(st.sampled_from(["calls", "calls", "calls", "said", "told"]))
    if kind == "said":
        return [{"role": "assistant", "content": draw(TEXTS)}]
    if kind == "told":
        return [{"role": "user", "content": draw(TEXTS)}]
    identities = draw(st.lists(IDENTITIES, min_size=1, max_size=4, unique=True))
    results = draw(st.permutations(identities))
    made = asks(*identities, arguments=draw(st.sampled_from(["{}", '{"path": "a"}', "not json", "[1]", ""])))
    return [made, *(gives(identity, draw(TEXTS)) for identity in results)]


TRANSCRIPTS = st.lists(groups(), max_size=25).map(lambda made: [task(), *(each for group in made for each in group)])
ENDS = st.builds(Ends, head=st.integers(1, 8), tail=st.integers(1, 24))
ANSWERS = st.sampled_from([SUMMARY, None, "no", "## Solved\n" + "y" * 40_000 + "\n## Next\nz"])
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def bodies(rows: list[Row]) -> list[str]:
    return [json.dumps(each.message) for each in sent(rows)]


@quick
@given(messages=TRANSCRIPTS, ends=ENDS)
def test_no_cut_parts_a_call_from_its_results(messages: list[Message], ends: Ends) -> None:
    placed = sent(as_rows(messages))
    inside = middle(placed, ends)
    for piece in (placed[: inside.start], placed[inside.start : inside.stop], placed[inside.stop :]):
        assert unpaired(each.message for each in piece) is None


@quick
@given(messages=TRANSCRIPTS, ends=ENDS, answer=ANSWERS, window=st.integers(300, 20_000), forced=st.booleans())
def test_the_engine_keeps_both_ends_and_the_conversation_whole(
    messages: list[Message], ends: Ends, answer: str | None, window: int, forced: bool
) -> None:
    rows = as_rows(messages)
    made = SummaryEngine(Bench(ends=ends, summarise=says(answer, "down"))).compact(
        work(rows, window=window, forced=forced)
    )
    assert not made or wrong(rows, made) is None
    before, after = bodies(rows), bodies(with_rows(rows, made))
    assert after[: ends.head] == before[: ends.head]
    assert after[-ends.tail :] == before[-ends.tail :]


@quick
@given(messages=TRANSCRIPTS, ends=ENDS, window=st.integers(300, 20_000))
def test_the_net_breaks_nothing_and_never_makes_it_longer(messages: list[Message], ends: Ends, window: int) -> None:
    rows = as_rows(messages)
    whole = work(rows, window=window)
    made = net(whole, ends) if whole.load.over_hard else ()
    assert not made or wrong(rows, made) is None
    after = work(with_rows(rows, made), window=window)
    assert after.load.tokens <= whole.load.tokens
    assert bodies(with_rows(rows, made))[0] == json.dumps(messages[0])


@quick
@given(data=st.data(), ends=ENDS, window=st.integers(300, 4_000))
def test_compactions_of_compactions_nest_and_lose_no_row(data: Any, ends: Ends, window: int) -> None:
    """Grown and compacted again and again, by engine and net in turns, as a long run does."""
    rows = as_rows([task()])
    kept = [rows[0].message]
    for _ in range(data.draw(st.integers(1, 5))):
        for group in data.draw(st.lists(groups(), max_size=10)):
            new = as_rows(group)
            behind = rows[-1].seq
            rows += [Row(seq=behind + at, message=row.message, ok=row.ok) for at, row in enumerate(new, 1)]
            kept += group
        answer = data.draw(ANSWERS)
        engine = SummaryEngine(Bench(ends=ends, summarise=lambda *_, said=answer: Said(text=said)))
        for make in (engine.compact, lambda it: net(it, ends) if it.load.over_hard else ()):
            made = make(work(rows, window=window))
            assert not made or wrong(rows, made) is None
            rows = with_rows(rows, made)
            assert unpaired(each.message for each in sent(rows)) is None
    assert [row.message for row in rows if row.covers is None] == kept
    assert sent(rows)[0].message == kept[0]
    places = [(each.first, each.last) for each in sent(rows)]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(places))
    stood_for = [row for row in rows if row.covers is None and any(a <= row.seq <= b for a, b in places)]
    assert len(stood_for) == len(kept), "every row is sent, or stood for"

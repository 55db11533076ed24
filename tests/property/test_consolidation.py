"""Whatever the memory holds: no fact goes unlisted, counts equal the difference, and a lossy rewrite is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import date

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hermes_cron.domain.entries import size
from hermes_cron.experience.consolidation import Done, Step, carried_out, plan
from hermes_cron.experience.consolidation_brief import understood
from hermes_cron.experience.consolidation_guard import Fault, Refusal, Rewrite, judged
from hermes_cron.experience.facts import Kind, missing, required
from hermes_cron.experience.memory import Target

TODAY = date(2026, 12, 1)

FACTS = st.sampled_from(
    [
        "5432", "15.18", "30 minutes", "1,000 rows", "2026-11-01", "9:30 pm", "Anna", "Ben Schmidt", "PostgreSQL",
        "db1.acme.io", "10.0.0.12", "prod-db", "/var/log/app", "~/.config/app.toml", "https://wiki.acme.io:8443/ops",
        "`make deploy`", "li.wei@acme.cn", "Fridays", "--force", "three",
    ]
)  # fmt: skip
ENGLISH = st.sampled_from(["the gateway", "backups", "the report", "staging", "prod", "a deploy", "the user"])
VERBS = st.sampled_from(
    ["is on", "runs with", "reads", "listens on", "never uses", "goes to", "is now", "no longer has"]
)
ENDS = st.sampled_from(
    ["", " until 2026-11-01", " (until 2027-01-01)", "; see {fact}", ", says Anna", " since the move"]
)
CHINESE_FACTS = st.sampled_from(
    ["5432", "十五天", "王芳", "db1.acme.cn", "/srv/备份", "周五", "“网关”", "https://wiki.acme.cn/运维"]
)
CHINESE = st.sampled_from(
    [
        "生产库在{}上",
        "备份保留{}",
        "由{}负责",
        "{}之前不发布",
        "端口现在是{}",
        "不再使用{}",
        "有效期至2026年11月1日，{}",
    ]
)


@st.composite
def english(draw: st.DrawFn) -> str:
    fact = draw(FACTS)
    return f"{draw(ENGLISH)} {draw(VERBS)} {fact}{draw(ENDS).format(fact=draw(FACTS))}"


@st.composite
def chinese(draw: st.DrawFn) -> str:
    return draw(CHINESE).format(draw(CHINESE_FACTS))


ENTRY = st.one_of(english(), chinese(), st.text(min_size=1, max_size=60).map(str.strip).filter(bool))
ENTRIES = st.lists(ENTRY, max_size=12)


def tidied(entries: Sequence[str], limit: int = 100_000) -> Done:
    return carried_out(Target.MEMORY, entries, plan(entries, TODAY), limit)


@settings(deadline=None)
@given(ENTRIES)
def test_every_fact_is_there_or_listed(entries: list[str]) -> None:
    done = tidied(entries)
    listed = {left.fact.key for step in done.steps for left in step.left}
    for fact in missing(entries, "\n".join(done.after)):
        assert fact.key in listed, fact
    for step in done.steps:
        if step.why.merges:
            assert missing(step.sources, step.by or "") == (), "what is merged loses nothing"


@settings(deadline=None)
@given(ENTRIES, st.integers(min_value=0, max_value=400))
def test_counts_are_those_of_the_difference_and_the_limit_holds(entries: list[str], limit: int) -> None:
    done = tidied(entries, limit)
    before, after = Counter(entries), Counter(done.after)
    assert (before - after).total() == done.merged + done.dropped
    assert (after - before).total() == done.written == 0
    assert done.kept == len(done.after)
    assert size(done.after) <= limit
    assert [entry for entry in entries if entry in after and before[entry] == 1] == [
        entry for entry in done.after if before[entry] == 1
    ], "what stays keeps its order"


@settings(deadline=None)
@given(ENTRIES)
def test_a_second_time_changes_nothing_and_the_same_entries_give_the_same_plan(entries: list[str]) -> None:
    assert plan(entries, TODAY) == plan(tuple(entries), TODAY)
    done = tidied(entries)
    assert not tidied(done.after).changed


@settings(deadline=None)
@given(st.lists(st.one_of(english(), chinese()), min_size=1, max_size=4, unique=True), st.data())
def test_a_rewrite_that_loses_any_one_fact_is_refused(sources: list[str], data: st.DataObject) -> None:
    whole = "\n".join(sources)
    facts = [fact for source in sources for fact in required(source) if fact.kind is not Kind.NEGATION]
    assume(facts)
    fact = data.draw(st.sampled_from(facts))
    text = whole.replace(fact.text, "").replace(fact.text.casefold(), "")
    assume(fact.key in {it.key for it in missing(sources, text)})  # said elsewhere in another form
    refusal = judged(Rewrite(sources=tuple(sources), text=text), Target.MEMORY, TODAY)
    assert isinstance(refusal, Refusal)
    assert refusal.fault is Fault.LOST


@settings(deadline=None)
@given(st.lists(st.one_of(english(), chinese()), min_size=1, max_size=3, unique=True), FACTS)
def test_a_rewrite_that_adds_a_fact_is_refused(sources: list[str], fact: str) -> None:
    text = f"{' '.join(sources)} {fact}"
    assume(missing([fact], "\n".join(sources)))
    assert isinstance(judged(Rewrite(sources=tuple(sources), text=text), Target.MEMORY, TODAY), Refusal)


@settings(deadline=None)
@given(st.lists(st.one_of(english(), chinese()), min_size=2, max_size=4, unique=True))
def test_what_is_only_put_together_is_never_called_lossy(sources: list[str]) -> None:
    found = judged(Rewrite(sources=tuple(sources), text="\n".join(sources)), Target.MEMORY, TODAY)
    assert isinstance(found, Step) or found.fault not in (Fault.LOST, Fault.INVENTED), found


@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_text_lacks_nothing_of_itself(text: str) -> None:
    assert missing([text], text) == ()


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.sampled_from(["M1", "M2", "U1", "[m1]"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["merge", "skills", "entries", "text", "dropped", "what", "entry"]), inner),
    ),
    max_leaves=20,
)
FILES = {Target.MEMORY: ("prod is db1", "prod has port 5433"), Target.USER: ("Anna reads on a phone",)}


@settings(deadline=None)
@given(st.one_of(st.text(), JSON.map(json.dumps), JSON.map(lambda it: json.dumps({"merge": it, "skills": it}))))
def test_no_answer_does_more_than_ask_for_entries_that_there_are(answer: str) -> None:
    wanted = understood(answer, FILES)
    for target, rewrites in wanted.rewrites.items():
        assert all(rewrite.sources and set(rewrite.sources) <= set(FILES[target]) for rewrite in rewrites)
    assert set(wanted.methods) <= {entry for entries in FILES.values() for entry in entries}


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=3), st.text(max_size=80))
def test_any_text_is_taken_or_refused(sources: list[str], text: str) -> None:
    found = judged(Rewrite(sources=tuple(sources), text=text), Target.MEMORY, TODAY)
    assert isinstance(found, Step | Refusal)
    if isinstance(found, Step):
        assert missing(sources, text) == ()

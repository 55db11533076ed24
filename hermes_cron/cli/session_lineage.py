"""How are the segments of a session shown? Oldest first, with what made room between each two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_cron.cli import when
from hermes_cron.cli.context import Cli
from hermes_cron.cli.run_learned import kind_of

if TYPE_CHECKING:
    from hermes_cron.store.lineage import Lineage, Segment, Stand

_TEXTS = {
    "en": {
        "session": "session {id}",
        "of": "works for a compaction of session {id}, rows up to {seq}",
        "looks_back": "a review: looks back at session {id}",
        "segment": "  segment {n}  {rows}, {messages:,} messages sent, about {tokens:,} tokens",
        "added": "rows {first}-{last}", "nothing": "no new rows",
        "made": "  {at}  row {seq}: {how} in the place of rows {first}-{last}",
        "trims": "  {at}  rows {seqs}: {count:,} results trimmed",
        "beside": "    {kind}: hermes-cron sessions show {id}",
        "summary": "a summary", "digest": "a digest", "trim": "a trimmed result",
        "no_summary": "a digest, since no summary could be made,",
        "empty": "  nothing was said",
    },
    "zh": {
        "session": "会话 {id}",
        "of": "为会话 {id} 的压缩而设，至第 {seq} 行",
        "looks_back": "回顾会话 {id}",
        "segment": "  第 {n} 段  {rows}，发送 {messages:,} 条消息，约 {tokens:,} token",
        "added": "第 {first}-{last} 行", "nothing": "没有新行",
        "made": "  {at}  第 {seq} 行：{how}，代替第 {first}-{last} 行",
        "trims": "  {at}  第 {seqs} 行：截短了 {count:,} 个结果",
        "beside": "    {kind}：hermes-cron sessions show {id}",
        "summary": "摘要", "digest": "整理", "trim": "截短的结果",
        "no_summary": "整理（未能生成摘要）",
        "empty": "  没有内容",
    },
}  # fmt: skip


def show(state: Cli, chains: Sequence[Lineage]) -> None:
    """As lines, or as one object. Of several, those that worked for a compaction stand with the one they worked for."""
    if len(chains) > 1:
        chains = [chain for chain in chains if chain.up_to is None]
    if state.json:
        state.emit_json({"sessions": [_as_json(chain) for chain in chains]})
        return
    for chain in chains:
        for line in _lines(chain, state):
            state.out(line)


def _lines(chain: Lineage, state: Cli) -> Iterator[str]:
    texts = _TEXTS[state.lang]
    yield texts["session"].format(id=chain.session)
    if chain.parent is not None:
        form = texts["looks_back" if chain.up_to is None else "of"]
        yield "  " + form.format(id=chain.parent, seq=chain.up_to)
    for segment in chain.segments:
        yield from _made(segment, state)
        added = texts["nothing"]
        if segment.first is not None:
            added = texts["added"].format(first=segment.first, last=segment.last)
        yield texts["segment"].format(n=segment.number, rows=added, messages=segment.messages, tokens=segment.tokens)
    if not chain.segments:
        yield texts["empty"]
    yield ""


def _made(segment: Segment, state: Cli) -> Iterator[str]:
    texts = _TEXTS[state.lang]
    zone = ZoneInfo(state.settings.timezone)
    at = "" if segment.at is None else when.due(segment.at, zone, state.lang, now=state.clock.now())
    trims = [stand for stand in segment.made if stand.how == "trim"]
    if trims:
        yield texts["trims"].format(at=at, seqs=", ".join(str(stand.first) for stand in trims), count=len(trims))
    for stand in segment.made:
        if stand not in trims:
            yield texts["made"].format(at=at, seq=stand.seq, how=texts[_how(stand)], first=stand.first, last=stand.last)
    for each in segment.beside:
        yield texts["beside"].format(kind=kind_of(each.kind, state.lang), id=each.session)


def _how(stand: Stand) -> str:
    return stand.how.value if stand.ok else "no_summary"


def _as_json(chain: Lineage) -> dict[str, object]:
    return {
        "session": chain.session,
        "parent": None if chain.parent is None else {"session": chain.parent, "up_to": chain.up_to},
        "segments": [
            {
                "number": segment.number,
                "rows": None if segment.first is None else [segment.first, segment.last],
                "messages": segment.messages,
                "tokens": segment.tokens,
                "compaction": _compaction(segment),
            }
            for segment in chain.segments
        ],
    }


def _compaction(segment: Segment) -> dict[str, object] | None:
    """What began the segment; None for the first."""
    if not segment.made:
        return None
    return {
        "at": segment.at,
        "rows": [
            {"seq": each.seq, "how": each.how.value, "covers": [each.first, each.last], "ok": each.ok}
            for each in segment.made
        ],
        "beside": [{"session": each.session, "kind": each.kind} for each in segment.beside],
    }

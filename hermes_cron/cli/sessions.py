"""``sessions``: find what was said in runs, read it, take it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer
from typer.core import TyperCommand

from hermes_cron.cli import jobs_known, output, session_lineage, when
from hermes_cron.cli.context import Cli, cli
from hermes_cron.cli.run_states import known_states

if TYPE_CHECKING:
    import click

    from hermes_cron.desks.summing_up import Summary
    from hermes_cron.domain.session import Found, Hit, Said, Within

app = typer.Typer(
    help="What was said in runs: search it, read it, export it.", add_completion=False, no_args_is_help=True
)

HELP_ZH = {
    "What was said in runs: search it, read it, export it.": "运行中说过的话：搜索、阅读、导出。",
    "Messages that say all these words, the best first.": "包含所有这些词的消息，最匹配的在前。",
    "All that was said in a run, or in one of its sessions.": "一次运行（或其中一个会话）的全部内容。",
    "The rows of a run's sessions as JSON lines.": "把运行的会话逐行导出为 JSON。",
    "Check the index of words; make it anew from the messages where it is damaged.": "检查词索引；损坏时由消息重建。",
    'Words: a b, a OR b, "a phrase", -without, begin*': '要找的词：a b、a OR b、"短语"、-排除、前缀*',
    "Only runs of this job.": "只看此任务的运行。",
    "Only runs of this source.": "只看此来源的运行。",
    "Only runs in this state (repeatable).": "只看此状态的运行（可重复）。",
    "Not before: 2h, 7d, or 2026-12-01T09:00.": "不早于：2h、7d 或 2026-12-01T09:00。",
    "Before: 2h, 7d, or 2026-12-01T09:00.": "早于：2h、7d 或 2026-12-01T09:00。",
    "The best first, or the newest.": "最匹配的在前，或最新的在前。",
    "At most so many.": "最多显示多少条。",
    "Ask the auxiliary model what the messages say together; it costs a call.": "请辅助模型概括；需一次模型调用。",
    "How many messages before and after each.": "每条前后各显示多少条消息。",
    "The run's or session's id, or its beginning.": "运行或会话的 id，或其开头。",
    "A new file (default: standard output).": "新文件（默认标准输出）。",
    "Instead: the segments it went through, a compaction between each two.": "改为显示各段，每两段之间为一次压缩。",
    "Only check; exit code 1 when it is damaged.": "只检查；损坏时退出码为 1。",
    "Make it anew although nothing is wrong.": "即使没有问题也重建。",
}

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "none": "No message says that.",
        "nothing": "There is no word in this to look for.",
        "one": "1 message", "many": "{n:,} messages",
        "capped": "More than {n:,} messages; of the newest {n:,} the {how}",
        "best": "best", "newest": "newest",
        "summary": "Summary by {model}, {cost} (run {id}):", "cost": "{usd} USD", "free": "cost unknown",
        "no_summary": "No summary: {why} (run {id})",
        "left_out": "The last {n} words were not looked for: a query has {most} at most.",
        "behind": "What was said last is not all in the index yet; search again for it.",
        "session": "session", "run": "run", "job": "job", "began": "began", "of": "{source}, {state}",
        "empty": "Nothing was said in run {id}.",
        "exported": "{n:,} lines in {file}",
        "sound": "The index of words is sound.",
        "damaged": "The index of words is damaged: {what}",
        "rebuilt": "The index of words was made anew from the messages.",
    },
    "zh": {
        "none": "没有消息包含这些词。",
        "nothing": "其中没有可以搜索的词。",
        "one": "1 条消息", "many": "{n:,} 条消息",
        "capped": "超过 {n:,} 条消息；以下取自最新的 {n:,} 条，{how}",
        "best": "最匹配的在前", "newest": "最新的在前",
        "summary": "{model} 的概括，{cost}（运行 {id}）：", "cost": "{usd} 美元", "free": "费用未知",
        "no_summary": "没有概括：{why}（运行 {id}）",
        "left_out": "最后 {n} 个词没有搜索：一次最多 {most} 个词。",
        "behind": "最近的内容尚未全部进入索引；请再搜索一次。",
        "session": "会话", "run": "运行", "job": "任务", "began": "开始", "of": "{source}，{state}",
        "empty": "运行 {id} 没有任何内容。",
        "exported": "{file} 共 {n:,} 行",
        "sound": "词索引完好。",
        "damaged": "词索引已损坏：{what}",
        "rebuilt": "词索引已由消息重建。",
    },
}  # fmt: skip
_SHORT = 100
_MINUS = "\u2212"
_OPTIONS = frozenset({"-q", "-y", "-h"})


class Sort(StrEnum):
    """The order of what is found."""

    BEST = "best"
    NEWEST = "newest"


class SourceOption(StrEnum):
    """``domain.session.Source``, for the command line's help."""

    SCHEDULE = "schedule"
    CLI = "cli"


class _Query(TyperCommand):
    """``-word`` excludes a word; click would read it as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_MINUS + arg[1:] if _excludes(arg) else arg for arg in args])


def _excludes(arg: str) -> bool:
    return len(arg) > 1 and arg[0] == "-" and arg[1] != "-" and arg not in _OPTIONS


Id = Annotated[str, typer.Argument(metavar="RUN|SESSION", help="The run's or session's id, or its beginning.")]


@app.command("search", cls=_Query, help="Messages that say all these words, the best first.")
def search(
    query: Annotated[
        list[str], typer.Argument(metavar="WORDS", help='Words: a b, a OR b, "a phrase", -without, begin*')
    ],
    *,
    job: Annotated[str | None, typer.Option("--job", help="Only runs of this job.")] = None,
    source: Annotated[SourceOption | None, typer.Option("--source", help="Only runs of this source.")] = None,
    wanted: Annotated[list[str] | None, typer.Option("--state", help="Only runs in this state (repeatable).")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Not before: 2h, 7d, or 2026-12-01T09:00.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Before: 2h, 7d, or 2026-12-01T09:00.")] = None,
    sort: Annotated[Sort, typer.Option("--sort", help="The best first, or the newest.")] = Sort.BEST,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 10,
    around: Annotated[
        int, typer.Option("--around", min=0, max=20, help="How many messages before and after each.")
    ] = 1,
    summarize: Annotated[
        bool,
        typer.Option("--summarize", help="Ask the auxiliary model what the messages say together; it costs a call."),
    ] = False,
) -> int:
    from hermes_cron.domain.session import Source, Wanted

    state = cli()
    words = " ".join("-" + word[1:] if word[0] == _MINUS else word for word in query if word)
    found = state.app.sessions.search(
        Wanted(
            words=words,
            jobs=() if job is None else (_job(state, job),),
            sources=() if source is None else (Source(source.value),),
            states=known_states(wanted or ()),
            since=_instant(since, state),
            until=_instant(until, state),
            newest=sort is Sort.NEWEST,
            limit=limit,
            around=around,
        )
    )
    summary = state.app.sessions.summed_up(words, found) if summarize and found.hits else None
    if state.json:
        told = {"summary": None if summary is None else _summary_json(summary)} if summarize else {}
        state.emit_json({"query": words} | told | _found_json(found))
    else:
        if summary is not None:
            _say(summary, state)
        for line in _lines(found, state, newest=sort is Sort.NEWEST):
            state.out(line)
    return 0 if summary is None or summary.ok else 1


def _say(summary: Summary, state: Cli) -> None:
    """Before what it sums up; why there is none is no part of the answer."""
    from hermes_cron.domain.money import dollars

    texts, row = _TEXTS[state.lang], summary.row
    if not summary.ok:
        state.note(texts["no_summary"].format(why=output.one_line(row["error"] or row["state"]), id=row["id"]))
        return
    cost = texts["free"] if row["cost_usd"] is None else texts["cost"].format(usd=dollars(row["cost_usd"]))
    state.out(texts["summary"].format(model=output.one_line(row["model"] or ""), cost=cost, id=row["id"]))
    state.out(f"{output.plain(summary.text).strip()}\n")


def _summary_json(summary: Summary) -> dict[str, object]:
    row = summary.row
    figures = ("state", "error", "model", "tokens_input", "tokens_output", "cost_usd")
    return {"text": summary.text if summary.ok else None, "run_id": row["id"], **{key: row[key] for key in figures}}


def _job(state: Cli, word: str) -> str:
    from hermes_cron.store.reader import resolve

    listed = jobs_known.current(state, removed=True).listed
    living = [each for each in listed if each.removed_at is None]
    return resolve([each for each in living if each.name == word] or listed, word).uid


def _instant(text: str | None, state: Cli) -> datetime | None:
    from hermes_cron.cli.explain import instant_or_ago

    return None if text is None else instant_or_ago(text, state.clock.now(), state)


def _lines(found: Found, state: Cli, *, newest: bool) -> Iterator[str]:
    from hermes_cron.domain.session import BEST_OF
    from hermes_cron.domain.session_query import MOST_WORDS

    texts = _TEXTS[state.lang]
    if found.nothing_asked:
        yield texts["nothing"]
    elif found.count is None:
        yield texts["capped"].format(n=BEST_OF, how=texts["newest" if newest else "best"])
    elif not found.count:
        yield texts["none"]
    else:
        yield texts["one"] if found.count == 1 else texts["many"].format(n=found.count)
    if found.left_out:
        yield texts["left_out"].format(n=found.left_out, most=MOST_WORDS)
    for hit in found.hits:
        yield ""
        yield from _hit(hit, state)
    if found.behind:
        yield f"\n{texts['behind']}"


def _hit(hit: Hit, state: Cli) -> Iterator[str]:
    within, texts = hit.within, _TEXTS[state.lang]
    at = "" if hit.message.at is None else when.due(
        hit.message.at, ZoneInfo(state.settings.timezone), state.lang, now=state.clock.now()
    )  # fmt: skip
    of = texts["of"].format(source=within.source, state=within.state)
    yield output.one_line(
        f"{hit.rank}. {texts['run']} {within.run_id}  {within.job} ({of})  {at}  "
        f"{texts['session']} {within.session}:{hit.message.seq}"
    )
    yield from (_neighbour(said, state) for said in hit.before)
    yield f"   {_who(hit.message)} > {output.one_line(hit.snippet)}"
    yield from (_neighbour(said, state) for said in hit.after)


def _neighbour(said: Said, state: Cli) -> str:
    columns = min(state.columns or _SHORT, _SHORT)
    return output.cut(f"   {_who(said)}: {output.one_line(said.text[: 4 * _SHORT])}", columns)


def _who(said: Said) -> str:
    return output.one_line(said.tool or said.role)


def _found_json(found: Found) -> dict[str, object]:
    return {
        "count": found.count,
        "newest_only": found.count is None,
        "nothing_asked": found.nothing_asked,
        "words_left_out": found.left_out,
        "behind": found.behind,
        "hits": [
            {
                "rank": hit.rank,
                "score": hit.score,
                **_within_json(hit.within),
                **_said_json(hit.message),
                "snippet": hit.snippet,
                "before": [_said_json(said) for said in hit.before],
                "after": [_said_json(said) for said in hit.after],
            }
            for hit in found.hits
        ],
    }


def _within_json(within: Within) -> dict[str, object]:
    return {
        "run_id": within.run_id,
        "job": within.job,
        "source": within.source,
        "state": within.state,
        "session": within.session,
        "kind": within.kind,
    }


def _said_json(said: Said) -> dict[str, object]:
    return {"seq": said.seq, "role": said.role, "tool": said.tool, "at": said.at, "text": said.text}


@app.command("show", help="All that was said in a run, or in one of its sessions.")
def show(
    word: Id,
    *,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Instead: the segments it went through, a compaction between each two.")
    ] = False,
) -> None:
    state = cli()
    desk = state.app.sessions
    if lineage:
        session_lineage.show(state, [desk.lineage(session) for session in desk.of(word)])
        return
    sessions = [desk.whole(session) for session in desk.of(word)]
    if state.json:
        state.emit_json(
            {
                "sessions": [
                    _within_json(within) | {"messages": [_said_json(each) for each in said]}
                    for within, said in sessions
                ]
            }
        )
        return
    if not any(said for _, said in sessions):
        state.out(_TEXTS[state.lang]["empty"].format(id=word))
    for within, said in sessions:
        for line in _session(within, said, state):
            state.out(line)


def _session(within: Within, said: Sequence[Said], state: Cli) -> Iterator[str]:
    texts, zone, now = _TEXTS[state.lang], ZoneInfo(state.settings.timezone), state.clock.now()
    yield f"{texts['session']} {within.session} ({within.kind})"
    of = texts["of"].format(source=within.source, state=within.state)
    yield output.facts([(texts["run"], f"{within.run_id} ({of})"), (texts["job"], output.one_line(within.job))])
    for each in said:
        at = "" if each.at is None else f"  {when.due(each.at, zone, state.lang, now=now)}"
        yield f"\n[{each.seq}] {_who(each)}{at}"
        yield output.plain(each.text).rstrip("\n")
    yield ""


@app.command("export", help="The rows of a run's sessions as JSON lines.")
def export(
    word: Id,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A new file (default: standard output).")] = None,
) -> None:
    state = cli()
    desk = state.app.sessions
    rows = (row for session in desk.of(word) for row in desk.exported(session))
    if file is None:
        for row in rows:
            state.out(output.to_json(row))
        return
    from hermes_cron.files import create_new

    lines = [output.to_json(row) for row in rows]
    place = file.expanduser().absolute()
    create_new(place, "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
    if state.json:
        state.emit_json({"file": str(place), "lines": len(lines)})
    else:
        state.out(_TEXTS[state.lang]["exported"].format(n=len(lines), file=place))


@app.command("reindex", help="Check the index of words; make it anew from the messages where it is damaged.")
def reindex(
    *,
    check: Annotated[bool, typer.Option("--check", help="Only check; exit code 1 when it is damaged.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Make it anew although nothing is wrong.")] = False,
) -> int:
    state = cli()
    texts = _TEXTS[state.lang]
    fault = state.app.sessions.fault()
    rebuild = not check and (force or fault is not None)
    if rebuild:
        state.app.sessions.rebuild()
    if state.json:
        state.emit_json({"fault": fault, "rebuilt": rebuild})
    else:
        state.out(texts["sound"] if fault is None else texts["damaged"].format(what=output.one_line(fault)))
        if rebuild:
            state.out(texts["rebuilt"])
    return 1 if check and fault is not None else 0

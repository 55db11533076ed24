"""``snapshots create list show diff restore verify gc push pull``: the states of the home that can be had back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import diff as diffs
from hermes_cron.cli import output, snapshot_words, taking_back
from hermes_cron.cli.context import Cli
from hermes_cron.cli.snapshot_words import bearing
from hermes_cron.cli.who import person

if TYPE_CHECKING:
    from hermes_cron.snapshots.commits import Commit
    from hermes_cron.snapshots.text import FileDiff

app = typer.Typer(help="States of jobs, skills, memory and settings.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "States of jobs, skills, memory and settings.": "任务、技能、记忆与设置的各个状态。",
    "Keep what lies in the home now.": "保存主目录现在的状态。",
    "Snapshots, newest first.": "快照列表，新的在前。",
    "One snapshot: who, why, what it changed, its hash.": "一个快照：谁、为何、改了什么、其哈希。",
    "From one snapshot to another; to the newest; or what the newest changed.": (
        "两个快照之间的差异；只给一个则与最新的比；不给则为最新快照的改动。"
    ),
    "Bring a snapshot back, or some paths of it; later edits by hand stay.": (
        "恢复一个快照或其中部分路径；之后的手动修改保留。"
    ),
    "Read all of the history and compare every hash.": "读取全部历史并核对每个哈希。",
    "Thin out old snapshots of automated changes, and pack the rest.": "精简旧的自动改动快照，并压缩其余部分。",
    "Send the history to a git URL, so that others can review it.": "将历史推送到 git 地址，供他人审阅。",
    "Bring what a git URL has into the home; nothing when it conflicts.": "从 git 地址取回改动；有冲突则什么都不改。",
    "Why, in a few words.": "原因，几个字即可。",
    "At most so many, newest first.": "最多条数，新的在前。",
    "The first digits of a snapshot's id.": "快照编号的前几位。",
    "One or two snapshots, then a path, job or skill.": "一个或两个快照，然后是路径、任务或技能。",
    "Only these paths, jobs or skills.": "只恢复这些路径、任务或技能。",
    "Drop edits by hand made since, too; they stay in the history.": "连之后的手动修改也去掉；历史中仍保留。",
    "Thin out those older than so many days.": "精简早于此天数的快照。",
    "Where to: https, ssh or a path; no password in it.": "目的地：https、ssh 或路径；不含密码。",
    "Where from: https, ssh or a path; no password in it.": "来源：https、ssh 或路径；不含密码。",
    "The branch there.": "对方的分支。",
    "USER:secret:NAME, for a URL that asks.": "用户:secret:名称，用于需要登录的地址。",
}

_TEXTS = {
    "en": {
        "kept": "Kept as {id}: {files} changed since the last.",
        "same": "Nothing changed since {id} of {at}; that is it.",
        "first": "Kept as {id}, the first snapshot.",
        "one": "1 file", "many": "{n} files",
        "headers": ("ID", "WHEN", "WHO", "RUN", "FILES", "WHY"),
        "none": "No snapshots yet.  hermes-cron snapshots create",
        "more": "{n} older: --limit {all}",
        "list_next": "one: hermes-cron snapshots show ID     back to it: hermes-cron snapshots restore ID",
        "labels": ("id", "when", "who", "run", "job", "why", "before", "takes back", "restores", "holds"),
        "holds": "{files}, sha256 {sha256}",
        "nothing": "It changed nothing.", "no_difference": "No difference.",
        "show_next": "lines: hermes-cron snapshots diff {before} {id}     take it back: hermes-cron undo {id}",
        "clean": "clean: {commits} snapshots, {objects} objects", "fault": "{what}\n  try  {mend}",
        "collected": "{thinned} of {commits} snapshots thinned out; {before} before, {after} now",
        "pushed": "{url} has everything up to {id}",
        "pulled_nothing": "{url} has nothing new", "pulled": "{files} came from {url}; now at {id}",
        "pull_back": "back: hermes-cron snapshots restore {id} --exact",
    },
    "zh": {
        "kept": "已保存为 {id}：与上一个相比有 {files} 改动。", "same": "自 {at} 的 {id} 以来没有改动，即为该快照。",
        "first": "已保存为 {id}，第一个快照。",
        "one": "1 个文件", "many": "{n} 个文件",
        "headers": ("编号", "时间", "谁", "运行", "文件", "原因"),
        "none": "还没有快照。  hermes-cron snapshots create",
        "more": "更早的还有 {n} 个：--limit {all}",
        "list_next": "查看：hermes-cron snapshots show 编号     恢复：hermes-cron snapshots restore 编号",
        "labels": ("编号", "时间", "谁", "运行", "任务", "原因", "之前", "撤销了", "恢复了", "内容"),
        "holds": "{files}，sha256 {sha256}",
        "nothing": "没有改动。", "no_difference": "没有差异。",
        "show_next": "逐行：hermes-cron snapshots diff {before} {id}     撤销：hermes-cron undo {id}",
        "clean": "完好：{commits} 个快照，{objects} 个对象", "fault": "{what}\n  可以试  {mend}",
        "collected": "{commits} 个快照中精简了 {thinned} 个；之前 {before}，现在 {after}",
        "pushed": "{url} 已有截至 {id} 的全部内容",
        "pulled_nothing": "{url} 没有新内容", "pulled": "从 {url} 取回 {files}；现在为 {id}",
        "pull_back": "恢复：hermes-cron snapshots restore {id} --exact",
    },
}  # fmt: skip

Id = Annotated[str, typer.Argument(metavar="ID", help="The first digits of a snapshot's id.")]
Branch = Annotated[str, typer.Option("--branch", help="The branch there.")]
LoginOption = Annotated[
    str | None, typer.Option("--login", metavar="USER:secret:NAME", help="USER:secret:NAME, for a URL that asks.")
]


@app.command("create", help="Keep what lies in the home now.")
def create(reason: Annotated[str | None, typer.Argument(help="Why, in a few words.")] = None) -> None:
    state = bearing()
    desk = state.app.history
    first = desk.is_new()
    changed = desk.create(reason, by=person())
    commit = changed.newest
    made = first or changed.after is not None
    if state.json:
        state.emit_json(
            {"created": made, **snapshot_words.as_json(commit), "left_out": diffs.left_out_json(changed.left_out)}
        )
        return
    texts = _TEXTS[state.lang]
    form = "first" if first else "kept" if made else "same"
    count = 0 if first or not made else len(desk.between(changed.before, commit))
    said = {
        "id": snapshot_words.short(commit),
        "at": snapshot_words.at(state, commit.at),
        "files": _files(state, count),
    }
    state.out(str(texts[form]).format(**said))
    diffs.tell_left_out(state, changed.left_out)


@app.command("list", help="Snapshots, newest first.")
def list_snapshots(
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 20,
) -> None:
    state = bearing()
    everything, found = state.app.history.listed(limit)
    if state.json:
        state.emit_json({"snapshots": [{**snapshot_words.as_json(it), "files": n} for it, n in found]})
        return
    texts = _TEXTS[state.lang]
    if not found:
        state.out(str(texts["none"]))
        return
    rows = []
    for commit, count in found:
        *told, why = snapshot_words.row(state, commit)
        rows.append([*told, f"{count:,}", why])
    state.out(output.table(rows, texts["headers"], right=frozenset({4}), max_columns=state.columns))
    if everything > len(found):
        state.note(str(texts["more"]).format(n=everything - len(found), all=everything))
    state.note(str(texts["list_next"]))


@app.command("show", help="One snapshot: who, why, what it changed, its hash.")
def show(word: Id) -> None:
    state = bearing()
    desk = state.app.history
    commit = desk.find(word)
    parent = desk.parent(commit)
    found, proof = desk.between(parent, commit), desk.proof(commit)
    if state.json:
        held = {"file_count": proof.files, "sha256": proof.sha256}
        state.emit_json({**snapshot_words.as_json(commit), **held, **diffs.as_json(state, found)})
        return
    texts = _TEXTS[state.lang]
    holds = str(texts["holds"]).format(files=_files(state, proof.files), sha256=proof.sha256)
    values = (
        commit.id, snapshot_words.at(state, commit.at), snapshot_words.who(commit, state.lang), commit.run, commit.job,
        commit.reason, None if parent is None else snapshot_words.short(parent),
        ", ".join(map(snapshot_words.short, commit.undoes)), snapshot_words.short(commit.restores or ""), holds,
    )  # fmt: skip
    state.out(output.facts((label, value) for label, value in zip(texts["labels"], values, strict=True) if value))
    state.out()
    _tell_files(state, found)
    if parent is not None:
        said = {"before": snapshot_words.short(parent), "id": snapshot_words.short(commit)}
        state.note(str(texts["show_next"]).format(**said))


def _tell_files(state: Cli, found: list[FileDiff]) -> None:
    rows = [(it.path, snapshot_words.change(it, state.lang)) for it in found]
    state.out(output.table(rows, max_columns=state.columns) if rows else str(_TEXTS[state.lang]["nothing"]))


@app.command("diff", help="From one snapshot to another; to the newest; or what the newest changed.")
def diff(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[A] [B] [PATH]", help="One or two snapshots, then a path, job or skill."),
    ] = None,
) -> None:
    state = bearing()
    commits, paths = diffs.chosen(state, words or [], most=2)
    old, new = _two(state, commits)
    found = state.app.history.between(old, new, paths=paths)
    if state.json:
        state.emit_json({"from": None if old is None else old.id, "to": new.id, **diffs.as_json(state, found)})
    elif found:
        diffs.told(state, found)
    else:
        state.out(str(_TEXTS[state.lang]["no_difference"]))


def _two(state: Cli, commits: list[Commit]) -> tuple[Commit | None, Commit]:
    desk = state.app.history
    if len(commits) == 2:
        return commits[0], commits[1]
    newest = desk.newest()
    return (commits[0] if commits else desk.parent(newest)), newest


@app.command("restore", help="Bring a snapshot back, or some paths of it; later edits by hand stay.")
def restore(
    word: Id,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Only these paths, jobs or skills.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Drop edits by hand made since, too; they stay in the history.")
    ] = False,
) -> int:
    state = bearing()
    desk = state.app.history
    chosen = [desk.part(path).path for path in paths or []]
    task = desk.to_restore(desk.find(word), paths=chosen, exact=exact)
    typed = ["snapshots", "restore", word, *(paths or []), *(["--exact"] if exact else [])]
    return taking_back.done(state, task, typed)


@app.command("verify", help="Read all of the history and compare every hash.")
def verify() -> int:
    state = bearing()
    found = state.app.history.verify()
    if state.json:
        faults = [{"what": it.what, "mend": it.mend} for it in found.faults]
        body = {"clean": not faults, "snapshots": found.commits, "objects": found.objects, "faults": faults}
        state.emit_json(body)
        return 1 if faults else 0
    texts = _TEXTS[state.lang]
    for it in found.faults:
        state.out(str(texts["fault"]).format(what=output.one_line(it.what), mend=output.one_line(it.mend)))
    if found.faults:
        return 1
    state.out(str(texts["clean"]).format(commits=f"{found.commits:,}", objects=f"{found.objects:,}"))
    return 0


@app.command("gc", help="Thin out old snapshots of automated changes, and pack the rest.")
def gc(
    days: Annotated[int, typer.Option("--days", min=0, help="Thin out those older than so many days.")] = 90,
) -> None:
    state = bearing()
    done = state.app.history.gc(days)
    if state.json:
        body = {"snapshots": done.commits, "thinned": done.thinned}
        state.emit_json({**body, "bytes_before": done.bytes_before, "bytes_after": done.bytes_after})
        return
    sizes = {"before": _size(done.bytes_before), "after": _size(done.bytes_after)}
    text = str(_TEXTS[state.lang]["collected"])
    state.out(text.format(thinned=f"{done.thinned:,}", commits=f"{done.commits:,}", **sizes))


@app.command("push", help="Send the history to a git URL, so that others can review it.")
def push(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to: https, ssh or a path; no password in it.")],
    branch: Branch = "main",
    login: LoginOption = None,
) -> None:
    state = bearing()
    commit = state.app.history.push(url, branch=branch, login=login)
    if state.json:
        state.emit_json({"url": url, "branch": branch, **snapshot_words.as_json(commit)})
        return
    text = str(_TEXTS[state.lang]["pushed"])
    state.out(output.one_line(text.format(url=url, id=snapshot_words.short(commit))))


@app.command("pull", help="Bring what a git URL has into the home; nothing when it conflicts.")
def pull(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where from: https, ssh or a path; no password in it.")],
    branch: Branch = "main",
    login: LoginOption = None,
) -> None:
    state = bearing()
    desk = state.app.history
    done = desk.pull(url, branch=branch, login=login)
    before, after = (None, None) if done.changed is None else (done.changed.before, done.changed.after)
    found = [] if after is None else desk.between(before, after)
    if state.json:
        ids = {"before": None if before is None else before.id, "commit": None if after is None else after.id}
        state.emit_json({"url": url, "branch": branch, "how": done.how, **ids, **diffs.as_json(state, found)})
        return
    texts = _TEXTS[state.lang]
    if before is None or after is None:
        state.out(output.one_line(str(texts["pulled_nothing"]).format(url=url)))
        return
    said = {"url": url, "files": _files(state, len(found)), "id": snapshot_words.short(after)}
    state.out(output.one_line(str(texts["pulled"]).format(**said)))
    _tell_files(state, found)
    state.note(str(texts["pull_back"]).format(id=snapshot_words.short(before)))


def _files(state: Cli, count: int) -> str:
    return str(_TEXTS[state.lang]["one" if count == 1 else "many"]).format(n=f"{count:,}")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"

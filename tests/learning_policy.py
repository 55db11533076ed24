"""A model that knows nothing but what its request says: how it deploys a project, and what it keeps when it looks back.

It is the same in every run. Without a skill it works as a beginner would: it looks around, tries the plain command,
reads what the error says and mends that. With a skill it takes the steps that stand there, in their order. What it
does next is a function of the request alone: no state is kept from one call to the next.

    NAME is the project of the task; REGISTRY, NAMESPACE and ROUTE are known once a text of the request has said them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_cron.models.script import Reply, Script

LOOK_BACK = "You look back at one run of an agent of hermes-cron."
NOTHING = "Nothing to save."
SKILL = "deploy-project"
CATEGORY = "operations"

BEGINNER = """\
1. Look around: `ls -R NAME`
2. See what it is made with: `cat NAME/requirements.txt`
3. Read how it is deployed: `cat NAME/deploy/deployment.yaml`
4. Build it: `docker build -t NAME:1 NAME`
5. Push it: `docker push NAME:1`
6. Apply it: `kubectl apply -f NAME/deploy/deployment.yaml`
7. Wait until it answers: `kubectl rollout status deployment/NAME`
"""

_STEP = re.compile(r"^\d+\. (?P<why>[^`\n]*)`(?P<command>[^`\n]+)`", re.MULTILINE)
_UNLESS = re.compile(r"([A-Z]+) unless it is known")
_LEARNT = {
    "REGISTRY": re.compile(r"(?:host: |registry is )([\w.-]+:\d+)"),
    "NAMESPACE": re.compile(r"namespace is (\w[\w-]*)"),
    "ROUTE": re.compile(r'(?:HEALTH = \\?"|serves )(/[\w/]*)'),
}
_SOURCE = re.compile(r"\(HEALTH in [^/\s]+/([\w.]+)\)")

_A_TOKEN = 4  # characters
_AT_ONCE = 128  # tokens that are kept or forgotten together

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Done:
    """A call and its answer."""

    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    text: str

    @property
    def command(self) -> str:
        return str(self.arguments.get("command") or "")

    @property
    def said(self) -> str:
        """Output and error of a command, else the whole answer."""
        if self.tool != "terminal":
            return self.text
        answer = json.loads(self.text)
        return f"{answer.get('output', '')}\n{answer.get('stderr', '')}"


class PrefixCache:
    """What a provider charges that keeps what it read: of a request, how many tokens begin as one before it did."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def usage(self, body: str) -> dict[str, Any]:
        cached = max((_common(body, before) for before in self._seen), default=0)
        self._seen.append(body)
        read, known = len(body) // _A_TOKEN, cached // _A_TOKEN // _AT_ONCE * _AT_ONCE
        return {
            "prompt_tokens": read,
            "completion_tokens": 10,
            "total_tokens": read + 10,
            "prompt_tokens_details": {"cached_tokens": known},
        }


def _common(one: str, other: str) -> int:
    """How many characters they begin with together."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


class Policy(Script):
    """Plays as the script of a stub server."""

    def __init__(self) -> None:
        super().__init__([])
        self._given = 0
        self._cache = PrefixCache()

    @property
    def looks_inside(self) -> bool:
        return True

    def next(self, *, text: str = "", model: str = "", turn: int = 0) -> Reply:
        del model, turn
        self._given += 1  # ids of calls only: nothing is decided by it
        return Reply(spec={**answer(json.loads(text)), "usage": self._cache.usage(text)}, number=self._given)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the model says to a request."""
    messages = request["messages"]
    system = str(messages[0]["content"])
    work = _look_back(system, messages) if system.startswith(LOOK_BACK) else _deploy(system, messages)
    done = list(_history(messages))
    try:
        call = next(work)
        for each in done:
            call = work.send(each)
    except StopIteration as end:
        return {"text": end.value}
    return {"tool_calls": [{"name": call[0], "arguments": call[1]}]}


def _history(messages: Sequence[Mapping[str, Any]]) -> Iterator[Done]:
    """The calls of this session with their answers."""
    asked: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            asked[call["id"]] = call["function"]
        if message["role"] == "tool":
            function, text = asked[message["tool_call_id"]], str(message["content"])
            yield Done(function["name"], json.loads(function["arguments"]), not _failed(text), text)


def _failed(text: str) -> bool:
    return re.match(r'\{"(error":|exit_code": (?!0[,}]))', text) is not None


# --- deploying --------------------------------------------------------------------------------------------------------


@dataclass
class _Known:
    """What texts of the request have said."""

    name: str
    task: str
    values: dict[str, str] = field(default_factory=dict)

    def hear(self, text: str) -> None:
        for key, pattern in _LEARNT.items():
            if found := pattern.search(text):
                self.values[key] = found[1]
        listed = re.findall(r"^(\w[\w-]*) +Active$", text, re.MULTILINE)
        if here := [name for name in listed if name in self.task]:
            self.values["NAMESPACE"] = here[0]

    def fill(self, command: str) -> str:
        for key, value in {"NAME": self.name, **self.values}.items():
            command = re.sub(rf"\b{key}\b", value, command)
        if "NAMESPACE" in self.values and re.search(r"kubectl (apply|rollout status) (?!-n )", command):
            command = re.sub(r"kubectl (apply|rollout status) ", rf"\g<0>-n {self.values['NAMESPACE']} ", command)
        return command


Work = Generator[Call, Done, str]
"""Calls out, answers in, at last the words of the end."""


def _deploy(system: str, messages: Sequence[Mapping[str, Any]]) -> Work:
    task = str(messages[1]["content"])
    found = re.search(r"Deploy (\w[\w-]*) to", task)
    if found is None:
        return "I do not know what to deploy."
    known = _Known(name=found[1], task=task)
    for block in re.findall(r"<memory source=.*?</memory>", system, re.DOTALL):
        known.hear(block)
    steps = BEGINNER
    if offered := re.search(r"^- (\S*deploy\S*)(?: \([^)]*\))?: ", system, re.MULTILINE):
        viewed = yield "skill_view", {"name": offered[1]}
        steps = viewed.text
    for step in _STEP.finditer(steps):
        unless = _UNLESS.search(step["why"])
        if unless is None or unless[1] not in known.values:
            yield from _step(step["command"], known)
    said = known.values
    return (
        f"{known.name} is up in {said.get('NAMESPACE', 'its namespace')}, image {said.get('REGISTRY')}/{known.name}:1"
    )


def _step(command: str, known: _Known) -> Generator[Call, Done, None]:
    """The command, and what its errors say until it is ok."""
    done = yield from _run(known.fill(command), known)
    if done.ok:
        return
    if hint := re.search(r"look: (kubectl get [\w /-]+)", done.said):
        yield from _run(hint[1].strip(), known)
    if "names no registry" in done.said:
        yield from _run(known.fill("docker tag NAME:1 REGISTRY/NAME:1"), known)
        yield from _run(known.fill("docker push REGISTRY/NAME:1"), known)
    elif "forbidden in namespace" in done.said:
        yield from _run(known.fill(command), known)
    elif "readiness probe" in done.said:
        yield from _run(known.fill(_with_route("kubectl apply -f NAME/deploy/deployment.yaml", command)), known)
        yield from _run(known.fill(command), known)


def _with_route(apply: str, beside: str) -> str:
    """The file put right and applied, in the namespace of the command beside it."""
    namespace = re.search(r"-n (\S+)", beside)
    if namespace is not None:
        apply = apply.replace("apply ", f"apply -n {namespace[1]} ")
    return f"sed -i 's#path: .*#path: ROUTE#' NAME/deploy/deployment.yaml && {apply}"


def _run(command: str, known: _Known) -> Generator[Call, Done, Done]:
    done = yield "terminal", {"command": command}
    known.hear(done.said)
    if done.ok and (named := re.search(r"kubectl rollout status -n (\S+)", command)):
        known.values["NAMESPACE"] = named[1]
    return done


# --- looking back -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Record:
    """What a look back is given of a run."""

    run: str
    name: str
    done: tuple[Done, ...]

    @property
    def commands(self) -> list[Done]:
        return [each for each in self.done if each.tool == "terminal"]

    @property
    def view(self) -> Done | None:
        """The skill that was looked at."""
        return next((each for each in self.done if each.tool == "skill_view" and each.ok), None)

    def general(self, command: str) -> str:
        """The command without the names of this one run."""
        command = re.sub(r"[\w.-]+:\d{4,5}/", "REGISTRY/", command)
        command = re.sub(r"path: /[\w/]*", "path: ROUTE", command)
        return re.sub(rf"\b{re.escape(self.name)}\b", "NAME", command)

    def value(self, key: str) -> str | None:
        hits = [found[1] for each in self.commands if (found := _LEARNT[key].search(each.said))]
        return hits[-1] if hits else None


def _look_back(system: str, messages: Sequence[Mapping[str, Any]]) -> Work:
    text = str(messages[1]["content"])
    record = _record(text)
    saved = False
    if correction := re.search(r'<data source="feedback">\n(.*?)\n</data>', text, re.DOTALL):
        saved = yield from _corrected(correction[1], record)
    else:
        if "a method that was not trivial" in system:
            saved = yield from _method(record)
        if "durable facts" in system.rpartition("\n\n")[2]:
            saved = (yield from _facts(text, record)) or saved
    return "Saved." if saved else NOTHING


def _record(text: str) -> _Record:
    transcript = re.search(r'<data source="transcript">\n(.*?)\n</data>', text, re.DOTALL)
    run = re.search(r"^Run (\w+) of the job", text)
    rows = re.split(r"^\[\d+\] ", transcript[1] if transcript else "", flags=re.MULTILINE)
    asked: list[tuple[str, Mapping[str, Any]]] = []
    done: list[Done] = []
    name = ""
    for row in rows:
        if found := re.match(r"user: .*?Deploy (\w[\w-]*) to", row, re.DOTALL):
            name = found[1]
        elif found := re.match(r"calls (\w+) (\{.*\})", row):
            asked.append((found[1], json.loads(found[2])))
        elif found := re.match(r"result of \w+, (ok|FAILED): (.*)", row, re.DOTALL):
            tool, arguments = asked[len(done)]
            done.append(Done(tool, arguments, found[1] == "ok", found[2].rstrip("\n")))
    return _Record(run=run[1] if run else "?", name=name, done=tuple(done))


_KINDS = {
    "See what it is made with": r"cat \S+/requirements.txt",
    "Find REGISTRY unless it is known": r"kubectl get configmap",
    "Build it under its whole name": r"docker build",
    "Push it": r"docker push",
    "Apply it": r"(sed .*)?kubectl apply",
    "Wait until it answers": r"kubectl rollout status",
}


def _method(record: _Record) -> Generator[Call, Done, bool]:
    """A skill from a way that was found; a better one from a way that failed."""
    view = record.view
    if view is None:
        made = {"name": f"{CATEGORY}/{SKILL}", "action": "create", "because": "errors", "content": _skill(record),
                "reason": f"run {record.run} found a way to deploy a project after errors"}  # fmt: skip
        yield "skill_manage", made
        return True
    operations = list(_mended(view.text, record))
    if not operations:
        return False
    why = f"in run {record.run} the skill's steps failed and then worked another way"
    yield "skill_manage", {"name": view.arguments["name"], "operations": operations, "reason": why}
    return True


def _skill(record: _Record) -> str:
    tagged = {}
    for each in record.commands:
        if found := re.match(r"docker tag (\S+) (\S+)", each.command):
            tagged[found[1]] = found[2]
    steps = []
    for why, pattern in _KINDS.items():
        worked = [each.command for each in record.commands if each.ok and re.match(pattern, each.command)]
        if worked:
            command = worked[-1]
            for short, whole in tagged.items():
                command = re.sub(rf"-t {re.escape(short)}\b", f"-t {whole}", command)
            steps.append(f"{len(steps) + 1}. {why}: `{record.general(command)}`")
    pitfalls = [_pitfall(each, record) for each in record.commands if not each.ok]
    return "\n".join([
        "---",
        f"name: {SKILL}",
        "description: Deploys a project to the cluster and waits until it answers. Use it when one is to be deployed.",
        'metadata: {version: "1"}',
        "---",
        "## When to use",
        "A project with a Dockerfile and a deploy/deployment.yaml is to be deployed.",
        "",
        "## Steps",
        *steps,
        "",
        "## Pitfalls",
        *pitfalls,
        "",
    ])  # fmt: skip


def _pitfall(failed: Done, record: _Record) -> str:
    why = failed.said.strip().splitlines()[0].partition("; look:")[0]
    return f"- `{record.general(failed.command)}` fails: {record.general(why)} (run {record.run})"


def _mended(body: str, record: _Record) -> Iterator[dict[str, Any]]:
    """The step of a command that failed becomes what made it work, and the pitfall is told."""
    steps = {step["command"]: step[0] for step in _STEP.finditer(body)}
    failed = [each for each in record.commands if not each.ok]
    for each in failed:
        source = _SOURCE.search(each.said)
        fix = next((it for it in record.commands if it.ok and it.command.startswith("sed ")), None)
        if source is None or fix is None:
            continue
        for command, line in steps.items():
            if command.startswith("cat "):
                number = line.partition(".")[0]
                new = f"{number}. See what it is made with, and its ROUTE: `{command} NAME/{source[1]}`"
                yield {"action": "patch", "old": line, "new": new}
            elif command.startswith("kubectl apply"):
                number = line.partition(".")[0]
                new = f"{number}. Put its ROUTE into the file and apply it: `{record.general(fix.command)}`"
                yield {"action": "patch", "old": line, "new": new}
    if failed:
        lines = "\n".join(_pitfall(each, record) for each in failed)
        yield {"action": "patch", "old": "## Pitfalls", "new": f"## Pitfalls\n{lines}"}


def _facts(text: str, record: _Record) -> Generator[Call, Done, bool]:
    """The registry, unless memory has it."""
    registry = record.value("REGISTRY")
    known = "".join(re.findall(r"<memory source=.*?</memory>", text, re.DOTALL))
    if registry is None or registry in known:
        return False
    yield "memory", {"action": "add", "content": f"The cluster's registry is {registry}"}
    return True


def _corrected(words: str, record: _Record) -> Generator[Call, Done, bool]:
    """What a person said goes where the thing that was wrong came from."""
    view = record.view
    if (moved := re.search(r"namespace is (\w[\w-]*), not (\w[\w-]*)", words)) and view is not None:
        right, wrong = moved[1], moved[2]
        why = f"a person said so of run {record.run}"
        places = {"action": "patch", "old": f"-n {wrong}", "new": f"-n {right}", "replace_all": True}
        yield "skill_manage", {"name": view.arguments["name"], "reason": why, **places}
        return True
    if registry := re.search(r"registry is ([\w.-]+:\d+)", words):
        change = {"action": "replace", "old_text": "registry is", "content": f"The cluster's registry is {registry[1]}"}
        yield "memory", change
        return True
    return False

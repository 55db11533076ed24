"""The faults of area delivery, then more of each kind: what a target really got of what a run really said.

C115 and C117 are about the limits and formats of chats and wait for their targets (tests/cases_later.txt).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_cron.domain import answer
from hermes_cron.home import Home
from hermes_cron.testing import StubServer
from tests.conftest import Ran
from tests.receivers import MailServer, Receiver, Reply
from tests.serving import Serving, until, write_job

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "delivery.jsonl").read_text("utf-8").splitlines())
}
TARGETS = """timezone = "UTC"
[targets.book]
kind = "file"
path = "book.md"
[targets.hook]
kind = "webhook"
url = "{url}/hook"
[targets.post]
kind = "email"
host = "127.0.0.1"
port = {port}
tls = "none"
from = "cron@example.org"
to = "dba@example.org"
"""
NOON = 'schedule: "0 12 * * *"'


def made(folder: Path, config: str) -> Home:
    home = Home(folder / "home")
    for one in (home.root, home.jobs, home.skills, home.memories, home.run, home.owners):
        one.mkdir(parents=True, exist_ok=True)
    home.config.write_text(config, encoding="utf-8")
    return home


# --- C107: it ran well and nobody got it -----------------------------------------------------------------------------

REFUSALS = {
    "C107": (Reply(400, b"chat not found"), "400"),
    "gone": (Reply(404, b""), "404"),
    "elsewhere": (Reply(302, b"", {"Location": "/else"}), "302"),
    "well-in-status-alone": (Reply(200, b'{"errcode": 19024, "errmsg": "no key word"}'), "19024"),
}


@pytest.fixture(scope="module", params=["by-hand", "by-serve"])
def unsent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each screen says of a good run whose report was refused."""
    paths = {f"/{name}": refusal for name, (refusal, _) in REFUSALS.items()}
    with Receiver(by_path=paths) as receiver:
        config = 'timezone = "UTC"\n' + "".join(
            f'[targets.{name}]\nkind = "webhook"\nurl = "{receiver.root}/{name}"\n' for name in REFUSALS
        )
        home = made(tmp_path_factory.mktemp("unsent"), config)
        for name in REFUSALS:
            write_job(home, f"job-{name}".lower(), NOON, "script: echo report", f"deliver: [{name}]")
        serve = Serving(home)
        ran: dict[str, Ran | None] = dict.fromkeys(REFUSALS)
        if request.param == "by-hand":
            ran = {name: serve.cli("run", f"job-{name}".lower()) for name in REFUSALS}
        else:
            with serve:
                serve.due("12:00", runs=len(REFUSALS))
                until(
                    lambda: [row["state"] for row in serve.rows("SELECT * FROM deliveries")] == ["failed"] * 4,
                    lambda: serve.rows("SELECT job_name, state, error FROM deliveries"),
                )
        listed = {job["name"]: job for job in serve.ask("list")["jobs"]}
        text = {line.split()[0]: line for line in serve.cli("list").out.splitlines() if line.startswith("job-")}
        counted = {
            json.loads(row["labels"])["outcome"]: row["value"]
            for row in serve.rows("SELECT * FROM counters WHERE name = 'hermes_cron_deliveries_total'")
        }
        return {
            name: {
                "ran": ran[name],
                "list": listed[f"job-{name}".lower()],
                "line": text[f"job-{name}".lower()],
                "run": serve.runs(f"job-{name}".lower())[0],
                "show": serve.cli("show", f"job-{name}".lower()).out,
                "counted": counted,
            }
            for name in REFUSALS
        }


@pytest.mark.parametrize("name", REFUSALS)
def test_c107_a_report_that_nobody_got_is_never_shown_as_arrived(unsent: Mapping[str, Any], name: str) -> None:
    case, seen, said = CASES["C107"]["expected"], unsent[name], REFUSALS[name][1]
    assert seen["run"]["state"] == case["state"]
    assert "failed" in seen["line"].split()
    assert said in seen["show"]
    assert seen["counted"] == {"failed": len(REFUSALS)}
    if seen["ran"] is not None:
        assert seen["ran"].rc == case["exit_code_of_manual_run"]
        assert seen["ran"].out.startswith("report")
        assert said in seen["ran"].err


# --- what the three targets got of one noon --------------------------------------------------------------------------

LONG = ("0123456789" * 7 + "\n") * 564
assert 40_000 <= len(LONG) < 40_100

SAID = {
    "c112": CASES["C112"]["input"]["final_text"],
    "silent-alone": "[SILENT]",
    "silent-before-blank-lines": "nothing new\n[SILENT]\n \n\n",
    "silent-with-carriage-returns": "nothing new\r\n\r\n[SILENT]\r\n",
    **{f"c113-{n}": text for n, text in enumerate(CASES["C113"]["input"]["final_text"])},
    "marker-then-words": "[SILENT]\nbut the disk is full",
    "marker-in-a-sentence": "All quiet. [SILENT]",
    "marker-in-code": "`[SILENT]`",
    "c118": "\n" * 5000 + "end",
    "blanks-of-all-kinds": " \n\t\n\r\n\u00a0\nend\n\n \n",
    "indented-first-line": "\n\n    code\nend",
    "c120": LONG.strip(),
    "one-line-of-40000": "x" * 40_000,
    "40000-characters-of-chinese": "巡检正常。" * 8_000,
}
SILENT = {name for name in SAID if name == "c112" or name.startswith("silent")}
SCRIPTS = {
    "c119": ("📊 ok", ["printf", r"\xf0\x9f\x93\x8a ok"]),
    "chinese": ("巡检正常", ["printf", "%s", "巡检正常"]),
    "latin-1": ("caf\ufffd \ufffd", ["printf", r"caf\xe9 \xff"]),
    "half-a-character": ("ok \ufffd", ["printf", r"ok \xf0\x9f\x93"]),
}
ENV = ["env: {LC_ALL: C, PYTHONIOENCODING: ascii}"]


@dataclass
class Noon:
    serve: Serving
    home: Home
    hook: Receiver
    post: MailServer

    def run(self, job: str) -> dict[str, Any]:
        return self.serve.runs(job)[0]

    def states(self, job: str) -> dict[str, str]:
        rows = self.serve.rows("SELECT target, state FROM deliveries WHERE job_name = ? AND kind = 'report'", job)
        return {row["target"]: row["state"] for row in rows}

    def got(self, job: str) -> dict[str, str]:
        """The report as each target has it, without its footer line."""
        hooks = [told.json()["text"] for told in self.hook.at("/hook") if told.json()["job"] == job]
        mails = [one.content for one in self.post.mails if one.content.splitlines()[-1].startswith(f"{job} r")]
        book = (self.home.root / "book.md").read_text("utf-8")
        entries = [entry for entry in book.split("\n## ") if f" {job} report [" in entry.split("\n")[0]]
        told = {"hook": hooks, "post": mails, "book": [entry.partition("\n\n")[2] for entry in entries]}
        assert {target: len(texts) for target, texts in told.items()} == {"hook": 1, "post": 1, "book": 1}
        return {target: _report(texts[0], job) for target, texts in told.items()}

    def saved(self, job: str) -> str:
        return (self.home.root / self.run(job)["output_path"]).read_bytes().decode("utf-8")


def _report(text: str, job: str) -> str:
    """A target may put the title before a report that does not begin with it."""
    text = text.replace("\r\n", "\n").rstrip("\n")
    body, _, footer = text.rpartition("\n\n")
    assert footer.startswith(f"{job} r"), footer[:200]
    return body.removeprefix(f"{job}\n\n")


@pytest.fixture(scope="module")
def noon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    parts = [{"contains": f"TASK {name}:", "replies": [text]} for name, text in SAID.items()]
    with Receiver() as hook, MailServer() as post, StubServer({"conversations": parts}) as stub:
        home = made(tmp_path_factory.mktemp("noon"), TARGETS.format(url=hook.root, port=post.port))
        deliver = "deliver: [book, hook, post]"
        for name in SAID:
            write_job(home, name, NOON, deliver, prompt=f"TASK {name}: say it")
        for name, (_, command) in SCRIPTS.items():
            write_job(home, name, NOON, deliver, *ENV, f"script: {json.dumps(shlex.join(command))}")
        big = "head -c 300000 /dev/zero | tr '\\\\0' x"
        write_job(home, "more-than-is-kept", NOON, deliver, f'script: "{big}"')
        write_job(home, "blank-output", NOON, deliver, "script: \"printf '\\\\n\\\\n \\\\n'\"")
        model = {"OPENAI_BASE_URL": stub.base_url, "HERMES_CRON_MODEL": "stub-model", "OPENAI_API_KEY": "k"}
        bare = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii"}
        jobs = len(SAID) + len(SCRIPTS) + 2
        with Serving(home, ("--concurrency", "8"), env={**model, **bare}) as serve:
            serve.due("12:00", runs=jobs)
            until(
                lambda: not serve.rows("SELECT 1 FROM deliveries WHERE state = 'queued'"),
                lambda: serve.rows("SELECT job_name, target, state, error FROM deliveries WHERE state = 'queued'"),
            )
            yield Noon(serve, home, hook, post)


EVERYWHERE = {"book": "sent", "hook": "sent", "post": "sent"}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_c112_the_marker_alone_on_the_last_line_is_silence(noon: Noon, name: str) -> None:
    assert noon.states(name) == dict.fromkeys(EVERYWHERE, CASES["C112"]["expected"]["delivery"])
    assert not [told for told in noon.hook.got if told.json()["job"] == name]
    assert "[SILENT]" in noon.saved(name)
    assert (noon.run(name)["state"], noon.run(name)["silent"]) == ("ok", 1)


@pytest.mark.parametrize("name", [name for name in SAID if name.startswith(("c113", "marker"))])
def test_c113_what_only_resembles_the_marker_is_text(noon: Noon, name: str) -> None:
    assert noon.states(name) == EVERYWHERE
    assert {text.strip() for text in noon.got(name).values()} == {SAID[name].strip()}
    assert answer.read(SAID[name]) is answer.Answer.REPORT


@pytest.mark.parametrize(
    ("name", "report"), [("c118", "end"), ("blanks-of-all-kinds", "end"), ("indented-first-line", "    code\nend")]
)
def test_c118_blank_lines_around_a_report_are_not_sent(noon: Noon, name: str, report: str) -> None:
    assert noon.states(name) == EVERYWHERE
    assert set(noon.got(name).values()) == {report}


def test_c118_a_report_of_blank_lines_alone_is_no_message(noon: Noon) -> None:
    assert noon.states("blank-output") == dict.fromkeys(EVERYWHERE, "silent")


@pytest.mark.parametrize("name", SCRIPTS)
def test_c119_output_is_utf_8_whatever_the_locale_says(noon: Noon, name: str) -> None:
    assert noon.states(name) == EVERYWHERE
    assert set(noon.got(name).values()) == {SCRIPTS[name][0]}
    assert noon.saved(name).strip() == SCRIPTS[name][0]


def test_c119_is_the_case_s_own_text() -> None:
    assert SCRIPTS["c119"][0] == CASES["C119"]["expected"]["delivered_text"]
    assert SCRIPTS["c119"][0].encode().hex(" ") == CASES["C119"]["input"]["stdout_bytes"]


@pytest.mark.parametrize("name", ["c120", "one-line-of-40000", "40000-characters-of-chinese"])
def test_c120_a_long_report_arrives_whole_where_no_limit_is(noon: Noon, name: str) -> None:
    assert noon.states(name) == EVERYWHERE
    assert set(noon.got(name).values()) == {SAID[name]}
    assert noon.saved(name).strip() == SAID[name]


def test_c120_what_is_cut_says_so(noon: Noon) -> None:
    """More output than a run keeps of a script: the words stand in the report itself, wherever it goes."""
    for text in [*noon.got("more-than-is-kept").values(), noon.saved("more-than-is-kept")]:
        assert "of 300,000 bytes cut" in text

"""A team reviews changes where it reviews code: the branch goes to any git URL and comes back, or nothing happens."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pygit2
import pytest
from pygit2.enums import ObjectType

from hermes_cron.errors import Conflict, NotFound, SecretInPlainSight, SnapshotFailed
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.snapshots.history import carry_out, plan_restore, plan_undo
from hermes_cron.snapshots.remotes import How, Login, pull, push
from hermes_cron.snapshots.retention import gc
from hermes_cron.snapshots.verify import verify
from hermes_cron.testing import FixedClock
from hermes_cron.wiring import App
from tests import snapshots_rig as rig


class Team:
    """The other side: a bare repository and a colleague's clone of it."""

    def __init__(self, folder: Path) -> None:
        self.bare = folder / "team.git"
        self.clone = folder / "clone"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)

    def git(self, *argv: str) -> str:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
        name = ["-c", "user.name=Joe", "-c", "user.email=j@x", "-c", "core.autocrlf=false"]
        done = subprocess.run(
            ["git", "-C", str(self.clone), *name, *argv], env=env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def write(self, **files: str) -> None:
        if not self.clone.exists():
            subprocess.run(["git", "clone", "-q", str(self.bare), str(self.clone)], check=True)
        self.git("pull", "-q", "--rebase")
        for name, text in files.items():
            place = self.clone / name.replace("__", "/").replace("_md", ".md")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.send()

    def send(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "reviewed")
        self.git("push", "-q", "origin", "HEAD:main")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    rig.write(made, "jobs/a.md", b"one\ntwo\nthree\nfour\nfive\n")
    rig.write(made, "jobs/b.md", b"b\n", 0o600)
    return made


def text(root: Path, name: str = "a") -> str:
    return (root / f"jobs/{name}.md").read_text()


@pytest.mark.parametrize("form", ["path", "file"])
def test_what_is_pushed_is_what_others_get(root: Path, team: Team, form: str) -> None:
    snapshots = rig.repository(root)
    rig.automated(snapshots, **{"c.md": "c\n"})
    rig.write(root, "jobs/hand.md", b"not yet seen\n")
    url = str(team.bare) if form == "path" else team.bare.as_uri()
    head = push(snapshots, url)
    assert head.actor == "user"
    other = rig.repository(root.parent / "other")
    other.root.mkdir()
    pulled = pull(other, url)
    assert pulled.how is How.MERGED  # an empty home has a history of its own
    assert rig.state(other.root) == rig.state(root)
    assert {commit.id for commit in other.log()} >= {commit.id for commit in snapshots.log()}
    assert pull(other, url).how is How.NOTHING
    assert rig.fsck(other.root) == []


def test_a_change_that_was_reviewed_comes_and_can_be_undone(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    push(snapshots, str(team.bare))
    before = rig.state(root)
    team.write(jobs__a_md="ONE\ntwo\nthree\nfour\nfive\n", README_md="of the team\n")
    pulled = pull(snapshots, str(team.bare))
    assert (pulled.how, pulled.theirs.actor, pulled.theirs.automated) == (How.FORWARD, "Joe", False)
    assert text(root).startswith("ONE\n")
    assert not (root / "README.md").exists()
    assert (root / "jobs/b.md").stat().st_mode & 0o777 == 0o600
    assert snapshots.create(rig.cli()).after is None  # what is not of the home stays in the history
    carry_out(snapshots, plan_undo(snapshots, [pulled.theirs.id]), rig.cli("undo"))
    assert rig.state(root) == before


def test_both_sides_changed_and_it_merges(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    push(snapshots, str(team.bare))
    team.write(jobs__a_md="ONE\ntwo\nthree\nfour\nfive\n", jobs__theirs_md="theirs\n", README_md="of the team\n")
    rig.automated(snapshots, **{"mine.md": "mine\n"})
    rig.write(root, "jobs/a.md", b"one\ntwo\nthree\nfour\nFIVE\n")
    with pytest.raises(Conflict, match="nothing was sent") as refused:
        push(snapshots, str(team.bare))
    assert "snapshots pull" in (refused.value.hint or "")
    pulled = pull(snapshots, str(team.bare))
    assert pulled.how is How.MERGED
    assert pulled.changed is not None
    assert pulled.changed.after is not None
    assert (pulled.changed.after.actor, len(pulled.changed.after.parents)) == ("import", 2)
    assert text(root) == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (text(root, "mine"), text(root, "theirs")) == ("mine\n", "theirs\n")
    push(snapshots, str(team.bare))
    assert pull(snapshots, str(team.bare)).how is How.NOTHING
    team.git("pull", "-q")
    assert (team.clone / "README.md").read_text() == "of the team\n"
    assert verify(snapshots).faults == ()
    assert rig.fsck(root) == []


def test_a_conflict_changes_nothing_and_names_the_files(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    push(snapshots, str(team.bare))
    team.write(jobs__a_md="one\ntwo\nTHEIRS\nfour\nfive\n", jobs__new_md="theirs\n")
    rig.write(root, "jobs/a.md", b"one\ntwo\nMINE\nfour\nfive\n")
    before = rig.state(root)
    with pytest.raises(Conflict, match=r"jobs/a\.md") as refused:
        pull(snapshots, str(team.bare))
    assert refused.value.exit_code == 5
    assert refused.value.details["conflicts"] == ["jobs/a.md"]
    assert rig.state(root) == before
    assert snapshots.create(rig.cli()).after is None


@pytest.mark.parametrize(
    "what",
    [
        "link for a root",
        "link for the settings",
        "submodule",
        "look-alike",
        "look-alike at the root",
        "large",
        "depth",
        "a draft",
        "bad modes",
    ],
)
def test_what_no_home_may_hold_does_not_come_in(root: Path, team: Team, what: str) -> None:
    snapshots = rig.repository(root)
    push(snapshots, str(team.bare))
    team.write(jobs__ok_md="fine\n")
    if what == "link for a root":
        team.git("rm", "-q", "-r", "jobs")
        (team.clone / "jobs").symlink_to("/etc")
    elif what == "submodule":
        head = team.git("rev-parse", "HEAD").strip()
        team.git("update-index", "--add", "--cacheinfo", f"160000,{head},jobs/sub")
        team.git("commit", "-q", "-m", "a submodule")
        team.git("push", "-q", "origin", "HEAD:main")
    elif what == "link for the settings":
        (team.clone / "config.toml").symlink_to("/etc/passwd")
    elif what == "a draft":
        (team.clone / "jobs/.hermes-cron-tmp-snapshot-x").write_text("x")
    elif what == "bad modes":
        aside = {"modes": {}, "empty_folders": ["jobs/../../evil"]}
        (team.clone / ".hermes-cron-modes.json").write_text(json.dumps(aside))
    elif what == "large":
        (team.clone / "jobs/large").write_bytes(bytes(10_000_001))
    elif what == "depth":
        deep = team.clone / "skills" / "/".join("d" * 120)
        deep.mkdir(parents=True)
        (deep / "x").write_text("x")
    else:
        (team.clone / ("jobs/git~1" if what == "look-alike" else "git~1")).write_text("x")
        team.git("config", "core.protectNTFS", "false")
    if what != "submodule":
        team.send()
    before = rig.state(root)
    with pytest.raises(SnapshotFailed, match="nothing was changed"):
        pull(snapshots, str(team.bare))
    assert rig.state(root) == before
    assert snapshots.create(rig.cli()).after is None


@pytest.mark.parametrize("what", ["tree", "modes"])
def test_what_is_nested_without_end_is_refused_in_words(root: Path, team: Team, what: str) -> None:
    snapshots = rig.repository(root)
    push(snapshots, str(team.bare))
    bare = ["git", "--git-dir", str(team.bare)]

    def made(kind: str, data: bytes) -> str:
        argv = [*bare, "hash-object", "-w", "-t", kind, "--stdin", "--literally"]
        return subprocess.run(argv, input=data, check=True, capture_output=True).stdout.decode().strip()

    if what == "modes":
        tree = made("tree", b"100644 .hermes-cron-modes.json\0" + bytes.fromhex(made("blob", b"[" * 200_000)))
    else:
        tree = made("tree", b"100644 f\0" + bytes.fromhex(made("blob", b"f\n")))
        database = pygit2.Repository(str(team.bare)).odb
        for name in [*[b"d"] * 1500, b"jobs"]:
            tree = str(database.write(ObjectType.TREE, b"40000 " + name + b"\0" + bytes.fromhex(tree)))
    head = snapshots.head()
    assert head is not None
    who = "Joe <j@x> 1796056656 +0000"
    commit = made("commit", f"tree {tree}\nparent {head.id}\nauthor {who}\ncommitter {who}\n\nx\n".encode())
    subprocess.run([*bare, "update-ref", "refs/heads/main", commit], check=True)
    before = rig.state(root)
    if what == "tree":
        with pytest.raises(SnapshotFailed, match="nothing was changed"):
            pull(snapshots, str(team.bare))
        assert rig.state(root) == before
    else:  # it says nothing about modes
        assert pull(snapshots, str(team.bare)).how is How.FORWARD
    assert verify(snapshots).faults == ()


def test_files_of_the_team_stay_when_a_state_from_before_them_comes_back(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    first = push(snapshots, str(team.bare))
    team.write(jobs__c_md="c\n", README_md="of the team\n")
    pulled = pull(snapshots, str(team.bare))
    plan = plan_restore(snapshots, first, exact=True)
    assert plan.paths == ("jobs/c.md",)
    carry_out(snapshots, plan, rig.cli("back"))
    assert not (root / "jobs/c.md").exists()
    assert plan_undo(snapshots, [pulled.theirs.id]).paths == ()
    push(snapshots, str(team.bare))
    team.git("pull", "-q")
    assert (team.clone / "README.md").read_text() == "of the team\n"


def test_a_secret_does_not_come_in(home: Home, team: Team) -> None:
    app = App(home, Settings(), FixedClock(rig.NOON))
    app.vault.set("db", "hunter22")
    push(app.snapshots, str(team.bare))
    team.write(jobs__a_md="password hunter22\n")
    with pytest.raises(SnapshotFailed, match='the secret "db"') as refused:
        pull(app.snapshots, str(team.bare))
    assert "hunter22" not in refused.value.message
    assert not (home.jobs / "a.md").exists()


def test_what_was_pushed_is_never_thinned(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    ids = [rig.automated(snapshots, **{"a.md": f"{number}\n"}) for number in range(5)]
    push(snapshots, str(team.bare))
    snapshots.clock.advance(400 * 86400)  # type: ignore[attr-defined]
    rig.automated(snapshots, **{"a.md": "later\n"})
    assert gc(snapshots).thinned == 0
    assert {commit.id for commit in snapshots.log()} >= set(ids)
    push(snapshots, str(team.bare))


def test_refusals_say_what_to_do(root: Path, team: Team) -> None:
    snapshots = rig.repository(root)
    snapshots.create(rig.cli())
    with pytest.raises(SecretInPlainSight) as refused:
        push(snapshots, "https://joe:hunter22@127.0.0.1/x.git")
    assert "hunter22" not in str(refused.value) + str(refused.value.hint)
    with pytest.raises(SnapshotFailed, match="cannot be used"):
        push(snapshots, str(root.parent / "nowhere.git"))
    with pytest.raises(SnapshotFailed, match="cannot be used"):
        pull(snapshots, "http://127.0.0.1:9/x.git")
    with pytest.raises(NotFound, match="no branch main"):
        pull(snapshots, str(team.bare))
    for branch in ("../x", "a..b", "x.lock", "", "a b", "-x"):
        with pytest.raises(NotFound):
            pull(snapshots, str(team.bare), branch=branch)
    assert "hunter22" not in repr(Login("joe", "hunter22"))
    (team.bare / "hooks/pre-receive").write_text("#!/bin/sh\nexit 1\n")
    (team.bare / "hooks/pre-receive").chmod(0o755)
    push(snapshots, str(team.bare), branch="review/mine")
    assert pull(snapshots, str(team.bare), branch="review/mine").how is How.NOTHING


class Asking(BaseHTTPRequestHandler):
    """A server that wants a login, and refuses every one."""

    seen: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="team"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.mark.parametrize("login", [None, Login("joe", "hunter22")])
def test_a_login_is_sent_when_asked_for_and_not_for_ever(root: Path, login: Login | None) -> None:
    Asking.seen.clear()
    snapshots = rig.repository(root)
    with ThreadingHTTPServer(("127.0.0.1", 0), Asking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(SnapshotFailed, match="cannot be used") as refused:
            pull(snapshots, f"http://127.0.0.1:{server.server_address[1]}/x.git", login=login)
        server.shutdown()
    sent = {it for it in Asking.seen if it is not None}
    assert sent == (set() if login is None else {f"Basic {base64.b64encode(b'joe:hunter22').decode()}"})
    assert len(Asking.seen) < 6
    assert "hunter22" not in refused.value.message

"""A small world in which deploying can be learned: projects, a `docker` and a `kubectl` with a cluster behind them, a
home whose job deploys, and a model server that plays ``learning_policy``.

Projects are real files, the commands real executables that a shell finds on the PATH and that remember what was built,
pushed and applied. The command line is the real one, in processes of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from hermes_cron.clock import SystemClock
from hermes_cron.domain.learning import Learned
from hermes_cron.home import Home
from hermes_cron.settings import Settings
from hermes_cron.store import learned
from hermes_cron.testing import StubServer
from hermes_cron.wiring import App
from tests.learning_policy import Policy

REGISTRY = "registry.lab.example:5000"
MIRROR = "mirror.lab.example:5000"
PROJECTS = {
    "shop": ("Django==5.1", "/health/"),
    "orders": ("fastapi==0.115", "/healthz"),
    "news": ("Flask==3.1", "/status"),
    "forum": ("starlette==0.41", "/ping"),
    "wiki": ("bottle==0.13", "/up"),
}
"""What each is made with, and where it answers; the template of all of them says /health/."""

# To a shell a command of it is one line that starts Python on the rest, wherever that lies; to Python it is a text.
CLUSTER = f"""\
#!/bin/sh
'''exec' "{sys.executable}" -IS "$0" "$@"
' '''
import json, pathlib, re, sys

here = pathlib.Path(__file__).resolve().parent
file = here.parent / "cluster.json"
state = json.loads(file.read_text())


def end(code=0, out="", err=""):
    file.write_text(json.dumps(state))
    print(out, end="")
    print(err, end="", file=sys.stderr)
    sys.exit(code)


def option(name, default=None):
    return words[words.index(name) + 1] if name in words else default


words = sys.argv[1:]
"""
DOCKER = f"""{CLUSTER}
if words[0] == "build":
    name, folder = option("-t"), pathlib.Path(words[-1])
    if not (folder / "Dockerfile").is_file():
        end(1, err=f"unable to read the Dockerfile of {{folder}}\\n")
    route = re.search('HEALTH = "(.*)"', (folder / "app.py").read_text())[1]
    state["images"][name] = {{"route": route, "source": str(folder / "app.py")}}
    end(out=f"built {{name}}\\n")
if words[0] == "tag":
    state["images"][words[2]] = state["images"][words[1]]
    end()
if words[0] == "push":
    name = words[1]
    if not any(name.startswith(registry + "/") for registry in state["registries"]):
        end(1, err=f"denied: {{name}} names no registry; look: kubectl get configmap registry -n kube-public\\n")
    state["pushed"][name] = state["images"][name]
    end(out=f"pushed {{name}}\\n")
end(2, err=f"docker: unknown command {{words[0]}}\\n")
"""
KUBECTL = f"""{CLUSTER}
namespace = option("-n", "default")
if words[:3] == ["get", "configmap", "registry"]:
    end(out=f"host: {{state['registries'][0]}}\\n")
if words[:2] == ["get", "namespaces"]:
    end(out="".join(f"{{name:<12}} Active\\n" for name in state["namespaces"]))
if words[0] == "apply":
    if namespace not in state["namespaces"][2:]:
        end(1, err=f"deployments are forbidden in namespace {{namespace}}; look: kubectl get namespaces\\n")
    text = pathlib.Path(option("-f")).read_text()
    name, path = re.search("name: (.*)", text)[1], re.search("path: (.*)", text)[1]
    state["deployed"][name] = {{"namespace": namespace, "path": path}}
    end(out=f"deployment.apps/{{name}} configured\\n")
if words[:2] == ["rollout", "status"]:
    name = words[-1].partition("/")[2]
    deployed = state["deployed"].get(name)
    image = next((name_ for name_ in state["pushed"] if name_.endswith(f"/{{name}}:1")), None)
    if deployed is None or deployed["namespace"] != namespace or image is None:
        end(1, err=f"error: deployment {{name}} not found in namespace {{namespace}}\\n")
    app = state["pushed"][image]
    if app["route"] != deployed["path"]:
        said = f"readiness probe GET {{deployed['path']}} answers 404: the container serves {{app['route']}}"
        end(1, err=f"error: {{said}} (HEALTH in {{app['source']}})\\n")
    state["up"][name] = {{"namespace": namespace, "image": image}}
    end(out=f"deployment {{name}} successfully rolled out\\n")
end(2, err=f"kubectl: unknown command {{words[0]}}\\n")
"""
JOB = """\
---
schedule: every day 3am
timezone: UTC
model: stub-model
tools: [shell, memory, skills]
workdir: {projects}
env: {{PATH: "{path}"}}
vars: {{project: shop}}
---
Deploy {{{{ vars.project }}}} to the staging cluster, wait until it answers, and say under which image it runs.
"""
CONFIG = """\
timezone = "UTC"
[model]
name = "stub-model"
base_url = "{base_url}"
[learning]
memory_turns = 2
"""
"""After two tasks it is looked back at for facts: nobody wants to read twenty deployments."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """What a run's transcript says of it. ``commands`` in order, with whether each was ok.

    ``cached`` is the share of the tokens it sent that the provider had read before.
    """

    project: str
    run: str
    report: str
    calls: int
    errors: int
    commands: tuple[tuple[str, bool], ...]
    cached: float
    learned: tuple[Learned, ...] = ()


@dataclass
class World:
    """``folder`` has ``home``, ``projects``, ``bin`` and ``cluster.json``."""

    folder: Path
    stub: StubServer
    home: Home = field(init=False)

    def __post_init__(self) -> None:
        self.home = Home(self.folder / "home")
        for made in (self.home.root, self.home.jobs, self.home.skills, self.home.memories, self.home.run):
            made.mkdir(parents=True)
        self.home.config.write_text(CONFIG.format(base_url=self.stub.base_url))
        self._executables()
        for name, (requirement, route) in PROJECTS.items():
            self._project(name, requirement, route)
        path = f"{self.folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        (self.home.jobs / "deploy.md").write_text(JOB.format(projects=self.folder / "projects", path=path))

    def _executables(self) -> None:
        (self.folder / "bin").mkdir()
        for name, text in (("docker", DOCKER), ("kubectl", KUBECTL)):
            file = self.folder / "bin" / name
            file.write_text(text)
            file.chmod(0o755)
        names = ["default", "kube-public", "staging", "preview"]
        empty: dict[str, Any] = {"images": {}, "pushed": {}, "deployed": {}, "up": {}}
        state = {"registries": [REGISTRY, MIRROR], "namespaces": names, **empty}
        (self.folder / "cluster.json").write_text(json.dumps(state))

    def _project(self, name: str, requirement: str, route: str) -> None:
        folder = self.folder / "projects" / name
        (folder / "deploy").mkdir(parents=True)
        (folder / "requirements.txt").write_text(f"{requirement}\n")
        (folder / "app.py").write_text(f'HEALTH = "{route}"\n')
        (folder / "Dockerfile").write_text("FROM python:3.11-slim\nCOPY . /app\n")
        (folder / "deploy" / "deployment.yaml").write_text(
            f"kind: Deployment\nname: {name}\nreadinessProbe:\n  path: /health/\n"
        )

    # --- what people do -------------------------------------------------------------------------------------------

    def cli(self, *argv: str) -> str:
        """The command's stdout. It has to end with 0."""
        env = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "OPENAI_API_KEY": "k",
            "HERMES_CRON_HOME": str(self.home.root),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "hermes_cron", *argv],
            env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, *argv: str) -> Any:
        return json.loads(self.cli(*argv, "--json"))

    def deploy(self, project: str) -> Deployed:
        """Run the job, and look back where that is due; what its transcript says then."""
        told = self.ask("run", "deploy", "--set", f"project={project}")
        return self.read(project, told["run_id"])

    def read(self, project: str, run: str) -> Deployed:
        """From the rows of the run's main session, and of what was learned from it."""
        with closing(App(self.home, Settings.load(self.home), SystemClock())) as app:
            row, steps = app.runs.row(run), app.runs.steps(run)
            report = app.runs.report(row)
            with app.store.read() as conn:
                taught = tuple(learned.of_run(conn, run))
        calls = [step for step in steps if step["step"] == "tool" and step["phase"] == "main"]
        return Deployed(
            project=project,
            run=run,
            report=str(report).strip(),
            calls=len(calls),
            errors=sum(not step["ok"] for step in calls),
            commands=tuple((_command(step), bool(step["ok"])) for step in calls),
            cached=row["tokens_cached"] / row["tokens_input"],
            learned=taught,
        )

    def say(self, run: str, text: str) -> Any:
        """What a person thinks of a run; it is looked back at at once."""
        return self.ask("runs", "feedback", run, text)

    # --- what can be looked at ------------------------------------------------------------------------------------

    @property
    def up(self) -> dict[str, dict[str, str]]:
        """What the cluster runs: namespace and image by name."""
        found: dict[str, dict[str, str]] = json.loads((self.folder / "cluster.json").read_text())["up"]
        return found

    def files(self) -> dict[str, str]:
        """What people own in the home, with a hash of each: jobs, skills, memory, settings."""
        places = [self.home.config]
        for top in (self.home.jobs, self.home.skills, self.home.memories):
            places += [path for path in top.rglob("*") if path.is_file()]
        return {
            path.relative_to(self.home.root).as_posix(): sha256(path.read_bytes()).hexdigest()
            for path in sorted(places)
        }

    def conversations(self) -> list[list[bytes]]:
        """Bodies of the requests in order, those of one session together: they begin with the same two messages."""
        found: dict[str, list[bytes]] = {}
        for request in self.stub.requests:
            found.setdefault(json.dumps(request.messages[:2]), []).append(request.body)
        return list(found.values())


def _command(step: Mapping[str, Any]) -> str:
    """What the terminal ran, else the tool's name."""
    return str(json.loads(step["arguments"]).get("command") or step["tool"])


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """Made in ``folder``, which must not exist."""
    folder.mkdir(parents=True)
    with StubServer(Policy()) as stub:
        yield World(folder, stub)


def stable(bodies: Sequence[bytes]) -> list[bool]:
    """Of each request after the first: whether it is the one before with messages added, byte for byte."""
    return [after.startswith(before.removesuffix(b"]}")) for before, after in pairwise(bodies)]

"""``check``: is every job file right, and if not, where and why?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import JobFileError, NotFound, PlaybookOneDatabase
from hermes_cron.settings import host_zone

if TYPE_CHECKING:
    from hermes_cron.jobs.load import Known

app = typer.Typer(help="Validate job files.", add_completion=False)

HELP_ZH = {
    "Validate job files.": "校验任务文件。",
    "A job file or a folder of them (default: the home's jobs).": "任务文件或目录（默认主目录的 jobs）。",
}

_TEXTS = {
    "en": {
        "good": "{count} job files, no fault",
        "one": "1 job file, no fault",
        "bad": "faults: {faults}, in {files} of {count} files",
    },
    "zh": {
        "good": "{count} 个任务文件，没有问题",
        "one": "1 个任务文件，没有问题",
        "bad": "{count} 个文件中 {files} 个有问题，共 {faults} 处",
    },
}

Fault = dict[str, object]


@app.command("check", help="Validate job files.")
def check(
    path: Annotated[
        str | None, typer.Argument(help="A job file or a folder of them (default: the home's jobs).")
    ] = None,
) -> int:
    state = cli()
    place = Path(path) if path else state.home.jobs
    files = _files(state, place)
    known = _known(state)
    faults = [*_twins(files, state), *(fault for file in files for fault in _faults(state, file, known))]
    if state.json:
        state.emit_json({"ok": not faults, "files": len(files), "faults": faults})
        return 2 if faults else 0
    texts = _TEXTS[state.lang]
    if not faults:
        state.out(texts["one" if len(files) == 1 else "good"].format(count=len(files)))
        return 0
    for fault in faults:
        state.out(output.one_line(f"{fault['file']}:{fault['line']} {fault['message']}"))
    broken = len({fault["file"] for fault in faults})
    state.note(texts["bad"].format(faults=len(faults), files=broken, count=len(files)))
    return 2


def _files(state: Cli, place: Path) -> list[Path]:
    """A file that is named is judged whatever it is called; of a folder, what a scheduler would read."""
    from hermes_cron.jobs.files import JobFiles

    if place.is_file():
        return [place]
    if not place.exists():
        known = state.home_path.jobs / f"{place.name}.md"
        if place.parent == Path() and known.is_file():
            return [known]
        raise NotFound(f"no file or folder {place}", hint="hermes-cron check")
    return [place / found.file_name for found in JobFiles(state.home_path, folder=place).scan()]


def _known(state: Cli) -> Known:
    """The home's names; without a home (a repository's own check) names cannot be judged."""
    from hermes_cron.jobs.load import Known

    return state.app.known(strict=True) if state.home_path.is_home() else Known(strict=False)


def _faults(state: Cli, file: Path, known: Known) -> Iterator[Fault]:
    from hermes_cron.jobs.files import SUFFIX, name_of
    from hermes_cron.jobs.load import parse_job

    zone = state.settings.timezone if state.home_path.is_home() else host_zone(state.environment)
    name = name_of(file.name) if file.name.endswith(SUFFIX) else file.name
    data = b""
    try:
        data = file.read_bytes()
        job = parse_job(data, path=_shown(state, file), name=name, now=state.clock.now(), host_zone=zone, known=known)
        if state.home_path.is_home():
            state.app.refuse_several_databases(job)
    except JobFileError as error:
        found = error.details["faults"]
        assert isinstance(found, list)  # noqa: S101 - parse_job's own
        yield from found
    except PlaybookOneDatabase as error:
        yield {"file": _shown(state, file), "line": _line_of("databases", data), "message": error.message}
    except OSError as error:
        yield {"file": _shown(state, file), "line": 1, "message": f"cannot be read: {error.strerror}"}


def _line_of(key: str, data: bytes) -> int:
    from hermes_cron.jobs.frontmatter import read_table, split

    return next((entry.line for entry in read_table(split(data)).entries if entry.key == key), 1)


def _twins(files: list[Path], state: Cli) -> Iterator[Fault]:
    """Names are one without regard to case: the second file of a name is no job."""
    from hermes_cron.domain.job import name_key
    from hermes_cron.jobs.files import name_of

    seen: dict[str, Path] = {}
    for file in files:
        first = seen.setdefault(name_key(name_of(file.name)), file)
        if first != file:
            message = f"the same name as {_shown(state, first)}, in another case"
            yield {"file": _shown(state, file), "line": 1, "message": message}


def _shown(state: Cli, file: Path) -> str:
    """``jobs/x.md`` in the home, else as the person wrote it."""
    return f"jobs/{file.name}" if file.parent == state.home_path.jobs else str(file)

"""``backup``: the whole home in one file; what such a file holds; a home out of one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import NotFound

if TYPE_CHECKING:
    from hermes_cron.backup.manifest import Manifest
    from hermes_cron.backup.restore import Restored
    from hermes_cron.backup.verify import Verified
    from hermes_cron.home import Home

app = typer.Typer(help="The whole home in one file, proved by opening it.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "The whole home in one file, proved by opening it.": "整个主目录存为一个文件，并打开验证。",
    "Back the home up while it runs, and prove the file.": "在运行中备份主目录，并验证备份文件。",
    "Open a backup: every file, the store, the history.": "打开备份检查：每个文件、数据库和历史。",
    "Make a home out of a backup, whole or not at all.": "从备份恢复主目录：要么完整，要么不动。",
    "The file or folder to write to (default: backups/ of the home).": "写到哪个文件或文件夹（默认主目录的 backups/）",
    "Put vault.key in too: whoever reads the file then reads the secrets.": "放入 vault.key：能读此文件的人就能读密钥",
    "The backup, a .tar.gz.": "备份文件（.tar.gz）。",
    "A folder that is new or empty.": "新的或空的文件夹。",
}

_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "verified": "{file} is whole",
        "restored": "{home} is restored from {file}",
        "made": "made", "holds": "holds", "file": "file", "proved": "proved", "key": "key", "left": "left out",
        "changed": "changed", "restore": "restore", "outside": "leads out", "next": "next", "care": "care",
        "made_by": "{at} UTC by hermes-cron {version}, of {home}",
        "files": "{files:,} files, {size}", "links": ", {n:,} links",
        "store": "; {rows:,} rows in {tables} tables (schema {schema})", "no_store": "; no store yet",
        "commits": "; {n:,} snapshots", "one_commit": "; 1 snapshot",
        "packed": "{size}, sha256 {sha256}",
        "proof": "every file by its hash{store}{history}",
        "proof_store": "; the store's pages, references and counts", "proof_history": "; {n:,} objects of the history",
        "none": "none: the home has no secrets",
        "included": "in it: whoever can read the file can read the secrets",
        "left_out": "not in it: keep vault.key too, apart from this file",
        "elsewhere": "not in the home, so not in it: keep that file too",
        "was_changed": "{path} was written while it was read, three times",
        "more": "and {n:,} more",
        "put_key": "cp /PATH/TO/vault.key {place}   (the secrets need it)",
        "elsewhere_key": "the secrets' key was not in the home: set HERMES_CRON_KEY_FILE as there",
        "older": "hermes-cron --home {home} upgrade   (its store has schema {schema})",
        "newer": "install a newer hermes-cron: its store has schema {schema}, this one knows {newest}",
        "look": "hermes-cron --home {home} status",
        "twice": "its jobs are due here too: let only one of the two homes `serve`",
    },
    "zh": {
        "verified": "{file} 完好",
        "restored": "已从 {file} 恢复 {home}",
        "made": "制作", "holds": "内容", "file": "文件", "proved": "已验证", "key": "密钥文件", "left": "未包含",
        "changed": "有变动", "restore": "恢复", "outside": "指向外部", "next": "下一步", "care": "注意",
        "made_by": "{at} UTC，hermes-cron {version}，来自 {home}",
        "files": "{files:,} 个文件，{size}", "links": "，{n:,} 个链接",
        "store": "；{tables} 张表共 {rows:,} 行（schema {schema}）", "no_store": "；还没有数据库",
        "commits": "；{n:,} 个快照", "one_commit": "；1 个快照",
        "packed": "{size}，sha256 {sha256}",
        "proof": "每个文件的哈希{store}{history}",
        "proof_store": "；数据库的页、引用和行数", "proof_history": "；历史中的 {n:,} 个对象",
        "none": "无：主目录没有密钥",
        "included": "已包含：能读此文件的人就能读密钥",
        "left_out": "未包含：请与此文件分开保存 vault.key",
        "elsewhere": "不在主目录中，因此未包含：请另外保存",
        "was_changed": "{path} 在读取时一直被改写（试了三次）",
        "more": "另有 {n:,} 项",
        "put_key": "cp /路径/vault.key {place}   （密钥需要它）",
        "elsewhere_key": "密钥文件原本不在主目录中：请同样设置 HERMES_CRON_KEY_FILE",
        "older": "hermes-cron --home {home} upgrade   （数据库为 schema {schema}）",
        "newer": "请安装更新的 hermes-cron：数据库为 schema {schema}，当前版本只认到 {newest}",
        "look": "hermes-cron --home {home} status",
        "twice": "任务在这里同样会到点：两个主目录只能有一个运行 serve",
    },
}  # fmt: skip
_SHOWN = 5

File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, a .tar.gz.")]


@app.command("create", help="Back the home up while it runs, and prove the file.")
def create(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file or folder to write to (default: backups/ of the home)."),
    ] = None,
    *,
    with_key: Annotated[
        bool,
        typer.Option("--with-key", help="Put vault.key in too: whoever reads the file then reads the secrets."),
    ] = False,
) -> int:
    from hermes_cron import __version__
    from hermes_cron.backup.create import create as make
    from hermes_cron.backup.create import default_name

    state = cli()
    home, now = state.home, state.clock.now()
    if with_key:
        _need_key(state, home)
    folder = home.root / "backups" if file is None else file.expanduser().absolute()
    place = folder / default_name(home.root, now) if file is None or folder.is_dir() else folder
    made = make(home.root, place, at=now, version=__version__, with_key=with_key)
    manifest = made.proof.manifest
    whole = not manifest.changed and not any(each.fault for each in manifest.left_out)
    if state.json:
        state.emit_json({"file": str(made.file), "whole": whole, **_as_json(made.proof)})
    else:
        texts = _TEXTS[state.lang]
        state.out(str(made.file))
        back = shlex.join(["hermes-cron", "backup", "restore", str(made.file), "--to"])
        state.out(output.facts([*_facts(made.proof, texts), (texts["restore"], f"{back} FOLDER")]))
    return 0 if whole else 1


@app.command("verify", help="Open a backup: every file, the store, the history.")
def verify(file: File) -> None:
    from hermes_cron.backup.verify import verify as prove

    state = cli()
    proof = prove(file.expanduser())
    if state.json:
        state.emit_json({"file": str(file), "verified": True, **_as_json(proof)})
        return
    texts, manifest = _TEXTS[state.lang], proof.manifest
    state.out(texts["verified"].format(file=file))
    at = f"{manifest.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    by = texts["made_by"].format(at=at, version=manifest.version, home=manifest.home)
    state.out(output.facts([(texts["made"], by), *_facts(proof, texts)]))


@app.command("restore", help="Make a home out of a backup, whole or not at all.")
def restore(
    file: File,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="A folder that is new or empty.")],
) -> None:
    from hermes_cron.backup.restore import restore as put_back

    state = cli()
    done = put_back(file.expanduser(), to.expanduser().absolute())
    texts = _TEXTS[state.lang]
    steps = _next(done, texts)
    if state.json:
        more = {"outside": list(done.outside), "next": steps}
        state.emit_json({"file": str(file), "home": str(done.home), **_as_json(done.proof), **more})
        return
    state.out(texts["restored"].format(home=done.home, file=file))
    lines = _facts(done.proof, texts)
    if done.outside:
        lines.append((texts["outside"], _some(list(done.outside), texts)))
    lines += [(texts["next"], "\n".join(steps)), (texts["care"], texts["twice"])]
    state.out(output.facts(lines))


def _need_key(state: Cli, home: Home) -> None:
    """What was asked for must be possible: a key that lies elsewhere is no part of the home."""
    from hermes_cron.vault.keys import key_place

    place = key_place(home, state.environment)
    if home.vault.exists() and not home.vault_key.exists():
        raise NotFound(
            f"there is no vault.key in this home: its key is {place}",
            hint="hermes-cron backup create   (and keep that file too)",
        )


def _facts(proof: Verified, texts: Mapping[str, Any]) -> list[tuple[str, str]]:
    manifest, history = proof.manifest, proof.history
    holds = texts["files"].format(files=proof.files, size=_size(proof.size))
    if proof.links:
        holds += texts["links"].format(n=proof.links)
    holds += _store(manifest, texts)
    if history is not None:
        holds += texts["one_commit" if history.commits == 1 else "commits"].format(n=history.commits)
    proved = texts["proof"].format(
        store="" if manifest.store is None else texts["proof_store"],
        history="" if history is None else texts["proof_history"].format(n=history.objects),
    )
    lines = [
        (texts["holds"], holds),
        (texts["file"], texts["packed"].format(size=_size(proof.packed), sha256=proof.sha256[:12])),
        (texts["proved"], proved),
        (texts["key"], texts[manifest.key]),
    ]
    if manifest.left_out:
        lines.append((texts["left"], _some([f"{each.path}: {each.why}" for each in manifest.left_out], texts)))
    if manifest.changed:
        lines.append((texts["changed"], _some([texts["was_changed"].format(path=p) for p in manifest.changed], texts)))
    return lines


def _store(manifest: Manifest, texts: Mapping[str, Any]) -> str:
    if manifest.store is None:
        return str(texts["no_store"])
    facts = manifest.store
    return str(texts["store"].format(rows=facts.total, tables=len(facts.rows), schema=facts.schema))


def _next(done: Restored, texts: Mapping[str, Any]) -> list[str]:
    """What the new home still needs, as commands, in order."""
    from hermes_cron.backup.manifest import Key
    from hermes_cron.store.migrate import newest

    home, manifest = shlex.quote(str(done.home)), done.proof.manifest
    steps: list[str] = []
    if manifest.key is Key.LEFT_OUT:
        steps.append(texts["put_key"].format(place=shlex.quote(str(done.home / "vault.key"))))
    elif manifest.key is Key.ELSEWHERE:
        steps.append(texts["elsewhere_key"])
    schema, known = manifest.store.schema if manifest.store else newest(), newest()
    if schema < known:
        steps.append(texts["older"].format(home=home, schema=schema))
    elif schema > known:
        steps.append(texts["newer"].format(schema=schema, newest=known))
    return [*steps, texts["look"].format(home=home)]


def _some(lines: list[str], texts: Mapping[str, Any]) -> str:
    shown = [output.one_line(line) for line in lines[:_SHOWN]]
    return "\n".join([*shown, *([texts["more"].format(n=len(lines) - _SHOWN)] if len(lines) > _SHOWN else [])])


def _size(number: int) -> str:
    """Powers of 1,000, as `ls --si` and disks count."""
    size, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 9.95 else f"{size:.1f} {unit}"


def _as_json(proof: Verified) -> dict[str, object]:
    manifest, history = proof.manifest, proof.history
    return {
        "at": manifest.at,
        "version": manifest.version,
        "home_name": manifest.home,
        "sha256": proof.sha256,
        "packed_bytes": proof.packed,
        "files": proof.files,
        "links": proof.links,
        "bytes": proof.size,
        "store": None if manifest.store is None else {"schema": manifest.store.schema, "rows": manifest.store.rows},
        "history": None if history is None else {"commits": history.commits, "objects": history.objects},
        "key": manifest.key,
        "left_out": [{"path": each.path, "why": each.why, "fault": each.fault} for each in manifest.left_out],
        "changed": manifest.changed,
    }

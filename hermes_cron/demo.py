"""``make demo``: what does hermes-cron do, without a key, a server or a database of one's own?

A throw-away home and a SQLite shop with planted faults in a temporary folder, then the real commands as a person
would type them. The folder stays, so that one can go on.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hermes_cron import demo_shop
from hermes_cron.settings import command_environment, environment, variable

_TEXTS = {
    "en": {
        "phrase": "every day 9am: inspect prod db",
        "job": "inspect-prod-db",
        "intro": "A shop's database with faults in it, and a home for hermes-cron, both in\n  {folder}",
        "failed": "\nhermes-cron {command} ended with {code}; everything is kept in {folder}",
        "done": "\nThat was the real program on a throw-away home. It is kept; look around:",
        "own": "\nYour own database (a password is asked for, never typed in the URL):",
        "where": "\nThe command is {command}",
    },
    "zh": {
        "phrase": "每天9点：巡检 prod 数据库",
        "job": "巡检-prod-数据库",
        "intro": "一个埋有问题的商店数据库，以及 hermes-cron 的主目录，都在\n  {folder}",
        "failed": "\nhermes-cron {command} 以退出码 {code} 结束；文件都保留在 {folder}",
        "done": "\n以上是真实程序在临时主目录上的运行。目录已保留，可以继续查看：",
        "own": "\n换成自己的数据库（密码会单独询问，绝不写在 URL 里）：",
        "where": "\n命令位于 {command}",
    },
}


def main() -> int:
    """Returns the exit code of the first command that failed, else 0."""
    language = _language()
    text = _TEXTS[language]
    folder = Path(tempfile.mkdtemp(prefix="hermes-cron-demo-"))
    home, shop = folder / "home", folder / "shop.db"
    _say(text["intro"].format(folder=folder))
    demo_shop.make(shop)
    commands = (
        ["init", "--no-input"],
        ["db", "add", "prod", "--url", f"sqlite:///{shop}"],
        ["add", text["phrase"]],
        ["run", text["job"]],
    )
    for command in commands:
        _say(f"\n$ hermes-cron {_shown(command)}")
        code = _run(command, home=home, language=language)
        if code != 0:
            _say(text["failed"].format(command=command[0], code=code, folder=folder))
            return code
    _say(_ending(text, home))
    return 0


def _ending(text: dict[str, str], home: Path) -> str:
    command = _command()
    short = shlex.quote(str(command))
    look = [["list"], ["history", text["job"]], ["runs", "list"], ["skills", "show", "inspect-database"]]
    own = [["init"], ["db", "add", "prod"], ["add", text["phrase"]], ["run", text["job"]], ["serve"]]
    return "\n".join([
        text["done"],
        f"  export HERMES_CRON_HOME={shlex.quote(str(home))}",
        *(f"  {short} {_shown(words)}" for words in look),
        text["own"],
        "  unset HERMES_CRON_HOME",
        *(f"  {short} {_shown(words)}" for words in own),
        text["where"].format(command=command),
    ])  # fmt: skip


def _shown(words: list[str]) -> str:
    """As a person types it: a sentence in double quotes, everything else as it is."""
    return " ".join(f'"{word}"' if " " in word or "：" in word else word for word in words)


def _run(words: list[str], *, home: Path, language: str) -> int:
    """One command in a process of its own, with a model key neither given nor looked for."""
    spoken = {"LANG": "zh_CN.UTF-8" if language == "zh" else "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
    spoken["PYTHONUNBUFFERED"] = "1"  # the report and the notes around it in their order, also on a pipe
    inherited = {name: value for name, value in command_environment().items() if name not in ("LC_ALL", "LC_CTYPE")}
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cron", *words],
        env={**inherited, **spoken, "HERMES_CRON_HOME": str(home)},
        check=False,
    )
    return done.returncode


def _language() -> str:
    """``LANG=zh make demo`` is meant, even where LC_ALL is set for other reasons."""
    return "zh" if (variable("LANG") or "").lower().startswith("zh") else environment().language


def _command() -> Path:
    """The installed command beside this interpreter, else the one on the PATH, else how to start the module."""
    beside = Path(sys.executable).parent / "hermes-cron"
    if beside.is_file():
        return beside
    found = shutil.which("hermes-cron")
    return Path(found) if found else beside


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

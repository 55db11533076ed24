"""Which files and lines match? Run in a process of its own, so that a pattern that never ends can be ended.

Reads one JSON object on stdin: root, shown, glob, pattern (or null), ignore_case, limit, file_bytes, keep_out (real
paths; other names of the same files are kept out too). Prints one JSON object: results, files, skipped, more. Only the
standard library.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

PASSED_OVER = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache"})
_WIDTH = 300


def inodes(paths: frozenset[str]) -> frozenset[tuple[int, int]]:
    """Device and inode of those that exist."""
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):
            stat = os.stat(path)  # noqa: PTH116
            found.add((stat.st_dev, stat.st_ino))
    return frozenset(found)


def walk(root: str, keep_out: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Real path and path below ``root`` of every plain file, by name. Links are not followed, hard ones neither."""
    hidden = inodes(keep_out)
    if os.path.isfile(root):  # noqa: PTH113
        yield root, os.path.basename(root)  # noqa: PTH119
        return
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in PASSED_OVER and os.path.join(folder, name) not in keep_out  # noqa: PTH118
        )
        for name in sorted(files):
            path = os.path.join(folder, name)  # noqa: PTH118
            if path in keep_out or os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114
                continue
            if not inodes(frozenset({path})) <= hidden:
                yield path, os.path.relpath(path, root)


def wanted(name: str, glob: str) -> bool:
    """``**/`` matches any number of folders, none included; a glob without ``/`` looks at the last name only."""
    if "/" not in glob:
        return fnmatch.fnmatchcase(name.rpartition("/")[2], glob)
    return glob_expression(glob).fullmatch(name) is not None


def glob_expression(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts), re.DOTALL)


def search(task: dict[str, Any]) -> dict[str, Any]:
    """At most ``limit`` results, in order of path and line."""
    flags = re.IGNORECASE if task["ignore_case"] else 0
    pattern = None if task["pattern"] is None else re.compile(task["pattern"], flags)
    results: list[str] = []
    files = skipped = 0
    for path, name in walk(task["root"], frozenset(task["keep_out"])):
        if not wanted(name, task["glob"]):
            continue
        files += 1
        if pattern is None:
            results.append(name)
        elif (text := plain_text(path, task["file_bytes"])) is None:
            skipped += 1
        else:
            results += [
                f"{name}:{number}: {shorten(line)}"
                for number, line in enumerate(text.splitlines(), 1)
                if pattern.search(line)
            ]
        if len(results) > task["limit"]:
            return {"results": results[: task["limit"]], "files": files, "skipped": skipped, "more": True}
    return {"results": results, "files": files, "skipped": skipped, "more": False}


def plain_text(path: str, file_bytes: int) -> str | None:
    """None for a file that is binary, too large or not readable."""
    try:
        if os.path.getsize(path) > file_bytes:  # noqa: PTH202
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError:
        return None
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


def shorten(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} [... {len(line) - _WIDTH:,} characters cut]"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    json.dump(search(json.load(sys.stdin)), sys.stdout)

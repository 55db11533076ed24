"""Which programs does shell text start? Those are pinned: a check whose own script changed can not be believed.

Read from the words, without running anything: the first word of each simple command, and the script after an
interpreter. Files that a command merely reads are not among them; ``inputs:`` names those.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

_OPERATOR = re.compile(r"[();|&]+")
_AGAIN = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "env", "nohup", "command", "sudo"}
)
"""Words after which another command's first word stands."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_INTERPRETER = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k)?sh|python[\d.]*|perl|ruby|node|php|source|\.)")
_INLINE = re.compile(r"-[A-Za-z]*[cemr]")
"""Options after which code or a module's name stands, not a file."""


def programs(command: str, folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Absolute paths, each once, whether they exist or not."""
    found: dict[Path, None] = {}
    for word, script in _started(command):
        if script or "/" in word:
            found[folder / word] = None
        elif (path := shutil.which(word, path=env.get("PATH"))) is not None:
            found[Path(path)] = None
    return list(found)


def _started(command: str) -> Iterator[tuple[str, bool]]:
    """Each started word, and whether it is the script of an interpreter."""
    for line in command.replace("\\\n", " ").splitlines():
        first, interpreter = True, False
        for word in _words(line):
            if _OPERATOR.fullmatch(word):
                first, interpreter = True, False
            elif interpreter:
                interpreter = word.startswith("-") and not _INLINE.fullmatch(word)
                if not word.startswith("-"):
                    yield word, True
            elif first and word not in _AGAIN and not _ASSIGNMENT.fullmatch(word):
                first, interpreter = False, _INTERPRETER.fullmatch(word) is not None
                yield word, False


def _words(line: str) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:  # a quote that ends on another line
        return line.split()

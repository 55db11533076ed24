"""Which programs does shell text start? Those are pinned: a check whose own script changed can not be believed.

Read from the words, without running anything: the first word of each simple command, also behind ``timeout 5`` and its
like, in ``$(...)`` and in ``sh -c "..."``; and the script after an interpreter. Rather one file too many than one too
few. Files that a command merely reads are not among them; ``inputs:`` names those.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_OPERATOR = re.compile(r"[();|&\n]+")
_REDIRECT = re.compile(r"[<>&|]*[<>][<>&|]*")
_AGAIN = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "exec", "command", "builtin"})
"""Words after which another command's first word stands."""
_WRAPPERS: Mapping[str, str] = {
    "chrt": "pT", "env": "uCS", "flock": "wEc", "ionice": "cnp", "nice": "n", "nohup": "", "setsid": "",
    "stdbuf": "ioe", "sudo": "ugCDhpRrTtU", "time": "fo", "timeout": "ks", "xargs": "adEIiLnPs",
}  # fmt: skip
"""Programs that start another, and their one-letter options whose value may be the next word."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_AMOUNT = re.compile(r"[0-9.]+[smhd]?")
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k|a)?sh")
_SOURCE = frozenset({"source", "."})
_INTERPRETERS: Mapping[str, tuple[str, str]] = {
    "python": ("cm", "XW"), "perl": ("eE", ""), "ruby": ("e", "r"), "node": ("ep", "r"), "php": ("r", "dcz"),
}  # fmt: skip
"""Options after which code or a module's name stands, and options whose value may be the next word."""
_INSIDE = re.compile(r"[$<>]\(([^()]*)\)|`([^`]*)`")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
_HERE = re.compile(r"^\$(?:PWD|\{PWD\})/")
_DEEPEST = 5


def programs(command: str, folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Absolute paths, each once, whether they exist or not."""
    words = list(_started(command, 0))
    folders = [folder, *(folder / word for kind, word in words if kind == "folder")]
    found: dict[Path, None] = {}
    for kind, word in words:
        if kind == "script" or (kind == "program" and "/" in word):
            found |= dict.fromkeys(at / _HERE.sub("", word) for at in folders)
        elif kind == "program":
            found |= dict.fromkeys(_on_path(word, folders, env))
    return list(found)


def _on_path(word: str, folders: Iterable[Path], env: Mapping[str, str]) -> Iterator[Path]:
    """What a shell finds in each of the folders; a relative or empty entry of the PATH begins there."""
    for folder in folders:
        paths = (folder / entry / word for entry in env.get("PATH", "").split(os.pathsep))
        found = next((path for path in paths if path.is_file() and os.access(path, os.X_OK)), None)
        if found is not None:
            yield found


def _started(command: str, depth: int) -> Iterator[tuple[str, str]]:
    """Each started word: ``program``, ``script`` (of an interpreter), or ``folder`` that commands may run in."""
    if depth > _DEEPEST:
        return
    for inner in _INSIDE.finditer(command):
        yield from _started(inner[1] or inner[2] or "", depth + 1)
    for simple, input_from in _simple(_words(command)):
        yield from _of(simple, input_from, depth)


def _simple(words: Iterable[str]) -> Iterator[tuple[list[str], str | None]]:
    """The words of each simple command without its redirections, and the file that it reads as its input."""
    held: list[str] = []
    input_from, redirect = None, ""
    for word in words:
        if redirect:
            input_from, redirect = (word if redirect == "<" else input_from), ""
        elif _REDIRECT.fullmatch(word):
            redirect = word
        elif _OPERATOR.fullmatch(word):
            yield held, input_from
            held, input_from = [], None
        else:
            held.append(word)
    yield held, input_from


def _of(words: Sequence[str], input_from: str | None, depth: int) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(words) and (words[at] in _AGAIN or words[at].isdigit() or _ASSIGNMENT.fullmatch(words[at])):
        at += 1  # a digit alone is the number of a redirection
    if at == len(words):
        return
    name, rest = words[at], words[at + 1 :]
    yield "program", name
    base = name.rpartition("/")[2]
    if base in {"cd", "pushd"}:
        yield from (("folder", word) for word in rest[-1:])
    elif base == "find":
        for place in (place for place, word in enumerate(rest) if word in {"-exec", "-execdir", "-ok", "-okdir"}):
            yield from _of(rest[place + 1 :], None, depth)
    elif base in _WRAPPERS:
        yield from _of(_behind(rest, _WRAPPERS[base]), input_from, depth)
    elif _SHELL.fullmatch(name) or base in _SOURCE:
        yield from _of_shell(rest, input_from, depth)
    elif (known := _INTERPRETERS.get(base.rstrip("0123456789."))) is not None:
        yield from _script(rest, *known, input_from=input_from)


def _behind(words: Sequence[str], valued: str) -> Sequence[str]:
    """What stands behind a wrapper's own options, amounts and variables."""
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith("-"):
            at += 2 if len(word) == 2 and word[1] in valued else 1  # a letter behind its dash
        elif _AMOUNT.fullmatch(word) or _ASSIGNMENT.fullmatch(word):
            at += 1
        else:
            break
    return words[at:]


def _of_shell(words: Sequence[str], input_from: str | None, depth: int) -> Iterator[tuple[str, str]]:
    at, inline = 0, False
    while at < len(words) and words[at][:1] in {"-", "+"}:
        letters = "" if words[at].startswith("--") else words[at][1:]
        inline = inline or "c" in letters
        at += 1 + sum(letters.count(letter) for letter in "oO")
    rest = words[at:]
    if rest and inline:
        yield from _started(rest[0], depth + 1)
    elif rest:
        yield "script", rest[0]
    elif input_from is not None:
        yield "script", input_from


def _script(words: Sequence[str], inline: str, valued: str, *, input_from: str | None) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        if not word.startswith("--") and set(word[1:]) & set(inline):
            return
        at += 2 if len(word) == 2 and word[1] in valued else 1  # a letter behind its dash
    script = words[at] if at < len(words) else input_from
    if script is not None:
        yield "script", script


def _words(command: str) -> list[str]:
    """As a shell splits them, operators and ends of lines as words of their own."""
    text = command.replace("\\\n", " ")
    for attempt in (text, _COMMENT.sub("", text)):
        reader = shlex.shlex(attempt, posix=True, punctuation_chars="();<>|&\n")
        reader.whitespace, reader.whitespace_split, reader.commenters = " \t\r", True, ""
        try:
            return list(reader)
        except ValueError:  # a quote without its other one: in a comment, in a here-document
            continue
    return [word.strip("\"'") for word in re.findall(r"[();|&\n]+|[<>]+|[^\s();|&<>]+", text)]

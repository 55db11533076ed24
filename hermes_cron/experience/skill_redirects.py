"""Which skill took over what another one said?

``skills/.redirects`` names them, ``OLD NEW`` a line, each as category/name; ``#`` begins a comment. A merge writes a
line, and whatever asks for the old name gets the new skill: a job on another host, a line in a text, a person's memory.
The file is in the history, so an undo of the merge takes the line back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_cron.experience import beside_skills

REDIRECTS = ".redirects"
_HEAD = "# Skills that were merged into another one, kept by hermes-cron: OLD NEW, each as category/name\n"


def redirects(root: Path) -> Mapping[str, str]:
    """What the file of a home's skills says, in its order; nothing when there is no file. Raises ``ConfigError``."""
    return pairs(beside_skills.read(root, REDIRECTS))


def pairs(data: bytes | None) -> dict[str, str]:
    """What a file says. A line that is not two names leads nowhere; of two lines for one name the later one holds."""
    found: dict[str, str] = {}
    for line in (data or b"").decode("utf-8-sig", "replace").splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 2:
            found.pop(words[0], None)
            found[words[0]] = words[1]
    return found


def with_redirect(data: bytes | None, old: str, new: str) -> bytes:
    """The file with ``old`` leading to ``new``. What ``new`` led to before goes: it is a skill now."""
    lines = (_HEAD.encode() if data is None else data).splitlines(keepends=True)
    kept = [line for line in lines if not pairs(line).keys() & {old, new}]
    text = b"".join(kept)
    return text + (b"" if not text or text.endswith((b"\n", b"\r")) else b"\n") + f"{old} {new}\n".encode()


def way(known: Mapping[str, str], name: str, is_there: Callable[[str], bool]) -> tuple[str, ...]:
    """The names from ``name`` on, as far as the redirects lead; the last is a skill that is there, or all ends there.

    Empty when nothing redirects the name. A name without its category is found when one redirect alone has it, or all
    that have it lead to one skill. In a circle the last name is one that stands before it.
    """
    starts = [name] if name in known else [old for old in known if old.rpartition("/")[2] == name]
    ways = {found[-1]: found for start in starts for found in (_from(known, start, is_there),)}
    return next(iter(ways.values())) if len(ways) == 1 else ()


def _from(known: Mapping[str, str], name: str, is_there: Callable[[str], bool]) -> tuple[str, ...]:
    names = [name]
    while names[-1] in known and (len(names) == 1 or not is_there(names[-1])):
        following = known[names[-1]]
        names.append(following)
        if following in names[:-1]:
            break
    return tuple(names)


def is_circle(names: tuple[str, ...]) -> bool:
    """Whether a way comes back to where it was."""
    return len(set(names)) < len(names)

"""What is a skill that took another one in? Nothing of the other is lost: each of its files comes along.

A file whose place is taken has the other skill's name in front, and the texts that name it say so. The text of the
target stays as it is, and what the other one said stands beside it, unless a text that says both is given and keeps
what must be kept. Values in, values out: nothing is written here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hermes_cron.errors import Refused
from hermes_cron.experience import frontmatter
from hermes_cron.experience.skill_state import File, State
from hermes_cron.experience.skills import SKILL_FILE

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_PITFALLS = re.compile(r"pitfalls?\b|known issues|陷阱|注意事项|常见问题", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(.*\S)")
_LONGEST = 1_024  # agentskills.io: characters of a description
_TEXT_BYTES = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A skill before the merge. ``name`` is that of its folder, ``qualified`` with the category."""

    name: str
    qualified: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The target with the other in it, without a new version yet. ``places``: where each of the other's files lies."""

    state: State
    places: Mapping[str, str]
    said: tuple[str, ...] = ()


def merged(source: Part, target: Part, body: str | None = None) -> Merged:
    """``target`` with all of ``source``, found by what both say they are for. ``body``: what stands below the front
    matter, in place of the target's own.

    Raises ``Refused`` for what cannot be brought together by rules, and for a ``body`` that loses something.
    """
    _refuse_links(source)
    places = _places(source, target)
    moved = {old: new for old, new in places.items() if old != new}
    files = dict(target.state.files)
    for old, new in places.items():
        file = source.state.files[old]
        files[new] = File(_renamed(file.data, moved), file.bits)
    own, other = _body(target.state), _in_text(_body(source.state), moved)
    files[SKILL_FILE] = replace(files[SKILL_FILE], data=_with_both_descriptions(target.state.skill, source))
    said = [f"{old} is {new} now" for old, new in moved.items()]
    if body is not None:
        refuse_loss(own, other, body, places=files)
        return Merged(state=_with_body(State(files=files), body), places=places, said=tuple(said))
    if _plain(own) != _plain(other):
        place = _free(f"references/{source.name}.md", files)
        files[place] = File(_kept_text(source, other).encode())
        said.append(f"what it said stands in {place}")
        own = f"{own.rstrip()}\n\n{_pointer(source, place)}"
    return Merged(state=_with_body(State(files=files), own), places=places, said=tuple(said))


# --- files ------------------------------------------------------------------------------------------------------------


def _refuse_links(source: Part) -> None:
    linked = sorted(path for path, file in source.state.files.items() if file.link)
    if linked:
        raise Refused(
            f"{source.qualified} has links ({', '.join(linked[:3])}), and where they lead would be another place",
            hint=f"put files in their place, or hermes-cron skills archive {source.name}",
        )


def _places(source: Part, target: Part) -> dict[str, str]:
    """Where each file of the source lies in the target. A file that the target has with the same bytes is that file."""
    taken = dict(target.state.files)
    places: dict[str, str] = {}
    for path, file in sorted(source.state.files.items()):
        if path == SKILL_FILE:
            continue
        there = next((it for it in taken if it.casefold() == path.casefold()), None)
        if there is not None and taken[there].data == file.data and not taken[there].link:
            places[path] = there
            continue
        if there is not None and path.startswith("playbook"):
            raise Refused(
                f"{source.qualified} and {target.qualified} each have a {path}, and a run follows one",
                hint="a person brings the two playbooks together first",
            )
        places[path] = path if there is None else _free(_named(path, source.name), taken)
        taken[places[path]] = file
    return places


def _named(path: str, name: str) -> str:
    """``references/limits.md`` of radar: ``references/radar-limits.md``."""
    folder, slash, last = path.rpartition("/")
    return f"{folder}{slash}{name}-{last}"


def _free(path: str, taken: Mapping[str, File]) -> str:
    stem, dot, ending = path.rpartition(".")
    known, number, found = {it.casefold() for it in taken}, 1, path
    while found.casefold() in known:
        number += 1
        found = f"{stem}-{number}{dot}{ending}" if dot and "/" not in ending else f"{path}-{number}"
    return found


def _renamed(data: bytes, moved: Mapping[str, str]) -> bytes:
    """A file that comes along, naming the others as they are called now; what is no text stays as it is."""
    if not moved or len(data) > _TEXT_BYTES or b"\0" in data[:8192]:
        return data
    try:
        return _in_text(data.decode("utf-8"), moved).encode()
    except UnicodeDecodeError:
        return data


def _in_text(text: str, moved: Mapping[str, str]) -> str:
    for old, new in moved.items():
        text = re.sub(rf"(?<![\w/.-])((?:\./)?){re.escape(old)}(?![\w/-])", lambda it, to=new: it[1] + to, text)  # type: ignore[misc]
    return text


# --- texts ------------------------------------------------------------------------------------------------------------


def _body(state: State) -> str:
    return frontmatter.parse(frontmatter.decode(state.skill, SKILL_FILE), SKILL_FILE).body


def _plain(text: str) -> str:
    return " ".join(text.split())


def _kept_text(source: Part, body: str) -> str:
    return f"# {source.name}\n\n{_description(source.state.skill)}\n\n{body.strip()}\n"


def _pointer(source: Part, place: str) -> str:
    return f"## Also: {source.name}\n\n{_description(source.state.skill)} How it is done: `{place}`.\n"


def _description(data: bytes) -> str:
    front = frontmatter.parse(frontmatter.decode(data, SKILL_FILE), SKILL_FILE)
    return _plain(str(front.fields.get("description") or ""))


def _with_both_descriptions(data: bytes, source: Part) -> bytes:
    """The target's file, found by what the source was found by too, where there is room for that."""
    own, other = _description(data), _description(source.state.skill)
    both = f"{own} {other}"
    if other.casefold() in own.casefold() or len(both) > _LONGEST:
        return data
    head = _head(data)
    text = head.decode("utf-8")
    place = _place_of_description(text)
    if place is None:
        return data
    first, last = place
    ending = "" if not text[first:last].endswith("\n") else "\r\n" if text[first:last].endswith("\r\n") else "\n"
    made = f"{text[:first]}{json.dumps(both, ensure_ascii=False)}{ending}{text[last:]}".encode() + data[len(head) :]
    return made if _description(made) == both else data


def _place_of_description(head: str) -> tuple[int, int] | None:
    """Where in the text of the front matter its value stands; None where that is not plain."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    first = head.index("---") + 3
    first += len(head[first:]) - len(head[first:].lstrip(" \t\r\n"))
    last = head.rindex("---")
    try:
        node = YAML(typ="rt").compose(head[first:last])
    except YAMLError:
        return None
    for key, value in node.value:
        if key.value == "description":
            return first + value.start_mark.index, first + value.end_mark.index
    return None


def _with_body(state: State, body: str) -> State:
    """With another text below the front matter, whose bytes stay; line ends as the file has them."""
    data = state.skill
    head = _head(data)
    text = f"\n{body.strip()}\n"
    if data.count(b"\r\n") and data.count(b"\r\n") == data.count(b"\n"):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return state.put(SKILL_FILE, head + text.encode())


def _head(data: bytes) -> bytes:
    """The bytes of the front matter with both of its fences."""
    lines = data.splitlines(keepends=True)
    closing = next(at for at, line in enumerate(lines) if at and line.rstrip() == b"---")
    head = b"".join(lines[: closing + 1])
    return head if head.endswith((b"\n", b"\r")) else head + b"\n"


# --- what a text must keep --------------------------------------------------------------------------------------------


def refuse_loss(own: str, other: str, body: str, *, places: Mapping[str, object]) -> None:
    """Raises ``Refused`` for a text that says less than the two it stands for: the files that one of them named, the
    headings of the target, each line of pitfalls, and at least the length of the target's text by half."""
    lost = [
        *(f"the file {path}" for path in _files_named(f"{own}\n{other}", places) if path not in body),
        *(f"the heading {title!r}" for title in _headings(own) if title not in set(_headings(body))),
        *(f"the pitfall {line[:80]!r}" for line in _pitfalls(own, other) if line not in _plain(body)),
    ]
    if len(_plain(body)) * 2 < len(_plain(own)):
        lost.append("more than half of the text")
    if lost:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        raise Refused(f"the new text loses {', '.join(lost[:5])}{more}", hint="the target's own text is kept")


def _files_named(text: str, places: Mapping[str, object]) -> list[str]:
    return [path for path in places if path != SKILL_FILE and path in text]


def _headings(text: str) -> list[str]:
    """Those of sections; the title may be another one."""
    found = (_HEADING.match(line) for line in text.split("\n"))
    return [_plain(it[2]).casefold() for it in found if it is not None and len(it[1]) > 1]


def _pitfalls(*texts: str) -> Iterator[str]:
    """The items below headings of pitfalls: each was paid for by a run."""
    for text in texts:
        level = 0
        for line in text.split("\n"):
            heading = _HEADING.match(line)
            if heading is not None and (not level or len(heading[1]) <= level):
                level = len(heading[1]) if _PITFALLS.search(heading[2]) else 0
            elif level and (item := _ITEM.fullmatch(line)) is not None:
                yield _plain(item[1])


# --- names in jobs ----------------------------------------------------------------------------------------------------


def names_after(names: tuple[str, ...], olds: frozenset[str], new: str, same: frozenset[str]) -> tuple[str, ...]:
    """A job's skills with ``new`` for each of ``olds``: in their order, none twice. ``same`` are other names of
    ``new``, which stay as they are written."""
    found: list[str] = []
    for name in names:
        now = new if name in olds else name
        known = {now} | (same if now in same or now == new else frozenset())
        if not known & set(found):
            found.append(now)
    return tuple(found)

"""How is endless output kept bounded? The head and the tail stay, and the cut says what it took."""

from __future__ import annotations

from collections import deque


class BoundedOutput:
    """Bytes as they come; at most ``cap_bytes`` are held. Not thread-safe."""

    def __init__(self, cap_bytes: int) -> None:
        self._head_cap = (cap_bytes + 1) // 2
        self._tail_cap = cap_bytes - self._head_cap
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_cap - len(self._head)
        self._head += data[:room]
        rest = data[room:] if room > 0 else data
        if rest:
            self._tail.append(rest[-self._tail_cap :] if self._tail_cap else b"")
            self._tail_size += len(self._tail[-1])
            while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_cap:
                self._tail_size -= len(self._tail.popleft())

    def cut(self) -> str | None:
        """What was cut, in words; None when everything is here."""
        if self.total <= self._head_cap + self._tail_cap:
            return None
        kept = self._head_cap + self._tail_cap
        return (
            f"{self.total - kept:,} of {self.total:,} bytes cut: "
            f"the first {self._head_cap:,} and the last {self._tail_cap:,} are shown"
        )

    def text(self) -> str:
        """UTF-8; what is not UTF-8 becomes U+FFFD. A character that the cut went through is left out."""
        tail = b"".join(self._tail)
        if (cut := self.cut()) is None:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        tail = tail[-self._tail_cap :] if self._tail_cap else b""
        head_text = _whole_characters_end(bytes(self._head)).decode("utf-8", "replace")
        tail_text = _whole_characters_start(tail).decode("utf-8", "replace")
        return f"{head_text}\n[... {cut} ...]\n{tail_text}"


def clip(text: str, cap_bytes: int, *, total: int = 0) -> tuple[str, str | None]:
    """``text`` cut to ``cap_bytes`` of UTF-8, head and tail, and what was cut.

    ``total`` is the size of the whole when ``text`` is already less than that (its middle is missing).
    """
    held = BoundedOutput(cap_bytes)
    held.write(text.encode("utf-8", "replace"))
    if held.cut() is None:
        return text, None
    held.total = max(held.total, total)
    return held.text(), held.cut()


def one_line(text: str, limit: int, *, mark: str = "…") -> str:
    """Foreign text for a line: white space and what does not print (control codes, direction marks) become spaces.

    At most ``limit`` characters, ``mark`` among them where something was cut.
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= limit else line[: limit - len(mark)] + mark


def _whole_characters_end(data: bytes) -> bytes:
    """Drops an unfinished character at the end (at most three bytes of UTF-8)."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= length else data[:-back]
    return data


def _whole_characters_start(data: bytes) -> bytes:
    """Drops continuation bytes whose beginning was cut away."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]

"""What does the scanner say of a text?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_RANKS = ("allow", "warn", "block")


class Purpose(StrEnum):
    """Where the text will go."""

    MEMORY = "memory"
    SKILL = "skill"
    CONTEXT = "context"
    PROMPT = "prompt"


class Verdict(StrEnum):
    """``allow``: it is about an attack, or nothing. ``warn``: used, and said. ``block``: not used."""

    ALLOW = "allow"
    WARN = "warn"
    BLOCK = "block"

    @property
    def rank(self) -> int:
        return _RANKS.index(self)


class Kind(StrEnum):
    """The named classes."""

    INSTRUCTION_OVERRIDE = "instruction_override"
    CONCEALMENT = "concealment"
    EXFILTRATION = "exfiltration"
    CREDENTIAL_ACCESS = "credential_access"
    PERSISTENCE = "persistence"
    INVISIBLE_UNICODE = "invisible_unicode"
    HOMOGLYPHS = "homoglyphs"
    ENCODED_PAYLOAD = "encoded_payload"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``line`` and ``column`` count from 1, in the text as it was given. ``excerpt`` is one bounded line in which
    invisible characters are seen; ``decoded`` is what an encoded payload says, None for plain text."""

    kind: Kind
    verdict: Verdict
    line: int
    column: int
    excerpt: str
    decoded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """``findings``: the worst first, then by place. Those with ``allow`` are texts about attacks."""

    purpose: Purpose
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.findings[0].verdict if self.findings else Verdict.ALLOW

    @property
    def blocked(self) -> Finding | None:
        """The first finding that blocks."""
        return self.findings[0] if self.verdict is Verdict.BLOCK else None

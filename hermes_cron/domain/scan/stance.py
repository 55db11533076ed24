"""Does a text say this to the agent, or does it speak about somebody who would?

Quoted, fenced, forbidden, or in a list of attacks: what a security skill must be able to say. The whole look around a
place is bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from functools import cached_property

from hermes_cron.domain.scan.finding import Verdict

_AROUND = 300


class Stance(Enum):
    """``SAID``: meant. ``MENTIONED``: shown, without a word of warning. ``ABOUT``: shown as what must not be done."""

    SAID = "said"
    MENTIONED = "mentioned"
    ABOUT = "about"


_HOSTILE = (
    r"attack|malicious|hostile|injection|inject(?:ed|s)\b|jailbreak|phishing|adversar|suspicious|untrusted|exfiltrat"
    r"|red flags?|social engineering|poison|payloads?\b|攻击|恶意|注入|可疑|钓鱼|投毒|攻擊|惡意"
)
_DEFENCE = re.compile(
    _HOSTILE
    + r"|\bnever\b|\bdo not\b|\bdon['’]?t\b|\bmust not\b|\bshould not\b|\bcannot\b|\brefus|\breject|\bblock(?:s"
    r"|ed|ing)?\b"
    r"|\bdetect|\bflag(?:s|ged)?\b|\btreat (?:it|them|this|that|these|such)\b|\bas data\b|\bforbid|\bprohibit"
    r"|\bavoid|\bbeware"
    r"|\bdangerous|\bsuch as\b|\blike\b|\be\.g\.|\bfor example|\bexamples? of\b|\bphrases?\b|\bscanner"
    r"|\bsays?\b|\bsaid\b"
    r"|\bcontain|\bclaim|\breport it\b|\bwarn\b"
    r"|不要|不得|切勿|禁止|拒绝|请勿|绝不|严禁|警惕|例如|比如|诸如|之类|视为数据|当作数据|危险|含有|包含"
)
_STRONG_DEFENCE = re.compile(_HOSTILE + r"|\bpretend(?:s|ed)? to be\b")
_NO_DEFENCE = re.compile(
    r"(?:\bnever|\bdo not|\bdon['’]?t|\bmust not|\bcannot|\bwithout|\bnot an?|\bno)\s(?:be\s)?(?:refus\w{0,4}"
    r"|reject\w{0,4}|block\w{0,4}"
    r"|hesitat\w{0,4}|question\w{0,4}|flag\w{0,4}|warn\w{0,4}|detect\w{0,5}|report\w{0,4}|worry|mention\w{0,4}"
    r"|attack\w{0,4}|injection"
    r"|mind|tell)|\bobey\b|\bcomply with\b"
)
_GOVERNED = re.compile(
    r"(?:\bnever\b(?! mind)|\bdo not\b|\bdon['’]?t\b|\bmust not\b|\bshould not\b|\bcannot\b|\bcan['’]?t\b"
    r"|\bmay not\b|\bnot to\b"
    r"|\brefuse to\b|\bwon['’]?t\b|\bwill not\b|\bnot allowed to\b|\bis not a reason to\b)"
    r"(?!\s(?:hesitate|forget|fail|refuse|stop|tell|worry|question)\b)"
    r"(?:(?!\band\b|\bbut\b|\binstead\b|\bthen\b|\bjust\b|\brather\b)[^.;:!?,\n]){0,100}\Z"
    r"|(?:不要|不得|切勿|禁止|请勿|绝不|严禁|不能|防止|避免|是否|有没有|不可)[^。；：！？，,;:\n]{0,24}\Z"
)
_SENTENCE_END = re.compile(r"[.!?;]\s|[。！？；]|\n\s{0,8}\n|\n\s{0,8}(?:[-*+]|\d{1,3}[.)])\s|\n#{1,6}\s")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.{0,200})$", re.MULTILINE)
_ABOUT_HEADING = re.compile(_HOSTILE + r"|\bpitfalls?\b|\bthreats?\b|\bred flag|\babuse|陷阱|威胁|误区|注意事项")
_FENCE = re.compile(r"^[ \t>]{0,12}(?:```|~~~)[^\n]{0,200}$", re.MULTILINE)
_INTRO = re.compile(
    _HOSTILE
    + r"|\bnever (?:run|follow|do|obey|use)|\bdo not (?:run|follow|do|obey|use)|\bbad\b|\bwrong\b|不要执行|禁止"
)
_CONDITION = re.compile(r"\b(?:if|when|unless|in case|while|until)\b|如果|若|没有|时[，就]|除非|就\Z|则\Z")
_NOTHING = re.compile(
    r"\b(?:if|when|unless|while)\b[^.;!?\n]{0,60}\b(?:nothing|no|none|unchanged|well|fine|healthy|ok|green"
    r"|normal|empty)\b"
    r"|没有|正常|无异常|未发现|无变化"
)
_PAIRS = {"“": "”", "「": "」", "『": "』", "«": "»", "„": "“", "《": "》"}
_APOSTROPHES = re.compile(r"(?:(?<=[\s(\[:,;])|\A)['‘](?=\S)")
_APOSTROPHE_CLOSES = re.compile(r"(?<=\S)['’](?=[\s.,;:!?)\]]|\Z)")


class Around:
    """One folded text, asked about many places."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _fences(self) -> list[int]:
        """Where fence lines begin; between an odd and an even one lies code. One that never closes fences nothing."""
        found = [match.start() for match in _FENCE.finditer(self._text)]
        return found if len(found) % 2 == 0 else found[:-1]

    @cached_property
    def _headings(self) -> list[tuple[int, bool]]:
        return [(match.start(), bool(_ABOUT_HEADING.search(match[1]))) for match in _HEADING.finditer(self._text)]

    def fenced(self, at: int) -> bool:
        return bisect_right(self._fences, at) % 2 == 1

    def words(self, start: int, end: int) -> Stance:
        """For what is said in words."""
        before, after = self._sentence(start, end)
        if _GOVERNED.search(before):
            return Stance.ABOUT
        harmless = _NO_DEFENCE.search(before) is None and _NO_DEFENCE.search(after) is None
        warned = harmless and (_DEFENCE.search(before) is not None or _DEFENCE.search(after) is not None)
        listed = self._listed(start)
        if self.fenced(start) or self._quoted(start, end):
            return Stance.ABOUT if listed or warned or self._introduced(start) else Stance.MENTIONED
        if listed or (harmless and _STRONG_DEFENCE.search(before) is not None):
            return Stance.MENTIONED
        return Stance.SAID

    def command(self, start: int, end: int) -> Stance:
        """For commands: a fence is where a skill has its real ones, and quotes belong to the shell."""
        before, after = self._sentence(start, end)
        quoted = self._quoted(start, end)
        if _GOVERNED.search(before) or (quoted and _STRONG_DEFENCE.search(after)):
            return Stance.ABOUT
        harmless = _NO_DEFENCE.search(before) is None
        if harmless and _STRONG_DEFENCE.search(before):
            return Stance.ABOUT if quoted or self.fenced(start) else Stance.MENTIONED
        if self._introduced(start) or (self._listed(start) and (quoted or self.fenced(start))):
            return Stance.ABOUT
        return Stance.MENTIONED if self._listed(start) else Stance.SAID

    def on_condition(self, start: int, level: Verdict) -> Verdict:
        """``If nothing changed, do not tell the user`` is a report's wish; any other condition is worth a look."""
        before = self._sentence(start, start)[0]
        if _NOTHING.search(before):
            return Verdict.ALLOW
        return Verdict.WARN if _CONDITION.search(before) else level

    def _sentence(self, start: int, end: int) -> tuple[str, str]:
        before = self._text[max(0, start - _AROUND) : start]
        ends = list(_SENTENCE_END.finditer(before))
        last = before[ends[-1].end() :] if ends else before
        after = self._text[end : end + _AROUND]
        stop = _SENTENCE_END.search(after)
        return last, after[: stop.start()] if stop else after

    def _listed(self, at: int) -> bool:
        """Below a heading such as *Pitfalls* or *Examples of attacks*."""
        number = bisect_right(self._headings, (at, True)) - 1
        return number >= 0 and self._headings[number][1]

    def _introduced(self, at: int) -> bool:
        """The line before the fence, or a comment or label before the line, says that it must not be done."""
        if self.fenced(at):
            fence = self._fences[bisect_right(self._fences, at) - 1]
            lead = self._text[max(0, fence - 300) : fence].rstrip().rpartition("\n")[2]
            if _INTRO.search(lead):
                return True
        line = self._text.rfind("\n", max(0, at - _AROUND), at)
        lead = self._text[max(0, line - 300) : max(0, line)].rstrip().rpartition("\n")[2].strip()
        return lead.startswith(("#", "//", "<!--")) and lead[-1:] in ":)" and _INTRO.search(lead) is not None

    def _quoted(self, start: int, end: int) -> bool:
        before = self._text[max(0, start - _AROUND) : start].rpartition("\n\n")[2]
        after = self._text[end : end + _AROUND].partition("\n\n")[0]
        for mark in ('"', "`"):
            if before.count(mark) % 2 == 1 and mark in after:
                return True
        for opening, closing in _PAIRS.items():
            if before.rfind(opening) > before.rfind(closing) and closing in after:
                return True
        if ("'" in before or "‘" in before) and _APOSTROPHE_CLOSES.search(self._text[end - 1 : end] + after):
            upto = before + self._text[start : start + 1]
            opened, closed = len(_APOSTROPHES.findall(upto)), len(_APOSTROPHE_CLOSES.findall(upto))
            if opened > closed:
                return True
        return before.rpartition("\n")[2].lstrip().startswith(">") and not self.fenced(start)

"""What does a person see of a run while it goes on? Lines on stderr, one a step."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from hermes_cron.cli import output, when
from hermes_cron.cli.context import Cli

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job

_TEXTS = {
    "en": {
        "head": "run {id}  {job}",
        "seconds": "{s:.1f} s",
        "by_playbook": "playbook {skill} on {database}",
        "by_host_playbook": "playbook {skill}",
        "by_model": "{model}",
        "by_script": "script",
        "by_action": "hermes-cron",
        "ok": "ok",
        "failed": "failed",
        "waiting": "waiting for a free place: {busy} runs are going on",
        "paused": "waits until {until}: {why}",
        "fallback": "{model} gave no answer ({reason}): {fallback} is asked",
        "stopping": "stopping after this step; Ctrl-C again leaves at once",
        "blocked": "{place} is blocked, {kind}: not used",
        "compacted": "context: rows {first}-{last} compacted, about {before:,} of {window:,} tokens became {after:,}",
        "no_summary": "; no summary could be made, a digest stands in its place",
        "left": "the scheduler ended; the run goes on when one starts: hermes-cron serve",
    },
    "zh": {
        "head": "运行 {id}  {job}",
        "seconds": "{s:.1f} 秒",
        "by_playbook": "playbook {skill}，数据库 {database}",
        "by_host_playbook": "playbook {skill}",
        "by_model": "{model}",
        "by_script": "脚本",
        "by_action": "hermes-cron",
        "ok": "正常",
        "failed": "失败",
        "waiting": "等待空位：正在运行 {busy} 个",
        "paused": "等到 {until}：{why}",
        "fallback": "{model} 没有回答（{reason}），改用 {fallback}",
        "stopping": "本步结束后停止；再按一次 Ctrl-C 立即离开",
        "blocked": "{place} 已拦截（{kind}），未使用",
        "compacted": "上下文：第 {first}-{last} 行已压缩，约 {before:,}/{window:,} token 变为 {after:,}",
        "no_summary": "；未能生成摘要，以整理代替",
        "left": "调度器已结束；下一个调度器启动后继续：hermes-cron serve",
    },
}
_STATUS_COLUMNS = 10


class Progress:
    """Notes about one run. ``emit`` may be called from any of the run's threads."""

    def __init__(self, state: Cli) -> None:
        self._state = state
        self._texts = _TEXTS[state.lang]
        self._columns = 0
        self._playbook = False
        self._paused_until: datetime | None = None

    def begin(self, run_id: str, job_name: str) -> None:
        """The first line's left part; ``prepared`` completes it."""
        self._head = self._texts["head"].format(id=run_id, job=job_name)

    def script(self) -> None:
        self._state.note(f"{self._head}  {self._texts['by_script']}")

    def action(self) -> None:
        """What the home does for itself: no agent, no command."""
        self._state.note(f"{self._head}  {self._texts['by_action']}")

    def followed(self, job: Job) -> None:
        """The first line of a run that a scheduler executes, as far as is known here who will drive it."""
        from hermes_cron.errors import HermesCronError

        if job.script is not None:
            self.script()
            return
        if job.action is not None:
            self.action()
            return
        try:
            route = self._state.app.route(job)
        except HermesCronError:  # the run says it better
            self._state.note(self._head)
            return
        self._prepared({"route": route, "model": route.model})
        self._playbook = False  # no step of a playbook is told here: its calls are shown, as those of any run

    def emit(self, event: str, facts: Mapping[str, object]) -> None:
        """An event of the loop or of the playbook."""
        handler = {
            "blocked": self._blocked,
            "compacted": self._compacted,
            "prepared": self._prepared,
            "playbook_started": self._started,
            "playbook_step": self._step,
            "tool_finished": self._tool,
            "model_fallback": self._fallback,
        }.get(event)
        if handler is not None:
            handler(facts)

    def _blocked(self, facts: Mapping[str, Any]) -> None:
        for found in facts["findings"]:
            place = output.one_line(found.place)
            self._state.note(self._texts["blocked"].format(place=place, kind=found.kind.words))

    def _compacted(self, facts: Mapping[str, Any]) -> None:
        said = self._texts["compacted"].format(**facts)
        self._state.note("  " + (said if facts["ok"] else said + self._texts["no_summary"]))

    def _prepared(self, facts: Mapping[str, Any]) -> None:
        route = facts["route"]
        self._playbook = route.playbook is not None
        if not self._playbook:
            said = self._texts["by_model"].format(model=facts["model"])
        elif route.database is None:
            said = self._texts["by_host_playbook"].format(skill=route.skill.name)
        else:
            said = self._texts["by_playbook"].format(skill=route.skill.name, database=route.database)
        self._state.note(f"{self._head}  {said}")

    def _started(self, facts: Mapping[str, Any]) -> None:
        self._columns = max((output.width(step) for step in facts["steps"]), default=0)

    def _step(self, facts: Mapping[str, Any]) -> None:
        name = output.pad(str(facts["step"]), self._columns)
        status = str(facts["status"])
        took = "  " + self._texts["seconds"].format(s=facts["elapsed_s"]) if facts["checked"] else ""
        shown = output.pad(status, _STATUS_COLUMNS) if took else status
        self._state.note(f"  {name}  {shown}{took}")

    def _fallback(self, facts: Mapping[str, Any]) -> None:
        shown = {name: output.one_line(str(facts[name])) for name in ("model", "reason", "fallback")}
        self._state.note("  " + self._texts["fallback"].format(**shown))

    def _tool(self, facts: Mapping[str, Any]) -> None:
        if not self._playbook:
            self.tool(str(facts["tool"]), ok=bool(facts["ok"]), elapsed_ms=int(facts["elapsed_ms"]))

    def tool(self, name: str, *, ok: bool, elapsed_ms: int) -> None:
        """A tool call that ended."""
        status = self._texts["ok"] if ok else self._texts["failed"]
        took = self._texts["seconds"].format(s=elapsed_ms / 1000)
        self._state.note(f"  {output.pad(name, 21)}  {output.pad(status, _STATUS_COLUMNS)}  {took}")

    def waiting(self, busy: int) -> None:
        self._state.note("  " + self._texts["waiting"].format(busy=busy))

    def stopping(self) -> None:
        """Somebody pressed Ctrl-C."""
        self._state.note(self._texts["stopping"])

    def left(self) -> None:
        """Nobody executes the run any more."""
        self._state.note(self._texts["left"])

    def paused(self, row: Mapping[str, Any]) -> None:
        """Says once of each wait of the run why it waits and until when."""
        until = row["start_after"] if row["state"] == "waiting_retry" else None
        if until is not None and until != self._paused_until:
            zone = ZoneInfo(self._state.settings.timezone)
            shown = when.brief(until, zone, now=self._state.clock.now())
            why = output.one_line(str(row["error"] or row["reason"] or ""))
            self._state.note("  " + self._texts["paused"].format(until=shown, why=why))
        self._paused_until = until

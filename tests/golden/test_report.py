"""The report of "inspect prod db", byte for byte, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hermes_cron.models.playbook.inputs import Inputs, Last
from hermes_cron.models.playbook.load import read
from hermes_cron.models.playbook.report import report
from hermes_cron.models.playbook.walk import walk

NOW = datetime(2026, 12, 1, 1, 0, tzinfo=UTC)
MONDAY = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)

ENGLISH = """\
# prod: 1 critical, 4 warnings
PostgreSQL 15.18, 43 MB. Checked 7 of 8 on Tue 2026-12-01 09:00 (Asia/Shanghai), read only.

**Critical**
1. Sequence near its end: public.tickets_id_seq at 1,986,422,310 of 2,147,483,647 (92 %)
   Do: plan the change of the column to bigint

**Warning**
2. Long transaction: pid 22576 (postgres, active) open for 7 min
   Do: it stops vacuum from cleaning; ask the owner
3. Dead rows: public.orders has 62,000 dead of about 200,000 rows (31 %), last vacuum never
   Do: vacuum (analyze) public.orders; then find out why autovacuum does not come
4. No primary key: public.audit_log (about 48,210 rows)
5. Foreign key without an index: orders (customer_id)
   Do: create index concurrently on orders (customer_id)

**Since Mon 2026-11-30**: new 1, 2. Worse 3 (was 12 %). Gone: blocked session (invoices).
**Fine**: connections 3 of 40, blocked sessions.
**Not checked**: unused indexes (counters are 0 days old, 7 needed)."""

CHINESE = """\
# prod：1 项严重，4 项警告
PostgreSQL 15.18，43 MB。2026-12-01 周二 09:00（Asia/Shanghai）已检查 7/8 项，全程只读。

**严重**
1. 序列接近上限：public.tickets_id_seq 已到 1,986,422,310 / 2,147,483,647（92%）
   建议：安排把该列改为 bigint

**警告**
2. 长事务：pid 22576（postgres，active）已打开 7 分钟
   建议：会阻止 vacuum 清理，先找负责人
3. 死元组：public.orders 约 200,000 行中有 62,000 行死元组（31%），从未 vacuum
   建议：vacuum (analyze) public.orders，并查 autovacuum 为何没有执行
4. 无主键：public.audit_log（约 48,210 行）
5. 外键缺索引：orders（customer_id）
   建议：create index concurrently on orders (customer_id)

**较 11-30 周一**：新增 1、2；变差 3（原 12%）；消失：锁等待（invoices）。
**正常**：连接 3/40，锁等待。
**未检查**：未使用的索引（统计仅 0 天，需 7 天）。"""


def _step(step_id: str, title: tuple[str, str], evidence: tuple[str, str], **more: Any) -> dict[str, Any]:
    advice = more.pop("advice", None)
    said = {"advice": {"en": advice[0], "zh": advice[1]}} if advice else {}
    return {
        "id": step_id, "title": {"en": title[0], "zh": title[1]}, "sql": f"select 1 as {step_id}",
        "evidence": {"en": evidence[0], "zh": evidence[1]}, **said, **more,
    }  # fmt: skip


PLAYBOOK: dict[str, Any] = {
    "playbook": 1,
    "params": {"stats_min_days": 7},
    "facts": {"size_mb": {"sql": "select 43"}, "stats_days": {"sql": "select 0"}},
    "steps": [
        _step("connections", ("Connections", "连接"), ("{{ used }}", "{{ used }}"), expect="one_row",
              warning="used >= 30",
              fine={"en": "connections {{ used }} of {{ top }}", "zh": "连接 {{ used }}/{{ top }}"}),
        _step("long_transactions", ("Long transactions", "长事务"),
              ("pid {{ pid }} ({{ who }}, {{ state }}) open for {{ minutes }} min",
               "pid {{ pid }}（{{ who }}，{{ state }}）已打开 {{ minutes }} 分钟"),
              finding={"en": "Long transaction", "zh": "长事务"}, warning="true",
              advice=("it stops vacuum from cleaning; ask the owner", "会阻止 vacuum 清理，先找负责人")),
        _step("blocked_sessions", ("Blocked sessions", "锁等待"), ("{{ on }}", "{{ on }}"), warning="true",
              finding={"en": "Blocked session", "zh": "锁等待"}),
        _step("dead_rows", ("Dead rows", "死元组"),
              ("{{ tbl }} has {{ dead | n }} dead of about {{ (dead + live) | n }} rows"
               " ({{ pct }} %), last vacuum never",
               "{{ tbl }} 约 {{ (dead + live) | n }} 行中有 {{ dead | n }} 行死元组（{{ pct }}%），从未 vacuum"),
              critical="pct >= 50", warning="pct >= 20",
              advice=("vacuum (analyze) {{ tbl }}; then find out why autovacuum does not come",
                      "vacuum (analyze) {{ tbl }}，并查 autovacuum 为何没有执行")),
        _step("no_primary_key", ("Tables without a primary key", "无主键的表"),
              ("{{ tbl }} (about {{ about | n }} rows)", "{{ tbl }}（约 {{ about | n }} 行）"), warning="true",
              finding={"en": "No primary key", "zh": "无主键"}),
        _step("fk_without_index", ("Foreign keys without an index", "外键缺索引"),
              ("{{ tbl }} ({{ cols }})", "{{ tbl }}（{{ cols }}）"), warning="true",
              finding={"en": "Foreign key without an index", "zh": "外键缺索引"},
              advice=("create index concurrently on {{ tbl }} ({{ cols }})",) * 2),
        _step("unused_indexes", ("Unused indexes", "未使用的索引"), ("{{ x }}", "{{ x }}"), info="true",
              when="stats_days >= params.stats_min_days",
              because={"en": "counters are {{ stats_days }} days old, {{ params.stats_min_days }} needed",
                       "zh": "统计仅 {{ stats_days }} 天，需 {{ params.stats_min_days }} 天"}),
        _step("sequence_end", ("Sequences near their end", "序列余量"),
              ("{{ seq }} at {{ last_value | n }} of {{ end_ | n }} ({{ pct }} %)",
               "{{ seq }} 已到 {{ last_value | n }} / {{ end_ | n }}（{{ pct }}%）"),
              critical="pct >= 90", warning="pct >= 75", finding={"en": "Sequence near its end", "zh": "序列接近上限"},
              advice=("plan the change of the column to bigint", "安排把该列改为 bigint")),
    ],
}  # fmt: skip

ANSWERS: list[tuple[list[str], list[list[Any]]]] = [
    (["_version", "size_mb", "stats_days"], [["15.18", 43, 0]]),
    (["used", "top"], [[3, 40]]),
    (["pid", "who", "state", "minutes"], [[22576, "postgres", "active", 7]]),
    (["on"], []),
    (["tbl", "dead", "live", "pct"], [["public.orders", 62000, 138000, 31.0]]),
    (["tbl", "about"], [["public.audit_log", 48210]]),
    (["tbl", "cols"], [["orders", "customer_id"]]),
    (["seq", "last_value", "end_", "pct"], [["public.tickets_id_seq", 1986422310, 2147483647, 92]]),
]

EARLIER = {
    "playbook": "inspect-database",
    "database": "prod",
    "facts": {},
    "checked": [step["id"] for step in PLAYBOOK["steps"]],
    "findings": [
        {"key": "dead_rows/public.orders", "step": "dead_rows", "severity": "warning", "number": 2, "value": 12},
        {"key": "no_primary_key/public.audit_log", "step": "no_primary_key", "severity": "warning", "number": 3},
        {"key": "fk_without_index/orders", "step": "fk_without_index", "severity": "warning", "number": 4},
        {"key": "blocked_sessions/invoices", "step": "blocked_sessions", "severity": "warning", "number": 1},
        {"key": "unused_indexes/x", "step": "unused_indexes", "severity": "info", "number": 5},
    ],
}


def _text(answers: list[tuple[list[str], list[list[Any]]]], *, language: str, last: dict[str, Any] | None) -> str:
    import json

    inputs = Inputs(
        skill="inspect-database", program=read(PLAYBOOK), language=language, database="prod", engine="postgresql",
        zone="Asia/Shanghai", now=NOW, last=None if last is None else Last(at=MONDAY, result=last),
    )  # fmt: skip
    going = walk(inputs, [])
    next(going)
    for columns, rows in answers:
        try:
            going.send(json.dumps({"columns": columns, "rows": rows, "row_count": len(rows), "truncated": None}))
        except StopIteration as end:
            return report(inputs, end.value).text
    raise AssertionError("the playbook asks for more")


@pytest.mark.parametrize(("language", "expected"), [("en", ENGLISH), ("zh", CHINESE)])
def test_the_report_is_that_of_the_samples(language: str, expected: str) -> None:
    assert _text(ANSWERS, language=language, last=EARLIER) == expected


HEALTHY = [ANSWERS[0], ANSWERS[1], *((columns, []) for columns, _ in ANSWERS[2:7])]
ALL_WELL = {
    "en": ["# prod: nothing found",
           "PostgreSQL 15.18, 43 MB. Checked 8 of 8 on Tue 2026-12-01 09:00 (Asia/Shanghai), read only.",
           "Since Mon: gone 1, 2, 3, 4, 5."],
    "zh": ["# prod：未发现问题",
           "PostgreSQL 15.18，43 MB。2026-12-01 周二 09:00（Asia/Shanghai）已检查 8/8 项，全程只读。",
           "较周一：消失 1、2、3、4、5。"],
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_all_is_well_is_three_lines(language: str) -> None:
    old_counters = (["_version", "size_mb", "stats_days"], [["15.18", 43, 30]])
    answers = [old_counters, *HEALTHY[1:], (["x"], []), (["seq"], [])]
    lines = _text(answers, language=language, last=EARLIER).split("\n")
    assert lines == ALL_WELL[language]

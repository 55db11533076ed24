"""``python -m hermes_cron.demo``: every planted fault is named with its figure, none is invented, in both languages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import clean_env

FIGURES = {
    "en": [
        "1. Broken reference: 642 rows of order_lines point at rows of orders that do not exist",
        "2. No primary key: audit_log (48,210 rows)",
        "3. Foreign key without an index: order_lines (order_id) refers to orders, 90,000 rows",
        "4. Redundant index: orders_status on orders (status) adds nothing to orders_status_created (status, created)",
        "5. Free pages: 8.6 of 20.8 MB in the file are free (42 %)",
        "6. No statistics: payments (21,500 rows, 1 index)",
    ],
    "zh": [
        "1. 失效引用：order_lines 有 642 行指向 orders 中不存在的行",
        "2. 无主键：audit_log（48,210 行）",
        "3. 外键缺索引：order_lines（order_id）引用 orders，90,000 行",
        "4. 冗余索引：orders 的 orders_status（status）已被 orders_status_created（status, created）覆盖",
        "5. 空闲页过多：文件 20.8 MB 中有 8.6 MB 空闲（42%）",
        "6. 缺少统计信息：payments（21,500 行，1 个索引）",
    ],
}
TITLES = {"en": "# prod: 1 critical, 4 warnings, 1 info", "zh": "# prod：1 项严重，4 项警告，1 项提示"}
COMMANDS = {
    "en": ["init --no-input", "db add prod --url", 'add "every day 9am: inspect prod db"', "run inspect-prod-db"],
    "zh": ["init --no-input", "db add prod --url", 'add "每天9点：巡检 prod 数据库"', "run 巡检-prod-数据库"],
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_demo_shows_the_report_and_what_to_type_next(tmp_path: Path, language: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_cron.demo"],
        env=clean_env({"LANG": "zh_CN.UTF-8" if language == "zh" else "C.UTF-8", "TMPDIR": str(tmp_path)}),
        capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    out = done.stdout

    assert done.returncode == 0, done.stderr
    assert TITLES[language] in out
    assert [figure for figure in FIGURES[language] if figure not in out] == []
    assert len(re.findall(r"^\d+\. ", out, re.MULTILINE)) == len(FIGURES[language])
    assert [command for command in COMMANDS[language] if f"$ hermes-cron {command}" not in out] == []
    (folder,) = tmp_path.glob("hermes-cron-demo-*")
    assert str(folder) in out
    assert (folder / "home" / "config.toml").is_file()
    assert "HERMES_CRON_HOME" in out

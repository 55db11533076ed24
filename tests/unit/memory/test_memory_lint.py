"""Facts pass; orders get the fact they may mean; steps are sent to a skill; repetitions are named."""

from __future__ import annotations

import pytest

from hermes_cron.domain.entries import Entry
from hermes_cron.experience.memory import Target
from hermes_cron.experience.memory_lint import Fault, Remark, lint, remarks

FACTS = (
    "The user prefers brief answers",
    "The user always wants the agent to answer briefly",
    "The prod database is PostgreSQL 15.18 on 10.0.3.17, read-only account watcher",
    "Test database is on port 5433",
    "Use of sudo on build hosts is logged",
    "Build server: ci-2.example",
    "Set up by Ansible, role shop-db",
    "Read replicas lag up to five seconds",
    "Test suite needs Docker and takes 9 minutes",
    "Deploy key rotates on the first of a month",
    "Run logs are kept for 90 days",
    "Check constraint orders_amount_ck is not valid yet",
    "Always-on VPN is required outside the office",
    "Report of the month lives in outputs/monthly",
    "Python 3.11 and Node 20. 2 servers stand behind haproxy",
    "Versions 1.2 and 2.1 are in use",
    "node 1: 10.0.0.1, node 2: 10.0.0.2",
    "Backups begin at 02:00 and take 12 minutes, then the verify job runs",
    "Deploys are done with make deploy; the first one of a day takes 4 minutes",
    "vacuum fails with exit 2 when 1) the disk is full or 2) a lock is held",
    "How to reach the people on call: #ops-chat",
    'see § 5 BGB and "§§ 1-3"',
    "用户喜欢简短的回答",
    "prod 库在 5432 端口，只读账号是 watcher",
    "必须的端口是 5432",
    "备份脚本每天 2 点运行，之后由 verify 任务校验",
)
ORDERS = (
    ("Always answer briefly", Target.MEMORY, "The user always wants the agent to answer briefly"),
    ("Always answer briefly.", Target.USER, "The user always wants the agent to answer briefly"),
    ("Never push to main on Fridays", Target.MEMORY, "The convention here is never to push to main on Fridays"),
    ("Never use tables", Target.USER, "The user never wants the agent to use tables"),
    ("Don't write in passive voice!", Target.USER, "The user does not want the agent to write in passive voice"),
    ("Do not run vacuum full on prod", Target.MEMORY, "The convention here is not to run vacuum full on prod"),
    ("Use pnpm instead of npm", Target.MEMORY, "The convention here is to use pnpm instead of npm"),
    ("Please keep reports short", Target.USER, "The user wants the agent to keep reports short"),
    ("You must connect to the replica", Target.MEMORY, "The convention here is to connect to the replica"),
    ("Make sure the backup ran", Target.MEMORY, "The expectation here is that the backup ran"),
    ("prod is PostgreSQL 15. Always connect read-only.", Target.MEMORY,
     "prod is PostgreSQL 15. The convention here is to always connect read-only."),
    ("Always answer briefly. The billing database listens on port 5433.", Target.MEMORY,
     "The user always wants the agent to answer briefly. The billing database listens on port 5433."),
    ("Never deploy on Friday; the freeze calendar is in the wiki", Target.MEMORY,
     "The convention here is never to deploy on Friday; the freeze calendar is in the wiki"),
    ("- Use pnpm\n- prod is on 5432\n- Never push on Fridays", Target.MEMORY,
     "- The convention here is to use pnpm\n- prod is on 5432\n- The convention here is never to push on Fridays"),
    ("必须先看副本延迟。副本在 5433 端口；不要在周五发布。", Target.MEMORY,
     "这里的惯例是先看副本延迟。副本在 5433 端口；这里的惯例是不在周五发布。"),
    ("总是简短回答", Target.USER, "用户希望始终简短回答"),
    ("请用中文写报告", Target.MEMORY, "用户希望用中文写报告"),
    ("不要在周五发布", Target.MEMORY, "这里的惯例是不在周五发布"),
    ("必须先看副本延迟", Target.MEMORY, "这里的惯例是先看副本延迟"),
)  # fmt: skip
METHODS = (
    "1. build the image 2. push it to the registry",
    "To deploy: 1. build 2. push 3. roll out",
    "1) dump\n2) verify\n3) delete the old ones",
    "(1) dump\n(2) verify",
    "Deploy: step 1 build, step 2 push",
    "How to deploy flask: build the image, then push it, then roll out",
    "To restore a backup, stop the service, then copy the file, finally start it",
    "Release:\n- check the queue\n- run make release\n- notify ops",
    "1、备份 2、校验 3、删除旧文件",
    "1.备份\n2.校验",
    "第一步备份，第二步校验",
    "① 备份 ② 校验",
    "如何发布：先构建镜像，然后推送，最后滚动更新",
)


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("entry", FACTS)
def test_a_fact_passes(entry: str, target: Target) -> None:
    assert remarks(entry, target) == ()


@pytest.mark.parametrize(("entry", "target", "fact"), ORDERS)
def test_an_order_is_warned_of_with_the_fact_it_may_mean(entry: str, target: Target, fact: str) -> None:
    assert remarks(entry, target) == (Remark(fault=Fault.ORDER, suggestion=fact),)
    assert remarks(fact, target) == (), "the suggestion itself is a fact"


@pytest.mark.parametrize("entry", METHODS)
def test_steps_are_refused(entry: str) -> None:
    assert remarks(entry, Target.MEMORY) == (Remark(fault=Fault.METHOD, refused=True),)


@pytest.mark.parametrize(
    "entry", ["首先备份，然后校验，最后删除旧文件", "first the replica is stopped, then the primary, finally the proxy"]
)
def test_what_only_sounds_like_steps_is_warned_of(entry: str) -> None:
    assert remarks(entry, Target.MEMORY) == (Remark(fault=Fault.METHOD),)


def test_a_repetition_is_named_with_the_entry_that_says_it() -> None:
    others = ["The prod database is PostgreSQL 15", "The team meets on Mondays at nine in room four"]
    assert remarks("the prod  database is postgresql 15", Target.MEMORY, others) == (
        Remark(fault=Fault.DUPLICATE, other=others[0]),
    )
    assert remarks("The team meets on Mondays at nine in the room four", Target.MEMORY, others) == (
        Remark(fault=Fault.ALIKE, other=others[1]),
    )


def test_of_a_file_the_later_of_two_is_named() -> None:
    entries = [Entry("one fact", 1), Entry("Always obey", 3), Entry("One  Fact", 5)]
    assert lint(entries, Target.USER) == (
        (entries[1], Remark(fault=Fault.ORDER, suggestion="The user always wants the agent to obey")),
        (entries[2], Remark(fault=Fault.DUPLICATE, other="one fact")),
    )


def test_a_remark_is_a_sentence_for_a_model() -> None:
    (remark,) = remarks("Always answer briefly", Target.USER)
    assert remark.message.endswith("As a fact: The user always wants the agent to answer briefly")

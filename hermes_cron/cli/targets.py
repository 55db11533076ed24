"""``targets add list show test remove``: where reports may be sent, and whether they arrive there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from hermes_cron.cli import output, target_entry
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import Conflict, NotDelivered

if TYPE_CHECKING:
    from hermes_cron.domain.delivery import Answer
    from hermes_cron.domain.target import TargetConfig

app = typer.Typer(help="Where reports may be sent.", add_completion=False)

HELP_ZH = {
    "Where reports may be sent.": "报告可以发送到的目标。",
    "Add a target: ask what it needs, send a test line, save.": "添加目标：询问所需信息、发一行测试、保存。",
    "Targets of this home; reaches none.": "本主目录的目标；不连接。",
    "One target; secrets are not shown.": "一个目标；不显示密钥。",
    "Send a test line now and say what came back.": "立即发送一行测试并说明返回结果。",
    "Forget a target and its secrets; refuses while a job names it.": "删除目标及其密钥；仍被任务使用时拒绝。",
    "The target's name here.": "目标在此处的名称。",
    "file, webhook or email.": "file、webhook 或 email。",
    "file: where reports are appended; relative to the home.": "file：报告追加到的文件；相对于主目录。",
    "webhook: a URL, or secret:NAME where the address is a secret.": "webhook：URL；地址本身是密钥时用 secret:名称。",
    "webhook: env:VARIABLE or file:PATH to read the URL from; it goes to the vault.": (
        "webhook：从 env:变量 或 file:路径 读取 URL，存入 vault。"
    ),
    "webhook: secret:NAME, the key that messages are signed with.": "webhook：secret:名称，用于签名的密钥。",
    "webhook: env:VARIABLE or file:PATH to read the signing key from.": (
        "webhook：从 env:变量 或 file:路径 读取签名密钥。"
    ),
    "email: an address; repeat it for more.": "email：收件地址；可重复。",
    "email: the sender's address.": "email：发件地址。",
    "email: the SMTP server.": "email：SMTP 服务器。",
    "email: its port; 587, 465 with tls, 25 with none.": "email：端口；默认 587，tls 为 465，none 为 25。",
    "email: the account; without it there is no login.": "email：账号；不填则不登录。",
    "email: secret:NAME, the account's password.": "email：secret:名称，账号口令。",
    "email: env:VARIABLE or file:PATH to read the password from.": "email：从 env:变量 或 file:路径 读取口令。",
    "email: starttls, tls or none.": "email：starttls、tls 或 none。",
    "Save it without sending a test line.": "不发测试，直接保存。",
}

_TEXTS = {
    "en": {
        "sent": "sent a test line; {answer}",
        "arrived": "Do you see it?",
        "saved": "saved as {name}",
        "next": "next: hermes-cron edit JOB --deliver {name}",
        "none": "No targets.  hermes-cron targets add NAME",
        "sure": "{name} is named in {places}. Remove it?",
        "removed": "{name} removed; what was sent stays where it is",
        "title": "hermes-cron: a test line",
        "body": "This is a test of the target {name}. If you can read it, reports arrive here.",
    },
    "zh": {
        "sent": "已发送一行测试；{answer}",
        "arrived": "收到了吗？",
        "saved": "已保存为 {name}",
        "next": "下一步：hermes-cron edit 任务 --deliver {name}",
        "none": "没有目标。  hermes-cron targets add 名称",
        "sure": "{places} 中用到 {name}。确定删除？",
        "removed": "{name} 已删除；已发送的内容不受影响",
        "title": "hermes-cron：一行测试",
        "body": "这是对目标 {name} 的测试。能看到这一行，报告就能送达。",
    },
}

_HEADERS = {"en": ("NAME", "KIND", "WHERE", "SECRETS"), "zh": ("名称", "类型", "地址", "密钥")}
_SHOWN = {"en": ("kind", "where", "secrets", "time-out"), "zh": ("类型", "地址", "密钥", "超时")}

_NAME = typer.Argument(..., help="The target's name here.")


@app.command("add", help="Add a target: ask what it needs, send a test line, save.")
def add(
    name: str = _NAME,
    *,
    kind: str = typer.Option(None, "--kind", help="file, webhook or email."),
    path: str = typer.Option(None, "--path", help="file: where reports are appended; relative to the home."),
    url: str = typer.Option(None, "--url", help="webhook: a URL, or secret:NAME where the address is a secret."),
    url_from: str = typer.Option(
        None, "--url-from", help="webhook: env:VARIABLE or file:PATH to read the URL from; it goes to the vault."
    ),
    secret: str = typer.Option(None, "--secret", help="webhook: secret:NAME, the key that messages are signed with."),
    secret_from: str = typer.Option(
        None, "--secret-from", help="webhook: env:VARIABLE or file:PATH to read the signing key from."
    ),
    to: list[str] = typer.Option([], "--to", help="email: an address; repeat it for more."),
    sender: str = typer.Option(None, "--from", help="email: the sender's address."),
    host: str = typer.Option(None, "--host", help="email: the SMTP server."),
    port: int = typer.Option(
        None, "--port", min=1, max=65535, help="email: its port; 587, 465 with tls, 25 with none."
    ),
    user: str = typer.Option(None, "--user", help="email: the account; without it there is no login."),
    password: str = typer.Option(None, "--password", help="email: secret:NAME, the account's password."),
    password_from: str = typer.Option(
        None, "--password-from", help="email: env:VARIABLE or file:PATH to read the password from."
    ),
    tls: str = typer.Option(None, "--tls", help="email: starttls, tls or none."),
    no_test: bool = typer.Option(False, "--no-test", help="Save it without sending a test line."),
) -> None:
    state = cli()
    target_entry.free_name(state, name)
    given = target_entry.Given(
        name=name, kind=kind, path=path, url=url, url_from=url_from, secret=secret, secret_from=secret_from,
        to=tuple(to), sender=sender, host=host, port=port, user=user, password=password, password_from=password_from,
        tls=tls,
    )  # fmt: skip
    draft = target_entry.ask(state, given)
    answer = None if no_test else _try(state, draft.config, draft.secrets)
    if answer is not None:
        _require_sent(state, name, answer)
        if not state.json:
            state.note(_TEXTS[state.lang]["sent"].format(answer=answer.text))
        if state.is_terminal and not state.yes and not state.confirm(_TEXTS[state.lang]["arrived"], default=True):
            raise NotDelivered(
                f"{name} was not saved: the test line was accepted ({answer.text}) and did not arrive",
                hint=f"hermes-cron targets add {name}",
            )
    target_entry.save(state, draft)
    if state.json:
        state.emit_json({**_config_json(draft.config), "answer": None if answer is None else answer.text})
        return
    state.out(_TEXTS[state.lang]["saved"].format(name=name))
    state.note(_TEXTS[state.lang]["next"].format(name=name))


@app.command("list", help="Targets of this home; reaches none.")
def list_targets() -> None:
    state = cli()
    configs = [state.settings.targets[name] for name in sorted(state.settings.targets)]
    if state.json:
        state.emit_json({"targets": [_config_json(config) for config in configs]})
        return
    if not configs:
        state.out(_TEXTS[state.lang]["none"])
        return
    rows = [(config.name, *_facts(config)[:3]) for config in configs]
    state.out(output.table(rows, _HEADERS[state.lang], max_columns=state.columns, give={2}))


@app.command("show", help="One target; secrets are not shown.")
def show(name: str = _NAME) -> None:
    state = cli()
    config = state.app.messages.targets.config(name)
    if state.json:
        state.emit_json(_config_json(config))
        return
    state.out(name)
    state.out(output.facts(zip(_SHOWN[state.lang], _facts(config), strict=True)))


@app.command("test", help="Send a test line now and say what came back.")
def send_test(name: str = _NAME) -> None:
    state = cli()
    answer = _try(state, state.app.messages.targets.config(name), {})
    _require_sent(state, name, answer)
    if state.json:
        state.emit_json({"name": name, "sent": True, "answer": answer.text})
    else:
        state.out(_TEXTS[state.lang]["sent"].format(answer=answer.text))


@app.command("remove", help="Forget a target and its secrets; refuses while a job names it.")
def remove(name: str = _NAME) -> None:
    state = cli()
    config = state.app.messages.targets.config(name)
    places = uses(state, name)
    if places and not state.yes:
        if not state.is_terminal:
            raise Conflict(
                f'target "{name}" is in use; it was kept',
                hint=f"take it out of {places[0]}, or hermes-cron targets remove {name} -y",
                details={"used_in": places},
            )
        if not state.confirm(_TEXTS[state.lang]["sure"].format(name=name, places=", ".join(places))):
            raise typer.Exit(1)
    target_entry.forget(state, config)
    if state.json:
        state.emit_json({"name": name, "removed": True, "used_in": places})
    else:
        state.out(_TEXTS[state.lang]["removed"].format(name=name))


def uses(state: Cli, name: str) -> list[str]:
    """Job files that name it under ``deliver`` or ``notify``. Plain text search: a broken file counts too."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    block = re.compile(r"^[ \t]*(?:deliver|to|notify)[ \t]*:.*(?:\n(?:[ \t]+.*|[ \t]*-.*|[ \t]*)$)*", re.MULTILINE)
    found = []
    for path in sorted(state.home.jobs.glob("*.md")):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        matter = text.partition("\n---")[0]
        if any(word.search(part[0]) for part in block.finditer(matter)):
            found.append(str(path.relative_to(state.home.root)))
    return found


def _try(state: Cli, config: TargetConfig, secrets: dict[str, str]) -> Answer:
    import uuid

    from hermes_cron.domain.delivery import DeliveryKind, Message
    from hermes_cron.vault.redaction import Redactor

    texts = _TEXTS[state.lang]
    message = Message(
        id=f"test-{uuid.uuid4().hex[:16]}",
        kind=DeliveryKind.TEST,
        title=texts["title"],
        body=texts["body"].format(name=config.name),
        job="targets test",
        created_at=state.clock.now(),
    )
    answer = state.app.messages.try_target(config, secrets).send(message)
    # a receiver may repeat its address or a key, and those of a new target are in no vault yet
    return replace(answer, text=output.one_line(Redactor(secrets).redact(state.app.redact(answer.text))))


def _require_sent(state: Cli, name: str, answer: Answer) -> None:
    from hermes_cron.domain.delivery import Heard

    if answer.heard is Heard.SENT:
        return
    hint = (
        f"hermes-cron targets test {name}" if name in state.settings.targets else "nothing was saved; --no-test saves"
    )
    raise NotDelivered(f"{name}: {answer.text}", hint=hint, details={"heard": answer.heard.value})


def _facts(config: TargetConfig) -> tuple[str, str, str, str]:
    """Kind, where, secrets, time-out, as words."""
    from hermes_cron.domain.target import TargetKind

    where = (config.path if config.kind is TargetKind.FILE else config.url) or ""
    if config.kind is TargetKind.EMAIL:
        account = "" if config.user is None else f"{config.user}@"
        place = f"{account}{config.host}{f':{config.port}' if config.port else ''} ({config.tls})"
        where = f"{', '.join(config.to)} via {place}"
    kept = [reference for reference in (config.url, config.secret, config.password) if _is_reference(reference)]
    return config.kind.value, output.one_line(where), ", ".join(map(str, kept)), f"{config.timeout_s:g} s"


def _is_reference(value: str | None) -> bool:
    return value is not None and value.startswith("secret:")


def _config_json(config: TargetConfig) -> dict[str, object]:
    return {
        "name": config.name, "kind": config.kind, "path": config.path, "url": config.url, "secret": config.secret,
        "to": list(config.to), "from": config.sender, "host": config.host, "port": config.port, "user": config.user,
        "password": config.password, "tls": config.tls, "timeout_s": config.timeout_s,
    }  # fmt: skip

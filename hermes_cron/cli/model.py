"""``model show|list|set|test``: which model answers, from where, with whose key, at what price?"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from hermes_cron.cli import output
from hermes_cron.cli.context import Cli, cli
from hermes_cron.errors import HermesCronError, Usage
from hermes_cron.settings import NO_MODEL

if TYPE_CHECKING:
    from hermes_cron.domain.job import Job
    from hermes_cron.models.openai_compatible import OpenAICompatible
    from hermes_cron.settings import ModelSettings

app = typer.Typer(help="The model that jobs use.", add_completion=False)

HELP_ZH = {
    "The model that jobs use.": "任务使用的模型。",
    "Which model, where, and where its key comes from.": "当前模型、地址以及密钥来源。",
    "The models that the server offers.": "服务端提供的模型。",
    "Choose the model of this home.": "选择此主目录的模型。",
    "One small call: does it answer, how fast, at what price.": "试调用一次：能否应答、耗时与费用。",
    "The model, as its provider spells it; none: playbooks only.": "模型名（按服务商的写法）；none 表示只用 playbook。",
    "Where it answers: https://HOST/v1.": "服务地址：https://HOST/v1。",
    "A reference such as secret:openai.": "密钥引用，例如 secret:openai。",
}

_LONGEST = 200
"""Of the names of jobs."""

_TEXTS = {
    "en": {
        "model": "model",
        "base_url": "base url",
        "key": "key",
        "price": "price",
        "none": "none: jobs run by playbooks only",
        "unpriced": "unknown",
        "per_million": "{input:g} USD in, {output:g} USD out for a million tokens",
        "no_key": "none",
        "from_env": "OPENAI_API_KEY (environment)",
        "missing": "{ref}, which is not stored: hermes-cron secrets set {name}",
        "set": "{model} at {base_url}",
        "first_test": "Try it: hermes-cron model test",
        "drives": "It drives {jobs} from now on, which playbooks did and which cost nothing. "
        "To leave one to its playbook: hermes-cron edit {first} --playbook only",
        "shadowed": "{variable} is set and goes before config.toml.",
        "said": "said",
        "time": "time",
        "tokens": "tokens",
        "cost": "cost",
        "guess": " (estimated: the server counts none)",
        "cost_unknown": "unknown",
    },
    "zh": {
        "model": "模型",
        "base_url": "地址",
        "key": "密钥",
        "price": "价格",
        "none": "无：任务只由 playbook 执行",
        "unpriced": "未知",
        "per_million": "每百万 token 输入 {input:g} 美元，输出 {output:g} 美元",
        "no_key": "无",
        "from_env": "OPENAI_API_KEY（环境变量）",
        "missing": "{ref}，尚未保存：hermes-cron secrets set {name}",
        "set": "{model}，地址 {base_url}",
        "first_test": "试一下：hermes-cron model test",
        "drives": "从现在起由它执行 {jobs}；此前由 playbook 执行，不花钱。"
        "仍由 playbook 执行：hermes-cron edit {first} --playbook only",
        "shadowed": "已设置 {variable}，优先于 config.toml。",
        "said": "回答",
        "time": "用时",
        "tokens": "token",
        "cost": "费用",
        "guess": "（估计值：服务端没有计数）",
        "cost_unknown": "未知",
    },
}


@app.command("show", help="Which model, where, and where its key comes from.")
def show() -> None:
    from hermes_cron.models.endpoint import OPENAI_URL
    from hermes_cron.models.prices import Prices

    state = cli()
    said = _TEXTS[state.lang]
    model = state.settings.model
    price = Prices(state.settings.prices).price(model.name) if model.name else None
    base_url = model.base_url or OPENAI_URL
    source, present = _key_source(state, model)
    if state.json:
        per_million = None if price is None else {"input": price.input, "output": price.output, "cached": price.cached}
        state.emit_json(
            {
                "model": model.name,
                "base_url": base_url if model.name else None,
                "key": {"source": source, "present": present},
                "stream": model.stream,
                "timeout_s": model.timeout_s,
                "price_usd_per_million": per_million,
            }
        )
        return
    if model.name is None:
        state.out(output.facts([(said["model"], said["none"])]))
        return
    if source == "OPENAI_API_KEY":
        key = said["from_env"]
    elif source is None:
        key = said["no_key"]
    else:
        key = source if present else said["missing"].format(ref=source, name=source.removeprefix("secret:"))
    cost = said["per_million"].format(input=price.input, output=price.output) if price else said["unpriced"]
    pairs = [(said["model"], model.name), (said["base_url"], base_url), (said["key"], key), (said["price"], cost)]
    state.out(output.facts(pairs))


@app.command("list", help="The models that the server offers.")
def list_models() -> None:
    from hermes_cron.models.prices import Prices

    state = cli()
    names = _client(state, any_model=True).models(timeout_s=state.settings.model.timeout_s)
    prices = Prices(state.settings.prices)
    if state.json:
        state.emit_json({"models": names, "current": state.settings.model.name})
        return
    rows = []
    for name in names:
        price = prices.price(name)
        figures = (f"{price.input:g}", f"{price.output:g}") if price else ("", "")
        rows.append((f"{name} *" if name == state.settings.model.name else name, *figures))
    headers = (_TEXTS[state.lang]["model"], "USD/1M in", "USD/1M out")
    state.out(output.table(rows, headers, right=frozenset({1, 2}), max_columns=state.columns))


@app.command("set", help="Choose the model of this home.")
def set_model(
    name: str = typer.Argument(..., help="The model, as its provider spells it; none: playbooks only."),
    base_url: str | None = typer.Option(None, "--base-url", help="Where it answers: https://HOST/v1."),
    key: str | None = typer.Option(None, "--key", help="A reference such as secret:openai."),
) -> None:
    from hermes_cron.config_edit import spelled
    from hermes_cron.models.endpoint import OPENAI_URL
    from hermes_cron.settings import Settings

    state = cli()
    said = _TEXTS[state.lang]
    if not name.strip():
        raise Usage("a model's name is empty", hint="hermes-cron model set NAME, or: hermes-cron model set none")
    if name == NO_MODEL:
        _set_none(state, also=base_url or key)
        return
    changes: dict[str, str | None] = {"model.name": name}
    if base_url is not None:
        changes["model.base_url"] = base_url
    if key is not None:
        changes["model.key"] = key
    left_to_playbooks = _by_playbooks(state)
    state.configure(f"model set {name}", spelled(changes))
    settings = Settings.load(state.home, state.environment).model
    if state.json:
        state.emit_json({"model": settings.name, "base_url": settings.base_url or OPENAI_URL, "key": settings.key_ref})
        return
    state.out(said["set"].format(model=settings.name, base_url=settings.base_url or OPENAI_URL))
    for variable, shadows in (
        ("HERMES_CRON_MODEL", state.environment.model is not None),
        ("OPENAI_BASE_URL", base_url is not None and state.environment.base_url is not None),
        ("OPENAI_API_KEY", key is not None and state.environment.api_key is not None),
    ):
        if shadows:
            state.note(said["shadowed"].format(variable=variable))
    if left_to_playbooks:
        first, jobs = shlex.quote(left_to_playbooks[0]), output.one_line(", ".join(left_to_playbooks))
        state.note(said["drives"].format(jobs=output.cut(jobs, _LONGEST), first=first))
    state.note(said["first_test"])


def _by_playbooks(state: Cli) -> list[str]:
    """The jobs that a playbook drives for want of a model."""
    from hermes_cron.cli import jobs_known
    from hermes_cron.cli.next import spec
    from hermes_cron.domain.job import PlaybookMode, Work

    if state.settings.model.name is not None:
        return []
    jobs = (spec(state, listed) for listed in jobs_known.current(state).listed)
    return [
        job.name
        for job in jobs
        if job is not None and job.work is Work.PROMPT and not job.model and job.playbook.mode is PlaybookMode.AUTO
        and _playbook_drives(state, job)
    ]  # fmt: skip


def _playbook_drives(state: Cli, job: Job) -> bool:
    try:
        return state.app.route(job).playbook is not None
    except HermesCronError:  # what would keep it from running is not this command's to tell
        return False


def _set_none(state: Cli, *, also: str | None) -> None:
    """Back to playbooks only; where the last model answered and its key go with it."""
    if also is not None:
        raise Usage("no model has no address and no key", hint="hermes-cron model set none")
    state.configure(f"model set {NO_MODEL}", {("model", key): None for key in ("name", "base_url", "key")})
    if state.environment.model is not None:
        state.note(_TEXTS[state.lang]["shadowed"].format(variable="HERMES_CRON_MODEL"))
    if state.json:
        state.emit_json({"model": None, "base_url": None, "key": None})
        return
    state.out(output.facts([(_TEXTS[state.lang]["model"], _TEXTS[state.lang]["none"])]))


@app.command("test", help="One small call: does it answer, how fast, at what price.")
def test() -> None:
    from hermes_cron.domain.transcript import Header, ModelRequest, Usage

    state = cli()
    said = _TEXTS[state.lang]
    prompt = [{"role": "user", "content": "Answer with the one word: ready"}]
    request = ModelRequest(header=Header(system=""), messages=prompt, timeout_s=state.settings.model.timeout_s)
    reply = _client(state).complete(request)
    usage = reply.usage or Usage()
    if state.json:
        tokens = {"input": usage.input, "output": usage.output, "cached": usage.cached, "estimated": usage.estimated}
        facts = {"model": reply.model, "text": reply.text, "elapsed_ms": reply.elapsed_ms}
        state.emit_json({**facts, "tokens": tokens, "cost_usd": reply.cost_usd})
        return
    tokens_shown = f"{usage.input} + {usage.output}" + (said["guess"] if usage.estimated else "")
    cost = said["cost_unknown"] if reply.cost_usd is None else f"{reply.cost_usd:.6f} USD"
    pairs = [
        (said["model"], reply.model),
        (said["said"], output.one_line(reply.text)[:80] or "-"),
        (said["time"], f"{reply.elapsed_ms / 1000:.1f} s"),
        (said["tokens"], tokens_shown),
        (said["cost"], cost),
    ]
    state.out(output.facts(pairs))


def _key_source(state: Cli, model: ModelSettings) -> tuple[str | None, bool]:
    """Where the key comes from, and whether it is there. Never the key."""
    if model.key is not None:
        return "OPENAI_API_KEY", True
    if model.key_ref is None:
        return None, False
    return model.key_ref, model.key_ref.removeprefix("secret:") in state.app.vault.names()


def _client(state: Cli, *, any_model: bool = False) -> OpenAICompatible:
    """The configured model's client; ``any_model``: a list of models needs no chosen one."""
    from dataclasses import replace

    from hermes_cron.models.endpoint import endpoint_of
    from hermes_cron.models.openai_compatible import OpenAICompatible
    from hermes_cron.models.prices import Prices

    def secret(reference: str) -> str:
        value: str = state.app.vault.resolve(reference)  # the vault is opened only when a key lies in it
        return value

    settings = state.settings
    model = replace(settings.model, name=settings.model.name or "any") if any_model else settings.model
    endpoint = endpoint_of(model, secret)
    return OpenAICompatible(endpoint, clock=state.clock, price=Prices(settings.prices).cost)

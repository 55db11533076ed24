"""``dashboards export DIR``: Grafana dashboards and Prometheus rules, as files to import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hermes_cron import files
from hermes_cron.cli.context import cli
from hermes_cron.errors import Usage

app = typer.Typer(help="Grafana dashboards and Prometheus rules.", add_completion=False, no_args_is_help=True)

HELP_ZH = {
    "Grafana dashboards and Prometheus rules.": "Grafana 仪表盘与 Prometheus 规则。",
    "Write them into a folder.": "写入一个文件夹。",
    "The folder; it is made.": "目标文件夹，不存在则创建。",
}

_TEXTS = {
    "en": {
        "written": "written to {folder}",
        "grafana": "Grafana: Dashboards, New, Import",
        "prometheus": 'prometheus.yml: rule_files: ["{folder}/rules/recording.yml", "{folder}/rules/alerts.yml"]',
        "scrape": 'and a scrape job "hermes-cron" for {listen}',
    },
    "zh": {
        "written": "已写入 {folder}",
        "grafana": "Grafana：Dashboards → New → Import",
        "prometheus": 'prometheus.yml：rule_files: ["{folder}/rules/recording.yml", "{folder}/rules/alerts.yml"]',
        "scrape": "并添加名为 hermes-cron 的抓取任务，地址 {listen}",
    },
}


@app.command("export", help="Write them into a folder.")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is made.")],
) -> None:
    from hermes_cron.observe import dashboards, rules

    state = cli()
    if folder.exists() and not folder.is_dir():
        raise Usage(f"{folder} is a file", hint="name a folder")
    made = {**dashboards.files(), **rules.files()}
    for name, text in made.items():
        path = folder / name
        files.make_folder(path.parent)
        files.write_atomic(path, text.encode())
    if state.json:
        state.emit_json({"folder": str(folder), "files": sorted(made)})
        return
    texts = _TEXTS[state.lang]
    listen = state.settings.metrics_listen if state.home_path.is_home() else "127.0.0.1:9464"
    typer.echo(texts["written"].format(folder=folder))
    typer.echo("\n".join(f"  {name}" for name in made))
    for key in ("grafana", "prometheus", "scrape"):
        state.note(texts[key].format(folder=folder.resolve(), listen=listen))

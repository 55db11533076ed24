"""``metrics``: what a Prometheus would scrape, printed."""

from __future__ import annotations

import typer

from hermes_cron.cli.context import cli

app = typer.Typer(help="What a Prometheus scrapes, printed.", add_completion=False)

HELP_ZH = {"What a Prometheus scrapes, printed.": "打印 Prometheus 抓取到的指标。"}


@app.command("metrics", help="What a Prometheus scrapes, printed.")
def metrics() -> None:
    state = cli()
    text = state.app.metrics.text().decode("utf-8")
    if state.json:
        state.emit_json({"content_type": "text/plain; version=0.0.4", "text": text})
        return
    typer.echo(text, nl=False)

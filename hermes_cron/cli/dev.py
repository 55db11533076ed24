"""``dev stub``: a model server that plays a script, to try jobs and write tests without a key."""

from __future__ import annotations

from pathlib import Path

import typer

from hermes_cron.cli.context import cli

app = typer.Typer(help="For developers.", add_completion=False)

HELP_ZH = {
    "For developers.": "开发用。",
    "Play a script of replies as an OpenAI-compatible server.": "把脚本中的回复作为兼容 OpenAI 的服务播放。",
    "A JSON file: docs/formats/stub.md.": "JSON 文件，格式见 docs/formats/stub.md。",
    "The port; 0 takes a free one.": "端口；0 表示任选空闲端口。",
    "The address to listen on.": "监听地址。",
    "Wait this long before each answer, in milliseconds.": "每次回答前等待的毫秒数。",
    "Write each request body to this file, one a line.": "把每个请求体写入此文件，每行一个。",
    "Write what each request used to this file, one a line.": "把每个请求的用量写入此文件，每行一个。",
}


@app.callback()
def dev() -> None:
    """For developers."""


@app.command("stub", help="Play a script of replies as an OpenAI-compatible server.")
def stub(
    script: Path = typer.Argument(..., help="A JSON file: docs/formats/stub.md."),
    port: int = typer.Option(0, "--port", min=0, max=65535, help="The port; 0 takes a free one."),
    host: str = typer.Option("127.0.0.1", "--host", help="The address to listen on."),
    delay_ms: float = typer.Option(0, "--delay-ms", min=0, help="Wait this long before each answer, in milliseconds."),
    log: Path | None = typer.Option(None, "--log", help="Write each request body to this file, one a line."),
    usage_log: Path | None = typer.Option(
        None, "--usage-log", help="Write what each request used to this file, one a line."
    ),
) -> None:
    """The first line on stdout is the base URL; it serves until SIGINT or SIGTERM."""
    import signal
    import sys
    import threading

    from hermes_cron.errors import Usage
    from hermes_cron.models.stub import StubServer

    state = cli()
    server = StubServer(script, host=host, port=port, delay_ms=delay_ms, log=log, usage_log=usage_log)
    try:
        server.start()
    except OSError as error:
        raise Usage(f"cannot serve on {host}:{port}: {error.strerror or error}", hint="--port 0") from error
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if state.json:
        state.emit_json({"base_url": server.base_url})
    else:
        state.out(server.base_url)
    sys.stdout.flush()
    state.note(f"OPENAI_BASE_URL={server.base_url} HERMES_CRON_MODEL=stub-model hermes-cron run JOB")
    ended.wait()
    server.stop()

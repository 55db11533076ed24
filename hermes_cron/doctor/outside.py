"""What jobs need of others: does the model's server answer, can accounts of databases only read, are metrics told?

Nothing here is paid for: a model's server is asked which models it has, never for a word of one.
"""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from hermes_cron.doctor.asked import all_of
from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.doctor.kept import serving
from hermes_cron.errors import ConfigError, ExtraMissing, HermesCronError, ModelError, NotFound, VaultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_cron.domain.database import Account
    from hermes_cron.models.openai_compatible import OpenAICompatible
    from hermes_cron.scheduler.owners import Living

MOST = 5
_SIGNS = (b"# HELP ", b"hermes_cron_build_info")


def model(patient: Patient) -> Iterator[Finding]:
    """A home without one has playbooks; a key that is named and not kept is another check's."""
    from hermes_cron.errors import ModelAuth, ModelOverloaded, ModelTimeout, ModelUnreachable
    from hermes_cron.models.openai_compatible import OpenAICompatible

    settings = None if patient.settings is None else patient.settings.model
    if settings is None or settings.name is None:
        yield fine("no_model")
        return
    try:
        client = patient.app.model
    except (VaultError, NotFound, ConfigError):
        return
    if not isinstance(client, OpenAICompatible):
        return
    import openai  # noqa: F401  # half a second, and more where much goes on: no time of the server's

    host, began = client.endpoint.base_url, monotonic()
    answer = all_of({"": partial(_models, client, patient.answer_s)}, patient.answer_s)[""]
    match answer:
        case ModelAuth():
            kept = settings.key is None and settings.key_ref is not None
            command = f"hermes-cron secrets set {settings.key_ref[7:]}" if kept and settings.key_ref else _KEYS
            yield failure("model_key", command, host=host, why=str(answer))
        case ModelUnreachable() | ModelTimeout() | ModelOverloaded() | TimeoutError() | OSError():
            yield failure("model_silent", "hermes-cron model list", host=host, why=str(answer))
        case list() if answer and not _offered(settings.name, answer):
            yield warning("model_unknown", "hermes-cron model list", host=host, name=settings.name)
        case list() | ModelError():  # it answered: not every server lists its models
            yield fine("model", host=host, name=settings.name, seconds=f"{monotonic() - began:.1f}")
        case _:
            yield failure("error", "hermes-cron model show", error=str(answer))


def _models(client: OpenAICompatible, limit_s: float) -> list[str]:
    try:
        return client.models(timeout_s=limit_s)
    finally:
        client.close()


_KEYS = "hermes-cron secrets set model-key && hermes-cron config set model.key secret:model-key"


def _offered(name: str, names: list[str]) -> bool:
    """Servers spell one model in several ways: with its maker before it, with a tag behind it."""
    wanted = name.casefold()
    return any(
        each == wanted or each.endswith(f"/{wanted}") or each.startswith((f"{wanted}:", f"{wanted}@"))
        for each in map(str.casefold, names)
    )


def databases(patient: Patient) -> Iterator[Finding]:
    """Each is connected to, and its account is looked at as ``db add`` did: rights are granted later, too."""
    if patient.settings is None:
        return
    questions = _questions(patient)
    readers = 0
    for name, answer in all_of(questions, patient.answer_s).items():
        found = _judged(patient, name, answer)
        if found is None:
            readers += 1
        else:
            yield found
    if not questions or readers:
        yield fine("databases" if readers > 1 else "database" if readers else "no_databases", count=readers)


def _questions(patient: Patient) -> dict[str, Callable[[], Account]]:
    from hermes_cron.databases.connect import probe

    registry = patient.app.databases
    found: dict[str, Callable[[], Account]] = {}
    for name in registry.names():
        config = registry.config(name)
        try:
            password = registry.password(config)
        except (VaultError, NotFound, ConfigError):  # the check of the vault says it
            continue
        found[name] = partial(probe, config, password=password)
    return found


def _judged(patient: Patient, name: str, answer: Account | Exception) -> Finding | None:
    """None for one that can only be read."""
    look = f"hermes-cron db test {shlex.quote(name)}"
    if isinstance(answer, ExtraMissing):
        return failure("database_fault", (answer.hint or look).split("   or   ")[0], name=name, why=answer.message)
    if isinstance(answer, Exception):
        why = answer.message if isinstance(answer, HermesCronError) else str(answer)
        return failure("database_fault", look, name=name, why=why)
    if not answer.powers:
        return None
    said = {"name": name, "account": answer.name, "power": answer.powers[0]}
    if patient.app.databases.config(name).allow_writable_account:
        return fine("database_allowed", **said)
    return failure("database_writes", look, **said)


# --- the metrics ------------------------------------------------------------------------------------------------------


def metrics(patient: Patient) -> Iterator[Finding]:
    """Of a scheduler that lives: are they answered? Else: could they be?"""
    if patient.settings is None:
        return
    listen = patient.settings.metrics_listen
    lives = serving(patient)
    served = [each for each in lives if each.metrics is not None]
    if served:
        yield from _answering(patient, served)
    elif listen == "off":
        yield fine("metrics_off")
    elif lives:
        yield failure("metrics_not_served", _elsewhere(listen), address=listen)
    elif (why := _taken(listen)) is not None:
        yield warning("metrics_taken", _elsewhere(listen), address=listen, why=why)
    else:
        yield fine("metrics_free", address=listen)


def _answering(patient: Patient, served: list[Living]) -> Iterator[Finding]:
    questions = {str(each.metrics): partial(_series, str(each.metrics), patient.answer_s) for each in served}
    for address, answer in all_of(questions, patient.answer_s).items():
        if isinstance(answer, Exception):
            yield failure("metrics_silent", "hermes-cron logs", address=address, why=str(answer))
        else:
            yield fine("metrics", address=address, count=answer)


def _series(address: str, limit_s: float) -> int:
    """How many there are. Raises OSError where nothing answers, or somebody else does."""
    from http.client import HTTPConnection, HTTPException

    from hermes_cron.observe import exporter

    host, port = exporter.address(address)
    connection = HTTPConnection(_reached(host), port, timeout=limit_s)
    try:
        connection.request("GET", exporter.PATH)
        answer = connection.getresponse()
        text = answer.read()
    except HTTPException as error:
        raise OSError(f"no HTTP: {type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != 200 or not all(sign in text for sign in _SIGNS):
        raise OSError(f"another program answers there ({answer.status})" if answer.status != 503 else "see the log")
    return sum(not line.startswith(b"#") for line in text.splitlines())


def _reached(host: str) -> str:
    """Who listens at every address of the host is reached at its own."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # compared, not listened at


def _taken(listen: str) -> str | None:
    """Why nothing could be served there now."""
    from hermes_cron.observe import exporter

    host, port = exporter.address(listen)
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error.strerror or str(error)
    return None


def _elsewhere(listen: str) -> str:
    """The next port; the same where it is the host that is wrong would not help, so that is this host's own."""
    _, _, port = listen.rpartition(":")
    return f"hermes-cron config set metrics.listen 127.0.0.1:{int(port) % 65_535 + 1}"

"""What people wrote: can settings, secrets and job files be read?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from hermes_cron.doctor.finding import Finding, Patient, failure, fine, warning
from hermes_cron.errors import ConfigError, HermesCronError, SecretInPlainSight, VaultError
from hermes_cron.experience.memory import Target
from hermes_cron.memory_providers import NONE
from hermes_cron.settings import Settings

MOST = 5
"""Of one kind that are named; the rest are counted."""


def settings(patient: Patient) -> Iterator[Finding]:
    try:
        found = Settings.load(patient.home, patient.env)
    except (ConfigError, SecretInPlainSight) as error:
        yield failure("error", f"${{EDITOR:-vi}} {shlex.quote(str(patient.home.config))}", error=error.message)
        return
    yield fine("settings", zone=found.timezone)
    yield from _memory(patient)
    yield from _second_memory(patient, found)


def _memory(patient: Patient) -> Iterator[Finding]:
    """Runs go on without what they cannot read of it."""
    for target in Target:
        if (fault := patient.app.memory.kept(target).fault) is not None:
            place = shlex.quote(str(patient.home.root / target.path))
            yield failure("error", f"ls -ld {place}", error=fault)


def _second_memory(patient: Patient, settings: Settings) -> Iterator[Finding]:
    """Runs go on without one whose engine is not there, and say so; nobody may have read that."""
    if settings.memory.provider == NONE:
        return
    for provider in patient.app.recall.providers():
        if provider.name == settings.memory.provider and provider.lacks is not None:
            yield warning("recall", provider.lacks, provider=provider.name)


def vault(patient: Patient) -> Iterator[Finding]:
    """Every value is opened: a lost key is known before the run that needs it."""
    app = patient.app
    try:
        names = app.vault.names()
        app.vault.redactor()
    except VaultError as error:
        yield failure("error", error.hint or "hermes-cron secrets list", error=error.message)
        return
    missing = [(key, name) for key, name in _references(patient) if name not in names]
    for key, name in missing:
        yield failure("secret_missing", f"hermes-cron secrets set {shlex.quote(name)}", key=key, name=name)
    if not missing:
        yield fine("vault", count=len(names))


def _references(patient: Patient) -> list[tuple[str, str]]:
    """(key of config.toml, name in the vault)."""
    found = patient.settings
    if found is None:
        return []
    named: dict[str, str | None] = {
        f"databases.{name}.password": each.password_ref for name, each in found.databases.items()
    }
    named["model.key"] = found.model.key_ref
    for name, target in found.targets.items():
        named |= {f"targets.{name}.{key}": getattr(target, key) for key in ("url", "secret", "password")}
    return [(key, value.removeprefix("secret:")) for key, value in named.items() if value and value[:7] == "secret:"]


def jobs(patient: Patient) -> Iterator[Finding]:
    """Files that cannot be read as jobs run nothing, or what they said before."""
    from hermes_cron.doctor.kept import usable

    if patient.settings is None or not usable(patient):
        return
    from hermes_cron.store import overview

    synced = patient.app.sync_jobs(actor="cli")
    with patient.app.store.read() as conn:
        broken = {need.job: need.text for need in overview.needs(conn) if need.kind == "broken"}
    broken |= dict(synced.broken)
    for name, error in sorted(broken.items())[:MOST]:
        yield failure("error", f"hermes-cron edit {shlex.quote(name)}", error=error)
    if len(broken) > MOST:
        yield failure("more_broken", "hermes-cron check", count=len(broken) - MOST)
    if not broken:
        yield fine("jobs", count=len(patient.app.jobs.names()))


def lost(patient: Patient) -> Iterator[Finding]:
    """Jobs that nobody removed by a command within a day; one alone is told here and not by ``status``."""
    from hermes_cron.lost_jobs import lost_jobs

    try:
        found = lost_jobs(patient.app.snapshots, patient.home, patient.clock.now())
    except HermesCronError:  # the check of the history says it
        return
    if found is not None:
        fact = "lost_one" if len(found.files) == 1 else "lost"
        yield warning(fact, found.command, count=len(found.files), name=found.files[0], id=found.snapshot.id[:7])

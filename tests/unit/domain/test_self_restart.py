"""Commands that would end the service they run in, and look-alikes that do not."""

from __future__ import annotations

import pytest

from hermes_cron.domain.self_restart import restarts_itself


@pytest.mark.parametrize(
    "command",
    [
        "systemctl --user restart hermes-cron",
        "systemctl restart hermes-cron.service",
        "sudo systemctl stop hermes-cron",
        "systemctl -q --no-block try-restart nginx hermes-cron",
        "apt-get upgrade -y && systemctl restart hermes-cron",
        "systemctl \\\n  --user restart hermes-cron",
        "service hermes-cron restart",
        "pkill -f hermes-cron",
        "hermes-cron service uninstall --user -y",
        "if true; then systemctl --user kill hermes-cron; fi",
    ],
)
def test_it_would(command: str) -> None:
    assert restarts_itself(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "systemctl status hermes-cron",
        "systemctl --user is-active hermes-cron",
        "systemctl restart nginx",
        "systemctl restart hermes-cron-exporter.service",
        "systemd-run --on-active=5s systemctl restart hermes-cron",
        "systemctl reload hermes-cron",
        "hermes-cron service status",
        "hermes-cron status; systemctl restart nginx",
        "# systemctl restart hermes-cron",
        "journalctl -u hermes-cron | grep restart",
        "",
    ],
)
def test_it_would_not(command: str) -> None:
    assert restarts_itself(command) is None

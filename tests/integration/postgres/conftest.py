"""One private PostgreSQL for this folder's tests; it fails, and is not skipped, where no server is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running

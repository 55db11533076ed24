"""Which URLs are understood, and that none with a password is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_cron.databases.url import address, parse_url, sqlite_path
from hermes_cron.errors import SecretInPlainSight, Usage


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://watcher:hunter2@db/shop",
        "postgres://watcher:hunter2@db/shop",
        "postgresql://watcher:@db/shop",
        "postgresql://watcher:hun#ter2@db/shop",
        "postgresql://watcher:hun/ter2@db/shop",
        "postgresql://watcher:hun%40ter2@db:5432/shop?sslmode=require",
        "postgresql://watcher:hunter2@a,b/shop",
        "postgresql://db/shop?user=watcher&password=hunter2",
        "postgresql://db/shop?PASSWORD=hunter2",
        "postgresql://db/shop?sslpassword=hunter2",
        "mysql+pymysql://root:hunter2@db/shop",
        "watcher:hunter2@db/shop",
        "host=db user=watcher password=hunter2",
        "weird://u:hunter2@db/shop",
    ],
)
def test_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SecretInPlainSight) as refused:
        parse_url(url)
    said = f"{refused.value.message} {refused.value.hint}"
    assert "hunter2" not in said
    for way in ("prompt", "--password-stdin", "env:NAME", "file:PATH"):
        assert way in said


def test_urls_that_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(b"")
    assert parse_url("postgres://watcher@10.0.3.17/shop") == ("postgresql", "postgresql://watcher@10.0.3.17/shop")
    assert parse_url("sqlite:///a.db") == ("sqlite", "sqlite:///a.db")
    assert parse_url(str(file)) == ("sqlite", f"sqlite:///{file}")
    assert sqlite_path(parse_url(str(file))[1]) == file
    assert sqlite_path("sqlite:////srv/a%20b.db") == Path("/srv/a b.db")


@pytest.mark.parametrize("url", ["", "nothing", "oracle://db/x", "mysql://root@db/x", "sqlite://", "postgresql://a:b"])
def test_urls_that_are_not(url: str) -> None:
    with pytest.raises(Usage) as refused:
        parse_url(url)
    assert "postgresql://USER@HOST" in str(refused.value.hint)


@pytest.mark.parametrize(
    "url, shown",
    [
        ("postgresql://watcher@10.0.3.17/shop", "10.0.3.17:5432"),
        ("postgresql://watcher@db:6000/shop", "db:6000"),
        ("postgresql:///shop?host=/run/postgresql&port=5433", "/run/postgresql:5433"),
        ("sqlite:////srv/a.db", "/srv/a.db"),
    ],
)
def test_address_for_messages(url: str, shown: str) -> None:
    assert address(url) == shown

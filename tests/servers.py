"""How do tests get a real PostgreSQL of their own?

A private server in a temporary directory, on a free port of 127.0.0.1 and on a socket, started as an ordinary user
(PostgreSQL refuses root), without fsync, stopped at the end whatever happened.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SUPERUSER = "postgres"
SUPERUSER_PASSWORD = "the-owner-of-everything"  # a throw-away server on loopback
READER = "watcher"
READER_PASSWORD = "only-looks"

_SERVER_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "40",
    "shared_buffers": "32MB",
    "autovacuum": "off",  # planted dead rows must stay planted
    "log_min_messages": "fatal",
}


class ServerMissing(AssertionError):
    """No PostgreSQL server binaries: the tests fail and say what to install, they are not skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A running server. ``reader`` has SELECT everywhere and pg_monitor, the superuser everything."""

    host: str
    port: int
    socket_dir: Path
    bin_dir: Path

    def url(self, database: str = "postgres", *, user: str = SUPERUSER) -> str:
        """Without a password, as a DatabaseConfig wants it."""
        return f"postgresql://{user}@{self.host}:{self.port}/{database}"

    def dsn(self, database: str = "postgres", *, user: str = SUPERUSER) -> str:
        """With the password: for the tests' own connections."""
        return f"postgresql://{user}:{password_of(user)}@{self.host}:{self.port}/{database}"

    def dump(self, database: str) -> str:
        """Roles, settings, schema, data and large objects as text: equal before and after means unchanged."""
        env = {**os.environ, "PGPASSWORD": SUPERUSER_PASSWORD}
        at = ["-h", self.host, "-p", str(self.port), "-U", SUPERUSER]
        roles = _run([str(self.bin_dir / "pg_dumpall"), *at, "--globals-only"], env=env)
        data = _run([str(self.bin_dir / "pg_dump"), *at, "--create", "--blobs", database], env=env)
        # \restrict carries a random word in newer minor versions
        lines = (roles + data).splitlines()
        return "\n".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def password_of(user: str) -> str:
    return SUPERUSER_PASSWORD if user == SUPERUSER else READER_PASSWORD


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start one, yield it, stop it. Two seconds or so; share it across a session."""
    bin_dir = _server_binaries()
    as_user = _other_user() if os.geteuid() == 0 else None
    root = Path(tempfile.mkdtemp(prefix="hcpg-", dir="/tmp"))  # short: a socket's path has 107 bytes at most
    try:
        password_file = root / "password"
        password_file.write_text(SUPERUSER_PASSWORD)
        if as_user is not None:
            for path in (root, password_file):
                shutil.chown(path, as_user)
        data = root / "data"
        initdb = ["-D", str(data), "-U", SUPERUSER, "--auth=scram-sha-256", "--pwfile", str(password_file)]
        _run(_as(as_user, [str(bin_dir / "initdb"), *initdb, "-E", "UTF8", "--locale=C", "--no-sync"]), cwd=root)
        port = _free_port()
        settings = {**_SERVER_SETTINGS, "port": str(port), "unix_socket_directories": str(root)}
        options = " ".join(f"-c {key}={value}" for key, value in settings.items())
        control = [str(bin_dir / "pg_ctl"), "-D", str(data), "-w", "-t", "30"]
        _run(_as(as_user, [*control, "-o", options, "-l", str(root / "log"), "start"]), cwd=root)
        try:
            server = PostgresServer(host="127.0.0.1", port=port, socket_dir=root, bin_dir=bin_dir)
            _create_reader(server)
            yield server
        finally:
            _run(_as(as_user, [*control, "-m", "immediate", "stop"]), cwd=root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def fresh_database(server: PostgresServer, name: str) -> str:
    """Create an empty database (replacing one of that name) and return the superuser's DSN for it."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return server.dsn(name)


def _create_reader(server: PostgresServer) -> None:
    import psycopg

    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{READER_PASSWORD}'")
        connection.execute(f"GRANT pg_monitor, pg_read_all_data TO {READER}")


def _server_binaries() -> Path:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    for candidate in [*installed, *([Path(on_path).parent] if on_path else [])]:
        if all((candidate / name).exists() for name in ("initdb", "pg_ctl", "postgres", "pg_dump", "pg_dumpall")):
            return candidate
    raise ServerMissing(
        "no PostgreSQL server found in /usr/lib/postgresql/*/bin or on PATH; these tests need a real one: "
        "apt-get install postgresql (Debian, Ubuntu)"
    )


def _other_user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerMissing("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")


def _as(user: str | None, argv: Sequence[str]) -> list[str]:
    return [*(["runuser", "-u", user, "--"] if user is not None else []), *argv]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _run(argv: Sequence[str], *, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    # No pipe for a server started by pg_ctl: it would keep the pipe open for as long as it lives.
    with tempfile.TemporaryFile("w+") as out:
        done = subprocess.run(
            argv,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            timeout=60,
        )
        out.seek(0)
        text = out.read()
    if done.returncode != 0:
        raise ServerMissing(f"{argv[0]} ended with {done.returncode}:\n{text[-2000:]}")
    return text

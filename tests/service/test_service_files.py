"""The file of a SQLite database: who may read it, and what is said when it is gone."""

from __future__ import annotations

import logging
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from processes import obeying
from serving import PRICES, Postgres, copy_sqlite, free_port, query, sentence, serving, sqlite_in

import armature as am
from armature.client import Client, ServiceError
from armature.service.api import app as readiness
from armature.service.api import router
from armature.service.db.database import open_database, writing
from armature.service.db.maintenance import migrate


@contextmanager
def _process(storage: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of the command line in a process of its own, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "armature", "serve", "--port", str(port), "--storage", storage]
    server = subprocess.Popen(obeying(command), stderr=subprocess.PIPE, text=True)
    try:
        with Client(f"http://127.0.0.1:{port}", retries=60) as client:
            client.experiments()
        yield server, f"http://127.0.0.1:{port}"
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60.0)


def _lose(how: str, file: Path) -> None:
    if how == "replaced":
        copy_sqlite(file, file.with_name("copy.db"))
        file.with_name("copy.db").rename(file)
    elif how == "moved away":
        file.rename(file.with_name("elsewhere.db"))
    elif how == "emptied":
        os.truncate(file, 0)
    else:
        Path(f"{file}{how.removeprefix('deleted')}").unlink()


HOW = ["replaced", "moved away", "emptied", "deleted", "deleted-wal", "deleted-shm"]


@pytest.mark.parametrize("how", HOW)
def test_a_file_that_is_lost_under_a_server(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing that goes into a file that nobody will find again is answered as if it were kept."""
    monkeypatch.setattr(readiness, "FRESH", 0.0)
    file = tmp_path / "armature.db"
    with serving(sqlite_in(tmp_path)) as url, Client(url, retries=0) as client:
        client.create("prices", PRICES)
        made = client.decide_many("prices", 2)
        client.reward(made[0].id, 1.0)
        assert httpx.get(f"{url}/readyz").status_code == 200
        _lose(how, file)
        with caplog.at_level(logging.WARNING, "armature.service"):
            for ask in (
                lambda: client.decide("prices"),
                lambda: client.reward(made[1].id, 1.0),
                lambda: client.create("more", PRICES),
                lambda: client.experiment("prices"),
            ):
                with pytest.raises(ServiceError) as caught:
                    ask()
                assert caught.value.code == 503
        assert (
            "armature.db, or its -wal or -shm, was replaced, moved, deleted or emptied"
            in caplog.text
        )
        refused = httpx.get(f"{url}/readyz")
        assert refused.status_code == 503
        assert "was replaced, moved, deleted or emptied" in sentence(refused)
        assert httpx.get(f"{url}/healthz").status_code == 200
        monkeypatch.setattr(router, "FRESH", 0.0)  # the keys can't be read either
        for path in ("/", "/experiments/prices", "/readyz"):
            page = httpx.get(f"{url}{path}", headers={"Accept": "text/html"})
            assert page.status_code == 503, path
            assert page.headers["content-type"].startswith("text/html")
            assert "was replaced, moved, deleted or emptied" in page.text
        assert httpx.get(f"{url}/login").status_code == 200
        if how in ("moved away", "deleted"):
            assert not file.exists(), "the server has made an empty one in its place"


def test_a_file_that_is_lost_during_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction began in the right file, and what is committed is nowhere: 503."""
    file = tmp_path / "armature.db"
    with serving(sqlite_in(tmp_path)) as url, Client(url, retries=0) as client:
        client.create("prices", PRICES)
        client.decide("prices", request_id="one")
        write = sys.modules["armature.service.domain.writer"].write

        def lose(*arguments: Any) -> None:
            write(*arguments)
            _lose("moved away", file)

        monkeypatch.setattr("armature.service.domain.writer.write", lose)
        with pytest.raises(ServiceError, match="same request_id") as caught:
            client.decide("prices", request_id="two")
        assert caught.value.code == 503
        monkeypatch.setattr("armature.service.domain.writer.write", write)
        file.with_name("elsewhere.db").rename(file)  # the same file again: it goes on
        first, second = (client.decide("prices", request_id=name) for name in ("one", "two"))
        assert first.id != second.id
        assert client.experiment("prices")["decisions"] == 2


def test_what_was_answered_is_there_after_its_wal_was_deleted(tmp_path: Path) -> None:
    """The commits before the loss are written into the file when the server stops."""
    storage = sqlite_in(tmp_path)
    with _process(storage) as (_, url), Client(url, retries=0) as client:
        client.create("prices", PRICES)
        made = client.decide_many("prices", 20)
        (tmp_path / "armature.db-wal").unlink()
        with pytest.raises(ServiceError, match="was replaced, moved, deleted or emptied"):
            client.decide("prices")
    stored = query(storage, "SELECT id FROM decision ORDER BY asked_seq")
    assert [row.id for row in stored] == [decision.id for decision in made]


def test_a_link_to_the_file_that_points_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "armature.db"
    link.symlink_to(tmp_path / "real" / "one.db")
    with serving(sqlite_in(tmp_path)) as url, Client(url, retries=0) as client:
        client.create("prices", PRICES)
        assert stat.S_IMODE(link.stat().st_mode) == 0o600
        copy_sqlite(tmp_path / "real" / "one.db", tmp_path / "real" / "two.db")
        link.unlink()
        link.symlink_to(tmp_path / "real" / "two.db")
        with pytest.raises(ServiceError, match="was replaced, moved, deleted or emptied"):
            client.decide("prices")


def test_keys_are_not_stored_in_a_file_that_is_lost(tmp_path: Path) -> None:
    engine = open_database(sqlite_in(tmp_path))
    migrate(engine)

    def make_one_and_lose_it() -> None:
        with writing(engine) as connection:
            connection.execute(sa.text("DELETE FROM api_key"))
            (tmp_path / "armature.db").unlink()

    with pytest.raises(sa.exc.SQLAlchemyError, match="was replaced"):
        make_one_and_lose_it()
    engine.dispose()


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """It has what customers did, and hashes of keys: the two beside it have the data too."""
    before = os.umask(0o022)
    try:
        with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
            client.create("prices", PRICES)
            files = sorted(tmp_path.iterdir())
            assert [file.suffix for file in files] == [".db", ".db-shm", ".db-wal"]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    finally:
        os.umask(before)


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "armature.db"
    file.touch()
    file.chmod(0o660)
    with serving(sqlite_in(tmp_path)) as url, Client(url) as client:
        client.create("prices", PRICES)
        assert stat.S_IMODE(file.stat().st_mode) == 0o660


def test_ready_only_if_a_write_succeeds(tmp_path: Path) -> None:
    """The files can't grow, as on a full disk: not ready, until they can."""
    with _process(sqlite_in(tmp_path)) as (server, url), Client(url, retries=0) as client:
        client.create("prices", PRICES)
        assert _becomes(url, 200)
        _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, most))
        with pytest.raises(ServiceError) as caught:
            client.decide("prices")
        assert caught.value.code == 503
        assert _becomes(url, 503)
        assert "no write can succeed now" in sentence(httpx.get(f"{url}/readyz"))
        assert httpx.get(f"{url}/healthz").status_code == 200
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))
        assert _becomes(url, 200)
        client.decide("prices")


def _becomes(url: str, code: int) -> bool:
    """Whether it is ready, or not, as soon as that is tried again."""
    deadline = time.monotonic() + 60.0
    while httpx.get(f"{url}/readyz").status_code != code:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_not_ready_where_postgresql_takes_no_writes(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "FRESH", 0.0)
    storage = postgres.database()
    name = sa.make_url(storage).database
    with serving(storage) as url:
        assert httpx.get(f"{url}/readyz").status_code == 200
        postgres.psql(f"ALTER DATABASE {name} SET default_transaction_read_only = on;")
        postgres.psql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';"
        )
        refused = httpx.get(f"{url}/readyz")
        assert refused.status_code == 503
        assert "read-only" in sentence(refused)


STORAGES = [
    "postgresql://user:secret@host:port/name",
    "postgresql://user:secret@[::1/name",
    "postgresql:///name?port=many",
    "sqlite://host/armature.db",
    "sqlite:///armature\0.db",
    "sqlite:///armature.db?timeout=long",
    "sqlite:///\ud800.db",
    "sqlite:///",
    "mysql://host/name",
    "nothing",
    "",
]


@pytest.mark.parametrize("storage", STORAGES)
def test_storages_that_are_none(storage: str) -> None:
    with pytest.raises(am.ArmatureError, match=r"is no storage|must be a file") as caught:
        open_database(storage)
    assert "secret" not in str(caught.value)

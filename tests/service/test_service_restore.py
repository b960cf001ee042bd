"""A database that goes back in time under servers: the log wins over what they remember."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import PRICES, copy_sqlite, query, serving

from armature.client import Client, ServiceError
from armature.service.db.database import open_database, writing
from armature.service.domain import replay
from armature.service.domain.log import Timeline

DRAWN = {**PRICES, "policy": "thompsonsampling"}


@pytest.fixture
def backup(storage: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Keeps the database as it is, and puts it back."""
    kept = tmp_path / "kept"
    if storage.startswith("sqlite"):
        file = tmp_path / "armature.db"
        yield lambda: copy_sqlite(file, kept), lambda: copy_sqlite(kept, file)
    else:
        postgres = request.getfixturevalue("postgres")
        yield lambda: postgres.dump(storage, kept), lambda: postgres.restore(storage, kept)


@contextmanager
def _two(storage: str) -> Iterator[tuple[Client, Client]]:
    """Two servers on one storage."""
    with (
        serving(storage) as one,
        serving(storage) as two,
        Client(one, retries=0) as here,
        Client(two, retries=0) as there,
    ):
        yield here, there


def _play(client: Client, name: str, rounds: int, reward: Callable[[Any], float]) -> None:
    for _ in range(rounds):
        made = client.decide(name)
        client.reward(made.id, reward(made.arm))


def _like_the_first(arm: Any) -> float:
    return float(arm == 0)


def _like_the_last(arm: Any) -> float:
    return float(arm == 3)


def _assert_the_log_is_what_they_know(storage: str, *clients: Client) -> None:
    """Each server, and whoever starts from the snapshots, knows what the log alone says."""
    engine = open_database(storage)
    with engine.connect() as connection:
        loaded = replay.load(connection, 1)
        assert loaded is not None
        alone = replay.rebuild(connection, 1, loaded.spec)
    engine.dispose()
    assert loaded.replica.as_text() == alone.as_text()
    bandit = alone.bandit
    for client in clients:
        arms = client.experiment("prices")["arms"]
        assert [arm["pulls"] for arm in arms] == [int(n) for n in bandit.pulls]
        assert [arm["pending"] for arm in arms] == [int(n) for n in bandit.pending]


@pytest.mark.parametrize("rounds", [5, 12, 20, 30])
def test_a_restore_while_two_servers_run(
    storage: str, backup: Any, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is behind, level with, or ahead of what the other has added to the restored log."""
    monkeypatch.setattr(replay, "EVERY", 10)
    keep, restore = backup
    with _two(storage) as (here, there):
        here.create("prices", DRAWN)
        _play(here, "prices", 6, _like_the_first)
        _play(there, "prices", 4, _like_the_first)
        keep()
        _play(there, "prices", 12, _like_the_first)  # it will not have been
        restore()
        _play(here, "prices", rounds, _like_the_last)
        _play(there, "prices", 8, _like_the_last)  # whose snapshot is of the log as well
        _assert_the_log_is_what_they_know(storage, here, there)
        _play(here, "prices", 3, _like_the_last)
        _assert_the_log_is_what_they_know(storage, here, there)


def test_a_snapshot_of_another_log(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is whole, and younger than the others, and of something that has not been."""
    monkeypatch.setattr(replay, "EVERY", 10)
    engine = open_database(storage)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", DRAWN)
        client.create("other", DRAWN)
        _play(client, "prices", 6, _like_the_first)
        _play(client, "other", 6, _like_the_last)
    with writing(engine) as connection:
        here, there = "experiment_id = 1 AND seq = 10", "experiment_id = 2 AND seq = 10"
        for column in ("state", "checksum"):
            connection.execute(
                sa.text(
                    f"UPDATE snapshot SET {column} = (SELECT {column} FROM snapshot WHERE {there})"
                    f" WHERE {here}"
                )
            )
    engine.dispose()
    assert query(storage, "SELECT count(DISTINCT checksum) FROM snapshot WHERE seq = 10") == [(1,)]
    with serving(storage) as url, Client(url) as client:
        _assert_the_log_is_what_they_know(storage, client)


def test_snapshots_of_an_earlier_version(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They don't say of which log they are: the whole log is read, once."""
    monkeypatch.setattr(replay, "EVERY", 10)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", DRAWN)
        _play(client, "prices", 12, _like_the_first)
        before = client.experiment("prices")
    engine = open_database(storage)
    with writing(engine) as connection:
        connection.execute(sa.text("UPDATE snapshot SET version = 1"))
    engine.dispose()
    with serving(storage) as url, Client(url) as client:
        assert client.experiment("prices") == before
        _play(client, "prices", 12, _like_the_first)
        _assert_the_log_is_what_they_know(storage, client)
    versions = query(storage, "SELECT version FROM snapshot ORDER BY seq DESC")
    assert versions[0] == (replay.VERSION,)


def test_an_id_that_is_another_experiments_after_a_restore(storage: str, backup: Any) -> None:
    """The second experiment was made after the backup; a third one gets its number."""
    keep, restore = backup
    with _two(storage) as (here, there):
        here.create("first", PRICES)
        keep()
        here.create("second", PRICES)
        here.decide("second")
        restore()
        there.create("third", PRICES)
        with pytest.raises(ServiceError) as caught:
            here.decide("second")
        assert caught.value.code == 404
        assert there.experiment("third")["decisions"] == 0
        here.create("second", PRICES)
        here.decide("second")
        here.decide("third")
        there.decide("second")
        assert [row["decisions"] for row in there.experiments()] == [0, 2, 1]


def test_the_page_counts_the_log_that_is_there(storage: str, backup: Any) -> None:
    keep, restore = backup
    engine = open_database(storage)
    kept, new = Timeline(), Timeline()
    with serving(storage) as url, Client(url) as client:
        client.create("prices", PRICES)
        keep()
        _play(client, "prices", 10, _like_the_first)
        with engine.connect() as connection:
            kept.catch_up(connection, 1)
        restore()
        _play(client, "prices", 14, _like_the_last)
        with engine.connect() as connection:
            for timeline in (kept, new):
                timeline.catch_up(connection, 1)
    engine.dispose()
    assert kept.kinds == new.kinds
    numbers = range(4)
    for name in ("decisions", "rewards", "rounds"):
        assert (
            getattr(kept.past(numbers), name).tolist() == getattr(new.past(numbers), name).tolist()
        )

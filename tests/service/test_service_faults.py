"""What the service must survive: nothing is lost, nothing is doubled, and it goes on."""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from cutting import Cutter
from killing import kill_under_load, verify
from processes import PATIENCE
from serving import PRICES, Postgres, query, serving, sqlite_in

import armature as am
from armature.client import Client, ServiceError
from armature.service.db.database import clock, look_at, open_database, writing
from armature.service.db.maintenance import migrate, revision_of
from armature.service.db.schema import REVISION
from armature.service.domain import backend, replay, writer
from armature.service.domain.commands import Decide, Expire, Reward
from armature.service.domain.scheduler import QueuedCommand, Turn
from armature.service.domain.writer import Writer
from armature.storage.files import checksum


@pytest.mark.parametrize("servers", [1, 2])
def test_servers_are_killed_under_load(storage: str, servers: int) -> None:
    notes = kill_under_load(storage, kills=5, servers=servers, customers=4, seed=servers)
    totals = verify(storage, notes)
    assert totals["asked"] > 0
    assert totals["told"] > 0


PLANTED: dict[str, tuple[str, str | None]] = {
    "a decision is lost": (
        "DELETE FROM decision WHERE id = (SELECT max(id) FROM decision WHERE status = 'open')",
        None,
    ),
    "an event is lost": ("DELETE FROM event WHERE seq = 3", "gaps"),
    "a reward is doubled": (
        "INSERT INTO event SELECT experiment_id, (SELECT max(seq) + 1 FROM event WHERE "
        "experiment_id = 1), kind, decision_id, arm, value, at, detail, segment FROM "
        "event WHERE experiment_id = 1 AND kind = 'told' LIMIT 1",
        "ended twice",
    ),
    "a reward is changed": ("UPDATE reward SET value = value + 1", None),
    "a request is done twice": (
        "UPDATE decision SET request_id = (SELECT min(request_id) FROM decision), place = 77 "
        "WHERE id = (SELECT max(id) FROM decision)",
        None,
    ),
    "a snapshot is of something else": (
        "UPDATE snapshot SET state = replace(state, '\"divergences\":0', '\"divergences\":1')",
        None,
    ),
}


def test_what_is_verified_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error, planted into a database that was fine, is noticed."""
    monkeypatch.setattr("killing.KILLED", {"prices": PRICES})
    storage = sqlite_in(tmp_path)
    notes = kill_under_load(storage, kills=0, customers=2, snapshot_every=10, linger=1.0)
    assert verify(storage, notes)["told"] > 0
    for name, (statement, reason) in PLANTED.items():
        copy = tmp_path / f"{name}.db"
        with sqlite3.connect(tmp_path / "armature.db") as source, sqlite3.connect(copy) as target:
            source.backup(target)
        source.close()
        target.execute(statement)
        if "snapshot" in name:  # as whoever forges it would
            target.create_function("sum_of", 1, lambda text: checksum(text.encode()))
            target.execute("UPDATE snapshot SET checksum = sum_of(state)")
        target.commit()
        target.close()
        with pytest.raises(AssertionError, match=reason):
            verify(f"sqlite:///{copy}", notes)


def _migrate(storage: str, gate: Any) -> None:
    engine = open_database(storage)
    gate.wait()
    migrate(engine)


def test_simultaneous_first_starts(storage: str) -> None:
    context = multiprocessing.get_context("forkserver")
    gate = context.Barrier(4)
    starts = [context.Process(target=_migrate, args=(storage, gate)) for _ in range(4)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert [start.exitcode for start in starts] == [0, 0, 0, 0]
    engine = open_database(storage)
    with engine.connect() as connection:
        assert revision_of(connection) == REVISION
    engine.dispose()


def test_migrations_make_what_the_schema_says(storage: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    from armature.service.db.schema import metadata

    engine = open_database(storage)
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_database_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    engine = open_database(sqlite_in(tmp_path))
    migrate(engine)
    with writing(engine) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(am.ArmatureError, match="newer release"):
        migrate(engine)
    engine.dispose()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_is_cut_during_commit(postgres: Postgres, when: Any) -> None:
    """Whatever became of the transaction, repeating the request does it once."""
    storage = postgres.database()
    url = sa.make_url(storage)
    cutter = Cutter(f"{url.query['host']}/.s.PGSQL.5432")
    through = f"postgresql://postgres@127.0.0.1:{cutter.port}/{url.database}"
    try:
        with serving(through) as address, Client(address) as client:
            client.create("prices", PRICES)
            first = client.decide("prices", request_id="one")
            cutter.when = when
            impatient = Client(address, retries=0)
            with pytest.raises(ServiceError, match="same request_id") as caught:
                impatient.decide("prices", request_id="two")
            impatient.close()
            assert caught.value.code == 503
            done = query(storage, "SELECT count(*) FROM decision WHERE request_id = 'two'")
            assert done == [(1 if when == "after" else 0,)]
            second = client.decide("prices", request_id="two")
            assert second.arm == 1
            cutter.when = when
            client.reward(first.id, 1.0)
            assert cutter.cuts == 2
            events = [event["kind"] for event in client.events("prices")]
            assert events == ["created", "asked", "asked", "told"]
            assert client.experiment("prices")["arms"][0]["mean"] == 1.0
    finally:
        cutter.close()
    _assert_rebuilt(storage)


def _assert_rebuilt(storage: str, key: int = 1) -> None:
    engine = open_database(storage)
    with engine.connect() as connection:
        loaded = replay.load(connection, key)
        assert loaded is not None
        rebuilt = replay.rebuild(connection, key, loaded.spec)
    engine.dispose()
    assert rebuilt.as_text() == loaded.replica.as_text()


def test_connections_that_were_closed_meanwhile(postgres: Postgres) -> None:
    """PostgreSQL was started again: nobody notices."""
    storage = postgres.database()
    with serving(storage) as url, Client(url, retries=0) as client:
        client.create("prices", PRICES)
        client.decide("prices")
        name = sa.make_url(storage).database
        postgres.psql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';"
        )
        client.decide("prices")
        assert client.experiment("prices")["decisions"] == 2


def test_a_full_disk(tmp_path: Path) -> None:
    """Nothing is answered that was not stored; when there is room again, it goes on."""
    storage = sqlite_in(tmp_path)
    full = False

    with serving(storage) as url, Client(url, retries=0) as client:
        client.create("prices", PRICES)

        @sa.event.listens_for(sa.Engine, "begin")
        def limit(connection: Any) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            most = pages if full else 1_000_000
            connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

        try:
            made = client.decide_many("prices", 10)
            full = True
            with pytest.raises(ServiceError, match="full") as caught:
                client.decide_many("prices", 1_000)
            assert caught.value.code == 503
            full = False
            made += client.decide_many("prices", 10)
        finally:
            sa.event.remove(sa.Engine, "begin", limit)
        assert client.reward(made[0].id, 1.0).status == "applied"
        stored = {row.id for row in query(storage, "SELECT id FROM decision")}
        assert stored == {decision.id for decision in made}
        assert client.experiment("prices")["decisions"] == len(made)
    _assert_rebuilt(storage)


def _spoil(storage: str, statement: str) -> None:
    engine = open_database(storage)
    with writing(engine) as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


SPOILT = {
    "cut off": "UPDATE snapshot SET state = substr(state, 1, 100) WHERE seq = {last}",
    # of which we can't know the meaning, and one that was changed
    "another version": "UPDATE snapshot SET version = 99, state = {wrong} WHERE seq = {last}",
    "another sum": "UPDATE snapshot SET state = {wrong} WHERE seq = {last}",
    "all spoilt": "UPDATE snapshot SET state = '{{}}'",
    "none": "DELETE FROM snapshot",
    "an older one": "DELETE FROM snapshot WHERE seq = {last}",
}


@pytest.mark.parametrize("how", SPOILT)
def test_spoilt_snapshots(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is the truth: a snapshot that is not whole is passed over."""
    monkeypatch.setattr(replay, "EVERY", 10)
    storage = sqlite_in(tmp_path)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", {**PRICES, "policy": "thompsonsampling"})
        for k in range(12):
            made = client.decide_many("prices", 2)
            client.reward(made[0].id, float(k % 2))
        before = client.experiment("prices")
    twin = tmp_path / "twin"
    twin.mkdir()
    shutil.copy(tmp_path / "armature.db", twin / "armature.db")
    ((last,),) = query(storage, "SELECT max(seq) FROM snapshot")
    wrong = "replace(state, '0,\"labels\"', '7,\"labels\"')"  # 7 divergences that never were
    _spoil(storage, SPOILT[how].format(last=last, wrong=wrong))
    arms = []
    for where in (storage, sqlite_in(twin)):
        with serving(where) as url, Client(url) as client:
            assert client.experiment("prices") == before
            arms.append([decision.arm for decision in client.decide_many("prices", 40)])
    assert arms[0] == arms[1]
    assert before["divergences"] == 0


def test_a_reward_that_races_with_its_windows_end(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes first under the lock wins, and there is one end."""
    monkeypatch.setattr(backend, "TICK", 3_600.0)  # nobody closes windows but this test
    engine = open_database(storage)
    migrate(engine)
    service = backend.Backend(engine)
    service._create("prices", {**PRICES, "rewards": {"window": 60.0, "default": 0}})
    writer = service.writer
    (made,) = [_run(writer, [Decide(n=6)])[0]]
    ids = [decision["id"] for decision in made]

    def close(*decisions: str) -> None:  # its window ended a moment ago
        with writing(engine) as connection:
            for decision in decisions:
                connection.execute(
                    sa.text("UPDATE decision SET expires_at = 1.0 WHERE id = :id"),
                    {"id": decision},
                )

    close(*ids[:4])
    late, count = _run(writer, [Reward([(ids[0], 1.0)]), Expire()])
    assert late[0].status == "late"  # the window had closed, though nobody had said so yet
    assert count == 3
    assert _run(writer, [Reward([(ids[1], 1.0)])])[0][0].status == "late"
    assert _run(writer, [Expire()]) == [0]
    close(ids[4])
    count, late = _run(writer, [Expire(), Reward([(ids[4], 1.0)])])
    assert (count, late[0].status) == (1, "late")
    on_time, count = _run(writer, [Reward([(ids[5], 1.0)]), Expire()])
    assert (on_time[0].status, count) == ("applied", 0)
    engine.dispose()
    events = query(storage, "SELECT kind, decision_id FROM event ORDER BY seq")
    ends = [row for row in events if row.kind in ("expired", "told")]
    assert sorted(row.decision_id for row in ends) == sorted(ids)
    assert [row.kind for row in events].count("late") == 3
    _assert_rebuilt(storage)


def test_the_clock_is_read_under_the_lock(storage: str) -> None:
    """Who waits for the lock while a window closes comes too late, whenever it was sent."""
    engine = open_database(storage)
    migrate(engine)
    service = backend.Backend(engine)
    service._create("prices", PRICES)
    asking = threading.Event()

    def wait_for_the_lock() -> float:
        with writing(engine) as connection:
            asking.set()
            ((_, _, _, now),) = look_at(connection, [1], "wait")
            return float(now)

    with ThreadPoolExecutor(1) as threads:
        with writing(engine) as connection:
            look_at(connection, [1], "wait")
            found = threads.submit(wait_for_the_lock)
            if engine.dialect.name == "postgresql":  # on SQLite it waits for the transaction itself
                assert asking.wait(PATIENCE)
            time.sleep(0.5)
            held_until = clock(connection)
        assert found.result() >= held_until
    engine.dispose()


def test_a_transaction_that_failed_leaves_no_trace(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was decided in vain is forgotten, also if another server has come as far meanwhile."""
    engine = open_database(storage)
    migrate(engine)
    here, there = backend.Backend(engine).writer, backend.Backend(engine).writer
    backend.Backend(engine)._create("prices", {**PRICES, "policy": "thompsonsampling"})
    _run(here, [Decide(n=4)])

    def fail(*arguments: Any) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("the disk is gone"))

    with monkeypatch.context() as patched:
        patched.setattr("armature.service.domain.writer.write", fail)
        (job,) = jobs = _jobs([Decide(n=6)])
        here._serve(Turn(1, jobs))
    assert "Nothing was changed" in str(job.error)
    (made,) = _run(there, [Decide(n=1)])
    _run(there, [Reward([(made[0]["id"], 1.0)]), Decide(n=4)])
    _run(here, [Decide(n=1)])
    with engine.connect() as connection:
        loaded = here.loaded[1]
        rebuilt = replay.rebuild(connection, 1, loaded.spec)
    assert rebuilt.as_text() == loaded.replica.as_text()
    engine.dispose()


def test_another_server_writes_while_the_log_is_read(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of events and the events themselves are read as of one moment."""
    engine = open_database(storage)
    migrate(engine)
    here, there = backend.Backend(engine).writer, backend.Backend(engine).writer
    backend.Backend(engine)._create("prices", PRICES)
    _run(here, [Decide(n=4)])
    look_at = writer.look_at

    def look_and_let_write(*arguments: Any) -> Any:
        monkeypatch.setattr(writer, "look_at", look_at)
        found = look_at(*arguments)
        _run(there, [Decide(n=1)])
        return found

    monkeypatch.setattr(writer, "look_at", look_and_let_write)
    (job,) = jobs = _jobs([Decide(n=1)])
    here._compute(Turn(1, jobs))
    assert job.error is None
    assert len(job.answer) == 1
    engine.dispose()


def _jobs(commands: list[Any]) -> list[QueuedCommand]:
    loop = asyncio.new_event_loop()
    jobs = [QueuedCommand(1, command, loop.create_future()) for command in commands]
    loop.close()
    return jobs


def _run(writer: Writer, commands: list[Any]) -> list[Any]:
    """Commands in one transaction, in this thread."""
    jobs = _jobs(commands)
    writer._serve(Turn(1, jobs))
    assert [job.error for job in jobs] == [None] * len(jobs)
    return [job.answer for job in jobs]


class Moody(am.PythonPolicy):
    """A policy that fails now and then."""

    fails = False

    def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> int:
        if type(self).fails:
            raise RuntimeError("not today")
        return int(rng.integers(4))


def test_a_policy_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its experiment answers with an error, and nothing is changed; the others go on."""
    storage = sqlite_in(tmp_path)
    allowed = Moody.__module__
    with serving(storage, allow=[allowed]) as url, Client(url, retries=0) as client:
        client.create("moody", {**PRICES, "policy": f"{allowed}:Moody"})
        client.create("prices", PRICES)
        made = client.decide_many("moody", 4)
        client.reward(made[1].id, 1.0)  # before any reward, arms would take turns
        made += client.decide_many("moody", 1)
        monkeypatch.setattr(Moody, "fails", True)
        with pytest.raises(ServiceError, match="nothing was changed") as caught:
            client.decide_many("moody", 5)
        assert caught.value.code == 500
        with pytest.raises(ServiceError, match="nothing was changed") as caught:
            client.reward(made[0].id, 1.0)  # its log can't be replayed
        assert caught.value.code == 500
        client.decide("prices")
        monkeypatch.setattr(Moody, "fails", False)
        client.decide("moody")
        client.reward(made[0].id, 1.0)
        shown = client.experiment("moody")
        assert (shown["decisions"], shown["rounds"]) == (6, 2)


def test_a_log_with_a_gap_is_refused(tmp_path: Path) -> None:
    storage = sqlite_in(tmp_path)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", PRICES)
        client.decide_many("prices", 5)
    _spoil(storage, "DELETE FROM event WHERE seq = 3")
    with serving(storage) as url, Client(url, retries=0) as client:
        with pytest.raises(ServiceError, match="no event 3"):
            client.decide("prices")
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_a_recorded_arm_wins(tmp_path: Path) -> None:
    """Another release would have chosen otherwise: what happened counts, and it is counted."""
    storage = sqlite_in(tmp_path)
    with serving(storage) as url, Client(url) as client:
        client.create("prices", PRICES)
        client.decide_many("prices", 3)
    for table in ("decision WHERE asked_seq", "event WHERE seq"):
        name, where = table.split(" WHERE ")
        _spoil(storage, f"UPDATE {name} SET arm = 3 WHERE {where} = 2")
    with serving(storage) as url, Client(url) as client:
        shown = client.experiment("prices")
        assert [arm["pending"] for arm in shown["arms"]] == [0, 1, 1, 1]
        assert shown["divergences"] >= 1

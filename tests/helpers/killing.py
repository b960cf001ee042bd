"""Killing servers under load, and checking afterwards that nothing was lost and nothing doubled.

Clients note what they ask for before they ask, and what was answered; `verify` compares their notes
with the database, checks the log against a model of its own, and rebuilds every bandit twice.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx
import sqlalchemy as sa
from processes import PATIENCE
from serving import free_port
from warm_server import KILLED, run

from armature.client import Client, ServiceError, UnreachableError
from armature.service.db.database import open_database
from armature.service.domain import replay

os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for what the forking process imports
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["warm_server"])


class Server:
    """A server that is started again and again, always on the same port."""

    def __init__(self, storage: str, snapshot_every: int) -> None:
        self._arguments = (storage, free_port(), snapshot_every)
        self.url = f"http://127.0.0.1:{self._arguments[1]}"
        self._process: Any = None

    def start(self) -> None:
        """Start it; it may take a moment until it answers."""
        self._process = _FORKS.Process(target=run, args=self._arguments, daemon=True)
        self._process.start()

    def kill(self) -> None:
        """SIGKILL: it can do nothing about it."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        assert self._process.exitcode == -signal.SIGKILL, "it had died before"

    def answers(self) -> bool:
        """Whether it takes requests."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False

    def wait(self) -> None:
        """Wait until it takes requests."""
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            assert self._process.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server did not answer"
            time.sleep(0.01)


@dataclass
class Notes:
    """What one client asked for, and what it was answered."""

    # By id: the experiment, n, and the segment.
    requests: dict[str, tuple[str, int, Any]] = field(default_factory=dict)
    decisions: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)  # ids and arms
    rewards: dict[str, tuple[float, str]] = field(default_factory=dict)  # value and status
    cancelled: list[str] = field(default_factory=list)
    repeated: int = 0  # requests that were sent more than once
    wrong: list[str] = field(default_factory=list)


class Customer(threading.Thread):
    """A client that asks, tells, repeats itself and forgets, and retries until it is answered."""

    def __init__(self, urls: list[str], seed: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._clients = [Client(url, timeout=20.0, retries=0) for url in urls]
        self._random = random.Random(seed)
        self._name, self._end = f"customer {seed}", stop
        self.notes = Notes()
        self._count = 0

    def run(self) -> None:
        """Until it is told to stop, and all its requests are answered."""
        try:
            while not self._end.is_set():
                self._round()
        except Exception as error:  # told at the end: a thread has nobody to raise it to
            self.notes.wrong.append(f"{self._name}: {error!r}")
        finally:
            for client in self._clients:
                client.close()

    def _do(self, action: Any) -> Any:
        """Send a request until some server answers it."""
        deadline = time.monotonic() + PATIENCE
        for attempt in range(1_000_000):
            try:
                return action(self._random.choice(self._clients))
            except (UnreachableError, ServiceError) as error:
                if isinstance(error, ServiceError) and error.code != 503:
                    raise
                if time.monotonic() > deadline:
                    raise
            self.notes.repeated += attempt == 0
            time.sleep(self._random.uniform(0.005, 0.05))
        return None

    def _round(self) -> None:
        notes, rng = self.notes, self._random
        name, n = rng.choice(list(KILLED)), rng.choice([1, 1, 1, 2, 5])
        unit = f"unit {rng.randrange(200)}" if rng.random() < 0.3 else None
        self._count += 1
        key = f"{self._name} request {self._count}"
        segment = rng.choice(KILLED[name].get("segments", {"names": [None]})["names"])
        notes.requests[key] = (name, n, segment)

        def ask(client: Client) -> list[tuple[str, Any]]:
            made = client.decide_many(name, n, unit=unit, request_id=key, segment=segment)
            return [(decision.id, decision.arm) for decision in made]

        made = notes.decisions[key] = self._do(ask)
        if rng.random() < 0.1 and self._do(ask) != made:
            notes.wrong.append(f"{key} was answered in two ways")
        if rng.random() < 0.02:
            time.sleep(1.2)  # some rewards come late
        rewards = []
        for decision, _ in made:
            fate = rng.random()
            if fate < 0.75:
                rewards.append((decision, float(rng.random() < 0.4)))
            elif fate < 0.85:
                self._cancel(decision)  # and the others are never told
        if rewards and rng.random() < 0.5:
            for result in self._do(lambda client: client.rewards(rewards)):
                self._note(result.decision, dict(rewards)[result.decision], result.status)
        else:
            for decision, value in rewards:
                result = self._do(lambda client, d=decision, v=value: client.reward(d, v))
                self._note(decision, value, result.status)

    def _note(self, decision: str, value: float, status: str) -> None:
        if status not in ("applied", "duplicate", "late"):
            self.notes.wrong.append(f"the reward of {decision} was {status}")
        self.notes.rewards[decision] = (value, status)

    def _cancel(self, decision: str) -> None:
        try:
            self._do(lambda client: client.cancel(decision))
            self.notes.cancelled.append(decision)
        except ServiceError as error:
            if error.code != 409:  # 409: its window closed before
                raise


def kill_under_load(
    storage: str,
    kills: int,
    servers: int = 1,
    customers: int = 8,
    seed: int = 0,
    snapshot_every: int = 300,
    longest: float = 0.4,
    linger: float = 0.0,
    progress: Any = None,
) -> list[Notes]:
    """Kill servers at random moments, so many times, while clients go on; their notes.

    After the last one clients go on for `linger` seconds.
    """
    rng = random.Random(seed)
    running = [Server(storage, snapshot_every) for _ in range(servers)]
    for server in running:  # at the same moment, on an empty database
        server.start()
    for server in running:
        server.wait()
    with Client(running[0].url) as client:
        for name, spec in KILLED.items():
            client.create(name, spec)
    stop = threading.Event()
    urls = [server.url for server in running]
    crowd = [Customer(urls, 1_000 * seed + k, stop) for k in range(customers)]
    for customer in crowd:
        customer.start()
    for done in range(kills):
        server = rng.choice(running)
        if rng.random() < 0.8:
            server.wait()  # else it is killed while it starts
        time.sleep(rng.uniform(0.0, longest))
        server.kill()
        server.start()
        if progress is not None:
            progress(done + 1)
    time.sleep(linger)
    for server in running:
        server.wait()
    stop.set()
    for customer in crowd:
        customer.join(PATIENCE)
        assert not customer.is_alive(), "a client got no answer"
    for server in running:
        server.kill()
    return [customer.notes for customer in crowd]


def verify(storage: str, notes: list[Notes]) -> dict[str, int]:
    """Compare what clients were told with the database, and the log with itself; some counts."""
    wrong = [line for note in notes for line in note.wrong]
    assert not wrong, wrong[:5]
    engine = open_database(storage)
    totals: Counter[str] = Counter()
    with engine.connect() as connection:
        for key, name in connection.execute(sa.text("SELECT id, name FROM experiment")).all():
            totals.update(_verify_log(connection, key, name))
            _verify_rebuilding(connection, key)
        _verify_notes(connection, notes)
    engine.dispose()
    totals["repeated requests"] = sum(note.repeated for note in notes)
    totals["acknowledged decisions"] = sum(
        len(made) for note in notes for made in note.decisions.values()
    )
    totals["acknowledged rewards"] = sum(len(note.rewards) for note in notes)
    return dict(totals)


def _verify_log(connection: Any, key: int, name: str) -> Counter[str]:
    """The log has no gaps, and the tables say what it says: worked out by a model of its own."""
    rows = connection.execute(
        sa.text(
            "SELECT seq, kind, decision_id, arm, value, segment FROM event "
            "WHERE experiment_id = :key ORDER BY seq"
        ),
        {"key": key},
    ).all()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1)), "the log has gaps"
    state: dict[str, str] = {}
    arms: dict[str, tuple[int, int | None]] = {}
    rewards: dict[str, tuple[float, str]] = {}
    for row in rows:
        decision = row.decision_id
        if row.kind in ("asked", "kept"):
            assert decision not in state, f"{decision} was made twice"
            state[decision], arms[decision] = "open", (row.arm, row.segment)
        elif row.kind in ("told", "cancelled", "expired"):
            assert state[decision] == "open", f"{decision} ended twice"
            assert arms[decision] == (row.arm, row.segment)
            state[decision] = row.kind
            if row.kind == "told":
                rewards[decision] = (row.value, "applied")
        elif row.kind == "late":
            assert state[decision] == "expired"
            assert decision not in rewards
            rewards[decision] = (row.value, "late")
    of_this = {"key": key}
    stored = connection.execute(
        sa.text("SELECT id, status, arm, segment FROM decision WHERE experiment_id = :key"), of_this
    ).all()
    assert {row.id: row.status for row in stored} == state
    assert {row.id: (row.arm, row.segment) for row in stored} == arms
    stored = connection.execute(
        sa.text(
            "SELECT r.decision_id, r.value, r.status FROM reward r JOIN decision d "
            "ON d.id = r.decision_id WHERE d.experiment_id = :key"
        ),
        of_this,
    ).all()
    assert {row.decision_id: (row.value, row.status) for row in stored} == rewards
    row = connection.execute(
        sa.text("SELECT last_seq, decisions, rewards FROM experiment WHERE id = :key"), of_this
    ).one()
    learned = sum(row.kind in ("told", "expired") and row.value is not None for row in rows)
    assert (row.last_seq, row.decisions, row.rewards) == (len(rows), len(state), learned)
    return Counter({"events": len(rows), **Counter(row.kind for row in rows)})


def _verify_rebuilding(connection: Any, key: int) -> None:
    """From the log alone, and from the snapshot and what came after it: the same, bit for bit."""
    loaded = replay.load(connection, key)
    assert loaded is not None
    rebuilt = replay.rebuild(connection, key, loaded.spec)
    assert loaded.replica.as_text() == rebuilt.as_text()
    assert rebuilt.divergences == 0


def _verify_notes(connection: Any, notes: list[Notes]) -> None:
    """What was acknowledged is there, once, and as it was acknowledged."""
    rows = connection.execute(
        sa.text(
            "SELECT d.id, d.request_id, d.place, d.arm, d.status, r.value, e.name, d.segment "
            "FROM decision d "
            "JOIN experiment e ON e.id = d.experiment_id "
            "LEFT JOIN reward r ON r.decision_id = d.id ORDER BY d.request_id, d.place"
        )
    ).all()
    by_request: dict[str, list[Any]] = {}
    for row in rows:
        by_request.setdefault(row.request_id, []).append(row)
    by_id = {row.id: row for row in rows}
    for note in notes:
        assert len(note.decisions) == len(note.requests), "a request was never answered"
        for request, (name, n, segment) in note.requests.items():
            stored = by_request.pop(request)
            assert [row.place for row in stored] == list(range(n)), f"{request} was done twice"
            assert [row.id for row in stored] == [made for made, _ in note.decisions[request]]
            labels = KILLED[name].get("labels") or list(range(4))
            arms = [arm for _, arm in note.decisions[request]]
            assert [labels[row.arm] for row in stored] == arms
            assert {row.name for row in stored} == {name}
            known = KILLED[name].get("segments", {"names": []})["names"]
            asked = None if segment is None else known.index(segment)
            assert {row.segment for row in stored} == {asked}
        for decision, (value, status) in note.rewards.items():
            row = by_id[decision]
            assert row.value == value
            assert row.status == {"applied": "told", "late": "expired"}.get(status, row.status)
        for decision in note.cancelled:
            assert by_id[decision].status == "cancelled"
    assert not by_request, "there are decisions that nobody asked for"

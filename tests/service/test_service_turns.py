"""Decisions of different experiments don't wait for each other."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import PRICES, query, sentence, serving

import armature as am
from armature.client import Client
from armature.service.db.database import open_database
from armature.service.domain import replay
from armature.service.limits import ServiceLimits

WAIT = 60.0  # seconds after which a test gives up


class Slow(am.PythonPolicy):
    """A policy whose decisions wait until somebody lets them go on."""

    holds = threading.Event()
    begun = threading.Semaphore(0)
    open = threading.Event()

    def choose(self, state: Any, problem: Any, history: Any, rng: Any) -> int:
        if self.holds.is_set():
            self.begun.release()
            assert self.open.wait(WAIT), "nobody let it go on"
        return int(rng.integers(4))


SLOW = {**PRICES, "policy": f"{Slow.__module__}:Slow"}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Threads of clients; nothing is held when they end."""
    Slow.holds.clear()
    Slow.open.clear()
    Slow.begun = threading.Semaphore(0)
    with ThreadPoolExecutor(16) as threads:
        yield threads
        Slow.open.set()


def _teach(client: Client, name: str, spec: Any) -> None:
    """Make an experiment, and have a reward: before that, arms only take turns. 6 events."""
    client.create(name, spec)
    client.reward(client.decide_many(name, 4)[0].id, 1.0)


def _hold(threads: ThreadPoolExecutor, url: str, name: str) -> Future[httpx.Response]:
    """A decision of a slow experiment that has begun and does not end."""
    Slow.holds.set()
    held = threads.submit(_ask, url, name)
    assert Slow.begun.acquire(timeout=WAIT)
    return held


def _ask(url: str, name: str, n: int = 1) -> httpx.Response:
    return httpx.post(f"{url}/v1/experiments/{name}/decisions", json={"n": n}, timeout=WAIT)


def test_a_slow_experiment_holds_up_nobody_else(storage: str, threads: ThreadPoolExecutor) -> None:
    """While one decides, others decide, learn, close windows, are made, shown and explained."""
    with serving(storage, allow=[Slow.__module__]) as url, Client(url, timeout=WAIT) as client:
        _teach(client, "slow", SLOW)
        client.create("quick", {**PRICES, "rewards": {"window": 0.1, "default": 0}})
        held = _hold(threads, url, "slow")
        made = client.decide("quick")
        client.create("new", PRICES)
        client.reward(client.decide("new").id, 0.0)
        assert client.experiment("new")["rounds"] == 1
        assert client.explain("new")["leader"] in range(4)
        assert httpx.get(f"{url}/experiments/quick", timeout=WAIT).status_code == 200
        listed = httpx.get(url, timeout=WAIT).text
        assert "quick" in listed
        assert "slow" in listed
        deadline = time.monotonic() + WAIT
        while client.experiment("quick")["rounds"] < 1:  # the window of `made` has closed
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert client.reward(made.id, 0.0).status == "late"
        assert not held.done()
        Slow.open.set()
        assert held.result().status_code == 200
        assert client.experiment("slow")["decisions"] == 5
    _assert_rebuilt(storage, "slow")


def test_a_line_that_is_too_long(file_storage: str, threads: ThreadPoolExecutor) -> None:
    """Beyond so many requests that wait for one experiment: 503; the others don't notice."""
    limits = ServiceLimits(waiting_each=3)
    with (
        serving(file_storage, allow=[Slow.__module__], limits=limits) as url,
        Client(url, timeout=WAIT) as client,
    ):
        _teach(client, "slow", SLOW)
        client.create("quick", PRICES)
        answers = [_hold(threads, url, "slow")]
        for waiting in (1, 2, 3):
            answers.append(threads.submit(_ask, url, "slow"))
            _await_waiting(url, waiting)
        refused = _ask(url, "slow")
        assert refused.status_code == 503
        assert "of this experiment are waiting" in sentence(refused)
        assert refused.headers["retry-after"] == "1"
        assert _ask(url, "quick").status_code == 200
        Slow.open.set()
        assert [answer.result().status_code for answer in answers] == [200] * 4
    assert query(file_storage, "SELECT decisions FROM experiment WHERE name = 'slow'") == [(8,)]


def test_rewards_of_several_experiments(file_storage: str, threads: ThreadPoolExecutor) -> None:
    """Those of one whose line is too long fail; those of the others are taken in."""
    limits = ServiceLimits(waiting_each=1)
    with (
        serving(file_storage, allow=[Slow.__module__], limits=limits) as url,
        Client(url, timeout=WAIT) as client,
    ):
        _teach(client, "slow", SLOW)
        client.create("quick", PRICES)
        slow, quick = client.decide("slow"), client.decide("quick")
        held = [_hold(threads, url, "slow"), threads.submit(_ask, url, "slow")]
        _await_waiting(url, 1)
        rewards = [{"decision": key, "value": 1.0} for key in (slow.id, quick.id)]
        answer = httpx.post(f"{url}/v1/rewards", json={"rewards": rewards}, timeout=WAIT)
        assert answer.status_code == 200
        assert [result["status"] for result in answer.json()["results"]] == ["failed", "applied"]
        alone = httpx.post(f"{url}/v1/rewards", json={"rewards": rewards[:1]}, timeout=WAIT)
        assert alone.status_code == 503
        Slow.open.set()
        assert [answer.result().status_code for answer in held] == [200, 200]
        assert client.reward(slow.id, 1.0).status == "applied"


def test_a_restore_while_one_decides(
    tmp_path: Path, file_storage: str, threads: ThreadPoolExecutor
) -> None:
    """The log is as long as before, and another one: the decision is made again, on that log."""
    path = file_storage.removeprefix("sqlite:///")
    with (
        serving(file_storage, allow=[Slow.__module__]) as url,
        serving(file_storage, allow=[Slow.__module__]) as there,
        Client(url, timeout=WAIT) as client,
        Client(there, timeout=WAIT) as other,
        closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
        closing(sqlite3.connect(path)) as live,
    ):
        _teach(client, "slow", SLOW)
        live.backup(copy)
        first = client.decide_many("slow", 2)
        held = _hold(threads, url, "slow")
        Slow.holds.clear()
        copy.backup(live)
        second = other.decide_many("slow", 2)
        Slow.open.set()
        assert held.result().status_code == 200
        known = {event["decision"] for event in client.events("slow")}
        assert not known & {decision.id for decision in first}
        assert known >= {decision.id for decision in second}
        assert client.experiment("slow")["decisions"] == 7
    _assert_rebuilt(file_storage, "slow")


def _await_waiting(url: str, waiting: int) -> None:
    deadline = time.monotonic() + WAIT
    while f"armature_waiting {waiting}.0" not in httpx.get(f"{url}/metrics").text:
        assert time.monotonic() < deadline, "a request does not wait"
        time.sleep(0.01)


def test_others_were_quicker(storage: str, threads: ThreadPoolExecutor) -> None:
    """What was decided while another server wrote is forgotten, and decided again after it."""
    allowed = [Slow.__module__]
    with (
        serving(storage, allow=allowed) as here,
        serving(storage, allow=allowed) as there,
        Client(here, timeout=WAIT) as client,
        Client(there, timeout=WAIT) as other,
    ):
        _teach(client, "slow", SLOW)
        held = _hold(threads, here, "slow")
        Slow.holds.clear()  # the other server's decisions don't wait
        for _ in range(3):
            other.reward(other.decide("slow").id, 0.0)
        Slow.open.set()
        assert held.result().status_code == 200
        kinds = [event["kind"] for event in client.events("slow")]
        assert kinds[6:] == ["asked", "told"] * 3 + ["asked"]
        for _ in range(3):
            client.decide("slow")
            other.decide("slow")
        first, second = client.experiment("slow"), other.experiment("slow")
        assert first["arms"] == second["arms"]
        assert first["decisions"] == 14
        assert first["divergences"] == second["divergences"] == 0
    _assert_rebuilt(storage, "slow")


LINE = {
    "structure": {"kind": "unconstrained", "n_arms": 3},
    "family": {"kind": "bernoulli", "scale": [4.0, 4.0, 4.0]},
    "rewards": {"window": 60.0, "default": 4.0},
}


def test_an_arm_that_cannot_have_the_default_reward(file_storage: str) -> None:
    """It is refused, and nothing is changed; one that can have it is added."""
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", LINE)
        path = f"{url}/v1/experiments/prices/arms"
        refused = httpx.post(path, json={"label": 3, "options": {"scale": 5.0}}, timeout=WAIT)
        assert refused.status_code == 422
        assert "rewards.default is 4" in sentence(refused)
        assert [event["kind"] for event in client.events("prices")] == ["created"]
        added = httpx.post(path, json={"label": 3, "options": {"scale": 4.0}}, timeout=WAIT)
        assert added.status_code == 200
        assert len(client.experiment("prices")["arms"]) == 4
    _assert_rebuilt(file_storage, "prices")


def test_one_window_keeps_no_other_from_closing(
    file_storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that has such an arm from before: its windows close without a reward."""
    monkeypatch.setattr("armature.service.domain.changing.check_default", lambda *rest: None)
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", {**LINE, "rewards": {"window": 0.5, "default": 4.0}})
        path = f"{url}/v1/experiments/prices/arms"
        httpx.post(path, json={"label": 3, "options": {"scale": 5.0}}, timeout=WAIT)
        arms = {decision.arm for decision in client.decide_many("prices", 8)}
        assert arms == {0, 1, 2, 3}
        deadline = time.monotonic() + WAIT
        while [event["kind"] for event in client.events("prices")].count("expired") < 8:
            assert time.monotonic() < deadline, "a window does not close"
            time.sleep(0.05)
        ends = {e["arm"]: e["value"] for e in client.events("prices") if e["kind"] == "expired"}
        assert ends == {0: 4.0, 1: 4.0, 2: 4.0, 3: None}
    _assert_rebuilt(file_storage, "prices")


def test_a_turn_ends_early(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that take long are answered one by one, in their order, and none twice."""
    monkeypatch.setattr("armature.service.domain.writer.SLICE", 0.0)
    with serving(file_storage) as url, ThreadPoolExecutor(8) as threads:
        with Client(url) as client:
            client.create("quick", PRICES)
        answers = list(threads.map(lambda n: _ask(url, "quick", n), [1, 2, 3, 4] * 8))
        assert [len(a.json()["decisions"]) for a in answers] == [1, 2, 3, 4] * 8
    assert query(file_storage, "SELECT count(*) FROM decision") == [(80,)]
    _assert_rebuilt(file_storage, "quick")


def _assert_rebuilt(storage: str, name: str) -> None:
    """The log has no gap, and gives what its replay gives."""
    engine = open_database(storage)
    with engine.connect() as connection:
        ((key, last),) = query(
            storage, f"SELECT id, last_seq FROM experiment WHERE name = '{name}'"
        )
        loaded = replay.load(connection, key, (Slow.__module__,))
        assert loaded is not None
        assert loaded.replica.seq == last
        rebuilt = replay.rebuild(connection, key, loaded.spec)
    engine.dispose()
    assert rebuilt.as_text() == loaded.replica.as_text()

"""A clock that is set while a server runs: windows close when their time has passed."""

from __future__ import annotations

import logging
import time

import pytest
from serving import PRICES, Postgres, serving

from armature.client import Client
from armature.service.api import router
from armature.service.api.router import Guard
from armature.service.db.database import clock, open_database
from armature.service.db.keys import make_key
from armature.service.db.maintenance import migrate
from armature.service.db.sqlite import SteadyClock, passing
from armature.service.domain import backend
from armature.service.limits import Refused


class Machine:
    """A machine's two clocks, which this test sets."""

    def __init__(self) -> None:
        self.wall, self.passed = 1.7e9, 500.0

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.passed)


@pytest.mark.parametrize("jump", [7_200.0, -3_600.0])
def test_a_clock_that_jumps(
    file_storage: str, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rewards within the window count, and those after it don't, whatever the time of day."""
    machine = Machine()
    monkeypatch.setattr("armature.service.db.database.SteadyClock", machine.clock)
    monkeypatch.setattr(backend, "TICK", 0.02)
    window = {**PRICES, "rewards": {"window": 60.0, "default": 0}}
    with serving(file_storage) as url, Client(url) as client:
        client.create("prices", window)
        early = client.decide_many("prices", 10)
        machine.wall += jump
        machine.wait(59.0)
        on_time = [client.reward(decision.id, 1.0).status for decision in early[:9]]
        assert on_time == ["applied"] * 9
        machine.wait(2.0)
        deadline = time.monotonic() + 60.0
        while client.experiment("prices")["rounds"] < 10:  # the default reward of the tenth
            assert time.monotonic() < deadline, "the window has not closed"
        assert client.reward(early[9].id, 1.0).status == "late"
        events = list(client.events("prices"))
    times = [event["at"] for event in events]
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(61.0)


def test_keys_when_the_clock_jumps(file_storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is good for as long as was said, also between two looks at the keys."""
    engine = open_database(file_storage)
    migrate(engine)
    token = make_key(engine, "shop", ["decide"], seconds=86_400.0)
    guard = Guard(engine, open_without_keys=False)
    guard.refresh()
    engine.dispose()
    guard.check(token, "decide")
    tomorrow = time.time() + 100_000.0
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    guard.check(token, "decide")  # as before: it raises nothing
    monkeypatch.setattr(router, "passing", lambda: 100_000.0 + passing())
    with pytest.raises(Refused, match="expired"):
        guard.check(token, "decide")


def test_a_clock_that_is_set_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    steady = machine.clock()
    with caplog.at_level(logging.WARNING, "armature.service"):
        machine.wait(1e6)
        assert steady() == machine.wall
        machine.wall += 1.0  # as services that keep the time may do
        steady()
        assert caplog.messages == []
        machine.wall += 7_200.0
        assert steady() == steady() == machine.wall - 7_201.0
    (message,) = caplog.messages
    assert "+7201 s" in message
    assert "restart the server" in message.lower()


def test_whose_clock_it_is(storage: str, postgres: Postgres) -> None:
    """PostgreSQL has one of its own; a file has that of the process, and each its own."""
    engine = open_database(storage)
    with engine.connect() as connection:
        before = time.time()
        assert before - 1.0 < clock(connection) < time.time() + 1.0
    engine.dispose()
    assert passing() <= passing()

"""A server with four simulated experiments, to be watched: `armature demo`."""

from __future__ import annotations

import itertools
import logging
import math
import socket
import tempfile
import threading
import webbrowser
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armature.client import Client, Decision, ServiceError
from armature.errors import ArmatureError
from armature.service.api.app import make_app
from armature.service.api.server import Server, config_of
from armature.service.db.database import open_database

PORT = 8000
STEP = 0.25  # seconds between two groups of visitors
MOST = 40  # visitors of an experiment in one step
LOST, TWICE = 0.03, 0.02  # shares of rewards that never come, and that come twice
RIVAL_COMES = 4_000  # visitors of "Prices" until a rival changes what they pay
DELAY = 4  # steps until a reward comes, at the most

log = logging.getLogger("armature.service")


@dataclass(frozen=True)
class Story:
    """A simulated experiment: its spec, and the reward of an arm (in a segment)."""

    name: str
    spec: dict[str, Any]
    reward: Callable[[Any, Any, np.random.Generator], float]
    segments: dict[str, float] = field(default_factory=dict)  # how often each comes


def prices() -> Story:
    """Nine prices. A buyer pays the price, and fewer visitors buy at higher prices.

    After 4,000 visitors a rival lowers its prices, and the best price is a lower one.
    """
    visitors = itertools.count()
    labels = [4.99, 5.99, 6.99, 7.99, 8.99, 9.99, 11.99, 13.99, 15.99]

    def pay(price: float, _: Any, rng: np.random.Generator) -> float:
        middle, width = (9.4, 1.7) if next(visitors) < RIVAL_COMES else (6.0, 0.7)
        bought = rng.random() < 0.55 / (1.0 + math.exp((price - middle) / width))
        return price if bought else 0.0

    spec = {
        "structure": {"kind": "unimodal"},
        "family": {"kind": "bernoulli", "scale": labels},
        "labels": labels,
        "rewards": {"window": 20.0, "default": 0.0},
        "changes": "restart",
    }
    return Story("Prices", spec, pay)


def creatives() -> Story:
    """Twelve pictures in four themes, one of which is clicked more than all others."""
    rates = {
        "sea": (0.062, 0.055, 0.048),
        "city": (0.105, 0.128, 0.094),
        "forest": (0.071, 0.066, 0.039),
        "people": (0.085, 0.079, 0.060),
    }
    chance = {f"{theme} {i + 1}": r for theme, row in rates.items() for i, r in enumerate(row)}
    spec = {
        "structure": {
            "kind": "categorised",
            "categories": [theme for theme, row in rates.items() for _ in row],
        },
        "family": {"kind": "bernoulli"},
        "labels": list(chance),
        "rewards": {"window": 15.0, "default": 0.0},
    }
    return Story("Creatives", spec, lambda arm, _, rng: float(rng.random() < chance[arm]))


def doses() -> Story:
    """Eight doses whose effect grows less and less, and falls in the end."""
    amounts = [10, 20, 30, 40, 60, 80, 100, 120]
    effect = {f"{d} mg": 0.052 * d - 0.00036 * d * d for d in amounts}
    spec = {
        "structure": {"kind": "concave", "positions": amounts},
        "family": {"kind": "gaussian", "sigma": 1.0},
        "labels": list(effect),
        "floor": 0.01,
        "rewards": {"window": 30.0, "default": None},
    }
    return Story("Doses", spec, lambda arm, _, rng: float(rng.normal(effect[arm], 1.0)))


def headlines() -> Story:
    """Six headlines and how long three kinds of readers stay; few readers are subscribers."""
    worth = {"short": 0.0, "plain": 0.4, "question": 1.1, "number": 0.7, "quote": 0.2, "long": -0.5}
    adds = {"phone": 0.0, "desktop": 1.5, "subscriber": 3.0}
    spec = {
        "structure": {"kind": "unconstrained"},
        "family": {"kind": "gaussian", "sigma": 2.0},
        "labels": list(worth),
        "segments": {"names": list(adds), "coupling": {"kind": "additive"}, "otherwise": "phone"},
        "rewards": {"window": 20.0, "default": None},
    }

    def stay(arm: str, segment: str, rng: np.random.Generator) -> float:
        return float(rng.normal(3.0 + worth[arm] + adds[segment], 2.0))

    return Story("Headlines", spec, stay, {"phone": 0.7, "desktop": 0.27, "subscriber": 0.03})


STORIES = (prices, creatives, doses, headlines)


class Crowd:
    """The visitors of an experiment: their decisions, and rewards that arrive some steps later."""

    def __init__(self, story: Story, client: Client, seed: int) -> None:
        self._story, self._client = story, client
        self._rng = np.random.default_rng(seed)
        self._coming: deque[list[tuple[str, float]]] = deque([[] for _ in range(DELAY + 1)])

    def step(self, visitors: int) -> None:
        """Some visitors come, and rewards of earlier ones arrive."""
        for segment, n in self._arriving(visitors):
            for decision in self._decisions(n, segment):
                self._expect(decision)
        due = self._coming.popleft()
        self._coming.append([])
        if due:
            self._client.rewards(due)

    def _arriving(self, visitors: int) -> list[tuple[str | None, int]]:
        """How many come of each segment."""
        segments = self._story.segments
        if not segments:
            return [(None, visitors)]
        counts = self._rng.multinomial(visitors, list(segments.values())).tolist()
        return [(name, n) for name, n in zip(segments, counts, strict=True) if n]

    def _decisions(self, n: int, segment: str | None) -> list[Decision]:
        try:
            return self._client.decide_many(self._story.name, n, segment=segment)
        except ServiceError as error:
            if error.code == 409:  # it was paused or stopped on the page
                return []
            raise

    def _expect(self, decision: Decision) -> None:
        value = self._story.reward(decision.arm, decision.segment, self._rng)
        chance, delay = self._rng.random(), int(self._rng.integers(DELAY))
        if chance < LOST:
            return
        self._coming[delay].append((decision.id, value))
        if chance > 1.0 - TWICE:
            self._coming[delay + 1].append((decision.id, value))


class Street:
    """Send all visitors: few at first, so that people can follow."""

    def __init__(self, address: str, stopping: threading.Event) -> None:
        self._address, self._stopping = address, stopping

    def open(self) -> list[Story]:
        """Make the experiments."""
        stories = [story() for story in STORIES]
        with Client(self._address, retries=20, timeout=600.0) as client:
            for story in stories:
                client.create(story.name, story.spec)
        return stories

    def visit(self) -> None:
        """Make the experiments, and send visitors until the server stops."""
        stories, step = self.open(), 0
        with Client(self._address, retries=20) as client:
            crowds = [Crowd(story, client, number) for number, story in enumerate(stories)]
            while not self._stopping.wait(STEP):
                for crowd in crowds:
                    crowd.step(min(2 + step // 8, MOST))
                step += 1


def demo(port: int | None = None, look: bool = True) -> None:
    """Serve the demonstration until interrupted; `look`: in a browser."""
    found = free_port(port)
    address = f"http://127.0.0.1:{found}"
    stopping, threads = threading.Event(), list[threading.Thread]()
    street = Street(address, stopping)

    def begin() -> None:
        if look:
            webbrowser.open(address)
        street.visit()

    def start() -> None:
        threads.append(threading.Thread(target=_guarded, args=(begin, stopping), daemon=True))
        threads[-1].start()

    with tempfile.TemporaryDirectory(prefix="armature-demo-") as folder:
        app = make_app(open_database(f"sqlite:///{folder}/demo.db"), open_without_keys=True)
        try:
            Server(config_of(app, "127.0.0.1", found), start).run()
        finally:
            stopping.set()
            for thread in threads:
                thread.join(5.0)


def _guarded(work: Callable[[], None], stopping: threading.Event) -> None:
    """Do it, and log what goes wrong, unless that is because the server stops."""
    try:
        work()
    except Exception as error:
        if not stopping.is_set():
            log.error("the visitors have gone: %s", error)


def free_port(port: int | None) -> int:
    """The port, if it is free; without one, 8000 or any other."""
    for wanted in (PORT, 0) if port is None else (port,):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", wanted))
            except OSError:
                continue
            return int(tried.getsockname()[1])
    raise ArmatureError(f"port {port} is taken: choose another port, or give none.")

"""Policies for one structure, decision by decision, against plain twins of their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri
from test_policy_twins import CASES, CIRCLE, DisagreementError, compare
from twins import ROUNDING, Twin, largest

import armature as am
from armature.kernels.streams import DECISIONS, make_stream, next_units

ROUNDS = 1000
LOUD = am.Gaussian(1.0)
PLATEAU = [0.0, 0.0, 0.4, 0.8, 0.8, 0.3, 0.0]


class Drawing(Twin):
    """A twin with the policy's own random numbers."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        super().__init__(structure, family)
        stream = make_stream(0, 0, DECISIONS)
        self.units: Callable[[], tuple[float, float]] = lambda: next_units(stream)


class IMEDUBTwin(Twin):
    """The least index among the leader and its neighbours."""

    def decide(self, mu: np.ndarray) -> list[int]:
        tied = np.flatnonzero(mu == mu.max())
        leader = int(tied[np.argmin(self.N[tied])])
        near = [k for k in self.around(leader) if 0 <= k < self.K]
        index = {k: self.N[k] * self.family.divergence(mu[k], mu[leader]) for k in near}
        values = np.array([index[k] + math.log(self.N[k]) for k in near])
        self.explorations += int(near[int(np.argmin(values))] != leader)
        return [near[a] for a in largest(-values, ROUNDING)]

    def around(self, leader: int) -> list[int]:
        return [leader, leader - 1, leader + 1]


class Everywhere(IMEDUBTwin):
    """All arms count as neighbours."""

    def around(self, leader: int) -> list[int]:
        return [leader, *range(self.K)]


class UnimodalThompsonTwin(Drawing):
    """The leader in its turn, or the best posterior sample of its neighbourhood."""

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        super().__init__(structure, family)
        self.led = np.zeros(self.K)

    def decide(self, mu: np.ndarray) -> list[int]:
        leader = int(np.argmax(mu))
        near = [k for k in (leader - 1, leader, leader + 1) if 0 <= k < self.K]
        turn = self.led[leader] % self.period(near) == 0
        self.led[leader] += 1
        if turn:
            return [leader]
        blocks = [self.units() for _ in range((self.K + 1) // 2)]
        normal = ndtri(list(itertools.chain(*blocks)))[: self.K]
        sample = mu + self.family.sigma * normal / np.sqrt(self.N)
        chosen = max(near, key=lambda k: sample[k])
        self.explorations += int(chosen != leader)
        return [chosen]

    def period(self, near: list[int]) -> int:
        return len(near)


class Restless(UnimodalThompsonTwin):
    """The leader's turn comes every second time."""

    def period(self, near: list[int]) -> int:
        return 2


class IDSTwin(Drawing):
    """Squared regret per information over all pairs, from dense matrices."""

    width = ridge = 1.0

    def choose(self) -> list[int]:
        return self.decide(np.divide(self.sums, self.N, out=np.zeros(self.K), where=self.N > 0))

    def decide(self, mu: np.ndarray) -> list[int]:
        x, v = np.asarray(self.structure.features), self.family.sigma**2
        inverse = np.linalg.inv(self.ridge * np.eye(x.shape[1]) + x.T @ (self.N[:, None] * x))
        theta = inverse @ x.T @ (self.N * mu)
        means = x @ theta
        j = int(np.argmax(means))
        u = x[j] - x
        square = np.einsum("zd,de,ze->z", u, inverse, u)
        others = np.flatnonzero(square > 0)
        gap = means[j] - means
        evidence = gap[others] ** 2 / (2 * v * square[others])
        if evidence.min() > math.log(1 + self.clock):
            return [j]
        self.explorations += 1
        c = self.width * math.sqrt(2 * v * math.log(1 + self.explorations))
        self.rate = min(getattr(self, "rate", 1.0), 1 / math.sqrt(max(evidence.min(), 1e-10)))
        q = np.exp(-self.rate * (evidence - evidence.min()))
        q /= q.sum()
        moved = np.abs(x @ inverse @ u[others].T) * np.abs(gap[others] / square[others])
        norm = np.sqrt(np.einsum("kd,de,ke->k", x, inverse, x))
        information = ((moved + c * norm[:, None]) ** 2) @ q
        regret = gap + max(c * math.sqrt(square[z]) - gap[z] for z in range(self.K))
        return self.draw(regret, information)

    def draw(self, regret: np.ndarray, information: np.ndarray) -> list[int]:
        """Over a fine grid of shares, and then closer and closer around the best."""
        best = (math.inf, 0, 0, 0.0)
        for a, b in itertools.combinations(range(self.K), 2):
            low, high = 0.0, 1.0
            for _ in range(12):
                p = np.linspace(low, high, 41)
                mixed = regret[a] + p * (regret[b] - regret[a])
                ratio = mixed**2 / (information[a] + p * (information[b] - information[a]))
                n = int(np.argmin(ratio))
                low, high = p[max(n - 1, 0)], p[min(n + 1, 40)]
            if ratio[n] < best[0] * (1 - 1e-12):
                best = (float(ratio[n]), a, b, float(p[n]))
        _, a, b, p = best
        u = self.units()[0]
        return [b, a] if u < p else [a, *([b] if abs(u - p) < 1e-6 else [])]


class Unsquared(IDSTwin):
    """Regret per information, without the square."""

    def draw(self, regret: np.ndarray, information: np.ndarray) -> list[int]:
        self.units()
        return [int(np.argmin(regret / information))]


class SOLIDTwin(Drawing):
    """Both players' steps, from dense matrices."""

    length, width, step, most = 2.0, 0.1, 0.1, 3.0

    def __init__(self, structure: am.Structure, family: am.Family) -> None:
        super().__init__(structure, family)
        self.phase, self.spent, self.multiplier = 0, 0, 0.0
        self.omega = np.full(self.K, 1 / self.K)

    def choose(self) -> list[int]:
        return self.decide(np.divide(self.sums, self.N, out=np.zeros(self.K), where=self.N > 0))

    def decide(self, mu: np.ndarray) -> list[int]:
        x, v = np.asarray(self.structure.features), self.family.sigma**2
        inverse = np.linalg.inv(np.eye(x.shape[1]) + x.T @ (self.N[:, None] * x))
        theta = inverse @ x.T @ (self.N * mu)
        means = x @ theta
        j = int(np.argmax(means))
        if self.nearest(inverse, theta, j)[0] / v > math.log(1 + self.clock):
            return [j]
        self.explorations += 1
        arm = self.draw()
        c = self.width * math.sqrt(2 * math.log(1 + self.explorations))
        norm = np.sqrt(np.einsum("kd,de,ke->k", x, inverse, x))
        shared = np.linalg.inv(1e-6 * np.eye(x.shape[1]) + x.T @ (self.omega[:, None] * x))
        other = self.nearest(shared, theta, j)[1]
        told = (x @ (theta - other)) ** 2 / (2 * v) + c * norm
        asked = 1 / (self.length * math.exp(self.phase))
        before, gain = self.omega, means + c * math.sqrt(v) * norm
        self.omega = before * np.exp(self.step * (gain + self.price(told)))
        self.omega /= self.omega.sum()
        self.multiplier -= self.step * (before @ told - asked)
        self.multiplier = min(max(self.multiplier, 0.0), self.most)
        self.spent += 1
        if self.spent >= self.length * math.exp(3 * self.phase):
            self.phase, self.spent = self.phase + 1, 0
        return arm

    def nearest(self, inverse: np.ndarray, theta: np.ndarray, j: int) -> tuple[float, np.ndarray]:
        """The nearest parameter at which another arm is as good as j, and half its distance."""
        x = np.asarray(self.structure.features)
        found = (math.inf, theta)
        for u in x[j] - x:
            if (square := u @ inverse @ u) > 0:
                cost = (u @ theta) ** 2 / (2 * square)
                if cost < found[0]:
                    found = (cost, theta - inverse @ u * (u @ theta) / square)
        return found

    def price(self, told: np.ndarray) -> np.ndarray:
        return self.multiplier * told

    def draw(self) -> list[int]:
        u, bounds = self.units()[0], np.cumsum(self.omega)
        arm = int(np.searchsorted(bounds, u, side="right"))
        return [min(arm, self.K - 1), *(int(a) for a in np.flatnonzero(np.abs(bounds - u) < 1e-9))]


class Free(SOLIDTwin):
    """Information has no price."""

    def price(self, told: np.ndarray) -> np.ndarray:
        return 0.0 * told


LINES = np.array([[1.0, 0.0], [0.9, 0.3], [0.1, 1.0], [-0.5, 0.4]])
TWICE = LINES[[0, 0, 2, 3]]
TWINS = {
    "IMED-UB": (am.IMEDUB(), IMEDUBTwin, am.Unimodal(5), CASES["Unimodal"][1], LOUD),
    "IMED-UB, plateau": (am.IMEDUB(), IMEDUBTwin, am.Unimodal(7), PLATEAU, LOUD),
    "IMED-UB, coins": (
        am.IMEDUB(), IMEDUBTwin, am.Unimodal(5), CASES["Unimodal"][1], am.Bernoulli(),
    ),
    "UTS": (
        am.UnimodalThompson(), UnimodalThompsonTwin, am.Unimodal(5), CASES["Unimodal"][1], LOUD,
    ),
    "UTS, plateau": (am.UnimodalThompson(), UnimodalThompsonTwin, am.Unimodal(7), PLATEAU, LOUD),
    "IDS": (am.IDS(), IDSTwin, am.Linear(LINES), LINES @ [0.5, 0.2], LOUD),
    "IDS, an arm twice": (am.IDS(), IDSTwin, am.Linear(TWICE), TWICE @ [0.5, 0.2], LOUD),
    "IDS, circle": (am.IDS(), IDSTwin, am.Linear(CIRCLE), CIRCLE @ [0.2, 0.5], am.Gaussian(0.5)),
    "SOLID": (am.SOLID(2.0, 0.1, 0.1, 3.0), SOLIDTwin, am.Linear(LINES), LINES @ [0.5, 0.2], LOUD),
    "SOLID, circle": (
        am.SOLID(2.0, 0.1, 0.1, 3.0), SOLIDTwin, am.Linear(CIRCLE), CIRCLE @ [0.2, 0.5],
        am.Gaussian(0.5),
    ),
}  # fmt: skip


@pytest.mark.checks(
    "IDS", "SOLID", "IMEDUB", "UnimodalThompson", by="a slow twin, decision by decision"
)
@pytest.mark.parametrize("name", TWINS)
def test_every_decision(name: str) -> None:
    policy, kind, structure, means, family = TWINS[name]
    rounds = 300 if kind is IDSTwin else ROUNDS
    twin = kind(structure, family)
    gave_way = compare(policy, twin, name, np.asarray(means), rounds=rounds)
    assert gave_way <= 0.02 * rounds
    assert twin.explorations >= 10


MISTAKES = {
    "a neighbourhood of all": ("IMED-UB", Everywhere),
    "the leader's turn": ("UTS", Restless),
    "no square": ("IDS", Unsquared),
    "information for nothing": ("SOLID", Free),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows(mistake: str) -> None:
    name, kind = MISTAKES[mistake]
    policy, _, structure, means, family = TWINS[name]
    with pytest.raises(DisagreementError):
        compare(policy, kind(structure, family), name, np.asarray(means), rounds=300)

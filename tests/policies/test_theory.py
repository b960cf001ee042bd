"""The lemmas of docs/theory.md on random states of play: each claim, and that it is not empty.

A state is what Challenger sees on one peak: pulls from 1 to many, means with noise of the right
size, so that leaders may be wrong and far arms unlucky. Projections and opponents are the
library's, which other tests compare with a convex solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats
from twins import ChallengerTwin

import armature as am

pytestmark = pytest.mark.checks("Challenger", by="the lemmas of its proof for one peak")
FAMILY = am.Gaussian()
NEAR = 1e-9  # of numbers near 1; costs are compared relative to their size


class State(NamedTuple):
    """Means, pulls and truth, and what follows from them."""

    mu: np.ndarray
    N: np.ndarray
    X: np.ndarray
    pr: np.ndarray
    base: float
    j: int

    @property
    def arms(self) -> range:
        return range(self.X.size)

    def opponent(self, i: int) -> tuple[np.ndarray, float]:
        """lambda^i and G_i."""
        fit = am.Unimodal(self.X.size).challenger_min(self.X, self.N, self.j, i, FAMILY)
        return fit.means, fit.cost - self.base

    def cost(self, lam: np.ndarray, arms: slice = slice(None)) -> float:
        return float((self.N * (self.X - lam) ** 2)[arms].sum() / 2.0)

    def noise(self) -> float:
        """The ln T for which this state is just a usual case."""
        return max(1.0, float((self.N * (self.X - self.mu) ** 2).max()) / 4.0)

    def flipped(self) -> State:
        """The same with the arms in reverse order."""
        mu, N, X, pr = (v[::-1].copy() for v in (self.mu, self.N, self.X, self.pr))
        return State(mu, N, X, pr, self.base, self.X.size - 1 - self.j)


def states(number: int, seed: int, most_pulls: float = 1e4, slope: float = 1.0) -> Iterator[State]:
    """Random ones, each also in reverse; no two true means are equal."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        K = int(rng.integers(3, 8))
        peak = int(rng.integers(K))
        mu = slope * (0.3 * rng.uniform(0.1, 1.0, K) - np.abs(np.arange(K) - peak))
        N = np.floor(most_pulls ** rng.random(K) ** rng.uniform(0.3, 3.0))
        X = mu + rng.uniform(0.5, 2.0) * rng.standard_normal(K) / np.sqrt(N)
        yield from both_ways(mu, N, X)


def both_ways(mu: np.ndarray, N: np.ndarray, X: np.ndarray) -> Iterator[State]:
    fit = am.Unimodal(X.size).project(X, N, FAMILY)
    state = State(mu, N, X, np.asarray(fit.means), fit.cost, int(np.argmax(fit.means)))
    yield state
    yield state.flipped()


def lucky_arms(number: int, seed: int) -> Iterator[State]:
    """A far arm with one good reward beyond a valley; its opponents move a good arm, too."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        mu = np.array([-rng.uniform(0.2, 0.5), 0.0, -2.0, -2.6]) + 0.1 * rng.random(4)
        N = np.array([1e8, 1e8, 1e10, 1.0]) * [*np.floor(10 ** rng.random(3)), 1.0]
        X = mu + rng.standard_normal(4) / np.sqrt(N)
        X[3] = X[1] + rng.exponential(0.3)
        yield from both_ways(mu, N, X)


def shares(state: State, i: int, lam: np.ndarray) -> tuple[int, float]:
    """(R4): the other arm, and with which probability i is pulled."""
    floor = 1.0 / np.sqrt(state.N[state.j] + 1.0)
    g = np.maximum(state.pr[state.j] - state.pr, floor)
    d = (state.pr - lam) ** 2 / 2.0
    gain = d / g
    gain[state.j] = -1.0
    if d[i] == 0.0 or gain[i] >= gain.max() * (1.0 - 1e-10):
        return i, 1.0
    k = int(np.argmax(gain))
    return k, float(d[i] / g[i] ** 2 / (d[i] / g[i] ** 2 + d[k] / g[k] ** 2))


def test_lemma_1_the_leader_has_its_own_mean_and_restricts_nobody() -> None:
    for s in states(400, seed=1):
        top = s.pr >= s.pr.max()
        np.testing.assert_allclose(s.pr[top], s.X[top], rtol=0, atol=NEAR)
        below, above = slice(0, s.j), slice(s.j + 1, None)
        for part, rising in ((below, True), (above, False)):
            if s.X[part].size:
                alone = optimize.isotonic_regression(
                    s.X[part], weights=s.N[part], increasing=rising
                )
                np.testing.assert_allclose(s.pr[part], alone.x, rtol=0, atol=NEAR)


def test_lemma_2_neighbours_speak_for_themselves() -> None:
    for s in states(400, seed=2):
        for i in (s.j - 1, s.j + 1):
            if i in s.arms:
                own = s.N[i] * (s.X[s.j] - s.X[i]) ** 2 / 2.0
                assert s.X[i] <= s.X[s.j] + NEAR
                assert s.opponent(i)[1] <= own * (1.0 + NEAR) + NEAR


def test_lemma_3_the_shape_of_an_opponent() -> None:
    others = 0
    for s in states(300, seed=3):
        for i in s.arms[s.j + 1 :]:
            lam, _ = s.opponent(i)
            np.testing.assert_allclose(
                lam[: s.j], np.minimum(s.pr[: s.j], lam[s.j]), rtol=0, atol=NEAR
            )
            assert (lam[i:] >= s.pr[i:] - NEAR).all()
            assert lam[i] >= s.X[i] - NEAR
            k, _ = shares(s, i, lam)
            assert k <= i
            others += k < i
    assert others > 50


def test_what_the_rule_says_of_evidence() -> None:
    """(R1) and (R2), for the evidence as the slow twin of the policy has it."""
    kinds = {"G": 0, "chance": 0, "own mean": 0}
    for s in states(300, seed=4, most_pulls=300.0, slope=0.15):
        twin = ChallengerTwin(am.Unimodal(s.X.size), FAMILY, lambda: (0.5, 0.5))
        twin.N[:] = s.N
        E = twin.evidence(s.X, s.j, s.base)
        for i in s.arms:
            if i == s.j:
                continue
            lam, G = s.opponent(i)
            assert -NEAR <= E[i] <= max(G, 0.0) + NEAR * max(1.0, s.base)
            if abs(E[i] - G) <= 1e-7 * max(1.0, G):
                kinds["G"] += 1
            elif s.X[i] >= s.X[s.j]:
                kinds["own mean"] += 1
                assert E[i] == 0.0
            else:
                moved = np.abs(lam - s.pr) > 1e-9
                cost = float((s.N * (s.X - lam) ** 2)[moved].sum() / 2.0)
                m = int(moved.sum()) - np.unique(lam[moved].round(9)).size
                assert 2 <= m < s.X.size
                kinds["chance"] += 1
                # As unlikely: P(chi2_1 / 2 > E) is at most P(chi2_m / 2 > cost).
                tail = stats.chi2.logsf(2.0 * cost, m)
                assert stats.chi2.logsf(2.0 * E[i], 1) <= tail + 1e-3
    assert min(kinds.values()) > 10


def test_lemma_5_looks_through_other_arms() -> None:
    """With the state's own noise in the place of ln T; the other arm is then hardly ever pulled."""
    found = {"impossible": 0, "share": 0}
    for s in [*states(700, seed=5, most_pulls=1e9), *lucky_arms(100, seed=7)]:
        K, ell, x = s.X.size, s.noise(), s.X[s.j]
        eta = np.diff(np.sort(s.mu)).min() / 8.0
        C = (4 * K + 8) / eta**2
        W = 1.0 + (np.ptp(s.mu) + 4.0) ** 2 * ell / (25.0 * eta**2)
        for i in s.arms[s.j + 1 :]:
            lam, _ = s.opponent(i)
            k, share = shares(s, i, lam)
            if k == i or min(s.N[s.j], s.N[k]) <= C * ell:
                continue
            assert s.pr[k] <= x - 5.0 * eta  # (2)
            moved = np.abs(lam - s.pr) > 1e-12
            cost = float((s.N * (s.X - lam) ** 2)[moved].sum() / 2.0)
            if cost <= (2 * K + 4) * ell:
                found["impossible"] += 1  # Lemma 5 says that there is no such state
            elif s.X[i] >= x:
                assert share >= 1.0 / W
                found["share"] += 1
    assert found["impossible"] == 0
    assert found["share"] > 5


def test_equation_8_what_it_costs_that_the_best_arm_is_beaten() -> None:
    led = 0
    for s in states(400, seed=6):
        if s.j != int(np.argmax(s.mu)):
            continue
        for i in s.arms[s.j + 1 :]:
            lam, G = s.opponent(i)
            least = s.cost(lam, slice(s.j, i + 1)) - s.cost(s.mu, slice(s.j + 1, None))
            assert least - NEAR * max(1.0, s.base, G) <= G
            led += 1
    assert led > 200


def test_equation_4_and_the_moments_of_step_1() -> None:
    for n in (1, 3, 20):
        for delta in (0.05, 0.4, 1.5):

            def density(u: float, n: int = n, delta: float = delta) -> float:
                return np.sqrt(n / (2 * np.pi)) * np.exp(n * ((u - delta) ** 2 - u**2) / 2)

            value, _ = integrate.quad(density, delta, np.inf)
            expected = np.exp(-n * delta**2 / 2) / (delta * np.sqrt(2 * np.pi * n))
            assert value == pytest.approx(expected, rel=1e-6)


def test_the_inequalities_about_tails() -> None:
    """Of Lemma 4 and equation (7)."""
    z = np.linspace(0.0, 25.0, 2000)
    bound = np.exp(-(z**2)) / np.sqrt(np.pi * (z**2 + 2))
    assert (special.erfc(z) >= bound * (1.0 - 1e-12)).all()
    y = np.geomspace(1e-3, 300.0, 500)
    for m in range(1, 12):
        tail = stats.chi2.logsf(2.0 * y, m)
        assert (tail <= m / 2 * np.log(2.0) - y / 2 + 1e-12).all()
        for K in range(m + 1, 14):
            assert (tail <= -y + K / 2 * np.log1p(y) + 1e-12).all()
            e = stats.chi2.isf(np.exp(tail), 1) / 2.0  # evidence where m arms cost y

            def psi(x: np.ndarray, K: int = K) -> np.ndarray:
                return x - K / 2 * np.log1p(x) - 0.5 * np.log(np.pi * (x + 2.0))

            for share in (0.0, 0.3, 0.7, 1.0):  # G is no more than y
                G = share * y
                assert (np.minimum(G, e) >= psi(G) - 1e-9).all()
    for ell in np.linspace(2.0, 50.0, 200):
        assert special.erfc(np.sqrt(ell)) >= np.exp(-2.0 * ell)

"""Maillard sampling, LinMED, LinIMED, UCB-C and TS-C on runs that a pencil can follow."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am
from armature.policies.baselines.linear.lin_med import CLOSE, write_design
from armature.solver.least_squares import make_ridge
from tests.policies.test_frequencies_by_hand import assert_frequency, normal_cdf
from tests.policies.test_policies_by_hand import TWO, pulled

ln, sqrt, exp = math.log, math.sqrt, math.exp
AXES = am.Linear([[1.0, 0.0], [0.0, 1.0]])


def known(policy: am.Policy, structure: am.Structure, rewards: list[list[float]], **told: object):  # type: ignore[no-untyped-def]
    """The probabilities that a bandit says after some rewards."""
    bandit = am.Bandit(policy, structure, told.get("family", am.Gaussian()), seed=0)
    for k, own in enumerate(rewards):
        bandit.tell([k] * len(own), own)
    return bandit.probabilities().values


@pytest.mark.checks("MaillardSampling", by="frequencies by hand")
def test_maillard_sampling() -> None:
    """Means 1 and 0, the latter of two rewards: 1 to exp(-2 / 2)."""
    odds = exp(-1)
    assert_frequency(am.MaillardSampling(), TWO, [[1, 1, 1], [0, 0]], 1, odds / (1 + odds))


@pytest.mark.checks("MaillardSampling", by="a case by hand")
def test_maillard_sampling_of_bernoulli_rewards() -> None:
    """Means 2/3 and 1/2: 2 d(1/2, 2/3) = ln(9/8), so 1 to 8/9."""
    found = known(am.MaillardSampling(), TWO, [[1, 1, 0], [0, 1]], family=am.Bernoulli())
    assert found == pytest.approx([9 / 17, 8 / 17], abs=1e-12)


def beta(n0: int, n1: int, delta: float = 0.01) -> float:
    """The squared radius for two axes, sigma = norm = 1: V = (1 + n0, 1 + n1)."""
    return float((sqrt(ln((1 + n0) * (1 + n1)) + 2 * ln(1 / delta)) + 1) ** 2)


@pytest.mark.checks("LinIMED", by="a case by hand")
def test_lin_imed() -> None:
    """Rewards 5 and 0: arm 1 again where gap^2 / s_1 - ln s_1 < -ln s_0, s = beta / (1 + N)."""

    def second(n0: int, n1: int) -> bool:
        gap = 5 * n0 / (1 + n0)
        return gap * gap * (1 + n1) / beta(n0, n1) < ln((1 + n0) / (1 + n1))

    assert second(1, 0)  # 6.25 / 17.2 < ln 2
    assert not any(second(n0, 1) for n0 in range(1, 16))
    assert second(17, 1)
    first = next(n0 for n0 in range(1, 30) if second(n0, 1))
    expected = [0, 1] + [0] * (first - 1) + [1]
    assert pulled(am.LinIMED(), AXES, [[5], [0]], len(expected)) == expected


@pytest.mark.checks("LinIMED", by="a case by hand")
def test_optimistic_lin_imed() -> None:
    """Bounds x'theta + sqrt(s) in place of x'theta; the leader's index is at most ln(30 / gap^2).

    With rewards 40 and 0 after a pull of each, the gap is 20: the leader's index is ln(30 / 400),
    below -ln s.
    """

    def choice(n0: int, n1: int, reward: float) -> int:
        s = [beta(n0, n1) / (1 + n0), beta(n0, n1) / (1 + n1)]
        u = [reward * n0 / (1 + n0) + sqrt(s[0]), sqrt(s[1])]
        leader = int(u[1] > u[0])
        gap = abs(u[0] - u[1])
        index = [gap * gap / s[k] - ln(s[k]) for k in (0, 1)]
        index[leader] = -ln(s[leader])
        if gap > 0:
            index[leader] = min(index[leader], ln(30 / gap**2))
        return int(index[1] < index[0])

    for reward in (1.0, 5.0, 40.0):
        counts, expected = [0, 0], []
        for _ in range(25):
            expected.append(choice(*counts, reward))
            counts[expected[-1]] += 1
        policy = am.LinIMED(optimistic=True)
        assert pulled(policy, AXES, [[reward], [0]], 25) == expected
    assert ln(30 / 400) < -ln(beta(1, 1) / 2)


@pytest.mark.checks("LinMED", by="a case by hand")
def test_lin_med() -> None:
    """Two axes: the design is even, however faint an arm. gap^2 = |x_0 - x_1|^2 = 3/4 here."""
    best = 0.5
    f = exp(-0.75 / beta(3, 1))
    weights = [best + (1 - best) / 2, (1 - best) / 2 * f]
    found = known(am.LinMED(best=best), AXES, [[1, 1, 1], [0]])
    assert found == pytest.approx(np.array(weights) / sum(weights), abs=1e-12)


@pytest.mark.checks("LinMED", by="frequencies by hand")
def test_lin_med_draws_what_it_says() -> None:
    structure = am.Linear([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    rewards = [[1.0, 0.5], [0.2], [0.9, 1.4, 0.7]]
    policy = am.LinMED(best=0.5)
    said = known(policy, structure, rewards)
    assert said.sum() == pytest.approx(1.0)
    assert_frequency(policy, structure, rewards, 1, said[1])


@pytest.mark.checks("LinMED", by="leverages by NumPy")
def test_the_design_is_nearly_the_best(rng: np.random.Generator) -> None:
    """By Kiefer and Wolfowitz: no arm's leverage is above d at the best design."""
    for K, d in ((4, 2), (12, 3), (30, 5)):
        X = rng.normal(size=(K, d))
        weights = np.exp(-rng.uniform(0.0, 12.0, K))
        shares = np.zeros(K)
        write_design.py_func(make_ridge(X), weights, shares, np.zeros(K))
        gram = (X * (shares * weights)[:, None]).T @ X
        leverages = weights * np.einsum("ka,ab,kb->k", X, np.linalg.inv(gram), X)
        assert shares.sum() == pytest.approx(1.0)
        assert leverages.max() <= 1.001 * CLOSE * d
        even = (X * (weights / K)[:, None]).T @ X
        assert np.linalg.det(gram) >= np.linalg.det(even)


@pytest.mark.checks("UCBC", by="a case by hand")
def test_ucb_c() -> None:
    """Means 1 and 0. A row with arm 1 at 3 is out; one with 1.6 is in where ln t >= 1.6^2.

    Then its bound must be the highest: sqrt(ln 13) = 1.602 > 1 + sqrt(ln(13) / 11). UCB, without
    rows, pulls arm 1 two rounds before.
    """
    policy = am.UCBC(alpha=0.5)
    rewards = [[1], [0]]
    assert pulled(policy, am.Finite([[1, 0], [1, 3]]), rewards, 30) == [0, 1] + [0] * 28
    assert pulled(policy, am.Finite([[1, 0], [-3, -1]]), rewards, 30) == [0, 1] + [0] * 28
    assert ln(12) < 1.6**2 < ln(13)
    expected = [0, 1] + [0] * 10 + [1]
    assert pulled(policy, am.Finite([[1, 0], [1, 1.6]]), rewards, 13) == expected
    assert pulled(am.UCB(width=sqrt(0.5)), TWO, rewards, 11)[-1] == 1
    impossible = am.Finite([[9, 0], [0, 9]])
    assert pulled(policy, impossible, rewards, 11) == [0, 1] + [0] * 8 + [1]


@pytest.mark.checks("TSC", by="frequencies by hand")
def test_ts_c() -> None:
    """Means 0 and 1 with N = (1, 2): N(-1, 1/2 + 1/3) where a row with arm 0 on top is possible."""
    rewards = [[0], [1, 1]]
    assert sqrt(6 * ln(4) / 2) > 1
    both, one = am.Finite([[0, 1], [1, 0]]), am.Finite([[0, 1], [9, 0]])
    assert_frequency(am.TSC(), both, rewards, 0, normal_cdf(-1 / sqrt(1 / 2 + 1 / 3)))
    assert_frequency(am.TSC(), one, rewards, 0, 0.0)

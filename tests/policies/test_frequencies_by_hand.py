"""Policies that leave their choice to chance: how often, worked out with pencil and paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

import armature as am

TWO = am.Unconstrained(2)
SEEDS = 4000
ln = math.log


def assert_frequency(
    policy: am.Policy,
    structure: am.Structure,
    rewards: Sequence[Sequence[float]],
    arm: int,
    probability: float,
    family: am.Family | None = None,
) -> None:
    """How often an arm is next after given rewards, over many seeds.

    By chance, one check in 150,000 would be off by 4.5 standard deviations.
    """
    hits = 0
    for seed in range(SEEDS):
        b = am.Bandit(policy, structure, family or am.Gaussian(), seed=seed)
        for k, own in enumerate(rewards):
            b.tell([k] * len(own), list(own))
        hits += b.ask() == arm
    deviation = math.sqrt(probability * (1 - probability) / SEEDS)
    assert abs(hits / SEEDS - probability) <= 4.5 * deviation


@pytest.mark.checks("UnimodalThompson", by="frequencies by hand")
def test_unimodal_thompson() -> None:
    """Means 1 and 0: the first of two rounds is the leader's, then N(-1, 1/2 + 1) decides."""
    hits, p = 0, normal_cdf(-1 / math.sqrt(1.5))
    for seed in range(SEEDS):
        bandit = am.Bandit(am.UnimodalThompson(), am.Unimodal(2), seed=seed)
        bandit.tell([0, 1], [1.0, 0.0])
        assert bandit.ask() == 0
        bandit.tell(0, 1.0)
        hits += bandit.ask() == 1
    assert abs(hits / SEEDS - p) <= 4.5 * math.sqrt(p * (1 - p) / SEEDS)


@pytest.mark.checks("SOLID", by="frequencies by hand")
def test_solid() -> None:
    """Features (1, 0) and (0, 2), rewards 0: nothing is known and both arms are equally likely.

    The step is 1 / 2, the multiplier 0; after the first round c is sqrt(2 ln 2), the arms are 1
    and 2 long, and so they gain c and 2 c.
    """
    policy, structure = am.SOLID(step=0.5), am.Linear([[1, 0], [0, 2]])
    first = second = 0
    p = 1 / (1 + math.exp(-math.sqrt(2 * ln(2)) / 2))
    for seed in range(SEEDS):
        bandit = am.Bandit(policy, structure, seed=seed)
        arm = bandit.ask()
        bandit.tell(arm, 0.0)
        first += arm
        second += bandit.ask()
    assert abs(first / SEEDS - 1 / 2) <= 4.5 * math.sqrt(1 / 4 / SEEDS)
    assert abs(second / SEEDS - p) <= 4.5 * math.sqrt(p * (1 - p) / SEEDS)


def normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@pytest.mark.checks("ThompsonSampling", "ProjectedThompson", by="frequencies by hand")
@pytest.mark.parametrize("policy", [am.ThompsonSampling(), am.ProjectedThompson()])
def test_thompson_sampling(policy: am.Policy) -> None:
    """Means 1 (4 rewards) and 0.5 (2 rewards): the difference is N(-1/2, 1/4 + 1/2)."""
    rewards = [[1, 1, 1, 1], [0, 1]]
    assert_frequency(policy, TWO, rewards, 1, normal_cdf(-0.5 / math.sqrt(0.75)))


@pytest.mark.checks("ThompsonSampling", by="frequencies by hand")
@pytest.mark.parametrize(
    ("family", "rewards", "probability"),
    [
        # X ~ Beta(1, 2) and Y ~ Beta(2, 1): the integral of 2 y (2 y - y^2) over [0, 1].
        (am.Bernoulli(), [[0], [1]], 5 / 6),
        # Gamma(1/2) and Gamma(1/2) / 3: the arcsine law, 1 - 2 / pi arcsin sqrt(3 / 4).
        (am.Poisson(), [[0], [0, 0, 0]], 1 / 3),
        # 2 / E and 1 / E' with exponential E, E': E' / E < 1 / 2.
        (am.Exponential(), [[2], [1]], 1 / 3),
    ],
)
def test_thompson_sampling_of_other_rewards(
    family: am.Family, rewards: list[list[float]], probability: float
) -> None:
    assert_frequency(am.ThompsonSampling(), TWO, rewards, 1, probability, family)


@pytest.mark.checks("ProjectedThompson", by="frequencies by hand")
def test_projected_thompson() -> None:
    """Features 1 and 2: arm 1 is best where theta, as N0 x0 + 2 N1 x1, is positive.

    With N = (2, 1) and means (-1, 0.2), that is N(-2 + 0.4, 2 + 4).
    """
    rewards = [[-2, 0], [0.2]]
    probability = normal_cdf(-1.6 / math.sqrt(6))
    assert_frequency(am.ProjectedThompson(), am.Linear([[1], [2]]), rewards, 1, probability)


@pytest.mark.checks("ProjectedThompson", by="frequencies by hand")
def test_projected_thompson_breaks_ties_at_random() -> None:
    """Arms 0 and 1 share their feature, and theta is positive but for 12 standard deviations."""
    rewards = [[9], [8], [0]]
    assert_frequency(am.ProjectedThompson(), am.Linear([[1], [1], [0]]), rewards, 1, 0.5)


@pytest.mark.checks("MINTS", by="frequencies by hand")
def test_mints() -> None:
    """Means 1 and 0 with N = (3, 2): C_0 = 0, C_1 = 3 * 2 / 5 * 1 / 2."""
    odds = math.exp(-0.6)
    assert_frequency(am.MINTS(), TWO, [[1, 1, 1], [0, 0]], 1, odds / (1 + odds))


@pytest.mark.checks("MINTS", by="frequencies by hand")
def test_mints_in_a_structure() -> None:
    """Features 1 and 2: the fit is theta = (N0 m0 + 2 N1 m1) / (N0 + 4 N1) = 4 / 6.

    Arm 1 is best there, arm 0 at theta <= 0, which costs another (N0 + 4 N1) theta^2 / 2 = 4 / 3.
    """
    odds = math.exp(-4 / 3)
    rewards = [[1, 1], [1]]
    assert_frequency(am.MINTS(), am.Linear([[1], [2]]), rewards, 0, odds / (1 + odds))


@pytest.mark.checks("Challenger", by="frequencies by hand")
def test_challenger_answers_with_another_arm() -> None:
    """Arm 0 is known to give 1, and arms 1 and 2 together 0.9: means 1, 0 and 0.9.

    Arm 1 beats arm 0 at (1, 1, -0.1): after n pulls of it and of arm 2, G = (1 + n) / 2. Both tell
    1/2, at regrets of 1 and 0.1, so that arm 2 is pulled with probability 100 / 101.
    """
    three = am.Polyhedral([[0, 0, 1]], [0.9], [[1, 0, 0], [0, 1, 1]], [1.0, 0.9])
    assert ln(200) > (1 + 3) / 2 + 1
    rewards = [[1] * 200, [0], [0.9] * 3]
    assert_frequency(am.Challenger(), three, rewards, 2, 100 / 101)

"""Who leads where a projection puts several arms level: never whoever has the lowest number."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import armature as am
from armature.live.verdict import verdict
from armature.structures.oracles.leader import LEVEL, leader_of

GAUSSIAN = am.Gaussian()


class TwoLevels(am.Structure):
    """Each mean is one of two values, of which nothing is known."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def pieces(self):
        for number in range(1, 2 ** (self.n_arms - 1)):
            side = [number >> i & 1 for i in range(self.n_arms)]
            same = [(i, side.index(s)) for i, s in enumerate(side) if i != side.index(s)]
            rows = [np.eye(self.n_arms)[i] - np.eye(self.n_arms)[k] for i, k in same]
            yield am.Piece(np.empty((0, self.n_arms)), [], rows, np.zeros(len(rows)))


def leader(family: am.Family, projected, means, pulls) -> int:
    vectors = (np.array(vector, dtype=float) for vector in (projected, means, pulls))
    return leader_of(family.record_for(len(means)), *vectors)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
def test_the_leader_moves_with_its_number(order: tuple[int, ...]) -> None:
    """Three arms are level; by hand: N (mean - 0.5) is -4, 3 and 1, and 9 for one that is below."""
    projected, means = np.array([0.5, 0.5, 0.5, 0.4]), np.array([0.1, 0.8, 1.5, 1.4])
    pulls = np.array([10.0, 10.0, 1.0, 10.0])
    at = list(order)
    assert at[leader(GAUSSIAN, projected[at], means[at], pulls[at])] == 1


def test_evidence_is_per_variance_and_infinite_at_an_end() -> None:
    level, means, pulls = [0.5, 0.5, 0.5], [0.4, 0.6, 0.6], [10, 10, 10]
    assert leader(am.Gaussian([1.0, 2.0, 1.0]), level, means, pulls) == 2
    assert leader(am.Gaussian([1.0, 1.0, 2.0]), level, means, pulls) == 1
    assert leader(am.Bernoulli(), [0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [5, 5, 1]) == 2
    assert leader(am.Bernoulli(), [1.0, 1.0, 1.0], [0.9, 1.0, 1.0], [5, 5, 1]) == 1


def test_without_ties_it_is_the_largest() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        projected, means = rng.normal(size=(2, 6))
        pulls = rng.integers(0, 9, 6)
        assert leader(GAUSSIAN, projected, means, pulls) == int(np.argmax(projected))
    far = 1.0 - 4.0 * LEVEL  # twice the rounding and more
    assert leader(GAUSSIAN, [1.0, far], [1.0, 9.0], [1, 1]) == 0
    assert leader(GAUSSIAN, [np.nan] * 3, [1.0, 2.0, 3.0], [1, 1, 1]) == 0
    assert leader(GAUSSIAN, [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1, 9, 1]) == 0  # not told apart


@pytest.mark.parametrize("family", [GAUSSIAN, am.Bernoulli(), am.Poisson()], ids=str)
def test_projections_are_level_up_to_rounding(family: am.Family) -> None:
    """Of the solver's pooled arms, none is missed; the leader is where the numbers put it."""
    rng, K, several = np.random.default_rng(1), 5, 0
    for _ in range(60):
        mu = rng.uniform(0.05, 0.95, K)
        w = rng.choice([1.0, 7.0, 1e3, 1e5], K)
        fitted = np.asarray(TwoLevels(K).project(mu, w, family).means)
        level = np.flatnonzero(fitted >= fitted.max() - 1e-6)
        expected = level[np.argmax((w * (mu - fitted.max()))[level])]
        assert leader(family, fitted, mu, w) == expected
        several += level.size > 1
    assert several > 20


def test_everybody_names_the_same_leader() -> None:
    """Explanation, verdict and the policies that follow the projection, with the arms mirrored."""
    means, pulls = np.array([0.3, 0.9, 0.2, 1.1]), np.array([4, 30, 4, 30])
    for at in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]):
        best = at.index(3)
        found = verdict(TwoLevels(4), GAUSSIAN, pulls[at].astype(float), means[at])
        assert found.arm == best
        for policy in (am.Challenger(), am.OSSB(epsilon=0.01), am.SPk.published(), am.SPk()):
            bandit = am.Bandit(policy, TwoLevels(4))
            for k in range(4):
                bandit.tell([k] * int(pulls[at[k]]), [float(means[at[k]])] * int(pulls[at[k]]))
            assert bandit.explain().leader == best
        assert bandit.verdict().arm == best


@pytest.mark.parametrize("policy", [am.Challenger(), am.Guarded()], ids=str)
def test_arms_with_other_numbers_are_pulled_in_the_same_order(policy: am.Policy) -> None:
    """With the same rewards, and one for each arm first: challengers that are level, too."""
    rounds, K = 150, 4
    for seed in range(4):
        rewards = np.random.default_rng(seed).normal([0.5, 0.0, 0.0, 0.0], 1.0, (rounds, K))

        def pulled(at: list[int], rewards=rewards) -> list[int]:
            """Which arms are pulled; arm i of the bandit is arm at[i] of the rewards."""
            bandit, order = am.Bandit(policy, TwoLevels(K), seed=1), []
            bandit.tell([at.index(k) for k in range(K)], list(rewards[0]))
            for t in range(1, rounds):
                arm = bandit.ask()
                order.append(at[arm])
                bandit.tell(arm, rewards[t, at[arm]])
            return order

        expected = pulled([0, 1, 2, 3])
        for at in ([3, 2, 1, 0], [1, 0, 3, 2]):
            assert pulled(at) == expected


def test_numbering_does_not_decide() -> None:
    """The best arm first or last: the same regret on average.

    Ranks of 150 runs each are compared with a two-sided test that gives a false alarm once in a
    thousand times; the seed is fixed. With the first of the level arms as the leader, p < 1e-6.
    """
    final = []
    for means in ([0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5]):
        instance = am.Instance(TwoLevels(4), means)
        results = am.simulate(instance, [am.Challenger()], horizon=1000, repetitions=150, seed=5)
        final.append(results.regret("Challenger")[:, -1])
    assert stats.mannwhitneyu(*final).pvalue > 1e-3

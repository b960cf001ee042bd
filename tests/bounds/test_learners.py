"""AdaHedge, tracking and thresholds against their theorems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

import armature as am
from armature.bounds.learners import AdaHedge, FollowTheLeader, Tracker
from armature.policies import thresholds


def play(losses: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """The regret of AdaHedge on a (T, n) table of losses, and its weights."""
    learner, total, weights = AdaHedge(losses.shape[1]), 0.0, []
    for loss in losses:
        w = learner.weights()
        assert w.sum() == pytest.approx(1.0)
        assert (w >= 0.0).all()
        weights.append(w)
        total += float(w @ loss)
        learner.update(loss)
    return total - float(losses.sum(axis=0).min()), weights


def published_bound(losses: np.ndarray) -> float:
    """That of de Rooij et al. (2014), with the variance of losses at most a quarter of range^2."""
    T, n = losses.shape
    S = float((losses.max(axis=1) - losses.min(axis=1)).max())
    return 2.0 * math.sqrt(T * S**2 / 4.0 * math.log(n)) + S * (4.0 / 3.0 * math.log(n) + 2.0)


def adversarial(T: int, n: int) -> np.ndarray:
    """Whoever leads loses."""
    learner, table = AdaHedge(n), np.zeros((T, n))
    for loss in table:
        loss[int(learner.weights().argmax())] = 1.0
        learner.update(loss)
    return table


@pytest.mark.checks("AdaHedge", "Eq. (11)", by="its published regret bound")
def test_adahedge_regret_is_within_the_published_bound() -> None:
    rng = np.random.default_rng(0)
    tables = [adversarial(400, n) for n in (2, 3, 10)]
    tables += [rng.random((400, n)) for n in (2, 5, 30)]
    tables += [rng.normal(size=(300, 4)) * 1e6, rng.normal(size=(300, 4)) - 1e3]
    tables += [np.tile([[1.0, 0.0], [0.0, 1.0]], (200, 1))]
    for table in tables:
        regret, _ = play(table)
        assert regret <= published_bound(table)


def test_following_the_leader_alone_breaks_the_bound() -> None:
    """The check above can fail: without hedging, alternating losses cost half a unit a round."""
    table = np.tile([[1.0, 0.0], [0.0, 1.0]], (200, 1))
    table[0] = [0.5, 0.0]
    totals = np.vstack([np.zeros(2), table.cumsum(axis=0)[:-1]])
    leader = totals.argmin(axis=1)
    regret = table[np.arange(len(table)), leader].sum() - table.sum(axis=0).min()
    assert regret > published_bound(table)


@pytest.mark.checks("AdaHedge", by="invariances")
@given(st.integers(0, 1000), st.sampled_from([2.0**-40, 0.25, 2.0**30]), st.floats(-5.0, 5.0))
def test_adahedge_is_scale_free_and_translation_invariant(
    seed: int, scale: float, shift: float
) -> None:
    table = np.random.default_rng(seed).normal(size=(40, 4))
    _, weights = play(table)
    _, scaled = play(scale * table)
    assert all((a == b).all() for a, b in zip(weights, scaled, strict=True))
    _, shifted = play(table + shift)
    np.testing.assert_allclose(weights, shifted, atol=1e-9)


@pytest.mark.checks("AdaHedge", by="a case by hand")
def test_adahedge_by_hand() -> None:
    """Two experts: the first round is uniform, its gap 1/2, and then eta = 2 ln 2."""
    learner = AdaHedge(2)
    learner.update([1.0, 0.0])
    assert learner.state.gap[0] == 0.5
    eta = math.log(2.0) / 0.5
    assert learner.weights()[1] == pytest.approx(1.0 / (1.0 + math.exp(-eta)))
    one = AdaHedge(1)
    one.update([3.0])
    assert one.weights().tolist() == [1.0]


@pytest.mark.checks("Tracker", "Theorem 6", by="both ends of its theorem")
@given(
    st.integers(2, 8).flatmap(
        lambda K: st.lists(
            st.lists(st.floats(0.0, 1.0), min_size=K, max_size=K).filter(lambda w: sum(w) > 1e-3),
            min_size=1,
            max_size=60,
        )
    )
)
def test_tracking_stays_within_its_bounds(sequence: list[list[float]]) -> None:
    K = len(sequence[0])
    tracker, lowest = Tracker(K), -sum(1.0 / j for j in range(2, K + 1))
    targets = np.zeros(K)
    for w in sequence:
        tracker.pull(np.array(w) / sum(w))
        targets += np.array(w) / sum(w)
        off = tracker.pulls - targets
        assert off.min() >= lowest - 1e-9
        assert off.max() <= 1.0 + 1e-9


@pytest.mark.checks("FollowTheLeader", by="the minimisers of its cells")
def test_leaders_are_the_cells_minimisers() -> None:
    rng = np.random.default_rng(1)
    means, pulls = np.array([0.9, 0.4, 0.4, 0.7]), rng.exponential(size=4)
    for structure in (am.Sparse(4, 2, 0.4), am.Categorised("aabb"), am.Concave(4)):
        learner = FollowTheLeader(structure, means, 0, am.Gaussian())
        leaders = learner.leaders(pulls)
        assert len(leaders) == len(structure.cells(0, means, np.ones(4), am.Gaussian()))
        for cell, leader in zip(learner.cells, leaders, strict=True):
            fit = structure.cell_min(means, pulls, cell, am.Gaussian())
            assert leader.tolist() == fit.means.tolist()


@pytest.mark.checks("FollowTheLeader", "Eq. (5)", by="logarithmic regret on one cell")
def test_the_leaders_regret_is_logarithmic() -> None:
    """On one cell, against pulls that alternate: far below the square root of the rounds."""
    means, family = np.array([1.0, 0.0, 0.4]), am.Gaussian()
    learner = FollowTheLeader(am.Unconstrained(3), means, 0, family)
    N, lost, rounds = np.zeros(3), 0.0, 2000
    for t in range(rounds):
        lam = learner.leaders(N)[0]
        k = t % 2
        lost += family.divergence(float(means[k]), float(lam[k]))
        N[k] += 1.0
    best = float(N @ np.asarray(family.divergence(means, learner.leaders(N)[0])))
    assert lost - best <= 2.0 * math.log(rounds)


@pytest.mark.checks("Tracker", "Lemma 2", by="both ends of its theorem")
@pytest.mark.parametrize("K", [2, 3, 5, 12])
def test_the_adversary_attains_the_lower_bound_of_tracking(K: int) -> None:
    """Uniform on the arms that were not pulled yet: the paper's sequence."""
    tracker, pulled, targets = Tracker(K), set(), np.zeros(K)
    for _ in range(K - 1):
        left = [k for k in range(K) if k not in pulled]
        w = np.where(np.isin(np.arange(K), left), 1.0 / len(left), 0.0)
        pulled.add(tracker.pull(w))
        targets += w
    off = tracker.pulls - targets
    assert off.min() == pytest.approx(-sum(1.0 / j for j in range(2, K + 1)))


@pytest.mark.checks("policies.thresholds", "Appendix A, W̄", by="the equations they solve")
@given(st.floats(1.0, 500.0))
def test_w_bar(x: float) -> None:
    y = thresholds.w_bar(x)
    assert y - math.log(y) == pytest.approx(x, rel=1e-12)
    assert x + math.log(x) <= y * (1 + 1e-12)
    assert y <= x + math.log(x) + min(0.5, 1.0 / math.sqrt(x)) + 1e-9
    if 1.0001 < x < 600.0:
        assert y == pytest.approx(-lambertw(-math.exp(-x), -1).real, rel=1e-6)


@pytest.mark.checks("policies.thresholds", "Theorem 4", by="the equations they solve")
def test_thresholds() -> None:
    """The values that show why the proof's threshold is not the default."""
    assert thresholds.exploration_threshold_theory(1e4, 4) == pytest.approx(54.5, abs=0.05)
    assert thresholds.exploration_threshold_theory(1e4, 10) == pytest.approx(125, abs=0.5)
    assert thresholds.exploration_threshold(1e4) == pytest.approx(math.log(10_001))
    # beta solves delta = e (2 e x^2 ln(t) / K)^K exp(-x).
    t, delta, K = 500.0, 0.01, 3
    x = thresholds.beta(t, delta, K)
    assert math.e * (2 * math.e * x**2 * math.log(t) / K) ** K * math.exp(-x) == pytest.approx(
        delta
    )


@pytest.mark.checks("policies.thresholds", "Theorem 5", by="the equations they solve")
def test_confidence_levels() -> None:
    t, delta, K = 1000.0, 0.05, 5
    etas = np.linspace(0.01, 3.0, 400)
    levels = [thresholds.confidence_level(t, delta, K, eta) for eta in etas]
    optimised = thresholds.confidence_level_optimised(t, delta, K)
    assert optimised <= min(levels) * 1.02
    grown = [thresholds.confidence_level_anytime(N, delta, K, 0.3) for N in (1, 10, 100, 1e6)]
    assert all(a < b for a, b in itertools.pairwise(grown))
    assert thresholds.exploration_level_theory(t, 10.0, K, 0.3) > math.log(10.0)


def test_bad_input() -> None:
    with pytest.raises(am.ArmatureError, match="at least one expert"):
        AdaHedge(0)
    with pytest.raises(am.ArmatureError, match="losses must be 2 finite numbers"):
        AdaHedge(2).update([1.0, math.nan])
    with pytest.raises(am.ArmatureError, match="add up to 1"):
        Tracker(2).pull([0.5, 0.6])

"""The nearest alternative is the least over challengers and over cells, whatever the problem."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

import armature as am
from armature.testing import discover, random_problem, supported_families
from armature.testing.structures import nearest_is_the_least

STRUCTURES = [s for kind in discover(am.Structure, am) for s in kind.examples()]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: f"{type(s).__name__}-{s.n_arms}")
def test_nearest_is_the_least(structure: am.Structure, n_problems: int) -> None:
    for family in supported_families(structure):
        rng = np.random.default_rng(17)
        for _ in range(n_problems):
            nearest_is_the_least(random_problem(structure, family, rng))


def test_random_problems_reach_the_ends() -> None:
    """Means at both ends of the domain, equal means and weights of 0 are not left to luck."""
    rng = np.random.default_rng(0)
    problems = [random_problem(am.Simplex(4), am.Bernoulli(), rng) for _ in range(200)]
    assert sum((p.means == 0.0).any() for p in problems) > 30
    assert sum((p.means == 1.0).any() for p in problems) > 30
    assert sum((p.means == p.means[0]).all() for p in problems) > 3
    assert sum((p.weights == 0.0).any() for p in problems) > 30


@pytest.mark.parametrize(
    ("means", "weights", "best", "cost"),
    [
        ([0.015625, 0.2692307692307692, 0.0], [64.0, 52.0, 1.0], 2, 3.618809387229178),
        ([0.0, 0.0, 0.0], [1.0, 3.0, 2.0], 0, 1.5),
        ([0.0, 0.0, 0.0], [0.0, 47.0, 41.0], 0, 20.5),
    ],
)
def test_a_tie_above_the_price_of_a_poisson_arm(
    means: list[float], weights: list[float], best: int, cost: float
) -> None:
    fit = am.Simplex(3).nearest_alternative(means, weights, best, am.Poisson())
    assert fit.cost == pytest.approx(cost, rel=1e-12)


def test_a_bernoulli_share_near_one() -> None:
    """Almost everything goes to the last arm: its cost is w times the little that it lacks."""
    means, weights = [1.0, 0.0, 1.0, 1.0], [8e-5, 0.0, 1.5e-5, 7e5]
    fit = am.Simplex(4).project(means, weights, am.Bernoulli())
    given = np.array([8e-5, 1.5e-5]) / 7e5  # the optimal shares of arms with mean 1 are as weights
    cost = -8e-5 * np.log(given[0]) - 1.5e-5 * np.log(given[1]) + 9.5e-5
    assert fit.cost == pytest.approx(cost, rel=1e-6)


def test_a_light_arm_beside_a_very_heavy_one() -> None:
    """What is left of a sum after a weight of 1e13 is taken out of it is not taken at its word."""
    means = [0.8647773169552092, 0.8615621017085199, 0.3201547981606504, 0.8461351499762436]
    weights = [1.44324595e13, 1.44324595e5, 2.74813697, 4241.77446]
    structure, family = am.Categorised([0, 0, 0, 0]), am.Exponential()
    one_by_one = [structure.alt_min(means, weights, 0, k, family).cost for k in (1, 2, 3)]
    nearest = structure.nearest_alternative(means, weights, 0, family).cost
    assert nearest == pytest.approx(min(one_by_one), rel=1e-9)


@pytest.mark.parametrize("structure", [am.Monotone(6), am.Unimodal(6), am.Multimodal(6, 2)])
def test_a_weightless_arm_stays_in_an_open_domain(structure: am.Structure) -> None:
    """Exponential rewards have no mean of 0."""
    means, weights = [0.16, 0.34, 0.48, 0.33, 0.25, 0.43], [0.0, 9.0, 47.0, 0.0, 59.0, 62.0]
    fits = [structure.project(means, weights, am.Exponential())]
    fits += [structure.alt_min(means, weights, 3, k, am.Exponential()) for k in (0, 1, 5)]
    for fit in fits:
        if fit.cost < np.inf:
            assert (np.asarray(fit.means) > 0.0).all()
            assert structure.contains(fit.means)


@pytest.mark.parametrize("family", [am.Poisson(), am.Bounded(0.0, 1.0), am.Exponential()])
@pytest.mark.parametrize("high", [np.inf, 0.45])
def test_ordered_means_to_the_last_digit(family: am.Family, high: float) -> None:
    """Pooled means, and those at an end of the domain: 3e-10 for 0 costs far more than its square.

    Isotonic regression of the arms that have weight, and where means are bounded, what is above.
    """
    structure = am.Monotone(6) if high == np.inf else am.Monotone(6) & am.Box(6, high=high)
    problems = [([0.0, 0.47659858, 0.33504881, 0.0, 0.3, 0.6], [54.0, 106.0, 0.0, 1.5, 0.0, 2.0])]
    rng = np.random.default_rng(3)
    for _ in range(40):
        means = rng.uniform(0.01, 1.0, 6) * (rng.uniform(size=6) < 0.6)
        weights = 10.0 ** rng.uniform(-6.0, 0.0, 6) * (rng.uniform(size=6) < 0.8)
        problems.append((means.tolist(), weights.tolist()))
    for means, weights in problems:
        least = 0.02 if isinstance(family, am.Exponential) else 0.0  # it has no mean of 0
        mu, w = np.maximum(means, least), np.array(weights)
        seen = w > 0.0
        if not seen.any():
            continue
        expected = np.minimum(isotonic_regression(mu[seen], sample_weight=w[seen]), high)
        fit = structure.project(mu, w, family)
        assert np.asarray(fit.means)[seen] == pytest.approx(expected, rel=1e-12, abs=1e-300)
        assert structure.contains(fit.means)


def test_ordered_means_of_forty_orders_of_magnitude() -> None:
    """The first arm's mean is nothing beside the others, and yet its reward's family has no 0."""
    means = [0.38592458907763777, 9.0923952571221664e10, 1.698976986149144e22, 1.7e-20, 1.1e6]
    weights = [17.0, 9.0, 6.0, 6.0, 5.0]
    fit = am.Monotone(5).project(means, weights, am.Exponential())
    assert fit.means == pytest.approx(isotonic_regression(means, sample_weight=weights), rel=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("family", [am.Gaussian(), am.Poisson(), am.Exponential()])
def test_numbers_hold_beside_a_mean_of_another_order_of_magnitude(
    family: am.Family, weight: float
) -> None:
    """lam_0 <= 0.2 and lam_1 >= 0.7, which are near each other beside 1e10, but not tied."""
    structure = am.Polyhedral([[1, 0, 0], [0, -1, 0], [1, -1, 0]], [0.2, -0.7, 0.0])
    fit = structure.project([0.9, 0.1, 1e10], [100.0, 100.0, weight], family)
    assert np.asarray(fit.means)[:2] == pytest.approx([0.2, 0.7], rel=1e-5)
    expected = 100.0 * (family.divergence(0.9, 0.2) + family.divergence(0.1, 0.7))
    assert fit.cost == pytest.approx(expected, rel=1e-5)


def test_a_program_of_many_digits_in_a_union_whose_parts_have_different_numbers_of_rows() -> None:
    """What it says of the active constraints must be where the caller looks for it."""
    places = np.array([2.376936509962, 3.356960948, 0.205205629, 1.386663229])
    concave = am.Concave(4, places)
    scales = [1.7932404975910534, 1.3776758518790906, 2.143422172574453, 1.014150069059251]
    family, rng = am.Bernoulli(scales), np.random.default_rng(0)
    for _ in range(20):
        means = np.array([0.0413, 0.222, 0.9029, 0.9401]) * rng.uniform(0.9, 1.0, 4)
        weights = np.array([0.175, 0.0, 1.8e-5, 2.65e-3]) * rng.uniform(0.9, 1.1, 4)
        alone = concave.alt_min(means, weights, 3, 2, family).cost
        united = (am.Monotone(4) | concave).alt_min(means, weights, 3, 2, family).cost
        assert united == pytest.approx(alone, rel=1e-9)


def test_a_weightless_arm_does_not_run_away_from_a_linear_fit() -> None:
    """Arms 0 and 1 have the same features, so they have the same means; arm 4 is as it likes."""
    shared = [0.6453681025866831, 0.5193238381371738, 0.5459356886418005]
    half = [0.2312129230237785, 0.3865943321236007, 0.29212840027448456]
    features = [shared, shared, [2.0 * x for x in half], half,
                [0.9459101806540982, 0.929041897849172, 0.9315239249630961]]  # fmt: skip
    means = [0.0, 0.288741790750974, 0.0, 0.5471580825962907, 0.061901787652203916]
    weights = [48.0, 37.0, 22.0, 53.0, 0.0]
    structure, family = am.Linear(features), am.Poisson()
    alone = am.Linear(features[:4])  # what the others are without it
    for challenger in (0, 1, 2):
        fit = structure.alt_min(means, weights, 3, challenger, family)
        expected = alone.alt_min(means[:4], weights[:4], 3, challenger, family)
        assert fit.means[:4] == pytest.approx(expected.means, rel=1e-6)
        assert fit.cost == pytest.approx(expected.cost, rel=1e-7)

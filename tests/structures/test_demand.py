"""Revenue at prices: the chance to buy does not rise with the price."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from reference import Reference
from sklearn.isotonic import isotonic_regression
from structures_again import can_beat, pieces_of, random_structure
from test_oracles import is_verified

import armature as am
from armature.testing import random_problem


@pytest.mark.checks("Demand", by="scikit-learn: isotonic chances")
@pytest.mark.parametrize("is_sold", [True, False], ids=["Bernoulli", "Gaussian"])
def test_a_projection_is_an_isotonic_regression_of_chances(
    is_sold: bool, rng: np.random.Generator
) -> None:
    for _ in range(50):
        demand = random_structure(am.Demand, rng, int(rng.integers(2, 15)))
        prices, K = demand.prices, demand.n_arms
        order = np.argsort(prices)
        family = am.Bernoulli(scale=prices) if is_sold else am.Gaussian()
        chances, w = rng.uniform(0.0, 1.0, K), 10.0 ** rng.uniform(-2, 2, K)
        weights = (w if is_sold else w * prices**2)[order]
        expected = np.empty(K)
        expected[order] = isotonic_regression(
            chances[order], sample_weight=weights, increasing=False
        )
        fit = demand.project(chances * prices, w, family)
        assert fit.means == pytest.approx(expected * prices, rel=1e-7)


@pytest.mark.checks("Demand", by="a convex solver, with the price as the reward")
@pytest.mark.parametrize("with_one_peak", [False, True], ids=["alone", "one peak"])
def test_sales_against_a_convex_solver(with_one_peak: bool, rng: np.random.Generator) -> None:
    solved = 0
    for _ in range(25):
        demand = random_structure(am.Demand, rng, int(rng.integers(2, 5)))
        structure = demand & am.Unimodal(demand.n_arms) if with_one_peak else demand
        family = am.Bernoulli(scale=demand.prices)
        problem = random_problem(structure, am.Bernoulli(), rng)
        problem = dataclasses.replace(problem, family=family, means=problem.means * demand.prices)
        if (problem.weights > 0.0).any():
            solved += is_verified(problem, Reference(structure, family))
    assert solved >= 20


@pytest.mark.checks("Demand", "lower_bound", by="hand")
def test_what_demand_saves() -> None:
    """Chances 0.9, 0.21 and 0.2: the dearest price is best only if 0.225 buy, also at price 2."""
    prices, chances = np.array([1.0, 2.0, 4.0]), np.array([0.9, 0.21, 0.2])
    family, unit = am.Bernoulli(scale=prices), am.Bernoulli()
    bound = am.lower_bound(am.Instance(am.Demand(prices), chances * prices, family))
    middle = 1.0 / unit.divergence(0.21, 0.45)  # pulls to see that price 2 is not the best
    told = middle * unit.divergence(0.21, 0.225)  # and what these say of price 4
    dearest = (1.0 - told) / unit.divergence(0.2, 0.225)
    assert bound.value == pytest.approx(0.48 * middle + 0.1 * dearest, rel=1e-6)
    alone = 0.48 * middle + 0.1 / unit.divergence(0.2, 0.225)
    assert bound.unconstrained == pytest.approx(alone, rel=1e-6)
    assert bound.value < 0.996 * alone


def test_demand_with_one_peak_gains_a_price() -> None:
    prices = [4.0, 5.0, 7.0]
    bandit = am.Bandit(
        am.Challenger(), am.Demand(prices) & am.Unimodal(3), am.Bernoulli(scale=prices),
        labels=prices, seed=1,
    )  # fmt: skip
    for _ in range(30):
        bandit.tell(bandit.ask(), 0.0)
    assert bandit.add_arm(6.0, after=5.0, price=6.0, scale=6.0) == 6.0
    demand = bandit.structure.parts[0]
    assert demand == am.Demand([4.0, 5.0, 6.0, 7.0])
    assert bandit.ask() == 6.0
    assert am.Bandit.from_json(bandit.to_json()).structure == bandit.structure


def test_demand_is_not_about_costs() -> None:
    with pytest.raises(am.ArmatureError, match="Demand can't be read as knowledge about costs"):
        am.Bandit(am.Challenger(), am.Demand([1.0, 2.0]), am.Gaussian(), goal="min")


@pytest.mark.parametrize("shape", [am.Unimodal, am.Monotone, lambda K: am.Lipschitz(K, 0.3)])
def test_which_arms_can_be_better(shape, rng: np.random.Generator) -> None:
    """Rows that order two arms settle some pairs; linear programs all of them, once more."""
    for K in (3, 4, 5):
        structure = random_structure(am.Demand, rng, K) & shape(K)
        for piece, again in zip(structure.pieces(), pieces_of(structure), strict=True):
            pairs = itertools.permutations(range(K), 2)
            assert all(piece.beats[j, k] == can_beat(again, k, j) for j, k in pairs)

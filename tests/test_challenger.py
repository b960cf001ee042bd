"""Challenger: its joint oracles, its draws, and every decision against a plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from random_structures import FAMILIES, KINDS, random_structure

import armature as am
from armature.testing import random_problem, supported_families


def one_by_one(structure: am.Structure, mu, w, best: int, family: am.Family) -> np.ndarray:
    """What each challenger costs, by the oracle for one of them."""
    costs = np.empty(structure.n_arms)
    for i in range(structure.n_arms):
        if i == best:
            costs[i] = structure.project(mu, w, family).cost
        elif isinstance(structure, am.Unimodal):
            costs[i] = structure.cell_min(mu, w, am.Cell(best, i), family).cost
        else:
            costs[i] = structure.alt_min(mu, w, best, i, family).cost
    return costs


def largest_cost(mu: np.ndarray, w: np.ndarray, family: am.Family) -> float:
    """All weights times the largest divergence from the mean: what sums lose by cancelling."""
    seen = w > 0.0
    if not seen.any():
        return 0.0
    mean = float(np.average(mu, weights=w))
    return float(w.sum() * np.max(family.divergence(mu[seen], mean)))


def assert_joint(structure: am.Structure, mu, w, best: int, family: am.Family) -> None:
    expected = one_by_one(structure, mu, w, best, family)
    costs = structure.challenger_costs(mu, w, best, family)
    assert (np.isinf(costs) == np.isinf(expected)).all()
    finite = np.isfinite(expected)
    off = np.abs(costs[finite] - expected[finite])
    slack = 1e-15 * (structure.n_arms + 8) * largest_cost(mu, w, family)
    slack += 1e-30 * w.sum()  # where the means are off by rounding, the cost by its square
    assert (off <= 1e-12 * expected[finite] + slack).all(), (structure, mu, w, costs, expected)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_all_challengers_at_once(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    """Means in M and outside, with ties, on the boundary; weights of six orders, some of them 0."""
    for _ in range(n_problems):
        structure = random_structure(kind, rng)
        if family not in supported_families(structure):
            pytest.skip(f"{kind.__name__} refuses {type(family).__name__} rewards")
        for _ in range(5):
            p = random_problem(structure, family, rng)
            assert_joint(structure, p.means, p.weights, p.best, family)


@pytest.mark.parametrize(
    "structure",
    [
        am.Unimodal(60),
        am.Categorised([k % 7 for k in range(60)]),
        am.Categorised(range(40)),
        am.Sparse(60, 9, 0.3),
    ],
    ids=str,
)
def test_many_challengers_at_once(structure: am.Structure, rng: np.random.Generator) -> None:
    K = structure.n_arms
    for _ in range(20):
        mu = rng.uniform(0.02, 0.98, K)
        if rng.random() < 0.5:
            mu = np.asarray(structure.project(mu, np.ones(K), am.Gaussian()).means)
            mu = mu + rng.normal(0.0, 0.02, K)
        w = 10.0 ** rng.uniform(-3.0, 0.0, K)
        assert_joint(structure, mu, w, int(rng.integers(K)), am.Gaussian(0.7))

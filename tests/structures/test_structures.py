"""Structures: conformance, properties under Hypothesis, references, and values worked by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import cost
from sklearn.isotonic import isotonic_regression

import armature as am
from armature.testing import (
    STRUCTURE_PROPERTIES,
    RandomProblem,
    check_structure,
    discover,
    supported_families,
)

CLASSES = discover(am.Structure, am)
EXAMPLES = [example for cls in CLASSES for example in cls.examples()]
PAIRS = [(s, f) for s in EXAMPLES for f in supported_families(s)]


def name(value: object) -> str:
    return f"{type(value).__name__}-{getattr(value, 'n_arms', '')}".rstrip("-")


@pytest.mark.checks("structures", by="the conformance suite")
@pytest.mark.parametrize("structure", EXAMPLES, ids=name)
def test_conformance(structure: am.Structure) -> None:
    check_structure(structure)


@st.composite
def problems(draw: st.DrawFn, structure: am.Structure, family: am.Family) -> RandomProblem:
    """Few different values, so that ties, plateaus and boundaries are common."""
    K = structure.n_arms
    low = 0.05 if isinstance(family, am.Exponential) else 0.0
    mean = st.one_of(st.floats(0.05, 0.95), st.sampled_from([low, 0.25, 0.5, 0.75, 1.0]))
    weight = st.one_of(st.floats(1e-6, 1.0), st.sampled_from([0.0, 1.0]))
    means = draw(st.lists(mean, min_size=K, max_size=K))
    weights = draw(st.lists(weight, min_size=K, max_size=K))
    best = draw(st.integers(0, K - 1))
    challenger = draw(st.integers(0, K - 1).filter(lambda k: k != best))
    return RandomProblem(structure, family, np.array(means), np.array(weights), best, challenger)


@pytest.mark.parametrize(("structure", "family"), PAIRS, ids=name)
@settings(max_examples=40)
@given(data=st.data())
def test_properties(structure: am.Structure, family: am.Family, data: st.DataObject) -> None:
    problem = data.draw(problems(structure, family))
    for check in STRUCTURE_PROPERTIES:
        check(problem)


@pytest.mark.checks("Unimodal", by="scikit-learn")
def test_unimodal_against_scikit_learn(rng: np.random.Generator) -> None:
    for _ in range(100):
        K = int(rng.integers(2, 30))
        mu, w = rng.normal(size=K), 10.0 ** rng.uniform(-6, 0, K)

        def split(i: int, mu: np.ndarray = mu, w: np.ndarray = w) -> float:
            up = isotonic_regression(mu[:i], sample_weight=w[:i]) if i else mu[:0]
            rest = mu[i:]
            down = (
                isotonic_regression(rest, sample_weight=w[i:], increasing=False)
                if rest.size
                else rest
            )
            return float(0.5 * w @ (np.concatenate([up, down]) - mu) ** 2)

        costs = [split(i) for i in range(K + 1)]
        structure, family = am.Unimodal(K), am.Gaussian()
        assert structure.project(mu, w, family).cost == pytest.approx(min(costs), rel=1e-9)
        j = int(rng.integers(K))
        others = [c for i, c in enumerate(costs) if i not in (j, j + 1)]
        nearest = structure.nearest_alternative(mu, w, j, family)
        assert nearest.cost == pytest.approx(min(others), rel=1e-9)


@pytest.mark.checks("Sparse", by="brute force over supports")
@pytest.mark.parametrize("family", [am.Gaussian(), am.Bernoulli(), am.Poisson(), am.Exponential()])
def test_sparse_against_brute_force(family: am.Family, rng: np.random.Generator) -> None:
    for _ in range(60):
        K = int(rng.integers(2, 9))
        s, level = int(rng.integers(1, K)), float(rng.uniform(0.1, 0.9))
        mu, w = rng.uniform(0.05, 0.95, K), 10.0 ** rng.uniform(-6, 0, K)
        w[rng.random(K) < 0.1] = 0.0
        j, k = rng.permutation(K)[:2].tolist()
        projections, alternatives = [], []
        for support in itertools.combinations(range(K), s):
            lam = np.where(np.isin(np.arange(K), support), np.maximum(mu, level), level)
            projections.append(cost(family, mu, w, lam))
            if lam[k] < lam[j] and k in support:
                pair = [j, k]
                heavy = w[pair].sum()
                pooled = w[pair] @ mu[pair] / heavy if heavy else mu[pair].mean()
                lam[pair] = max(pooled, level)
            elif lam[k] < lam[j]:
                lam[j] = level
            alternatives.append(cost(family, mu, w, lam))
        structure = am.Sparse(K, s, level)
        assert structure.project(mu, w, family).cost == pytest.approx(min(projections), rel=1e-9)
        fit = structure.alt_min(mu, w, j, k, family)
        assert fit.cost == pytest.approx(min(alternatives), rel=1e-9, abs=1e-15)


@pytest.mark.checks("Sparse", "Lemma 9", by="brute force over supports")
def test_sparse_cells_are_few() -> None:
    for K, s in itertools.product((4, 7), (1, 2, 3)):
        means = np.linspace(2.0, 1.0, K)
        cells = am.Sparse(K, s, 0.0).cells(0, means, np.ones(K), am.Gaussian())
        assert len(cells) == (s - 1) + s * (K - s)
        assert len(set(cells)) == len(cells)


@pytest.mark.checks(
    "Unconstrained", "Unimodal", "Categorised", "Sparse", "Linear", by="a case by hand"
)
def test_worked_by_hand() -> None:
    """The paper's panels with unit weights, worked out on paper."""
    ones, gaussian = np.ones, am.Gaussian()

    fit = am.Unconstrained(4).nearest_alternative([0.0, 0.33, 0.67, 1.0], ones(4), 3, gaussian)
    assert fit.means.tolist() == pytest.approx([0.0, 0.33, 0.835, 0.835])
    assert fit.cost == pytest.approx(0.33**2 / 4)

    # Category 2 must come up: 2, 0.96 and 0 meet at their mean, just below the arm of mean 1.
    fit = am.Categorised([1, 2, 2, 2]).nearest_alternative([2, 1, 0.96, 0], ones(4), 0, gaussian)
    v = 2.96 / 3
    assert fit.means.tolist() == pytest.approx([v, 1.0, v, v])
    assert fit.cost == pytest.approx(0.5 * ((2 - v) ** 2 + (v - 0.96) ** 2 + v**2))

    # Peak at arm 3: pool 0.9 and 0.7.
    means = [0.2, 0.4, 0.9, 0.7, 0.1]
    fit = am.Unimodal(5).nearest_alternative(means, ones(5), 2, gaussian)
    assert fit.means.tolist() == pytest.approx([0.2, 0.4, 0.8, 0.8, 0.1])

    # Arms 0 and 1 meet at 2.5: cheaper than arm 0 on the level.
    fit = am.Sparse(10, 2, 0.0).nearest_alternative([3, 2, *[0] * 8], ones(10), 0, gaussian)
    assert fit.means.tolist() == pytest.approx([2.5, 2.5, *[0] * 8])
    assert fit.cost == pytest.approx(0.25)

    # One good arm only: it has to come down to the level.
    fit = am.Sparse(4, 1, 0.3).nearest_alternative([0.8, 0.3, 0.3, 0.3], ones(4), 0, gaussian)
    assert fit.means.tolist() == [0.3] * 4
    assert fit.cost == pytest.approx(0.125)

    # theta = (1, 0) turns to (1/2, 1/2): the squared distance of (1, 0) to the diagonal is 1/2.
    fit = am.Linear(np.eye(2)).nearest_alternative([1.0, 0.0], ones(2), 0, gaussian)
    assert fit.means.tolist() == pytest.approx([0.5, 0.5])
    assert fit.cost == pytest.approx(0.25)


@pytest.mark.checks("Unimodal", by="a case by hand")
def test_a_challenger_need_not_be_best() -> None:
    """lam_2 >= lam_1 with the peak far from both: the cheapest way to reverse two arms' order."""
    fit = am.Unimodal(4).alt_min([5.0, 3.0, 2.0, 1.0], np.ones(4), 1, 2, am.Gaussian())
    assert fit.means.tolist() == [5.0, 2.5, 2.5, 1.0]
    # Arms 0 and 2 meet at 3, with the peak between them left alone.
    fit = am.Unimodal(3).alt_min([5.0, 9.0, 1.0], np.ones(3), 0, 2, am.Gaussian())
    assert fit.means.tolist() == [3.0, 9.0, 3.0]


@pytest.mark.checks("Categorised", by="a case by hand")
def test_alone_in_its_category() -> None:
    """A category of one arm on top leaves no other best arm: the others must dominate it."""
    pair = am.Categorised(["a", "b", "b"])
    fit = pair.alt_min([2.0, 1.0, 0.0], [1.0, 1.0, 1.0], 0, 1, am.Gaussian())
    assert fit.means.tolist() == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.checks("Linear", by="a case by hand")
def test_twins_are_no_challengers() -> None:
    twins = am.Linear([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert twins.alt_min([1.0, 1.0, 0.0], np.ones(3), 0, 1, am.Gaussian()).cost == math.inf
    assert [cell.number for cell in twins.cells(0)] == [2]
    rising = am.Polyhedral([[1.0, -1.0]], [0.0])
    fit = rising.nearest_alternative([0.0, 1.0], np.ones(2), 1, am.Gaussian())
    assert fit.cost == math.inf
    assert np.isnan(fit.means).all()
    assert rising.cells(1) == ()
    assert rising.nearest_alternative([0.0, 1.0], np.ones(2), 0, am.Gaussian()).cost == 0.0


@pytest.mark.checks("Linear", by="a case by hand")
def test_unseen_directions_are_free() -> None:
    """A singular design: what no weight has seen can be anything."""
    line = am.Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    fit = line.nearest_alternative([1.0, 0.2, 1.2], [1.0, 0.0, 0.0], 2, am.Gaussian())
    assert fit.cost == pytest.approx(0.0, abs=1e-20)
    assert fit.means[0] == pytest.approx(1.0)
    none = line.nearest_alternative([1.0, 0.2, 1.2], np.zeros(3), 2, am.Gaussian())
    assert none.cost == 0.0
    assert line.contains(none.means)


@pytest.mark.checks("Linear", by="badly scaled features")
def test_badly_scaled_features() -> None:
    """Only the span counts: columns may differ by ten orders of magnitude."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(8, 3))
    mu, w = rng.normal(size=8), rng.exponential(size=8)
    plain = am.Linear(features).nearest_alternative(mu, w, 2, am.Gaussian())
    scaled = am.Linear(features * [1e-5, 1.0, 1e5]).nearest_alternative(mu, w, 2, am.Gaussian())
    assert scaled.cost == pytest.approx(plain.cost, rel=1e-9)


def test_means_that_are_forced_onto_the_boundary() -> None:
    """Bernoulli means proportional to 1 : 2 can only be reversed at zero: infinitely costly."""
    line = am.Linear([[1.0], [2.0]])
    fit = line.alt_min([0.3, 0.6], np.ones(2), 1, 0, am.Bernoulli())
    assert fit.cost == math.inf
    assert line.alt_min([0.0, 0.0], np.ones(2), 1, 0, am.Bernoulli()).cost == 0.0


@pytest.mark.checks("Simplex", by="a case by hand")
def test_a_weightless_arm_shares_with_one_of_mean_zero() -> None:
    """Poisson: the pair's cost is linear, and it takes whatever is left of the whole."""
    fit = am.Simplex(2).alt_min([0.0, 0.7], [0.002, 0.0], 1, 0, am.Poisson())
    assert fit.means.tolist() == [0.5, 0.5]
    assert fit.cost == pytest.approx(0.001)


def test_large_values_keep_their_digits() -> None:
    """Costs are differences of means: a common offset of a million must not drown them."""
    rng = np.random.default_rng(5)
    for structure in (
        am.Unconstrained(8),
        am.Unimodal(8),
        am.Categorised([1, 1, 1, 2, 2, 3, 3, 3]),
    ):
        mu, w = rng.integers(0, 1000, 8) / 1024.0, rng.exponential(size=8)
        here = structure.nearest_alternative(mu, w, 2, am.Gaussian())
        there = structure.nearest_alternative(mu + 2.0**20, w, 2, am.Gaussian())
        assert there.cost == pytest.approx(here.cost, rel=1e-8)


@pytest.mark.parametrize("structure", EXAMPLES, ids=name)
def test_vanishing_weights_are_as_good_as_none(structure: am.Structure) -> None:
    """Weights that differ by twenty orders of magnitude, as learners produce them."""
    rng = np.random.default_rng(8)
    for family in supported_families(structure):
        means = rng.uniform(0.1, 0.9, structure.n_arms)
        weights = np.ones(structure.n_arms)
        for vanishing in (1e-21, 1e-100, 1e-300):
            weights[-1] = vanishing
            tiny = structure.nearest_alternative(means, weights, 0, family)
            weights[-1] = 0.0
            none = structure.nearest_alternative(means, weights, 0, family)
            assert tiny.cost == pytest.approx(none.cost, rel=1e-6, abs=1e-12)


def test_equality_and_hash() -> None:
    assert am.Linear(np.eye(3)) == am.Linear(np.eye(3))
    assert hash(am.Linear(np.eye(3))) == hash(am.Linear(np.eye(3)))
    assert am.Linear(np.eye(3)) != am.Linear(2 * np.eye(3)[[1, 0, 2]] + 1)
    assert am.Unconstrained(3) != am.Unimodal(3)
    assert am.Lipschitz(3, 0.5) == am.Lipschitz(3, 0.5, [0, 1, 2])


class Halfway(am.Structure):
    """A structure in plain Python: the mean of arm 0 is at most one half."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def project(self, means: np.ndarray, weights: np.ndarray, family: am.Family) -> am.Fit:
        lam = np.array(means, dtype=float)
        lam[0] = min(lam[0], 0.5)
        return am.Fit(lam, cost(family, np.asarray(means), np.asarray(weights), lam))

    def alt_min(
        self, means: np.ndarray, weights: np.ndarray, best: int, challenger: int, family: am.Family
    ) -> am.Fit:
        means, weights = np.array(means, dtype=float), np.asarray(weights, dtype=float)
        lam, _ = self.project(means, weights, family)
        a, b = best, challenger
        if lam[b] < lam[a]:
            total = weights[a] + weights[b]
            y = (weights[a] * means[a] + weights[b] * means[b]) / total if total else means[b]
            lam[a] = lam[b] = min(y, 0.5) if 0 in (a, b) else y
            if a == 0:  # it may come down alone
                lam[b] = max(lam[b], means[b])
            elif b == 0 and lam[0] == 0.5:
                lam[a] = 0.5
        return am.Fit(lam, cost(family, means, weights, lam))


def test_a_structure_in_plain_python_conforms() -> None:
    check_structure(Halfway(4), families=[am.Gaussian(), am.Bernoulli()])
    assert Halfway(3).contains([0.4, 0.9, 0.1])
    assert "would have to be 0.5" in Halfway(3).violation_of([0.7, 0.9, 0.1])
    assert len(Halfway(4).cells(1)) == 3

"""Two building blocks of policies against general solvers.

The highest mean in M inside a box of intervals (StructuredUCB), against linear programs; and the
cost of an arm's being best (MINTS), against convex programs.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from reference import Nearest, Reference, UnsolvedError, cost
from scipy.optimize import linprog
from structures_again import FAMILIES, KINDS, Piece, order, pieces_of, random_structure

import armature as am
from armature.structures.oracles.model import highest_means as model_highest
from armature.structures.oracles.model import make_model, nearest_with_best
from armature.testing import DeclaredAgain

BOXED = tuple(kind for kind in KINDS if kind not in (am.Unconstrained, am.Linear))
PROBLEMS_PER_STRUCTURE = 5
EMPTY = 2  # the status of an infeasible linear program


def limits_of(piece: Piece, low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    """A polyhedron and a box as the constraints of a linear program."""
    limits: dict[str, Any] = {"bounds": np.column_stack([low, high])}
    if len(piece.G):
        limits |= {"A_ub": piece.G, "b_ub": piece.h}
    if len(piece.E):
        limits |= {"A_eq": piece.E, "b_eq": piece.f}
    return limits


def pieces_in(structure: am.Structure, low: np.ndarray, high: np.ndarray) -> list[dict[str, Any]]:
    """The polyhedra of M that have a point in the box, as far as they are in it."""
    everything = [limits_of(piece, low, high) for piece in pieces_of(structure)]
    return [p for p in everything if linprog(np.zeros(low.size), **p).status != EMPTY]


def highest_means(structure: am.Structure, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """max lam_k over M and the box, for each arm; None where that is empty."""
    best = np.full(low.size, -np.inf)
    for limits, k in itertools.product(pieces_in(structure, low, high), range(low.size)):
        solution = linprog(-np.eye(low.size)[k], **limits)
        assert solution.status == 0
        best[k] = max(best[k], -solution.fun)
    return best if np.isfinite(best).any() else None


def random_box(structure: am.Structure, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of very different widths; every other time around means that are not far from M."""
    K = structure.n_arms
    middle = rng.normal(0.3, 0.5, K)
    if rng.random() < 0.5:
        near = structure.project(middle, np.ones(K), am.Gaussian()).means
        middle = np.asarray(near) + rng.normal(0.0, 0.1, K)
    width = rng.exponential(rng.choice([0.05, 0.3, 1.0], K))
    return middle - width, middle + width


def bounds_of(
    structure: am.Structure, low: np.ndarray, high: np.ndarray
) -> tuple[bool, np.ndarray]:
    """What StructuredUCB makes of a box."""
    bounds = np.zeros(structure.n_arms)
    model = make_model(structure, am.Gaussian(), ("highest",))
    return bool(model_highest(model, low, high, bounds)), bounds


def assert_highest(bounds: np.ndarray, expected: np.ndarray) -> None:
    """The highest bound is right, and no bound is too high: then the arm that has it is right."""
    assert bounds.max() == pytest.approx(expected.max(), abs=1e-6)
    assert (bounds <= expected + 1e-6).all()


@pytest.mark.checks("StructuredUCB", by="linear programs")
@pytest.mark.parametrize("kind", BOXED, ids=lambda k: k.__name__)
def test_highest_mean_in_a_box(
    kind: type[am.Structure], n_problems: int, rng: np.random.Generator
) -> None:
    """For boxes with a point of M in them."""
    compared = 0
    while compared < n_problems:
        structure = random_structure(kind, rng)
        low, high = random_box(structure, rng)
        expected = highest_means(structure, low, high)
        if expected is not None:
            feasible, bounds = bounds_of(structure, low, high)
            assert feasible
            assert_highest(bounds, expected)
            compared += 1


@pytest.mark.checks("StructuredUCB", by="linear programs")
@pytest.mark.parametrize("kind", BOXED, ids=lambda k: k.__name__)
def test_boxes_without_a_point(
    kind: type[am.Structure], n_problems: int, rng: np.random.Generator
) -> None:
    """Whether there is a point of M in a box; both happen often."""
    seen = [0, 0]
    while min(seen) < 0.2 * n_problems or sum(seen) < n_problems:
        structure = random_structure(kind, rng)
        low, high = random_box(structure, rng)
        expected = bool(pieces_in(structure, low, high))
        assert bounds_of(structure, low, high)[0] == expected, (structure, low, high)
        seen[expected] += 1


def test_linear_programs_where_there_is_a_closed_form(
    n_problems: int, rng: np.random.Generator
) -> None:
    """The general kernel on Lipschitz structures, for every arm."""
    for _ in range(n_problems):
        structure = random_structure(am.Lipschitz, rng)
        low, high = random_box(structure, rng)
        bounds = DeclaredAgain(structure).highest(low, high)
        expected = highest_means(structure, low, high)
        assert (bounds is None) == (expected is None)
        if expected is not None:
            assert bounds == pytest.approx(expected, abs=1e-6)


def test_wrong_bounds_are_noticed() -> None:
    structure, low, high = am.Unimodal(3), np.array([0.0, -1.0, 0.2]), np.array([1.0, 0.1, 1.2])
    expected = highest_means(
        structure, low, high
    )  # no peak at arm 0: arm 2 is above arm 1 for sure
    assert expected is not None
    assert expected == pytest.approx([0.1, 0.1, 1.2])
    assert_highest(np.array([-np.inf, -np.inf, 1.2]), expected)
    for wrong in ([0.1, 0.1, 1.2 - 1e-5], [0.1, 0.1, 1.2 + 1e-5], [1.2, 0.1, 1.2]):
        with pytest.raises(AssertionError):
            assert_highest(np.array(wrong), expected)
    assert highest_means(structure, low, np.array([1.0, -0.5, 1.2])) is None


def own_cost(
    structure: am.Structure, family: am.Family, means: np.ndarray, weights: np.ndarray, j: int
) -> float:
    """What MINTS takes for the cost of arm j's being best."""
    model = make_model(structure, family, am.MINTS.oracles)
    return nearest_with_best(model, means, weights, j, np.empty(structure.n_arms))


def can_lead(piece: Piece, j: int) -> bool:
    """Whether arm j is better than all others somewhere in a piece: by a positive x_K, at least."""
    K = piece.G.shape[1]
    ahead = np.hstack([order(K, [(i, j) for i in range(K) if i != j]), np.ones((K - 1, 1))])
    solution = linprog(
        -np.eye(K + 1)[K],
        np.vstack([np.hstack([piece.G, np.zeros((len(piece.G), 1))]), ahead]),
        np.concatenate([piece.h, np.zeros(K - 1)]),
        np.hstack([piece.E, np.zeros((len(piece.E), 1))]),
        piece.f,
        bounds=[(-100, 100)] * K + [(None, None)],
    )
    return solution.status == 0 and -solution.fun > 1e-6


class BestArm(Reference):
    """The same by a general solver, over all pieces of M (for Sparse: all supports).

    As with `not j`, what counts is the closure of { lam in M : j is the best arm }: where another
    category is on top, j is at most tied with it, and not best anywhere near.
    """

    def __init__(self, structure: am.Structure, family: am.Family, j: int) -> None:
        super().__init__(structure, family)
        others = [i for i in range(structure.n_arms) if i != j]
        self.programs = []
        for piece in self.pieces:
            if can_lead(piece, j):
                rows = order(structure.n_arms, [(i, j) for i in others])
                led = piece._replace(
                    G=np.vstack([piece.G, rows]), h=np.concatenate([piece.h, np.zeros(len(rows))])
                )
                self.programs.append(Nearest(family, led))

    def nearest_cost(self, means: np.ndarray, weights: np.ndarray) -> float:
        return self.least(means, weights, self.programs)


def assert_cost(found: float, expected: float, slack: float = 1e-9) -> None:
    assert found == pytest.approx(expected, rel=1e-6, abs=slack)


def random_best_arm_structure(
    kind: type[am.Structure], family: am.Family, rng: np.random.Generator
) -> am.Structure:
    """Linear ones with an intercept where means are positive: then every arm can be best inside."""
    if kind is am.Linear and not isinstance(family, am.Gaussian):
        K = int(rng.integers(3, 7))
        return am.Linear(np.column_stack([np.ones(K), rng.uniform(-1.0, 1.0, K)]))
    return random_structure(kind, rng)


@pytest.mark.checks("MINTS", by="a convex solver")
@pytest.mark.parametrize("family", FAMILIES[:2], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_cost_of_being_best(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    """Thirty problems of each kind (three hundred if exhaustive)."""
    solved = tried = 0
    while solved < 0.6 * n_problems:
        structure = random_best_arm_structure(kind, family, rng)
        K = structure.n_arms
        j = int(rng.integers(K))
        reference = BestArm(structure, family, j)
        for _ in range(PROBLEMS_PER_STRUCTURE):
            means, weights = rng.uniform(0.05, 0.95, K), rng.integers(1, 30, K).astype(float)
            tried += 1
            try:
                expected = reference.nearest_cost(means, weights)
            except UnsolvedError:
                continue
            assert_cost(own_cost(structure, family, means, weights, j), expected)
            solved += 1
    assert solved >= 0.9 * tried


@pytest.mark.checks("MINTS", by="a convex solver")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_cost_of_being_best_after_few_pulls(
    kind: type[am.Structure], n_problems: int, rng: np.random.Generator
) -> None:
    """Bernoulli rewards of which often all or none are successes."""
    family, solved, tried = am.Bernoulli(), 0, 0
    while solved < 0.6 * n_problems:
        structure = random_best_arm_structure(kind, family, rng)
        K = structure.n_arms
        j = int(rng.integers(K))
        reference = BestArm(structure, family, j)
        for _ in range(PROBLEMS_PER_STRUCTURE):
            pulls = rng.integers(1, 8, K)
            means, weights = rng.binomial(pulls, 0.5) / pulls, pulls.astype(float)
            tried += 1
            try:
                expected = reference.nearest_cost(means, weights)
            except UnsolvedError:
                continue
            # A logarithm with coefficient 0 costs the solver some digits.
            assert_cost(own_cost(structure, family, means, weights, j), expected, slack=1e-6)
            solved += 1
    assert solved >= 0.8 * tried


def test_cost_beside_an_arm_without_success() -> None:
    """0 of 1, 2 of 3, 1 of 3: arms 1 and 2 meet at 1/2, arm 0 stays where it is."""
    means, weights = np.array([0.0, 2 / 3, 1 / 3]), np.array([1.0, 3.0, 3.0])
    expected = 2 * 3 * (2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2 / 3))  # 0.34
    assert_cost(own_cost(am.Unconstrained(3), am.Bernoulli(), means, weights, 2), expected)


def test_cost_of_a_tied_leader() -> None:
    """Arm 0 is above arm 2, of the other category; but arm 1, of its own, is far below.

    The projection (0.95, 0, 0.95) has arm 2's category on top. For arm 0 to be best its own must be
    on top: (1, 0.45, 0.45).
    """
    structure, means, weights = am.Categorised("bba"), np.array([1.0, 0.0, 0.9]), np.ones(3)
    for j, expected in ((0, 0.45**2), (2, 0.05**2)):
        assert_cost(BestArm(structure, am.Gaussian(), j).nearest_cost(means, weights), expected)
        assert_cost(own_cost(structure, am.Gaussian(), means, weights, j), expected)


def test_cost_among_supports() -> None:
    """Two of three arms above 0, arm 2 best, so with arm 0 or arm 1, pooled: two local minima.

    With arm 0 at 45/11: 15 * 4^2 / 2 + 10/11 * 10^2 / 2 = 165.5.
    With arm 1 at 55/16: 10 * 5^2 / 2 + 15/16 * 9^2 / 2 = 163.0.
    """
    structure = am.Sparse(3, 2, 0.0)
    means, weights = np.array([5.0, 4.0, -5.0]), np.array([10.0, 15.0, 1.0])
    expected = 125 + 15 / 16 * 40.5
    assert_cost(BestArm(structure, am.Gaussian(), 2).nearest_cost(means, weights), expected)
    assert_cost(own_cost(structure, am.Gaussian(), means, weights, 2), expected)


def test_wrong_costs_are_noticed() -> None:
    """Pooling the wrong arms is noticed, as is a cost that is off by a hundred-thousandth."""
    means, weights, family = np.array([0.9, 0.2, 0.6]), np.array([2.0, 1.0, 3.0]), am.Gaussian()
    expected = BestArm(am.Unconstrained(3), family, 2).nearest_cost(means, weights)
    together = (2 * 0.9 + 3 * 0.6) / 5
    assert_cost(cost(family, means, weights, np.array([together, 0.2, together])), expected)
    unweighted = cost(family, means, weights, np.array([0.75, 0.2, 0.75]))
    for wrong in (expected * (1 + 1e-5), expected * (1 - 1e-5), unweighted, math.inf):
        with pytest.raises(AssertionError):
            assert_cost(wrong, expected)

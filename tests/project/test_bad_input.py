"""Bad input gets a sentence that says what is wrong and what would be right."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am

GAUSSIAN = am.Gaussian()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: am.Unconstrained(1), "n_arms = 1: a bandit needs at least 2 arms"),
        (lambda: am.Unimodal(2.5), "n_arms must be a whole number; got 2.5"),
        (lambda: am.Unimodal(True), "n_arms must be a whole number"),
        (lambda: am.Categorised(["a"]), "n_arms = 1"),
        (lambda: am.Categorised(["a", None]), r"categories\[1\] is missing"),
        (lambda: am.Categorised(["a", math.nan]), r"categories\[1\] is missing"),
        (lambda: am.Categorised([["a"], "b"]), r"categories\[0\] = \['a'\] can't be a label"),
        (lambda: am.Sparse(4, 0, 0.0), "support = 0: with 4 arms it must be from 1 to 3"),
        (lambda: am.Sparse(4, 4, 0.0), "support = 4: with 4 arms it must be from 1 to 3"),
        (lambda: am.Sparse(4, 2, math.inf), "level = inf: every number must be finite"),
        (lambda: am.Sparse(4, 2, [1, 2]), "level must be one number"),
        (
            lambda: am.Linear([1.0, 2.0]),
            r"features must be a matrix .* got an array of shape \(2,\)",
        ),
        (lambda: am.Linear([[1.0, 2.0]]), "n_arms = 1"),
        (lambda: am.Linear(np.empty((3, 0))), "features must be a matrix"),
        (lambda: am.Linear([[1.0, 2.0], [1.0, 2.0]]), "features of all arms are equal"),
        (lambda: am.Linear([[1.0], [math.nan]]), r"features\[1\]\[0\] = nan: every number must"),
        (lambda: am.Lipschitz(3, 0.0), "constant must be a positive finite number; got 0.0"),
        (lambda: am.Lipschitz(3, 1.0, [0, 1]), "positions must be 3 numbers, one for each arm"),
        (lambda: am.Concave(3, [0, 1, 1]), r"positions\[1\] and positions\[2\] are both 1"),
        (lambda: am.Demand([2, 1, 2]), r"prices\[0\] and prices\[2\] are both 2: arms at the same"),
        (lambda: am.Demand([2, 0]), r"prices\[1\] must be a positive finite number; got 0.0"),
        (lambda: am.Demand([2]), "n_arms = 1"),
        (lambda: am.Demand([[1, 2]]), r"one number for each arm; got an array of shape \(1, 2\)"),
        (lambda: am.Polyhedral([[1, -1]], [0, 1]), r"got shapes \(1, 2\) and \(2,\)"),
        (lambda: am.Polyhedral([[1, -1]], [0], [[1, 1]]), "C and d belong together"),
        (lambda: am.Polyhedral([[1, -1]], [0], [[1, 1, 1]], [1]), "A has 2 columns and C has 3"),
        (lambda: am.Polyhedral([[1, 0], [-1, 0]], [0, -1]), "the polyhedron is empty"),
        (lambda: am.Unimodal(3).relabelled([1, 0]), "name each of the arms 0 to 2 once"),
        (lambda: am.Unimodal(3).relabelled(None), "order must be a list; got None"),
        (lambda: am.Intersection(am.Unimodal(3)), "parts must be a list"),
        (lambda: am.UnimodalTree([3]), r"edges\[0\] must be a list; got 3"),
        (lambda: am.Box(3, 1e40), r"low\[0\] = 1e\+40 is beyond what is supported"),
        (lambda: am.Simplex(3).relabelled([0, 0, 1]), "name each of the arms 0 to 2 once"),
    ],
)
def test_construction(call: object, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([1, 2], [1, 1, 1], 0, GAUSSIAN),
            r"means must be 3 numbers, .* got an array of shape \(2,\)",
        ),
        (([1, 2, math.nan], [1, 1, 1], 0, GAUSSIAN), r"means\[2\] = nan"),
        (([1, 2, 3], [1, 1, math.inf], 0, GAUSSIAN), r"weights\[2\] = inf"),
        (([1, 2, 3], [1, -2, 1], 0, GAUSSIAN), r"weights\[1\] = -2 is negative"),
        (([1, 2, 3], [1, 1], 0, GAUSSIAN), "weights must be 3 numbers"),
        (([1, 2, 3], [1, 1, 1], 3, GAUSSIAN), "best = 3 is out of range: arms are 0 to 2"),
        (([1, 2, 3], [1, 1, 1], -1, GAUSSIAN), "best = -1 is out of range"),
        (([1, 2, 3], [1, 1, 1], 1.0, GAUSSIAN), "best must be a whole number"),
        (
            ([0.1, 0.2, 3], [1, 1, 1], 0, am.Bernoulli()),
            r"means\[2\] = 3 is not a mean of Bernoulli",
        ),
        ((["x", 2, 3], [1, 1, 1], 0, GAUSSIAN), "means must be numbers"),
        (([1, 2, 3], [1, 1, 1], 0, "Gaussian"), "family must be a reward family"),
    ],
)
def test_oracles(arguments: tuple, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        am.Unimodal(3).nearest_alternative(*arguments)


def test_other_refusals() -> None:
    with pytest.raises(am.ArmatureError, match="best and challenger are both arm 1"):
        am.Unimodal(3).alt_min([1, 2, 3], [1, 1, 1], 1, 1, GAUSSIAN)
    with pytest.raises(am.ArmatureError, match="not a cell"):
        am.Unimodal(3).cell_min([1, 2, 3], [1, 1, 1], am.Cell(0, 7), GAUSSIAN)
    for cell in (am.Cell(0, 99, (0, 1)), am.Cell(0, 3, (0, 1, 2)), am.Cell(0, 0, (9,))):
        with pytest.raises(am.ArmatureError, match=r"is not a cell"):
            am.Sparse(4, 2, 0.0).cell_min([1, 2, 3, 0], [1, 1, 1, 1], cell, GAUSSIAN)
    with pytest.raises(am.ArmatureError, match="depend on the means"):
        am.Sparse(3, 1, 0.0).cells(0)
    with pytest.raises(am.ArmatureError, match="level = -1 is not a mean of Bernoulli rewards"):
        am.Sparse(3, 1, -1.0).project([0.1, 0.2, 0.3], [1, 1, 1], am.Bernoulli())


@pytest.mark.checks("Exponential", by="refused where it is not convex")
@pytest.mark.parametrize(
    "structure",
    [
        am.Linear(np.eye(3)),
        am.Lipschitz(3, 1.0),
        am.Concave(3),
        am.Simplex(3),
        am.Demand([1, 2, 3]),
    ],
    ids=lambda s: type(s).__name__,
)
def test_exponential_is_refused_where_it_is_not_convex(structure: am.Structure) -> None:
    message = f"{type(structure).__name__} does not go with Exponential rewards"
    with pytest.raises(am.ArmatureError, match=message):
        structure.project([0.3, 0.3, 0.4], np.ones(3), am.Exponential())


@pytest.mark.parametrize(
    ("structure", "means", "message"),
    [
        (am.Unimodal(5), [0.1, 0.5, 0.9, 0.2, 0.4], r"means\[4\] = 0.4 rises again after the peak"),
        (am.Unimodal(4), [0.5, 0.1, 0.9, 0.2], r"means\[1\] = 0.1 falls before the peak at arm 2"),
        (am.Categorised("aab"), [0.1, 0.9, 0.5], "no category dominates the others"),
        (am.Sparse(4, 1, 0.3), [0.8, 0.3, 0.5, 0.3], "2 arms where at most 1 may"),
        (am.Sparse(4, 1, 0.3), [0.8, 0.3, 0.1, 0.3], r"means\[2\] = 0.1 is below the level 0.3"),
        (am.Linear([[1.0], [2.0]]), [1.0, 1.0], "not linear in the features"),
        (am.Lipschitz(3, 0.1), [0.0, 0.1, 0.3], r"means\[1\] = 0.1 and means\[2\] = 0.3 differ by"),
        (am.Concave(3), [1.0, 0.0, 1.0], r"means\[1\] = 0 lies 1 below the line"),
        (
            am.Demand([4, 2, 8]),
            [2.4, 1.0, 1.6],
            r"means\[0\] / 4 = 0.6 is above means\[1\] / 2 = 0.5",
        ),
        (am.Simplex(3), [0.5, 0.5, 0.5], "add up to 1.5, not to 1"),
        (am.Simplex(3), [1.5, -0.5, 0.0], r"means\[1\] = -0.5 is negative"),
        (am.Polyhedral([[1.0, 0.0]], [0.5]), [1.0, 1.0], r"means\[0\] = 1 should be at most 0.5"),
    ],
)
def test_why_means_are_outside(structure: am.Structure, means: list, message: str) -> None:
    assert not structure.contains(means)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(structure.violation_of(means))

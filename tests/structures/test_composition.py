"""Structures made of structures, and structures that are another's special case."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from structures_again import ATOMS, FAMILIES, random_structure

import armature as am
from armature.testing import check_structure, random_problem, supported_families

ENTRIES = ("project", "nearest_alternative", "alt_min", "challenger_min", "nearest_with_best")


def costs(structure: am.Structure, p) -> list[float]:
    means, weights, j, k, family = p.means, p.weights, p.best, p.challenger, p.family
    return [
        structure.project(means, weights, family).cost,
        structure.nearest_alternative(means, weights, j, family).cost,
        structure.alt_min(means, weights, j, k, family).cost,
        structure.challenger_min(means, weights, j, k, family).cost,
        structure.nearest_with_best(means, weights, k, family).cost,
    ]


def assert_same(one: list[float], other: list[float]) -> None:
    for name, a, b in zip(ENTRIES, one, other, strict=True):
        assert a == b or a == pytest.approx(b, rel=1e-9, abs=1e-12), name


@pytest.mark.checks("Multimodal", "UnimodalTree", by="the same as `Unimodal` in special cases")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize(
    "twin",
    [
        lambda K: am.Multimodal(K, 1),
        lambda K: am.UnimodalTree([(i, i + 1) for i in range(K - 1)]),
        lambda K: am.Unimodal(K) & am.Unconstrained(K),
        lambda K: am.Unimodal(K) | am.Monotone(K),
    ],
    ids=["multimodal", "path", "and all", "or monotone"],
)
def test_other_names_for_unimodal(twin, family: am.Family, rng: np.random.Generator) -> None:
    for K in (2, 3, 5, 6):
        structure, other = am.Unimodal(K), twin(K)
        for _ in range(10):
            p = random_problem(structure, family, rng)
            assert_same(costs(structure, p), costs(other, p))


@pytest.mark.checks("Relabelled", by="shuffled and back")
def test_a_shuffled_structure_is_the_same(rng: np.random.Generator) -> None:
    for structure in (am.Unimodal(5), am.Categorised("aabbc"), am.Sparse(5, 2, 0.3)):
        order = rng.permutation(5)
        shuffled = am.Relabelled(structure, order.tolist())
        for _ in range(10):
            p = random_problem(structure, am.Gaussian(), rng)
            moved = dataclasses.replace(
                p,
                means=p.means[order],
                weights=p.weights[order],
                best=int(np.flatnonzero(order == p.best)[0]),
                challenger=int(np.flatnonzero(order == p.challenger)[0]),
            )
            assert_same(costs(structure, p), costs(shuffled, moved))


def test_a_wrong_twin_is_noticed(rng: np.random.Generator) -> None:
    p = random_problem(am.Unimodal(5), am.Gaussian(), rng)
    p = dataclasses.replace(p, means=np.array([0.9, 0.1, 0.8, 0.2, 0.3]), weights=np.ones(5))
    with pytest.raises(AssertionError):
        assert_same(costs(am.Unimodal(5), p), costs(am.Multimodal(5, 2), p))


@pytest.mark.checks("Multimodal", by="the same as `Unconstrained` with many peaks")
def test_enough_peaks_are_no_structure(rng: np.random.Generator) -> None:
    for _ in range(20):
        p = random_problem(am.Unconstrained(5), am.Gaussian(), rng)
        one, other = costs(am.Multimodal(5, 3), p), costs(am.Unconstrained(5), p)
        one[3] = other[3] = 0.0  # a union reads "k beats j" by the top, a convex set by the order
        assert_same(one, other)


def inside(structure: am.Structure, rng: np.random.Generator) -> am.Instance | None:
    """An instance with a clear best arm, if the nearest means of M have one."""
    means = structure.project(rng.uniform(0.1, 0.9, structure.n_arms), np.ones(4), am.Gaussian())
    ranked = np.sort(means.means)
    return am.Instance(structure, means.means) if ranked[-1] > ranked[-2] + 0.03 else None


@pytest.mark.checks("Intersection", "Union", by="bounds of the parts")
def test_knowing_more_costs_less(rng: np.random.Generator) -> None:
    """V of an intersection is at most, of a union at least, that of its parts; all certified."""
    compared = 0
    while compared < 12:
        kinds = rng.choice(len(ATOMS), 2, replace=False)
        first, second = (random_structure(ATOMS[i], rng, 4) for i in kinds)
        instance = inside(first & second, rng)
        if instance is None:
            continue
        means = instance.means
        narrow = am.lower_bound(instance)
        wide = am.lower_bound(am.Instance(first | second, means))
        assert narrow.gap <= 1e-6
        assert wide.gap <= 1e-6
        for part in (first, second):
            own = am.lower_bound(am.Instance(part, means)).value
            assert narrow.value <= own * (1 + 3e-6) + 1e-9
            assert own <= wide.value * (1 + 3e-6) + 1e-9
        assert wide.value <= wide.unconstrained * (1 + 3e-6)
        compared += 1


def test_nested_compositions() -> None:
    structure = (am.Unimodal(4) & am.Lipschitz(4, 0.3)) | (am.Categorised("aabb") & am.Box(4, 0.0))
    check_structure(structure, [am.Gaussian(), am.Bernoulli()], problems=5)
    assert structure == (
        (am.Unimodal(4) & am.Lipschitz(4, 0.3)) | (am.Categorised("aabb") & am.Box(4, 0.0))
    )
    assert hash(structure) != hash(am.Unimodal(4) | am.Lipschitz(4, 0.3))


def test_what_does_not_go_together() -> None:
    with pytest.raises(am.ArmatureError, match="same arms, but Unimodal has 3 and Unimodal has 4"):
        am.Unimodal(3) & am.Unimodal(4)
    with pytest.raises(am.ArmatureError, match="Simplex & Box is empty: no mean vector has all"):
        am.Simplex(3) & am.Box(3, low=0.5)
    with pytest.raises(am.ArmatureError, match="no mean vector"):
        am.Monotone(2) & am.Box(2, low=[0.6, None], high=[None, 0.5])
    with pytest.raises(am.ArmatureError, match="at least two"):
        am.Union([am.Unimodal(3)])
    with pytest.raises(am.ArmatureError, match="of structures, such as"):
        am.Union([am.Unimodal(3), 3])
    with pytest.raises(TypeError):
        am.Unimodal(3) & 3
    with pytest.raises(am.ArmatureError, match="not convex in its second argument"):
        am.Instance(am.Unimodal(3) & am.Lipschitz(3, 0.5), [0.2, 0.5, 0.3], am.Exponential())
    with pytest.raises(am.ArmatureError, match="none of its mean vectors has all means in"):
        am.Instance(am.Box(2, high=-0.5), [-0.7, -0.6], am.Bernoulli())


@pytest.mark.parametrize(
    "structure",
    [am.Monotone(4), am.Box(3, 0.1, 0.9), am.UnimodalTree([(0, 1), (1, 2)]), am.Multimodal(4, 2)],
    ids=lambda s: type(s).__name__,
)
def test_orders_go_with_every_family(structure: am.Structure) -> None:
    assert len(supported_families(structure)) == 4


def test_a_broken_condition_is_named() -> None:
    assert am.Box(2, 0.0, 1.0).violation_of([0.5, 1.5]) == "means[1] = 1.5 should be at most 1"
    tree = am.UnimodalTree([(0, 1), (0, 2)])
    assert "should be at most" in tree.violation_of([0.1, 0.9, 0.8])
    assert am.Multimodal(5, 2).violation_of([0.9, 0.1, 0.8, 0.3, 0.7]) is not None
    with pytest.raises(am.ArmatureError, match=r"means\[1\] = 0.9 should be at most means\[2\]"):
        am.Instance(am.Monotone(3), [0.1, 0.9, 0.5])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: am.Box(2, 0.5, 0.2), r"low\[0\] = 0.5 is above high\[0\] = 0.2"),
        (lambda: am.Box(2, [0.5]), "low has 1 entries for 2 arms"),
        (lambda: am.Box(2, "a"), "low must be a number"),
        (lambda: am.Box(2, math.inf), "bounds are finite"),
        (lambda: am.Multimodal(4, 0), "at least one peak"),
        (lambda: am.UnimodalTree([(0, 1), (0, 1)]), "not a tree over the arms 0 to 2"),
        (lambda: am.UnimodalTree([(0, 1, 2)]), "must be a pair"),
        (lambda: am.UnimodalTree([(0, 3), (0, 1)]), "not a tree"),
        (lambda: am.Piece([[1.0]], [1.0], [[1.0, 2.0]], [0.0]), "A has 1 columns and C has 2"),
    ],
)
def test_bad_declarations(build, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        build()


def test_too_many_pieces_are_refused() -> None:
    class Anything(am.Structure):
        def __init__(self) -> None:
            self.n_arms = 2

        def pieces(self):
            return itertools.repeat(am.Piece([[1.0, -1.0]], [0.0]))

    with pytest.raises(am.ArmatureError, match="more than 20000 pieces"):
        Anything().project([0.1, 0.2], [1.0, 1.0], am.Gaussian())

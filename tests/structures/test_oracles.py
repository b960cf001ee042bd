"""Every oracle against a general convex solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import Reference, UnsolvedError, assert_optimal
from structures_again import FAMILIES, KINDS, random_structure

import armature as am
from armature.testing import (
    RandomProblem,
    discover,
    further_families,
    random_problem,
    supported_families,
)

PROBLEMS_PER_STRUCTURE = 10
LEAST_SOLVED = 0.9  # the share of problems on which the general solver must keep up


def test_every_structure_is_checked() -> None:
    assert set(discover(am.Structure, am)) == set(KINDS)
    known = {type(f) for f in (*FAMILIES, *further_families(am.Unconstrained(2)))}
    assert known == set(discover(am.Family, am))


def has_interior(reference: Reference, best: int, challenger: int) -> bool:
    """Whether the problem of a challenger has a point inside of the family's domain."""
    inside = np.full(reference.structure.n_arms, 0.5)  # of every family's domain
    try:
        return reference.alt_min(inside, np.ones(inside.size), best, challenger) < 4.0
    except UnsolvedError:
        return False


@pytest.mark.checks("structures", "Eq. (3)", by="a convex solver")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_against_a_convex_solver(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    solved = tried = 0
    while solved < n_problems:
        structure = random_structure(kind, rng)
        if family not in supported_families(structure):
            pytest.skip(f"{kind.__name__} refuses {type(family).__name__} rewards")
        reference = Reference(structure, family)
        for _ in range(PROBLEMS_PER_STRUCTURE):
            p = random_problem(structure, family, rng)
            if (p.weights > 0.0).any():
                solved += is_verified(p, reference)
                tried += 1
    assert solved >= LEAST_SOLVED * tried


def is_verified(p: RandomProblem, reference: Reference) -> bool:
    """Whether the reference has confirmed the answers to a problem; an error where they differ."""
    question = (p.structure, p.family, p.means, p.weights)
    verified = assert_optimal(*question, p.project(), lambda w: reference.project(p.means, w))
    j, k = p.best, p.challenger
    fit = p.alt_min(k)
    if fit.cost == math.inf:
        assert not (reference.can_beat(j, k) and has_interior(reference, j, k))
        return verified
    assert fit.means[k] >= fit.means[j] - 1e-9
    return verified & assert_optimal(
        *question, fit, lambda w: reference.alt_min(p.means, w, p.best, p.challenger)
    )


@pytest.mark.checks(
    "Gaussian", "Bernoulli", "Bounded", by="a convex solver, with a scale or sigma per arm"
)
@pytest.mark.parametrize("form", range(3), ids=["sigmas", "scales", "interval"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_further_families_against_a_convex_solver(
    kind: type[am.Structure], form: int, n_problems: int, rng: np.random.Generator
) -> None:
    """A sigma or a scale for each arm; an interval about [0, 1]."""
    solved = tried = 0
    while solved < n_problems // 10:
        structure = random_structure(kind, rng)
        kinds = (am.Gaussian, am.Bernoulli, am.Bounded)
        families = [f for f in further_families(structure) if isinstance(f, kinds[form])]
        if not families:  # some arm's scale is below the level of Sparse
            continue
        (family,) = families
        reference = Reference(structure, family)
        for _ in range(PROBLEMS_PER_STRUCTURE // 2):
            p = random_problem(structure, family, rng)
            if (p.weights > 0.0).any():
                solved += is_verified(p, reference)
                tried += 1
    assert solved >= LEAST_SOLVED * tried


@pytest.mark.checks("structures", by="a convex solver")
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_nearest_alternative_against_a_convex_solver(
    kind: type[am.Structure], n_problems: int, rng: np.random.Generator
) -> None:
    """All challengers together, for Gaussian rewards of several variances."""
    solved = tried = 0
    while solved < n_problems:
        structure = random_structure(kind, rng)
        family = am.Gaussian(float(rng.uniform(0.5, 2.0)))
        reference = Reference(structure, family)
        for _ in range(PROBLEMS_PER_STRUCTURE):
            p = random_problem(structure, family, rng)
            challengers = [k for k in range(structure.n_arms) if k != p.best]
            fit = p.nearest()
            if fit.cost < math.inf and (p.weights > 0.0).any():
                assert fit.means[challengers].max() >= fit.means[p.best] - 1e-9
                solved += assert_optimal(
                    structure,
                    family,
                    p.means,
                    p.weights,
                    fit,
                    lambda w, p=p, r=reference, c=challengers: min(
                        r.alt_min(p.means, w, p.best, k) for k in c
                    ),
                )
            else:
                assert (
                    not any(reference.can_beat(p.best, k) for k in challengers)
                    or not (p.weights > 0.0).any()
                )
                solved += 1
            tried += 1
    assert solved >= LEAST_SOLVED * tried

"""Shares of a whole: means that are non-negative and add up to one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.families import Bernoulli, Family, Gaussian, Poisson
from armature.kernels.arrays import Floats
from armature.structures.checks import checked_n_arms, checked_order
from armature.structures.fast.shares import alt_min, highest, nearest, project, scratch_of
from armature.structures.oracles.cells import every_other
from armature.structures.oracles.records import Oracle
from armature.structures.oracles.scratch import measure
from armature.structures.piece import Piece
from armature.structures.structure import Structure

# The only constraint that ties the arms together has a price nu: each arm minimises
# w d(x, y) - nu y over y >= 0 by itself, and nu is where these shares add up to one. An arm whose
# cost is *linear* takes nothing below a certain price and any amount at it: weightless arms at 0,
# and Poisson arms of mean 0 at their weight. A pair of arms with a common share is one arm that
# pays the price twice.


@dataclass(frozen=True, eq=False, repr=False)
class Simplex(Structure):
    """The means are non-negative and add up to one.

    Shares of a whole: what one arm has, the others lack. A single price clears the sum;
    `nearest_alternative` ties the best arm to one other, after bounds at a few prices have ruled
    out the rest.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.

    Guarantee
    ---------
    The price is found by Newton's method in a bracket, O(K) for each price that is tried. Compared
    in tests with a convex solver and with cases worked by hand (arms without weight, means of
    zero). Exponential rewards are refused.

    >>> from armature.families import Gaussian
    >>> Simplex(3).project([0.9, 0.3, -0.5], [1.0, 1.0, 1.0], Gaussian()).means
    array([0.8, 0.2, 0. ])

    Limits
    ------
    Not for exponential rewards.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Paper: Appendix G.2, simplex.
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=every_other,
        cell_min=alt_min,
        highest=highest,
    )
    convex = True
    order_only = False

    @classmethod
    def examples(cls) -> tuple[Simplex, ...]:
        return cls(2), cls(5)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(self.n_arms))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(scratch_of, self.n_arms)

    def pieces(self) -> Iterable[Piece]:
        yield Piece(
            -np.eye(self.n_arms), np.zeros(self.n_arms), np.ones((1, self.n_arms)), np.ones(1)
        )

    def oracle_for(self, family: Family) -> Oracle:
        ones = isinstance(family, Bernoulli) and family.alike and family.parameter == 1.0
        known = isinstance(family, (Gaussian, Poisson)) or ones
        return self.oracle if known else Oracle()

    def violation(self, means: Floats, tolerance: float) -> str | None:
        lowest = int(means.argmin())
        if means[lowest] < -tolerance:
            return f"means[{lowest}] = {means[lowest]:g} is negative"
        if abs(means.sum() - 1.0) > tolerance * self.n_arms:
            return f"the means add up to {means.sum():g}, not to 1"
        return None

    def relabelled(self, order: Sequence[int]) -> Simplex:
        checked_order(order, self.n_arms)
        return self

    def mirrored(self, about: float) -> Structure:
        from armature.structures.polyhedral import Polyhedral

        K = self.n_arms
        return Polyhedral(np.eye(K), np.full(K, about), np.ones((1, K)), [about * K - 1.0])

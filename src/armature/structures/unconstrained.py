"""No structure: any mean vector is possible."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from armature.families import Family, FamilyRecord
from armature.families.bernoulli import is_scaled
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.pooling import pair_cost, pooled_mean
from armature.structures.oracles import scaled
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work, every_other
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """M is everything: lam = mu."""
    copy(problem.mu, lam)
    return 0.0


@kernel
def write_pair(family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats) -> float:
    """The means with j and k pooled where they are out of order."""
    copy(mu, lam)
    if mu[k] < mu[j]:
        lam[j] = lam[k] = pooled_mean(w[j], mu[j], w[k], mu[k])
    return pair_cost(family, w[j], mu[j], w[k], mu[k])


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Pool two arms where they are out of order.

    Paper: Appendix G.2, unconstrained.
    """
    return write_pair(problem.family, problem.mu, problem.w, first, second, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Pool j with the cheapest challenger."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    j = first
    best_cost = math.inf
    best_k = -1
    top = mu[j]
    weight = w[j]
    for k in range(mu.size):  # best_k: the cheapest challenger before k
        if k != j:
            cost = pair_cost(family, weight, top, w[k], mu[k])
            if cost < best_cost or best_k < 0:
                best_cost = cost
                best_k = k
    return write_pair(family, mu, w, j, best_k, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """Pool j with each challenger."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    top = mu[first]
    weight = w[first]
    for k in range(mu.size):
        costs[k] = pair_cost(family, weight, top, w[k], mu[k])
    return 0.0


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The arm absorbs what exceeds it, from the highest on."""
    mu = problem.mu
    w = problem.w
    copy(mu, lam)
    value = mu[first]
    weight = w[first]
    while True:  # arms at -inf are absorbed: `value` is their mean with j's
        highest = -1
        for k in range(mu.size):
            if k != first and lam[k] > value and (highest < 0 or lam[k] > lam[highest]):
                highest = k
        if highest < 0:
            break
        value = pooled_mean(weight, value, w[highest], mu[highest])
        weight += w[highest]
        lam[highest] = -math.inf
    for k in range(mu.size):
        if k == first or lam[k] == -math.inf:
            lam[k] = value
    return total_divergence(problem.family, w, mu, lam)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper ends."""
    copy(high, out)
    return 1.0


SCALED = Oracle(
    project=project,
    alt_min=scaled.alt_min,
    nearest=scaled.nearest,
    cells=every_other,
    cell_min=scaled.alt_min,
    challenger_costs=scaled.challenger_costs,
    best_min=scaled.best_min,
    highest=highest,
)


@dataclass(frozen=True, eq=False, repr=False)
class Unconstrained(Structure):
    """Every mean vector is possible: the classical bandit.

    Nothing is known about the means, so that each arm must be told from the best one by itself: the
    nearest vector with another best arm pools the best arm with one other.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.

    Guarantee
    ---------
    Exact up to rounding, for every reward family; `nearest_alternative` is O(K). Compared in tests
    with a convex solver, cases worked by hand, and the closed form of the lower bound.

    >>> from armature.families import Gaussian
    >>> fit = Unconstrained(3).nearest_alternative([1.0, 0.0, 0.5], [1.0, 1.0, 1.0], 0, Gaussian())
    >>> fit.means.tolist(), fit.cost
    ([0.75, 0.0, 0.75], 0.0625)

    References
    ----------
    Lai and Robbins (1985), "Asymptotically Efficient Adaptive Allocation Rules".
    Paper: Appendix F, unconstrained.
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=every_other,
        cell_min=alt_min,
        challenger_costs=challenger_costs,
        best_min=best_min,
        highest=highest,
    )
    convex = True
    order_only = True
    has_constants = True
    assumes_nothing = True
    orders_arms = False
    arm_facts = arm_fields = ()
    exchangeable = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Unconstrained, ...]:
        return cls(2), cls(5)

    @property
    def work_size(self) -> tuple[int, int]:
        return 0, self.n_arms

    def oracle_for(self, family: Family) -> Oracle:
        return SCALED if is_scaled(family) else super().oracle_for(family)

    def pieces(self) -> Iterable[Piece]:
        yield Piece.of_orders(self.n_arms, [])

    def violation(self, means: Floats, tolerance: float) -> str | None:
        return None

"""No structure: any mean vector is possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from armature._compile import inlined, kernel
from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.structures._checks import checked_n_arms, checked_order
from armature.structures._pooling import pooled_mean
from armature.structures._records import Floats, Oracle, Query, Shape, Work
from armature.structures._structure import CompiledStructure
from armature.structures._vectors import copy


@kernel
def project(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """M is everything: lam = mu."""
    copy(mu, lam)
    return 0.0


@inlined
def pair_cost(family: FamilyRecord, w: float, x: float, v: float, y: float) -> float:
    """What it costs to make y (weight v) as good as x (weight w) and change nothing else."""
    if y >= x:
        return 0.0
    z = pooled_mean(w, x, v, y)
    return weighted_divergence(family, w, x, z) + weighted_divergence(family, v, y, z)


@kernel
def write_pair(family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats) -> float:
    """The means with j and k pooled where they are out of order."""
    copy(mu, lam)
    if mu[k] < mu[j]:
        lam[j] = lam[k] = pooled_mean(w[j], mu[j], w[k], mu[k])
    return pair_cost(family, w[j], mu[j], w[k], mu[k])


@kernel
def alt_min(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Pool two arms where they are out of order."""
    return write_pair(family, mu, w, query.best, query.first, lam)


@kernel
def nearest(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Pool j with the cheapest challenger."""
    j = query.best
    best_cost = math.inf
    best_k = -1
    top = mu[j]
    weight = w[j]
    for k in range(mu.size):
        if k != j:
            cost = pair_cost(family, weight, top, w[k], mu[k])
            if cost < best_cost or best_k < 0:
                best_cost = cost
                best_k = k
    return write_pair(family, mu, w, j, best_k, lam)


@kernel
def challengers(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Pool j with each challenger."""
    if query.first >= 0:
        return alt_min(shape, family, mu, w, query, lam, work)
    j = query.best
    top = mu[j]
    weight = w[j]
    for k in range(mu.size):
        lam[k] = pair_cost(family, weight, top, w[k], mu[k])
    return 0.0


@dataclass(frozen=True, eq=False)
class Unconstrained(CompiledStructure):
    """Every mean vector is possible: the classical bandit.

    `nearest_alternative` pools the best arm with one other: O(K).

    >>> from armature.families import Gaussian
    >>> fit = Unconstrained(3).nearest_alternative([1.0, 0.0, 0.5], [1.0, 1.0, 1.0], 0, Gaussian())
    >>> fit.means.tolist(), fit.cost
    ([0.75, 0.0, 0.75], 0.0625)
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(project, alt_min, nearest, alt_min, challengers)
    convex: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[Unconstrained, ...]:
        return cls(2), cls(5)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(self.n_arms))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        return None

    def relabelled(self, order: Sequence[int]) -> Unconstrained:
        checked_order(order, self.n_arms)
        return self

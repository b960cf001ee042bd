"""Few good arms: some arms lie above a known level, all others exactly on it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Gaussian
from armature.families.kernels import total_divergence, weighted_divergence
from armature.structures._checks import (
    checked_array,
    checked_integer,
    checked_n_arms,
    checked_order,
)
from armature.structures._pooling import pooled_mean
from armature.structures._records import Cell, Floats, Ints, Oracle, Query, Shape, Work
from armature.structures._sorting import select_largest
from armature.structures._structure import CompiledStructure
from armature.structures._vectors import copy

# shape.real = [level], shape.integer = [support].
# The *gain* of an arm is what a place in the support saves: w d(mu, level) if mu > level, else 0.


@kernel
def gains(shape: Shape, family: FamilyRecord, mu: Floats, w: Floats, gain: Floats) -> None:
    """gain[i] = the gain of arm i."""
    level = shape.real[0]
    for i in range(mu.size):
        gain[i] = weighted_divergence(family, w[i], mu[i], level) if mu[i] > level else 0.0


@kernel
def write_level(shape: Shape, mu: Floats, lam: Floats) -> None:
    """All arms on the level."""
    for i in range(mu.size):
        lam[i] = shape.real[0]


@kernel
def lift(shape: Shape, mu: Floats, lam: Floats, order: Ints, m: int) -> None:
    """Give the arms order[:m] a place in the support."""
    for a in range(m):
        i = order[a]
        lam[i] = max(mu[i], shape.real[0])


@kernel
def pair_value(shape: Shape, mu: Floats, w: Floats, j: int, k: int) -> float:
    """The common value of j and k in the support, where mu_k < mu_j."""
    return max(pooled_mean(w[j], mu[j], w[k], mu[k]), float(shape.real[0]))


@kernel
def write_pair(shape: Shape, mu: Floats, w: Floats, j: int, k: int, lam: Floats) -> None:
    """Both j and k in the support, k at least as good as j."""
    if mu[k] >= mu[j]:
        lam[j] = max(mu[j], shape.real[0])
        lam[k] = max(mu[k], shape.real[0])
    else:
        lam[j] = lam[k] = pair_value(shape, mu, w, j, k)


@kernel
def others(order: Ints, K: int, j: int, k: int) -> int:
    """order[:n] = the arms other than j and k, in order; returns n."""
    n = 0
    for i in range(K):
        if i != j and i != k:
            order[n] = i
            n += 1
    return n


@kernel
def write_without(
    shape: Shape, family: FamilyRecord, mu: Floats, w: Floats, j: int, lam: Floats, work: Work
) -> float:
    """The best fit with j outside of the support (j = -1: with no such condition)."""
    order = work.integer
    n = others(order, mu.size, j, -1)
    select_largest(work.real, order, n, shape.integer[0])
    write_level(shape, mu, lam)
    lift(shape, mu, lam, order, shape.integer[0])
    return total_divergence(family, w, mu, lam)


@kernel
def write_with(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    j: int,
    k: int,
    lam: Floats,
    work: Work,
) -> float:
    """The best fit with both j and k in the support and k at least as good."""
    order = work.integer
    n = others(order, mu.size, j, k)
    select_largest(work.real, order, n, shape.integer[0] - 2)
    write_level(shape, mu, lam)
    lift(shape, mu, lam, order, shape.integer[0] - 2)
    write_pair(shape, mu, w, j, k, lam)
    return total_divergence(family, w, mu, lam)


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
    """The arms with the largest gains are the support."""
    gains(shape, family, mu, w, work.real)
    return write_without(shape, family, mu, w, -1, lam, work)


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
    """Either j leaves the support, or both are in it and k is at least as good."""
    j = query.best
    k = query.first
    gains(shape, family, mu, w, work.real)
    cost = math.inf
    if shape.integer[0] >= 2:
        cost = write_with(shape, family, mu, w, j, k, lam, work)
    trial = work.real[mu.size : 2 * mu.size]
    cost_without = write_without(shape, family, mu, w, j, trial, work)
    if cost_without <= cost:
        copy(trial, lam)
        cost = cost_without
    return cost


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
    """`alt_min` for all challengers at once, from the gains of ranks s-2, s-1 and s: O(K).

    Beside a pair j, k there is room for s - 2 arms. Rank the arms other than j by gain. If k is
    among the first s - 2, the arm of rank s - 1 takes its place.
    """
    j = query.best
    K = mu.size
    s = shape.integer[0]
    level = shape.real[0]
    gain = work.real
    order = work.integer
    gains(shape, family, mu, w, gain)
    n = others(order, K, j, -1)
    select_largest(gain, order, n, s)
    # Bring the two smallest gains of the first s arms to their end.
    for last in range(s - 1, max(s - 3, -1), -1):
        smallest = last
        for a in range(last):
            if gain[order[a]] < gain[order[smallest]]:
                smallest = a
        order[last], order[smallest] = order[smallest], order[last]
    left_out = 0.0
    for a in range(s, n):
        left_out += gain[order[a]]
    best_cost = gain[j] + left_out
    best_k = -1
    if s >= 2:
        left_out_1 = left_out + gain[order[s - 1]]
        left_out_2 = left_out_1 + gain[order[s - 2]]
        for rank in range(n):
            k = order[rank]
            if rank <= s - 2:
                cost = left_out_1
            elif gain[k] < math.inf:
                cost = left_out_2 - gain[k]
            else:
                cost = math.inf
            if mu[k] < mu[j] and mu[j] > level:
                y = pair_value(shape, mu, w, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
                if mu[k] <= level:
                    cost -= weighted_divergence(family, w[k], mu[k], level)
            if cost < best_cost:
                best_cost = cost
                best_k = k
    if best_k < 0:
        return write_without(shape, family, mu, w, j, lam, work)
    return write_with(shape, family, mu, w, j, best_k, lam, work)


@kernel
def cell_min(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """`first` leaves the given support, `second` enters it; then `second` beats j."""
    j = query.best
    write_level(shape, mu, lam)
    for i in range(mu.size):
        if i == query.second or (query.support[i] == 1 and i != query.first):
            lam[i] = max(mu[i], shape.real[0])
    if query.first != j:
        write_pair(shape, mu, w, j, query.second, lam)
    return total_divergence(family, w, mu, lam)


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
    """`alt_min` for each challenger, from sums over the arms ranked by gain as in `nearest`: O(K).

    Sums over all arms but one are put together from both ends, so that nothing cancels.
    """
    if query.first >= 0:
        return alt_min(shape, family, mu, w, query, lam, work)
    j = query.best
    K = mu.size
    s = shape.integer[0]
    level = shape.real[0]
    gain = work.real[:K]
    flat = work.real[K : 2 * K]  # the cost of an arm on the level
    after = work.real[2 * K : 3 * K]  # after[rank]: what the arms from this rank on cost
    order = work.integer
    gains(shape, family, mu, w, gain)
    for i in range(K):
        flat[i] = weighted_divergence(family, w[i], mu[i], level)
    n = others(order, K, j, -1)
    for m in range(s, max(s - 3, 0), -1):  # the arms of rank s-1 and s-2 are in their places
        select_largest(gain, order, n if m == s else m + 1, m)
    after[n] = 0.0
    for rank in range(n - 1, -1, -1):
        k = order[rank]
        inside = rank <= s - 2 and mu[k] > level
        after[rank] = after[rank + 1] + (0.0 if inside else flat[k])
    own = 0.0 if mu[j] > level else flat[j]
    without = flat[j] + after[s]
    for rank in range(s):
        without += 0.0 if mu[order[rank]] > level else flat[order[rank]]
    base = min(own + after[0], without)
    before = 0.0
    for rank in range(n):
        k = order[rank]
        alone = 0.0 if mu[k] > level else flat[k]
        lam[k] = without
        if s >= 2:
            if rank == s - 1:  # from here on k takes the place of the arm of rank s-2
                before += gain[order[s - 2]]
            cost = before + after[rank + 1]
            if mu[k] >= mu[j]:
                cost += own + alone
            else:
                y = pair_value(shape, mu, w, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
            lam[k] = min(cost, without)
        before += alone if rank <= s - 2 else flat[k]
    lam[j] = base
    return float(base)


@dataclass(frozen=True, eq=False)
class Sparse(CompiledStructure):
    """At most `support` arms lie above `level`; all others have exactly that mean, none is below.

    `nearest_alternative` ranks the arms by what their place in the support is worth: O(K).

    The cells depend on the means: with S the best support that contains the best arm, each cell
    lets `Cell.first` leave S and `Cell.second` enter it (the same arm twice: S stays), and `second`
    is at least as good as the best arm. There are at most `support * n_arms` of them.

    >>> from armature.families import Gaussian
    >>> few = Sparse(4, support=2, level=0.0)
    >>> few.project([3.0, 0.5, 2.0, -1.0], [1.0] * 4, Gaussian()).means
    array([3., 0., 2., 0.])
    >>> len(few.cells(0, [3.0, 0.5, 2.0, -1.0], [1.0] * 4, Gaussian()))
    5
    """

    n_arms: int
    support: int
    level: float

    oracle: ClassVar[Oracle] = Oracle(project, alt_min, nearest, cell_min, challengers)

    @classmethod
    def examples(cls) -> tuple[Sparse, ...]:
        return cls(2, 1, 0.3), cls(5, 1, 0.3), cls(6, 3, 0.5)

    def __post_init__(self) -> None:
        n_arms = checked_n_arms(self.n_arms)
        support = checked_integer(self.support, "support")
        level = checked_array(self.level, "level")
        if not 1 <= support < n_arms:
            raise ArmatureError(
                f"support = {support}: with {n_arms} arms it must be from 1 to {n_arms - 1}."
            )
        if level.ndim != 0:
            raise ArmatureError(f"level must be one number; got {self.level!r}.")
        object.__setattr__(self, "n_arms", n_arms)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "level", float(level))

    @functools.cached_property
    def shape(self) -> Shape:
        return Shape(np.array([self.level]), np.array([self.support], dtype=np.int64))

    @property
    def work_size(self) -> tuple[int, int]:
        return 3 * self.n_arms, self.n_arms

    def checked_family(self, family: Family) -> FamilyRecord:
        record = super().checked_family(family)
        if self.level not in family.domain:
            raise ArmatureError(
                f"level = {self.level:g} is not a mean of {type(family).__name__} rewards: "
                f"it must be in {family.domain}."
            )
        return record

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        if means is None:
            raise ArmatureError("the cells of Sparse depend on the means: give means.")
        family = Gaussian() if family is None else family
        weights = np.ones(self.n_arms) if weights is None else weights
        record = self.checked_family(family)
        j = self.checked_arm(best, "best")
        mu, w = self.checked_problem(means, weights, family)
        gain = np.empty(self.n_arms)
        gains(self.shape, record, mu, w, gain)
        gain[j] = math.inf
        ranked = [j, *(int(i) for i in np.argsort(-gain, kind="stable") if i != j)]
        inside = tuple(ranked[: self.support])
        outside = ranked[self.support :]
        stay = [Cell(j, i, i, inside) for i in inside if i != j]
        swap = [Cell(j, leaver, k, inside) for leaver in inside for k in outside]
        return (*stay, *swap)

    def checked_cell(self, cell: Cell) -> None:
        for arm in (cell.best, cell.first, cell.second, *cell.support):
            self.checked_arm(arm, "an arm of the cell")
        inside, stays = set(cell.support), cell.first == cell.second
        if not (
            len(inside) == self.support
            and {cell.best, cell.first} <= inside
            and (cell.second in inside) == stays
            and not (stays and cell.first == cell.best)
        ):
            raise ArmatureError(f"{cell} is not a cell of {self}: take one from cells(...).")

    def violation(self, means: Floats, tolerance: float) -> str | None:
        below = np.flatnonzero(means < self.level - tolerance)
        if below.size:
            i = int(below[0])
            return f"means[{i}] = {means[i]:g} is below the level {self.level:g}"
        above = np.flatnonzero(means > self.level + tolerance)
        if above.size > self.support:
            return (
                f"arms {', '.join(map(str, above))} lie above the level {self.level:g}: "
                f"{above.size} arms where at most {self.support} may"
            )
        return None

    def relabelled(self, order: Sequence[int]) -> Sparse:
        checked_order(order, self.n_arms)
        return self

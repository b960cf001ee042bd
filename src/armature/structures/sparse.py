"""Few good arms: some arms lie above a known level, all others exactly on it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats, Ints
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Interval
from armature.families.kernels import total_divergence, weighted_divergence
from armature.structures._checks import (
    checked_array,
    checked_integer,
    checked_n_arms,
    checked_order,
)
from armature.structures._pooling import pooled_mean
from armature.structures._scratch import measure
from armature.structures._sorting import select_largest
from armature.structures._sparse_best import best_min
from armature.structures._structure import Structure, overrides
from armature.structures.piece import Piece
from armature.structures.records import Cell, Oracle, Problem, Shape, Work
from armature.structures.vectors import copy, fill

# shape.real = [level], shape.integer = [support].
# The *gain* of an arm is what a place in the support saves: w d(mu, level) if mu > level, else 0.


class Scratch(NamedTuple):
    """Room for what the arms gain and cost, and for their order."""

    gain: Floats  # (K,)
    trial: Floats  # (K,)
    flat: Floats  # (K,): the cost of an arm on the level
    after: Floats  # (K,): what the arms from a rank on cost
    order: Ints  # (K,)


@kernel
def scratch_of(work: Work, K: int) -> Scratch:
    """The scratch space for K arms."""
    real = work.real
    return Scratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        work.integer[:K],
    )


@kernel
def write_gains(problem: Problem, gain: Floats) -> None:
    """gain[i] = the gain of arm i."""
    mu = problem.mu
    w = problem.w
    level = problem.shape.real[0]
    for i in range(mu.size):
        gain[i] = weighted_divergence(problem.family, w[i], mu[i], level) if mu[i] > level else 0.0


@kernel
def write_supported(level: float, mu: Floats, order: Ints, m: int, lam: Floats) -> None:
    """The arms order[:m] are the support, all others on the level."""
    fill(lam, level)
    for a in range(m):
        lam[order[a]] = max(mu[order[a]], level)


@kernel
def pair_value(problem: Problem, j: int, k: int) -> float:
    """The common value of j and k in the support, where mu_k < mu_j."""
    mu = problem.mu
    w = problem.w
    return max(pooled_mean(w[j], mu[j], w[k], mu[k]), float(problem.shape.real[0]))


@kernel
def write_pair(problem: Problem, j: int, k: int, lam: Floats) -> None:
    """Both j and k in the support, k at least as good as j."""
    mu = problem.mu
    level = problem.shape.real[0]
    if mu[k] >= mu[j]:
        lam[j] = max(mu[j], level)
        lam[k] = max(mu[k], level)
    else:
        lam[j] = lam[k] = pair_value(problem, j, k)


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
def write_without(problem: Problem, j: int, lam: Floats, gain: Floats, order: Ints) -> float:
    """The best fit with j outside of the support (j = -1: with no such condition)."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, -1)
    select_largest(gain, order, n, s)
    write_supported(problem.shape.real[0], mu, order, s, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def write_with(problem: Problem, j: int, k: int, lam: Floats, gain: Floats, order: Ints) -> float:
    """The best fit with both j and k in the support and k at least as good."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, k)
    select_largest(gain, order, n, s - 2)
    write_supported(problem.shape.real[0], mu, order, s - 2, lam)
    write_pair(problem, j, k, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def project(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The arms with the largest gains are the support."""
    room = scratch_of(problem.work, lam.size)
    write_gains(problem, room.gain)
    return write_without(problem, -1, lam, room.gain, room.order)


@kernel
def alt_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """Either j leaves the support, or both are in it and k is at least as good."""
    room = scratch_of(problem.work, lam.size)
    write_gains(problem, room.gain)
    cost = math.inf
    if problem.shape.integer[0] >= 2:
        cost = write_with(problem, first, second, lam, room.gain, room.order)
    cost_without = write_without(problem, first, room.trial, room.gain, room.order)
    if cost_without <= cost:
        copy(room.trial, lam)
        cost = cost_without
    return cost


@kernel
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """`alt_min` for all challengers at once, from the gains of ranks s-2, s-1 and s: O(K).

    Beside a pair j, k there is room for s - 2 arms. Rank the arms other than j by gain. If k is
    among the first s - 2, the arm of rank s - 1 takes its place.
    """
    j = first
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    s = problem.shape.integer[0]
    level = problem.shape.real[0]
    room = scratch_of(problem.work, K)
    gain = room.gain
    order = room.order
    write_gains(problem, gain)
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
                y = pair_value(problem, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
                if mu[k] <= level:
                    cost -= weighted_divergence(family, w[k], mu[k], level)
            if cost < best_cost:
                best_cost = cost
                best_k = k
    if best_k < 0:
        return write_without(problem, j, lam, gain, order)
    return write_with(problem, j, best_k, lam, gain, order)


@kernel
def mark_support(problem: Problem, j: int, gain: Floats) -> None:
    """marks = 1 on the best support that contains arm j, else 0."""
    marks = problem.marks
    write_gains(problem, gain)
    gain[j] = math.inf
    for k in range(gain.size):
        marks[k] = 0
    for _ in range(problem.shape.integer[0]):
        best = -1
        for k in range(gain.size):
            if marks[k] == 0 and (best < 0 or gain[k] > gain[best]):
                best = k
        marks[best] = 1


@kernel
def cells(problem: Problem, first: int, out: Ints) -> int:
    """With S the best support that contains j, cell i K + k lets i leave S and k enter it.

    If they are the same, S stays; then k beats j.
    """
    K = problem.mu.size
    mark_support(problem, first, scratch_of(problem.work, K).gain)
    marks = problem.marks
    n = 0
    for leaver in range(K):
        for k in range(K):
            is_cell = leaver != first if leaver == k else marks[k] == 0
            if marks[leaver] == 1 and is_cell:
                out[n] = leaver * K + k
                n += 1
    return n


@kernel
def cell_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """An arm leaves the marked support, another enters it and beats j."""
    mu = problem.mu
    level = problem.shape.real[0]
    leaver = second // mu.size
    k = second % mu.size
    fill(lam, level)
    for i in range(mu.size):
        if i == k or (problem.marks[i] == 1 and i != leaver):
            lam[i] = max(mu[i], level)
    if leaver != first:
        write_pair(problem, first, k, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
    """`alt_min` for each challenger, from sums over the arms ranked by gain as in `nearest`: O(K).

    Sums over all arms but one are put together from both ends, so that nothing cancels.
    """
    j = first
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    s = problem.shape.integer[0]
    level = problem.shape.real[0]
    room = scratch_of(problem.work, K)
    gain = room.gain
    flat = room.flat
    after = room.after
    order = room.order
    write_gains(problem, gain)
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
        costs[k] = without
        if s >= 2:
            if rank == s - 1:  # from here on k takes the place of the arm of rank s-2
                before += gain[order[s - 2]]
            cost = before + after[rank + 1]
            if mu[k] >= mu[j]:
                cost += own + alone
            else:
                y = pair_value(problem, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
            costs[k] = min(cost, without)
        before += alone if rank <= s - 2 else flat[k]
    costs[j] = base
    return float(base)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper end of an arm for which there is a place in the support, else the level."""
    level = shape.real[0]
    above = 0
    possible = True
    for k in range(low.size):
        possible = possible and high[k] >= level
        if low[k] > level:
            above += 1
    for k in range(low.size):
        taken = above - (1 if low[k] > level else 0)
        out[k] = high[k] if taken < shape.integer[0] else level
    return 1.0 if possible and above <= shape.integer[0] else 0.0


@dataclass(frozen=True, eq=False)
class Sparse(Structure):
    """At most `support` arms lie above `level`; all others have exactly that mean, none is below.

    Few arms are worth anything, and what the others are worth is known. `nearest_alternative` ranks
    the arms by what their place in the support is worth.

    The cells depend on the means: with S the best support that contains the best arm, each cell
    lets one arm leave S and another enter it (the same arm twice: S stays), which is then at least
    as good as the best arm. There are at most `support * n_arms` of them. `Cell.marks` is S.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    support : int
        How many arms may be above the level: from 1 to n_arms - 1. With 1, the lower bound is 0:
        the pulls of the best arm, which cost nothing, tell it from all others.
    level : float
        The mean of all other arms.

    Guarantee
    ---------
    Exact up to rounding, for every reward family; `nearest_alternative` is O(K). Compared in tests
    with a convex solver, with all supports one by one, cases worked by hand, and the closed form of
    the lower bound.

    >>> from armature.families import Gaussian
    >>> few = Sparse(4, support=2, level=0.0)
    >>> few.project([3.0, 0.5, 2.0, -1.0], [1.0] * 4, Gaussian()).means
    array([3., 0., 2., 0.])
    >>> len(few.cells(0, [3.0, 0.5, 2.0, -1.0], [1.0] * 4, Gaussian()))
    5

    References
    ----------
    Kwon, Perchet and Vernade (2017), "Sparse Stochastic Bandits".
    """

    n_arms: int
    support: int
    level: float

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=cells,
        cell_min=cell_min,
        challenger_costs=challenger_costs,
        best_min=best_min,
        highest=highest,
    )
    convex = False
    order_only = True
    challenge = "order"
    convex = False
    cells_depend_on_means = True
    arm_facts = ()

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

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(scratch_of, self.n_arms)

    @property
    def n_cells(self) -> int:
        return self.n_arms**2

    def pieces(self) -> Iterable[Piece]:
        unit = np.eye(self.n_arms)
        for inside in itertools.combinations(range(self.n_arms), self.support):
            outside = [i for i in range(self.n_arms) if i not in inside]
            above, on = np.full(self.support, -self.level), np.full(len(outside), self.level)
            yield Piece(-unit[list(inside)], above, unit[outside], on)

    def checked_family(self, family: Family) -> FamilyRecord:
        if isinstance(family, Family):
            family.check_arms(self.n_arms)
            for own in map(family.for_arm, range(self.n_arms)):
                if self.level not in own.domain:
                    name = type(own).__name__ if family.n_arms is None else str(own)
                    raise ArmatureError(
                        f"level = {self.level:g} is not a mean of {name} rewards: it must be in "
                        f"{own.domain}."
                    )
        return super().checked_family(family)

    def _meets(self, ends: tuple[Interval, ...]) -> bool:
        return True  # the level is a mean: `checked_family` has seen to it

    @property
    def few_above(self) -> tuple[int, float] | None:
        return None if overrides(self) else (self.support, self.level)

    def checked_cell(self, cell: Cell, family: Family) -> None:
        if not self.cells_depend_on(family):
            super().checked_cell(cell, family)
            return
        K, inside = self.n_arms, {i for i, mark in enumerate(cell.marks) if mark == 1}
        best = self.checked_arm(cell.best, "best")
        leaver, k = divmod(cell.number, K)
        stays = leaver == k
        if not (
            0 <= cell.number < K * K
            and len(cell.marks) == K
            and len(inside) == self.support
            and {best, leaver} <= inside
            and (k in inside) == stays
            and not (stays and leaver == best)
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

    def with_arm(self, at: int, facts: Mapping[str, Any]) -> Sparse:
        return dataclasses.replace(self, n_arms=self.n_arms + 1)

    def without_arm(self, arm: int) -> Sparse:
        return dataclasses.replace(self, n_arms=self.n_arms - 1)

    def mirrored(self, about: float) -> Sparse:
        return dataclasses.replace(self, level=about - self.level)

"""Few good arms: some arms lie above a known level, all others exactly on it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Interval
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import checked_integer, checked_number
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill
from armature.structures.oracles.records import Cell, Oracle, OracleProblem, Shape, Work, measure
from armature.structures.oracles.sparse import (
    best_min,
    challenger_costs,
    nearest,
    scratch_of,
    write_gains,
    write_pair,
    write_with,
    write_without,
)
from armature.structures.piece import Piece
from armature.structures.structure import Structure, overrides


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The arms with the largest gains are the support."""
    room = scratch_of(problem.work, lam.size)
    write_gains(problem, room.gain)
    return write_without(problem, -1, lam, room.gain, room.order)


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Either j leaves the support, or both are in it and k is at least as good.

    Paper: Appendix G.2, sparse.
    """
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
def mark_support(problem: OracleProblem, j: int, gain: Floats) -> None:
    """marks = 1 on the best support that contains arm j, else 0."""
    marks = problem.marks
    write_gains(problem, gain)
    gain[j] = math.inf
    for k in range(gain.size):
        marks[k] = 0
    for _ in range(problem.shape.integer[0]):  # the marked arms have the largest gains
        best = -1
        for k in range(gain.size):
            if marks[k] == 0 and (best < 0 or gain[k] > gain[best]):
                best = k
        marks[best] = 1


@kernel
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """With S the best support that contains j, cell i K + k lets i leave S and k enter it.

    If they are the same, S stays; then k beats j.
    """
    K = problem.mu.size
    mark_support(problem, first, scratch_of(problem.work, K).gain)
    marks = problem.marks
    n = 0
    for leaver in range(K):  # out[:n]: the cells of leavers before this
        for k in range(K):
            is_cell = leaver != first if leaver == k else marks[k] == 0
            if marks[leaver] == 1 and is_cell:
                out[n] = leaver * K + k
                n += 1
    return n


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """An arm leaves the marked support, another enters it and beats j.

    Paper: Lemma 9.
    """
    mu = problem.mu
    level = problem.shape.real[0]
    leaver = second // mu.size
    k = second % mu.size
    fill(lam, level)
    for i in range(mu.size):  # lam: the support before i at its means, all others on the level
        if i == k or (problem.marks[i] == 1 and i != leaver):
            lam[i] = max(mu[i], level)
    if leaver != first:
        write_pair(problem, first, k, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper end of an arm for which there is a place in the support, else the level."""
    level = shape.real[0]
    above = 0
    possible = True
    for k in range(low.size):  # above: how many before k must be in the support
        possible = possible and high[k] >= level
        if low[k] > level:
            above += 1
    for k in range(low.size):
        taken = above - (1 if low[k] > level else 0)
        out[k] = high[k] if taken < shape.integer[0] else level
    return 1.0 if possible and above <= shape.integer[0] else 0.0


@dataclass(frozen=True, eq=False, repr=False)
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

    Limits
    ------
    No mean may be below the level.

    References
    ----------
    Kwon, Perchet and Vernade (2017), "Sparse Stochastic Bandits".
    Paper: Appendix F, sparse; Lemma 9.
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
    arm_facts = arm_fields = ()
    exchangeable = True
    orders_arms = False
    cells_depend_on_means = True

    @classmethod
    def examples(cls) -> tuple[Sparse, ...]:
        return cls(2, 1, 0.3), cls(5, 1, 0.3), cls(6, 3, 0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_arms, support = self.n_arms, checked_integer(self.support, "support")
        if not 1 <= support < n_arms:
            raise ArmatureError(
                f"support = {support}: with {n_arms} arms it must be from 1 to {n_arms - 1}."
            )
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "level", checked_number(self.level, "level"))

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
    def lone_level(self) -> float | None:
        return self.level if self.support == 1 and not overrides(self) else None

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

    def mirrored(self, about: float) -> Sparse:
        return dataclasses.replace(self, level=about - self.level)

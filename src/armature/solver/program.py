"""A dense convex program: a cost, a polyhedron, and workspace to solve it."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill


class Cost(NamedTuple):
    """F(lam) = sum_i w_i d(mu_i, lam_i)."""

    family: FamilyRecord
    mu: Floats
    w: Floats


class Rows(NamedTuple):
    """Linear constraints on lam in compressed rows: sum values * lam[indices] >= right.

    The first `equalities` rows hold with equality. Every row has Euclidean norm 1.
    """

    start: Ints
    indices: Ints
    values: Floats
    right: Floats
    equalities: int


class Limits(NamedTuple):
    """The other constraints; a negative number stands for no arm.

    low[a] <= lam[a] <= high[a] for every arm, where -inf and inf are no limits; lam[k] >= lam[j];
    lam[i] >= lam[j]; lam[top] >= lam[a] for every arm a.
    """

    low: Floats
    high: Floats
    j: int
    k: int
    i: int
    top: int


class Region(NamedTuple):
    """A polyhedron: the lam = B y for which rows and limits hold; an empty basis is the identity.

    Its constraints have numbers: m rows, K lower and K upper limits, two pairs, K for the top arm.
    """

    rows: Rows
    limits: Limits
    basis: Floats  # (K, n), or (0, 0)


class ConvexScratch(NamedTuple):
    """Room for `minimise`."""

    g: Floats  # (K,)
    h: Floats  # (K,)
    trial: Floats  # (K,)
    low: Floats  # (K,)
    high: Floats  # (K,)
    y: Floats  # (n,)
    model: Floats  # (n, n)


@kernel
def scratch_size(n: int, K: int) -> int:
    """The number of floats that `minimise` takes besides its state."""
    return 5 * K + n + n * n


@kernel
def nearest_scratch_size(n: int, K: int) -> int:
    """The number of floats that `nearest_of` takes besides its states."""
    return 3 * K + (5 * K + n + n * n)


@kernel
def make_scratch(real: Floats, n: int, K: int) -> ConvexScratch:
    """Lay the room over scratch space."""
    return ConvexScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[4 * K : 5 * K],
        real[5 * K : 5 * K + n],
        real[5 * K + n : 5 * K + n + n * n].reshape(n, n),
    )


@kernel
def mark_infeasible(lam: Floats) -> float:
    """Nothing is feasible: no means, and an infinite cost."""
    fill(lam, math.nan)
    return math.inf


@kernel
def write_means(basis: Floats, y: Floats, lam: Floats) -> None:
    """lam = B y, where an empty basis stands for the identity."""
    if basis.shape[0] == 0:
        copy(y, lam)
        return
    for i in range(lam.size):  # lam: set for the arms before i
        total = 0.0
        for a in range(y.size):
            total += basis[i, a] * y[a]
        lam[i] = total


@inlined
def slack(region: Region, lam: Floats, constraint: int) -> float:
    """The slack of a constraint; negative where it is violated."""
    rows = region.rows
    limits = region.limits
    m = rows.right.size
    K = lam.size
    if constraint < m:
        total = -float(rows.right[constraint])
        # total: the entries before a
        for a in range(rows.start[constraint], rows.start[constraint + 1]):
            total += rows.values[a] * lam[rows.indices[a]]
        return total
    if constraint < m + K:
        return float(lam[constraint - m] - limits.low[constraint - m])
    if constraint < m + 2 * K:
        return float(limits.high[constraint - m - K] - lam[constraint - m - K])
    upper, lower = ordered_arms(limits, constraint - m - 2 * K)
    return float(lam[upper] - lam[lower])


@kernel
def ordered_arms(limits: Limits, number: int) -> tuple[int, int]:
    """The order of arms, as rows "this is at least that": pairs first, then those below the top."""
    if number == 0:
        return limits.k, limits.j
    if number == 1:
        return limits.i, limits.j
    return limits.top, number - 2


@kernel
def n_entries(rows: Rows, K: int, constraint: int) -> int:
    """On how many arms a constraint depends."""
    m = rows.right.size
    if constraint < m:
        return int(rows.start[constraint + 1] - rows.start[constraint])
    return 1 if constraint < m + 2 * K else 2


@kernel
def entry(region: Region, K: int, constraint: int, number: int) -> tuple[int, float]:
    """An arm that a constraint depends on, and its coefficient."""
    rows = region.rows
    m = rows.right.size
    if constraint < m:
        at = rows.start[constraint] + number
        return int(rows.indices[at]), float(rows.values[at])
    if constraint < m + K:
        return constraint - m, 1.0
    if constraint < m + 2 * K:
        return constraint - m - K, -1.0
    upper, lower = ordered_arms(region.limits, constraint - m - 2 * K)
    if number == 0:
        return upper, 1.0
    return lower, -1.0


@inlined
def add_row(region: Region, constraint: int, factor: float, gradient: Floats) -> None:
    """gradient += factor * (the gradient of a constraint in lam)."""
    rows = region.rows
    m = rows.right.size
    K = gradient.size
    if constraint < m:
        # the entries before a are in
        for a in range(rows.start[constraint], rows.start[constraint + 1]):
            gradient[rows.indices[a]] += factor * rows.values[a]
    elif constraint < m + K:
        gradient[constraint - m] += factor
    elif constraint < m + 2 * K:
        gradient[constraint - m - K] -= factor
    else:
        upper, lower = ordered_arms(region.limits, constraint - m - 2 * K)
        gradient[upper] += factor
        gradient[lower] -= factor


@kernel
def add_arm(basis: Floats, arm: int, factor: float, normal: Floats) -> None:
    """normal += factor * (row `arm` of B)."""
    if basis.shape[0] == 0:
        normal[arm] += factor
    else:
        for a in range(normal.size):  # the entries before a are in
            normal[a] += factor * basis[arm, a]


@kernel
def write_normal(region: Region, K: int, constraint: int, sign: float, normal: Floats) -> None:
    """The gradient of a constraint in y, times the sign."""
    rows = region.rows
    basis = region.basis
    m = rows.right.size
    fill(normal, 0.0)
    if constraint < m:
        for a in range(rows.start[constraint], rows.start[constraint + 1]):
            add_arm(basis, rows.indices[a], sign * rows.values[a], normal)
    elif constraint < m + K:
        add_arm(basis, constraint - m, sign, normal)
    elif constraint < m + 2 * K:
        add_arm(basis, constraint - m - K, -sign, normal)
    else:
        upper, lower = ordered_arms(region.limits, constraint - m - 2 * K)
        add_arm(basis, upper, sign, normal)
        add_arm(basis, lower, -sign, normal)

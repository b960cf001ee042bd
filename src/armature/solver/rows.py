"""The constraints of a dense program: sparse rows, orders of two arms, limits of single arms."""

from __future__ import annotations

from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill


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


@kernel
def write_means(basis: Floats, y: Floats, lam: Floats) -> None:
    """lam = B y, where an empty basis stands for the identity."""
    if basis.shape[0] == 0:
        copy(y, lam)
        return
    for i in range(lam.size):
        total = 0.0
        for a in range(y.size):
            total += basis[i, a] * y[a]
        lam[i] = total


@inlined
def slack(rows: Rows, limits: Limits, lam: Floats, constraint: int) -> float:
    """How much room a constraint leaves; negative where it is violated."""
    m = rows.right.size
    K = lam.size
    if constraint < m:
        total = -float(rows.right[constraint])
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
    """Which arm is at least as good as which: the pairs first, then those below the top."""
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
def entry(rows: Rows, limits: Limits, K: int, constraint: int, number: int) -> tuple[int, float]:
    """An arm that a constraint depends on, and its coefficient."""
    m = rows.right.size
    if constraint < m:
        at = rows.start[constraint] + number
        return int(rows.indices[at]), float(rows.values[at])
    if constraint < m + K:
        return constraint - m, 1.0
    if constraint < m + 2 * K:
        return constraint - m - K, -1.0
    upper, lower = ordered_arms(limits, constraint - m - 2 * K)
    if number == 0:
        return upper, 1.0
    return lower, -1.0


@inlined
def add_row(rows: Rows, limits: Limits, constraint: int, factor: float, gradient: Floats) -> None:
    """gradient += factor * (the gradient of a constraint in lam)."""
    m = rows.right.size
    K = gradient.size
    if constraint < m:
        for a in range(rows.start[constraint], rows.start[constraint + 1]):
            gradient[rows.indices[a]] += factor * rows.values[a]
    elif constraint < m + K:
        gradient[constraint - m] += factor
    elif constraint < m + 2 * K:
        gradient[constraint - m - K] -= factor
    else:
        upper, lower = ordered_arms(limits, constraint - m - 2 * K)
        gradient[upper] += factor
        gradient[lower] -= factor


@kernel
def add_arm(basis: Floats, arm: int, factor: float, normal: Floats) -> None:
    """normal += factor * (row `arm` of B)."""
    if basis.shape[0] == 0:
        normal[arm] += factor
    else:
        for a in range(normal.size):
            normal[a] += factor * basis[arm, a]


@kernel
def write_normal(
    rows: Rows, limits: Limits, basis: Floats, K: int, constraint: int, sign: float, normal: Floats
) -> None:
    """The gradient of a constraint in y, times the sign."""
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
        upper, lower = ordered_arms(limits, constraint - m - 2 * K)
        add_arm(basis, upper, sign, normal)
        add_arm(basis, lower, -sign, normal)

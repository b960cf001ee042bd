"""The simplex method, one column at a time: the state of the solver in `allocation`.

    max_q  sum_i q_i   subject to   sum_i q_i d(mu_k, lam^i_k) <= gap_k  for all arms k.

A column is an alternative lam^i as information sees it, d(mu_k, lam^i_k) for each arm k, or the
slack of an arm. The prices of the arms are an allocation of pulls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import largest

SLACK = 1e-11  # how negative a basic variable may become, relative to the largest
ROUNDING = 1e-10  # how negative a price may be, relative to the largest


class Tableau(NamedTuple):
    """The state of the simplex method for K arms."""

    inverse: Floats  # (K, K): of the basis
    columns: Floats  # (K, K): row r is the column in place r of the basis
    alternatives: Floats  # (K, K): row r is the alternative behind it
    amounts: Floats  # (K,): the basic variables, q or slacks
    is_slack: Ints  # (K,): 1 where place r holds a slack
    unit: Floats  # (1,): of divergence; columns are divided by it, amounts are multiplied
    closed: Ints  # (K,): 1 for a challenger that is left out; see `nearest_open`
    vectors: Floats  # (6, K): scratch
    scratch: Floats  # (K, K)


def make_tableau(K: int, unit: float = 1.0) -> Tableau:
    """An empty tableau for K arms.

    Slacks are of the size of gaps, the other amounts of gaps over divergences: a unit of the size
    of the divergences keeps them comparable.
    """
    return Tableau(
        inverse=np.zeros((K, K)),
        columns=np.zeros((K, K)),
        alternatives=np.zeros((K, K)),
        amounts=np.zeros(K),
        is_slack=np.zeros(K, dtype=np.int64),
        unit=np.full(1, unit),
        closed=np.zeros(K, dtype=np.int64),
        vectors=np.zeros((6, K)),
        scratch=np.zeros((K, K)),
    )


@kernel
def reset_tableau(tableau: Tableau, gaps: Floats) -> None:
    """Only slacks: q = 0."""
    K = gaps.size
    for r in range(K):  # the places before r hold their slacks
        tableau.amounts[r] = gaps[r]
        tableau.is_slack[r] = 1
        for k in range(K):
            same = 1.0 if r == k else 0.0
            tableau.inverse[r, k] = same
            tableau.columns[r, k] = same
            tableau.alternatives[r, k] = 0.0


@kernel
def write_prices(tableau: Tableau, N: Floats) -> None:
    """N = the prices of the arms: the sum of the inverse's rows that hold alternatives."""
    K = N.size
    for k in range(K):
        N[k] = 0.0
    for r in range(K):  # N: the sum of the rows before r
        if tableau.is_slack[r] == 0:
            for k in range(K):
                N[k] += tableau.inverse[r, k]


@kernel
def pivot(tableau: Tableau, column: Floats, lam: Floats, is_slack: int) -> bool:
    """Let a column enter the basis; False where nothing limits it."""
    K = column.size
    direction = tableau.vectors[4]
    for r in range(K):
        total = 0.0
        size = 0.0
        for k in range(K):
            total += tableau.inverse[r, k] * column[k]
            size += abs(tableau.inverse[r, k] * column[k])
        direction[r] = total if abs(total) > 1e-13 * size else 0.0
    # Harris's rule: among the rows that limit the step up to a tolerance, take the largest pivot.
    # (Alternatives that are nearly alike make tiny pivots common, and tiny pivots make nonsense.)
    scale = largest(tableau.amounts)
    limit = math.inf
    for r in range(K):
        if direction[r] > 0.0:
            limit = min(limit, (max(0.0, tableau.amounts[r]) + SLACK * scale) / direction[r])
    leaving = -1
    for r in range(K):
        if direction[r] > 0.0 and tableau.amounts[r] <= limit * direction[r]:
            if leaving < 0 or direction[r] > direction[leaving]:
                leaving = r
    if leaving < 0:
        return False
    step = max(0.0, tableau.amounts[leaving]) / direction[leaving]
    for r in range(K):
        if r != leaving:
            tableau.amounts[r] = max(0.0, tableau.amounts[r] - step * direction[r])
            factor = direction[r] / direction[leaving]
            for k in range(K):
                tableau.inverse[r, k] -= factor * tableau.inverse[leaving, k]
    for k in range(K):
        tableau.inverse[leaving, k] /= direction[leaving]
        tableau.columns[leaving, k] = column[k]
        tableau.alternatives[leaving, k] = lam[k]
    tableau.amounts[leaving] = step
    tableau.is_slack[leaving] = is_slack
    return True


@kernel
def refactor(tableau: Tableau, gaps: Floats) -> None:
    """Invert the basis afresh (Gauss-Jordan): many pivots on similar columns lose digits."""
    K = gaps.size
    basis = tableau.scratch
    inverse = tableau.inverse
    for k in range(K):
        for r in range(K):
            basis[k, r] = tableau.columns[r, k]
            inverse[k, r] = 1.0 if k == r else 0.0
    for c in range(K):  # the columns before c of `basis` are unit vectors
        row = c
        for k in range(c + 1, K):
            if abs(basis[k, c]) > abs(basis[row, c]):
                row = k
        if basis[row, c] == 0.0:
            return
        for r in range(K):
            basis[c, r], basis[row, r] = basis[row, r], basis[c, r]
            inverse[c, r], inverse[row, r] = inverse[row, r], inverse[c, r]
        scale = basis[c, c]
        for r in range(K):
            basis[c, r] /= scale
            inverse[c, r] /= scale
        for k in range(K):
            factor = basis[k, c]
            if k != c and factor != 0.0:
                for r in range(K):
                    basis[k, r] -= factor * basis[c, r]
                    inverse[k, r] -= factor * inverse[c, r]
    for r in range(K):
        total = 0.0
        for k in range(K):
            total += inverse[r, k] * gaps[k]
        tableau.amounts[r] = max(0.0, total)


@kernel
def lower_value(tableau: Tableau, gaps: Floats, best: int) -> float:
    """sum q, after scaling q down where rounding has made it infeasible.

    What costs nothing limits nothing: the best arm, or any where `best` is -1.
    """
    K = gaps.size
    excess = 1.0
    total = 0.0
    for k in range(K):  # excess: of the arms before k
        if gaps[k] == 0.0 and (k == best or best < 0):
            continue
        used = 0.0
        for r in range(K):
            if tableau.is_slack[r] == 0:
                used += tableau.amounts[r] * tableau.columns[r, k]
        excess = max(excess, used / gaps[k])
    for r in range(K):
        if tableau.is_slack[r] == 0:
            total += tableau.amounts[r]
    return float(total / excess / tableau.unit[0])


@kernel
def enter_slack(tableau: Tableau, N: Floats) -> int:
    """Let the slack of an arm enter whose price N is negative: 1 if it did, -1 if it could not.

    0 where no price is negative.
    """
    column = tableau.vectors[3]
    heaviest = 0.0
    cheapest = 0
    for k in range(N.size):  # heaviest, cheapest: of the arms before k
        heaviest = max(heaviest, N[k])
        if N[k] < N[cheapest]:
            cheapest = k
    if not N[cheapest] < -ROUNDING * heaviest:
        return 0
    for k in range(N.size):
        column[k] = 1.0 if k == cheapest else 0.0
    return 1 if pivot(tableau, column, tableau.vectors[2], 1) else -1

"""The cheapest exploration that tells an instance from all its alternatives.

    V  =  min_N  sum_k N_k gap_k   subject to  sum_k N_k d(mu_k, lam_k) >= 1  for all lam in Lambda,
       =  max_q  sum_i q_i         subject to  sum_i q_i d(mu_k, lam^i_k) <= gap_k  for all arms k,

where Lambda is `not *` and q weighs finitely many of its points. The second problem is solved by
the simplex method, one column (an alternative) at a time: the prices N of the current solution say
how much each arm should be pulled, and the oracle answers with the alternative that this tells
apart the worst. It enters, until no alternative violates the first problem's constraint.

So each step has a feasible q (a lower bound on V) and an allocation that can be scaled to be
feasible (an upper bound): the gap between them is certified, not estimated.

The best arm's pulls cost nothing unless its gap is perturbed: then it is given so much weight that
alternatives leave its mean alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature._compile import kernel
from armature.arrays import Floats, Ints
from armature.families.kernels import divergence
from armature.structures.model import Model, nearest_alternative, nearest_with
from armature.structures.vectors import largest

CERTIFIED = 0
NO_ALTERNATIVE = 1
UNCERTIFIED = 2

# All relative to the accuracy that is asked for:
FREE_WEIGHT = 10.0  # the inverse of the best arm's weight, per heaviest other, where it is free
STILL = 0.03  # the share of a cost that the best arm may have for its mean to count as unmoved
TRACE = 0.03  # the share of the regret that is spread over all arms
MOST_WEIGHT = 1e13  # the best arm's weight at the most
LARGEST = 1e8  # a divergence that counts as infinite
REFACTOR = 30  # pivots between two computations of the inverse
SLACK = 1e-11  # how negative a basic variable may become, relative to the largest
SMOOTHING = 1e-2  # the share of the regret, while looking for the first alternatives


class Tableau(NamedTuple):
    """The state of the simplex method for K arms."""

    inverse: Floats  # (K, K): of the basis
    columns: Floats  # (K, K): row r is the column in place r of the basis
    alternatives: Floats  # (K, K): row r is the alternative behind it
    amounts: Floats  # (K,): the basic variables, q or slacks
    is_slack: Ints  # (K,): 1 where place r holds a slack
    vectors: Floats  # (5, K): scratch
    scratch: Floats  # (K, K)


@kernel
def reset_tableau(tableau: Tableau, gaps: Floats) -> None:
    """Only slacks: q = 0."""
    K = gaps.size
    for r in range(K):
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
    for r in range(K):
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
    for c in range(K):
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
    """sum q, after scaling q down where rounding has made it infeasible."""
    K = gaps.size
    excess = 1.0
    total = 0.0
    for k in range(K):
        if k == best and gaps[k] == 0.0:
            continue
        used = 0.0
        for r in range(K):
            if tableau.is_slack[r] == 0:
                used += tableau.amounts[r] * tableau.columns[r, k]
        excess = max(excess, used / gaps[k])
    for r in range(K):
        if tableau.is_slack[r] == 0:
            total += tableau.amounts[r]
    return total / excess


@kernel
def spend(N: Floats, gaps: Floats, share: float, w: Floats) -> None:
    """w = N, plus a small share of its regret spread evenly over the arms."""
    K = N.size
    regret = 0.0
    for k in range(K):
        regret += max(0.0, N[k]) * gaps[k]
    for k in range(K):
        w[k] = max(0.0, N[k])
        if gaps[k] > 0.0:
            w[k] += share * regret / (K * gaps[k])


@kernel
def start_warm(
    model: Model,
    mu: Floats,
    gaps: Floats,
    best: int,
    tolerance: float,
    pulls: Floats,
    tableau: Tableau,
) -> bool:
    """Let each challenger's nearest alternative for a guess of the pulls enter the basis.

    If the guess is the solution for means close by, these are nearly the alternatives that bind.
    False where none has entered.
    """
    K = mu.size
    family = model.family
    N = tableau.vectors[0]
    w = tableau.vectors[1]
    lam = tableau.vectors[2]
    column = tableau.vectors[3]
    free = gaps[best] == 0.0
    spend(pulls, gaps, SMOOTHING, w)
    heaviest = largest(w)
    entered = False
    for challenger in range(K):
        if challenger == best:
            continue
        if free:
            w[best] = 10.0 * FREE_WEIGHT / tolerance * heaviest
        value = nearest_with(model, mu, w, best, challenger, lam)
        moved = w[best] * divergence(family, mu[best], lam[best]) if free else 0.0
        while STILL * tolerance * value < moved < value and w[best] < MOST_WEIGHT * heaviest:
            w[best] *= 10.0
            value = nearest_with(model, mu, w, best, challenger, lam)
            moved = w[best] * divergence(family, mu[best], lam[best])
        if value == math.inf or moved > STILL * tolerance * value:
            continue  # not an alternative that keeps the best mean: `allocate` will find one
        write_prices(tableau, N)
        told_apart = 0.0
        for k in range(K):
            column[k] = min(divergence(family, mu[k], lam[k]), LARGEST)
            if free and k == best:
                column[k] = 0.0
            told_apart += N[k] * column[k]
        if told_apart < 1.0:
            lam[best] = mu[best] if free else lam[best]
            entered = pivot(tableau, column, lam, 0) or entered
    return entered


@kernel
def allocate(
    model: Model,
    mu: Floats,
    gaps: Floats,
    best: int,
    tolerance: float,
    steps: int,
    warm: bool,
    pulls: Floats,
    bounds: Floats,
    tableau: Tableau,
) -> int:
    """Solve for an allocation: `pulls`, with bounds[0] <= V <= bounds[1] = its cost.

    gaps[best] = 0 leaves the best arm free (its entry in `pulls` is 0); gaps[best] > 0 is the
    perturbed problem. If warm, `pulls` comes in as a guess, of which `start_warm` makes use.
    """
    K = mu.size
    family = model.family
    free = gaps[best] == 0.0
    N = tableau.vectors[0]
    w = tableau.vectors[1]
    lam = tableau.vectors[2]
    column = tableau.vectors[3]
    reset_tableau(tableau, gaps)
    bounds[0] = 0.0
    bounds[1] = math.inf
    smooth = True
    freedom = FREE_WEIGHT / tolerance
    if warm:
        warm = largest(pulls) > 0.0 and start_warm(model, mu, gaps, best, tolerance, pulls, tableau)
    # With no weight at all, an arm's mean may go where its divergence is infinite, if there is such
    # a place.
    trace = 0.0 if family.gaussian else TRACE * tolerance
    pivots = 0  # since the inverse was last computed afresh
    for step in range(steps):
        write_prices(tableau, N)
        heaviest = 0.0
        cheapest = 0
        for k in range(K):
            heaviest = max(heaviest, N[k])
            if N[k] < N[cheapest]:
                cheapest = k
        if N[cheapest] < -1e-10 * heaviest:
            for k in range(K):
                column[k] = 1.0 if k == cheapest else 0.0
            if not pivot(tableau, column, lam, 1):
                return UNCERTIFIED
            continue
        if warm or step > 0:
            spend(N, gaps, SMOOTHING if smooth else trace, w)
        else:
            for k in range(K):
                w[k] = 1.0
        heaviest = largest(w)
        if free:
            w[best] = freedom * heaviest
        value = nearest_alternative(model, mu, w, best, lam)
        moved = w[best] * divergence(family, mu[best], lam[best]) if free else 0.0
        while moved > STILL * tolerance * value and freedom < MOST_WEIGHT and value < math.inf:
            freedom *= 10.0
            w[best] = freedom * heaviest
            value = nearest_alternative(model, mu, w, best, lam)
            moved = w[best] * divergence(family, mu[best], lam[best])
        if value == math.inf or moved > 0.5 * value > 0.0:
            # Nothing but a move of the best arm itself makes another arm best.
            bounds[1] = 0.0
            for k in range(K):
                pulls[k] = 0.0
            return NO_ALTERNATIVE
        paid = 0.0
        for k in range(K):
            column[k] = min(divergence(family, mu[k], lam[k]), LARGEST)
            paid += w[k] * gaps[k]
        if free:
            column[best] = 0.0
            lam[best] = mu[best]
        if value > 0.0 and paid / value < bounds[1]:
            bounds[1] = paid / value
            for k in range(K):
                pulls[k] = w[k] / value if not (free and k == best) else 0.0
        bounds[0] = max(bounds[0], lower_value(tableau, gaps, best))
        if bounds[1] < math.inf and abs(bounds[1] - bounds[0]) <= tolerance * bounds[1]:
            return CERTIFIED
        told_apart = 0.0
        for k in range(K):
            told_apart += N[k] * column[k]
        if told_apart >= 1.0 - 0.1 * tolerance:
            if not smooth:
                if pivots == 0:
                    return UNCERTIFIED  # optimal up to rounding, yet not as close as asked for
                refactor(tableau, gaps)
                pivots = 0
            smooth = False
            continue
        if not pivot(tableau, column, lam, 0):
            return UNCERTIFIED
        pivots += 1
        if pivots == REFACTOR:
            refactor(tableau, gaps)
            pivots = 0
    return UNCERTIFIED

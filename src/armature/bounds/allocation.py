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

from armature.bounds.tableau import (
    Tableau,
    enter_slack,
    lower_value,
    pivot,
    refactor,
    reset_tableau,
    write_prices,
)
from armature.families.kernels import divergence, of_arm
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill, largest
from armature.structures.oracles.model import (
    Model,
    nearest_alternative,
    nearest_challenger,
    nearest_with,
)

CERTIFIED = 0
NO_ALTERNATIVE = 1
UNCERTIFIED = 2

# All relative to the accuracy that is asked for:
FREE_WEIGHT = 10.0  # the inverse of the best arm's weight, per heaviest other, where it is free
STILL = 0.03  # the share of a cost that the best arm may have for its mean to count as unmoved
TRACE = 0.03  # the share of the regret that is spread over all arms
MOST_WEIGHT = 1e13  # the best arm's weight at the most
INFINITE = 1e100  # stands for an infinite divergence, in a column that no weight may come from
REFACTOR = 30  # pivots between two computations of the inverse
SMOOTHING = 1e-2  # the share of the regret, while looking for the first alternatives


class Task(NamedTuple):
    """The program to solve, and its precision.

    gaps[best] = 0 leaves the best arm free (its entry in the pulls is 0); gaps[best] > 0 is the
    perturbed problem. In a table, of many segments, best = -1: every cell with a gap of 0 is free.
    """

    mu: Floats
    gaps: Floats
    best: int
    tolerance: float  # the relative difference between the bounds that is asked for
    steps: int  # at most so many columns


@inlined
def is_free(task: Task, k: int) -> bool:
    """True if pulls of an arm cost nothing, so that its mean has to stay."""
    return bool(task.gaps[k] == 0.0 and (k == task.best or task.best < 0))


class Solution(NamedTuple):
    """Arrays for the answer: bounds[0] <= V <= bounds[1], which is the cost of the pulls."""

    pulls: Floats  # (K,): comes in as a guess, for a warm start
    bounds: Floats  # (2,)
    tableau: Tableau


class AlternativeCost(NamedTuple):
    """The alternative in the tableau's scratch, for the weights there."""

    value: float  # what it costs
    moved: float  # the part of that which is for moving the best arm's mean, where that is free
    freedom: float  # the best arm's weight, per heaviest other


@kernel
def spend(N: Floats, gaps: Floats, share: float, w: Floats) -> None:
    """w = N, plus a small share of its regret spread evenly over the arms."""
    K = N.size
    regret = 0.0
    for k in range(K):  # regret: of the arms before k
        regret += max(0.0, N[k]) * gaps[k]
    for k in range(K):
        w[k] = max(0.0, N[k])
        if gaps[k] > 0.0:
            w[k] += share * regret / (K * gaps[k])


@kernel
def nearest_open(model: Model, mu: Floats, best: int, tableau: Tableau) -> float:
    """The nearest alternative for the weights in the tableau; its cost.

    If any challenger is closed (or the best arm is marked, as no challenger to itself), the others
    are asked one by one.
    """
    w = tableau.vectors[1]
    lam = tableau.vectors[2]
    one_by_one = False
    for k in range(mu.size):
        one_by_one = one_by_one or tableau.closed[k] == 1
    if not one_by_one:
        return nearest_alternative(model, mu, w, best, lam)
    trial = tableau.vectors[5]
    least = math.inf
    fill(lam, math.nan)
    for k in range(mu.size):  # lam: the nearest with a challenger before k
        if k != best and tableau.closed[k] == 0:
            cost = nearest_with(model, mu, w, best, k, trial)
            if cost < least:
                least = cost
                copy(trial, lam)
    return least


@kernel
def find_alternative(model: Model, task: Task, freedom: float, tableau: Tableau) -> AlternativeCost:
    """The nearest alternative; where the best arm is free, with so much weight that it stays."""
    mu = task.mu
    best = task.best
    w = tableau.vectors[1]
    lam = tableau.vectors[2]
    heaviest = largest(w)
    hold_free(task, freedom * heaviest, w)
    value = nearest_open(model, mu, best, tableau)
    moved = cost_of_free(model, task, w, lam)
    # value, moved: at this freedom
    while moved > STILL * task.tolerance * value and freedom < MOST_WEIGHT and value < math.inf:
        freedom *= 10.0
        hold_free(task, freedom * heaviest, w)
        value = nearest_open(model, mu, best, tableau)
        moved = cost_of_free(model, task, w, lam)
    return AlternativeCost(value, moved, freedom)


@kernel
def hold_free(task: Task, weight: float, w: Floats) -> None:
    """Give the arms whose means have to stay a weight."""
    for k in range(w.size):
        if is_free(task, k):
            w[k] = weight


@kernel
def cost_of_free(model: Model, task: Task, w: Floats, lam: Floats) -> float:
    """The cost of moving the free arms all the same."""
    moved = 0.0
    for k in range(w.size):  # moved: of the arms before k
        if is_free(task, k):
            moved += w[k] * divergence(of_arm(model.family, k), task.mu[k], lam[k])
    return moved


@kernel
def write_column(model: Model, task: Task, tableau: Tableau) -> None:
    """column[k] = d(mu_k, lam_k) in the tableau's unit; a free best arm is put back and has 0."""
    lam = tableau.vectors[2]
    column = tableau.vectors[3]
    for k in range(task.mu.size):  # column: set for the arms before k
        told = divergence(of_arm(model.family, k), task.mu[k], lam[k]) / tableau.unit[0]
        column[k] = min(told, INFINITE)
        if is_free(task, k):
            column[k] = 0.0
            lam[k] = task.mu[k]


@kernel
def total_information(N: Floats, column: Floats) -> float:
    """sum_k N_k column_k: how well pulls N tell an alternative from the truth."""
    total = 0.0
    for k in range(N.size):  # total: over the arms before k
        total += N[k] * column[k]
    return total


@kernel
def start_warm(model: Model, task: Task, solution: Solution) -> bool:
    """Let each challenger's nearest alternative for a guess of the pulls enter the basis.

    If the guess is the solution for means close by, these are nearly the alternatives that bind.
    False where none has entered.
    """
    mu, gaps, best, tolerance, _ = task
    tableau = solution.tableau
    family = of_arm(model.family, best)
    N = tableau.vectors[0]
    w = tableau.vectors[1]
    lam = tableau.vectors[2]
    column = tableau.vectors[3]
    free = gaps[best] == 0.0
    spend(solution.pulls, gaps, SMOOTHING, w)
    heaviest = largest(w)
    entered = False
    for challenger in range(mu.size):
        if challenger == best:
            continue
        if free:
            w[best] = 10.0 * FREE_WEIGHT / tolerance * heaviest
        value = nearest_challenger(model, mu, w, best, challenger, lam)
        moved = w[best] * divergence(family, mu[best], lam[best]) if free else 0.0
        while STILL * tolerance * value < moved < value and w[best] < MOST_WEIGHT * heaviest:
            w[best] *= 10.0
            value = nearest_challenger(model, mu, w, best, challenger, lam)
            moved = w[best] * divergence(family, mu[best], lam[best])
        if value == math.inf or moved > STILL * tolerance * value:
            continue  # not an alternative that keeps the best mean: one will be found later
        write_prices(tableau, N)
        write_column(model, task, tableau)
        if total_information(N, column) < 1.0:
            entered = pivot(tableau, column, lam, 0) or entered
    return entered


@kernel
def raise_bounds(task: Task, value: float, solution: Solution) -> bool:
    """Note the bounds that the weights and the basis give; whether they have met."""
    gaps = task.gaps
    bounds = solution.bounds
    w = solution.tableau.vectors[1]
    paid = 0.0
    for k in range(gaps.size):  # paid: for the arms before k
        paid += w[k] * gaps[k]
    if value > 0.0 and paid / value < bounds[1]:
        bounds[1] = paid / value
        for k in range(gaps.size):
            solution.pulls[k] = 0.0 if is_free(task, k) else w[k] / value
    bounds[0] = max(bounds[0], lower_value(solution.tableau, gaps, task.best))
    lower = bounds[0]
    upper = bounds[1]
    return bool(upper < math.inf and abs(upper - lower) <= task.tolerance * upper)


@kernel
def allocate(model: Model, task: Task, solution: Solution) -> int:
    """Solve for an allocation: CERTIFIED, UNCERTIFIED or NO_ALTERNATIVE (then V = 0).

    Paper: Eq. (1); Eq. (2c); Definition 3; Appendix E, no alternative.
    """
    reset_tableau(solution.tableau, task.gaps)
    return add_alternatives(model, task, False, solution)


@kernel
def allocate_again(model: Model, task: Task, solution: Solution) -> int:
    """The same where the pulls come in as a guess: the solution for means close by."""
    reset_tableau(solution.tableau, task.gaps)
    warm = largest(solution.pulls) > 0.0 and start_warm(model, task, solution)
    return add_alternatives(model, task, warm, solution)


@kernel
def add_alternatives(model: Model, task: Task, warm: bool, solution: Solution) -> int:
    """Let alternatives enter until none is missing; `warm`: some are there to begin with."""
    gaps = task.gaps
    tolerance = task.tolerance
    pulls, bounds, tableau = solution
    N = tableau.vectors[0]
    w = tableau.vectors[1]
    column = tableau.vectors[3]
    bounds[0] = 0.0
    bounds[1] = math.inf
    smooth = True
    doubtful = False
    freedom = FREE_WEIGHT / tolerance
    # With no weight at all, an arm's mean may go where its divergence is infinite, if there is such
    # a place.
    trace = 0.0 if model.family.gaussian else TRACE * tolerance
    pivots = 0  # since the inverse was last computed afresh
    for step in range(task.steps):
        write_prices(tableau, N)
        entered = enter_slack(tableau, N)
        if entered < 0:
            return UNCERTIFIED
        if entered > 0:
            continue
        if warm or step > 0:
            spend(N, gaps, SMOOTHING if smooth else trace, w)
        else:
            fill(w, 1.0)
        value, moved, freedom = find_alternative(model, task, freedom, tableau)
        if value == math.inf or moved > 0.5 * value > 0.0:
            # Nothing but a move of the best arm itself makes another arm best.
            bounds[1] = 0.0
            fill(pulls, 0.0)
            return NO_ALTERNATIVE
        # An alternative that does not leave the best arm's mean where it is bounds nothing.
        doubtful = doubtful or moved > tolerance * value
        write_column(model, task, tableau)
        if raise_bounds(task, value, solution):
            return UNCERTIFIED if doubtful else CERTIFIED
        if total_information(N, column) >= 1.0 - 0.1 * tolerance:
            if not smooth:
                if pivots == 0:
                    return UNCERTIFIED  # optimal up to rounding, yet not as close as asked for
                refactor(tableau, gaps)
                pivots = 0
            smooth = False
            continue
        if not pivot(tableau, column, tableau.vectors[2], 0):
            return UNCERTIFIED
        pivots += 1
        if pivots == REFACTOR:
            refactor(tableau, gaps)
            pivots = 0
    return UNCERTIFIED

"""One peak, and none, where rewards are 0 or a scale of the arm's own: see `scaled`.

Pool-adjacent-violators, with the meeting point of a block's arms as its value: each arm's cost is
convex, so that this is exact. The fits of all prefixes of a run share their blocks: a fit is its
last block and, before that, the fit of a shorter prefix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.structures.fast.scaled import meeting_point, pooled_cost
from armature.structures.oracles.records import Problem, Work


class Runs(NamedTuple):
    """The non-decreasing fits to the first t arms, and to the last t backwards, t = 0 .. K."""

    order: Ints  # (K,): 0, 1, ...: a slice of it is the arms of a block
    rising: Floats  # (K + 1,): the value of the last block; -inf where there is none
    rising_before: Ints  # (K + 1,): how many arms are before that block
    rising_cost: Floats  # (K + 1,)
    falling: Floats  # (K + 1,): the same for the last arms
    falling_before: Ints
    falling_cost: Floats


class Peak(NamedTuple):
    """A fit with its peak at an arm: the block about it, and what it costs."""

    first: int
    last: int
    value: float
    cost: float


@kernel
def runs_of(work: Work, K: int) -> Runs:
    """Room in the scratch space."""
    n = K + 1
    real = work.real
    integer = work.integer
    return Runs(
        integer[:K],
        real[:n],
        integer[K : K + n],
        real[n : 2 * n],
        real[2 * n : 3 * n],
        integer[K + n : K + 2 * n],
        real[3 * n : 4 * n],
    )


@kernel
def fit_run(
    problem: Problem, order: Ints, backwards: bool, value: Floats, before: Ints, cost: Floats
) -> None:
    """Fit all prefixes of the run of all arms, or of the run backwards."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    value[0] = -math.inf
    before[0] = 0
    cost[0] = 0.0
    for t in range(K):
        at = t
        y = mu[K - 1 - t if backwards else t]
        while value[at] > y:
            at = before[at]
            block = order[K - 1 - t : K - at] if backwards else order[at : t + 1]
            y = meeting_point(family, mu, w, block)
        value[t + 1] = y
        before[t + 1] = at
        block = order[K - 1 - t : K - at] if backwards else order[at : t + 1]
        cost[t + 1] = cost[at] + pooled_cost(family, mu, w, block, y)


@kernel
def fit_runs(problem: Problem) -> Runs:
    """Fit both runs."""
    K = problem.mu.size
    runs = runs_of(problem.work, K)
    for k in range(K):
        runs.order[k] = k
    fit_run(problem, runs.order, False, runs.rising, runs.rising_before, runs.rising_cost)
    fit_run(problem, runs.order, True, runs.falling, runs.falling_before, runs.falling_cost)
    return runs


@kernel
def fit_peak(family: FamilyRecord, mu: Floats, w: Floats, runs: Runs, peak: int) -> Peak:
    """The peak absorbs the highest block that exceeds it, on either side, until there is none."""
    K = mu.size
    a = peak  # how many arms are left of the peak's block, and right of it
    b = K - 1 - peak
    y = mu[peak]
    while max(runs.rising[a], runs.falling[b]) > y:
        if runs.rising[a] >= runs.falling[b]:
            a = runs.rising_before[a]
        else:
            b = runs.falling_before[b]
        y = meeting_point(family, mu, w, runs.order[a : K - b])
    cost = runs.rising_cost[a] + runs.falling_cost[b]
    cost += pooled_cost(family, mu, w, runs.order[a : K - b], y)
    return Peak(a, K - 1 - b, float(y), float(cost))


@kernel
def write_rising(runs: Runs, n: int, lam: Floats) -> None:
    """The fit to the first n arms."""
    while n > 0:
        for k in range(runs.rising_before[n], n):
            lam[k] = runs.rising[n]
        n = runs.rising_before[n]


@kernel
def write_falling(runs: Runs, n: int, lam: Floats) -> None:
    """The fit to the last n arms."""
    K = lam.size
    while n > 0:
        for t in range(runs.falling_before[n], n):
            lam[K - 1 - t] = runs.falling[n]
        n = runs.falling_before[n]


@kernel
def write_peak(problem: Problem, runs: Runs, peak: int, lam: Floats) -> float:
    """The best fit with the peak at an arm."""
    fit = fit_peak(problem.family, problem.mu, problem.w, runs, peak)
    write_rising(runs, fit.first, lam)
    write_falling(runs, lam.size - 1 - fit.last, lam)
    for k in range(fit.first, fit.last + 1):
        lam[k] = fit.value
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def write_best_peak(problem: Problem, other_than: int, lam: Floats) -> float:
    """The best fit with its peak anywhere but at one arm."""
    runs = fit_runs(problem)
    best = -1
    least = math.inf
    for p in range(lam.size):
        if p != other_than:
            cost = fit_peak(problem.family, problem.mu, problem.w, runs, p).cost
            if best < 0 or cost < least:
                least = cost
                best = p
    return write_peak(problem, runs, best, lam)


# The oracles of `Unimodal`; those of `Monotone` are at the end.


@kernel
def project(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The best place of the peak."""
    return write_best_peak(problem, -1, lam)


@kernel
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The best place of the peak that is not j."""
    return write_best_peak(problem, first, lam)


@kernel
def cell_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The peak is at k."""
    return write_peak(problem, fit_runs(problem), second, lam)


@kernel
def best_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The peak is at j."""
    return write_peak(problem, fit_runs(problem), first, lam)


@kernel
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
    """A challenger beats j where the peak is at it."""
    runs = fit_runs(problem)
    base = math.inf
    for p in range(costs.size):
        costs[p] = fit_peak(problem.family, problem.mu, problem.w, runs, p).cost
        base = min(base, costs[p])
    costs[first] = base
    return base


@kernel
def project_in_order(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """No fall along the arms."""
    runs = fit_runs(problem)
    write_rising(runs, lam.size, lam)
    return total_divergence(problem.family, problem.w, problem.mu, lam)

"""Bernoulli rewards with a scale for each arm: pooling them, and the oracles made of it.

Arms with means x_k, weights w_k and scales s_k that are made equal meet at the y in [0, min s_k]
with

    g(y) = sum_k w_k (y - x_k) / (s_k - y) = 0,

the stationary point of sum_k w_k d_k(x_k, y); at min s_k if g is negative up to there, which takes
an arm with x_k = s_k. An arm without weight pulls nowhere, but its scale is a limit all the same;
arms that are all without weight meet where equal weights would have them.

Runs of arms are fitted by pool-adjacent-violators, with the meeting point of a block's arms as its
value: each arm's cost is convex, so that this is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import of_arm, total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.pooling import Prefixes, prefixes_of, write_prefix
from armature.structures.oracles.records import OracleProblem, Work

LARGEST_BELOW_ONE = 1.0 - 2.0**-53
NEWTON_STEPS = 60
ROUNDING = 4e-16


@kernel
def total_weight(w: Floats, arms: Ints) -> float:
    """The weight of some arms."""
    total = 0.0
    for i in range(arms.size):  # total: of the arms before place i
        total += w[arms[i]]
    return total


@kernel
def highest_meeting_point(
    family: FamilyRecord, mu: Floats, w: Floats, arms: Ints, weight: float
) -> float:
    """A bound on the meeting point from above: no arm's term of g exceeds the weight of all.

    It is s_k - (w_k / weight) (s_k - x_k) for each arm; neither is the point above all means, or
    at an end where a weighed divergence is infinite.
    """
    bound = math.inf
    top = -math.inf
    for i in range(arms.size):  # bound, top: of the arms before place i
        k = arms[i]
        s = of_arm(family, k).parameter
        v = w[k] if weight > 0.0 else 1.0
        bound = min(bound, s)
        if v > 0.0:
            share = v / (weight if weight > 0.0 else float(arms.size))
            top = max(top, mu[k])
            bound = min(bound, s - share * (s - mu[k]) + ROUNDING * s)
            if mu[k] < s:
                bound = min(bound, s * LARGEST_BELOW_ONE)
    return min(bound, top)


@kernel
def meeting_point(family: FamilyRecord, mu: Floats, w: Floats, arms: Ints) -> float:
    """The mean at which some arms meet.

    g is convex and increasing, so that Newton's method from the right comes down to its root; from
    the bound above in a few steps, since there g is at most as many times the weight as there are
    arms.
    """
    if arms.size == 1:
        return float(mu[arms[0]])
    weight = total_weight(w, arms)
    y = highest_meeting_point(family, mu, w, arms, weight)
    low = math.inf
    for i in range(arms.size):
        if w[arms[i]] > 0.0 or weight == 0.0:
            low = min(low, mu[arms[i]])
    for _ in range(NEWTON_STEPS):  # y is at or above the root of g, and falls
        g = 0.0
        slope = 0.0
        for i in range(arms.size):
            k = arms[i]
            s = of_arm(family, k).parameter
            v = w[k] if weight > 0.0 else 1.0
            if mu[k] >= s:
                g -= v
            elif v > 0.0:
                g += v * (y - mu[k]) / (s - y)
                slope += v * (s - mu[k]) / ((s - y) * (s - y))
        if not g > 0.0 or slope == 0.0:
            break
        following = max(y - g / slope, low)
        if not following < y:
            break
        y = following
    return float(y)


@kernel
def pooled_cost(family: FamilyRecord, mu: Floats, w: Floats, arms: Ints, y: float) -> float:
    """The cost that some arms have the mean y."""
    cost = 0.0
    for i in range(arms.size):  # cost: of the arms before place i
        k = arms[i]
        cost += weighted_divergence(of_arm(family, k), w[k], mu[k], y)
    return cost


@kernel
def pair_cost(problem: OracleProblem, j: int, k: int) -> float:
    """The cost to make k as good as j and change nothing else."""
    mu = problem.mu
    if mu[k] >= mu[j]:
        return 0.0
    arms = problem.work.integer[:2]
    arms[0] = j
    arms[1] = k
    y = meeting_point(problem.family, mu, problem.w, arms)
    return pooled_cost(problem.family, mu, problem.w, arms, y)


# The oracles of `Unconstrained`; those of `Unimodal` and `Monotone` are below, about peaks.


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Pool two arms where they are out of order."""
    mu = problem.mu
    copy(mu, lam)
    cost = pair_cost(problem, first, second)
    if mu[second] < mu[first]:
        y = meeting_point(problem.family, mu, problem.w, problem.work.integer[:2])
        lam[first] = y
        lam[second] = y
    return cost


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Pool j with the cheapest challenger."""
    best = -1
    least = math.inf
    for k in range(lam.size):  # best: the cheapest challenger before k
        if k != first:
            cost = pair_cost(problem, first, k)
            if best < 0 or cost < least:
                least = cost
                best = k
    return alt_min(problem, first, best, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """Pool j with each challenger."""
    for k in range(costs.size):
        costs[k] = pair_cost(problem, first, k) if k != first else 0.0
    return 0.0


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The arm absorbs what exceeds it, from the highest on."""
    mu = problem.mu
    copy(mu, lam)
    arms = problem.work.integer
    arms[0] = first
    n = 1
    value = mu[first]
    while True:  # arms[:n] are absorbed and meet at `value`
        highest = -1
        for k in range(mu.size):
            if k != first and lam[k] > value and (highest < 0 or lam[k] > lam[highest]):
                highest = k
        if highest < 0:
            break
        arms[n] = highest
        n += 1
        lam[highest] = -math.inf
        value = meeting_point(problem.family, mu, problem.w, arms[:n])
    for i in range(n):
        lam[arms[i]] = value
    return total_divergence(problem.family, problem.w, mu, lam)


class PrefixFits(NamedTuple):
    """The fits to all prefixes of the arms, and of the arms backwards."""

    order: Ints  # (K,): 0, 1, ...: a slice of it is the arms of a block
    left: Prefixes  # of the arms in order; the weights of blocks are not kept
    right: Prefixes  # of the arms backwards


class Peak(NamedTuple):
    """A fit with its peak at an arm: the block about it, and what it costs."""

    first: int
    last: int
    value: float
    cost: float


@kernel
def runs_of(work: Work, K: int) -> PrefixFits:
    """Room in the scratch space."""
    n = K + 1
    return PrefixFits(
        work.integer[:K],
        prefixes_of(work.real[: 3 * n], work.integer[K : K + n], K),
        prefixes_of(work.real[3 * n : 6 * n], work.integer[K + n : K + 2 * n], K),
    )


@kernel
def fit_run(problem: OracleProblem, order: Ints, backwards: bool, run: Prefixes) -> None:
    """Fit all prefixes of the run of all arms, or of the run backwards."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    run.mean[0] = -math.inf
    run.before[0] = 0
    run.cost[0] = 0.0
    # The fit to the first t arms is done. Arm t is a new block, which absorbs the block before it
    # until that one is no higher.
    for t in range(K):
        at = t
        y = mu[K - 1 - t if backwards else t]
        while run.mean[at] > y:
            at = run.before[at]
            block = order[K - 1 - t : K - at] if backwards else order[at : t + 1]
            y = meeting_point(family, mu, w, block)
        run.mean[t + 1] = y
        run.before[t + 1] = at
        block = order[K - 1 - t : K - at] if backwards else order[at : t + 1]
        run.cost[t + 1] = run.cost[at] + pooled_cost(family, mu, w, block, y)


@kernel
def fit_runs(problem: OracleProblem) -> PrefixFits:
    """Fit both runs."""
    K = problem.mu.size
    runs = runs_of(problem.work, K)
    for k in range(K):
        runs.order[k] = k
    fit_run(problem, runs.order, False, runs.left)
    fit_run(problem, runs.order, True, runs.right)
    return runs


@kernel
def fit_peak(family: FamilyRecord, mu: Floats, w: Floats, runs: PrefixFits, peak: int) -> Peak:
    """The peak absorbs the highest block that exceeds it, on either side, until there is none."""
    K = mu.size
    a = peak  # how many arms are left of the peak's block, and right of it
    b = K - 1 - peak
    y = mu[peak]
    while max(runs.left.mean[a], runs.right.mean[b]) > y:
        if runs.left.mean[a] >= runs.right.mean[b]:
            a = runs.left.before[a]
        else:
            b = runs.right.before[b]
        y = meeting_point(family, mu, w, runs.order[a : K - b])
    cost = runs.left.cost[a] + runs.right.cost[b]
    cost += pooled_cost(family, mu, w, runs.order[a : K - b], y)
    return Peak(a, K - 1 - b, float(y), float(cost))


@kernel
def write_peak(problem: OracleProblem, runs: PrefixFits, peak: int, lam: Floats) -> float:
    """The best fit with the peak at an arm."""
    fit = fit_peak(problem.family, problem.mu, problem.w, runs, peak)
    K = lam.size
    write_prefix(runs.left, 0, 1, fit.first, lam)
    write_prefix(runs.right, K - 1, -1, K - 1 - fit.last, lam)
    for k in range(fit.first, fit.last + 1):
        lam[k] = fit.value
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def write_best_peak(problem: OracleProblem, other_than: int, lam: Floats) -> float:
    """The best fit with its peak anywhere but at one arm."""
    runs = fit_runs(problem)
    best = -1
    least = math.inf
    for p in range(lam.size):  # best: the cheapest peak before p
        if p != other_than:
            cost = fit_peak(problem.family, problem.mu, problem.w, runs, p).cost
            if best < 0 or cost < least:
                least = cost
                best = p
    return write_peak(problem, runs, best, lam)


# The oracles of `Unimodal`; that of `Monotone` is at the end.


@kernel
def peak_project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best place of the peak."""
    return write_best_peak(problem, -1, lam)


@kernel
def peak_nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best place of the peak that is not j."""
    return write_best_peak(problem, first, lam)


@kernel
def peak_cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The peak is at k."""
    return write_peak(problem, fit_runs(problem), second, lam)


@kernel
def peak_best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The peak is at j."""
    return write_peak(problem, fit_runs(problem), first, lam)


@kernel
def peak_challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """A challenger beats j where the peak is at it."""
    runs = fit_runs(problem)
    base = math.inf
    for p in range(costs.size):  # base: the least cost before p
        costs[p] = fit_peak(problem.family, problem.mu, problem.w, runs, p).cost
        base = min(base, costs[p])
    costs[first] = base
    return base


@kernel
def project_in_order(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """No fall along the arms."""
    runs = fit_runs(problem)
    write_prefix(runs.left, 0, 1, lam.size, lam)
    return total_divergence(problem.family, problem.w, problem.mu, lam)

"""Pooling arms whose rewards are 0 or a scale of their own: Bernoulli with a scale for each arm.

Arms with means x_k, weights w_k and scales s_k that are made equal meet at the y in [0, min s_k]
with

    g(y) = sum_k w_k (y - x_k) / (s_k - y) = 0,

the stationary point of sum_k w_k d_k(x_k, y); at min s_k if g is negative up to there, which takes
an arm with x_k = s_k. An arm without weight pulls nowhere, but its scale is a limit all the same;
arms that are all without weight meet where equal weights would have them.
"""

from __future__ import annotations

import math

from armature.families import Bernoulli, Family, FamilyRecord
from armature.families.kernels import of_arm, total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.structures.oracles.records import Problem

LARGEST_BELOW_ONE = 1.0 - 2.0**-53
NEWTON_STEPS = 60
ROUNDING = 4e-16


def is_scaled(family: Family) -> bool:
    """Whether these kernels are for a family."""
    return isinstance(family, Bernoulli) and not family.alike


@kernel
def total_weight(w: Floats, arms: Ints) -> float:
    """The weight of some arms."""
    total = 0.0
    for i in range(arms.size):
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
    for i in range(arms.size):
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
    """Where some arms meet.

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
    for _ in range(NEWTON_STEPS):
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
    """What it costs that some arms have the mean y."""
    cost = 0.0
    for i in range(arms.size):
        k = arms[i]
        cost += weighted_divergence(of_arm(family, k), w[k], mu[k], y)
    return cost


@kernel
def pair_cost(problem: Problem, j: int, k: int) -> float:
    """What it costs to make k as good as j and change nothing else."""
    mu = problem.mu
    if mu[k] >= mu[j]:
        return 0.0
    arms = problem.work.integer[:2]
    arms[0] = j
    arms[1] = k
    y = meeting_point(problem.family, mu, problem.w, arms)
    return pooled_cost(problem.family, mu, problem.w, arms, y)


# The oracles of `Unconstrained`.


@kernel
def alt_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
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
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """Pool j with the cheapest challenger."""
    best = -1
    least = math.inf
    for k in range(lam.size):
        if k != first:
            cost = pair_cost(problem, first, k)
            if best < 0 or cost < least:
                least = cost
                best = k
    return alt_min(problem, first, best, lam)


@kernel
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
    """Pool j with each challenger."""
    for k in range(costs.size):
        costs[k] = pair_cost(problem, first, k) if k != first else 0.0
    return 0.0


@kernel
def best_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The arm absorbs what exceeds it, from the highest on."""
    mu = problem.mu
    copy(mu, lam)
    arms = problem.work.integer
    arms[0] = first
    n = 1
    value = mu[first]
    while True:
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

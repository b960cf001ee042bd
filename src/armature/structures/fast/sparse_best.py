"""The sparse structure's answer to how near the means are in which a given arm is best.

Not convex, and not a matter of one sweep: the best support depends on the value of the best arm.
"""

from __future__ import annotations

import math

from armature.families.kernels import total_divergence, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.structures.oracles.records import Problem


@kernel
def cost_at(problem: Problem, j: int, y: float, gain: Floats) -> float:
    """The cost if arm j is at y >= level and best: the others' best support below y."""
    mu = problem.mu
    w = problem.w
    level = problem.shape.real[0]
    total = weighted_divergence(problem.family, w[j], mu[j], y)
    for i in range(mu.size):
        gain[i] = 0.0
        if i != j:
            flat = weighted_divergence(problem.family, w[i], mu[i], level)
            total += flat
            lifted = min(max(mu[i], level), y)
            gain[i] = flat - weighted_divergence(problem.family, w[i], mu[i], lifted)
    for _ in range(problem.shape.integer[0] - 1):
        best = 0
        for i in range(mu.size):
            if gain[i] > gain[best]:
                best = i
        total -= gain[best]
        gain[best] = -1.0 if gain[best] > 0.0 else 0.0  # taken
    return total


@kernel
def pooled_at(problem: Problem, j: int, y: float, gain: Floats) -> float:
    """The best value of arm j for the support that is best at y."""
    mu = problem.mu
    w = problem.w
    level = problem.shape.real[0]
    cost_at(problem, j, y, gain)  # marks the support in `gain`
    weight = w[j]
    total = w[j] * mu[j]
    # The members above the pooled value join it, from the highest on.
    while True:
        value = max(level, total / weight) if weight > 0.0 else y
        highest = -1
        for i in range(mu.size):
            if gain[i] == -1.0 and mu[i] > value and (highest < 0 or mu[i] > mu[highest]):
                highest = i
        if highest < 0:
            return value
        gain[highest] = 0.0
        weight += w[highest]
        total += w[highest] * mu[highest]


@kernel
def descend(problem: Problem, j: int, start: float, gain: Floats) -> tuple[float, float]:
    """From a guess of the top value, support and value improve each other: (cost, value)."""
    y = max(start, problem.shape.real[0])
    value = y
    cost = math.inf
    for _ in range(50):
        now = cost_at(problem, j, y, gain)
        if not now < cost:
            break
        cost = now
        value = y
        y = pooled_at(problem, j, y, gain)
    return cost, value


@kernel
def best_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """Arm j is best: descents start at every mean, and where j would be pooled with others.

    In a best fit, j is pooled with the members of the support that would exceed it. The starts are
    all such sets of one or two others, and of all others down to each mean.
    """
    j = first
    mu = problem.mu
    w = problem.w
    K = mu.size
    level = problem.shape.real[0]
    gain = problem.work.real[:K]
    best = math.inf
    y = level
    for i in range(K):
        cost, value = descend(problem, j, mu[i], gain)
        if cost < best:
            best = cost
            y = value
        weight = w[j]
        total = w[j] * mu[j]
        for k in range(K):
            if k != j and mu[k] >= mu[i]:
                weight += w[k]
                total += w[k] * mu[k]
        if weight > 0.0:
            cost, value = descend(problem, j, total / weight, gain)
            if cost < best:
                best = cost
                y = value
        for k in range(i, K):
            weight = w[j] + (w[i] if i != j else 0.0) + (w[k] if k != i and k != j else 0.0)
            total = w[j] * mu[j] + (w[i] * mu[i] if i != j else 0.0)
            total += w[k] * mu[k] if k != i and k != j else 0.0
            if weight > 0.0:
                cost, value = descend(problem, j, total / weight, gain)
                if cost < best:
                    best = cost
                    y = value
    cost_at(problem, j, y, gain)
    for i in range(K):
        lam[i] = min(max(mu[i], level), y) if gain[i] == -1.0 else level
    lam[j] = y
    return total_divergence(problem.family, w, mu, lam)

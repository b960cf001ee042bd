"""The sparse structure: few arms above a level, all others on it.

First fits for a given support or pair of arms; then the answers for all challengers at once, from
the arms ranked by gain; at last the nearest means in which a given arm is best. These are not
convex, and not a matter of one sweep: the best support depends on the value of the best arm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import fill, select_largest
from armature.solver.pooling import pooled_mean
from armature.structures.oracles.records import OracleProblem, Work

# shape.real = [level], shape.integer = [support].
# The *gain* of an arm is what a place in the support saves: w d(mu, level) if mu > level, else 0.


class SupportScratch(NamedTuple):
    """Room for what the arms gain and cost, and for their order."""

    gain: Floats  # (K,)
    trial: Floats  # (K,)
    flat: Floats  # (K,): the cost of an arm on the level
    after: Floats  # (K,): what the arms from a rank on cost
    order: Ints  # (K,)


@kernel
def scratch_of(work: Work, K: int) -> SupportScratch:
    """The scratch space for K arms."""
    real = work.real
    return SupportScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        work.integer[:K],
    )


@kernel
def write_gains(problem: OracleProblem, gain: Floats) -> None:
    """gain[i] = the gain of arm i."""
    mu = problem.mu
    w = problem.w
    level = problem.shape.real[0]
    for i in range(mu.size):
        gain[i] = weighted_divergence(problem.family, w[i], mu[i], level) if mu[i] > level else 0.0


@kernel
def write_supported(level: float, mu: Floats, order: Ints, m: int, lam: Floats) -> None:
    """The arms order[:m] are the support, all others on the level."""
    fill(lam, level)
    for a in range(m):
        lam[order[a]] = max(mu[order[a]], level)


@kernel
def pair_value(problem: OracleProblem, j: int, k: int) -> float:
    """The common value of j and k in the support, where mu_k < mu_j."""
    mu = problem.mu
    w = problem.w
    return max(pooled_mean(w[j], mu[j], w[k], mu[k]), float(problem.shape.real[0]))


@kernel
def write_pair(problem: OracleProblem, j: int, k: int, lam: Floats) -> None:
    """Both j and k in the support, k at least as good as j."""
    mu = problem.mu
    level = problem.shape.real[0]
    if mu[k] >= mu[j]:
        lam[j] = max(mu[j], level)
        lam[k] = max(mu[k], level)
    else:
        lam[j] = lam[k] = pair_value(problem, j, k)


@kernel
def others(order: Ints, K: int, j: int, k: int) -> int:
    """order[:n] = the arms other than j and k, in order; returns n."""
    n = 0
    for i in range(K):  # order[:n]: the arms before i but j and k
        if i != j and i != k:
            order[n] = i
            n += 1
    return n


@kernel
def write_without(problem: OracleProblem, j: int, lam: Floats, gain: Floats, order: Ints) -> float:
    """The best fit with j outside of the support (j = -1: with no such condition)."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, -1)
    select_largest(gain, order, n, s)
    write_supported(problem.shape.real[0], mu, order, s, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def write_with(
    problem: OracleProblem, j: int, k: int, lam: Floats, gain: Floats, order: Ints
) -> float:
    """The best fit with both j and k in the support and k at least as good."""
    mu = problem.mu
    s = problem.shape.integer[0]
    n = others(order, mu.size, j, k)
    select_largest(gain, order, n, s - 2)
    write_supported(problem.shape.real[0], mu, order, s - 2, lam)
    write_pair(problem, j, k, lam)
    return total_divergence(problem.family, problem.w, mu, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """`alt_min` for all challengers at once, from the gains of ranks s-2, s-1 and s: O(K).

    Beside a pair j, k there is room for s - 2 arms. Rank the arms other than j by gain. If k is
    among the first s - 2, the arm of rank s - 1 takes its place.
    """
    j = first
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    s = problem.shape.integer[0]
    level = problem.shape.real[0]
    room = scratch_of(problem.work, K)
    gain = room.gain
    order = room.order
    write_gains(problem, gain)
    n = others(order, K, j, -1)
    select_largest(gain, order, n, s)
    # Bring the two smallest gains of the first s arms to their end.
    for last in range(s - 1, max(s - 3, -1), -1):
        smallest = last
        for a in range(last):
            if gain[order[a]] < gain[order[smallest]]:
                smallest = a
        order[last], order[smallest] = order[smallest], order[last]
    left_out = 0.0
    for a in range(s, n):
        left_out += gain[order[a]]
    best_cost = gain[j] + left_out
    best_k = -1
    if s >= 2:
        left_out_1 = left_out + gain[order[s - 1]]
        left_out_2 = left_out_1 + gain[order[s - 2]]
        for rank in range(n):
            k = order[rank]
            if rank <= s - 2:
                cost = left_out_1
            elif gain[k] < math.inf:
                cost = left_out_2 - gain[k]
            else:
                cost = math.inf
            if mu[k] < mu[j] and mu[j] > level:
                y = pair_value(problem, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
                if mu[k] <= level:
                    cost -= weighted_divergence(family, w[k], mu[k], level)
            if cost < best_cost:
                best_cost = cost
                best_k = k
    if best_k < 0:
        return write_without(problem, j, lam, gain, order)
    return write_with(problem, j, best_k, lam, gain, order)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """`alt_min` for each challenger, from sums over the arms ranked by gain as in `nearest`: O(K).

    Sums over all arms but one are put together from both ends, so that nothing cancels.
    """
    j = first
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    s = problem.shape.integer[0]
    level = problem.shape.real[0]
    room = scratch_of(problem.work, K)
    gain = room.gain
    flat = room.flat
    after = room.after
    order = room.order
    write_gains(problem, gain)
    for i in range(K):
        flat[i] = weighted_divergence(family, w[i], mu[i], level)
    n = others(order, K, j, -1)
    for m in range(s, max(s - 3, 0), -1):  # the arms of rank s-1 and s-2 are in their places
        select_largest(gain, order, n if m == s else m + 1, m)
    after[n] = 0.0
    for rank in range(n - 1, -1, -1):
        k = order[rank]
        inside = rank <= s - 2 and mu[k] > level
        after[rank] = after[rank + 1] + (0.0 if inside else flat[k])
    own = 0.0 if mu[j] > level else flat[j]
    without = flat[j] + after[s]
    for rank in range(s):
        without += 0.0 if mu[order[rank]] > level else flat[order[rank]]
    base = min(own + after[0], without)
    before = 0.0
    for rank in range(n):
        k = order[rank]
        alone = 0.0 if mu[k] > level else flat[k]
        costs[k] = without
        if s >= 2:
            if rank == s - 1:  # from here on k takes the place of the arm of rank s-2
                before += gain[order[s - 2]]
            cost = before + after[rank + 1]
            if mu[k] >= mu[j]:
                cost += own + alone
            else:
                y = pair_value(problem, j, k)
                cost += weighted_divergence(family, w[j], mu[j], y)
                cost += weighted_divergence(family, w[k], mu[k], y)
            costs[k] = min(cost, without)
        before += alone if rank <= s - 2 else flat[k]
    costs[j] = base
    return float(base)


@kernel
def cost_at(problem: OracleProblem, j: int, y: float, gain: Floats) -> float:
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
def pooled_at(problem: OracleProblem, j: int, y: float, gain: Floats) -> float:
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
def descend(problem: OracleProblem, j: int, start: float, gain: Floats) -> tuple[float, float]:
    """From a guess of the top value, support and value improve each other: (cost, value)."""
    y = max(start, problem.shape.real[0])
    value = y
    cost = math.inf
    for _ in range(50):  # cost: the least so far, at `value`; y is the next try
        now = cost_at(problem, j, y, gain)
        if not now < cost:
            break
        cost = now
        value = y
        y = pooled_at(problem, j, y, gain)
    return cost, value


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
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
    for i in range(K):  # y: the best value of all descents so far, at cost `best`
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

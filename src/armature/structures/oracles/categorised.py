"""Categories: one of them on top of all others, fitted in full or screened by sums.

Category c dominates when one level v separates it from all others: its arms are raised to v where
they are below, the others lowered to v where they are above. In the best fit, v is the weighted
mean of all the arms that it moves. Two arms j, k can be tied to each other besides.

To choose among many separations without fitting each, O(log K) for one, sums over the sorted arms
give the cost of a separation. With r a reference and m the weighted mean of a set of arms of
weight W,

    sum w_i d(mu_i, m) = sum w_i d(mu_i, r) - W d(m, r).

Differences of such sums can cancel: what they rule out beyond doubt is ruled out, and the rest is
fitted in full.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import divergence, total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import argsort_descending
from armature.solver.pooling import pooled_mean
from armature.structures.oracles.records import OracleProblem, Work

PLAIN = 0  # no further condition
MERGED = 1  # j and k on the same side of v, and made equal: one arm at their pooled mean
PINNED = 2  # j in c, k outside, lam_k >= lam_j: both are at v


@kernel
def pull(
    mu: Floats, w: Floats, category: Ints, c: int, tie: int, j: int, k: int, v: float
) -> float:
    """The derivative of the cost in v, up to the variance: it increases in v."""
    total = 0.0
    for i in range(mu.size):  # total: over the arms before i
        if tie != PLAIN and (i == j or i == k):
            continue
        if (category[i] == c and mu[i] < v) or (category[i] != c and mu[i] > v):
            total += w[i] * (v - mu[i])
    if tie == MERGED:
        m = pooled_mean(w[j], mu[j], w[k], mu[k])
        if (category[j] == c and m < v) or (category[j] != c and m > v):
            total += (w[j] + w[k]) * (v - m)
    elif tie == PINNED:
        total += w[j] * (v - mu[j]) + w[k] * (v - mu[k])
    return total


@kernel
def write_separation(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    category: Ints,
    order: Ints,
    c: int,
    tie: int,
    j: int,
    k: int,
    lam: Floats,
) -> float:
    """The best fit in which category c dominates; `order` sorts the arms, best first.

    A binary search over the arms finds the two neighbours that v lies between: O(K log K).

    Paper: Appendix G.2, categorised.
    """
    K = mu.size
    first = 0
    last = K - 1
    while first < last:
        middle = (first + last) // 2
        if pull(mu, w, category, c, tie, j, k, mu[order[middle]]) <= 0.0:
            last = middle
        else:
            first = middle + 1
    low = mu[order[first]]
    high = mu[order[first - 1]] if first > 0 else math.inf
    weight = 0.0
    moment = 0.0  # of the moved arms, about `low`
    for i in range(K):
        moved = mu[i] <= low if category[i] == c else mu[i] >= high
        tied = tie != PLAIN and (i == j or i == k)
        if (moved and not tied) or (tied and tie == PINNED):
            weight += w[i]
            moment += w[i] * (mu[i] - low)
    merged = mu[j] if tie != MERGED else pooled_mean(w[j], mu[j], w[k], mu[k])
    v = low + moment / weight if weight > 0.0 else low
    if tie == MERGED:
        moved = merged < v if category[j] == c else merged > v
        if weight == 0.0 and category[j] != c:
            v = min(max(low, merged), high)
        elif moved and w[j] + w[k] > 0.0:
            weight += w[j] + w[k]
            v = low + (moment + (w[j] + w[k]) * (merged - low)) / weight
    v = min(max(v, low), high)
    for i in range(K):
        value = merged if tie == MERGED and (i == j or i == k) else mu[i]
        lam[i] = max(value, v) if category[i] == c else min(value, v)
    if tie == PINNED:
        lam[j] = lam[k] = v
    return total_divergence(family, w, mu, lam)


class Sorted(NamedTuple):
    """The arms in order, the best first, and running sums over them; C categories of K arms.

    A sum has three parts: weight, moment about r and cost of moving to r.
    """

    order: Ints  # (K,)
    buffer: Ints  # (K,): for sorting
    start: Ints  # (C + 1,): where each category begins in `positions`
    filled: Ints  # (C,)
    positions: Ints  # (K,): the places in `order` of the arms of category 0, then of 1, ...
    sums: Floats  # (3 (K + 1),): over the p best arms, for p = 0 .. K
    own_sums: Floats  # (3 (K + C),): over the best arms of each category, the empty sum first
    costs: Floats  # (C + K,): of options, for the caller
    trial: Floats  # (K,): likewise


@kernel
def sorted_of(work: Work, K: int, C: int) -> Sorted:
    """The scratch space for K arms in C categories."""
    integer = work.integer
    real = work.real
    a = 3 * K + 3
    b = a + 3 * (K + C)
    c = b + C + K
    return Sorted(
        integer[:K],
        integer[K : 2 * K],
        integer[2 * K : 2 * K + C + 1],
        integer[3 * K + 1 : 3 * K + 1 + C],
        integer[4 * K + 1 : 5 * K + 1],
        real[:a],
        real[a:b],
        real[b:c],
        real[c : c + K],
    )


@kernel
def sum_up(problem: OracleProblem, room: Sorted) -> float:
    """Sort the arms and sum up; returns the reference r, the mean of all."""
    mu = problem.mu
    w = problem.w
    K = mu.size
    category = problem.shape.integer[1:]
    C = room.filled.size
    order = room.order
    argsort_descending(mu, order, room.buffer)
    weight = 0.0
    r = float(mu[order[0]])
    for i in range(K):
        r = pooled_mean(weight, r, w[i], mu[i])
        weight += w[i]
    start = room.start
    filled = room.filled
    for c in range(C + 1):
        start[c] = 0
    for i in range(K):
        start[category[i] + 1] += 1
    for c in range(C):
        start[c + 1] += start[c]
        filled[c] = start[c]
    sums = room.sums
    own_sums = room.own_sums
    sums[0] = sums[1] = sums[2] = 0.0
    for p in range(K):
        i = order[p]
        c = category[i]
        a = filled[c]
        filled[c] += 1
        room.positions[a] = p
        moment = w[i] * (mu[i] - r)
        cost = weighted_divergence(problem.family, w[i], mu[i], r)
        sums[3 * p + 3] = sums[3 * p] + w[i]
        sums[3 * p + 4] = sums[3 * p + 1] + moment
        sums[3 * p + 5] = sums[3 * p + 2] + cost
        own = 3 * (a + c)  # category c has one more entry than arms: the empty sum
        if a == start[c]:
            own_sums[own] = own_sums[own + 1] = own_sums[own + 2] = 0.0
        own_sums[own + 3] = own_sums[own] + w[i]
        own_sums[own + 4] = own_sums[own + 1] + moment
        own_sums[own + 5] = own_sums[own + 2] + cost
    return r


@kernel
def better_than(room: Sorted, c: int, p: int) -> int:
    """The number of arms of category c among the p best of all: a binary search."""
    start = room.start[c]
    low = start
    high = room.start[c + 1]
    while low < high:  # positions before low are < p, from high on >= p
        middle = (low + high) // 2
        if room.positions[middle] < p:
            low = middle + 1
        else:
            high = middle
    return int(low - start)


@kernel
def moved_sum(room: Sorted, c: int, p: int, a: int, part: int) -> float:
    """A sum over the arms moved when v lies just below the p-th best arm, a of category c above.

    Part 0 is the weight, 1 the moment and 2 the cost, about the reference.
    """
    base = 3 * (room.start[c] + c) + part
    size = room.start[c + 1] - room.start[c]
    above = room.own_sums[base + 3 * a]
    return float((room.sums[3 * p + part] - above) + (room.own_sums[base + 3 * size] - above))


@kernel
def screened_cost(
    problem: OracleProblem, c: int, j: int, k: int, r: float, room: Sorted
) -> tuple[float, float]:
    """The cost of making c dominate, with j and k of c merged unless k < 0, up to cancellation.

    Also by how much it may be off, in units of rounding: sums over light arms are differences of
    sums over all, and what is lost of their weight counts as much as v is away from r.
    """
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    order = room.order
    merged = 0.0
    both = 0.0
    pooling = 0.0
    if k >= 0:
        merged = pooled_mean(w[j], mu[j], w[k], mu[k])
        both = w[j] + w[k]
        pooling = weighted_divergence(family, w[j], mu[j], merged)
        pooling += weighted_divergence(family, w[k], mu[k], merged)
    first = 0
    last = K - 1
    weight = 0.0
    moment = 0.0
    while True:
        middle = (first + last) // 2
        v = mu[order[middle]]
        a = better_than(room, c, middle)
        weight = moved_sum(room, c, middle, a, 0)
        moment = moved_sum(room, c, middle, a, 1)
        if k >= 0:
            if mu[j] <= v:
                weight -= w[j]
                moment -= w[j] * (mu[j] - r)
            if mu[k] <= v:
                weight -= w[k]
                moment -= w[k] * (mu[k] - r)
        if first == last:
            break
        total = weight * (v - r) - moment
        if k >= 0 and merged < v:
            total += both * (v - merged)
        if total <= 0.0:
            last = middle
        else:
            first = middle + 1
    low = mu[order[first]]
    high = mu[order[first - 1]] if first > 0 else math.inf
    v = min(max(r + moment / weight, low), high) if weight > 0.0 else low
    cost = moved_sum(room, c, first, better_than(room, c, first), 2)
    if k >= 0:
        if mu[j] <= low:
            cost -= weighted_divergence(family, w[j], mu[j], r)
        if mu[k] <= low:
            cost -= weighted_divergence(family, w[k], mu[k], r)
        if merged < v and both > 0.0:
            cost += both * divergence(family, merged, r)
            moment += both * (merged - r)
            weight += both
            v = min(max(r + moment / weight, low), high)
    away = divergence(family, v, r)
    lost = room.sums[3 * K] * away  # the weight of all arms
    if weight <= 0.0:
        return pooling, lost
    return max(0.0, cost - weight * away) + pooling, lost

"""Choosing among many separations without fitting each: O(log K) for one.

Sums over the sorted arms give the cost of a separation. With r a reference and m the weighted mean
of a set of arms of weight W,

    sum w_i d(mu_i, m) = sum w_i d(mu_i, r) - W d(m, r).

Differences of such sums can cancel: what they rule out beyond doubt is ruled out, and the rest is
fitted in full.
"""

from __future__ import annotations

import math

from armature._compile import kernel
from armature.families import FamilyRecord
from armature.families.kernels import divergence, weighted_divergence
from armature.structures._pooling import pooled_mean
from armature.structures._records import Floats, Shape, Work
from armature.structures._sorting import argsort_descending


@kernel
def sum_up(shape: Shape, family: FamilyRecord, mu: Floats, w: Floats, work: Work) -> float:
    """Sort the arms; running sums of weight, moment and cost about r, over all and by category.

    Returns r. See `category_sums` for where things are.
    """
    K = mu.size
    C = shape.integer[0]
    category = shape.integer[1:]
    order = work.integer[:K]
    argsort_descending(mu, order, work.integer[K : 2 * K])
    weight = 0.0
    r = float(mu[order[0]])
    for i in range(K):
        r = pooled_mean(weight, r, w[i], mu[i])
        weight += w[i]
    # positions[start[c] + a] = the place in `order` of the a-th best arm of category c
    start = work.integer[2 * K : 2 * K + C + 1]
    filled = work.integer[3 * K + 1 : 3 * K + 1 + C]
    positions = work.integer[4 * K + 1 : 5 * K + 1]
    for c in range(C + 1):
        start[c] = 0
    for i in range(K):
        start[category[i] + 1] += 1
    for c in range(C):
        start[c + 1] += start[c]
        filled[c] = start[c]
    sums = work.real
    sums[0] = sums[1] = sums[2] = 0.0
    for p in range(K):
        i = order[p]
        c = category[i]
        a = filled[c]
        filled[c] += 1
        positions[a] = p
        moment = w[i] * (mu[i] - r)
        cost = weighted_divergence(family, w[i], mu[i], r)
        sums[3 * p + 3] = sums[3 * p] + w[i]
        sums[3 * p + 4] = sums[3 * p + 1] + moment
        sums[3 * p + 5] = sums[3 * p + 2] + cost
        own = 3 * K + 3 + 3 * (a + c)  # category c has one more entry than arms: the empty sum
        if a == start[c]:
            sums[own] = sums[own + 1] = sums[own + 2] = 0.0
        sums[own + 3] = sums[own] + w[i]
        sums[own + 4] = sums[own + 1] + moment
        sums[own + 5] = sums[own + 2] + cost
    return r


@kernel
def better_than(work: Work, K: int, c: int, p: int) -> int:
    """How many arms of category c are among the p best of all: a binary search."""
    start = work.integer[2 * K + c]
    low = start
    high = work.integer[2 * K + c + 1]
    while low < high:
        middle = (low + high) // 2
        if work.integer[4 * K + 1 + middle] < p:
            low = middle + 1
        else:
            high = middle
    return int(low - start)


@kernel
def moved_sum(work: Work, K: int, c: int, p: int, a: int, part: int) -> float:
    """A sum over the arms moved when v lies just below the p-th best arm, a of category c above.

    Part 0 is the weight, 1 the moment and 2 the cost, about the reference.
    """
    base = 3 * K + 3 + 3 * (work.integer[2 * K + c] + c) + part
    size = work.integer[2 * K + c + 1] - work.integer[2 * K + c]
    above = work.real[base + 3 * a]
    return float((work.real[3 * p + part] - above) + (work.real[base + 3 * size] - above))


@kernel
def screened_cost(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    c: int,
    j: int,
    k: int,
    r: float,
    work: Work,
) -> float:
    """The cost of making c dominate, with j and k of c merged unless k < 0, up to cancellation."""
    K = mu.size
    order = work.integer
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
        a = better_than(work, K, c, middle)
        weight = moved_sum(work, K, c, middle, a, 0)
        moment = moved_sum(work, K, c, middle, a, 1)
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
    cost = moved_sum(work, K, c, first, better_than(work, K, c, first), 2)
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
    if weight <= 0.0:
        return pooling
    return max(0.0, cost - weight * divergence(family, v, r)) + pooling

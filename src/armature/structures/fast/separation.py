"""One category on top: a level that separates its arms from all others.

Category c dominates when one level v separates it from all others: its arms are raised to v where
they are below, the others lowered to v where they are above. In the best fit, v is the weighted
mean of all the arms that it moves. Two arms j, k can be tied to each other besides.
"""

from __future__ import annotations

import math

from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.solver.pooling import pooled_mean

PLAIN = 0  # no further condition
MERGED = 1  # j and k on the same side of v, and made equal: one arm at their pooled mean
PINNED = 2  # j in c, k outside, lam_k >= lam_j: both are at v


@kernel
def pull(
    mu: Floats, w: Floats, category: Ints, c: int, tie: int, j: int, k: int, v: float
) -> float:
    """The derivative of the cost in v, up to the variance: it increases in v."""
    total = 0.0
    for i in range(mu.size):
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

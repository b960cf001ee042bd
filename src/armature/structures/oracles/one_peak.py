"""One peak along the arms: its kernels, from isotonic fits of all prefixes and suffixes."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.pooling import (
    Prefixes,
    fit_prefixes,
    pooled_mean,
    prefixes_of,
    write_prefix,
)
from armature.structures.oracles.records import OracleProblem, Shape, Work

# A *split* i makes arms 0 .. i-1 non-decreasing and arms i .. K-1 non-increasing, with nothing
# asked of the two arms i-1 and i where they meet: one of them is the peak. Its cost is that of a
# prefix of the arms and of a prefix of the arms backwards.


class PeakScratch(NamedTuple):
    """Room for the fits of three runs, and for two smaller problems."""

    left: Prefixes  # of the arms in order
    right: Prefixes  # of the arms backwards
    run: Prefixes  # of some arms between two others
    trial: Floats  # (K,)
    short_mu: Floats  # (K,): with a plateau as one arm
    short_w: Floats
    short_lam: Floats
    mirrored_mu: Floats  # (K,)
    mirrored_w: Floats
    left_common: Ints  # (K + 1,): see `count_common`
    right_common: Ints


@kernel
def scratch_of(work: Work, K: int) -> PeakScratch:
    """The scratch space for K arms."""
    real = work.real
    integer = work.integer
    n = K + 1
    a = 9 * n
    return PeakScratch(
        prefixes_of(real[: 3 * n], integer[:n], K),
        prefixes_of(real[3 * n : 6 * n], integer[n : 2 * n], K),
        prefixes_of(real[6 * n : a], integer[2 * n : 3 * n], K),
        real[a : a + K],
        real[a + K : a + 2 * K],
        real[a + 2 * K : a + 3 * K],
        real[a + 3 * K : a + 4 * K],
        real[a + 4 * K : a + 5 * K],
        real[a + 5 * K : a + 6 * K],
        integer[3 * n : 4 * n],
        integer[4 * n : 5 * n],
    )


@kernel
def fit_both(family: FamilyRecord, mu: Floats, w: Floats, room: PeakScratch) -> None:
    """Fit all prefixes and all suffixes: what every split is made of.

    Paper: Appendix G.2, unimodal.
    """
    K = mu.size
    fit_prefixes(family, mu, w, 0, 1, K, room.left)
    fit_prefixes(family, mu, w, K - 1, -1, K, room.right)


@kernel
def write_split(
    family: FamilyRecord, mu: Floats, w: Floats, i: int, lam: Floats, room: PeakScratch
) -> float:
    """The fit of split i, after `fit_both`."""
    K = mu.size
    write_prefix(room.left, 0, 1, i, lam)
    write_prefix(room.right, K - 1, -1, K - i, lam)
    return total_divergence(family, w, mu, lam)


@kernel
def best_split(room: PeakScratch, K: int, first: int, last: int, j: int) -> int:
    """The cheapest split from `first` to `last`, after `fit_both`, whose peak is not j."""
    best = -1
    least = math.inf
    for i in range(first, last + 1):  # `best` is the cheapest of those before i that are allowed
        if i != j and i != j + 1:
            cost = room.left.cost[i] + room.right.cost[K - i]
            if best < 0 or cost < least:
                least = cost
                best = i
    return best


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best split."""
    mu = problem.mu
    K = mu.size
    room = scratch_of(problem.work, K)
    fit_both(problem.family, mu, problem.w, room)
    best = best_split(room, K, 1, K - 1, -2)
    return write_split(problem.family, mu, problem.w, best, lam, room)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best split whose peak is not j: all but j and j + 1."""
    mu = problem.mu
    K = mu.size
    room = scratch_of(problem.work, K)
    fit_both(problem.family, mu, problem.w, room)
    best = best_split(room, K, 0, K, first)
    return write_split(problem.family, mu, problem.w, best, lam, room)


@kernel
def write_run(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    start: int,
    step: int,
    n: int,
    lam: Floats,
    room: PeakScratch,
) -> None:
    """The non-decreasing fit to a run of n arms."""
    fit_prefixes(family, mu, w, start, step, n, room.run)
    write_prefix(room.run, start, step, n, lam)


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The peak is at arm k = second: fit both sides, then pool into the peak what exceeds it."""
    return write_peak(problem, second, lam)


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best arm is the peak."""
    return write_peak(problem, first, lam)


@kernel
def write_peak(problem: OracleProblem, peak: int, lam: Floats) -> float:
    """The best fit with the peak at an arm."""
    mu = problem.mu
    w = problem.w
    K = mu.size
    room = scratch_of(problem.work, K)
    write_run(problem.family, mu, w, 0, 1, peak, lam, room)
    write_run(problem.family, mu, w, K - 1, -1, K - 1 - peak, lam, room)
    value = mu[peak]
    weight = w[peak]
    left = peak - 1
    right = peak + 1
    while True:
        above_left = lam[left] if left >= 0 else -math.inf
        above_right = lam[right] if right < K else -math.inf
        if max(above_left, above_right) <= value:
            break
        # An arm of the fit stands for itself: its block's arms are absorbed one by one, and the
        # value stays below the block's until the whole block is in.
        if above_left >= above_right:
            value = pooled_mean(weight, value, w[left], above_left)
            weight += w[left]
            left -= 1
        else:
            value = pooled_mean(weight, value, w[right], above_right)
            weight += w[right]
            right += 1
    for i in range(left + 1, right):
        lam[i] = value
    return total_divergence(problem.family, w, mu, lam)


@kernel
def write_plateau(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats, room: PeakScratch
) -> float:
    """The best unimodal fit that is constant on the arms j .. k."""
    K = mu.size
    n = K - (k - j)
    short_mu = room.short_mu[:n]
    short_w = room.short_w[:n]
    short_lam = room.short_lam[:n]
    value = mu[j]
    weight = w[j]
    for i in range(j + 1, k + 1):
        value = pooled_mean(weight, value, w[i], mu[i])
        weight += w[i]
    for i in range(n):
        source = i if i <= j else i + (k - j)
        short_mu[i] = value if i == j else mu[source]
        short_w[i] = weight if i == j else w[source]
    # The pooling inside j .. k costs the same everywhere and does not matter for the choice.
    if n == 1:
        short_lam[0] = value
    else:
        fit_both(family, short_mu, short_w, room)
        write_split(family, short_mu, short_w, best_split(room, n, 1, n - 1, -2), short_lam, room)
    for i in range(K):
        lam[i] = short_lam[i if i <= j else max(j, i - (k - j))]
    return total_divergence(family, w, mu, lam)


@kernel
def excess_pull(w: Floats, mu: Floats, lam: Floats, j: int, k: int, v: float) -> float:
    """The derivative, up to the variance, of the cost of lam_j = lam_k = v; it increases in v."""
    pull = w[j] * (v - mu[j]) + w[k] * (v - mu[k])
    for i in range(mu.size):  # pull: of j, k and the arms before i
        inside = j < i < k
        outside = i < j or i > k
        if (inside and lam[i] < v) or (outside and lam[i] > v):
            pull += w[i] * (v - lam[i])
    return float(pull)


@kernel
def write_bridge(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    j: int,
    k: int,
    i: int,
    lam: Floats,
    room: PeakScratch,
) -> float:
    """The fit of split i, j < i <= k, with lam_j = lam_k = v: higher between them, lower outside.

    After `fit_both`. Four isotonic fits that do not see v, clipped at v; then v is where its pull
    vanishes.
    """
    K = mu.size
    write_prefix(room.left, 0, 1, j, lam)
    write_run(family, mu, w, j + 1, 1, i - j - 1, lam, room)
    write_run(family, mu, w, k - 1, -1, k - i, lam, room)
    write_prefix(room.right, K - 1, -1, K - 1 - k, lam)
    low = -math.inf
    high = math.inf
    for a in range(K):
        v = mu[a] if a == j or a == k else lam[a]
        if low < v < high:
            if excess_pull(w, mu, lam, j, k, v) <= 0.0:
                low = v
            else:
                high = v
    # Between two neighbouring values the set of clipped arms is fixed, and v is their mean.
    v = pooled_mean(w[j], mu[j], w[k], mu[k])
    weight = w[j] + w[k]
    for a in range(K):
        if (j < a < k and lam[a] <= low) or ((a < j or a > k) and lam[a] >= high):
            v = pooled_mean(weight, v, w[a], lam[a])
            weight += w[a]
    v = min(max(v, low), high)
    for a in range(K):
        if a == j or a == k:
            lam[a] = v
        elif j < a < k:
            lam[a] = max(lam[a], v)
        else:
            lam[a] = min(lam[a], v)
    return total_divergence(family, w, mu, lam)


@kernel
def alt_min_in_order(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats, room: PeakScratch
) -> float:
    """`alt_min` for j < k. Each split is tried: K - j of them, each in O(K)."""
    K = mu.size
    trial = room.trial
    best_cost = write_plateau(family, mu, w, j, k, lam, room)
    fit_both(family, mu, w, room)
    # lam is the best of the plateau and the splits j+1 .. i-1, bridged where they need it.
    for i in range(j + 1, K + 1):
        cost = write_split(family, mu, w, i, trial, room)
        if trial[k] < trial[j] and cost < best_cost:
            cost = write_bridge(family, mu, w, j, k, i, trial, room)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Over all unimodal lam with lam_k >= lam_j: neither of them need be the peak."""
    j = first
    k = second
    K = lam.size
    room = scratch_of(problem.work, K)
    if j < k:
        return alt_min_in_order(problem.family, problem.mu, problem.w, j, k, lam, room)
    mu = room.mirrored_mu
    w = room.mirrored_w
    for i in range(K):  # the arms before i are mirrored
        mu[i] = problem.mu[K - 1 - i]
        w[i] = problem.w[K - 1 - i]
    cost = alt_min_in_order(problem.family, mu, w, K - 1 - j, K - 1 - k, lam, room)
    for i in range(K // 2):
        lam[i], lam[K - 1 - i] = lam[K - 1 - i], lam[i]
    return cost


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper end of each arm at which the peak can be."""
    K = low.size
    possible = 0.0
    # out[p] = 1 where the arms up to p can rise: no lower end above a later upper end.
    highest_low = -math.inf
    rising = True
    for p in range(K):
        highest_low = max(highest_low, low[p])
        rising = rising and highest_low <= high[p]
        out[p] = 1.0 if rising else 0.0
    highest_low = -math.inf
    falling = True
    for p in range(K - 1, -1, -1):
        highest_low = max(highest_low, low[p])
        falling = falling and highest_low <= high[p]
        if falling and out[p] == 1.0:
            out[p] = high[p]
            possible = 1.0
        else:
            out[p] = -math.inf
    return possible

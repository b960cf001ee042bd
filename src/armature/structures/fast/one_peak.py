"""One peak along the arms: its kernels, from isotonic fits of all prefixes and suffixes."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.isotonic import isotonic_blocks, isotonic_costs, write_blocks
from armature.solver.pooling import pooled_mean
from armature.structures.fast.peaks import fit_prefixes, peak_cost, prefixes
from armature.structures.oracles.records import Problem, Shape, Work


class PeakScratch(NamedTuple):
    """Room for the costs of splits, for a run's blocks, and for two smaller problems."""

    costs: Floats  # (K + 1,): of the splits
    falling: Floats  # (K + 1,)
    block_mean: Floats  # (K,)
    block_weight: Floats
    block_size: Ints
    trial: Floats  # (K,)
    short_mu: Floats  # (K,): with a plateau as one arm
    short_w: Floats
    short_lam: Floats
    mirrored_mu: Floats  # (K,)
    mirrored_w: Floats


@kernel
def scratch_of(work: Work, K: int) -> PeakScratch:
    """The scratch space for K arms."""
    real = work.real
    a = 2 * K + 2
    return PeakScratch(
        real[: K + 1],
        real[K + 1 : a],
        real[a : a + K],
        real[a + K : a + 2 * K],
        work.integer[:K],
        real[a + 2 * K : a + 3 * K],
        real[a + 3 * K : a + 4 * K],
        real[a + 4 * K : a + 5 * K],
        real[a + 5 * K : a + 6 * K],
        real[a + 6 * K : a + 7 * K],
        real[a + 7 * K : a + 8 * K],
    )


@kernel
def split_costs(family: FamilyRecord, mu: Floats, w: Floats, room: PeakScratch) -> None:
    """room.costs[i] = the cost of split i, for i = 0 .. K.

    Paper: Appendix G.2, unimodal.
    """
    K = mu.size
    rising = room.costs
    falling = room.falling
    isotonic_costs(family, mu, w, 0, 1, K, rising, room.block_mean, room.block_weight)
    isotonic_costs(family, mu, w, K - 1, -1, K, falling, room.block_mean, room.block_weight)
    for i in range(K + 1):
        rising[i] += falling[K - i]


@kernel
def write_run(
    mu: Floats, w: Floats, start: int, step: int, n: int, lam: Floats, room: PeakScratch
) -> None:
    """The non-decreasing fit to a run."""
    blocks = isotonic_blocks(
        mu, w, start, step, n, room.block_mean, room.block_weight, room.block_size
    )
    write_blocks(lam, start, step, blocks, room.block_mean, room.block_size)


@kernel
def write_split(
    family: FamilyRecord, mu: Floats, w: Floats, i: int, lam: Floats, room: PeakScratch
) -> float:
    """The fit of split i."""
    K = mu.size
    write_run(mu, w, 0, 1, i, lam, room)
    write_run(mu, w, K - 1, -1, K - i, lam, room)
    return total_divergence(family, w, mu, lam)


@kernel
def project(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The best split."""
    mu = problem.mu
    room = scratch_of(problem.work, mu.size)
    split_costs(problem.family, mu, problem.w, room)
    best = 1
    for i in range(2, mu.size):
        if room.costs[i] < room.costs[best]:
            best = i
    return write_split(problem.family, mu, problem.w, best, lam, room)


@kernel
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The best split whose peak is not j: all but j and j + 1."""
    mu = problem.mu
    j = first
    room = scratch_of(problem.work, mu.size)
    split_costs(problem.family, mu, problem.w, room)
    best = -1
    for i in range(mu.size + 1):
        if i != j and i != j + 1 and (best < 0 or room.costs[i] < room.costs[best]):
            best = i
    return write_split(problem.family, mu, problem.w, best, lam, room)


@kernel
def cell_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The peak is at arm k = second: fit both sides, then pool into the peak what exceeds it."""
    return write_peak(problem, second, lam)


@kernel
def best_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The best arm is the peak."""
    return write_peak(problem, first, lam)


@kernel
def write_peak(problem: Problem, peak: int, lam: Floats) -> float:
    """The best fit with the peak at an arm."""
    mu = problem.mu
    w = problem.w
    K = mu.size
    room = scratch_of(problem.work, K)
    write_run(mu, w, 0, 1, peak, lam, room)
    write_run(mu, w, K - 1, -1, K - 1 - peak, lam, room)
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
        split_costs(family, short_mu, short_w, room)
        best = 1
        for i in range(2, n):
            if room.costs[i] < room.costs[best]:
                best = i
        write_split(family, short_mu, short_w, best, short_lam, room)
    for i in range(K):
        lam[i] = short_lam[i if i <= j else max(j, i - (k - j))]
    return total_divergence(family, w, mu, lam)


@kernel
def excess_pull(w: Floats, mu: Floats, lam: Floats, j: int, k: int, v: float) -> float:
    """The derivative, up to the variance, of the cost of lam_j = lam_k = v; it increases in v."""
    pull = w[j] * (v - mu[j]) + w[k] * (v - mu[k])
    for i in range(mu.size):
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

    Four isotonic fits that do not see v, clipped at v; then v is where its pull vanishes.
    """
    K = mu.size
    write_run(mu, w, 0, 1, j, lam, room)
    write_run(mu, w, j + 1, 1, i - j - 1, lam, room)
    write_run(mu, w, k - 1, -1, k - i, lam, room)
    write_run(mu, w, K - 1, -1, K - 1 - k, lam, room)
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
    for i in range(j + 1, K + 1):
        cost = write_split(family, mu, w, i, trial, room)
        if trial[k] < trial[j] and cost < best_cost:
            cost = write_bridge(family, mu, w, j, k, i, trial, room)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost


@kernel
def alt_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """Over all unimodal lam with lam_k >= lam_j: neither of them need be the peak."""
    j = first
    k = second
    K = lam.size
    room = scratch_of(problem.work, K)
    if j < k:
        return alt_min_in_order(problem.family, problem.mu, problem.w, j, k, lam, room)
    mu = room.mirrored_mu
    w = room.mirrored_w
    for i in range(K):
        mu[i] = problem.mu[K - 1 - i]
        w[i] = problem.w[K - 1 - i]
    cost = alt_min_in_order(problem.family, mu, w, K - 1 - j, K - 1 - k, lam, room)
    for i in range(K // 2):
        lam[i], lam[K - 1 - i] = lam[K - 1 - i], lam[i]
    return cost


@kernel
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
    """A challenger beats j where the peak is at it: O(K) unless valleys are many."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    left = prefixes(problem.work, K, 0)
    right = prefixes(problem.work, K, 1)
    fit_prefixes(family, mu, w, 0, 1, left)
    fit_prefixes(family, mu, w, K - 1, -1, right)
    base = math.inf
    for i in range(K):
        costs[i] = peak_cost(family, mu[i], w[i], left, i, right, K - 1 - i)
        base = min(base, costs[i])
    costs[first] = base
    return base


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

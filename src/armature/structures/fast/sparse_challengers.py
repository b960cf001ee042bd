"""The sparse structure's answers for all challengers at once, from the arms ranked by gain."""

from __future__ import annotations

import math

from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.sorting import select_largest
from armature.structures.fast.sparse_fit import (
    others,
    pair_value,
    scratch_of,
    write_gains,
    write_with,
    write_without,
)
from armature.structures.oracles.records import Problem


@kernel
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
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
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
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

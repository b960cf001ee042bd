"""What each place of the peak costs, from the isotonic fits of all prefixes and all suffixes.

The fits of the prefixes share their blocks: a fit is its last block and, before that, the fit of a
shorter prefix. So all of them take O(K) room and time, and each can be gone through backwards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.solver.pooling import pooled_mean
from armature.structures.oracles.records import Work


class Prefixes(NamedTuple):
    """The non-decreasing fits to the first t arms of a run, for t = 0 .. K."""

    cost: Floats
    mean: Floats  # of the last block; -inf where there is none
    weight: Floats
    before: Ints  # how many arms are before that block


@kernel
def prefixes(work: Work, K: int, which: int) -> Prefixes:
    """Room for the fits of the first or second run in the scratch space."""
    n = K + 1
    at = 3 * n * which
    return Prefixes(
        work.real[at : at + n],
        work.real[at + n : at + 2 * n],
        work.real[at + 2 * n : at + 3 * n],
        work.integer[n * which : n * which + n],
    )


@kernel
def fit_prefixes(
    family: FamilyRecord, mu: Floats, w: Floats, start: int, step: int, run: Prefixes
) -> None:
    """Fit all prefixes of the run start, start + step, ... of all arms."""
    run.cost[0] = 0.0
    run.mean[0] = -math.inf
    run.weight[0] = 0.0
    run.before[0] = 0
    cost = 0.0
    for t in range(mu.size):
        mean = mu[start + step * t]
        weight = w[start + step * t]
        at = t
        while run.mean[at] > mean:
            m = run.mean[at]
            v = run.weight[at]
            pooled = pooled_mean(v, m, weight, mean)
            cost += weighted_divergence(family, v, m, pooled)
            cost += weighted_divergence(family, weight, mean, pooled)
            mean = pooled
            weight += v
            at = run.before[at]
        run.mean[t + 1] = mean
        run.weight[t + 1] = weight
        run.before[t + 1] = at
        run.cost[t + 1] = cost


@kernel
def peak_cost(
    family: FamilyRecord, mu: float, w: float, left: Prefixes, a: int, right: Prefixes, b: int
) -> float:
    """The cost of a peak at an arm of mean mu and weight w with a arms to its left, b to its right.

    If the peak is put on one side, and what is then its block is at least as high as all of the
    other side, that fit is the best. If neither side will do, the peak absorbs the highest block
    that exceeds it, on either side, until there is none.
    """
    if left.mean[a] <= right.mean[b + 1]:
        return float(left.cost[a] + right.cost[b + 1])
    if right.mean[b] <= left.mean[a + 1]:
        return float(left.cost[a + 1] + right.cost[b])
    cost = left.cost[a] + right.cost[b]
    while True:
        m = max(left.mean[a], right.mean[b])
        if m <= mu:
            return float(cost)
        if left.mean[a] >= right.mean[b]:
            v = left.weight[a]
            a = left.before[a]
        else:
            v = right.weight[b]
            b = right.before[b]
        pooled = pooled_mean(w, mu, v, m)
        cost += weighted_divergence(family, v, m, pooled)
        cost += weighted_divergence(family, w, mu, pooled)
        mu = pooled
        w += v

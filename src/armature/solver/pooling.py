"""Pooling: the common value of arms that are made equal, and isotonic regression made of it.

For every one-parameter exponential family the y that minimises sum_i w_i d(x_i, y) is the weighted
mean of the x_i. Only the cost depends on the family.

Isotonic regression pools adjacent violators. The arms of a run are visited as i = start,
start + step, ..., and the fit must not decrease along the run; a run is thus also a decreasing one,
read backwards. The fits of all prefixes of a run share their blocks: a fit is its last block and,
before that, the fit of a shorter prefix. So all of them together take O(K) room and time. Costs
follow from

    sum_A w_i d(x_i, y) = sum_A w_i d(x_i, m) + W d(m, y),   m the weighted mean of A, W its weight,

so that pooling two blocks only ever *adds* non-negative terms: nothing cancels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel


@inlined
def pooled_mean(w: float, x: float, v: float, y: float) -> float:
    """The weighted mean of x (weight w) and y (weight v), between them even after rounding.

    Two weightless arms may meet anywhere; half-way treats them alike.
    """
    if w + v == 0.0:
        return 0.5 * x + 0.5 * y
    # From the heavier side: the correction is at most half of the distance, and tiny weights
    # beside large ones lose nothing.
    if w >= v:
        return x + (y - x) * (v / (w + v))
    return y + (x - y) * (w / (w + v))


@inlined
def pair_cost(family: FamilyRecord, w: float, x: float, v: float, y: float) -> float:
    """What it costs to make y (weight v) as good as x (weight w) and change nothing else."""
    if y >= x:
        return 0.0
    z = pooled_mean(w, x, v, y)
    return weighted_divergence(family, w, x, z) + weighted_divergence(family, v, y, z)


class Prefixes(NamedTuple):
    """The non-decreasing fits to the first t arms of a run, for t = 0 .. n."""

    cost: Floats
    mean: Floats  # of the last block; -inf where there is none
    weight: Floats
    before: Ints  # how many arms are before that block


@kernel
def prefixes_of(real: Floats, integer: Ints, n: int) -> Prefixes:
    """Room for the fits to runs of at most n arms: 3 (n + 1) floats and n + 1 integers."""
    m = n + 1
    return Prefixes(real[:m], real[m : 2 * m], real[2 * m : 3 * m], integer[:m])


@kernel
def fit_prefixes(
    family: FamilyRecord, mu: Floats, w: Floats, start: int, step: int, n: int, run: Prefixes
) -> None:
    """Fit all prefixes of the run of n arms that begins at `start`.

    Paper: Appendix G.2, unimodal.
    """
    run.cost[0] = 0.0
    run.mean[0] = -math.inf
    run.weight[0] = 0.0
    run.before[0] = 0
    cost = 0.0
    # The fit to the first t arms is done. Arm t is a new block, which absorbs the block before it
    # until that one is no higher.
    for t in range(n):
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
def write_prefix(run: Prefixes, start: int, step: int, t: int, lam: Floats) -> None:
    """lam = the fit to the first t arms of a run, at these arms."""
    while t > 0:  # the arms of the run from t on have their values; then its last block's
        first = run.before[t]
        for a in range(first, t):
            lam[start + step * a] = run.mean[t]
        t = first

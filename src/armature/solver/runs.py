"""Isotonic fits to all runs of neighbouring arms, from each arm on in both directions.

Row s of a table has the fits to the runs that begin at arm s, or for a table read backwards end
before arm s: entry n is for n arms. A fit is its last block and, before that, the fit to a shorter
run of the row, so that all fits together are K^2 entries and take as long.

The last block is the highest one where `sign` is 1, and the lowest one where it is -1. So where the
fit is cut off at a level, last blocks are what moves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.solver.pooling import pooled_mean


class RunFits(NamedTuple):
    """A table of fits; an entry is at s (K + 1) + n."""

    cost: Floats
    mean: Floats  # of the last block
    weight: Floats
    before: Ints  # how many arms are before it


@kernel
def runs_of(real: Floats, integer: Ints, K: int) -> RunFits:
    """Room for a table: 3 (K + 1)^2 floats and (K + 1)^2 integers."""
    n = (K + 1) * (K + 1)
    return RunFits(real[:n], real[n : 2 * n], real[2 * n : 3 * n], integer[:n])


@kernel
def fit_runs(
    family: FamilyRecord, mu: Floats, w: Floats, backwards: bool, sign: float, runs: RunFits
) -> None:
    """Fill a table: means do not fall along a run for sign 1, and do not rise for sign -1."""
    K = mu.size
    step = -1 if backwards else 1
    for s in range(K + 1):
        base = s * (K + 1)
        runs.cost[base] = 0.0
        runs.mean[base] = -sign * math.inf
        runs.weight[base] = 0.0
        runs.before[base] = 0
        first = s - 1 if backwards else s
        cost = 0.0
        # The fit to the first t arms is done. Arm t is a new block, which absorbs the block before
        # it until that one is in order.
        for t in range(s if backwards else K - s):
            mean = mu[first + step * t]
            weight = w[first + step * t]
            at = t
            while sign * (runs.mean[base + at] - mean) > 0.0:
                m = runs.mean[base + at]
                v = runs.weight[base + at]
                pooled = pooled_mean(v, m, weight, mean)
                cost += weighted_divergence(family, v, m, pooled)
                cost += weighted_divergence(family, weight, mean, pooled)
                mean = pooled
                weight += v
                at = runs.before[base + at]
            runs.mean[base + t + 1] = mean
            runs.weight[base + t + 1] = weight
            runs.before[base + t + 1] = at
            runs.cost[base + t + 1] = cost


@inlined
def value_at(K: int, s: int, n: int, place: int, runs: RunFits) -> float:
    """The mean of an arm in the fit to n arms of a row; its place in the run is below n."""
    base = s * (K + 1)
    while runs.before[base + n] > place:  # invariant: the place is in the fit to n arms
        n = runs.before[base + n]
    return float(runs.mean[base + n])


@kernel
def cut_off(
    family: FamilyRecord, K: int, s: int, n: int, level: float, sign: float, runs: RunFits
) -> tuple[float, float, float]:
    """The cost of a fit if what is beyond a level is put there; the weight of that, and its sum."""
    base = s * (K + 1)
    value = runs.cost[base + n]
    weight = 0.0
    total = 0.0
    while sign * (runs.mean[base + n] - level) > 0.0:  # the blocks after these are at the level
        v = runs.weight[base + n]
        m = runs.mean[base + n]
        value += weighted_divergence(family, v, m, level)
        weight += v
        total += v * m
        n = runs.before[base + n]
    return value, weight, total


@kernel
def write_run(
    K: int, s: int, n: int, backwards: bool, level: float, sign: float, lam: Floats, runs: RunFits
) -> None:
    """lam = the fit to n arms of a row, at these arms, cut off at a level."""
    base = s * (K + 1)
    while n > 0:  # the arms of the run from n on have their means
        before = runs.before[base + n]
        mean = runs.mean[base + n]
        if sign * (mean - level) > 0.0:
            mean = level
        for i in range(before, n):
            lam[s - 1 - i if backwards else s + i] = mean
        n = before

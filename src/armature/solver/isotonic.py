"""Isotonic regression by pooling adjacent violators, with the cost of every prefix.

The arms of a run are visited as i = start, start + step, ..., n of them, and the fit must not
decrease along the run. A run is thus also a decreasing one, read backwards. The minimiser is the
same for every family; the cost follows from

    sum_A w_i d(x_i, y) = sum_A w_i d(x_i, m) + W d(m, y),   m the weighted mean of A, W its weight,

so that pooling two blocks only ever *adds* non-negative terms: nothing cancels.
"""

from __future__ import annotations

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.solver.pooling import pooled_mean


@kernel
def isotonic_costs(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    start: int,
    step: int,
    n: int,
    costs: Floats,
    block_mean: Floats,
    block_weight: Floats,
) -> None:
    """costs[t] = the cost of making the first t arms of the run non-decreasing, t = 0 .. n.

    Paper: Appendix G.2, unimodal.
    """
    blocks = 0
    cost = 0.0
    costs[0] = 0.0
    for t in range(n):
        i = start + step * t
        mean = mu[i]
        weight = w[i]
        while blocks > 0 and block_mean[blocks - 1] > mean:
            blocks -= 1
            m = block_mean[blocks]
            v = block_weight[blocks]
            pooled = pooled_mean(v, m, weight, mean)
            cost += weighted_divergence(family, v, m, pooled)
            cost += weighted_divergence(family, weight, mean, pooled)
            mean = pooled
            weight += v
        block_mean[blocks] = mean
        block_weight[blocks] = weight
        blocks += 1
        costs[t + 1] = cost


@kernel
def isotonic_blocks(
    mu: Floats,
    w: Floats,
    start: int,
    step: int,
    n: int,
    block_mean: Floats,
    block_weight: Floats,
    block_size: Ints,
) -> int:
    """The blocks of the non-decreasing fit to the run, and how many they are."""
    blocks = 0
    for t in range(n):
        i = start + step * t
        mean = mu[i]
        weight = w[i]
        size = 1
        while blocks > 0 and block_mean[blocks - 1] > mean:
            blocks -= 1
            mean = pooled_mean(block_weight[blocks], block_mean[blocks], weight, mean)
            weight += block_weight[blocks]
            size += block_size[blocks]
        block_mean[blocks] = mean
        block_weight[blocks] = weight
        block_size[blocks] = size
        blocks += 1
    return blocks


@kernel
def write_blocks(
    lam: Floats, start: int, step: int, blocks: int, block_mean: Floats, block_size: Ints
) -> None:
    """Spread the blocks of a run over its arms."""
    i = start
    for b in range(blocks):
        for _ in range(block_size[b]):
            lam[i] = block_mean[b]
            i += step

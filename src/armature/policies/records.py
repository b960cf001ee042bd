"""What every policy begins with: a history of rewards, and which arms determine the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream, next_unit
from armature.structures import Structure

ROUNDING = 1e-9  # rows that differ by less are of the same size
SHORT = 0.5 - 1e-9  # of (x - y)^2 / variance: a half, less what rounding may make of it


class History(NamedTuple):
    """The rewards so far, in sums."""

    pulls: Floats  # N: how often each arm was pulled
    sums: Floats  # of each arm's rewards
    means: Floats  # mu_hat = sums / pulls; 0 for an arm without pulls
    squares: Floats  # of each arm's rewards about their mean, summed up
    clock: Ints  # [rounds so far, how many of them were exploration]


def make_history(n_arms: int) -> History:
    """Before the first round."""
    return History(
        pulls=np.zeros(n_arms),
        sums=np.zeros(n_arms),
        means=np.zeros(n_arms),
        squares=np.zeros(n_arms),
        clock=np.zeros(2, dtype=np.int64),
    )


def spanning_arms(structure: Structure) -> Ints:
    """The fewest arms whose means determine all others; all arms where M does not tie them.

    A convex M lies in a flat { lam : C lam = d } of some dimension. So many arms determine all
    means where their rows of a basis of the flat's directions are independent. They are found one
    by one, the next being the one whose row those before it leave most of (of several the first).
    """
    K = structure.n_arms
    left = structure.directions
    if left is None or left.shape[1] in (0, K):
        return np.arange(K, dtype=np.int64)
    chosen = []
    for _ in range(left.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        k = int(np.argmax(sizes >= (1.0 - ROUNDING) * sizes.max()))
        chosen.append(k)
        unit = left[k] / sizes[k]
        left = left - np.outer(left @ unit, unit)
    return np.array(sorted(chosen), dtype=np.int64)


@kernel
def argmax(values: Floats) -> int:
    """The first of the largest."""
    best = 0  # invariant: the first of the largest before k
    for k in range(1, values.size):
        if values[k] > values[best]:
            best = k
    return best


@kernel
def least_pulled(history: History) -> int:
    """The first of the arms with the fewest pulls."""
    least = 0  # invariant: the first of the arms before k with the fewest pulls
    for k in range(1, history.pulls.size):
        if history.pulls[k] < history.pulls[least]:
            least = k
    return least


@kernel
def draw_index(weights: Floats, total: float, stream: Stream) -> int:
    """An index, drawn by weights that add up to `total`; -1 where rounding leaves none.

    Invariant: `target` is the number that was drawn, less the weights before i; it is not negative.
    """
    target = next_unit(stream) * total
    for i in range(weights.size):
        target -= weights[i]
        if target < 0.0:
            return i
    return -1


@kernel
def mark_exploration(history: History) -> None:
    """This round is exploration (counted by policies that tell the two apart)."""
    history.clock[1] += 1


@inlined
def least_divergence(family: FamilyRecord, x: float, y: float) -> float:
    """At most d(x, y), by two multiplications: rewards are sub-Gaussian with variance `proxy`.

    (For Bernoulli rewards, Pinsker's inequality; 0 where there is no such variance.) What is too
    far by this bound is too far: so a loop over many arms takes few logarithms.
    """
    gap = x - y
    return SHORT * gap * gap / family.proxy

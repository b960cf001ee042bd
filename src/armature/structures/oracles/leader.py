"""The leader: the best arm of a projection, and of several arms that it puts level, which one.

A projection pools arms: those of a category below its level, those that a piece makes equal. The
first of them would be another arm if the arms were numbered otherwise. The leader is the one whose
own rewards say most that its mean is above the common value v: the one with the highest slope of
its log-likelihood there,

    N_k (mean_k - v) / variance_k(v),

which is the sum of its rewards' distances from v where all variances are equal. An arm with one
lucky reward so gets no more weight than one with many that are a little above v. Over arms that a
projection has pooled and nothing else holds, the slopes add up to 0. Where they are equal the data
don't tell the arms apart, and the first of them leads: it is so without a structure, where v is the
mean of each.
"""

from __future__ import annotations

import math

from armature.families import FamilyRecord
from armature.families.kernels import of_arm, variance
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel

# Pooled arms get equal values up to rounding: kernels in closed form exactly, the dense solver to a
# few units in the last place (2e-16, relative to the largest mean).
LEVEL = 1e-12


@inlined
def top_value(projected: Floats) -> tuple[int, float]:
    """The first of the arms with the highest value, and down to where others are level with it."""
    best = 0
    low = projected[0]
    for k in range(1, projected.size):  # best and low: of the arms before k
        if projected[k] > projected[best]:
            best = k
        low = min(low, projected[k])
    high = projected[best]
    return best, high - LEVEL * max(abs(high), abs(low))


@kernel
def own_evidence(family: FamilyRecord, k: int, n: float, mean: float, v: float) -> float:
    """The slope of an arm's log-likelihood at v."""
    if n == 0.0 or mean == v:
        return 0.0
    noise = variance(of_arm(family, k), v)
    if noise == 0.0:  # v is an end of the domain
        return math.inf if mean > v else -math.inf
    return n * (mean - v) / noise


@kernel
def leader_of(family: FamilyRecord, projected: Floats, means: Floats, pulls: Floats) -> int:
    """The arm with the highest projected mean; of several, the one with the best own evidence."""
    best, bar = top_value(projected)
    leader = -1
    most = -math.inf
    for k in range(projected.size):
        if projected[k] >= bar:
            if leader < 0 and not is_shared(projected, k, bar):
                return k
            evidence = own_evidence(family, k, pulls[k], means[k], projected[best])
            if leader < 0 or evidence > most:
                most = evidence
                leader = k
    return leader if leader >= 0 else best  # the latter where there is no projection, but nan


@kernel
def is_shared(projected: Floats, leader: int, bar: float) -> bool:
    """True if other arms are level with the leader: not below the bar."""
    for k in range(projected.size):
        if k != leader and projected[k] >= bar:
            return True
    return False


@inlined
def is_ahead(
    family: FamilyRecord, projected: Floats, means: Floats, pulls: Floats, one: int, other: int
) -> bool:
    """Of two arms that nothing else tells apart, whether the first has the better own evidence."""
    first = own_evidence(family, one, pulls[one], means[one], projected[one])
    return first > own_evidence(family, other, pulls[other], means[other], projected[other])

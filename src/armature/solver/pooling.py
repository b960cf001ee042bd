"""Pooling: the common value of arms that are made equal.

For every one-parameter exponential family the y that minimises sum_i w_i d(x_i, y) is the weighted
mean of the x_i. Only the cost depends on the family.
"""

from __future__ import annotations

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.kernel import inlined


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

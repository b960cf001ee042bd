"""The highest mean of each arm over the mean vectors of M inside a box of intervals.

One kernel for each structure; each writes `bounds` and says whether there is such a vector at all.
Arms that can't be best in such a vector may get less than their highest mean: no one asks.
"""

from __future__ import annotations

import math

import numpy as np

from armature._compile import kernel
from armature.structures import PolyhedralStructure
from armature.structures._convex import scratch_size
from armature.structures._farthest import farthest
from armature.structures._quadratic import Limits, Rows, make_state, state_size
from armature.structures._records import Floats, Ints, Shape


@kernel
def unimodal_bounds(low: Floats, high: Floats, bounds: Floats) -> bool:
    """The upper end of each arm at which the peak can be."""
    K = low.size
    feasible = False
    # bounds[p] = 1 where the arms up to p can rise: no lower end above a later upper end.
    highest_low = -math.inf
    rising = True
    for p in range(K):
        highest_low = max(highest_low, low[p])
        rising = rising and highest_low <= high[p]
        bounds[p] = 1.0 if rising else 0.0
    highest_low = -math.inf
    falling = True
    for p in range(K - 1, -1, -1):
        highest_low = max(highest_low, low[p])
        falling = falling and highest_low <= high[p]
        if falling and bounds[p] == 1.0:
            bounds[p] = high[p]
            feasible = True
        else:
            bounds[p] = -math.inf
    return feasible


@kernel
def categorised_bounds(shape: Shape, low: Floats, high: Floats, bounds: Floats) -> bool:
    """The upper ends of the arms in categories that can be on top."""
    category = shape.integer[1:]
    feasible = False
    for c in range(shape.integer[0]):
        ceiling = math.inf
        floor = -math.inf
        for k in range(low.size):
            if category[k] == c:
                ceiling = min(ceiling, high[k])
            else:
                floor = max(floor, low[k])
        for k in range(low.size):
            if category[k] == c:
                bounds[k] = high[k] if floor <= ceiling else -math.inf
        feasible = feasible or floor <= ceiling
    return feasible


@kernel
def sparse_bounds(shape: Shape, low: Floats, high: Floats, bounds: Floats) -> bool:
    """The upper end of an arm for which there is a place in the support, else the level."""
    level = shape.real[0]
    above = 0
    feasible = True
    for k in range(low.size):
        feasible = feasible and high[k] >= level
        if low[k] > level:
            above += 1
    for k in range(low.size):
        others = above - (1 if low[k] > level else 0)
        bounds[k] = high[k] if others < shape.integer[0] else level
    return feasible and above <= shape.integer[0]


@kernel
def lipschitz_bounds(
    constant: float, positions: Floats, low: Floats, high: Floats, bounds: Floats
) -> bool:
    """The lowest cone of all."""
    feasible = True
    for k in range(high.size):
        bounds[k] = high[k]
        for i in range(high.size):
            bounds[k] = min(bounds[k], high[i] + constant * abs(positions[i] - positions[k]))
        feasible = feasible and low[k] <= bounds[k]
    return feasible


@kernel
def simplex_bounds(low: Floats, high: Floats, bounds: Floats) -> bool:
    """What the lower ends of the others leave of 1."""
    total = 0.0
    most = 0.0
    positive = True
    for k in range(low.size):
        positive = positive and high[k] >= 0.0
        total += max(0.0, low[k])
        most += high[k]
    for k in range(low.size):
        bounds[k] = min(high[k], 1.0 - (total - max(0.0, low[k])))
    return positive and total <= 1.0 <= most


@kernel
def polyhedral_bounds(
    rows: Rows, low: Floats, high: Floats, bounds: Floats, real: Floats, integer: Ints
) -> bool:
    """A linear program for each arm."""
    K = low.size
    m = rows.right.size
    n_real, _ = state_size(K, K, m)
    state = make_state(real, integer, K, K, m)
    limits = Limits(low, high, -1, -1, -1, -1)
    identity = real[:0].reshape(0, 0)
    lam = real[n_real : n_real + K]
    for k in range(K):
        bounds[k] = farthest(rows, limits, identity, k, lam, state, real[n_real + K :])
        if bounds[k] == -math.inf:
            return False
    return True


def box_rows(structure: PolyhedralStructure) -> tuple[Rows, Floats, Ints]:
    """The constraints of a structure, and room to solve under them and a box."""
    K = structure.n_arms
    A, b, C, d = structure.constraints
    matrix = np.vstack([C, -A])
    right = np.concatenate([d, -b])
    norms = np.linalg.norm(matrix, axis=1)
    norms[norms == 0.0] = 1.0
    matrix, right = matrix / norms[:, None], right / norms
    row, column = np.nonzero(matrix)
    start = np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int64)
    rows = Rows(start, column.astype(np.int64), matrix[row, column], right, len(C))
    n_real, n_integer = state_size.py_func(K, K, len(matrix))
    n_real += K + scratch_size.py_func(K, K)
    return rows, np.zeros(n_real), np.zeros(n_integer, dtype=np.int64)

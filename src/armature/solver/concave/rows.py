"""Whether linear conditions say that means are concave along a line, between two bounds.

What the conditions say is enough, whoever wrote them: each row with three arms asks that the one in
the middle is at least on the line through the outer two, and the rows make one line. A row's
coefficients tell how far the three are apart, and the next row goes on from there.
"""

from __future__ import annotations

import math

import numpy as np

from armature.kernels.arrays import Floats
from armature.solver.concave.knots import Bends

SAME = 1e-9  # how exactly the coefficients of a row must add up to 0


def bends_of(A: Floats, b: Floats, C: Floats, d: Floats) -> Bends | None:
    """Concave means; None where the conditions say anything else."""
    K = A.shape[1]
    counts = np.count_nonzero(A, axis=1)
    triples, singles = counts == 3, counts == 1
    if K < 3 or len(d) or not (triples | singles).all() or triples.sum() != K - 2:
        return None
    bounds = bounds_of(A[singles], b[singles])
    if bounds is None or b[triples].any():
        return None
    steps: dict[int, dict[int, float]] = {}  # of each middle arm: its neighbours, how far they are
    for row in A[triples]:
        arms = np.flatnonzero(row)
        middle = arms[row[arms] < 0.0]
        if middle.size != 1 or abs(row.sum()) > SAME * np.abs(row).sum():
            return None
        one, other = (int(arm) for arm in arms if arm != middle[0])
        # The nearer neighbour has the larger coefficient.
        steps[int(middle[0])] = {one: 1.0 / float(row[one]), other: 1.0 / float(row[other])}
    line = line_of(steps, K)
    if line is None:
        return None
    order, position = line
    low, high = bounds
    return Bends(np.array(order), np.array(position), np.full(K, low), np.full(K, high))


def bounds_of(rows: Floats, right: Floats) -> tuple[float, float] | None:
    """The bounds that all arms have; None where they have bounds of their own."""
    ends = np.full((2, rows.shape[1]), math.inf)
    for row, value in zip(rows, right, strict=True):
        arm = int(np.flatnonzero(row)[0])
        side = 0 if row[arm] > 0.0 else 1
        ends[side, arm] = min(ends[side, arm], float(value / abs(row[arm])))
    high, low = ends[0], -ends[1]
    if (high != high[0]).any() or (low != low[0]).any() or not low[0] < high[0]:
        return None
    return float(low[0]), float(high[0])


def line_of(steps: dict[int, dict[int, float]], K: int) -> tuple[list[int], list[float]] | None:
    """The arms along the line and their positions; None where the rows make no line."""
    if len(steps) != K - 2:
        return None
    first, last = (arm for arm in range(K) if arm not in steps)
    start = [arm for arm, near in steps.items() if first in near]
    if len(start) != 1:
        return None
    order, position = [first, start[0]], [0.0, 1.0]
    while order[-1] in steps:
        before, here = order[-2:]
        near = steps[here]
        if before not in near or len(near) != 2:
            return None
        (after,) = (arm for arm in near if arm != before)
        if after in order[-2:] or len(order) == K:
            return None
        gap = (position[-1] - position[-2]) * near[after] / near[before]
        if not 0.0 < gap < math.inf:
            return None
        order.append(after)
        position.append(position[-1] + gap)
    return (order, position) if len(order) == K and order[-1] == last else None

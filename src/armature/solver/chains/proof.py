"""Multipliers of a chain, and how far its cost is above what they prove to be the minimum.

With g the gradient of the cost at lam, u_i the multiplier of the difference of i and i + 1 (at
least 0 where it is as large as it may be, at most 0 where it is as small, 0 where it is free) and
b_i that of a bound on lam_i (likewise), lam is a minimiser if

    g_i + u_{i-1} - r_i u_i + b_i = 0    for all i, with u_{-1} = u_{K-1} = 0

and r_i the factor of the bound that holds: up_i where u_i > 0, else down_i.

Which u_i can be part of such multipliers of the arms 0 .. i is an interval, found along the chain;
backwards, each u is the one in its interval that needs the least b. What remains is a residual r_i:
by convexity no point of the chain costs less by more than r_i^2 / h_i where an arm has the
curvature h_i, or than |r_i| times the way.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.solver.chains.chain import factor
from armature.solver.chains.messages import AT_HIGH, AT_LOW, FIXED, FREE


@inlined
def least_multiplier(held: int) -> float:
    """The least that the multiplier of a bound may be."""
    return -math.inf if held == AT_LOW or held == FIXED else 0.0


@inlined
def most_multiplier(held: int) -> float:
    """The most."""
    return math.inf if held == AT_HIGH or held == FIXED else 0.0


@inlined
def pin(lam: float, low: float, high: float) -> int:
    """How an arm is held by its own bounds."""
    if lam >= high:
        return FIXED if lam <= low else AT_HIGH
    return AT_LOW if lam <= low else FREE


@kernel
def prove(
    g: Floats,
    h: Floats,
    lam: Floats,
    lo: Floats,
    hi: Floats,
    low: Floats,
    high: Floats,
    down: Floats,
    up: Floats,
    held: Ints,
    reach: float,
    least: Floats,
    most: Floats,
    b: Floats,
) -> float:
    """By how much the cost may exceed the minimum; b = the multipliers of the arms' bounds.

    An arm is held by its bound if it is exactly there. `least`, `most` are scratch space.
    """
    K = g.size
    a = 0.0
    z = 0.0
    for i in range(K):  # [a, z] are the possible multipliers u_{i - 1}
        a += g[i]
        z += g[i]
        pinned = pin(lam[i], low[i], high[i])
        if pinned == AT_HIGH or pinned == FIXED:
            z = math.inf
        if pinned == AT_LOW or pinned == FIXED:
            a = -math.inf
        own_least = least_multiplier(held[i])
        own_most = most_multiplier(held[i])
        if z < own_least:  # none is possible: the nearest of those with the right sign
            z = own_least
            a = own_least
        elif a > own_most:
            a = own_most
            z = own_most
        a = max(a, own_least)
        z = min(z, own_most)
        if up.size > 0 and i < K - 1:  # so far, what they are for arm i
            a = a / up[i] if a > 0.0 else a / down[i]
            z = z / up[i] if z > 0.0 else z / down[i]
        least[i] = a
        most[i] = z
    gap = 0.0
    u = 0.0
    for i in range(K - 1, -1, -1):  # u = r_i u_i
        before = min(max(u - g[i], least[i - 1]), most[i - 1]) if i > 0 else 0.0
        b[i] = u - before - g[i]
        pinned = pin(lam[i], low[i], high[i])
        wrong = b[i] - min(max(b[i], least_multiplier(pinned)), most_multiplier(pinned))
        if wrong != 0.0:
            way = min(abs(wrong) / h[i], reach) if h[i] > 0.0 else reach
            gap += abs(wrong) * way
        if i > 0 and before != 0.0:
            bound = hi[i - 1] if before > 0.0 else lo[i - 1]
            by = factor(up, i - 1) if before > 0.0 else factor(down, i - 1)
            gap += abs(before * (bound - (lam[i] - by * lam[i - 1])))
            before *= by
        u = before
    return gap

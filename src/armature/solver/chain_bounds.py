"""Bounds from below on what it costs in a chain that one arm beats another, all in one sweep.

Let p be the nearest point of the chain and F_k the cost of arm k. Every lam of the chain costs at
least the sum of

    F_k(lam_k) - F_k(p_k) - F_k'(p_k) (lam_k - p_k)    over all arms k

more than p. If lam_i >= t >= lam_j, neighbours are drawn along: those of i are at least on the
steepest fall from t on either side of it, those of j at most on the steepest rise. Until p itself
is beyond these: from there on it stays so, as p is in the chain. So what is drawn along is a run
of arms about i and one about j, and what that costs is a bound for each t, convex in t.
"""

from __future__ import annotations

import math

from armature.families.kernels import curvature, divergence, of_arm, slope
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.solver.chain import Chain, ChainScratch
from armature.solver.program import Cost

STEPS = 8
ENOUGH = 1e-2  # how much less than the bound that t allows, relatively, is as good


@inlined
def drawn_arm(cost: Cost, k: int, p: float, level: float) -> tuple[float, float, float]:
    """What it costs to draw arm k from p to a level: at least so much, the slope, the curvature."""
    family, mu, w = cost
    arm = of_arm(family, k)
    move = level - p
    if family.gaussian:
        curve = w[k] / arm.parameter
        return 0.5 * curve * move * move, curve * move, curve
    if not arm.low <= level <= arm.high:
        return math.inf, math.inf, 0.0
    steep = slope(arm, mu[k], p)
    value = divergence(arm, mu[k], level) - divergence(arm, mu[k], p) - steep * move
    steep = slope(arm, mu[k], level) - steep
    return w[k] * max(value, 0.0), w[k] * steep, w[k] * curvature(arm, mu[k], level)


@kernel
def drawn(
    cost: Cost, chain: Chain, p: Floats, i: int, t: float, sign: float
) -> tuple[float, float, float]:
    """What it costs to have arm i at t or above (sign 1) or below (-1): value, slope, curvature.

    i is its place in the line, which p is along.
    """
    w = cost.w
    value = 0.0
    steep = 0.0
    curve = 0.0
    for way in range(2):
        level = t
        k = i
        # Arm k is drawn to the level at least. Arms between it and i have been counted, and i once.
        while sign * (level - p[k]) > 0.0:
            arm = chain.order[k]
            if w[arm] > 0.0 and (k != i or way == 0):
                more = drawn_arm(cost, arm, p[k], level)
                value += more[0]
                steep += more[1]
                curve += more[2]
            k += 1 - 2 * way
            if k < 0 or k >= p.size:
                break
            if way == 0:
                level += chain.lo[k - 1] if sign > 0.0 else chain.hi[k - 1]
            else:
                level -= chain.hi[k] if sign > 0.0 else chain.lo[k]
    return value, steep, curve


@kernel
def bound_at(cost: Cost, chain: Chain, p: Floats, j: int, i: int) -> float:
    """The bound for the arms at the places i and j, to a hundredth."""
    wi = cost.w[chain.order[i]]
    wj = cost.w[chain.order[j]]
    left = p[i]
    right = p[j]
    if left >= right or wi == 0.0 or wj == 0.0:
        return 0.0
    t = left + (right - left) * (wj / (wi + wj))
    family = cost.family
    least = wi / of_arm(family, chain.order[i]).parameter
    least += wj / of_arm(family, chain.order[j]).parameter
    bound = 0.0
    # Invariant: the best t is in [left, right]. Newton's method; where the tangent at any t is
    # least in there is a bound, and so is the parabola that Gaussian arms i and j alone allow.
    for _ in range(STEPS):
        up = drawn(cost, chain, p, i, t, 1.0)
        down = drawn(cost, chain, p, j, t, -1.0)
        if not (up[0] + abs(up[1]) < math.inf and down[0] + abs(down[1]) < math.inf):
            if down[0] + abs(down[1]) < math.inf:  # t is too high for some arm
                right = t
            elif up[0] + abs(up[1]) < math.inf:
                left = t
            else:
                break
            t = 0.5 * left + 0.5 * right
            continue
        value = up[0] + down[0]
        steep = up[1] + down[1]
        curve = up[2] + down[2]
        if steep > 0.0:
            right = t
        else:
            left = t
        less = abs(steep) * (right - left)
        if family.gaussian:
            less = min(less, steep * steep / (2.0 * least))
        bound = max(bound, value - less)
        if value - bound <= ENOUGH * value or not curve > 0.0:
            break
        t -= steep / curve
        if not left < t < right:
            t = 0.5 * left + 0.5 * right
    return bound


@kernel
def bounds_on_chain(
    cost: Cost, chain: Chain, projected: Floats, j: int, out: Floats, s: ChainScratch
) -> None:
    """out = for each arm what it costs at least, more than the projection, that it beats arm j."""
    at: int = 0
    for i in range(projected.size):
        s.x[i] = projected[chain.order[i]]
        if chain.order[i] == j:
            at = i
    for i in range(projected.size):
        out[chain.order[i]] = bound_at(cost, chain, s.x, at, i)

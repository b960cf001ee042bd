"""Bounds from below on what it costs in a chain that one arm beats another, all in one sweep.

If arm i is to beat arm j, and does not in the nearest point p of the chain, then at the least cost
both have one mean t. For a given t, three parts of the line are on their own: what is beyond the
two, which `sides` knows at any mean, and what is between them. There, each of the two moves
a run of arms away from p. If these runs don't meet, the arms between them are as in p; else the
part between is a chain of its own, with both ends fixed.

The cost is convex in t, and its slope is known: so where the tangent at any t is least is a bound,
and Newton's method makes it as good as the minimum within a few steps.
"""

from __future__ import annotations

import math

from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import largest
from armature.solver.chains.chain import (
    Chain,
    factor,
    least_after,
    least_before,
    most_after,
    most_before,
    write_bounds,
)
from armature.solver.chains.limits import ends_of_chain
from armature.solver.chains.messages import within
from armature.solver.chains.nearest import CONTRADICTION, ChainScratch
from armature.solver.chains.sides import (
    Sides,
    arm_at,
    beside,
    follow_back,
    least_beside,
    look_along,
    look_from,
    most_beside,
    rate_beside,
    send,
)
from armature.solver.program import Cost

STEPS = 16
ENOUGH = 1e-6  # how much less than the bound that t allows, relatively, is as good
SAFETY = 1e-11  # of all costs: for rounding
TIED = 100.0  # times that: an edge of which it may not be certain whether it binds
NEAR = 1e-13  # of the means: what is rounding


@kernel
def run_from(
    cost: Cost, chain: Chain, s: Sides, i: int, t: float, way: int, end: int, near: float
) -> tuple[float, float, float, int]:
    """What the arms cost that arm i with mean t moves from p, on one side, before `end`.

    Besides the slope, the curvature and the first arm that is as in p (`end` if there is none).
    """
    step = 2 * way - 1
    value = 0.0
    steep = 0.0
    curve = 0.0
    tied = True
    level = t
    rate = 1.0
    k = i
    while True:  # what is between i and k has been counted; `tied`: k moves with i
        n = k + step
        if n == end:
            return value, steep, curve, n
        least = least_beside(chain, k, way, level)
        most = most_beside(chain, k, way, level)
        if least > s.last[way, n] + near:
            level = least
            rate *= rate_beside(chain, k, way, True)
        elif most < s.first[way, n] - near:
            level = most
            rate *= rate_beside(chain, k, way, False)
        else:
            tied = False
            level = within(s.p[n], max(least, s.first[way, n]), min(most, s.last[way, n]))
            if abs(level - s.p[n]) <= near:
                return value, steep, curve, n
        own = arm_at(cost, chain, s, n, level)
        value += own[0]
        if tied:
            steep += rate * own[1]
            curve += rate * rate * own[2]
        k = n


@kernel
def rigid_between(
    cost: Cost, chain: Chain, s: Sides, a: int, b: int, t: float, low: bool
) -> tuple[float, float, float]:
    """The same for all arms between a and b, where each difference is as small as it may be
    (`low`) or as large. In a chain that is not even that is so at one t alone, and not told.
    """
    if chain.up.size > 0:
        return math.inf, 0.0, 0.0
    value = 0.0
    steep = 0.0
    curve = 0.0
    level = t
    for k in range(a + 1, b):
        level += chain.lo[k - 1] if low else chain.hi[k - 1]
        own = arm_at(cost, chain, s, k, within(level, s.low[k], s.high[k]))
        value += own[0]
        steep += own[1]
        curve += own[2]
    return value, steep, curve


@kernel
def chain_between(
    cost: Cost, chain: Chain, s: Sides, inner: Sides, a: int, b: int, t: float, near: float,
    scratch: ChainScratch,
) -> tuple[float, float, float]:  # fmt: skip
    """The same where both ends are at t and what they move meets: a chain of its own."""
    if cost.family.gaussian:
        send(chain, inner, a, b, 0, t, t, CONTRADICTION * abs(t), scratch.messages)
    else:
        low = t
        high = t
        inner.first[0, a] = t
        inner.last[0, a] = t
        inner.least[0, a] = 0.0
        for k in range(a + 1, b):  # [low, high]: where arm k - 1 can be
            low = within(least_after(chain, k - 1, low), s.low[k], s.high[k])
            high = within(most_after(chain, k - 1, high), s.low[k], s.high[k])
            look_from(cost, chain, inner, k, 0, a, low, max(low, high), near)
            y = within(s.x[k], inner.first[0, k], inner.last[0, k])
            own = arm_at(cost, chain, s, k, y)
            inner.least[0, k] = own[0] + beside(cost, chain, inner, k, y, 0, a, near)[0]
    value = 0.0
    steep = 0.0
    curve = 0.0
    block_steep = 0.0
    block_curve = 0.0
    tied = True
    level = t
    rate = 1.0
    # `block`: of the arms that k + 1 is tied to, where the last of them moves, and k + 1 at `rate`;
    # `tied`: b is one
    for k in range(b - 1, a, -1):
        least = least_before(chain, k, level)
        most = most_before(chain, k, level)
        if least >= inner.last[0, k] - TIED * near:  # a minimiser that is tied to a moves, too
            level = max(least, inner.first[0, k])
            rate *= rate_beside(chain, k + 1, 0, True)
        elif most <= inner.first[0, k] + TIED * near:
            level = min(most, inner.last[0, k])
            rate *= rate_beside(chain, k + 1, 0, False)
        else:
            if tied:
                steep = block_steep
                curve = block_curve
            tied = False
            block_steep = 0.0
            block_curve = 0.0
            rate = 1.0
            level = within(s.x[k], max(least, inner.first[0, k]), min(most, inner.last[0, k]))
        own = arm_at(cost, chain, s, k, level)
        value += own[0]
        block_steep += rate * own[1]
        block_curve += rate * rate * own[2]
    is_most = least_before(chain, a, level) >= t - TIED * near
    if tied or is_most or most_before(chain, a, level) <= t + TIED * near:  # the last block is tied
        if not tied:
            rate = rate_beside(chain, a, 1, not is_most) / rate
        else:
            rate = 1.0
        steep += rate * block_steep
        curve += rate * rate * block_curve
    return value, steep, curve


@kernel
def drawn_along(chain: Chain, a: int, b: int) -> tuple[float, float, float, float]:
    """(lo, down, hi, up) of arm b as if it were the neighbour of arm a."""
    lo = 0.0
    hi = 0.0
    down = 1.0
    up = 1.0
    for k in range(a, b):
        lo = least_after(chain, k, lo)
        hi = most_after(chain, k, hi)
        down *= factor(chain.down, k)
        up *= factor(chain.up, k)
    return lo, down, hi, up


@kernel
def between(
    cost: Cost, chain: Chain, s: Sides, inner: Sides, a: int, b: int, t: float, near: float,
    scratch: ChainScratch,
) -> tuple[float, float, float]:  # fmt: skip
    """What the arms between the places a and b cost where both have mean t; slope, curvature."""
    if b == a + 1:
        return 0.0, 0.0, 0.0
    low, down, high, up = drawn_along(chain, a, b)
    if low + (down - 1.0) * t >= -near:
        return rigid_between(cost, chain, s, a, b, t, True)
    if high + (up - 1.0) * t <= near:
        return rigid_between(cost, chain, s, a, b, t, False)
    one = run_from(cost, chain, s, a, t, 1, b, near)
    other = run_from(cost, chain, s, b, t, 0, a, near)
    if one[3] <= other[3]:
        rest = s.until[other[3] + 1] - s.until[one[3]]
        return one[0] + rest + other[0], one[1] + other[1], one[2] + other[2]
    return chain_between(cost, chain, s, inner, a, b, t, near, scratch)


@inlined
def tied_at(
    cost: Cost, chain: Chain, s: Sides, inner: Sides, a: int, b: int, t: float, near: float,
    scratch: ChainScratch,
) -> tuple[float, float, float]:  # fmt: skip
    """What all arms cost where the arms at the places a < b have mean t; slope, curvature."""
    first = arm_at(cost, chain, s, a, t)
    before = beside(cost, chain, s, a, t, 0, -1, near)
    middle = between(cost, chain, s, inner, a, b, t, near, scratch)
    last = arm_at(cost, chain, s, b, t)
    after = beside(cost, chain, s, b, t, 1, s.x.size, near)
    return (
        before[0] + first[0] + middle[0] + last[0] + after[0],
        before[1] + first[1] + middle[1] + last[1] + after[1],
        before[2] + first[2] + middle[2] + last[2] + after[2],
    )


@kernel
def bound_at(
    cost: Cost, chain: Chain, s: Sides, inner: Sides, j: int, i: int, size: float, matters: float,
    scratch: ChainScratch,
) -> float:  # fmt: skip
    """The bound for the arms at the places i and j, as good as it gets below what matters."""
    near = NEAR * size
    if s.p[i] >= s.p[j]:
        return 0.0
    a = min(i, j)
    b = max(i, j)
    left = max(s.low[i], s.low[j])
    right = min(s.high[i], s.high[j])
    least, down, most, up = drawn_along(chain, a, b)
    if down != 1.0 and least > -math.inf:  # least + down t <= t
        if down > 1.0:
            right = min(right, least / (1.0 - down))
        else:
            left = max(left, least / (1.0 - down))
        least = -math.inf
    if up != 1.0 and most < math.inf:  # t <= most + up t
        if up > 1.0:
            left = max(left, most / (1.0 - up))
        else:
            right = min(right, most / (1.0 - up))
        most = math.inf
    apart = max(left - right, max(least, -most))
    if apart > CONTRADICTION * size:
        return math.inf
    if apart > 0.0:
        return 0.0
    first = within(s.p[i], left, right)
    last = within(s.p[j], left, right)
    ends = 2  # of them, those that have to be looked at first: an arm may be let go beyond
    if chain.up.size == 0:
        left = first
        right = last
        ends = 0
    family, _, w = cost
    wi = w[chain.order[i]] / of_arm(family, chain.order[i]).parameter
    wj = w[chain.order[j]] / of_arm(family, chain.order[j]).parameter
    base = s.until[s.p.size]
    t = 0.5 * first + 0.5 * last
    bound = 0.0
    if family.gaussian and wi + wj > 0.0:
        t = within((wi * s.p[i] + wj * s.p[j]) / (wi + wj), first, last)
        bound = 0.5 * wi * wj / (wi + wj) * (s.p[j] - s.p[i]) ** 2  # what the two alone cost
    # Invariant: the best t is in [left, right]. Newton's method; where the tangent at any t is
    # least in there is a bound, and so is the parabola that Gaussian arms i and j alone allow.
    best = t
    for step in range(-ends, STEPS):
        if bound * (1.0 - SAFETY) - SAFETY * base >= matters:
            break
        t = first if step == -2 else (last if step == -1 else best)
        value, steep, curve = tied_at(cost, chain, s, inner, a, b, t, near, scratch)
        if not value + abs(steep) < math.inf:  # at an end of a domain, or as good as there
            best = 0.5 * best + 0.5 * (0.5 * max(left, first) + 0.5 * min(right, last))
            continue
        if steep > 0.0:
            right = t
        else:
            left = t
        less = abs(steep) * (right - left) if steep != 0.0 else 0.0
        if family.gaussian and wi + wj > 0.0:
            less = min(less, steep * steep / (2.0 * (wi + wj)))
        bound = max(bound, value - base - less)
        if value - base - bound <= ENOUGH * (value - base) or steep == 0.0:
            break
        following = t - steep / curve if curve > 0.0 else math.nan
        if not left < following < right:
            following = 0.5 * left + 0.5 * right
        if not abs(following) < math.inf:
            following = 2.0 * t - 0.5 * (first + last)
        if step >= 0 or not left < best < right:
            best = following
    return max(float(bound * (1.0 - SAFETY) - SAFETY * base), 0.0)


@kernel
def look_at_chain(
    cost: Cost, chain: Chain, low: Floats, high: Floats, s: Sides, scratch: ChainScratch
) -> None:
    """Look from each arm to both sides, where means are within `low` and `high` (of the arms)."""
    family, mu, w = cost
    K = mu.size
    for i in range(K):
        k = chain.order[i]
        s.x[i] = mu[k]
        s.h[i] = w[k] / of_arm(family, k).parameter if family.gaussian else 0.0
    write_bounds(chain, low, high, scratch.low, scratch.high)
    ends_of_chain(chain, scratch.low, scratch.high, s.low, s.high)
    near = NEAR * largest(s.x)
    look_along(cost, chain, s, 0, near, scratch.messages)
    look_along(cost, chain, s, 1, near, scratch.messages)
    follow_back(cost, chain, s)


@kernel
def bounds_on_chain(
    cost: Cost, chain: Chain, low: Floats, high: Floats, j: int, matters: Floats, out: Floats,
    s: Sides, inner: Sides, scratch: ChainScratch,
) -> None:  # fmt: skip
    """out = for each arm what it costs at least, more than the projection, that it beats arm j.

    From how much on that does not matter is in `matters`.
    """
    look_at_chain(cost, chain, low, high, s, scratch)
    size = largest(s.x)
    at: int = 0
    for i in range(out.size):
        if chain.order[i] == j:
            at = i
    for i in range(out.size):
        k = chain.order[i]
        out[k] = bound_at(cost, chain, s, inner, at, i, size, matters[k], scratch)

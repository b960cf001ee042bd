"""What the arms on one side of an arm cost, whatever mean that one has: a chain seen from each arm.

Let F_k(y) be the least cost of the arms up to k where arm k has the mean y, and B_k(y) that of the
arms from k on. If lam_k = y is beyond the minimisers of F_k, the arms before it follow as far as
their bounds make them:

    lam_{k-1} = the nearest to the minimisers of F_{k-1} of what y allows,

and so on, until a minimiser is within reach: what is before that one costs what it costs alone.
With the minimisers and minima of all F_k and B_k at hand, the cost at any mean of any arm, its
slope and its curvature take a walk along the arms that are tied to it, for every family. Side 0 has
the F_k, side 1 the B_k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import curvature, divergence, of_arm, slope
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
)
from armature.solver.chains.messages import Messages, add, begin, narrow, shift, within
from armature.solver.chains.nearest import CONTRADICTION
from armature.solver.program import Cost

ROOTS = 60  # steps to a root at most


class Sides(NamedTuple):
    """What each arm needs to know of the arms on either side; all along the line."""

    x: Floats  # (K,): own means,
    h: Floats  # and, of Gaussian arms, the curvature of their cost
    low: Floats  # between which numbers the mean can be
    high: Floats
    first: Floats  # (2, K): the minimisers of F_k and of B_k
    last: Floats
    least: Floats  # (2, K): their minima
    p: Floats  # (K,): the nearest point of the chain
    until: Floats  # (K + 1,): what the arms before k cost in it


@kernel
def make_sides(real: Floats, K: int, n: int) -> Sides:
    """Lay them over scratch space: the nth of several with minimisers and minima of their own."""
    a = (6 + 6 * n) * K + 1
    return Sides(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[a : a + 2 * K].reshape(2, K),
        real[a + 2 * K : a + 4 * K].reshape(2, K),
        real[a + 4 * K : a + 6 * K].reshape(2, K),
        real[4 * K : 5 * K],
        real[5 * K : 6 * K + 1],
    )


@inlined
def arm_at(cost: Cost, chain: Chain, s: Sides, k: int, y: float) -> tuple[float, float, float]:
    """What the arm at place k costs at the mean y, with its slope and its curvature."""
    family, mu, w = cost
    if family.gaussian:
        pull = s.h[k] * (y - s.x[k])
        return 0.5 * pull * (y - s.x[k]), pull, s.h[k]
    a = chain.order[k]
    if w[a] == 0.0:
        return 0.0, 0.0, 0.0
    arm = of_arm(family, a)
    x = mu[a]
    value = divergence(arm, x, y) if arm.low <= y <= arm.high else math.inf
    if value == math.inf:
        return math.inf, math.inf if y > x else -math.inf, 0.0
    return w[a] * value, w[a] * slope(arm, x, y), w[a] * curvature(arm, x, y)


@inlined
def least_beside(chain: Chain, k: int, way: int, y: float) -> float:
    """The least mean of the next arm before k (way 0) or after it (1), where arm k has mean y."""
    return least_before(chain, k - 1, y) if way == 0 else least_after(chain, k, y)


@inlined
def most_beside(chain: Chain, k: int, way: int, y: float) -> float:
    """The greatest."""
    return most_before(chain, k - 1, y) if way == 0 else most_after(chain, k, y)


@inlined
def rate_beside(chain: Chain, k: int, way: int, is_least: bool) -> float:
    """How fast that bound moves with arm k."""
    if chain.up.size == 0:
        return 1.0
    if way == 0:
        return 1.0 / float(chain.up[k - 1] if is_least else chain.down[k - 1])
    return float(chain.down[k] if is_least else chain.up[k])


@kernel
def beside(
    cost: Cost, chain: Chain, s: Sides, k: int, y: float, way: int, end: int, near: float
) -> tuple[float, float, float]:
    """What the arms on one side of k cost, those before `end`, if k has mean y; slope, curvature.

    An arm that misses a minimiser by `near` at most has it: that can be an end of its domain.
    """
    step = 2 * way - 1
    value = 0.0
    steep = 0.0
    curve = 0.0
    level = y
    rate = 1.0
    while True:  # arms between k and the one it began with are tied to it, and have been counted
        n = k + step
        if n == end:
            return value, steep, curve
        least = least_beside(chain, k, way, level)
        most = most_beside(chain, k, way, level)
        if least > s.last[way, n] + near:
            level = least
            rate *= rate_beside(chain, k, way, True)
        elif most < s.first[way, n] - near:
            level = most
            rate *= rate_beside(chain, k, way, False)
        else:
            return value + s.least[way, n], steep, curve
        own = arm_at(cost, chain, s, n, level)
        value += own[0]
        steep += rate * own[1]
        curve += rate * rate * own[2]
        k = n


@kernel
def root_beside(
    cost: Cost,
    chain: Chain,
    s: Sides,
    k: int,
    way: int,
    end: int,
    low: float,
    high: float,
    near: float,
) -> float:
    """The mean in [low, high] at which arm k and those on one side of it cost least together."""
    left = low
    right = high
    y = min(max(s.x[k], low), high)
    for _ in range(ROOTS):  # invariant: it is in [left, right]. Newton's method, else bisection.
        own = arm_at(cost, chain, s, k, y)
        rest = beside(cost, chain, s, k, y, way, end, near)
        steep = own[1] + rest[1]
        curve = own[2] + rest[2]
        if steep == 0.0:
            break
        if steep > 0.0:
            right = y
        else:
            left = y
        following = y - steep / curve if curve > 0.0 else math.nan
        if not left < following < right:
            following = 0.5 * left + 0.5 * right
        if abs(following - y) <= 0.01 * near:
            break
        y = following
    if y - low <= near:
        return low
    return high if high - y <= near else y


@kernel
def look_from(
    cost: Cost,
    chain: Chain,
    s: Sides,
    k: int,
    way: int,
    end: int,
    low: float,
    high: float,
    near: float,
) -> None:
    """Find the minimisers of arm k with those on one side of it, whose own are known; any family.

    Its mean is in [low, high]. Between `end` and k, those before it have been looked from.
    """
    first = -math.inf
    last = math.inf
    n = k + 2 * way - 1
    if n != end:  # where those on that side are at their best
        first = s.first[way, n]
        last = s.last[way, n]
        first = least_after(chain, n, first) if way == 0 else least_before(chain, k, first)
        last = most_after(chain, n, last) if way == 0 else most_before(chain, k, last)
    first = within(first, low, high)
    last = within(last, low, high)
    weightless = cost.w[chain.order[k]] == 0.0
    x = within(s.x[k], low, high)
    if not weightless:
        if x > last:
            last = root_beside(cost, chain, s, k, way, end, last, x, near)
            first = last
        elif x < first:
            first = root_beside(cost, chain, s, k, way, end, x, first, near)
            last = first
        else:
            first = x
            last = x
    s.first[way, k] = first
    s.last[way, k] = last


@kernel
def send(
    chain: Chain, s: Sides, start: int, end: int, way: int, low: float, high: float,
    tolerance: float, m: Messages,
) -> None:  # fmt: skip
    """The same for the Gaussian arms from start on, before `end`; the first is in [low, high]."""
    begin(m)
    step = 1 - 2 * way
    k = start
    while k != end:  # m is the message of the arm before k on the way
        if k != start:
            if way == 0:
                down = factor(chain.down, k - 1)
                up = factor(chain.up, k - 1)
                shift(m, chain.lo[k - 1], down, chain.hi[k - 1], up)
            else:
                down = factor(chain.down, k)
                up = factor(chain.up, k)
                shift(m, -chain.hi[k] / up, 1.0 / up, -chain.lo[k] / down, 1.0 / down)
            narrow(m, s.low[k], s.high[k], tolerance)
        else:
            narrow(m, low, high, tolerance)
        if s.h[k] > 0.0:
            add(m, s.h[k], s.x[k])
        s.first[way, k] = -m.edge[1]
        s.last[way, k] = m.edge[0]
        k += step


@kernel
def look_along(cost: Cost, chain: Chain, s: Sides, way: int, near: float, m: Messages) -> None:
    """The minimisers and minima of one side, for all arms; s.x, s.h, s.low and s.high are there."""
    K = s.x.size
    start = 0 if way == 0 else K - 1
    after = K if way == 0 else -1
    end = -1 if way == 0 else K
    if cost.family.gaussian:
        tolerance = CONTRADICTION * largest(s.x)
        send(chain, s, start, after, way, s.low[start], s.high[start], tolerance, m)
    for n in range(K):  # those of the arms on the way to k are there
        k = n if way == 0 else K - 1 - n
        if not cost.family.gaussian:
            look_from(cost, chain, s, k, way, end, s.low[k], s.high[k], near)
        y = s.first[way, k]
        if not abs(y) < math.inf:
            y = within(s.x[k], y, s.last[way, k])
        own = arm_at(cost, chain, s, k, y)
        s.least[way, k] = own[0] + beside(cost, chain, s, k, y, way, end, near)[0]


@kernel
def follow_back(cost: Cost, chain: Chain, s: Sides) -> None:
    """p = the nearest point, of which F has the last mean; what the arms cost there."""
    K = s.x.size
    for k in range(K - 1, -1, -1):  # the arms after k have their means
        y = within(s.x[k], s.first[0, k], s.last[0, k])
        if k < K - 1:
            y = within(y, least_before(chain, k, s.p[k + 1]), most_before(chain, k, s.p[k + 1]))
        s.p[k] = y
    s.until[0] = 0.0
    for k in range(K):
        s.until[k + 1] = s.until[k] + arm_at(cost, chain, s, k, s.p[k])[0]

"""Chains in which some arms are at least as good as others.

`Limits` asks that of one pair of arms, of two, or of one arm at the top. It is taken in by one
number t, with the lower arms at most t and the upper ones at least t: the least cost is convex in
t, and its slope follows from the multipliers of these bounds. With one arm on each side its minimum
lies between their means in the nearest point of the chain.
"""

from __future__ import annotations

import math

from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, largest
from armature.solver.chains.chain import (
    Chain,
    least_after,
    least_before,
    most_after,
    most_before,
    write_bounds,
)
from armature.solver.chains.messages import AT_LOW, FREE
from armature.solver.chains.nearest import CONTRADICTION, ChainScratch, descend, scale_of
from armature.solver.program import Cost, Limits, mark_infeasible
from armature.solver.proof import is_minimum

SPLITS = 100
EXACT = 1e-15  # of a cost: what t is worth at the end
NEARER = 0.9  # how much of the way to an end at which the cost is infinite
UNPROVED = -1.0  # for a cost


@kernel
def ends_of_chain(chain: Chain, low: Floats, high: Floats, least: Floats, most: Floats) -> None:
    """least, most = between which numbers each mean can be, where the chain is not empty."""
    K = low.size
    for i in range(K):
        least[i] = low[i]
        most[i] = high[i]
        if i > 0:
            least[i] = max(low[i], least_after(chain, i - 1, least[i - 1]))
            most[i] = min(high[i], most_after(chain, i - 1, most[i - 1]))
    for i in range(K - 2, -1, -1):
        least[i] = max(least[i], least_before(chain, i, least[i + 1]))
        most[i] = min(most[i], most_before(chain, i, most[i + 1]))


@kernel
def choose_sides(limits: Limits, order: Ints, side: Ints) -> bool:
    """Which arms are at least t and which at most t; whether there are any."""
    any_pair = False
    for i in range(order.size):
        k = order[i]
        side[i] = 0
        if k == limits.top or (limits.j >= 0 and (k == limits.k or k == limits.i)):
            side[i] = 1
        elif limits.top >= 0 or (k == limits.j and (limits.k >= 0 or limits.i >= 0)):
            side[i] = -1
        any_pair = any_pair or side[i] == 1
    return any_pair


@kernel
def set_level(t: float, s: ChainScratch) -> None:
    """The bounds with t."""
    for i in range(s.low.size):
        s.lower[i] = max(s.low[i], t) if s.side[i] == 1 else s.low[i]
        s.upper[i] = min(s.high[i], t) if s.side[i] == -1 else s.high[i]


@inlined
def rate_of(chain: Chain, i: int, held: int) -> float:
    """How fast arm i + 1 moves with arm i where it is held so; 1 where it is free."""
    if chain.up.size == 0 or held == FREE:
        return 1.0
    return float(chain.down[i] if held == AT_LOW else chain.up[i])


@kernel
def pull(t: float, chain: Chain, s: ChainScratch) -> tuple[float, float]:
    """The slope of the least cost in t, and its curvature: that of the arms that move with t."""
    steep = 0.0
    curve = 0.0
    block = 0.0
    rate = 1.0
    mover = 0.0
    # `block` is the curvature of the arms that i - 1 is tied to where the first of them moves; i
    # moves at `rate` then, and the one that t moves at `mover` (0: none)
    for i in range(s.lam.size):
        block += rate * rate * s.h[i]
        if s.side[i] * (s.lam[i] - t) <= 0.0 and s.b[i] * s.side[i] < 0.0:
            steep -= s.b[i]
            mover = rate
        rate *= rate_of(chain, i, s.held[i])
        if s.held[i] == FREE:
            if mover > 0.0:
                curve += block / (mover * mover)
            block = 0.0
            rate = 1.0
            mover = 0.0
    return steep, curve


@kernel
def meeting_level(below: float, above: float, chain: Chain, s: ChainScratch) -> float:
    """Where the arms that have to meet would if their ties stayed as they are."""
    weight = 0.0
    total = 0.0
    block = 0.0
    shift = 0.0
    rate = 1.0
    mover = 1.0
    count = 0
    for i in range(s.lam.size):  # `block`, `rate`, `mover` as in `pull`
        block += rate * rate * s.h[i]
        if (s.side[i] == 1 and s.lam[i] < below) or (s.side[i] == -1 and s.lam[i] > above):
            shift += s.lam[i] - above
            mover = rate
            count += 1
        rate *= rate_of(chain, i, s.held[i])
        if s.held[i] == FREE:
            if count > 0:
                block /= mover * mover
                weight += block
                total += block * (shift / count)
            block = 0.0
            shift = 0.0
            rate = 1.0
            mover = 1.0
            count = 0
    if weight > 0.0:
        return above + total / weight
    return 0.5 * below + 0.5 * above


@kernel
def possible_levels(chain: Chain, side: Ints, left: float, right: float) -> tuple[float, float]:
    """The t in [left, right] at which no arm that is at least t draws one above t that may not be.

    In an even chain that does not depend on t.
    """
    if chain.up.size == 0:
        return left, right
    K = side.size
    for i in range(K):
        if side[i] != 1:
            continue
        for way in range(2):
            bound = 0.0
            rate = 1.0
            k = i
            while (k < K - 1 if way == 1 else k > 0) and bound > -math.inf:
                if way == 1:  # arm k is at least bound + rate t
                    bound = least_after(chain, k, bound)
                    rate *= chain.down[k]
                    k += 1
                else:
                    k -= 1
                    bound = least_before(chain, k, bound)
                    rate /= chain.up[k]
                if side[k] == -1 and bound > -math.inf and rate < 1.0:
                    left = max(left, bound / (1.0 - rate))
                elif side[k] == -1 and bound > -math.inf and rate > 1.0:
                    right = min(right, bound / (1.0 - rate))
    return left, right


@kernel
def split(cost: Cost, chain: Chain, size: float, s: ChainScratch) -> tuple[float, float]:
    """lam = the nearest point in which no arm of side -1 is above one of side 1; as `descend`.

    lam has the nearest point of the chain. Every trial is a feasible point.
    """
    K = s.lam.size
    above = math.inf
    below = -math.inf
    n = 0
    for i in range(K):
        if s.side[i] == 1:
            above = min(above, s.lam[i])
        elif s.side[i] == -1:
            below = max(below, s.lam[i])
        n += abs(s.side[i])
    guess = meeting_level(below, above, chain, s)
    ends_of_chain(chain, s.low, s.high, s.least, s.most)
    left = -math.inf
    right = math.inf
    if n == 2 and chain.up.size == 0:  # else arms can draw others along, beyond where they were
        left = above
        right = below
    for i in range(K):
        if s.side[i] == 1:
            right = min(right, s.most[i])
        elif s.side[i] == -1:
            left = max(left, s.least[i])
    left, right = possible_levels(chain, s.side, left, right)
    if left > right:
        if left > right + CONTRADICTION * size:
            return math.inf, 0.0
        right = left
    t = min(max(guess, left), right)
    reach = 2.0 * (size + largest(s.lam))
    stride = below - above
    last = t
    left_share = 1.0
    right_share = 1.0
    left_slope = math.nan
    right_slope = math.nan
    least_value = math.inf
    least_gap = math.inf
    steepest = scale_of(cost)
    # Invariant: the best t is in [left, right]. The slope is negative at the left end and positive
    # at the right one, where these are known; `best` is the best point of those that were tried.
    for trial in range(SPLITS):
        set_level(t, s)
        value, gap = descend(cost, chain, size, trial > 0, s)
        if value == math.inf:
            inside = 0.5 * max(left, above) + 0.5 * min(right, below)
            if trial == 0 and gap > 0.0 and left < inside < right and inside != t:
                t = inside  # the guess was an end at which the cost is infinite
                last = inside
                continue
            if gap == 0.0 or least_value == math.inf:
                return value, gap
            if t < last:  # an end at which the cost is infinite: as near to it as need be
                left = t
                left_share = NEARER
            else:
                right = t
                right_share = NEARER
            t = last + NEARER * (t - last)
            copy(s.best, s.lam)
            continue
        last = t
        steep, curve = pull(t, chain, s)
        if steep < 0.0:
            left = t
            left_slope = steep
        else:
            right = t
            right_slope = steep
        more = abs(steep) * min(right - left, reach)
        if value + gap + more < least_value + least_gap or least_value == math.inf:
            copy(s.lam, s.best)
            least_value = value
            least_gap = gap + more
        if steep == 0.0 or more <= EXACT * value or not gap < math.inf:
            break
        following = t - steep / curve if curve > 0.0 else math.nan
        if not left < following < right:
            if trial % 3 == 2 and right - left < math.inf:
                following = 0.5 * left + 0.5 * right
            elif left_slope < 0.0 and right_slope > 0.0:
                following = left + (right - left) * (left_slope / (left_slope - right_slope))
            else:
                if steep < 0.0:
                    following = min(t + right_share * (right - t), t + stride)
                else:
                    following = max(t - left_share * (t - left), t - stride)
                stride *= 4.0
        if following == t or not left <= following <= right:
            break
        if abs(following - t) <= 1e-16 * size and is_minimum(value, gap + more, steepest, size):
            break
        t = following
    copy(s.best, s.lam)
    return least_value, least_gap


@kernel
def minimise_on_chain(
    cost: Cost,
    chain: Chain,
    limits: Limits,
    lam: Floats,
    s: ChainScratch,
) -> float:
    """lam = the nearest point within limits, and its cost; UNPROVED where that is not certain."""
    family, mu, w = cost
    K = mu.size
    size = largest(mu)
    write_bounds(chain, limits.low, limits.high, s.low, s.high)
    for i in range(K):
        s.lower[i] = s.low[i]
        s.upper[i] = s.high[i]
        s.side[i] = 0
        if not abs(mu[i]) < math.inf:
            return mark_infeasible(lam)  # what was no answer itself
    value, gap = descend(cost, chain, size, False, s)
    if value == math.inf:
        return mark_infeasible(lam) if gap == 0.0 else UNPROVED
    if choose_sides(limits, chain.order, s.side) and is_out_of_order(s):
        value, gap = split(cost, chain, size, s)
        if value == math.inf:
            return mark_infeasible(lam) if gap == 0.0 else UNPROVED
    steepest = scale_of(cost)
    if not is_minimum(value, gap, steepest, size + largest(s.lam)):
        return UNPROVED
    for i in range(K):
        lam[chain.order[i]] = s.lam[i]
    return total_divergence(family, w, mu, lam)


@kernel
def is_out_of_order(s: ChainScratch) -> bool:
    """Whether an arm that should be at most t is above one that should be at least t."""
    above = math.inf
    below = -math.inf
    for i in range(s.lam.size):
        if s.side[i] == 1:
            above = min(above, s.lam[i])
        elif s.side[i] == -1:
            below = max(below, s.lam[i])
    return below > above


@kernel
def highest_on_chain(chain: Chain, low: Floats, high: Floats, out: Floats, s: ChainScratch) -> bool:
    """out = how high each mean can be in the chain, between low and high; whether it can be at all.

    `low`, `high` and `out` are in the order of the arms.
    """
    K = low.size
    size = 0.0
    write_bounds(chain, low, high, s.low, s.high)
    ends_of_chain(chain, s.low, s.high, s.least, s.most)
    for i in range(K):
        out[chain.order[i]] = s.most[i]
        if s.least[i] > s.most[i]:
            size = max(abs(s.least[i]), abs(s.most[i]))
            if s.least[i] > s.most[i] + CONTRADICTION * size:
                return False
    return True

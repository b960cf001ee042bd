"""Unions of chains that differ in where they turn: up to an arm one chain, from it on another.

One peak with neighbours alike is such a union: each piece rises up to its peak, and falls from it
on. All pieces have their messages in common: those of the rising chain from the left, and those of
the falling one from the right. A piece that turns at arm k costs at least

    min over y of  w_k d(mu_k, y) + (what rising arms before k cost) + (what falling arms after it),

given that k has the mean y: a convex function of one number, by walks from k on either side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import largest
from armature.solver.chains.bounds import NEAR, SAFETY, STEPS
from armature.solver.chains.chain import (
    Chain,
    corner,
    least_after,
    least_before,
    most_after,
    most_before,
)
from armature.solver.chains.messages import Messages, within
from armature.solver.chains.nearest import CONTRADICTION
from armature.solver.chains.sides import (
    Sides,
    arm_at,
    beside,
    least_beside,
    look_along,
    most_beside,
)
from armature.solver.program import Cost

UNCERTAIN = 1e3  # times what is rounding: it may be that
ENOUGH = 1e-10  # how much less than the minimum a bound may be, relatively


class Turning(NamedTuple):
    """Pieces that are chains along one line, and turn."""

    before: Chain  # what holds before a piece turns,
    after: Chain  # and from there on
    turns: Ints  # where each piece does


@kernel
def look_both_ways(
    cost: Cost, turning: Turning, low: Floats, high: Floats, left: Sides, right: Sides, m: Messages
) -> None:
    """left, right = what each arm needs to know of those before it and of those after it."""
    family, mu, w = cost
    before = turning.before
    after = turning.after
    K = mu.size
    for i in range(K):
        k = before.order[i]
        left.x[i] = mu[k]
        left.h[i] = w[k] / of_arm(family, k).parameter if family.gaussian else 0.0
        left.low[i] = max(before.low[i], low[k])
        left.high[i] = min(before.high[i], high[k])
        right.x[i] = left.x[i]
        right.h[i] = left.h[i]
        right.low[i] = left.low[i]
        right.high[i] = left.high[i]
    for i in range(1, K):  # where arms can be for those on their way
        left.low[i] = max(left.low[i], least_after(before, i - 1, left.low[i - 1]))
        left.high[i] = min(left.high[i], most_after(before, i - 1, left.high[i - 1]))
        end_at_corner(before, i - 1, i, left)
        n = K - 1 - i
        right.low[n] = max(right.low[n], least_before(after, n, right.low[n + 1]))
        right.high[n] = min(right.high[n], most_before(after, n, right.high[n + 1]))
        end_at_corner(after, n, n, right)
    near = NEAR * largest(left.x)
    look_along(cost, before, left, 0, near, m)
    look_along(cost, after, right, 1, near, m)


@kernel
def end_at_corner(chain: Chain, i: int, k: int, s: Sides) -> None:
    """What the bounds of i and i + 1 say of one of them, k."""
    here, after, is_above, is_met = corner(chain, i)
    end = here if k == i else after
    if is_above:
        s.low[k] = max(s.low[k], end)
    elif is_met:
        s.high[k] = min(s.high[k], end)


@kernel
def lowest_turn(
    cost: Cost, turning: Turning, left: Sides, right: Sides, k: int, near: float
) -> tuple[float, float]:
    """What a piece that turns at place k costs at least, and a mean of that arm that costs so."""
    before = turning.before
    after = turning.after
    K = left.x.size
    low = max(left.low[k], right.low[k])
    high = min(left.high[k], right.high[k])
    first = left.x[k]  # the best mean is between those that the three parts like best
    last = left.x[k]
    if k > 0:
        first = min(first, most_after(before, k - 1, left.last[0, k - 1]))
        last = max(last, least_after(before, k - 1, left.first[0, k - 1]))
    if k < K - 1:
        first = min(first, most_before(after, k, right.last[1, k + 1]))
        last = max(last, least_before(after, k, right.first[1, k + 1]))
    first = within(first, low, max(low, high))
    last = within(last, low, max(low, high))
    if low > high + CONTRADICTION * largest(left.x):
        return math.inf, low
    y = 0.5 * first + 0.5 * last
    bound = 0.0
    # Invariant: the best mean is in [first, last], and no mean costs less than the bound.
    for _ in range(3 * STEPS):
        own = arm_at(cost, before, left, k, y)
        one = beside(cost, before, left, k, y, 0, -1, near)
        other = beside(cost, after, right, k, y, 1, K, near)
        value = own[0] + one[0] + other[0]
        steep = own[1] + one[1] + other[1]
        curve = own[2] + one[2] + other[2]
        if steep > 0.0:
            last = y
        else:
            first = y
        if value + abs(steep) < math.inf:
            bound = max(bound, value - abs(steep) * (last - first))
        following = y - steep / curve if curve > 0.0 else math.nan
        if steep == 0.0 or (abs(following - y) <= 0.1 * near and value - bound <= ENOUGH * value):
            break
        if not first < following < last:
            following = 0.5 * first + 0.5 * last
        if last - first <= 0.1 * near:
            break
        y = following
    return bound * (1.0 - SAFETY), y


@kernel
def move_side(
    cost: Cost, chain: Chain, s: Sides, k: int, y: float, way: int, p: Floats, near: float,
    levels: Floats,
) -> float:  # fmt: skip
    """levels = the means of arms with weight that differ from p on one side of k, nan for others.

    What the others cost in p. Those that differ by rounding, perhaps, count for both.
    """
    step = 2 * way - 1
    end = -1 if way == 0 else p.size
    level = y
    kept = 0.0
    n = k + step
    while n != end:  # arm n - step is at `level`; the others on the way to k have been counted
        least = least_beside(chain, n - step, way, level)
        most = most_beside(chain, n - step, way, level)
        a = chain.order[n]
        level = within(within(p[a], s.first[way, n], s.last[way, n]), least, most)
        apart = abs(level - p[a])
        levels[n] = level if apart > near and cost.w[a] > 0.0 else math.nan
        if apart <= UNCERTAIN * near:
            kept += arm_at(cost, chain, s, n, p[a])[0]
        n += step
    return kept


@kernel
def count_ties(levels: Floats, k: int, near: float) -> int:
    """How many levels, with nan left out, are equal to another before them, at most."""
    last = levels[k] if levels[k] == levels[k] else math.inf
    found = 0
    ties = 0
    falls = True
    i = k - 1
    n = k + 1
    while i >= 0 or n < levels.size:  # the next lower one of both sides, if they fall away from k
        if i >= 0 and levels[i] != levels[i]:
            i -= 1
            continue
        if n < levels.size and levels[n] != levels[n]:
            n += 1
            continue
        if n >= levels.size or (i >= 0 and levels[i] >= levels[n]):
            level = levels[i]
            i -= 1
        else:
            level = levels[n]
            n += 1
        found += 1
        falls = falls and level <= last + near
        if level >= last - near:
            ties += 1
        last = level
    return ties if falls else found


@kernel
def bounds_on_turns(
    cost: Cost, turning: Turning, low: Floats, high: Floats, out: Floats, means: Floats,
    left: Sides, right: Sides, m: Messages,
) -> None:  # fmt: skip
    """out = what each piece costs at least, with a mean of the arm at which it turns."""
    look_both_ways(cost, turning, low, high, left, right, m)
    near = NEAR * largest(left.x)
    for p in range(turning.turns.size):
        out[p], means[p] = lowest_turn(cost, turning, left, right, turning.turns[p], near)

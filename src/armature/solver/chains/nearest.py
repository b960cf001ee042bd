"""Chains: the nearest mean vector where only neighbours along a line hold each other.

    minimise  sum_i w_i d(mu_i, lam_i)    over a chain

For Gaussian rewards that is one pass of messages
(`messages`); for others Newton's method, each step such a pass about where it is. Each answer
is checked by its multipliers (`proof`). That arms are at least as good as others is taken in
by `limits`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import (
    curvature,
    of_arm,
    slope,
    weighted_divergence,
)
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, largest
from armature.solver.chains.chain import Chain, factor
from armature.solver.chains.messages import Messages, make_messages, nearest_on_chain
from armature.solver.chains.proof import prove
from armature.solver.program import Cost
from armature.solver.proof import is_minimum

NEWTON_STEPS = 60
STRAIGHTEST = 1.0  # how little a model may curve, relative to what keeps it within reach
FLATTEST = 1e-12  # the same relative to the greatest curvature
CONTRADICTION = 1e-11  # by how much, relative to the size of the means, bounds must contradict
ROUNDING = 4e-15  # of a mean


class ChainScratch(NamedTuple):
    """Room to compute in; all along the line."""

    g: Floats
    h: Floats
    x: Floats
    lam: Floats
    trial: Floats
    low: Floats  # bounds of the means: with the limits,
    high: Floats
    lower: Floats  # and with t
    upper: Floats
    best: Floats
    b: Floats  # multipliers of these
    least: Floats
    most: Floats
    lo: Floats
    hi: Floats
    side: Ints  # (K,): 1 where an arm is at least t, -1 where it is at most t
    held: Ints  # (K,)
    messages: Messages


@kernel
def make_chain_scratch(real: Floats, integer: Ints, K: int) -> ChainScratch:
    """Lay the room over scratch space."""
    return ChainScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[4 * K : 5 * K],
        real[5 * K : 6 * K],
        real[6 * K : 7 * K],
        real[7 * K : 8 * K],
        real[8 * K : 9 * K],
        real[9 * K : 10 * K],
        real[10 * K : 11 * K],
        real[11 * K : 12 * K],
        real[12 * K : 13 * K],
        real[13 * K : 14 * K],
        real[14 * K : 15 * K],
        integer[:K],
        integer[K : 2 * K],
        make_messages(
            real[15 * K : 29 * K + 24],
            integer[2 * K : 2 * K + 2],
            K,
        ),
    )


@kernel
def cost_at(cost: Cost, order: Ints, lam: Floats) -> float:
    """The cost of means along the line."""
    family, mu, w = cost
    total = 0.0
    for i in range(order.size):
        k = order[i]
        total += weighted_divergence(of_arm(family, k), w[k], mu[k], lam[i])
    return total


@inlined
def scale_of(cost: Cost) -> float:
    """The order of magnitude of the cost's curvatures."""
    family = cost.family
    return largest(cost.w) / (family.parameter if family.gaussian and family.alike else 1.0)


@kernel
def write_slopes(cost: Cost, order: Ints, s: ChainScratch) -> None:
    """g, h = the gradient and the curvatures of the cost at lam."""
    family, mu, w = cost
    for i in range(order.size):
        k = order[i]
        s.g[i] = 0.0
        s.h[i] = 0.0
        if w[k] > 0.0:
            arm = of_arm(family, k)
            s.g[i] = w[k] * slope(arm, mu[k], s.lam[i])
            s.h[i] = w[k] * curvature(arm, mu[k], s.lam[i])


@kernel
def step(
    cost: Cost, chain: Chain, size: float, reach: float,
    s: ChainScratch,
) -> bool:  # fmt: skip
    """trial = the nearest point of the chain in the model with g, h at lam; False: there is none.

    It is looked for about lam, which leaves its digits to the difference.
    """
    steepest = largest(s.h)
    K = s.lam.size
    for i in range(K):
        if s.g[i] != 0.0 and s.h[i] >= 0.0:
            curve = max(s.h[i], STRAIGHTEST * abs(s.g[i]) / reach, FLATTEST * steepest)
            s.h[i] = curve
            s.x[i] = -s.g[i] / curve
        else:
            s.x[i] = 0.0
        s.least[i] = s.lower[i] - s.lam[i]
        s.most[i] = s.upper[i] - s.lam[i]
        if i > 0:
            s.lo[i - 1] = chain.lo[i - 1] - (s.lam[i] - factor(chain.down, i - 1) * s.lam[i - 1])
            s.hi[i - 1] = chain.hi[i - 1] - (s.lam[i] - factor(chain.up, i - 1) * s.lam[i - 1])
    found = nearest_on_chain(
        s.h, s.x, s.lo[: K - 1], s.hi[: K - 1], s.least, s.most, chain.down, chain.up,
        CONTRADICTION * size, ROUNDING * size, s.trial, s.held, s.messages,
    )  # fmt: skip
    if not found:
        return False
    for i in range(K):
        if s.trial[i] >= s.most[i]:
            s.trial[i] = s.upper[i]
        elif s.trial[i] <= s.least[i]:
            s.trial[i] = s.lower[i]
        else:
            s.trial[i] += s.lam[i]
    snap(cost, chain.order, size, s.trial, s)
    return True


@kernel
def snap(
    cost: Cost, order: Ints, size: float, lam: Floats,
    s: ChainScratch,
) -> None:  # fmt: skip
    """Put means onto bounds that they miss by rounding only, and that cost: they are held there."""
    family, mu, w = cost
    near = ROUNDING * size
    for i in range(lam.size):
        k = order[i]
        bound = lam[i]
        if bound >= s.upper[i] - near:
            bound = s.upper[i]
        elif bound <= s.lower[i] + near:
            bound = s.lower[i]
        if (
            bound != lam[i]
            and weighted_divergence(of_arm(family, k), w[k], mu[k], bound) < math.inf
        ):
            lam[i] = bound


@kernel
def gap_at(cost: Cost, chain: Chain, reach: float, s: ChainScratch) -> float:
    """By how much the cost at lam may exceed the minimum; g, h and b are what they are there."""
    write_slopes(cost, chain.order, s)
    return prove(
        s.g, s.h, s.lam, chain.lo, chain.hi, s.lower, s.upper, chain.down, chain.up, s.held, reach,
        s.least, s.most, s.b,
    )  # fmt: skip


@kernel
def first_point(cost: Cost, chain: Chain, size: float, s: ChainScratch) -> bool:
    """lam = the nearest point as if rewards were Gaussian; False where there is none."""
    family, mu, w = cost
    for i in range(chain.order.size):
        k = chain.order[i]
        s.h[i] = w[k]
        if family.gaussian:
            s.h[i] /= of_arm(family, k).parameter
        s.x[i] = mu[k]
    found = nearest_on_chain(
        s.h, s.x, chain.lo, chain.hi, s.lower, s.upper, chain.down, chain.up,
        CONTRADICTION * size, ROUNDING * size, s.lam, s.held, s.messages,
    )  # fmt: skip
    if found:
        snap(cost, chain.order, size, s.lam, s)
    return found


@kernel
def inner_point(cost: Cost, chain: Chain, size: float, s: ChainScratch) -> float:
    """lam = a point away from ends of the domain at which the cost is infinite, and its cost."""
    family, mu, w = cost
    value = math.inf
    part = 0.1
    while part > 1e-9 and value == math.inf:
        is_possible = True
        for i in range(chain.order.size):
            k = chain.order[i]
            own = of_arm(family, k)
            s.least[i] = s.lower[i]
            s.most[i] = s.upper[i]
            if w[k] > 0.0 and own.low > -math.inf and mu[k] > own.low:
                s.least[i] = max(s.lower[i], own.low + part * (mu[k] - own.low))
            if w[k] > 0.0 and own.high < math.inf and mu[k] < own.high:
                s.most[i] = min(s.upper[i], own.high - part * (own.high - mu[k]))
            is_possible = is_possible and s.least[i] <= s.most[i]
        if is_possible and nearest_on_chain(
            s.h, s.x, chain.lo, chain.hi, s.least, s.most, chain.down, chain.up,
            0.0, ROUNDING * size, s.lam, s.held, s.messages,
        ):  # fmt: skip
            value = cost_at(cost, chain.order, s.lam)
            for i in range(chain.order.size):
                if not s.lower[i] <= s.lam[i] <= s.upper[i]:
                    value = math.inf
        part *= 0.1
    return value


@kernel
def descend(
    cost: Cost, chain: Chain, size: float, is_warm: bool,
    s: ChainScratch,
) -> tuple[float, float]:  # fmt: skip
    """lam = the nearest point within `lower` and `upper`; its cost, and by how much that may be
    more than the minimum. The cost is infinite where there is none, the gap where nothing is
    proved.

    If warm, the means in lam are near, though not in the chain.
    """
    value = math.inf
    reach = size
    if is_warm and not cost.family.gaussian:
        reach = size + largest(s.lam)
        write_slopes(cost, chain.order, s)
        if not step(cost, chain, size, reach, s):
            return math.inf, 0.0
        copy(s.trial, s.lam)
        value = cost_at(cost, chain.order, s.lam)
    if value == math.inf:
        if not first_point(cost, chain, size, s):
            return math.inf, 0.0
        value = cost_at(cost, chain.order, s.lam)
        if value == math.inf:
            value = inner_point(cost, chain, size, s)
        if value == math.inf:
            return value, math.inf
    steepest = scale_of(cost)
    reach = size + largest(s.lam)
    is_whole = True  # whether lam is the minimum of the last model, where `held` is about it
    best_gap = math.inf
    more = 0 if cost.family.gaussian or chain.up.size == 0 else 1  # steps after it is proved
    for _ in range(NEWTON_STEPS):
        gap = gap_at(cost, chain, reach, s)
        if is_whole and is_minimum(value, gap, steepest, reach):
            if more == 0 or gap == 0.0:
                return value, gap
            more -= 1
        if is_whole:
            best_gap = min(best_gap, gap)
        if not step(cost, chain, size, reach, s):
            return value, best_gap
        value_there, is_whole = go(cost, chain.order, value, s)
        if not value_there < math.inf:
            return value, best_gap if is_minimum(value, best_gap, steepest, reach) else math.inf
        value = value_there
    return value, math.inf


@kernel
def go(cost: Cost, order: Ints, value: float, s: ChainScratch) -> tuple[float, bool]:
    """Go from lam towards trial as far as the cost falls; the cost there, and whether all the way.

    inf where it falls nowhere on the way, by more than rounding.
    """
    family, mu, w = cost
    descent = 0.0
    part = 1.0
    for i in range(order.size):
        k = order[i]
        move = s.trial[i] - s.lam[i]
        descent -= s.g[i] * move
        arm = of_arm(family, k)
        room = math.inf
        if w[k] > 0.0 and move < 0.0 and mu[k] > arm.low:
            room = s.lam[i] - arm.low
        elif w[k] > 0.0 and move > 0.0 and mu[k] < arm.high:
            room = arm.high - s.lam[i]
        if abs(move) > 0.9 * room:  # where the cost grows beyond all bounds
            part = min(part, 0.9 * room / abs(move))
    while part > 1e-9:
        for i in range(order.size):
            if part == 1.0:
                s.x[i] = s.trial[i]
            else:
                s.x[i] = s.lam[i] + part * (s.trial[i] - s.lam[i])
        there = cost_at(cost, order, s.x)
        if there <= value - 1e-4 * part * descent or (
            part == 1.0 and there <= value * (1.0 + 1e-14) and descent <= 1e-9 * value
        ):
            copy(s.x, s.lam)
            return there, part == 1.0
        part *= 0.5
    return math.inf, False

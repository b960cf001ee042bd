"""A few peaks: the level at which it is cheapest that one arm beats another, and the oracles.

See `challengers` for what is weighed at one level, and why that bounds what others cost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import lower, upper, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, largest
from armature.solver.pooling import pooled_mean
from armature.solver.program import mark_infeasible
from armature.structures.oracles.hills.challengers import (
    ArmPair,
    Divisions,
    Rivals,
    own_cost,
    prepare,
    rivals_of,
    way,
    weigh,
)
from armature.structures.oracles.hills.costs import write_first
from armature.structures.oracles.hills.fits import best_at
from armature.structures.oracles.records import OracleProblem, Work, note_ties

NEARNESS = 1e-10  # how much cheaper than what was found a part of an interval may be, relatively
ROUNDING = 1e-14  # of a mean
STEPS = 12
HALVINGS = 1.0  # of an interval that does not begin at the best level, for the same tangents
LEAST_MOVE = 1e-12  # of a mean: an arm that differs by more has moved, beside the largest one
MOST_REST = 1e-8  # and one that differs by no more may have stayed
BEYOND = 0.1  # of the range of the means: how far the levels that are looked at go beyond it


class HillScratch(NamedTuple):
    """Room for both directions of the line: the arms as they are, or backwards."""

    mu: Floats  # (K,)
    w: Floats
    best: Floats  # (K,)
    rivals: Rivals


@kernel
def scratch_of(work: Work, K: int, m: int) -> HillScratch:
    """The scratch space for K arms and m peaks."""
    real = work.real
    return HillScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        rivals_of(Work(real[3 * K :], work.integer), K, m),
    )


class LevelRange(NamedTuple):
    """Between which levels to look, and the size of means."""

    low: float
    high: float
    size: float


@kernel
def range_of(pair: ArmPair) -> LevelRange:
    """The range of all means, and somewhat more where the domain has room."""
    mu = pair.mu
    low = math.inf
    high = -math.inf
    for i in range(mu.size):
        low = min(low, mu[i])
        high = max(high, mu[i])
    more = BEYOND * (high - low)
    family = pair.family
    return LevelRange(
        max(low - more, 0.5 * (family.low + low)),
        min(high + more, 0.5 * (family.high + high)),
        largest(mu),
    )


class Level(NamedTuple):
    """The best level so far, and what it costs."""

    t: float
    cost: float


@kernel
def descend(pair: ArmPair, t: float, best: Level, span: LevelRange, room: Rivals) -> Level:
    """Go from t to the mean of the arms that are there, for as long as it becomes cheaper."""
    before = math.inf
    for _ in range(STEPS):
        cost = best_at(pair, t, room)
        if cost < best.cost:
            best = Level(t, cost)
        weight = 0.0
        total = 0.0
        for i in range(pair.mu.size):
            if room.lam[i] == t:
                weight += pair.w[i]
                total += pair.w[i] * pair.mu[i]
        if not cost < before or weight == 0.0:
            break
        before = cost
        if abs(total / weight - t) <= ROUNDING * span.size:
            break
        t = min(max(total / weight, span.low), span.high)
    return best


@inlined
def least_over(
    pair: ArmPair, x: float, w: float, a: float, at_a: float, b: float, at_b: float
) -> float:
    """The least of w d(x, .) and a line, which has these values at a and b, between the two."""
    family = pair.family
    length = way(family, pair.low, pair.high, a, b)
    slope = 0.0
    if length != 0.0 and abs(length) < math.inf:
        slope = (at_b - at_a) / length
    best = x - slope / w if w > 0.0 else (a if at_a < at_b else b)
    best = min(max(best, min(a, b)), max(a, b))
    value = min(at_a, at_b)
    if slope != 0.0:
        value = at_a + slope * way(family, pair.low, pair.high, a, best)
    return weighted_divergence(family, w, x, best) + value


class LevelParts(NamedTuple):
    """Intervals that wait, and what divisions cost at least at their ends by the tangents at t.

    Below t, that is without k and a tied j, whose costs are known; above it, without k.
    """

    t: Floats
    a: Floats
    b: Floats
    tied_a: Floats
    free_a: Floats
    tied_b: Floats
    free_b: Floats
    halved: Floats  # how often since the tangents are these


@kernel
def parts_of(real: Floats) -> LevelParts:
    """Parts in a space for eight times as many numbers."""
    n = real.size // 8
    return LevelParts(
        real[:n], real[n : 2 * n], real[2 * n : 3 * n], real[3 * n : 4 * n], real[4 * n : 5 * n],
        real[5 * n : 6 * n], real[6 * n : 7 * n], real[7 * n : 8 * n],
    )  # fmt: skip


@kernel
def weigh_end(pair: ArmPair, t: float, y: float, is_above: bool, room: Rivals) -> Divisions:
    """The least cost of divisions at y by their tangents at t, as `LevelParts` has it.

    Where y is infinitely far in the natural parameter: on all of the way there.
    """
    move = way(pair.family, pair.low, pair.high, t, y)
    there = weigh(pair, t, move, room)
    if not is_above or there.tied == math.inf:
        return there
    weight = pair.w[pair.j]
    mean = pair.mu[pair.j]
    own = own_cost(pair, pair.j, t)
    if abs(move) == math.inf:
        own = 0.0 if mean > t else own
    elif weight > 0.0 and move != 0.0:
        own += weight * (t - mean) * move
    return Divisions(there.tied + own, there.free)


@kernel
def least_of_part(pair: ArmPair, parts: LevelParts, i: int) -> float:
    """A lower bound on the cost that k is in part i."""
    mu, w, k, j = pair.mu, pair.w, pair.k, pair.j
    a = parts.a[i]
    b = parts.b[i]
    endless = abs(way(pair.family, pair.low, pair.high, a, b)) == math.inf
    free = parts.free_b[i] if endless else parts.free_a[i]
    tied = parts.tied_b[i] if endless else parts.tied_a[i]
    least = math.inf
    if max(free, parts.free_b[i]) < math.inf:
        least = least_over(pair, mu[k], w[k], a, free, b, parts.free_b[i])
    if max(tied, parts.tied_b[i]) < math.inf:
        x = mu[k]
        weight = w[k]
        own = 0.0
        if b < parts.t[i]:
            x = pooled_mean(w[k], mu[k], w[j], mu[j])
            weight += w[j]
            own = own_cost(pair, k, x) + own_cost(pair, j, x)
        least = min(least, own + least_over(pair, x, weight, a, tied, b, parts.tied_b[i]))
    return least


@inlined
def put_part(
    parts: LevelParts, n: int, t: float, a: float, at_a: Divisions, b: float, at_b: Divisions,
    halved: float,
) -> int:  # fmt: skip
    """One more part; how many there are then."""
    if a == b:
        return n
    parts.t[n] = t
    parts.a[n] = a
    parts.b[n] = b
    parts.tied_a[n] = at_a.tied
    parts.free_a[n] = at_a.free
    parts.tied_b[n] = at_b.tied
    parts.free_b[n] = at_b.free
    parts.halved[n] = halved
    return n + 1


@kernel
def put_both(pair: ArmPair, t: float, low: float, high: float, n: int, room: Rivals) -> int:
    """Both parts of an interval, with tangents at a t inside; how many parts there are then."""
    parts = parts_of(room.parts)
    for side in range(2):
        y = high if side == 1 else low
        if y != t:
            here = weigh_end(pair, t, t, side == 1, room)
            there = weigh_end(pair, t, y, side == 1, room)
            n = put_part(parts, n, t, t, here, y, there, 0.0)
    return n


@inlined
def levels_below(pair: ArmPair, cost: float, span: LevelRange) -> LevelRange:
    """The levels at which k and j alone cost no more."""
    family, mu, w, k, j = pair.family, pair.mu, pair.w, pair.k, pair.j
    low = span.low
    high = span.high
    if w[k] > 0.0:
        low = max(low, lower(family, mu[k], cost / w[k]))
        high = min(high, upper(family, mu[k], cost / w[k]))
    if w[j] > 0.0:  # j is at most at the level
        low = max(low, lower(family, mu[j], cost / w[j]))
    return LevelRange(low, max(low, high), span.size)


@kernel
def search(pair: ArmPair, ceiling: float, room: Rivals) -> Level:
    """The level at which it is cheapest that k is a peak and j no better; inf above the ceiling."""
    span = range_of(pair)
    start = pooled_mean(pair.w[pair.k], pair.mu[pair.k], pair.w[pair.j], pair.mu[pair.j])
    best = descend(pair, start, Level(start, math.inf), span, room)
    parts = parts_of(room.parts)
    near = levels_below(pair, min(best.cost, ceiling), span)
    t = best.t if near.low < best.t < near.high else 0.5 * near.low + 0.5 * near.high
    n = put_both(pair, t, near.low, near.high, 0, room)
    # Invariant: no level outside of the first n parts is cheaper than the best one, or ceiling. A
    # cut makes one part more of it, and at least every second one halves it, down to rounding: so
    # no more than twice as many parts wait as the range can be halved (`test_hills` counts).
    while n > 0:
        n -= 1
        t = parts.t[n]
        a = parts.a[n]
        b = parts.b[n]
        goal = min(best.cost, ceiling) * (1.0 - NEARNESS)
        if abs(a - b) <= ROUNDING * span.size or least_of_part(pair, parts, n) >= goal:
            continue
        middle = 0.5 * a + 0.5 * b
        if parts.halved[n] < HALVINGS or a == best.t:
            halved = parts.halved[n] + 1.0
            at_a = Divisions(parts.tied_a[n], parts.free_a[n])
            at_b = Divisions(parts.tied_b[n], parts.free_b[n])
            there = weigh_end(pair, t, middle, b > t, room)
            n = put_part(parts, n, t, a, at_a, middle, there, halved)
            n = put_part(parts, n, t, middle, there, b, at_b, halved)
            continue
        best = descend(pair, middle, best, span, room)
        if min(a, b) < best.t < max(a, b):
            middle = best.t
        n = put_both(pair, middle, min(a, b), max(a, b), n, room)
    return best


@kernel
def face(problem: OracleProblem, j: int, is_backwards: bool, room: HillScratch) -> ArmPair:
    """The arms as they are or backwards, with j, prepared for all k before it."""
    K = problem.mu.size
    m = problem.shape.integer[0]
    for i in range(K):
        room.mu[i] = problem.mu[K - 1 - i if is_backwards else i]
        room.w[i] = problem.w[K - 1 - i if is_backwards else i]
    if is_backwards:
        j = K - 1 - j
    prepare(problem.family, room.mu, room.w, j, m, room.rivals)
    low = room.mu[0]
    high = room.mu[0]
    for i in range(K):
        low = min(low, room.mu[i])
        high = max(high, room.mu[i])
    return ArmPair(problem.family, room.mu, room.w, -1, j, m, low, high)


@inlined
def against(pair: ArmPair, k: int) -> ArmPair:
    """The pair with another k."""
    return ArmPair(pair.family, pair.mu, pair.w, k, pair.j, pair.peaks, pair.low, pair.high)


@kernel
def write_level(
    pair: ArmPair, level: Level, is_backwards: bool, lam: Floats, room: Rivals
) -> float:
    """lam = the fit at a level, in the order of the arms; its cost."""
    K = lam.size
    if level.cost == math.inf:
        return mark_infeasible(lam)
    cost = best_at(pair, level.t, room)
    for i in range(K):
        lam[i] = room.lam[K - 1 - i if is_backwards else i]
    return cost


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Arm k is a peak, and at least as good as j."""
    K = lam.size
    room = scratch_of(problem.work, K, problem.shape.integer[0])
    is_backwards = second > first
    pair = face(problem, first, is_backwards, room)
    pair = against(pair, K - 1 - second if is_backwards else second)
    level = search(pair, math.inf, room.rivals)
    return write_level(pair, level, is_backwards, lam, room.rivals)


@kernel
def note_of(pair: ArmPair, base: Floats, is_backwards: bool, size: float, lam: Floats) -> int:
    """Notes on a fit `lam`, along the line, beside the projection: see `note_ties`."""
    K = lam.size
    moved = 0
    kept = 0.0
    for i in range(K):  # of the arms before i
        way = abs(lam[i] - base[K - 1 - i if is_backwards else i])
        if way > LEAST_MOVE * size:
            moved += 1
        if way <= MOST_REST * size:
            kept += weighted_divergence(pair.family, pair.w[i], pair.mu[i], lam[i])
    return note_ties(max(1, moved - 1), kept)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """All k on either side of j."""
    K = costs.size
    m = problem.shape.integer[0]
    room = scratch_of(problem.work, K, m)
    size = largest(problem.mu)
    base = math.inf
    for side in range(2):  # `best` has the projection
        pair = face(problem, first, side == 1, room)
        if side == 0:
            base = room.rivals.hills.before[m * (K + 1) + K]
            write_first(room.rivals.hills, K, m, K, room.best)
        for k in range(pair.j):
            rival = against(pair, k)
            level = search(rival, math.inf, room.rivals)
            best_at(rival, level.t, room.rivals)
            at = K - 1 - k if side == 1 else k
            costs[at] = level.cost
            problem.marks[at] = note_of(pair, room.best, side == 1, size, room.rivals.lam)
    costs[first] = base
    return float(base)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The cheapest k on either side of j."""
    K = lam.size
    room = scratch_of(problem.work, K, problem.shape.integer[0])
    best = mark_infeasible(lam)
    for side in range(2):  # lam is the best of all k so far
        pair = face(problem, first, side == 1, room)
        for k in range(pair.j):
            rival = against(pair, k)
            level = search(rival, best, room.rivals)
            if level.cost < best:
                best = write_level(rival, level, side == 1, room.best, room.rivals)
                copy(room.best, lam)
    return best

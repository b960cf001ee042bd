"""How much more than the projection each challenger costs at least, derived from the pieces.

Such bounds come from one look along a chain, a line of concave means or a union that turns; or from
two arms alone, where the pieces have no such form. They spare most programs of `derived`.
"""

from __future__ import annotations

import math

from armature.families.kernels import of_arm, total_divergence, weighted_divergence
from armature.kernels.apart import apart
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.chains.bounds import bounds_on_chain
from armature.solver.chains.chain import is_said
from armature.solver.chains.turns import UNCERTAIN, bounds_on_turns, count_ties, move_side
from armature.solver.concave.nearest import bounds_of_concave
from armature.solver.program import Cost, Limits
from armature.structures.oracles.records import OracleProblem, note_ties
from armature.structures.oracles.search import (
    PieceRoom,
    begin,
    bend_room_of,
    chain_room_of,
    lines_of,
    other_side,
    signed,
    vectors_of,
)
from armature.structures.oracles.table import (
    Table,
    bends_at,
    chain_at,
    is_chain,
    is_concave,
    is_turning,
    table_of,
    turning_in,
)

NONE = -1  # no arm
ROUNDING = 1e-12  # of means: a difference that is none


@apart(signed("turn"))
def bound_turns(problem: OracleProblem) -> int:
    """bounds = what pieces that turn cost at least, base = means there; the least bound's piece."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    lines = lines_of(problem.work, K, table.most_rows)
    cost = Cost(problem.family, problem.mu, problem.w)
    turning = turning_in(table, K)
    same = lines.owner[0] == 1
    for i in range(K):  # whether they are there from the last call
        weight = problem.w[i] / of_arm(problem.family, i).parameter
        same = same and lines.asked[0, i] == problem.mu[i] and lines.asked[1, i] == weight
        lines.asked[0, i] = problem.mu[i]
        lines.asked[1, i] = weight
    if not same:
        bounds_on_turns(
            cost, turning, room.low, room.high, room.bounds, room.base,
            lines.sides, other_side(lines), lines.chain.messages,
        )  # fmt: skip
        lines.owner[0] = 1
    likeliest = 0
    for p in range(turning.turns.size):
        if room.bounds[p] < room.bounds[likeliest]:
            likeliest = p
    return likeliest


@kernel
def disown(problem: OracleProblem, table: Table) -> None:
    """Note that the answer of `bound_turns` is overwritten."""
    lines_of(problem.work, problem.mu.size, table.most_rows).owner[0] = 0


@kernel
def bound_challengers(problem: OracleProblem, table: Table, room: PieceRoom, p: int, j: int) -> int:
    """bounds = how much more than the projection onto piece p, in `base`, each arm costs at least.

    The arm with the least bound, to begin with; NONE where there are no bounds but 0.
    """
    K = problem.mu.size
    beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
    if is_concave(table, p, K):
        copy(room.base, room.bounds)
        bound_bent(problem, p, j, math.inf, room.bounds)
    elif (
        table.orders_only
        or not is_chain(table, p, K)
        or not is_said(chain_at(table, p, K), room.base)
    ):
        fill(room.bounds, 0.0)
        return NONE
    else:
        for k in range(K):
            room.trial[k] = math.inf if beats[k] == 1 else 0.0
        bound_chain(problem, p, j, room.trial, room.bounds)
    likeliest = NONE  # invariant: of the arms before k, the one with the least bound
    for k in range(K):
        if beats[k] == 1 and (likeliest < 0 or room.bounds[k] < room.bounds[likeliest]):
            likeliest = k
    return likeliest


@apart(signed("bound"))
def bound_chain(problem: OracleProblem, p: int, j: int, matters: Floats, out: Floats) -> int:
    """Of a piece that is a chain, from which cost on that does not matter."""
    K = out.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    lines = lines_of(problem.work, K, table.most_rows)
    bounds_on_chain(
        Cost(problem.family, problem.mu, problem.w), chain_at(table, p, K), room.low, room.high,
        j, matters, out, lines.sides, lines.inner, lines.chain,
    )  # fmt: skip
    return 0


@apart(signed("bound_bent"))
def bound_bent(problem: OracleProblem, p: int, j: int, enough: float, out: Floats) -> int:
    """Of concave means, whose projection comes in `out`, until they are enough."""
    K = out.size
    table = table_of(problem.shape, K)
    m = table.most_rows
    room = vectors_of(problem.work, K, m)
    limits = Limits(room.low, room.high, NONE, NONE, NONE, NONE)
    copy(out, room.base)
    bounds_of_concave(
        Cost(problem.family, problem.mu, problem.w), bends_at(table, p, K), p, limits, room.base,
        j, enough, out, room.trial, chain_room_of(problem.work, K, m),
        bend_room_of(problem.work, K, m),
    )  # fmt: skip
    return 0


@kernel
def largest_of(flags: Ints) -> int:
    """1 if any flag is 1, else 0."""
    for i in range(flags.size):
        if flags[i] == 1:
            return 1
    return 0


@kernel
def bounds_of_pairs(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """From a projection p onto a convex set, every lam of the set is for Gaussian rewards at least
    sum_k w_k (lam_k - p_k)^2 / (2 variance) further than p is. Where i beats j, these two arms
    alone make up for this much of it.
    """
    w = problem.w
    best = out[first]
    for i in range(w.size):  # out: bounds for the arms before i, means from there on
        gap = max(0.0, best - out[i])
        out[i] = 0.0
        if problem.family.gaussian and gap > 0.0 and w[i] > 0.0 and w[first] > 0.0:
            noise = problem.family.parameter * (1.0 / w[i] + 1.0 / w[first])
            out[i] = gap * gap / (2.0 * noise)
    return 0.0


@apart(signed("bound_turning"))
def bounds_of_turns(problem: OracleProblem, out: Floats) -> int:
    """An arm beats the best one where it leads: in a piece that turns at it, as a rule.

    What is noted of it is by the best point of that piece, arm by arm from where it turns.
    """
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    lines = lines_of(problem.work, K, table.most_rows)
    cost = Cost(family, mu, w)
    turning = turning_in(table, K)
    right = other_side(lines)
    projected = room.trial
    levels = room.solver[:K]
    copy(out[:K], projected)
    bound_turns(problem)
    base = total_divergence(family, w, mu, projected)
    near = ROUNDING * largest(projected)
    for i in range(K):
        out[i] = math.inf
        problem.marks[i] = 0
    for p in range(turning.turns.size):  # out: by the pieces before p
        k = turning.turns[p]
        a = turning.before.order[k]
        y = room.base[p]
        apart = abs(y - projected[a])
        levels[k] = y if apart > near and w[a] > 0.0 else math.nan
        kept = move_side(cost, turning.before, lines.sides, k, y, 0, projected, near, levels)
        kept += move_side(cost, turning.after, right, k, y, 1, projected, near, levels)
        if apart <= UNCERTAIN * near:
            kept += weighted_divergence(of_arm(family, a), w[a], mu[a], projected[a])
        noted = note_ties(max(1, count_ties(levels, k, UNCERTAIN * near)), kept)
        for i in range(K):
            if table.leads[p * K + i] == 1:
                out[i] = min(out[i], max(room.bounds[p] - base, 0.0))
                problem.marks[i] = noted if problem.marks[i] == 0 else K - 1
    return 0


@kernel
def challenger_bounds(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """In a chain, those that the two draw along count, too."""
    K = problem.mu.size
    table = begin(problem)
    if is_turning(table) and table.by_top:
        bounds_of_turns(problem, out)
        return 0.0
    if table.equalities.size > 1 or not (is_chain(table, 0, K) or is_concave(table, 0, K)):
        return bounds_of_pairs(problem, first, second, out)
    if largest_of(table.beats[first * K : (first + 1) * K]) == 0:
        fill(out[:K], math.inf)
    elif is_concave(table, 0, K):
        bound_bent(problem, 0, first, largest(out[K:]), out[:K])
    elif not is_said(chain_at(table, 0, K), out[:K]):
        return bounds_of_pairs(problem, first, second, out)
    else:
        bound_chain(problem, 0, first, out[K:], out[:K])
    return 0.0

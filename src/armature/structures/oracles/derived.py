"""Every oracle of a structure, derived from its pieces by dense convex programs.

What the kernels need of the pieces is a table, made once for a structure (`make_table`). Each entry
goes through the pieces, leaves out those that can't do better than what was found, and solves in
the rest (`search`). lam is the best of the pieces before piece p, at the cost `best`.
"""

from __future__ import annotations

import math

from armature.families.kernels import of_arm, total_divergence, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.chains.bounds import bounds_on_chain
from armature.solver.chains.limits import highest_on_chain
from armature.solver.chains.turns import UNCERTAIN, bounds_on_turns, count_ties, move_side
from armature.solver.concave.nearest import bounds_of_concave
from armature.solver.convex import nearest_of
from armature.solver.pooling import pair_cost
from armature.solver.program import Cost, Limits, Region, mark_infeasible
from armature.solver.support_function import farthest
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work, note_ties
from armature.structures.oracles.search import (
    Search,
    keep_better,
    limits_of,
    other_side,
    region_of,
    room_for,
    search_of,
    solve_in,
)
from armature.structures.oracles.table import (
    bends_at,
    chain_at,
    is_chain,
    is_concave,
    is_turning,
    rows_of,
    table_of,
    turning_in,
)

NONE = -1  # no arm
ROUNDING = 1e-12  # of means: a difference that is none


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest of the pieces."""
    search = search_of(problem)
    limits = limits_of(search, NONE, NONE, NONE, NONE)
    best = mark_infeasible(lam)
    bounds = search.room.bounds
    likeliest = bound_turns(search) if is_turning(search.table) else NONE
    enough = math.inf
    if likeliest >= 0:
        enough = solve_in(search, likeliest, limits, search.room.trial)
    for p in range(search.table.equalities.size):  # lam is the best of the pieces before p
        if likeliest < 0 or p == likeliest or bounds[p] <= enough:  # bounds are up to rounding
            best = keep_better(search, p, limits, best, lam)
    return best


@kernel
def bound_turns(search: Search) -> int:
    """bounds = what pieces that turn cost at least, base = means there; the least bound's piece."""
    problem, table, room = search
    cost = Cost(problem.family, problem.mu, problem.w)
    turning = turning_in(table, problem.mu.size)
    same = room.owner[0] == 1
    for i in range(problem.mu.size):  # whether they are there from the last call
        weight = problem.w[i] / of_arm(problem.family, i).parameter
        same = same and room.asked[0, i] == problem.mu[i] and room.asked[1, i] == weight
        room.asked[0, i] = problem.mu[i]
        room.asked[1, i] = weight
    if not same:
        bounds_on_turns(
            cost, turning, room.low, room.high, room.bounds, room.base,
            room.sides, other_side(room), room.chain.messages,
        )  # fmt: skip
        room.owner[0] = 1
    likeliest = 0
    for p in range(turning.turns.size):
        if room.bounds[p] < room.bounds[likeliest]:
            likeliest = p
    return likeliest


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """lam_k >= lam_j, in every piece in which k can be better than j.

    If k can be better elsewhere only, such a point of a piece is one in which another arm i is at
    least as good as j besides.
    """
    K = lam.size
    j = first
    k = second
    search = search_of(problem)
    table = search.table
    best = mark_infeasible(lam)
    anywhere = False
    for p in range(table.equalities.size):
        anywhere = anywhere or table.beats[(p * K + j) * K + k] == 1
    if not anywhere:
        return best
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
        if beats[k] == 1:
            best = keep_better(search, p, limits_of(search, j, k, NONE, NONE), best, lam)
        else:
            for i in range(K):
                if beats[i] == 1:
                    best = keep_better(search, p, limits_of(search, j, k, i, NONE), best, lam)
    return best


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The projection onto each piece, then one more inequality for each promising challenger."""
    K = lam.size
    j = first
    search = search_of(problem)
    cost = Cost(problem.family, problem.mu, problem.w)
    family, mu, w = cost
    table = search.table
    room = search.room
    plain = limits_of(search, NONE, NONE, NONE, NONE)
    along_line = is_chain(table, 0, K) or is_concave(table, 0, K)
    if table.equalities.size == 1 and not table.orders_only and not along_line:
        beats = table.beats[j * K : (j + 1) * K]
        piece = region_of(search, 0, plain)
        return nearest_of(cost, piece, j, beats, lam, room.state, room.spare, room.solver)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
        if largest_of(beats) == 0:
            continue
        room.owner[0] = 0
        base = solve_in(search, p, plain, room.base)
        likeliest = bound_challengers(search, p, j, beats)
        for visit in range(-1, K):
            k = likeliest if visit < 0 else visit
            if k < 0 or beats[k] == 0 or visit == likeliest or base + room.bounds[k] >= best:
                continue
            if room.base[k] >= room.base[j]:
                best = base
                copy(room.base, lam)
            elif not family.alike or pair_cost(family, w[j], mu[j], w[k], mu[k]) < best:
                best = keep_better(search, p, limits_of(search, j, k, NONE, NONE), best, lam)
    return best


@kernel
def bound_challengers(search: Search, p: int, j: int, beats: Ints) -> int:
    """bounds = how much more than the projection onto piece p, in `base`, each arm costs at least.

    The arm with the least bound, to begin with; NONE where there are no bounds but 0.
    """
    problem, table, room = search
    K = beats.size
    room.owner[0] = 0
    cost = Cost(problem.family, problem.mu, problem.w)
    if is_concave(table, p, K):
        limits = limits_of(search, NONE, NONE, NONE, NONE)
        bounds_of_concave(
            cost, bends_at(table, p, K), p, limits, room.base, j, math.inf, room.bounds,
            room.trial, room.chain, room.bends,
        )  # fmt: skip
    elif table.orders_only or not is_chain(table, p, K):
        fill(room.bounds, 0.0)
        return NONE
    else:
        for k in range(K):
            room.trial[k] = math.inf if beats[k] == 1 else 0.0
        bounds_on_chain(
            cost, chain_at(table, p, K), room.low, room.high, j, room.trial, room.bounds,
            room.sides, room.inner, room.chain,
        )  # fmt: skip
    likeliest = NONE
    for k in range(K):
        if beats[k] == 1 and (likeliest < 0 or room.bounds[k] < room.bounds[likeliest]):
            likeliest = k
    return likeliest


@kernel
def largest_of(flags: Ints) -> int:
    """1 if any flag is 1, else 0."""
    for i in range(flags.size):
        if flags[i] == 1:
            return 1
    return 0


@kernel
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """Cell p K + k: lam_k >= lam_j in piece p."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    n = 0
    for p in range(table.equalities.size):  # out[:n]: those of the pieces before p
        for k in range(K):
            if table.beats[(p * K + first) * K + k] == 1:
                out[n] = p * K + k
                n += 1
    return n


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """One challenger in one piece."""
    K = lam.size
    search = search_of(problem)
    limits = limits_of(search, first, second % K, NONE, NONE)
    return keep_better(search, second // K, limits, mark_infeasible(lam), lam)


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """lam_k >= lam_j; if read by the top, in the pieces in which k can be the best arm."""
    search = search_of(problem)
    if not search.table.by_top:
        return alt_min(problem, first, second, lam)
    limits = limits_of(search, first, second, NONE, NONE)
    return best_where_leading(search, second, limits, lam)


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Arm j is at least as good as all others, in the pieces in which it can be better."""
    search = search_of(problem)
    limits = limits_of(search, NONE, NONE, NONE, first)
    return best_where_leading(search, first, limits, lam)


@kernel
def best_where_leading(search: Search, arm: int, limits: Limits, lam: Floats) -> float:
    """The nearest of the pieces in which an arm can be the best."""
    best = mark_infeasible(lam)
    for p in range(search.table.equalities.size):  # lam is the best of the pieces before p
        if search.table.leads[p * lam.size + arm] == 1:
            best = keep_better(search, p, limits, best, lam)
    return best


@kernel
def bounds_of_pairs(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """From a projection p onto a convex set, every lam of the set is for Gaussian rewards at least
    sum_k w_k (lam_k - p_k)^2 / (2 variance) further than p is. Where i beats j, these two arms
    alone make up for this much of it.
    """
    w = problem.w
    best = out[first]
    for i in range(w.size):
        gap = max(0.0, best - out[i])
        out[i] = 0.0
        if problem.family.gaussian and gap > 0.0 and w[i] > 0.0 and w[first] > 0.0:
            noise = problem.family.parameter * (1.0 / w[i] + 1.0 / w[first])
            out[i] = gap * gap / (2.0 * noise)
    return 0.0


@kernel
def bounds_of_turns(search: Search, out: Floats) -> None:
    """An arm beats the best one where it leads: in a piece that turns at it, as a rule.

    What is noted of it is by the best point of that piece, arm by arm from where it turns.
    """
    problem, table, room = search
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    cost = Cost(family, mu, w)
    turning = turning_in(table, K)
    right = other_side(room)
    projected = room.trial
    levels = room.solver[:K]
    copy(out[:K], projected)
    bound_turns(search)
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
        kept = move_side(cost, turning.before, room.sides, k, y, 0, projected, near, levels)
        kept += move_side(cost, turning.after, right, k, y, 1, projected, near, levels)
        if apart <= UNCERTAIN * near:
            kept += weighted_divergence(of_arm(family, a), w[a], mu[a], projected[a])
        noted = note_ties(max(1, count_ties(levels, k, UNCERTAIN * near)), kept)
        for i in range(K):
            if table.leads[p * K + i] == 1:
                out[i] = min(out[i], max(room.bounds[p] - base, 0.0))
                problem.marks[i] = noted if problem.marks[i] == 0 else K - 1


@kernel
def challenger_bounds(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """In a chain, those that the two draw along count, too."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    if is_turning(table) and table.by_top:
        bounds_of_turns(search_of(problem), out)
        return 0.0
    if table.equalities.size > 1 or not (is_chain(table, 0, K) or is_concave(table, 0, K)):
        return bounds_of_pairs(problem, first, second, out)
    if largest_of(table.beats[first * K : (first + 1) * K]) == 0:
        fill(out[:K], math.inf)
        return 0.0
    room = search_of(problem).room
    cost = Cost(problem.family, problem.mu, problem.w)
    if is_concave(table, 0, K):
        limits = Limits(room.low, room.high, NONE, NONE, NONE, NONE)
        copy(out[:K], room.base)
        bounds_of_concave(
            cost, bends_at(table, 0, K), 0, limits, room.base, first, largest(out[K:]), out[:K],
            room.trial, room.chain, room.bends,
        )  # fmt: skip
        return 0.0
    bounds_on_chain(
        cost, chain_at(table, 0, K), room.low, room.high, first, out[K:], out[:K],
        room.sides, room.inner, room.chain,
    )  # fmt: skip
    return 0.0


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """A linear program for each piece and arm; for all arms of a chain at once."""
    K = low.size
    table = table_of(shape, K)
    room = room_for(table, K, work)
    limits = Limits(low, high, NONE, NONE, NONE, NONE)
    fill(out, -math.inf)
    possible = 0.0
    # out has the highest means over the pieces before p.
    for p in range(table.equalities.size):
        if is_chain(table, p, K):
            if highest_on_chain(chain_at(table, p, K), low, high, room.trial, room.chain):
                possible = 1.0
                for k in range(K):
                    out[k] = max(out[k], room.trial[k])
            continue
        piece = Region(rows_of(table, p), limits, room.solver[:0].reshape(0, 0))
        for k in range(K):
            value = farthest(piece, k, room.trial, room.state, room.solver)
            if value == -math.inf:
                break
            out[k] = max(out[k], value)
            possible = 1.0
    return possible


DERIVED = Oracle(
    project=project,
    alt_min=alt_min,
    nearest=nearest,
    cells=cells,
    cell_min=cell_min,
    challenger_min=challenger_min,
    challenger_bounds=challenger_bounds,
    best_min=best_min,
    highest=highest,
)

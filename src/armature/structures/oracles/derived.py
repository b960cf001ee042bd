"""Every oracle of a structure, derived from its pieces by dense convex programs.

What the kernels need of the pieces is a table, made once for a structure (`make_table`). Each entry
goes through the pieces, leaves out those that can't do better than what was found, and solves in
the rest (`search`). lam is the best of the pieces before piece p, at the cost `best`.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill
from armature.solver.chain_bounds import bounds_on_chain
from armature.solver.chain_limits import highest_on_chain
from armature.solver.convex import nearest_of
from armature.solver.pooling import pair_cost
from armature.solver.program import Cost, Limits, Region, mark_infeasible
from armature.solver.support_function import farthest
from armature.structures.oracles.records import Oracle, Problem, Shape, Work
from armature.structures.oracles.search import (
    Search,
    keep_better,
    limits_of,
    region_of,
    room_for,
    search_of,
    solve_in,
)
from armature.structures.oracles.table import chain_at, is_chain, rows_of, table_of

NONE = -1  # no arm


@kernel
def project(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The nearest of the pieces."""
    search = search_of(problem)
    limits = limits_of(search, NONE, NONE, NONE, NONE)
    best = mark_infeasible(lam)
    for p in range(search.table.equalities.size):  # lam is the best of the pieces before p
        best = keep_better(search, p, limits, best, lam)
    return best


@kernel
def alt_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
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
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The projection onto each piece, then one more inequality for each promising challenger."""
    K = lam.size
    j = first
    search = search_of(problem)
    cost = Cost(problem.family, problem.mu, problem.w)
    family, mu, w = cost
    table = search.table
    room = search.room
    plain = limits_of(search, NONE, NONE, NONE, NONE)
    if table.equalities.size == 1 and not table.orders_only and not is_chain(table, 0, K):
        beats = table.beats[j * K : (j + 1) * K]
        piece = region_of(search, 0, plain)
        return nearest_of(cost, piece, j, beats, lam, room.state, room.spare, room.solver)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
        if largest_of(beats) == 0:
            continue
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
    if table.orders_only or not is_chain(table, p, K):
        fill(room.bounds, 0.0)
        return NONE
    cost = Cost(problem.family, problem.mu, problem.w)
    bounds_on_chain(cost, chain_at(table, p, K), room.base, j, room.bounds, room.chain)
    likeliest = NONE
    for k in range(K):
        if beats[k] == 1 and (likeliest < 0 or room.bounds[k] < room.bounds[likeliest]):
            likeliest = k
    return likeliest


@kernel
def largest_of(flags: Ints) -> int:
    """Whether any flag is 1."""
    for i in range(flags.size):
        if flags[i] == 1:
            return 1
    return 0


@kernel
def cells(problem: Problem, first: int, out: Ints) -> int:
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
def cell_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """One challenger in one piece."""
    K = lam.size
    search = search_of(problem)
    limits = limits_of(search, first, second % K, NONE, NONE)
    return keep_better(search, second // K, limits, mark_infeasible(lam), lam)


@kernel
def challenger_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """lam_k >= lam_j; if read by the top, in the pieces in which k can be the best arm."""
    search = search_of(problem)
    if not search.table.by_top:
        return alt_min(problem, first, second, lam)
    limits = limits_of(search, first, second, NONE, NONE)
    return best_where_leading(search, second, limits, lam)


@kernel
def best_min(problem: Problem, first: int, second: int, lam: Floats) -> float:
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
def bounds_of_pairs(problem: Problem, first: int, second: int, out: Floats) -> float:
    """From a projection p onto a convex set, every lam of the set is for Gaussian rewards at least
    sum_k w_k (lam_k - p_k)^2 / (2 variance) further than p is. Where i beats j, these two arms
    alone make up for this much of it.
    """
    w = problem.w
    best = out[first]
    for i in range(out.size):
        gap = max(0.0, best - out[i])
        out[i] = 0.0
        if problem.family.gaussian and gap > 0.0 and w[i] > 0.0 and w[first] > 0.0:
            noise = problem.family.parameter * (1.0 / w[i] + 1.0 / w[first])
            out[i] = gap * gap / (2.0 * noise)
    return 0.0


@kernel
def challenger_bounds(problem: Problem, first: int, second: int, out: Floats) -> float:
    """In a chain, those that the two draw along count, too."""
    K = out.size
    table = table_of(problem.shape, K)
    if table.equalities.size > 1 or not is_chain(table, 0, K):
        return bounds_of_pairs(problem, first, second, out)
    room = room_for(table, K, problem.work)
    cost = Cost(problem.family, problem.mu, problem.w)
    copy(out, room.base)
    bounds_on_chain(cost, chain_at(table, 0, K), room.base, first, out, room.chain)
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

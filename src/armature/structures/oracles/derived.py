"""Every oracle of a structure, derived from its pieces by dense convex programs.

What the kernels need of the pieces is a table, made once for a structure (`make_table`). Each entry
goes through the pieces, leaves out those that can't do better than what was found, and solves in
the rest (`search`). lam is the best of the pieces before piece p, at the cost `best`.
"""

from __future__ import annotations

import math

from armature.kernels.apart import apart
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill
from armature.solver.chains.chain import is_said
from armature.solver.chains.limits import highest_on_chain
from armature.solver.convex import nearest_of
from armature.solver.pooling import pair_cost
from armature.solver.program import Cost, Limits, Region, mark_infeasible
from armature.solver.support_function import farthest
from armature.structures.oracles.derived_bounds import (
    NONE,
    bound_challengers,
    bound_turns,
    challenger_bounds,
    disown,
    largest_of,
)
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work
from armature.structures.oracles.search import (
    begin,
    chain_room_of,
    keep_better,
    region_of,
    signed,
    solve_piece,
    state_of,
    vectors_of,
)
from armature.structures.oracles.table import (
    chain_at,
    is_chain,
    is_concave,
    is_turning,
    rows_of,
    table_of,
)


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest of the pieces."""
    table = begin(problem)
    if is_turning(table):
        return project_turning(problem, lam)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        best = keep_better(problem, p, NONE, NONE, NONE, NONE, best, lam)
    return best


@apart(signed("project"))
def project_turning(problem: OracleProblem, lam: Floats) -> float:
    """The same where pieces turn: of most, what they cost at least tells enough."""
    table = table_of(problem.shape, lam.size)
    room = vectors_of(problem.work, lam.size, table.most_rows)
    likeliest = bound_turns(problem)
    enough = solve_piece(problem, likeliest, NONE, NONE, NONE, NONE, room.trial)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        if p == likeliest or room.bounds[p] <= enough:  # bounds are up to rounding
            best = keep_better(problem, p, NONE, NONE, NONE, NONE, best, lam)
    return best


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """lam_k >= lam_j, in every piece in which k can be better than j.

    If k can be better elsewhere only, such a point of a piece is one in which another arm i is at
    least as good as j besides.
    """
    K = lam.size
    j = first
    k = second
    table = begin(problem)
    best = mark_infeasible(lam)
    anywhere = False
    for p in range(table.equalities.size):
        anywhere = anywhere or table.beats[(p * K + j) * K + k] == 1
    if not anywhere:
        return best
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
        if beats[k] == 1:
            best = keep_better(problem, p, j, k, NONE, NONE, best, lam)
        else:
            for i in range(K):
                if beats[i] == 1:
                    best = keep_better(problem, p, j, k, i, NONE, best, lam)
    return best


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The projection onto each piece, then one more inequality for each promising challenger."""
    K = lam.size
    j = first
    family = problem.family
    mu = problem.mu
    w = problem.w
    table = begin(problem)
    along_line = is_chain(table, 0, K) or is_concave(table, 0, K)
    if table.equalities.size == 1 and not table.orders_only and not along_line:
        return nearest_dense(problem, j, lam)
    room = vectors_of(problem.work, K, table.most_rows)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        beats = table.beats[(p * K + j) * K : (p * K + j + 1) * K]
        if largest_of(beats) == 0:
            continue
        disown(problem, table)
        base = solve_piece(problem, p, NONE, NONE, NONE, NONE, room.base)
        likeliest = bound_challengers(problem, table, room, p, j)
        for visit in range(-1, K):
            k = likeliest if visit < 0 else visit
            if k < 0 or beats[k] == 0 or visit == likeliest or base + room.bounds[k] >= best:
                continue
            if room.base[k] >= room.base[j]:
                best = base
                copy(room.base, lam)
            elif not family.alike or pair_cost(family, w[j], mu[j], w[k], mu[k]) < best:
                best = keep_better(problem, p, j, k, NONE, NONE, best, lam)
    return best


@apart(signed("nearest_dense"))
def nearest_dense(problem: OracleProblem, j: int, lam: Floats) -> float:
    """The same in the only piece, which is any polyhedron."""
    K = lam.size
    table = table_of(problem.shape, K)
    m = table.most_rows
    room = vectors_of(problem.work, K, m)
    limits = Limits(room.low, room.high, NONE, NONE, NONE, NONE)
    cost = Cost(problem.family, problem.mu, problem.w)
    piece = region_of(table, 0, limits, room)
    beats = table.beats[j * K : (j + 1) * K]
    one = state_of(problem.work, K, m, 0)
    other = state_of(problem.work, K, m, 1)
    return nearest_of(cost, piece, j, beats, lam, one, other, room.solver)


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
    begin(problem)
    best = mark_infeasible(lam)
    return keep_better(problem, second // K, first, second % K, NONE, NONE, best, lam)


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """lam_k >= lam_j; if read by the top, in the pieces in which k can be the best arm."""
    table = begin(problem)
    if not table.by_top:
        return alt_min(problem, first, second, lam)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        if table.leads[p * lam.size + second] == 1:
            best = keep_better(problem, p, first, second, NONE, NONE, best, lam)
    return best


@kernel
def best_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Arm j is at least as good as all others, in the pieces in which it can be better."""
    table = begin(problem)
    best = mark_infeasible(lam)
    for p in range(table.equalities.size):  # lam is the best of the pieces before p
        if table.leads[p * lam.size + first] == 1:
            best = keep_better(problem, p, NONE, NONE, NONE, first, best, lam)
    return best


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """A linear program for each piece and arm; for all arms of a chain at once."""
    K = low.size
    table = table_of(shape, K)
    room = vectors_of(work, K, table.most_rows)
    limits = Limits(low, high, NONE, NONE, NONE, NONE)
    fill(out, -math.inf)
    possible = 0.0
    # out has the highest means over the pieces before p.
    for p in range(table.equalities.size):
        if is_chain(table, p, K) and is_said(chain_at(table, p, K), low):
            chain_room = chain_room_of(work, K, table.most_rows)
            if highest_on_chain(chain_at(table, p, K), low, high, room.trial, chain_room):
                possible = 1.0
                for k in range(K):
                    out[k] = max(out[k], room.trial[k])
            continue
        piece = Region(rows_of(table, p), limits, room.solver[:0].reshape(0, 0))
        for k in range(K):
            state = state_of(work, K, table.most_rows, 0)
            value = farthest(piece, k, room.trial, state, room.solver)
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

"""Every oracle of a structure, derived from its pieces by dense convex programs.

What the kernels need of the pieces is a table, made once for a structure (`make_table`). Each entry
goes through the pieces, leaves out those that can't do better than what was found, and solves in
the rest (`search`). lam is the best of the pieces before piece p, at the cost `best`.
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
from armature.solver.chains.limits import highest_on_chain
from armature.solver.chains.turns import UNCERTAIN, bounds_on_turns, count_ties, move_side
from armature.solver.concave.nearest import bounds_of_concave
from armature.solver.convex import nearest_of
from armature.solver.pooling import pair_cost
from armature.solver.program import Cost, Limits, Region, mark_infeasible
from armature.solver.support_function import farthest
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work, note_ties
from armature.structures.oracles.search import (
    PieceRoom,
    begin,
    bend_room_of,
    chain_room_of,
    keep_better,
    lines_of,
    other_side,
    region_of,
    signed,
    solve_piece,
    state_of,
    vectors_of,
)
from armature.structures.oracles.table import (
    Table,
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

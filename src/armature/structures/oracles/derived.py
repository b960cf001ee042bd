"""Every oracle of a structure, derived from its pieces by dense convex programs.

What the kernels need of the pieces is a table, made once for a structure (`make_table`). Each entry
goes through the pieces, leaves out those that can't do better than what was found, and solves the
rest by `minimise`. If all rows are orders, the minimiser is the same for every family whose arms
are alike: it is found for Gaussian rewards, tied arms get their exact means (`settle`), and the
cost alone is the family's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import divergence, total_divergence, unit_gaussian, write_ends
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill
from armature.solver.chain import ChainScratch, make_chain_scratch
from armature.solver.chain_bounds import bounds_on_chain
from armature.solver.chain_limits import UNPROVED, highest_on_chain, minimise_on_chain
from armature.solver.convex import minimise, nearest_of
from armature.solver.pooling import GUESSES, pair_cost, settle
from armature.solver.program import (
    Cost,
    Limits,
    Region,
    mark_infeasible,
    nearest_scratch_size,
)
from armature.solver.quadratic import State, make_state, state_size
from armature.solver.support_function import farthest
from armature.structures.oracles.records import Oracle, Problem, Shape, Work
from armature.structures.oracles.table import Table, chain_at, is_chain, rows_of, table_of

ROUNDING = 1e-12  # of a cost
NONE = -1  # no arm


class DerivedScratch(NamedTuple):
    """Room for two states of the solver and the vectors around it."""

    state: State
    spare: State
    low: Floats  # (K,): the domain, or a box
    high: Floats
    trial: Floats
    base: Floats
    bounds: Floats
    solver: Floats  # what `minimise` and `nearest_of` take
    chain: ChainScratch


@kernel
def scratch_of(work: Work, K: int, m: int) -> DerivedScratch:
    """The scratch space for K arms and at most m rows in a piece."""
    n_real, n_integer = state_size(K, K, m)
    a = 2 * n_real
    b = a + 5 * K + nearest_scratch_size(K, K)
    return DerivedScratch(
        make_state(work.real[:n_real], work.integer[:n_integer], K, K, m),
        make_state(work.real[n_real:a], work.integer[n_integer : 2 * n_integer], K, K, m),
        work.real[a : a + K],
        work.real[a + K : a + 2 * K],
        work.real[a + 2 * K : a + 3 * K],
        work.real[a + 3 * K : a + 4 * K],
        work.real[a + 4 * K : a + 5 * K],
        work.real[a + 5 * K : b],
        make_chain_scratch(work.real[b:], work.integer[2 * n_integer :], K),
    )


class Search(NamedTuple):
    """A problem, the pieces to solve it in, and room to do so."""

    problem: Problem
    table: Table
    room: DerivedScratch


@kernel
def room_for(table: Table, K: int, work: Work) -> DerivedScratch:
    """The scratch space for a table."""
    m = 0  # the most rows of the pieces before p
    for p in range(table.equalities.size):
        m = max(m, table.first_row[p + 1] - table.first_row[p])
    return scratch_of(work, K, m)


@kernel
def search_of(problem: Problem) -> Search:
    """What the kernels below work with; the box is the family's domain."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    room = room_for(table, K, problem.work)
    write_ends(problem.family, room.low, room.high)
    return Search(problem, table, room)


@inlined
def limits_of(search: Search, j: int, k: int, i: int, top: int) -> Limits:
    """The domain, with lam_k >= lam_j, lam_i >= lam_j, and an arm on top."""
    return Limits(search.room.low, search.room.high, j, k, i, top)


@kernel
def region_of(search: Search, p: int, limits: Limits) -> Region:
    """A piece within limits; no basis but the identity."""
    return Region(rows_of(search.table, p), limits, search.room.solver[:0].reshape(0, 0))


@kernel
def simplest(table: Table, family: FamilyRecord) -> FamilyRecord:
    """The family to solve for: unit Gaussian where the minimiser is the same for all."""
    if table.orders_only and family.alike:
        return unit_gaussian(family)
    return family


@kernel
def solve_in(search: Search, p: int, limits: Limits, lam: Floats) -> float:
    """The nearest point of a piece within limits."""
    problem, table, room = search
    cost = Cost(simplest(table, problem.family), problem.mu, problem.w)
    region = region_of(search, p, limits)
    least = UNPROVED
    if is_chain(table, p, lam.size):
        least = minimise_on_chain(cost, chain_at(table, p, lam.size), limits, lam, room.chain)
    if least == UNPROVED:
        least = minimise(cost, region, lam, room.state, room.solver)
    if not (table.orders_only and problem.family.alike) or least == math.inf:
        return least
    for i in range(lam.size):
        lam[i] = min(max(lam[i], limits.low[i]), limits.high[i])  # rounding
    leave_open_end(problem, lam)
    return last_digits(problem, region, lam, room)


@kernel
def last_digits(problem: Problem, region: Region, lam: Floats, room: DerivedScratch) -> float:
    """Give tied arms their exact means, where that costs no more; the cost."""
    K = lam.size
    found = room.solver[:K]  # with whatever ties
    exact = room.solver[K : 2 * K]
    rest = room.solver[2 * K : 4 * K]
    copy(lam, found)
    cost = total_divergence(problem.family, problem.w, problem.mu, lam)
    # lam is the cheapest of what was found and of the guesses so far that keep all constraints.
    for guess in range(GUESSES):
        if settle(problem.mu, problem.w, region, found, guess, exact, rest):
            leave_open_end(problem, exact)
            exact_cost = total_divergence(problem.family, problem.w, problem.mu, exact)
            if exact_cost <= cost * (1.0 + ROUNDING):
                copy(exact, lam)
                cost = exact_cost
    return cost


@kernel
def leave_open_end(problem: Problem, lam: Floats) -> None:
    """Lift arms from an end of the domain that is no mean itself: it is infinitely far from others.

    They have no weight, or rounding has put them there. At the least of all other means, they are
    still in order.
    """
    end = problem.family.low
    highest = end
    for i in range(lam.size):  # highest: of the end and the means before i
        highest = max(highest, problem.mu[i])
    if not -math.inf < end < highest:
        return
    if divergence(problem.family, end, 0.5 * (end + highest)) < math.inf:
        return
    least = highest
    for i in range(lam.size):  # least: of the means before i
        least = min(least, problem.mu[i])
        if lam[i] > end:
            least = min(least, lam[i])
    for i in range(lam.size):
        if lam[i] == end:
            lam[i] = least


@kernel
def keep_better(search: Search, p: int, limits: Limits, best: float, lam: Floats) -> float:
    """Solve in a piece; if that costs less than `best`, keep it in lam. The lesser cost."""
    cost = solve_in(search, p, limits, search.room.trial)
    if cost < best:
        copy(search.room.trial, lam)
        return cost
    return best


# The oracles go through the pieces: lam is the best of those before piece p, at the cost `best`.


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

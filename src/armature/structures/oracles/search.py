"""Solving in one piece of a structure: the room for it, and the nearest point within limits.

If all rows are orders, the minimiser is the same for every family whose arms are alike: it is found
for Gaussian rewards, tied arms get their exact means (`settle`), and the cost alone is the
family's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import divergence, total_divergence, unit_gaussian, write_ends
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy
from armature.solver.chains.limits import UNPROVED, minimise_on_chain
from armature.solver.chains.nearest import ChainScratch, make_chain_scratch
from armature.solver.chains.sides import Sides, make_sides
from armature.solver.concave.knots import BendScratch, make_bend_scratch
from armature.solver.concave.nearest import minimise_concave
from armature.solver.convex import minimise
from armature.solver.pooling import GUESSES, settle
from armature.solver.program import Cost, Limits, Region, nearest_scratch_size
from armature.solver.quadratic import State, make_state, state_size
from armature.structures.oracles.records import OracleProblem, Work
from armature.structures.oracles.table import (
    Table,
    bends_at,
    chain_at,
    is_chain,
    is_concave,
    rows_of,
    table_of,
)

ROUNDING = 1e-12  # of a cost


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
    bends: BendScratch
    chain: ChainScratch
    sides: Sides
    inner: Sides
    asked: Floats  # (2, K): the means and weights of which `bounds`, `base`, `sides` are the answer
    owner: Ints  # (1,): whether they are


@kernel
def scratch_of(work: Work, K: int, m: int) -> DerivedScratch:
    """The scratch space for K arms and at most m rows in a piece."""
    n_real, n_integer = state_size(K, K, m)
    a = 2 * n_real
    b = a + 5 * K + nearest_scratch_size(K, K)
    at = b + 10 * K + 4
    c = at + 29 * K + 22
    q = 2 * n_integer
    return DerivedScratch(
        make_state(work.real[:n_real], work.integer[:n_integer], K, K, m),
        make_state(work.real[n_real:a], work.integer[n_integer : 2 * n_integer], K, K, m),
        work.real[a : a + K],
        work.real[a + K : a + 2 * K],
        work.real[a + 2 * K : a + 3 * K],
        work.real[a + 3 * K : a + 4 * K],
        work.real[a + 4 * K : a + 5 * K],
        work.real[a + 5 * K : b],
        make_bend_scratch(work.real[b:at], work.integer[q : q + 5 * K], K),
        make_chain_scratch(work.real[at:c], work.integer[q + 5 * K :], K),
        make_sides(work.real[c:], K, 0),
        make_sides(work.real[c:], K, 1),
        work.real[c + 18 * K + 1 : c + 20 * K + 1].reshape(2, K),
        work.integer[q + 7 * K + 2 : q + 7 * K + 3],
    )


class Search(NamedTuple):
    """A problem, the pieces to solve it in, and room to do so."""

    problem: OracleProblem
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
def search_of(problem: OracleProblem) -> Search:
    """The problem that the kernels below work with; the box is the family's domain."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    room = room_for(table, K, problem.work)
    write_ends(problem.family, room.low, room.high)
    return Search(problem, table, room)


@inlined
def other_side(room: DerivedScratch) -> Sides:
    """Sides with bounds of their own, beside those in `room.sides`."""
    s = room.inner
    return Sides(
        s.x, s.h, room.chain.least, room.chain.most, s.first, s.last, s.least, s.p, s.until
    )


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
    elif is_concave(table, p, lam.size):
        bends = bends_at(table, p, lam.size)
        least = minimise_concave(cost, bends, p, limits, lam, room.chain, room.bends)
    if least == UNPROVED:
        least = minimise(cost, region, lam, room.state, room.solver)
    if not (table.orders_only and problem.family.alike) or least == math.inf:
        return least
    for i in range(lam.size):
        lam[i] = min(max(lam[i], limits.low[i]), limits.high[i])  # rounding
    leave_open_end(problem, lam)
    return last_digits(problem, region, lam, room)


@kernel
def last_digits(problem: OracleProblem, region: Region, lam: Floats, room: DerivedScratch) -> float:
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
def leave_open_end(problem: OracleProblem, lam: Floats) -> None:
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

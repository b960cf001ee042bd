"""Solving in one piece of a structure: the room for it, and the nearest point within limits.

If all rows are orders, the minimiser is the same for every family whose arms are alike: it is found
for Gaussian rewards, tied arms get their exact means (`settle`), and the cost alone is the
family's.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import divergence, total_divergence, unit_gaussian, write_ends
from armature.kernels.addresses import Signature
from armature.kernels.apart import apart
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy
from armature.solver.chains.chain import is_said
from armature.solver.chains.limits import UNPROVED, minimise_on_chain
from armature.solver.chains.nearest import ChainScratch, make_chain_scratch
from armature.solver.chains.sides import Sides, make_sides
from armature.solver.concave.knots import BendScratch, make_bend_scratch
from armature.solver.concave.nearest import minimise_concave
from armature.solver.convex import minimise
from armature.solver.pooling import GUESSES, settle
from armature.solver.program import Cost, Limits, Region, nearest_scratch_size
from armature.solver.quadratic import State, make_state, state_size
from armature.structures.oracles.records import OracleProblem, Work, numba_problem
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


def signed(name: str) -> Signature:
    """The signature of what is asked about a piece, and compiled apart."""
    return Signature(_signatures, name)


@functools.cache
def _signatures() -> dict[str, Any]:
    import numba as _numba

    types: Any = _numba.types
    real, number, reals, problem = types.float64, types.int64, types.float64[::1], numba_problem()
    return {
        "solve": real(problem, *[number] * 5, reals),
        "keep_better": real(problem, *[number] * 5, real, reals),
        "project": real(problem, reals),
        "nearest_dense": real(problem, number, reals),
        "bound": number(problem, number, number, reals, reals),
        "bound_bent": number(problem, number, number, real, reals),
        "turn": number(problem),
        "bound_turning": number(problem, reals),
    }


class PieceRoom(NamedTuple):
    """Room for vectors, each of K numbers, and for the solver of dense programs."""

    low: Floats  # the domain, or a box
    high: Floats
    trial: Floats
    base: Floats
    bounds: Floats
    solver: Floats  # what `minimise` and `nearest_of` take besides their states


class ChainRoom(NamedTuple):
    """Room for chains, and for what is asked about several at once."""

    chain: ChainScratch
    sides: Sides
    inner: Sides
    asked: Floats  # (2, K): the means and weights of which `bounds`, `base`, `sides` are the answer
    owner: Ints  # (1,): whether they are


@kernel
def vectors_of(work: Work, K: int, m: int) -> PieceRoom:
    """The vectors for K arms and at most m rows in a piece."""
    a = 2 * state_size(K, K, m)[0]
    return PieceRoom(
        work.real[a : a + K],
        work.real[a + K : a + 2 * K],
        work.real[a + 2 * K : a + 3 * K],
        work.real[a + 3 * K : a + 4 * K],
        work.real[a + 4 * K : a + 5 * K],
        work.real[a + 5 * K : a + 5 * K + nearest_scratch_size(K, K)],
    )


@kernel
def state_of(work: Work, K: int, m: int, which: int) -> State:
    """One of two states of the solver."""
    real, integer = state_size(K, K, m)
    return make_state(
        work.real[which * real : (which + 1) * real],
        work.integer[which * integer : (which + 1) * integer],
        K,
        K,
        m,
    )


@kernel
def after_vectors(K: int, m: int) -> tuple[int, int]:
    """Where the rest of the scratch space begins."""
    real, integer = state_size(K, K, m)
    return 2 * real + 5 * K + nearest_scratch_size(K, K), 2 * integer


@kernel
def bend_room_of(work: Work, K: int, m: int) -> BendScratch:
    """Room for concave means."""
    b, q = after_vectors(K, m)
    return make_bend_scratch(work.real[b : b + 10 * K + 4], work.integer[q : q + 5 * K], K)


@kernel
def chain_room_of(work: Work, K: int, m: int) -> ChainScratch:
    """Room for one chain."""
    b, q = after_vectors(K, m)
    at = b + 10 * K + 4
    return make_chain_scratch(work.real[at : at + 29 * K + 24], work.integer[q + 5 * K :], K)


@kernel
def lines_of(work: Work, K: int, m: int) -> ChainRoom:
    """Room for chains."""
    b, q = after_vectors(K, m)
    c = b + 39 * K + 28
    return ChainRoom(
        chain_room_of(work, K, m),
        make_sides(work.real[c:], K, 0),
        make_sides(work.real[c:], K, 1),
        work.real[c + 18 * K + 1 : c + 20 * K + 1].reshape(2, K),
        work.integer[q + 7 * K + 2 : q + 7 * K + 3],
    )


def scratch_of(work: Work, K: int, m: int) -> tuple[Any, ...]:
    """All of it: kernels lay out what they need."""
    return state_of(work, K, m, 1), vectors_of(work, K, m), lines_of(work, K, m)


@kernel
def begin(problem: OracleProblem) -> Table:
    """The table; the box is the family's domain."""
    K = problem.mu.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    write_ends(problem.family, room.low, room.high)
    return table


@inlined
def other_side(lines: ChainRoom) -> Sides:
    """Sides with bounds of their own, beside those in `lines.sides`."""
    s = lines.inner
    chain = lines.chain
    return Sides(s.x, s.h, chain.least, chain.most, s.first, s.last, s.least, s.p, s.until)


@kernel
def region_of(table: Table, p: int, limits: Limits, room: PieceRoom) -> Region:
    """A piece within limits; no basis but the identity."""
    return Region(rows_of(table, p), limits, room.solver[:0].reshape(0, 0))


@kernel
def simplest(table: Table, family: FamilyRecord) -> FamilyRecord:
    """The family to solve for: unit Gaussian where the minimiser is the same for all."""
    if table.orders_only and family.alike:
        return unit_gaussian(family)
    return family


@apart(signed("solve"))
def solve_piece(
    problem: OracleProblem, p: int, j: int, k: int, i: int, top: int, lam: Floats
) -> float:
    """The nearest point of a piece with lam_k >= lam_j, lam_i >= lam_j, and an arm on top."""
    K = lam.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    limits = Limits(room.low, room.high, j, k, i, top)
    least = UNPROVED
    if is_chain(table, p, K):
        cost = Cost(simplest(table, problem.family), problem.mu, problem.w)
        chain_room = chain_room_of(problem.work, K, table.most_rows)
        chain = chain_at(table, p, K)
        least = minimise_on_chain(cost, chain, limits, lam, chain_room)
        if least < math.inf and not is_said(chain, lam):
            least = UNPROVED
    elif is_concave(table, p, K):
        least = solve_bent(problem, p, j, k, i, top, lam)
    if least == UNPROVED:
        least = solve_dense(problem, p, j, k, i, top, lam)
    if not (table.orders_only and problem.family.alike) or least == math.inf:
        return least
    for a in range(K):
        lam[a] = min(max(lam[a], limits.low[a]), limits.high[a])  # rounding
    leave_open_end(problem, lam)
    return last_digits(problem, region_of(table, p, limits, room), lam, room)


@apart(signed("solve"))
def solve_bent(
    problem: OracleProblem, p: int, j: int, k: int, i: int, top: int, lam: Floats
) -> float:
    """The nearest concave means; UNPROVED where there is no proof of it."""
    K = lam.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    cost = Cost(simplest(table, problem.family), problem.mu, problem.w)
    limits = Limits(room.low, room.high, j, k, i, top)
    chain = chain_room_of(problem.work, K, table.most_rows)
    bends = bend_room_of(problem.work, K, table.most_rows)
    return minimise_concave(cost, bends_at(table, p, K), p, limits, lam, chain, bends)


@apart(signed("solve"))
def solve_dense(
    problem: OracleProblem, p: int, j: int, k: int, i: int, top: int, lam: Floats
) -> float:
    """The nearest point of any polyhedron."""
    K = lam.size
    table = table_of(problem.shape, K)
    room = vectors_of(problem.work, K, table.most_rows)
    cost = Cost(simplest(table, problem.family), problem.mu, problem.w)
    region = region_of(table, p, Limits(room.low, room.high, j, k, i, top), room)
    state = state_of(problem.work, K, table.most_rows, 0)
    return minimise(cost, region, lam, state, room.solver)


@kernel
def last_digits(problem: OracleProblem, region: Region, lam: Floats, room: PieceRoom) -> float:
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


@apart(signed("keep_better"))
def keep_better(
    problem: OracleProblem, p: int, j: int, k: int, i: int, top: int, best: float, lam: Floats
) -> float:
    """Solve in a piece; if that costs less than `best`, keep it in lam. The lesser cost."""
    table = table_of(problem.shape, lam.size)
    trial = vectors_of(problem.work, lam.size, table.most_rows).trial
    cost = solve_piece(problem, p, j, k, i, top, trial)
    if cost < best:
        copy(trial, lam)
        return cost
    return best

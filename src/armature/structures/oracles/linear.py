"""Linear means: weighted least squares for Gaussian rewards, Newton's method for all others.

shape.real = an orthonormal basis of the features' column space, (K, r) by rows; then for each arm
the number of the first arm with the same features; then the features, (K, d) by rows.
shape.integer = [r, d]. In the basis the parameter is theta: lam = basis @ theta.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import total_divergence, write_ends
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.convex import minimise, nearest_of
from armature.solver.least_squares import (
    back_substitute,
    difference,
    factorise,
    ridge_of,
    write_means,
    write_ridge_bounds,
    write_tie,
)
from armature.solver.program import (
    Cost,
    Limits,
    Region,
    Rows,
    mark_infeasible,
    nearest_scratch_size,
)
from armature.solver.quadratic import State, make_state, state_size
from armature.structures.oracles.records import OracleProblem, Shape, Work


class Frame(NamedTuple):
    """A record, as kernels can't return a bare array."""

    basis: Floats  # (K, r)


@kernel
def frame_of(shape: Shape, K: int) -> Frame:
    """The basis in a structure's arrays."""
    r = shape.integer[0]
    return Frame(shape.real[: K * r].reshape(K, r))


@kernel
def twins(shape: Shape, K: int, j: int, k: int) -> bool:
    """True if j and k have the same features, so that neither is ever better."""
    at = K * shape.integer[0]
    return bool(shape.real[at + j] == shape.real[at + k])


class Solved(NamedTuple):
    """A weighted least squares fit, and the factorisation that it comes from."""

    basis: Floats  # (K, r)
    columns: Floats  # (r, K)
    right: Floats  # (K,)
    theta: Floats  # (r,)
    z: Floats  # (r,)
    means: Floats  # (K,): room for the projection
    mu: Floats  # (K,): the means and weights of the factorisation
    w: Floats
    order: Ints  # (r,)
    known: Ints  # (2,): 1 where there is a factorisation, and its rank
    rank: int


@kernel
def solved_of(work: Work, basis: Floats, K: int, r: int) -> Solved:
    """The scratch space of a fit, with no rank yet."""
    real = work.real
    a = r * K
    b = a + K + 2 * r
    return Solved(
        basis,
        real[:a].reshape(r, K),
        real[a : a + K],
        real[a + K : a + K + r],
        real[a + K + r : b],
        real[b : b + K],
        real[b + K : b + 2 * K],
        real[b + 2 * K : b + 3 * K],
        work.integer[:r],
        work.integer[r : r + 2],
        0,
    )


@kernel
def is_factorised(room: Solved, mu: Floats, w: Floats) -> bool:
    """True if the factorisation in the scratch space is the one for these means and weights."""
    if room.known[0] != 1:
        return False
    for k in range(mu.size):  # all arms before k agree
        if mu[k] != room.mu[k] or w[k] != room.w[k]:
            return False
    return True


@kernel
def least_squares(problem: OracleProblem, lam: Floats) -> Solved:
    """lam = the projection for Gaussian rewards.

    A policy asks several oracles about the same means and weights in a round: the factorisation is
    made for the first of them, and kept.
    """
    K = lam.size
    r = problem.shape.integer[0]
    basis = frame_of(problem.shape, K).basis
    room = solved_of(problem.work, basis, K, r)
    if not is_factorised(room, problem.mu, problem.w):
        copy(problem.mu, room.mu)
        copy(problem.w, room.w)
        room.known[0] = 1
        room.known[1] = factorise(
            basis, problem.mu, problem.w, room.columns, room.right, room.order
        )
    rank = room.known[1]
    theta = room.theta
    for c in range(r):
        theta[c] = room.right[c] if c < rank else 0.0
    back_substitute(room.columns, rank, theta)
    write_means(basis, room.order, theta, lam)
    return Solved(
        basis,
        room.columns,
        room.right,
        theta,
        room.z,
        room.means,
        room.mu,
        room.w,
        room.order,
        room.known,
        rank,
    )


@kernel
def tie_cost(fit: Solved, j: int, k: int, gap: float) -> float:
    """The addition to the cost when k gains `gap` on j, up to the variance."""
    if gap <= 0.0 or difference(fit.basis, fit.columns, fit.order, fit.rank, j, k, fit.z) > 0.0:
        return 0.0
    seen = 0.0
    for a in range(fit.rank):  # seen: z' z over the entries before a
        seen += fit.z[a] * fit.z[a]
    return gap * gap / (2.0 * seen)


@kernel
def tie(fit: Solved, j: int, k: int, lam: Floats) -> None:
    """Make k as good as j where it is not, at the least cost."""
    gap = lam[j] - lam[k]
    if gap > 0.0:
        write_tie(fit.basis, fit.columns, fit.order, fit.rank, j, k, gap, fit.theta, fit.z)
        write_means(fit.basis, fit.order, fit.theta, lam)
        lam[k] = max(lam[k], lam[j])  # equal but for rounding


@kernel
def constrained(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest linear means, with lam_k >= lam_j unless k = second is negative."""
    j = first
    k = second
    if k >= 0 and twins(problem.shape, lam.size, j, k):
        return mark_infeasible(lam)
    fit = least_squares(problem, lam)
    if k >= 0:
        tie(fit, j, k, lam)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """One factorisation for all challengers: O(K r^2)."""
    K = lam.size
    j = first
    shape = problem.shape
    fit = least_squares(problem, lam)
    nearest_k = -1
    least = math.inf
    for k in range(K):  # nearest_k: the cheapest before k
        if k != j and not twins(shape, K, k, j):
            cost = tie_cost(fit, j, k, lam[j] - lam[k])
            if cost < least:
                least = cost
                nearest_k = k
    tie(fit, j, nearest_k, lam)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """One factorisation for all challengers: O(K r^2)."""
    K = costs.size
    j = first
    shape = problem.shape
    means = solved_of(problem.work, frame_of(shape, K).basis, K, shape.integer[0]).means
    fit = least_squares(problem, means)
    base = total_divergence(problem.family, problem.w, problem.mu, means)
    for k in range(K):  # costs: set for the arms before k
        costs[k] = base
        if k != j and twins(shape, K, k, j):
            costs[k] = math.inf
        elif k != j:
            costs[k] += tie_cost(fit, j, k, means[j] - means[k]) / problem.family.parameter
    return base


@kernel
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """One for each other arm that is no twin."""
    n = 0
    for k in range(problem.mu.size):  # out[:n]: the cells of arms before k
        if not twins(problem.shape, problem.mu.size, first, k):
            out[n] = k
            n += 1
    return n


@kernel
def optimistic(problem: OracleProblem, level: float, out: Floats) -> float:
    """Ridge regression: x'theta + sqrt(2 v level) |x|, in the norm of the inverse Gram matrix.

    An ellipsoid about all of theta says more than a box of intervals about single arms.
    """
    K = out.size
    d = problem.shape.integer[1]
    room = solved_of(problem.work, frame_of(problem.shape, K).basis, K, problem.shape.integer[0])
    room.known[0] = 0  # the ridge regression takes its place
    at = K * problem.shape.integer[0] + K
    features = problem.shape.real[at : at + K * d].reshape(K, d)
    ridge = ridge_of(problem.work.real, features, K, d)
    write_ridge_bounds(
        ridge, problem.mu, problem.w, 1.0, math.sqrt(2.0 * problem.family.proxy * level), out
    )
    return 1.0


# For other rewards than Gaussian ones.


class NewtonScratch(NamedTuple):
    """Two states of the solver and the vectors around it."""

    state: State
    spare: State
    low: Floats  # (K,): the domain
    high: Floats
    trial: Floats
    solver: Floats
    can_beat: Ints  # (K,)
    nothing: Ints  # (1,)


@kernel
def newton_scratch_of(work: Work, K: int, r: int) -> NewtonScratch:
    """The scratch space for K arms and r features."""
    n_real, n_integer = state_size(r, K, 0)
    a = 2 * n_real
    b = 2 * n_integer
    return NewtonScratch(
        make_state(work.real[:n_real], work.integer[:n_integer], r, K, 0),
        make_state(work.real[n_real:a], work.integer[n_integer:b], r, K, 0),
        work.real[a : a + K],
        work.real[a + K : a + 2 * K],
        work.real[a + 2 * K : a + 3 * K],
        work.real[a + 3 * K : a + 3 * K + nearest_scratch_size(r, K)],
        work.integer[b : b + K],
        work.integer[b + K : b + K + 1],
    )


@kernel
def flat_of(problem: OracleProblem, j: int, k: int, room: NewtonScratch) -> Region:
    """All linear means in the domain, with lam_k >= lam_j unless k is negative."""
    room.nothing[0] = 0
    write_ends(problem.family, room.low, room.high)
    rows = Rows(room.nothing, room.nothing[:0], room.solver[:0], room.solver[:0], 0)
    limits = Limits(room.low, room.high, j, k, -1, -1)
    return Region(rows, limits, frame_of(problem.shape, room.low.size).basis)


@kernel
def newton_constrained(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest linear means, with lam_k >= lam_j unless k = second is negative."""
    K = lam.size
    j = first
    k = second
    if k >= 0 and twins(problem.shape, K, j, k):
        return mark_infeasible(lam)
    room = newton_scratch_of(problem.work, K, problem.shape.integer[0])
    cost = Cost(problem.family, problem.mu, problem.w)
    return minimise(cost, flat_of(problem, j, k, room), lam, room.state, room.solver)


@kernel
def newton_nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The least of all challengers."""
    K = lam.size
    j = first
    shape = problem.shape
    room = newton_scratch_of(problem.work, K, shape.integer[0])
    for k in range(K):
        room.can_beat[k] = 0 if twins(shape, K, j, k) else 1
    flat = flat_of(problem, -1, -1, room)
    cost = Cost(problem.family, problem.mu, problem.w)
    return nearest_of(cost, flat, j, room.can_beat, lam, room.state, room.spare, room.solver)


@kernel
def newton_challenger_costs(
    problem: OracleProblem, first: int, second: int, costs: Floats
) -> float:
    """One challenger after the other."""
    K = costs.size
    j = first
    trial = newton_scratch_of(problem.work, K, problem.shape.integer[0]).trial
    for k in range(K):
        costs[k] = newton_constrained(problem, j, k if k != j else -1, trial)
    return float(costs[j])

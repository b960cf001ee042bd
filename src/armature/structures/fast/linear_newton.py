"""Linear means with other rewards than Gaussian ones: Newton's method in the parameter."""

from __future__ import annotations

from typing import NamedTuple

from armature.families.kernels import write_ends
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.solver.convex import minimise, nearest_of
from armature.solver.quadratic import State, make_state, state_size
from armature.solver.rows import Limits, Rows
from armature.solver.workspace import fail, nearest_scratch_size
from armature.structures.fast.features import frame_of, twins
from armature.structures.oracles.records import Problem, Work


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
def scratch_of(work: Work, K: int, r: int) -> NewtonScratch:
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
def no_rows(room: NewtonScratch) -> Rows:
    """No constraints but the basis."""
    room.nothing[0] = 0
    return Rows(room.nothing, room.nothing[:0], room.solver[:0], room.solver[:0], 0)


@kernel
def constrained(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The nearest linear means, with lam_k >= lam_j unless k = second is negative."""
    K = lam.size
    j = first
    k = second
    if k >= 0 and twins(problem.shape, K, j, k):
        return fail(lam)
    room = scratch_of(problem.work, K, problem.shape.integer[0])
    write_ends(problem.family, room.low, room.high)
    limits = Limits(room.low, room.high, j, k, -1, -1)
    return minimise(
        problem.family,
        problem.mu,
        problem.w,
        no_rows(room),
        limits,
        frame_of(problem.shape, K).basis,
        lam,
        room.state,
        room.solver,
    )


@kernel
def nearest(problem: Problem, first: int, second: int, lam: Floats) -> float:
    """The least of all challengers."""
    K = lam.size
    j = first
    shape = problem.shape
    room = scratch_of(problem.work, K, shape.integer[0])
    write_ends(problem.family, room.low, room.high)
    for k in range(K):
        room.can_beat[k] = 0 if twins(shape, K, j, k) else 1
    return nearest_of(
        problem.family,
        problem.mu,
        problem.w,
        no_rows(room),
        Limits(room.low, room.high, -1, -1, -1, -1),
        j,
        room.can_beat,
        frame_of(shape, K).basis,
        lam,
        room.state,
        room.spare,
        room.solver,
    )


@kernel
def challenger_costs(problem: Problem, first: int, second: int, costs: Floats) -> float:
    """One challenger after the other."""
    K = costs.size
    j = first
    trial = scratch_of(problem.work, K, problem.shape.integer[0]).trial
    for k in range(K):
        costs[k] = constrained(problem, j, k if k != j else -1, trial)
    return float(costs[j])

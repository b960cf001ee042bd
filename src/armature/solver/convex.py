"""The nearest mean vector in a polyhedron, for every convex family.

    minimise  F(lam) = sum_i w_i d(mu_i, lam_i)    over the polyhedron of `quadratic`

For Gaussian rewards this is one quadratic program (unless an arm that has no weight would have to
move far, or the cost is next to nothing). Otherwise Newton's method: each step solves the quadratic
program of F's second-order model and goes towards its solution as far as F decreases. A weightless
arm is given a little curvature about where it is, which moves with it and so leaves no trace in the
result.

Every result is checked (`proof`): a minimiser by its multipliers, an empty polyhedron by Farkas'.
What fails the check is solved once more with 32 digits (`precise`).
"""

from __future__ import annotations

import math

from armature.families.kernels import total_divergence
from armature.kernels.apart import apart
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.newton import newton
from armature.solver.pooling import pair_cost
from armature.solver.precise_call import solve_precisely
from armature.solver.program import (
    ConvexScratch,
    Cost,
    Limits,
    Region,
    make_scratch,
    mark_infeasible,
)
from armature.solver.proof import excess, is_infeasible, is_minimum
from armature.solver.quadratic import INFEASIBLE, SOLVED, STUCK, State, copy_state, solve
from armature.solver.signatures import signed
from armature.solver.start import find_start, leave_ends, snap, start_model

LEAST_WEIGHT = 1e-17  # of an arm, relative to the heaviest, in one quadratic program
NEGLIGIBLE = 1e-9  # what is so small beside the means that it would be lost


@kernel
def floored(w: Floats, h: Floats) -> None:
    """h = the weights; a weightless arm gets a tiny one."""
    heaviest = largest(w)
    least = LEAST_WEIGHT * heaviest if heaviest > 0.0 else 1.0
    for i in range(w.size):
        h[i] = max(w[i], least)


@kernel
def is_settled(cost: Cost, lam: Floats, value: float) -> bool:
    """True if a minimiser for `floored` weights is one for the weights w, to nine digits.

    It is if the weightless arms have not moved, or if what they add to the cost is nothing beside
    a cost that is not tiny itself.
    """
    family, mu, w = cost
    heaviest = largest(w)
    light = 0.0
    for i in range(w.size):  # light: of the weightless arms before i
        if w[i] < LEAST_WEIGHT * heaviest:
            light += (lam[i] - mu[i]) * (lam[i] - mu[i])
    size = largest(mu)
    least = 1e-11 * heaviest * size * size / family.parameter
    return light == 0.0 or (
        0.5 * LEAST_WEIGHT * heaviest * light / family.parameter <= 1e-9 * value and value >= least
    )


@kernel
def confirm_quadratic(
    cost: Cost,
    region: Region,
    outcome: int,
    state: State,
    s: ConvexScratch,
    size: float,
) -> int:
    """Check what `solve` says of the Gaussian program, and solve it precisely where it is not so.

    SOLVED, INFEASIBLE, or STUCK where it took 32 digits and the state has what came of it.
    """
    if outcome == INFEASIBLE and is_infeasible(region, state, size):
        return INFEASIBLE
    mu = cost.mu
    floored(cost.w, s.h)
    value = 0.0
    for i in range(mu.size):  # value: over the arms before i
        s.g[i] = s.h[i] * (state.lam[i] - mu[i])
        value += 0.5 * s.g[i] * (state.lam[i] - mu[i])
    if outcome == SOLVED:
        reach = size + largest(state.lam)
        more = excess(region, state.lam, s.g, s.h, state, s.trial, s.model, reach)
        if is_minimum(value, more, largest(s.h), reach):
            return SOLVED
    fill(s.g, 0.0)
    outcome = solve_precisely(region, s.y, mu, s.g, s.h, state, size)
    return INFEASIBLE if outcome == INFEASIBLE else STUCK


@apart(signed("minimise"))
def minimise(cost: Cost, region: Region, lam: Floats, state: State, scratch: Floats) -> float:
    """The nearest point of the polyhedron; `scratch` takes `scratch_size` floats."""
    family, mu, w = cost
    rows = region.rows
    basis = region.basis
    s = make_scratch(scratch, state.y.size, mu.size)
    size = largest(mu)
    for i in range(mu.size):
        if not abs(mu[i]) < math.inf:
            return mark_infeasible(lam)  # what was no answer itself
    value = math.inf
    is_near = False
    if basis.shape[0] == 0 and family.gaussian:
        fill(s.g, 0.0)
        floored(w, s.h)
        start_model(basis, s.y, mu, s.g, s.h, state, s.model)
        outcome = solve(region, state, size)
        outcome = confirm_quadratic(cost, region, outcome, state, s, size)
        if outcome == INFEASIBLE:
            return mark_infeasible(lam)
        copy(state.lam, lam)
        value = total_divergence(family, w, mu, lam)
        if is_settled(cost, lam, value):
            return value
        is_near = outcome == STUCK
    if is_near:
        copy(state.y, s.y)
    else:
        if find_start(cost, region, state, s, size) == INFEASIBLE:
            return mark_infeasible(lam)
        copy(state.y, s.y)
        near = max(largest(state.lam), largest(rows.right))
        if near < NEGLIGIBLE * size and largest(rows.right) > 0.0:
            size = near  # of what is looked for: beside the means it would be nothing
        snap(region.limits, size, state.lam, lam)
        value = total_divergence(family, w, mu, lam)
        if value == math.inf:
            leave_ends(cost, region, lam, state, s, size)
            value = total_divergence(family, w, mu, lam)
            if value == math.inf:
                return value
    for digits in range(32 if is_near else 16, 33, 16):
        outcome, value = newton(cost, region, lam, value, state, s, size, digits)
        if outcome == SOLVED:
            break
    return value


@apart(signed("nearest_of"))
def nearest_of(
    cost: Cost,
    domain: Region,
    j: int,
    can_beat: Ints,
    lam: Floats,
    state: State,
    spare: State,
    scratch: Floats,
) -> float:
    """The nearest point with lam_k >= lam_j for some k with can_beat[k] = 1.

    A bound from below on what each challenger costs comes first; only those that it does not
    rule out are solved. `domain` has no pairs; `scratch` takes `nearest_scratch_size` floats.
    """
    family, mu, w = cost
    limits = domain.limits
    K = mu.size
    bound = scratch[:K]
    base = scratch[K : 2 * K]
    trial = scratch[2 * K : 3 * K]
    rest = scratch[3 * K :]
    base_cost = minimise(cost, domain, base, state, rest)
    if base_cost == math.inf:
        return mark_infeasible(lam)
    quadratic = domain.basis.shape[0] == 0 and family.gaussian
    if quadratic:
        quadratic = is_settled(cost, base, base_cost)
        floored(w, trial)
    first = -1
    for k in range(K):
        bound[k] = math.inf
        if k == j or can_beat[k] == 0:
            continue
        violated = base[j] - base[k]
        if violated <= 0.0:
            copy(base, lam)
            return base_cost
        if quadratic:
            # The projection's multipliers stay, the new constraint gets the best one for them.
            free = family.parameter * (1.0 / trial[j] + 1.0 / trial[k])
            bound[k] = base_cost + violated * violated / (2.0 * free)
        elif family.alike:
            bound[k] = max(base_cost, pair_cost(family, w[j], mu[j], w[k], mu[k]))
        else:
            bound[k] = base_cost
        if first < 0 or bound[k] < bound[first]:
            first = k
    best_cost = mark_infeasible(lam)
    if first < 0:
        return best_cost
    s = make_scratch(rest, state.y.size, K)
    for visit in range(-1, K):
        k = first if visit < 0 else visit
        if bound[k] >= best_cost or (visit == first):
            continue
        tied = Limits(limits.low, limits.high, j, k, -1, -1)
        region = Region(domain.rows, tied, domain.basis)
        settled = False
        value = math.inf
        if quadratic:
            copy_state(state, spare)
            outcome = solve(region, spare, largest(mu))
            outcome = confirm_quadratic(cost, region, outcome, spare, s, largest(mu))
            if outcome == INFEASIBLE:
                continue
            value = total_divergence(family, w, mu, spare.lam)
            copy(spare.lam, trial)
            settled = is_settled(cost, trial, value)
        if not settled:
            value = minimise(cost, region, trial, spare, rest)
        if value < best_cost:
            best_cost = value
            copy(trial, lam)
    return best_cost

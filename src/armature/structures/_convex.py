"""The nearest mean vector in a polyhedron, for every convex family.

    minimise  F(lam) = sum_i w_i d(mu_i, lam_i)    over the polyhedron of `_quadratic`

For Gaussian rewards this is one quadratic program (unless an arm that has no weight would have to
move far, or the cost is next to nothing). Otherwise Newton's method: each step solves the quadratic
program of F's second-order model and goes towards its solution as far as F decreases. A weightless
arm is given a little curvature about where it is, which moves with it and so leaves no trace in the
result.
"""

from __future__ import annotations

import math

from armature._compile import kernel
from armature.arrays import Floats, Ints
from armature.families import FamilyRecord
from armature.families.kernels import (
    curvature,
    slope,
    total_divergence,
)
from armature.structures._pooling import pair_cost
from armature.structures._quadratic import (
    SOLVED,
    Limits,
    Rows,
    State,
    copy_state,
    reset,
    solve,
)
from armature.structures.vectors import copy, diagonal, fill, largest

FLATTEST = 1e-12  # the least curvature in a model, relative to the greatest
FEATHER = 1e-17  # the weight of a weightless arm, likewise, where one quadratic program may do
CONVERGED = 1e-15  # the decrease that is still worth a step, relative to F
NOTHING = 1e-30  # a cost that counts as none, relative to the heaviest weight
NEWTON_STEPS = 200
SNAP = 1e-11  # what is so near to the end of the domain, relative to the means, is at it


@kernel
def fail(lam: Floats) -> float:
    """Nothing is feasible."""
    fill(lam, math.nan)
    return math.inf


@kernel
def floored(w: Floats, h: Floats) -> None:
    """h = w, and for a weightless arm so little that it will hardly be felt."""
    heaviest = largest(w)
    least = FEATHER * heaviest if heaviest > 0.0 else 1.0
    for i in range(w.size):
        h[i] = max(w[i], least)


@kernel
def is_settled(family: FamilyRecord, mu: Floats, w: Floats, lam: Floats, value: float) -> bool:
    """Whether a minimiser for `floored` weights is one for the weights w, to nine digits.

    It is if the weightless arms have not moved, or if what they add to the cost is nothing beside
    a cost that is not tiny itself.
    """
    heaviest = largest(w)
    light = 0.0
    for i in range(w.size):
        if w[i] < FEATHER * heaviest:
            light += (lam[i] - mu[i]) * (lam[i] - mu[i])
    size = largest(mu)
    least = 1e-11 * heaviest * size * size / family.parameter
    return light == 0.0 or (
        0.5 * FEATHER * heaviest * light / family.parameter <= 1e-9 * value and value >= least
    )


@kernel
def start_model(
    basis: Floats, y: Floats, lam: Floats, g: Floats, h: Floats, state: State, model: Floats
) -> None:
    """The program of sum_i g_i p_i + h_i p_i^2 / 2 with p = B (its y) - lam and lam = B y."""
    n = y.size
    reset(state)
    if basis.shape[0] == 0:
        diagonal(state.columns, 0.0)
        for i in range(n):
            state.y[i] = lam[i] - g[i] / h[i]
            state.columns[i, i] = 1.0 / math.sqrt(h[i])
        return
    # model = B' diag(h) B = L L', and J = inverse of L'.
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for i in range(h.size):
                total += h[i] * basis[i, a] * basis[i, b]
            for c in range(b):
                total -= model[a, c] * model[b, c]
            if a == b:
                model[a, a] = math.sqrt(total)
            else:
                model[a, b] = total / model[b, b]
    diagonal(state.columns, 0.0)
    for c in range(n):
        state.columns[c, c] = 1.0 / model[c, c]
        for a in range(c - 1, -1, -1):
            total = 0.0
            for b in range(a + 1, c + 1):
                total -= model[b, a] * state.columns[c, b]
            state.columns[c, a] = total / model[a, a]
    # The model's minimum is y - J J' B' g.
    for a in range(n):
        total = 0.0
        for i in range(g.size):
            total += basis[i, a] * g[i]
        state.vectors[0, a] = total
        state.y[a] = y[a]
    for c in range(n):
        total = 0.0
        for a in range(n):
            total += state.columns[c, a] * state.vectors[0, a]
        for a in range(n):
            state.y[a] -= total * state.columns[c, a]


@kernel
def first_margin(mu: Floats, limits: Limits) -> float:
    """How far inside of the family's domain to look for a start: a sixteenth of its size."""
    if limits.low[0] == -math.inf:
        return 0.0
    if limits.high[0] < math.inf:
        return 0.0625 * (limits.high[0] - limits.low[0])
    return 0.0625 * max(largest(mu), 1e-3)


@kernel
def aim(mu: Floats, limits: Limits, basis: Floats, state: State) -> None:
    """The program of the point nearest to mu, all arms alike."""
    n = state.y.size
    reset(state)
    diagonal(state.columns, 1.0)
    fill(state.y, 0.0)
    for i in range(mu.size):
        x = min(max(mu[i], limits.low[i]), limits.high[i])
        if basis.shape[0] == 0:
            state.y[i] = x
        else:
            for a in range(n):
                state.y[a] += basis[i, a] * x


@kernel
def longest_step(mu: Floats, w: Floats, limits: Limits, lam: Floats, target: Floats) -> float:
    """The part of the way to the target on which no arm comes ten times nearer to where F = inf."""
    step = 1.0
    for i in range(mu.size):
        move = target[i] - lam[i]
        if w[i] > 0.0 and move < 0.0 and mu[i] > limits.low[i]:
            room = lam[i] - limits.low[i]
            if -move > 0.9 * room:
                step = min(step, 0.9 * room / -move)
        elif w[i] > 0.0 and move > 0.0 and mu[i] < limits.high[i]:
            room = limits.high[i] - lam[i]
            if move > 0.9 * room:
                step = min(step, 0.9 * room / move)
    return step


@kernel
def minimise(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    lam: Floats,
    state: State,
    scratch: Floats,
) -> float:
    """The nearest point of the polyhedron; `scratch` takes 3 K + n + n^2 floats."""
    K = mu.size
    n = state.y.size
    g = scratch[:K]
    h = scratch[K : 2 * K]
    trial = scratch[2 * K : 3 * K]
    y = scratch[3 * K : 3 * K + n]
    model = scratch[3 * K + n : 3 * K + n + n * n].reshape(n, n)
    size = largest(mu)
    if basis.shape[0] == 0 and family.gaussian:
        fill(g, 0.0)
        floored(w, h)
        start_model(basis, y, mu, g, h, state, model)
        if solve(rows, limits, basis, state, size) != SOLVED:
            return fail(lam)
        copy(state.lam, lam)
        value = total_divergence(family, w, mu, lam)
        if is_settled(family, mu, w, lam, value):
            return value
    # A feasible start, as far inside of the domain as there is room for.
    margin = first_margin(mu, limits)
    for attempt in range(8):
        for i in range(K):
            g[i] = limits.low[i] + margin
            h[i] = limits.high[i] - margin
        narrowed = Limits(g, h, limits.j, limits.k, limits.i, limits.top)
        aim(mu, narrowed, basis, state)
        if solve(rows, narrowed, basis, state, size) == SOLVED:
            break
        if margin == 0.0:
            return fail(lam)
        margin = 0.0625 * margin if attempt < 6 else 0.0
    copy(state.y, y)
    for i in range(K):
        x = float(state.lam[i])
        if x <= limits.low[i] + SNAP * size:
            x = float(limits.low[i])
        elif x >= limits.high[i] - SNAP * size:
            x = float(limits.high[i])
        lam[i] = x
    value = total_divergence(family, w, mu, lam)
    if value == math.inf:
        return value
    heaviest = largest(w)
    for _ in range(NEWTON_STEPS):
        # Where F is straight, the model curves just enough to stay within reach; where F is flat,
        # just enough to be solved.
        reach = largest(mu) + largest(lam)
        for i in range(K):
            g[i] = 0.0
            h[i] = 0.0
            if w[i] > 0.0:
                g[i] = w[i] * slope(family, mu[i], lam[i])
                h[i] = w[i] * curvature(family, mu[i], lam[i])
                if reach > 0.0:
                    h[i] = max(h[i], abs(g[i]) / reach)
        steepest = largest(h)
        if steepest == 0.0:
            break
        for i in range(K):
            h[i] = max(h[i], FLATTEST * steepest)
        start_model(basis, y, lam, g, h, state, model)
        if solve(rows, limits, basis, state, size) != SOLVED:
            break
        descent = 0.0
        for i in range(K):
            descent -= g[i] * (state.lam[i] - lam[i])
        if descent <= CONVERGED * value or value <= NOTHING * heaviest:
            break
        step = longest_step(mu, w, limits, lam, state.lam)
        improved = False
        while step > 1e-12:
            for i in range(K):
                x = state.lam[i] if step == 1.0 else lam[i] + step * (state.lam[i] - lam[i])
                trial[i] = min(max(x, limits.low[i]), limits.high[i])
            trial_value = total_divergence(family, w, mu, trial)
            if trial_value <= value - 1e-4 * step * descent:
                improved = True
                break
            if trial_value < value and descent <= 1e-9 * value:
                improved = True  # so near that rounding decides
                break
            step *= 0.5
        if not improved:
            break
        value = trial_value
        copy(trial, lam)
        for a in range(n):
            y[a] += step * (state.y[a] - y[a])
    return value


@kernel
def nearest_of(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    j: int,
    can_beat: Ints,
    low: Floats,
    high: Floats,
    basis: Floats,
    lam: Floats,
    state: State,
    spare: State,
    scratch: Floats,
) -> float:
    """The nearest point with lam_k >= lam_j for some k with can_beat[k] = 1.

    A bound from below on what each challenger costs comes first; only those that it does not
    rule out are solved. `scratch` takes 5 K floats more than `minimise`'s.
    """
    K = mu.size
    bound = scratch[:K]
    base = scratch[K : 2 * K]
    trial = scratch[2 * K : 3 * K]
    rest = scratch[3 * K :]
    domain = Limits(low, high, -1, -1, -1, -1)
    base_cost = minimise(family, mu, w, rows, domain, basis, base, state, rest)
    if base_cost == math.inf:
        return fail(lam)
    quadratic = basis.shape[0] == 0 and family.gaussian
    if quadratic:
        quadratic = is_settled(family, mu, w, base, base_cost)
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
        else:
            bound[k] = max(base_cost, pair_cost(family, w[j], mu[j], w[k], mu[k]))
        if first < 0 or bound[k] < bound[first]:
            first = k
    best_cost = fail(lam)
    if first < 0:
        return best_cost
    for visit in range(-1, K):
        k = first if visit < 0 else visit
        if bound[k] >= best_cost or (visit == first):
            continue
        limits = Limits(low, high, j, k, -1, -1)
        if quadratic:
            copy_state(state, spare)
            if solve(rows, limits, basis, spare, largest(mu)) != SOLVED:
                continue
            cost = total_divergence(family, w, mu, spare.lam)
            copy(spare.lam, trial)
        if not quadratic or not is_settled(family, mu, w, trial, cost):
            cost = minimise(family, mu, w, rows, limits, basis, trial, spare, rest)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost

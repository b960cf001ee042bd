"""The nearest mean vector in a polyhedron, for every convex family.

    minimise  F(lam) = sum_i w_i d(mu_i, lam_i)    over the polyhedron of `_quadratic`

For Gaussian rewards this is one quadratic program (unless an arm that has no weight would have to
move far, or the cost is next to nothing). Otherwise Newton's method: each step solves the quadratic
program of F's second-order model and goes towards its solution as far as F decreases. A weightless
arm is given a little curvature about where it is, which moves with it and so leaves no trace in the
result.

Every result is checked (`_proof`): a minimiser by its multipliers, an empty polyhedron by Farkas'.
What fails the check is solved once more with 32 digits (`_precise`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature._compile import inlined, kernel
from armature.arrays import Floats, Ints
from armature.families import FamilyRecord
from armature.families.kernels import (
    curvature,
    divergence,
    of_arm,
    slope,
    total_divergence,
)
from armature.structures._pooling import pair_cost
from armature.structures._precise_call import solve_precisely
from armature.structures._proof import excess, is_infeasible, is_minimum
from armature.structures._quadratic import (
    INFEASIBLE,
    SOLVED,
    STUCK,
    Limits,
    Rows,
    State,
    copy_state,
    reset,
    slack,
    solve,
    write_means,
)
from armature.structures.vectors import copy, diagonal, fill, largest

FLATTEST = 1e-12  # the least curvature in a model, relative to the greatest
UNEVEN = 1e-10  # curvatures, likewise, that the factor of a Hessian has digits for
FEATHER = 1e-17  # the weight of a weightless arm, likewise, where one quadratic program may do
OUT_OF_SIGHT = 1e-9  # what is so small beside the means that it would be lost
KEPT = 1e-11  # how far a minimum may miss a constraint that it is on, relative to the means
CONVERGED = 1e-15  # the decrease that is still worth a step, relative to F
NOTHING = 1e-30  # a cost that counts as none, relative to the heaviest weight
NEWTON_STEPS = 200
FAR = 1e3  # how far an arm is sent away from an end of the domain, relative to the means
PRECISELY_FLATTEST = 1e-26  # FLATTEST for programs with 32 digits, after some steps
STRAIGHTEST = 1e-6  # how little a model may curve, relative to what keeps it within reach
SNAP = 1e-11  # what is so near to the end of the domain, relative to the means, is at it


class Scratch(NamedTuple):
    """Room for `minimise`."""

    g: Floats  # (K,)
    h: Floats  # (K,)
    trial: Floats  # (K,)
    low: Floats  # (K,)
    high: Floats  # (K,)
    y: Floats  # (n,)
    model: Floats  # (n, n)


@kernel
def scratch_size(n: int, K: int) -> int:
    """How many floats `minimise` takes besides its state."""
    return 5 * K + n + n * n


@kernel
def nearest_scratch_size(n: int, K: int) -> int:
    """How many floats `nearest_of` takes besides its states."""
    return 3 * K + (5 * K + n + n * n)


@kernel
def make_scratch(real: Floats, n: int, K: int) -> Scratch:
    """Lay the room over scratch space."""
    return Scratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[4 * K : 5 * K],
        real[5 * K : 5 * K + n],
        real[5 * K + n : 5 * K + n + n * n].reshape(n, n),
    )


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
def first_margin(family: FamilyRecord, mu: Floats, limits: Limits) -> float:
    """How far inside of the family's domain to look for a start: a sixteenth of its size."""
    if family.low == -math.inf:
        return 0.0
    widest = 0.0
    for i in range(mu.size):
        widest = max(widest, limits.high[i] - limits.low[i])
    if widest < math.inf:
        return 0.0625 * widest
    return 0.0625 * max(largest(mu), 1e-3)


@kernel
def narrow(family: FamilyRecord, limits: Limits, margin: float, s: Scratch) -> Limits:
    """The limits, and a margin from the ends of the domain (a quarter of the room at most)."""
    for i in range(s.low.size):
        own = min(margin, 0.25 * (limits.high[i] - limits.low[i]))
        s.low[i] = limits.low[i]
        s.high[i] = limits.high[i]
        arm = of_arm(family, i)
        if limits.low[i] <= arm.low:
            s.low[i] += own
        if limits.high[i] >= arm.high:
            s.high[i] -= own
    return Limits(s.low, s.high, limits.j, limits.k, limits.i, limits.top)


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
def aim_far(lam: Floats, arm: int, way: float, basis: Floats, state: State) -> None:
    """The program of the point nearest to lam, from which an arm goes a long way."""
    reset(state)
    diagonal(state.columns, 1.0)
    fill(state.y, 0.0)
    for i in range(lam.size):
        x = lam[i] + (way if i == arm else 0.0)
        if basis.shape[0] == 0:
            state.y[i] = x
        else:
            for a in range(state.y.size):
                state.y[a] += basis[i, a] * x


@kernel
def repeat_precisely(
    rows: Rows, limits: Limits, basis: Floats, state: State, s: Scratch, size: float
) -> int:
    """Solve what `aim` or `aim_far` has set up with 32 digits."""
    fill(s.g, 0.0)
    fill(s.h, 1.0)
    copy(state.y, s.y)
    if basis.shape[0] == 0:
        copy(state.y, s.trial)
    return solve_precisely(rows, limits, basis, s.y, s.trial, s.g, s.h, state, size)


@inlined
def longest_step(family: FamilyRecord, mu: Floats, w: Floats, lam: Floats, target: Floats) -> float:
    """The part of the way to the target on which no arm comes ten times nearer to where F = inf."""
    step = 1.0
    for i in range(mu.size):
        arm = of_arm(family, i)
        low = arm.low
        high = arm.high
        move = target[i] - lam[i]
        if w[i] > 0.0 and move < 0.0 and mu[i] > low:
            room = lam[i] - low
            if -move > 0.9 * room:
                step = min(step, 0.9 * room / -move)
        elif w[i] > 0.0 and move > 0.0 and mu[i] < high:
            room = high - lam[i]
            if move > 0.9 * room:
                step = min(step, 0.9 * room / move)
    return step


@kernel
def confirm_quadratic(
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    outcome: int,
    state: State,
    s: Scratch,
    size: float,
) -> int:
    """Check what `solve` says of the Gaussian program, and solve it precisely where it is not so.

    SOLVED, INFEASIBLE, or STUCK where it took 32 digits and the state has what came of it.
    """
    if outcome == INFEASIBLE and is_infeasible(rows, limits, basis, state, size):
        return INFEASIBLE
    floored(w, s.h)
    value = 0.0
    for i in range(mu.size):
        s.g[i] = s.h[i] * (state.lam[i] - mu[i])
        value += 0.5 * s.g[i] * (state.lam[i] - mu[i])
    if outcome == SOLVED:
        reach = size + largest(state.lam)
        more = excess(rows, limits, basis, state.lam, s.g, s.h, state, s.trial, s.model, reach)
        if is_minimum(value, more, largest(s.h), reach):
            return SOLVED
    fill(s.g, 0.0)
    outcome = solve_precisely(rows, limits, basis, s.y, mu, s.g, s.h, state, size)
    return INFEASIBLE if outcome == INFEASIBLE else STUCK


@kernel
def snap(limits: Limits, size: float, means: Floats, lam: Floats) -> None:
    """lam = means, with those at the end of the domain that are there up to rounding."""
    for i in range(lam.size):
        x = float(means[i])
        if x <= limits.low[i] + SNAP * size:
            x = float(limits.low[i])
        elif x >= limits.high[i] - SNAP * size:
            x = float(limits.high[i])
        lam[i] = x


@kernel
def are_kept(rows: Rows, limits: Limits, state: State, size: float) -> bool:
    """Whether the active constraints hold where `solve` has stopped, which rounding may undo."""
    tolerance = KEPT * max(size, largest(state.lam))
    for c in range(state.length[0]):
        if not abs(slack(rows, limits, state.lam, state.active[c])) <= tolerance:
            return False
    return True


@kernel
def find_start(
    family: FamilyRecord,
    mu: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    state: State,
    s: Scratch,
    size: float,
) -> int:
    """A feasible point, as far inside of the domain as there is room for."""
    margin = first_margin(family, mu, limits)
    for attempt in range(8):
        narrowed = narrow(family, limits, margin, s)
        aim(mu, narrowed, basis, state)
        outcome = solve(rows, narrowed, basis, state, size)
        if outcome == SOLVED:
            return SOLVED
        if margin == 0.0:
            if outcome == INFEASIBLE and is_infeasible(rows, limits, basis, state, size):
                return INFEASIBLE
            aim(mu, narrowed, basis, state)
            return repeat_precisely(rows, limits, basis, state, s, size)
        margin = 0.0625 * margin if attempt < 6 else 0.0
    return STUCK


@kernel
def leave_ends(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    lam: Floats,
    state: State,
    s: Scratch,
    size: float,
) -> None:
    """Go from the feasible lam = B y to one at which F is finite, if there is one.

    For each arm at an end of the domain where F = inf, a point that is as far from there as the
    others let it; then the middle of them all.
    """
    # `repeat_precisely` writes to s.y: the middle is gathered in s.model's first row.
    middle = s.model[0]
    copy(s.y, middle)
    count = 1.0
    for k in range(mu.size):
        arm = of_arm(family, k)
        if w[k] > 0.0 and divergence(arm, mu[k], lam[k]) == math.inf:
            way = FAR * size if lam[k] < arm.high else -FAR * size
            for attempt in range(4):
                aim_far(lam, k, way, basis, state)
                outcome = repeat_precisely(rows, limits, basis, state, s, size)
                scale = max(size, largest(state.lam))
                is_away = outcome == SOLVED and abs(state.lam[k] - lam[k]) > SNAP * scale
                if is_away or attempt == 3:
                    break
                way *= FAR
            if not is_away:
                return  # it has to be there
            count += 1.0
            for a in range(middle.size):
                middle[a] += (state.y[a] - middle[a]) / count
    copy(middle, s.y)
    write_means(basis, s.y, s.trial)
    snap(limits, size, s.trial, lam)


@inlined
def write_model(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    lam: Floats,
    straightest: float,
    flattest: float,
    s: Scratch,
) -> float:
    """The gradient and the curvatures of F's model at lam; the greatest curvature.

    Where F is straight, the model curves just enough to stay within reach (or `straightest` times
    that); where F is flat, just enough to be solved.
    """
    reach = largest(mu) + largest(lam)
    for i in range(mu.size):
        s.g[i] = 0.0
        s.h[i] = 0.0
        if w[i] > 0.0:
            arm = of_arm(family, i)
            s.g[i] = w[i] * slope(arm, mu[i], lam[i])
            s.h[i] = w[i] * curvature(arm, mu[i], lam[i])
            if reach > 0.0:
                s.h[i] = max(s.h[i], straightest * abs(s.g[i]) / reach)
    steepest = largest(s.h)
    for i in range(mu.size):
        s.h[i] = max(s.h[i], flattest * steepest)
    return steepest


@inlined
def search_line(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    limits: Limits,
    lam: Floats,
    value: float,
    descent: float,
    target: Floats,
    trial: Floats,
) -> tuple[float, float]:
    """How far to go towards the target, 0 if there is nothing to gain, and F there, at `trial`."""
    step = longest_step(family, mu, w, lam, target)
    while step > 1e-12:
        for i in range(mu.size):
            x = target[i] if step == 1.0 else lam[i] + step * (target[i] - lam[i])
            trial[i] = min(max(x, limits.low[i]), limits.high[i])
        trial_value = total_divergence(family, w, mu, trial)
        if trial_value <= value - 1e-4 * step * descent:
            return step, trial_value
        if trial_value < value and descent <= 1e-9 * value:
            return step, trial_value  # so near that rounding decides
        step *= 0.5
    return 0.0, value


@inlined
def promise(g: Floats, target: Floats, lam: Floats) -> float:
    """How much F would descend from lam to the target if it were straight: no less than it does."""
    descent = 0.0
    for i in range(g.size):
        descent -= g[i] * (target[i] - lam[i])
    return descent


@inlined
def is_bent(w: Floats, s: Scratch, straightest: float) -> bool:
    """Whether a model had to curve where F, with gradient g and curvatures h, hardly does, or
    could hardly see that it does.
    """
    steepest = 0.0
    for i in range(w.size):
        steepest = max(steepest, max(s.h[i], straightest * abs(s.g[i])))
    for i in range(w.size):
        if w[i] > 0.0 and max(straightest * abs(s.g[i]), UNEVEN * steepest) > 2.0 * s.h[i]:
            return True
    return False


@kernel
def is_confirmed(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    lam: Floats,
    value: float,
    descent: float,
    straightest: float,
    state: State,
    s: Scratch,
) -> bool:
    """Whether the state's multipliers prove the minimum.

    They belong to the minimum of a model, where the bound that they give is best. With a basis, the
    model's curvatures must be F's.
    """
    last = s.low
    for i in range(mu.size):
        last[i] = min(max(state.lam[i], limits.low[i]), limits.high[i])
    for i in range(mu.size):
        arm = of_arm(family, i)
        s.g[i] = w[i] * slope(arm, mu[i], last[i]) if w[i] > 0.0 else 0.0
        s.h[i] = w[i] * curvature(arm, mu[i], last[i]) if w[i] > 0.0 else 0.0
    reach = largest(mu) + largest(lam)
    if basis.shape[0] > 0 and is_bent(w, s, straightest / reach if straightest == 1.0 else 0.0):
        return False
    more = excess(rows, limits, basis, last, s.g, s.h, state, s.trial, s.model, reach)
    return is_minimum(value, more + max(descent, 0.0), largest(s.h), reach)


@kernel
def newton(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    basis: Floats,
    lam: Floats,
    value: float,
    state: State,
    s: Scratch,
    size: float,
    digits: int,
) -> tuple[int, float]:
    """Newton's method from the feasible lam = B y, where F is finite: what came of it, and F there.

    With 16 digits, SOLVED is proved. Where F is straight, its last model was not, and its
    multipliers may prove too little: then those of a model that is nearly straight are tried.
    """
    heaviest = largest(w)
    straightest = 1.0 if digits == 16 else STRAIGHTEST
    flattest = FLATTEST if digits == 16 else 1e-20
    is_over = False
    for _ in range(NEWTON_STEPS):
        if write_model(family, mu, w, lam, straightest, flattest, s) == 0.0:
            return SOLVED, value
        if digits == 16:
            start_model(basis, s.y, lam, s.g, s.h, state, s.model)
            outcome = solve(rows, limits, basis, state, size)
        else:
            outcome = solve_precisely(rows, limits, basis, s.y, lam, s.g, s.h, state, size)
            flattest = max(0.1 * flattest, PRECISELY_FLATTEST)
        descent = promise(s.g, state.lam, lam)
        if outcome != SOLVED or math.isnan(descent):
            return STUCK, value
        reach = max(size, largest(lam))
        if digits != 16 and basis.shape[0] == 0 and not are_kept(rows, limits, state, reach):
            continue  # another curvature of what is flat has other digits
        is_last = is_over or descent <= CONVERGED * value or value <= NOTHING * heaviest
        if not is_last:
            step, value = search_line(
                family, mu, w, limits, lam, value, descent, state.lam, s.trial
            )
            is_last = step == 0.0
            if not is_last:
                copy(s.trial, lam)
                for a in range(s.y.size):
                    s.y[a] += step * (state.y[a] - s.y[a])
        if is_last:
            if digits != 16 or value <= NOTHING * heaviest:
                return SOLVED, value
            if is_confirmed(
                family, mu, w, rows, limits, basis, lam, value, descent, straightest, state, s
            ):
                return SOLVED, value
            if is_over:
                return STUCK, value
            is_over = True
            straightest = STRAIGHTEST
    return STUCK, value


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
    """The nearest point of the polyhedron; `scratch` takes `scratch_size` floats."""
    s = make_scratch(scratch, state.y.size, mu.size)
    size = largest(mu)
    for i in range(mu.size):
        if not abs(mu[i]) < math.inf:
            return fail(lam)  # what was no answer itself
    value = math.inf
    is_near = False
    if basis.shape[0] == 0 and family.gaussian:
        fill(s.g, 0.0)
        floored(w, s.h)
        start_model(basis, s.y, mu, s.g, s.h, state, s.model)
        outcome = solve(rows, limits, basis, state, size)
        outcome = confirm_quadratic(mu, w, rows, limits, basis, outcome, state, s, size)
        if outcome == INFEASIBLE:
            return fail(lam)
        copy(state.lam, lam)
        value = total_divergence(family, w, mu, lam)
        if is_settled(family, mu, w, lam, value):
            return value
        is_near = outcome == STUCK
    if is_near:
        copy(state.y, s.y)
    else:
        if find_start(family, mu, rows, limits, basis, state, s, size) == INFEASIBLE:
            return fail(lam)
        copy(state.y, s.y)
        near = max(largest(state.lam), largest(rows.right))
        if near < OUT_OF_SIGHT * size and largest(rows.right) > 0.0:
            size = near  # of what is looked for: beside the means it would be nothing
        snap(limits, size, state.lam, lam)
        value = total_divergence(family, w, mu, lam)
        if value == math.inf:
            leave_ends(family, mu, w, rows, limits, basis, lam, state, s, size)
            value = total_divergence(family, w, mu, lam)
            if value == math.inf:
                return value
    for digits in range(32 if is_near else 16, 33, 16):
        outcome, value = newton(
            family, mu, w, rows, limits, basis, lam, value, state, s, size, digits
        )
        if outcome == SOLVED:
            break
    return value


@kernel
def nearest_of(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    rows: Rows,
    domain: Limits,
    j: int,
    can_beat: Ints,
    basis: Floats,
    lam: Floats,
    state: State,
    spare: State,
    scratch: Floats,
) -> float:
    """The nearest point with lam_k >= lam_j for some k with can_beat[k] = 1.

    A bound from below on what each challenger costs comes first; only those that it does not
    rule out are solved. `domain` has no pairs; `scratch` takes `nearest_scratch_size` floats.
    """
    K = mu.size
    bound = scratch[:K]
    base = scratch[K : 2 * K]
    trial = scratch[2 * K : 3 * K]
    rest = scratch[3 * K :]
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
        elif family.alike:
            bound[k] = max(base_cost, pair_cost(family, w[j], mu[j], w[k], mu[k]))
        else:
            bound[k] = base_cost
        if first < 0 or bound[k] < bound[first]:
            first = k
    best_cost = fail(lam)
    if first < 0:
        return best_cost
    s = make_scratch(rest, state.y.size, K)
    for visit in range(-1, K):
        k = first if visit < 0 else visit
        if bound[k] >= best_cost or (visit == first):
            continue
        limits = Limits(domain.low, domain.high, j, k, -1, -1)
        settled = False
        cost = math.inf
        if quadratic:
            copy_state(state, spare)
            outcome = solve(rows, limits, basis, spare, largest(mu))
            outcome = confirm_quadratic(mu, w, rows, limits, basis, outcome, spare, s, largest(mu))
            if outcome == INFEASIBLE:
                continue
            cost = total_divergence(family, w, mu, spare.lam)
            copy(spare.lam, trial)
            settled = is_settled(family, mu, w, trial, cost)
        if not settled:
            cost = minimise(family, mu, w, rows, limits, basis, trial, spare, rest)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost

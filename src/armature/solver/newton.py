"""Newton's method for the dense convex programs of `convex`: a quadratic program a step."""

from __future__ import annotations

import math

from armature.families.kernels import curvature, of_arm, slope, total_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, largest
from armature.solver.precise_call import solve_precisely
from armature.solver.program import ConvexScratch, Cost, Limits, Region
from armature.solver.proof import excess, is_minimum
from armature.solver.quadratic import SOLVED, STUCK, State, solve
from armature.solver.start import are_kept, start_model

FLATTEST = 1e-12  # the least curvature in a model, relative to the greatest
UNEVEN = 1e-10  # curvatures, likewise, that the factor of a Hessian has digits for
CONVERGED = 1e-15  # the decrease that is still worth a step, relative to F
NOTHING = 1e-30  # a cost that counts as none, relative to the heaviest weight
NEWTON_STEPS = 200
PRECISELY_FLATTEST = 1e-26  # FLATTEST for programs with 32 digits, after some steps
HELD = 1e-18  # the least curvature for a weightless arm
LESS_FLAT = 1e3  # how much more what is flat curves where the digits were not enough
STRAIGHTEST = 1e-6  # how little a model may curve, relative to what keeps it within reach


@inlined
def longest_step(cost: Cost, lam: Floats, target: Floats) -> float:
    """The part of the way to the target on which no arm comes ten times nearer to where F = inf."""
    family, mu, w = cost
    step = 1.0
    for i in range(mu.size):  # step: safe for the arms before i
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


@inlined
def write_model(
    cost: Cost,
    lam: Floats,
    straightest: float,
    flattest: float,
    weightless: float,
    s: ConvexScratch,
) -> float:
    """The gradient and the curvatures of F's model at lam; the greatest curvature.

    Where F is straight, the model curves just enough to stay within reach (or `straightest` times
    that); where F is flat, just enough to be solved; so much where an arm has no weight.
    """
    family, mu, w = cost
    reach = largest(mu) + largest(lam)
    for i in range(mu.size):  # g, h: set for the arms before i
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
        s.h[i] = max(s.h[i], (flattest if w[i] > 0.0 else weightless) * steepest)
    return steepest


@inlined
def search_line(
    cost: Cost,
    limits: Limits,
    lam: Floats,
    value: float,
    descent: float,
    target: Floats,
    trial: Floats,
) -> tuple[float, float]:
    """The step towards the target, 0 if there is nothing to gain, and F there, at `trial`."""
    family, mu, w = cost
    step = longest_step(cost, lam, target)
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
    """The descent of F from lam to the target if it were straight: no less than it is."""
    descent = 0.0
    for i in range(g.size):  # descent: over the arms before i
        descent -= g[i] * (target[i] - lam[i])
    return descent


@inlined
def is_bent(w: Floats, s: ConvexScratch, straightest: float) -> bool:
    """True if a model had to curve where F, with gradient g and curvatures h, hardly does, or
    could hardly see that it does.
    """
    steepest = 0.0
    for i in range(w.size):  # steepest: of the arms before i
        steepest = max(steepest, max(s.h[i], straightest * abs(s.g[i])))
    for i in range(w.size):
        if w[i] > 0.0 and max(straightest * abs(s.g[i]), UNEVEN * steepest) > 2.0 * s.h[i]:
            return True
    return False


@kernel
def is_confirmed(
    cost: Cost,
    region: Region,
    lam: Floats,
    value: float,
    descent: float,
    straightest: float,
    state: State,
    s: ConvexScratch,
) -> bool:
    """True if the state's multipliers prove the minimum.

    They belong to the minimum of a model, where the bound that they give is best. With a basis, the
    model's curvatures must be F's.
    """
    family, mu, w = cost
    last = s.low
    for i in range(mu.size):
        last[i] = min(max(state.lam[i], region.limits.low[i]), region.limits.high[i])
    for i in range(mu.size):  # g, h at `last`: set for the arms before i
        arm = of_arm(family, i)
        s.g[i] = w[i] * slope(arm, mu[i], last[i]) if w[i] > 0.0 else 0.0
        s.h[i] = w[i] * curvature(arm, mu[i], last[i]) if w[i] > 0.0 else 0.0
    reach = largest(mu) + largest(lam)
    has_basis = region.basis.shape[0] > 0
    if has_basis and is_bent(w, s, straightest / reach if straightest == 1.0 else 0.0):
        return False
    more = excess(region, last, s.g, s.h, state, s.trial, s.model, reach)
    return is_minimum(value, more + max(descent, 0.0), largest(s.h), reach)


@kernel
def newton(
    cost: Cost,
    region: Region,
    lam: Floats,
    value: float,
    state: State,
    s: ConvexScratch,
    size: float,
    digits: int,
) -> tuple[int, float]:
    """Newton's method from the feasible lam = B y, where F is finite: what came of it, and F there.

    With 16 digits, SOLVED is proved. Where F is straight, its last model was not, and its
    multipliers may prove too little: then those of a model that is nearly straight are tried.
    """
    basis = region.basis
    heaviest = largest(cost.w)
    straightest = 1.0 if digits == 16 else STRAIGHTEST
    flattest = FLATTEST if digits == 16 else 1e-20
    is_over = False
    for _ in range(NEWTON_STEPS):
        # Rounding, of a gradient or of rows, would send a weightless arm far away.
        weightless = max(flattest, HELD)
        if write_model(cost, lam, straightest, flattest, weightless, s) == 0.0:
            return SOLVED, value
        if digits == 16:
            start_model(basis, s.y, lam, s.g, s.h, state, s.model)
            outcome = solve(region, state, size)
        else:
            outcome = solve_precisely(region, s.y, lam, s.g, s.h, state, size)
            flattest = max(0.1 * flattest, PRECISELY_FLATTEST)
        descent = promise(s.g, state.lam, lam)
        is_lost = outcome != SOLVED or math.isnan(descent)
        if is_lost and (digits == 16 or basis.shape[0] > 0 or flattest >= FLATTEST):
            return STUCK, value
        reach = max(size, largest(lam))
        if digits != 16 and basis.shape[0] == 0:
            if is_lost or not are_kept(region, state, reach):
                flattest = min(LESS_FLAT * flattest, FLATTEST)  # which takes fewer of the digits
                continue
        is_last = is_over or descent <= CONVERGED * value or value <= NOTHING * heaviest
        if not is_last:
            step, value = search_line(cost, region.limits, lam, value, descent, state.lam, s.trial)
            is_last = step == 0.0
            if not is_last:
                copy(s.trial, lam)
                for a in range(s.y.size):
                    s.y[a] += step * (state.y[a] - s.y[a])
        if is_last:
            if digits != 16 or value <= NOTHING * heaviest:
                return SOLVED, value
            if is_confirmed(cost, region, lam, value, descent, straightest, state, s):
                return SOLVED, value
            if is_over:
                return STUCK, value
            is_over = True
            straightest = STRAIGHTEST
    return STUCK, value

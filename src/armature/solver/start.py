"""A start for the dense convex programs of `convex`: a feasible point inside the domain."""

from __future__ import annotations

import math

from armature.families import FamilyRecord
from armature.families.kernels import divergence, of_arm
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, diagonal, fill, largest
from armature.solver.precise_call import solve_precisely
from armature.solver.program import ConvexScratch, Cost, Limits, Region, slack, write_means
from armature.solver.proof import is_infeasible
from armature.solver.quadratic import INFEASIBLE, SOLVED, STUCK, State, reset, solve

KEPT = 1e-11  # how far a minimum may miss a constraint that it is on, relative to the means
FAR = 1e3  # how far an arm is sent away from an end of the domain, relative to the means
SNAP = 1e-11  # what is so near to the end of the domain, relative to the means, is at it


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
    """The distance from the ends of the domain at which to start: a sixteenth of its size."""
    if family.low == -math.inf:
        return 0.0
    widest = 0.0
    for i in range(mu.size):  # widest: of the arms before i
        widest = max(widest, limits.high[i] - limits.low[i])
    if widest < math.inf:
        return 0.0625 * widest
    return 0.0625 * max(largest(mu), 1e-3)


@kernel
def narrow(family: FamilyRecord, limits: Limits, margin: float, s: ConvexScratch) -> Limits:
    """The limits, and a margin from the ends of the domain (a quarter of the room at most)."""
    for i in range(s.low.size):  # low, high: set for the arms before i
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
def aim(mu: Floats, region: Region, state: State) -> None:
    """The program of the point nearest to mu, all arms alike."""
    limits = region.limits
    basis = region.basis
    n = state.y.size
    reset(state)
    diagonal(state.columns, 1.0)
    fill(state.y, 0.0)
    for i in range(mu.size):  # y: B' x over the arms before i
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
    for i in range(lam.size):  # y: B' x over the arms before i
        x = lam[i] + (way if i == arm else 0.0)
        if basis.shape[0] == 0:
            state.y[i] = x
        else:
            for a in range(state.y.size):
                state.y[a] += basis[i, a] * x


@kernel
def repeat_precisely(region: Region, state: State, s: ConvexScratch, size: float) -> int:
    """Solve what `aim` or `aim_far` has set up with 32 digits."""
    fill(s.g, 0.0)
    fill(s.h, 1.0)
    copy(state.y, s.y)
    if region.basis.shape[0] == 0:
        copy(state.y, s.trial)
    return solve_precisely(region, s.y, s.trial, s.g, s.h, state, size)


@kernel
def snap(limits: Limits, size: float, means: Floats, lam: Floats) -> None:
    """lam = means, with those at the end of the domain that are there up to rounding."""
    for i in range(lam.size):  # lam: set for the arms before i
        x = float(means[i])
        if x <= limits.low[i] + SNAP * size:
            x = float(limits.low[i])
        elif x >= limits.high[i] - SNAP * size:
            x = float(limits.high[i])
        lam[i] = x


@kernel
def are_kept(region: Region, state: State, size: float) -> bool:
    """True if the active constraints hold where `solve` has stopped, which rounding may undo."""
    tolerance = KEPT * max(size, largest(state.lam))
    for c in range(state.length[0]):
        if not abs(slack(region, state.lam, state.active[c])) <= tolerance:
            return False
    return True


@kernel
def find_start(cost: Cost, region: Region, state: State, s: ConvexScratch, size: float) -> int:
    """A feasible point, as far inside of the domain as there is room for."""
    family = cost.family
    mu = cost.mu
    margin = first_margin(family, mu, region.limits)
    for attempt in range(8):  # none was found at a larger margin
        narrowed = Region(region.rows, narrow(family, region.limits, margin, s), region.basis)
        aim(mu, narrowed, state)
        outcome = solve(narrowed, state, size)
        if outcome == SOLVED:
            return SOLVED
        if margin == 0.0:
            if outcome == INFEASIBLE and is_infeasible(region, state, size):
                return INFEASIBLE
            aim(mu, narrowed, state)
            return repeat_precisely(region, state, s, size)
        margin = 0.0625 * margin if attempt < 6 else 0.0
    return STUCK


@kernel
def leave_ends(
    cost: Cost, region: Region, lam: Floats, state: State, s: ConvexScratch, size: float
) -> None:
    """Go from the feasible lam = B y to one at which F is finite, if there is one.

    For each arm at an end of the domain where F = inf, a point that is as far from there as the
    others let it; then the middle of them all.
    """
    family, mu, w = cost
    # `repeat_precisely` writes to s.y: the middle is gathered in s.model's first row.
    middle = s.model[0]
    copy(s.y, middle)
    count = 1.0
    for k in range(mu.size):
        arm = of_arm(family, k)
        if w[k] > 0.0 and divergence(arm, mu[k], lam[k]) == math.inf:
            way = FAR * size if lam[k] < arm.high else -FAR * size
            for attempt in range(4):
                aim_far(lam, k, way, region.basis, state)
                outcome = repeat_precisely(region, state, s, size)
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
    write_means(region.basis, s.y, s.trial)
    snap(region.limits, size, s.trial, lam)

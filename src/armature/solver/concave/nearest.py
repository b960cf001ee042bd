"""The nearest concave means, for every convex family, with a proof.

    minimise  sum_i w_i d(mu_i, lam_i)    over the lam that are concave along a line, between two
                                          bounds, with lam_k >= lam_j for one pair of arms

For Gaussian rewards that is one problem of squared distances (`knots`), for others Newton's method,
each step such a problem about where it is. The answer is checked by its multipliers: by convexity
no concave means cost less by more than what their residuals allow.
"""

from __future__ import annotations

import math

from armature.families.kernels import of_arm, total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, largest
from armature.solver.chains.limits import UNPROVED
from armature.solver.chains.nearest import (
    FLATTEST,
    NEWTON_STEPS,
    STRAIGHTEST,
    ChainScratch,
    cost_at,
    go,
    scale_of,
    write_slopes,
)
from armature.solver.concave.knots import (
    Bends,
    BendScratch,
    LineTask,
    forget_knots,
    nearest_bends,
    write_moments,
)
from armature.solver.program import Cost, Limits, mark_infeasible
from armature.solver.proof import is_minimum

LIGHTEST = 1e-13  # of a weightless arm's curvature, about where it is
CERTAIN = 1.0 - 1e-9  # of a cost: the rest may be rounding
FEASIBLE = 1e-12  # how far means may be beyond a bound, relative to their size


@kernel
def residual_gap(
    bends: Bends, task: LineTask, m: int, nu: float, reach: float, s: ChainScratch, b: BendScratch
) -> float:
    """By how much the cost at lam may exceed the minimum, where it has the gradient g.

    The multipliers are those of the knots in b, and of the pair.
    """
    position = bends.position
    K = position.size
    copy(s.g, b.force)
    if task.i >= 0:
        b.force[task.i] -= nu
        b.force[task.j] += nu
    write_moments(position, m, b)
    gap = 0.0
    before = 0.0  # how the moment rises to k
    for k in range(K):  # gap: that of the arms before k
        after = 0.0
        here = max(b.moment[k], 0.0)
        if k < K - 1:
            after = (max(b.moment[k + 1], 0.0) - here) / (position[k + 1] - position[k])
        wrong = b.force[k] + after - before
        if b.held[k] * wrong < 0.0:
            wrong = 0.0  # the bound's multiplier
        if wrong != 0.0:
            gap += abs(wrong) * (min(abs(wrong) / s.h[k], reach) if s.h[k] > 0.0 else reach)
        if here > 0.0:
            bend = (s.lam[k + 1] - s.lam[k]) / (position[k + 1] - position[k])
            bend -= (s.lam[k] - s.lam[k - 1]) / (position[k] - position[k - 1])
            gap += here * abs(bend)
        before = after
    return gap


@kernel
def set_model(task: LineTask, reach: float, s: ChainScratch) -> None:
    """h, x = the cost's model at lam, which has g and h there."""
    for i in range(s.lam.size):
        if s.g[i] != 0.0 and s.h[i] >= 0.0:
            least = STRAIGHTEST * abs(s.g[i]) / reach if reach > 0.0 else 0.0
            s.h[i] = max(s.h[i], least, FLATTEST * task.steepest)
        else:
            s.h[i] = max(s.h[i], LIGHTEST * task.steepest)
        s.x[i] = s.lam[i] - s.g[i] / s.h[i]


@kernel
def start(
    cost: Cost, bends: Bends, task: LineTask, s: ChainScratch, b: BendScratch
) -> tuple[float, int, float]:
    """lam = concave means at a finite cost: the nearest as if rewards were Gaussian, with its knots
    and multiplier, or (then with no knots) all the same.
    """
    family, mu, w = cost
    total = 0.0
    weight = 0.0
    for i in range(bends.order.size):
        k = bends.order[i]
        s.x[i] = mu[k]
        s.h[i] = max(w[k], LIGHTEST * largest(w))
        weight += s.h[i]
        total += s.h[i] * mu[k]
        if family.gaussian:
            s.h[i] /= of_arm(family, k).parameter
    m, nu = nearest_bends(task, b, s.lam)
    if m > 0 and clip(task, s.lam):
        value = cost_at(cost, bends.order, s.lam)
        if value < math.inf:
            return value, m, nu
    if not weight > 0.0:
        return math.inf, 0, 0.0
    for i in range(bends.order.size):
        s.lam[i] = min(max(total / weight, task.low[i]), task.high[i])
    return cost_at(cost, bends.order, s.lam), 0, 0.0


@kernel
def clip(task: LineTask, lam: Floats) -> bool:
    """Put means that rounding left beyond a bound onto it; False where it was more than that."""
    near = FEASIBLE * (task.size + largest(lam))
    for i in range(lam.size):
        if not task.low[i] - near <= lam[i] <= task.high[i] + near:
            return False
        lam[i] = min(max(lam[i], task.low[i]), task.high[i])
    return True


@kernel
def descend(cost: Cost, bends: Bends, task: LineTask, s: ChainScratch, b: BendScratch) -> float:
    """lam = the nearest concave means, from the knots in b on; their cost, `UNPROVED` where there
    is no proof.
    """
    value, m, nu = start(cost, bends, task, s, b)
    if value == math.inf:
        return UNPROVED
    reach = task.size + largest(s.lam)
    is_whole = m > 0  # whether lam is the minimum of the last model, which has m knots
    for _ in range(NEWTON_STEPS):
        write_slopes(cost, bends.order, s)
        if is_whole and (task.i < 0 or nu >= 0.0):
            gap = residual_gap(bends, task, m, nu, reach, s, b)
            if is_minimum(value, gap, task.steepest, reach):
                return value
        set_model(task, reach, s)
        m, nu = nearest_bends(task, b, s.trial)
        if m == 0 or not clip(task, s.trial):
            return UNPROVED
        value_there, is_whole = go(cost, bends.order, value, s)
        if not value_there < math.inf:
            return UNPROVED
        value = value_there
    return UNPROVED


@kernel
def recall(cost: Cost, piece: int, b: BendScratch) -> bool:
    """True if the last projection was the same problem: then its knots are taken up."""
    if not (b.key[3] == 1.0 and b.key[2] == piece and b.key[1] == cost.family.parameter):
        return False
    for i in range(cost.mu.size):
        if b.mu[i] != cost.mu[i] or b.w[i] != cost.w[i]:
            return False
    copy_knots(b.knots, b.holds, b.is_knot, b.held)
    return True


@kernel
def remember(cost: Cost, piece: int, value: float, lam: Floats, b: BendScratch) -> None:
    """Keep a projection, and what it is of."""
    copy(cost.mu, b.mu)
    copy(cost.w, b.w)
    copy(lam, b.base)
    copy_knots(b.is_knot, b.held, b.knots, b.holds)
    b.key[0] = value
    b.key[1] = cost.family.parameter
    b.key[2] = piece
    b.key[3] = 1.0


@kernel
def copy_knots(is_knot: Ints, held: Ints, to_knot: Ints, to_held: Ints) -> None:
    """The same knots, held where they are."""
    for i in range(is_knot.size):
        to_knot[i] = is_knot[i]
        to_held[i] = held[i]


@kernel
def minimise_concave(
    cost: Cost, bends: Bends, piece: int, limits: Limits, lam: Floats, s: ChainScratch,
    b: BendScratch,
) -> float:  # fmt: skip
    """The nearest concave means within limits, of which one arm on top is none; `UNPROVED` where
    there is no proof. `piece` is a number of theirs.
    """
    family, mu, w = cost
    K = mu.size
    if limits.top >= 0 or limits.i >= 0:
        return UNPROVED
    j = -1
    i = -1
    size = largest(mu)
    for a in range(K):
        k = bends.order[a]
        if not abs(mu[k]) < math.inf:
            return mark_infeasible(lam)  # what was no answer itself
        s.lower[a] = max(bends.low[a], limits.low[k])
        s.upper[a] = min(bends.high[a], limits.high[k])
        if k == limits.j:
            j = a
        elif k == limits.k:
            i = a
    steepest = scale_of(cost)
    if recall(cost, piece, b):
        copy(b.base, s.lam)
    else:
        forget_knots(b)
        task = LineTask(s.h, s.x, bends.position, s.lower, s.upper, -1, -1, size, steepest)
        value = descend(cost, bends, task, s, b)
        if value == UNPROVED:
            return UNPROVED
        remember(cost, piece, value, s.lam, b)
    if i >= 0 and j >= 0 and s.lam[i] < s.lam[j]:
        task = LineTask(s.h, s.x, bends.position, s.lower, s.upper, j, i, size, steepest)
        if descend(cost, bends, task, s, b) == UNPROVED:
            return UNPROVED
    for a in range(K):
        lam[bends.order[a]] = s.lam[a]
    return total_divergence(family, w, mu, lam)


@kernel
def bounds_of_concave(
    cost: Cost, bends: Bends, piece: int, limits: Limits, projected: Floats, j: int, enough: float,
    out: Floats, trial: Floats, s: ChainScratch, b: BendScratch,
) -> None:  # fmt: skip
    """out = for each arm what it costs at least, more than the projection, that it beats arm j.

    Between i and j, concave means are at least the lesser of theirs: where i beats j, so do all
    arms between them. So what a near arm costs is a bound for those beyond it. On either side of j,
    the costs of the first, second, fourth, ... arm are found, until they are `enough`.
    """
    family, mu, w = cost
    K = projected.size
    at: int = 0
    for a in range(K):
        if bends.order[a] == j:
            at = a
    base = total_divergence(family, w, mu, projected)
    out[j] = 0.0
    for side in range(-1, 2, 2):
        bound = 0.0
        step = 1
        # The arms less than `step` places away have their bounds, `bound` being the last.
        while 0 <= at + side * step < K:
            if bound < enough:
                k = bends.order[at + side * step]
                pair = Limits(limits.low, limits.high, j, k, -1, -1)
                value = minimise_concave(cost, bends, piece, pair, trial, s, b)
                if value != UNPROVED:
                    bound = max(bound, (value - base) * CERTAIN)
            for away in range(step, 2 * step):
                if 0 <= at + side * away < K:
                    out[bends.order[at + side * away]] = bound
            step *= 2

"""The highest mean of an arm over a polyhedron inside a box: a linear program.

The point of the polyhedron nearest to one far out in the arm's direction is a solution if that is
far enough. Whether it was, the active constraints tell: the direction must be a sum of their outer
normals. Where it is not, the next point is sought from there (the proximal point method, which for
a linear program ends after a few steps).
"""

from __future__ import annotations

import math

from armature.kernels.apart import apart
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, largest
from armature.solver.program import ConvexScratch, Region, make_scratch, mark_infeasible
from armature.solver.proof import is_infeasible
from armature.solver.quadratic import INFEASIBLE, SOLVED, State, solve
from armature.solver.signatures import signed
from armature.solver.start import aim_far, repeat_precisely

FAR = 1e3  # how far beyond the box the objective pulls, relative to the box
EXTREME = 1e-11  # what counts as nothing of a unit vector
NEARER = 1e-13  # progress that is not worth a step, relative to the box
STEPS = 20


@kernel
def is_extreme(region: Region, state: State, arm: int) -> bool:
    """True if the direction of an arm is a sum of outer normals of the active constraints.

    With J' direction = image and J' N = [R; 0]: R u = -image with u >= 0 for the inequalities, and
    nothing of the image beyond R.
    """
    basis = region.basis
    q = state.length[0]
    u = state.vectors[3]
    image = state.vectors[1]
    beyond = 0.0
    whole = 0.0
    for c in range(state.y.size):  # whole, beyond: of the image before c
        if basis.shape[0] == 0:
            image[c] = state.columns[c, arm]
        else:
            image[c] = 0.0
            for a in range(state.y.size):
                image[c] += state.columns[c, a] * basis[arm, a]
        whole += image[c] * image[c]
        if c >= q:
            beyond += image[c] * image[c]
    if beyond > EXTREME * EXTREME * whole:
        return False
    for r in range(q - 1, -1, -1):  # u after r is solved for, of no wrong sign
        total = -image[r]
        for c in range(r + 1, q):
            total -= state.triangle[c, r] * u[c]
        u[r] = total / state.triangle[r, r]
        if state.active[r] >= region.rows.equalities and not u[r] >= -EXTREME:
            return False
    return True


@kernel
def go_far(
    region: Region,
    start: Floats,
    arm: int,
    way: float,
    state: State,
    s: ConvexScratch,
    size: float,
) -> int:
    """The point nearest to one that is a long way from the start in an arm's direction."""
    aim_far(start, arm, way, region.basis, state)
    outcome = solve(region, state, size)
    if outcome == SOLVED:
        return SOLVED
    if outcome == INFEASIBLE and is_infeasible(region, state, size):
        return INFEASIBLE
    aim_far(start, arm, way, region.basis, state)
    return repeat_precisely(region, state, s, size)


@apart(signed("farthest"))
def farthest(region: Region, arm: int, lam: Floats, state: State, scratch: Floats) -> float:
    """The highest mean of an arm over the polyhedron, and `lam` where it is; -inf if it is empty.

    The limits must be finite. `scratch` takes `scratch_size` floats.
    """
    limits = region.limits
    s = make_scratch(scratch, state.y.size, lam.size)
    size = max(largest(limits.low), largest(limits.high))
    width = 0.0
    for i in range(lam.size):
        lam[i] = 0.5 * (limits.low[i] + limits.high[i])
        width += limits.high[i] - limits.low[i]
    way = FAR * width
    before = -math.inf
    for _ in range(STEPS):  # lam is in the polyhedron from the second step on
        if go_far(region, lam, arm, way, state, s, size) == INFEASIBLE:
            mark_infeasible(lam)
            return -math.inf
        copy(state.lam, lam)
        if is_extreme(region, state, arm) or lam[arm] <= before + NEARER * size:
            break
        before = float(lam[arm])
        way = 10.0 * way
    return float(lam[arm])

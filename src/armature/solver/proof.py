"""Checks of what `quadratic` says: is it solved, is it infeasible?"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.program import Region, add_row, slack, write_normal
from armature.solver.quadratic import State

MINIMAL = 1e-10  # by how much a minimum may exceed what its multipliers prove, relative to it
ROUNDING = 1e-26  # the same relative to what a move as large as the means would cost
REACH = 1e5  # how far away, relative to the size of the means, a proof rules a solution out
PROVED = 1e-11  # by how much, relative to the size of the means, constraints must contradict


@kernel
def is_infeasible(region: Region, state: State, size: float) -> bool:
    """True if the constraint that could not be taken up contradicts the active ones: a proof.

    Farkas: with the multipliers u = 1 for it and -change >= 0 for the active ones, the sum of
    u times slack is some s < 0 here, and changes by z times the way to anywhere else, where z is
    next to zero. So up to REACH away, some constraint is violated by at least -s / 2 / sum of u.
    """
    rows = region.rows
    q = state.length[0]
    K = state.lam.size
    change = state.vectors[3]
    z = state.vectors[0]
    normal = state.vectors[1]
    fill(z, 0.0)
    total = 0.0
    whole = 0.0
    for c in range(q + 1):  # total, whole, z: over the constraints before c
        constraint = state.active[c]
        u = 1.0 if c == q else -float(change[c])
        if c < q and constraint >= rows.equalities:
            u = max(u, 0.0)
        whole += abs(u)
        sign = state.multipliers[q] if c == q else float(state.status[constraint])
        total += u * sign * slack(region, state.lam, constraint)
        write_normal(region, K, constraint, sign, normal)
        for a in range(z.size):
            z[a] += u * normal[a]
    drift = 0.0
    for a in range(z.size):
        drift += abs(z[a])
    scale = max(size, max(largest(rows.right), largest(state.lam)))
    return -total > PROVED * scale * whole and -total > 2.0 * drift * REACH * scale


@inlined
def excess(
    region: Region,
    lam: Floats,
    g: Floats,
    h: Floats,
    state: State,
    r: Floats,
    model: Floats,
    reach: float,
) -> float:
    """By how much F at lam may exceed its minimum, as the state's multipliers u prove.

    There F has the gradient g and the curvatures h. With r = g - N u, what is left of F is lower
    by r^2 / 2 h where it is least (and not by more than r times the reach); and what the
    constraints with multipliers leave as room counts. With a basis, `model` is the factor L of the
    Hessian in y. `r` is scratch space.
    """
    basis = region.basis
    copy(g, r)
    total = 0.0
    for c in range(state.length[0]):  # r = g - N u for those before c
        u = float(state.multipliers[c])
        constraint = state.active[c]
        if u > 0.0 or constraint < region.rows.equalities:
            total += abs(u * slack(region, lam, constraint))
            add_row(region, constraint, -u * state.status[constraint], r)
    if basis.shape[0] == 0:
        for i in range(lam.size):
            way = abs(r[i]) / (2.0 * h[i]) if h[i] > 0.0 else math.inf
            total += abs(r[i]) * min(way, reach) if r[i] != 0.0 else 0.0
        return total
    x = state.vectors[0]
    for a in range(x.size):
        part = 0.0
        for i in range(lam.size):
            part += basis[i, a] * r[i]
        for b in range(a):
            part -= model[a, b] * x[b]
        x[a] = part / model[a, a]
        total += 0.5 * x[a] * x[a]
    return total


@inlined
def is_minimum(value: float, excess_value: float, steepest: float, size: float) -> bool:
    """True if so small an excess is no more than rounding."""
    return excess_value <= MINIMAL * value + ROUNDING * steepest * size * size

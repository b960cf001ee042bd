"""Small dense quadratic programs by the dual active-set method of Goldfarb and Idnani (1983).

    minimise  1/2 (y - y0)' H (y - y0)    subject to    lam = B y,  rows of lam >= right-hand sides,
                                          low <= lam <= high,  lam_k >= lam_j,  lam_i >= lam_j,
                                          lam_top >= lam_a for every arm a

The method starts at y0, where nothing constrains it, and takes up one violated constraint after the
other, so that its objective only grows. A solution is thus a start for the same program with one
more constraint: that is how one projection serves for all the challengers of an arm.

With N the normals of the active constraints, the state keeps J with J J' = inverse of H and
J' N = [R; 0], R upper triangular. Both are stored by columns: `columns[c]` is column c of J, and
`triangle[c, :c+1]` is column c of R.

All this is in floating-point numbers of 16 digits, which may be too few where the weights differ by
many orders of magnitude: "solved" is to be checked and "infeasible" to be proved (`proof`), and
what fails is solved once more with 32 digits (`precise`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.program import Region, slack, write_means, write_normal

SOLVED = 0
INFEASIBLE = 1
STUCK = 2

FEASIBLE = 1e-12  # how far a constraint may be violated, relative to the size of the means
POLISHED = 1e-10  # how far the last correction may move the means, likewise
DEPENDENT = 1e-20  # a normal whose squared part outside of the active normals is less than this


class State(NamedTuple):
    """The state of the method. `length[0]` is the number of active constraints.

    Where a constraint can't be taken up, it is left in `active[length[0]]` with its sign in
    `multipliers[length[0]]`, and `vectors[3]` says how it depends on the active ones.
    """

    columns: Floats  # (n, n): J
    triangle: Floats  # (n, n): R
    y: Floats  # (n,)
    lam: Floats  # (K,)
    multipliers: Floats  # (n + 1,)
    active: Ints  # (n + 1,): which constraints, in the order of R's columns
    status: Ints  # (m + 3 K + 2,): 1 where active, -1 where active with the sign reversed
    length: Ints  # (1,)
    vectors: Floats  # (4, n): scratch
    tail: Floats  # room for the digits 17 to 32 of all these


@kernel
def state_size(n: int, K: int, m: int) -> tuple[int, int]:
    """The number of floats and integers of a state."""
    return 2 * (2 * n * n + 6 * n + K + 1), (n + 1) + (m + 3 * K + 2) + 1


@kernel
def make_state(real: Floats, integer: Ints, n: int, K: int, m: int) -> State:
    """Lay a state over scratch space; where its parts begin does not depend on m."""
    a = 2 * n * n
    b = a + n
    c = b + K
    d = c + n + 1
    n_real, n_integer = state_size(n, K, m)
    half = n_real // 2
    return State(
        real[: n * n].reshape(n, n),
        real[n * n : a].reshape(n, n),
        real[a:b],
        real[b:c],
        real[c:d],
        integer[1 : n + 2],
        integer[n + 2 : n_integer],
        integer[:1],
        real[d:half].reshape(4, n),
        real[half : half + half],
    )


@kernel
def copy_state(source: State, target: State) -> None:
    """Go on from another state."""
    q = source.length[0]
    for c in range(source.y.size):  # the columns before c are copied
        copy(source.columns[c], target.columns[c])
    copy(source.y, target.y)
    copy(source.lam, target.lam)
    for constraint in range(source.status.size):
        target.status[constraint] = source.status[constraint]
    target.length[0] = q
    for c in range(q):
        target.multipliers[c] = source.multipliers[c]
        target.active[c] = source.active[c]
        for r in range(c + 1):
            target.triangle[c, r] = source.triangle[c, r]


@kernel
def reset(state: State) -> None:
    """No constraint is active. The caller sets `y` and `columns`."""
    state.length[0] = 0
    for constraint in range(state.status.size):
        state.status[constraint] = 0


@inlined
def most_violated(region: Region, state: State, tolerance: float) -> int:
    """The inactive inequality that is violated most, or -1."""
    rows = region.rows
    limits = region.limits
    m = rows.right.size
    lam = state.lam
    K = lam.size
    worst = -tolerance
    found = -1
    for constraint in range(rows.equalities, m):  # `found` is the worst so far, by -worst
        if state.status[constraint] == 0:
            room = slack(region, lam, constraint)
            if room < worst:
                worst = room
                found = constraint
    for a in range(K):
        if lam[a] - limits.low[a] < worst and state.status[m + a] == 0:
            worst = lam[a] - limits.low[a]
            found = m + a
    for a in range(K):
        if limits.high[a] - lam[a] < worst and state.status[m + K + a] == 0:
            worst = limits.high[a] - lam[a]
            found = m + K + a
    first = m + 2 * K
    if limits.k >= 0 and state.status[first] == 0 and lam[limits.k] - lam[limits.j] < worst:
        worst = lam[limits.k] - lam[limits.j]
        found = first
    if limits.i >= 0 and state.status[first + 1] == 0 and lam[limits.i] - lam[limits.j] < worst:
        worst = lam[limits.i] - lam[limits.j]
        found = first + 1
    if limits.top >= 0:
        top = lam[limits.top]
        for a in range(K):
            if top - lam[a] < worst and state.status[first + 2 + a] == 0:
                worst = top - lam[a]
                found = first + 2 + a
    return found


@kernel
def add_constraint(state: State, constraint: int, sign: int, multiplier: float) -> None:
    """Activate the constraint whose image J' normal is in `state.vectors[1]`.

    One reflection of the free columns of J turns the free part of the image into a single entry.
    """
    n = state.y.size
    q = state.length[0]
    image = state.vectors[1]
    direction = state.vectors[2]
    length = 0.0
    for c in range(q, n):
        length += image[c] * image[c]
    length = math.sqrt(length)
    if image[q] > 0.0:
        length = -length
    # The reflection's vector is the free part of the image minus (length, 0, ..., 0).
    image[q] -= length
    norm = -length * image[q]  # half of its squared norm
    if norm > 0.0:
        fill(direction, 0.0)
        for c in range(q, n):
            factor = image[c]
            for a in range(n):
                direction[a] += factor * state.columns[c, a]
        for c in range(q, n):
            factor = image[c] / norm
            for a in range(n):
                state.columns[c, a] -= factor * direction[a]
    for c in range(q):
        state.triangle[q, c] = image[c]
    state.triangle[q, q] = length
    state.active[q] = constraint
    state.status[constraint] = sign
    state.multipliers[q] = multiplier
    state.length[0] = q + 1


@kernel
def drop_constraint(state: State, position: int) -> None:
    """Deactivate the constraint at a position of the active set, and make R triangular again."""
    n = state.y.size
    q = state.length[0]
    state.status[state.active[position]] = 0
    for c in range(position, q - 1):
        state.active[c] = state.active[c + 1]
        state.multipliers[c] = state.multipliers[c + 1]
        for r in range(c + 2):
            state.triangle[c, r] = state.triangle[c + 1, r]
    state.length[0] = q - 1
    for r in range(position, q - 1):  # columns of R before r are triangular
        a = state.triangle[r, r]
        b = state.triangle[r, r + 1]
        length = math.hypot(a, b)
        if length == 0.0:
            continue
        cosine = a / length
        sine = b / length
        for c in range(r, q - 1):
            a = state.triangle[c, r]
            b = state.triangle[c, r + 1]
            state.triangle[c, r] = cosine * a + sine * b
            state.triangle[c, r + 1] = cosine * b - sine * a
        for i in range(n):
            a = state.columns[r, i]
            b = state.columns[r + 1, i]
            state.columns[r, i] = cosine * a + sine * b
            state.columns[r + 1, i] = cosine * b - sine * a


@kernel
def take_up(region: Region, state: State, constraint: int, tolerance: float) -> int:
    """Move to the minimum with one more constraint, dropping others that are in the way."""
    rows = region.rows
    n = state.y.size
    K = state.lam.size
    is_equality = constraint < rows.equalities
    room = slack(region, state.lam, constraint)
    sign = -1 if is_equality and room > 0.0 else 1
    normal = state.vectors[0]
    write_normal(region, K, constraint, float(sign), normal)
    image = state.vectors[1]
    change = state.vectors[3]
    multiplier = 0.0
    for _ in range(n + state.status.size + 2):
        q = state.length[0]
        whole = 0.0
        free = 0.0
        for c in range(n):
            total = 0.0
            for a in range(n):
                total += state.columns[c, a] * normal[a]
            image[c] = total
            whole += total * total
            if c >= q:
                free += total * total
        # How the active multipliers fall as the new one grows.
        for r in range(q - 1, -1, -1):
            total = image[r]
            for c in range(r + 1, q):
                total -= state.triangle[c, r] * change[c]
            change[r] = total / state.triangle[r, r]
        blocked = math.inf
        blocking = -1
        for c in range(q):
            if state.active[c] >= rows.equalities and change[c] > 0.0:
                limit = state.multipliers[c] / change[c]
                if limit < blocked:
                    blocked = limit
                    blocking = c
        room = sign * slack(region, state.lam, constraint)
        full = -room / free if free > DEPENDENT * whole else math.inf
        if full == math.inf and abs(room) <= tolerance:
            return SOLVED  # it follows from the active ones
        step = min(full, blocked)
        if step == math.inf:
            state.active[q] = constraint
            state.multipliers[q] = sign
            return INFEASIBLE
        for c in range(q):
            state.multipliers[c] -= step * change[c]
        multiplier += step
        if full < math.inf:
            for c in range(q, n):
                factor = step * image[c]
                for a in range(n):
                    state.y[a] += factor * state.columns[c, a]
            write_means(region.basis, state.y, state.lam)
        if full <= blocked:
            add_constraint(state, constraint, sign, multiplier)
            return SOLVED
        drop_constraint(state, blocking)
    return STUCK


@inlined
def polish(region: Region, state: State) -> float:
    """Put the active constraints back to exactly zero slack: y += J1 s with R' s = -slacks.

    How far that moved y, or left the slacks from zero, at most: little if no digits were lost.
    """
    q = state.length[0]
    if q == 0:
        return 0.0
    change = state.vectors[3]
    for r in range(q):  # change: solved for the entries before r
        constraint = state.active[r]
        total = -state.status[constraint] * slack(region, state.lam, constraint)
        for c in range(r):
            total -= state.triangle[r, c] * change[c]
        change[r] = total / state.triangle[r, r]
    before = state.vectors[0]
    copy(state.y, before)
    for c in range(q):
        for a in range(state.y.size):
            state.y[a] += change[c] * state.columns[c, a]
    write_means(region.basis, state.y, state.lam)
    moved = 0.0
    for a in range(state.y.size):
        moved = max(moved, abs(state.y[a] - before[a]))
    for c in range(q):
        moved = max(moved, abs(slack(region, state.lam, state.active[c])))
    return moved


@kernel
def solve(region: Region, state: State, size: float) -> int:
    """Go on from the state to the minimum under all constraints; says whether that worked.

    `size` is the order of magnitude of the means: rounding errors are relative to it.
    """
    write_means(region.basis, state.y, state.lam)
    size = max(size, largest(region.rows.right))
    for constraint in range(region.rows.equalities):
        if state.status[constraint] == 0:
            tolerance = FEASIBLE * max(size, largest(state.lam))
            outcome = take_up(region, state, constraint, tolerance)
            if outcome != SOLVED:
                return outcome
    for _ in range(20 * (state.status.size + 5)):  # y is the minimum under the active ones
        tolerance = FEASIBLE * max(size, largest(state.lam))
        constraint = most_violated(region, state, tolerance)
        if constraint < 0:
            moved = polish(region, state)
            return SOLVED if moved <= POLISHED * max(size, largest(state.lam)) else STUCK
        outcome = take_up(region, state, constraint, 0.0)
        if outcome != SOLVED:
            return outcome
    return STUCK

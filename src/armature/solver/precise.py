"""The dual active-set method of `quadratic` once more, with numbers of 32 digits.

It is some thirty times slower and solves what 16 digits do not: weights of any two sizes side by
side, arms without weight, rows that nearly depend on each other. The leading parts of all numbers
are those of the state; a second state over its `tail` has the trailing parts (`double_double`
keeps the matrices).
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy, fill, largest
from armature.solver.double_double import (
    add,
    add_multiple,
    divide,
    dot,
    exact_sum,
    multiply,
    precise_add,
    precise_drop,
    precise_model,
    tail_of,
    write_changes,
)
from armature.solver.program import Region, entry, n_entries
from armature.solver.proof import REACH
from armature.solver.quadratic import INFEASIBLE, SOLVED, STUCK, State, most_violated

PRECISELY_FEASIBLE = 1e-13  # how far a constraint may be violated, relative to the size of means
NOTHING_LEFT = 1e-20  # what is nothing beside the means that the method started from
SUSPECT = 1e-10  # a normal's free part that is so small asks whether it depends on the active ones
NOTHING_FREE = 1e-50  # one that is nothing but rounding
DEPENDS = 1e-12  # it seems to if so little remains of it: its entries are rounded themselves
FARTHEST = 1e12  # how far away, relative to the size of the means, there are digits to work with
ALLOWED = 1e-10  # a violation that is no reason to give a solution up, likewise
NO_CHANGE = 1e-27  # what counts as no effect of a multiplier on another


@kernel
def right_side(region: Region, K: int, constraint: int) -> float:
    """The value that the sum of a constraint's entries must reach."""
    rows = region.rows
    limits = region.limits
    m = rows.right.size
    if constraint < m:
        return float(rows.right[constraint])
    if constraint < m + K:
        return float(limits.low[constraint - m])
    if constraint < m + 2 * K:
        return -float(limits.high[constraint - m - K])
    return 0.0


@kernel
def precise_slack(
    region: Region, state: State, tail: State, constraint: int, ease: float
) -> tuple[float, float]:
    """The slack of a constraint, which is eased a little if it is an inequality."""
    rows = region.rows
    K = state.lam.size
    total = -right_side(region, K, constraint)
    total_tail = ease if constraint >= rows.equalities else 0.0
    total, total_tail = exact_sum(total, total_tail)
    for number in range(n_entries(rows, K, constraint)):
        arm, value = entry(region, K, constraint, number)
        p, p_tail = multiply(value, 0.0, state.lam[arm], tail.lam[arm])
        total, total_tail = add(total, total_tail, p, p_tail)
    return total, total_tail


@kernel
def add_normal(
    region: Region,
    K: int,
    constraint: int,
    factor: float,
    factor_tail: float,
    normal: Floats,
    normal_tail: Floats,
) -> float:
    """normal += factor * (the gradient of a constraint in y); the largest entry that was added."""
    basis = region.basis
    size = 0.0
    # normal has the entries before this
    for number in range(n_entries(region.rows, K, constraint)):
        arm, value = entry(region, K, constraint, number)
        f, f_tail = multiply(factor, factor_tail, value, 0.0)
        if basis.shape[0] == 0:
            size = max(size, abs(f))
            normal[arm], normal_tail[arm] = add(normal[arm], normal_tail[arm], f, f_tail)
        else:
            for a in range(normal.size):
                p, p_tail = multiply(f, f_tail, basis[arm, a], 0.0)
                size = max(size, abs(p))
                normal[a], normal_tail[a] = add(normal[a], normal_tail[a], p, p_tail)
    return size


@kernel
def precise_means(basis: Floats, state: State, tail: State) -> None:
    """lam = B y."""
    if basis.shape[0] == 0:
        copy(state.y, state.lam)
        copy(tail.y, tail.lam)
        return
    for i in range(state.lam.size):  # lam: set for the arms before i
        total = 0.0
        total_tail = 0.0
        for a in range(state.y.size):
            p, p_tail = multiply(basis[i, a], 0.0, state.y[a], tail.y[a])
            total, total_tail = add(total, total_tail, p, p_tail)
        state.lam[i] = total
        tail.lam[i] = total_tail


@kernel
def remainder(region: Region, state: State, tail: State, constraint: int, sign: int) -> float:
    """The part of a constraint's normal outside the span of the active ones with their changes.

    Into `vectors[2]`; the largest of the terms is returned.
    """
    K = state.lam.size
    z = state.vectors[2]
    z_tail = tail.vectors[2]
    fill(z, 0.0)
    fill(z_tail, 0.0)
    size = add_normal(region, K, constraint, float(sign), 0.0, z, z_tail)
    for c in range(state.length[0]):  # z: less the active normals before c
        other = state.active[c]
        f = -state.status[other] * state.vectors[3, c]
        f_tail = -state.status[other] * tail.vectors[3, c]
        size = max(size, add_normal(region, K, other, f, f_tail, z, z_tail))
    return size


@kernel
def is_proved(region: Region, state: State, tail: State, size: float, ease: float) -> bool:
    """`proof.is_infeasible` with 32 digits."""
    q = state.length[0]
    constraint = state.active[q]
    sign = int(state.multipliers[q])
    for c in range(q):
        if state.active[c] >= region.rows.equalities and state.vectors[3, c] > 0.0:
            state.vectors[3, c] = 0.0
            tail.vectors[3, c] = 0.0
    remainder(region, state, tail, constraint, sign)
    total, total_tail = precise_slack(region, state, tail, constraint, ease)
    total *= sign
    total_tail *= sign
    whole = 1.0
    for c in range(q):  # total: u times slack before c; whole: |u|
        other = state.active[c]
        room, room_tail = precise_slack(region, state, tail, other, ease)
        f = -state.status[other] * state.vectors[3, c]
        f_tail = -state.status[other] * tail.vectors[3, c]
        p, p_tail = multiply(f, f_tail, room, room_tail)
        total, total_tail = add(total, total_tail, p, p_tail)
        whole += abs(f)
    drift = 0.0
    for a in range(state.y.size):
        drift += abs(state.vectors[2, a])
    way = REACH * size + largest(state.y)
    return -total > PRECISELY_FEASIBLE * size * whole and -total > 2.0 * drift * way


@kernel
def precise_take_up(
    region: Region,
    state: State,
    constraint: int,
    size: float,
    tolerance: float,
    ease: float,
    is_bold: bool,
) -> int:
    """Move to the minimum with one more constraint, dropping others that are in the way.

    STUCK where it seems to contradict the active ones and that can't be proved: only the bold then
    trust the last digits and move on.
    """
    rows = region.rows
    tail = tail_of(state)
    n = state.y.size
    K = state.lam.size
    room, room_tail = precise_slack(region, state, tail, constraint, ease)
    sign = -1 if constraint < rows.equalities and room > 0.0 else 1
    normal = state.vectors[0]
    normal_tail = tail.vectors[0]
    fill(normal, 0.0)
    fill(normal_tail, 0.0)
    add_normal(region, K, constraint, float(sign), 0.0, normal, normal_tail)
    image = state.vectors[1]
    image_tail = tail.vectors[1]
    change = state.vectors[3]
    change_tail = tail.vectors[3]
    multiplier = 0.0
    multiplier_tail = 0.0
    for _ in range(n + state.status.size + 2):
        q = state.length[0]
        for c in range(n):
            image[c], image_tail[c] = dot(
                state.columns[c], tail.columns[c], normal, normal_tail, 0, n
            )
        whole, _rest = dot(image, image_tail, image, image_tail, 0, n)
        free, free_tail = dot(image, image_tail, image, image_tail, q, n)
        write_changes(state, tail)
        is_nothing = free <= NOTHING_FREE * whole
        depends = is_nothing
        if not depends and free < SUSPECT * whole:
            terms = remainder(region, state, tail, constraint, sign)
            depends = largest(state.vectors[2]) <= DEPENDS * terms
        room, room_tail = precise_slack(region, state, tail, constraint, ease)
        room *= sign
        room_tail *= sign
        if depends:
            if abs(room) <= tolerance:
                return SOLVED  # it follows from the active ones
            state.active[q] = constraint
            state.multipliers[q] = sign
            if is_proved(region, state, tail, size, ease):
                return INFEASIBLE
            write_changes(state, tail)
        least = 1.0
        for c in range(q):
            least = max(least, abs(change[c]))
        is_doubtful = depends and not is_bold
        least *= DEPENDS if is_doubtful else NO_CHANGE
        blocked = math.inf
        blocking = -1
        for c in range(q):
            if state.active[c] >= rows.equalities and change[c] > least:
                limit = state.multipliers[c] / change[c]
                if limit < blocked:
                    blocked = limit
                    blocking = c
        step = math.inf
        step_tail = 0.0
        if not is_nothing:
            step, step_tail = divide(-room, -room_tail, free, free_tail)
        is_full = step <= blocked
        if is_full and (is_nothing or is_doubtful):
            return STUCK
        if not is_full:
            step, step_tail = divide(
                state.multipliers[blocking],
                tail.multipliers[blocking],
                change[blocking],
                change_tail[blocking],
            )
        add_multiple(-step, -step_tail, change, change_tail, state.multipliers, tail.multipliers, q)
        multiplier, multiplier_tail = add(multiplier, multiplier_tail, step, step_tail)
        if not is_nothing:
            for c in range(q, n):
                f, f_tail = multiply(step, step_tail, image[c], image_tail[c])
                add_multiple(f, f_tail, state.columns[c], tail.columns[c], state.y, tail.y, n)
            precise_means(region.basis, state, tail)
        if is_full:
            precise_add(state, tail, constraint, sign, multiplier, multiplier_tail)
            return SOLVED
        precise_drop(state, tail, blocking)
    return STUCK


@kernel
def precise_solve(region: Region, state: State, size: float, ease: float, is_bold: bool) -> int:
    """The minimum of a `precise_model` under all constraints; says whether there is one.

    INFEASIBLE is proved. STUCK means that constraints contradict each other by so little that it
    is no proof.
    """
    rows = region.rows
    precise_means(region.basis, state, tail_of(state))
    start = max(size, largest(state.lam))
    constraint = 0
    for _ in range(20 * (state.status.size + 5)):  # y is the minimum under the active ones
        scale = max(max(size, NOTHING_LEFT * start), largest(state.lam))
        if not scale <= FARTHEST * start and start > 0.0:
            return STUCK
        tolerance = PRECISELY_FEASIBLE * scale + ease
        if constraint >= rows.equalities:
            constraint = most_violated(region, state, tolerance + PRECISELY_FEASIBLE * scale)
            if constraint < 0:
                return SOLVED
        outcome = precise_take_up(region, state, constraint, start, tolerance, ease, is_bold)
        if outcome != SOLVED:
            return outcome
        constraint = constraint + 1 if constraint < rows.equalities else rows.equalities
    return STUCK


@kernel
def precise_program(
    region: Region, y: Floats, lam: Floats, g: Floats, h: Floats, state: State, size: float
) -> int:
    """`precise_model` and `precise_solve`.

    Where constraints contradict each other by rounding errors in their own numbers, they are eased,
    more and more, by less than what counts as feasible; then the last digits are trusted. If that
    leads nowhere, it is the first attempt that is left, which stopped at such a contradiction.
    """
    size = max(size, largest(region.rows.right))
    ease = 0.0
    outcome = STUCK
    for attempt in range(7):  # all attempts so far were STUCK
        is_bold = attempt == 5
        precise_model(region.basis, y, lam, g, h, state, tail_of(state))
        outcome = precise_solve(region, state, size, ease, is_bold)
        if outcome != STUCK or (is_bold and most_violated(region, state, ALLOWED * size) < 0):
            break
        ease = PRECISELY_FEASIBLE * size * 10.0**attempt if attempt < 4 else 0.0
    return outcome

"""The oracles of additive tables of Gaussian rewards whose rows are chains, by pivoting.

What pivoting leaves open (`least_squares`) is answered by the convex programs of `joint`.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy
from armature.solver.program import mark_infeasible
from armature.structures.oracles.records import OracleProblem
from armature.structures.segments import joint
from armature.structures.segments.joint import (
    JOINT,
    Joint,
    best_cell,
    can_beat,
    cell_of,
    hand_out,
    question_of,
)
from armature.structures.segments.least_squares import (
    AdditiveProblem,
    setting_of,
    solve_piece,
    write_table,
    write_worth,
)
from armature.structures.segments.pivoting import lift

UNPROVED = -1.0  # a cost


@kernel
def lifted(s: AdditiveProblem, p: int, j: int, i: int) -> float:
    """From the minimiser of piece p to that with a_i >= a_j, in room.trial; its cost."""
    pivots = s.room.pivots
    spare = s.room.spare
    trial = s.question.room.trial
    order = s.lines.order
    from_ = 0
    to = 0
    for place in range(order.size):  # where the arms before it are
        if order[place] == j:
            from_ = place
        elif order[place] == i:
            to = place
    for r in range(pivots.c.size):  # spare: the rows before r
        copy(pivots.A[r], spare.A[r])
        spare.at[r] = pivots.at[r]
        spare.c[r] = pivots.c[r]
    outcome = lift(spare, s.lines.lo[p], s.lines.hi[p], from_, to)
    if outcome < 0:
        return mark_infeasible(trial)
    if outcome == 0:
        return UNPROVED
    write_worth(s, spare.d)
    s.room.a[i] = max(s.room.a[i], s.room.a[j])  # equal but for rounding
    return write_table(s, trial)


@inlined
def keep(s: AdditiveProblem, cost: float, best: float) -> float:
    """Keep what is in room.trial if it costs less. The lesser cost."""
    if cost < best:
        copy(s.question.room.trial, s.question.room.lam)
        return cost
    return best


@kernel
def project(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """The nearest of the pieces."""
    s = setting_of(problem)
    best = math.inf
    for p in range(s.lines.lo.shape[0]):  # room.lam: the best of the pieces before p
        if not solve_piece(s, p):
            return joint.project(problem, first, second, out)
        write_worth(s, s.room.pivots.d)
        best = keep(s, write_table(s, s.question.room.trial), best)
    hand_out(s.question, out)
    return best


@kernel
def can_challenge(table: Joint, p: int, j: int, k: int) -> bool:
    """Whether a piece is among those where "k beats j" is looked for."""
    if table.by_top:
        return bool(table.leads[p * table.mu.size + k] == 1)
    return can_beat(table, p, j, k)


@kernel
def where_ahead(s: AdditiveProblem, p: int, j: int, k: int, cost: float) -> float:
    """The cost of piece p where arm k is at least as good as j, given the piece's minimiser.

    room.trial: that table, unless it is the minimiser itself.
    """
    if s.room.a[k] >= s.room.a[j]:
        return cost
    found = lifted(s, p, j, k)
    write_worth(s, s.room.pivots.d)
    return found


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """One challenger, in each of the pieces where it is looked for."""
    s = setting_of(problem)
    table = s.question.table
    j = cell_of(table, first)
    k = cell_of(table, second)
    K = table.K
    best = mark_infeasible(s.question.room.lam)
    for p in range(s.lines.lo.shape[0]):  # room.lam: the best of the pieces before p
        if not can_challenge(table, p, j, k):
            continue
        if not solve_piece(s, p):
            return joint.challenger_min(problem, first, second, out)
        write_worth(s, s.room.pivots.d)
        cost = write_table(s, s.question.room.trial)
        if cost < best:
            cost = where_ahead(s, p, j % K, k % K, cost)
            if cost == UNPROVED:
                return joint.challenger_min(problem, first, second, out)
            best = keep(s, cost, best)
    hand_out(s.question, out)
    return best


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """All challengers of a row, in one sweep over the pieces; at `first`, the projection's cost."""
    s = setting_of(problem)
    table = s.question.table
    K = table.K
    j = cell_of(table, first)
    at = j - j % K
    least = math.inf
    for k in range(costs.size):
        costs[k] = math.inf
    for p in range(s.lines.lo.shape[0]):  # costs, least: over the pieces before p
        if not solve_piece(s, p):
            return one_by_one(problem, first, costs)
        write_worth(s, s.room.pivots.d)
        base = write_table(s, s.question.room.trial)
        least = min(least, base)
        for k in range(K):
            place = at + k if table.row < 0 else k
            if at + k == j or base >= costs[place] or not can_challenge(table, p, j, at + k):
                continue
            cost = where_ahead(s, p, j % K, k, base)
            if cost == UNPROVED:
                return one_by_one(problem, first, costs)
            costs[place] = min(costs[place], cost)
    costs[first] = least
    return least


@kernel
def one_by_one(problem: OracleProblem, first: int, costs: Floats) -> float:
    """The same by convex programs."""
    question = question_of(problem)
    K = question.table.K
    at = first - first % K if question.table.row < 0 else 0
    out = question.room.base
    for k in range(at, at + K):  # those before k
        if k != first:
            costs[k] = joint.challenger_min(problem, first, k, out[: costs.size])
    costs[first] = joint.project(problem, -1, -1, out[: costs.size])
    return float(costs[first])


@kernel
def nearest(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """Another arm is best in the segment of `first`; in some segment, where `first` is -1."""
    s = setting_of(problem)
    table = s.question.table
    best = mark_infeasible(s.question.room.lam)
    for p in range(s.lines.lo.shape[0]):  # room.lam: the best of the pieces before p
        if not solve_piece(s, p):
            return joint.nearest(problem, first, second, out)
        write_worth(s, s.room.pivots.d)
        base = write_table(s, s.question.room.trial)
        for c in range(table.S):
            j = best_cell(s.question.room.mu, c, table.K)
            if first >= 0:
                if c > 0:
                    break
                j = cell_of(table, first)
            best = nearest_in_piece(s, p, j, base, best)
            if best == UNPROVED:
                return joint.nearest(problem, first, second, out)
    hand_out(s.question, out)
    return best


@kernel
def nearest_in_piece(s: AdditiveProblem, p: int, j: int, base: float, best: float) -> float:
    """The nearest of a piece with another best arm than cell j, if it costs less; its cost."""
    table = s.question.table
    K = table.K
    for k in range(j - j % K, j - j % K + K):  # room.lam: of the arms before k
        if base >= best:
            break
        if k == j or not can_beat(table, p, j, k):
            continue
        if s.room.a[k % K] >= s.room.a[j % K]:
            write_table(s, s.question.room.trial)
            return keep(s, base, best)
        cost = where_ahead(s, p, j % K, k % K, base)
        if cost == UNPROVED:
            return cost
        best = keep(s, cost, best)
    return best


ADDITIVE = JOINT._replace(
    project=project,
    nearest=nearest,
    challenger_min=challenger_min,
    challenger_costs=challenger_costs,
)

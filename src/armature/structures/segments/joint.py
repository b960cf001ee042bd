"""Every oracle of a table of segments, by a certified convex program for each piece.

The kernels are asked about all cells of a table, or by a policy about one row: the arms of the
segment that has arrived. Then means and weights of the other cells are what the table's ledger has
of them, and costs are those of the whole table, of which the row's cells are handed out.

shape.real = the ledger (means, weights and sums of the rewards of all cells, a sample of their
means, and whether that is to be used), parameters of the rewards, the pieces' rows, a basis of the
tables that the coupling leaves; shape.integer = sizes and the rest of the pieces (`Joint`).
"""

from __future__ import annotations

from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import unit_gaussian, write_ends
from armature.kernels.apart import apart
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy
from armature.solver.convex import minimise, nearest_of
from armature.solver.program import (
    Cost,
    Limits,
    Region,
    Rows,
    mark_infeasible,
    nearest_scratch_size,
)
from armature.solver.quadratic import State, make_state, state_size
from armature.structures.oracles.records import USUAL, Oracle, OracleProblem, Work

NONE = -1  # no cell
HEAD = 10  # numbers before the arrays in shape.integer
(S_AT, K_AT, ROW_AT, BASIS_AT, PIECES_AT, ROWS_AT, ENTRIES_AT, ARMS_AT, TOP_AT,
 ALONE_AT) = range(HEAD)  # fmt: skip


class Joint(NamedTuple):
    """A table as kernels see it: S segments, K arms in each, C = S K cells, P pieces."""

    S: int
    K: int
    row: int  # about whose arms it is asked; -1: about all cells
    by_top: bool  # how "k beats j" is read: see `Structure.challenge`
    alone: Ints  # (1,): where this is 1, the other rows do not count (and so no coupling)
    mu: Floats  # (C,): of all cells, in the ledger
    w: Floats  # (C,)
    sums: Floats  # (C,)
    sample: Floats  # (C,): means that count instead of mu
    sampled: Floats  # (1,): where this is 1
    arms: Floats  # (C, 4): see `FamilyRecord`; (0, 4) where all are alike
    first_row: Ints  # (P + 1,)
    equalities: Ints  # (P,)
    beats: Ints  # (P C K,): [p, j, k], whether arm k can be better than cell j of its segment
    leads: Ints  # (P C,): whether a cell can be the best of its segment
    start: Ints
    indices: Ints
    right: Floats
    values: Floats
    basis: Floats  # (C, n), or (0, 0)
    more: Floats  # what comes behind, for other kernels
    more_integers: Ints


@kernel
def joint_of(real: Floats, integer: Ints) -> Joint:
    """The table in a structure's arrays."""
    S = integer[S_AT]
    K = integer[K_AT]
    C = S * K
    P = integer[PIECES_AT]
    m = integer[ROWS_AT]
    entries = integer[ENTRIES_AT]
    n = integer[BASIS_AT]
    arms = integer[ARMS_AT]
    a = HEAD + P + 1
    b = a + P
    c = b + P * C * K
    d = c + P * C
    e = d + m + P
    h = 4 * C + 1
    f = h + 4 * arms
    g = f + m + entries
    return Joint(
        S,
        K,
        integer[ROW_AT],
        integer[TOP_AT] == 1,
        integer[ALONE_AT : ALONE_AT + 1],
        real[:C],
        real[C : 2 * C],
        real[2 * C : 3 * C],
        real[3 * C : h - 1],
        real[h - 1 : h],
        real[h:f].reshape(arms, 4),
        integer[HEAD:a],
        integer[a:b],
        integer[b:c],
        integer[c:d],
        integer[d:e],
        integer[e : e + entries],
        real[f : f + m],
        real[f + m : g],
        real[g : g + C * n].reshape(C if n > 0 else 0, n),
        real[g + C * n :],
        integer[e + entries :],
    )


class JointScratch(NamedTuple):
    """Room for the whole table's question, for two states of the solver, and around it."""

    mu: Floats  # (C,): what is asked
    w: Floats
    lam: Floats  # (C,): the best so far
    trial: Floats
    low: Floats  # the domain
    high: Floats
    base: Floats
    can_beat: Ints  # (C,)
    state: State
    spare: State
    solver: Floats
    more: Floats  # what is left
    more_integers: Ints


@kernel
def joint_scratch(work: Work, C: int, n: int, m: int) -> JointScratch:
    """The scratch space for C cells, n unknowns, and at most m rows in a piece."""
    n_real, n_integer = state_size(n, C, m)
    a = 7 * C
    b = a + 2 * n_real
    d = b + nearest_scratch_size(n, C)
    e = C + 2 * n_integer
    return JointScratch(
        work.real[:C],
        work.real[C : 2 * C],
        work.real[2 * C : 3 * C],
        work.real[3 * C : 4 * C],
        work.real[4 * C : 5 * C],
        work.real[5 * C : 6 * C],
        work.real[6 * C : a],
        work.integer[:C],
        make_state(work.real[a : a + n_real], work.integer[C : C + n_integer], n, C, m),
        make_state(work.real[a + n_real : b], work.integer[C + n_integer : e], n, C, m),
        work.real[b:d],
        work.real[d:],
        work.integer[e:],
    )


class Question(NamedTuple):
    """What is asked about the whole table, and room to answer."""

    family: FamilyRecord  # of all cells
    table: Joint
    room: JointScratch


@inlined
def for_cells(family: FamilyRecord, arms: Floats) -> FamilyRecord:
    """A family's record, for cells with parameters of their own."""
    return FamilyRecord(
        family.gaussian, family.alike, family.estimated, family.parameter, family.low, family.high,
        family.proxy, family.shift, arms, family.divergence, family.upper, family.lower,
        family.slope, family.curvature, family.variance, family.draw, family.posterior,
    )  # fmt: skip


@kernel
def write_cells(problem: OracleProblem, table: Joint, mu: Floats, w: Floats) -> None:
    """mu, w = of all cells: what is asked about a row, and of the others what the ledger has.

    Gaussian rewards with variances of their own come as those of variance 1 (`problem_for`), and
    so have the others to.
    """
    K = table.K
    if table.row < 0:
        copy(problem.mu, mu)
        copy(problem.w, w)
        return
    scaled = problem.family.gaussian and table.arms.shape[0] > 0
    at = table.row * K
    known = table.sample if table.sampled[0] == 1.0 else table.mu
    for cell in range(mu.size):  # those before it are written
        if at <= cell < at + K:
            mu[cell] = problem.mu[cell - at]
            w[cell] = problem.w[cell - at]
        else:
            mu[cell] = known[cell]
            w[cell] = table.w[cell] / table.arms[cell, 0] if scaled else table.w[cell]
            if table.alone[0] == 1:
                w[cell] = 0.0


@kernel
def question_of(problem: OracleProblem) -> Question:
    """The question about all cells, laid out in the scratch space."""
    table = joint_of(problem.shape.real, problem.shape.integer)
    C = table.mu.size
    m = 0  # the most rows of the pieces before p
    for p in range(table.equalities.size):
        m = max(m, table.first_row[p + 1] - table.first_row[p])
    n = table.basis.shape[1] if table.basis.shape[0] > 0 else C
    room = joint_scratch(problem.work, C, n, m)
    write_cells(problem, table, room.mu, room.w)
    family = problem.family
    if not family.alike:
        family = for_cells(family, table.arms)
    if family.gaussian and not family.alike:
        family = unit_gaussian(family)
    write_ends(family, room.low, room.high)
    return Question(family, table, room)


@inlined
def cell_of(table: Joint, arm: int) -> int:
    """The cell of an arm of the row that is asked about."""
    return arm if table.row < 0 or arm < 0 else table.row * table.K + arm


@kernel
def region_at(question: Question, p: int, j: int, k: int, i: int) -> Region:
    """A piece in the domain, with lam_k >= lam_j and lam_i >= lam_j."""
    table = question.table
    room = question.room
    a = table.first_row[p]
    b = table.first_row[p + 1]
    rows = Rows(
        table.start[a + p : b + p + 1],
        table.indices,
        table.values,
        table.right[a:b],
        table.equalities[p],
    )
    return Region(rows, Limits(room.low, room.high, j, k, i, NONE), table.basis)


@kernel
def keep_better(question: Question, p: int, j: int, k: int, i: int, best: float) -> float:
    """Solve in a piece; if that costs less than `best`, keep it in room.lam. The lesser cost."""
    room = question.room
    cost = Cost(question.family, room.mu, room.w)
    found = minimise(cost, region_at(question, p, j, k, i), room.trial, room.state, room.solver)
    if found < best:
        copy(room.trial, room.lam)
        return found
    return best


@kernel
def hand_out(question: Question, out: Floats) -> None:
    """out = the best table's cells, or those of the row that was asked about."""
    table = question.table
    at = max(table.row, 0) * table.K
    for k in range(out.size):  # set for those before k
        out[k] = question.room.lam[at + k]


@apart(USUAL)
def project(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """The nearest table of all pieces."""
    question = question_of(problem)
    best = mark_infeasible(question.room.lam)
    for p in range(question.table.equalities.size):  # room.lam: the best of the pieces before p
        best = keep_better(question, p, NONE, NONE, NONE, best)
    hand_out(question, out)
    return best


@inlined
def can_beat(table: Joint, p: int, j: int, k: int) -> bool:
    """Whether cell k can be better than cell j, of the same segment, in piece p."""
    K = table.K
    return bool(table.beats[(p * table.mu.size + j) * K + k % K] == 1)


@apart(USUAL)
def alt_min(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """lam_k >= lam_j, in every piece in which k can be better than j.

    If k can be better elsewhere only, such a point of a piece is one in which another arm i of the
    segment is at least as good as j besides.
    """
    question = question_of(problem)
    table = question.table
    K = table.K
    j = cell_of(table, first)
    k = cell_of(table, second)
    best = mark_infeasible(question.room.lam)
    anywhere = False
    for p in range(table.equalities.size):
        anywhere = anywhere or can_beat(table, p, j, k)
    for p in range(table.equalities.size if anywhere else 0):  # room.lam: of the pieces before p
        if can_beat(table, p, j, k):
            best = keep_better(question, p, j, k, NONE, best)
        else:
            for i in range(j - j % K, j - j % K + K):
                if can_beat(table, p, j, i):
                    best = keep_better(question, p, j, k, i, best)
    hand_out(question, out)
    return best


@kernel
def best_cell(mu: Floats, c: int, K: int) -> int:
    """The cell with the highest mean of a segment."""
    best = c * K
    for cell in range(c * K, c * K + K):  # best: of the cells before it
        if mu[cell] > mu[best]:
            best = cell
    return best


@kernel
def nearest_in_segment(question: Question, j: int, best: float) -> float:
    """The nearest table in which another arm of its segment is better than cell j."""
    table = question.table
    room = question.room
    K = table.K
    cost = Cost(question.family, room.mu, room.w)
    for p in range(table.equalities.size):  # room.lam: the best of the pieces before p
        some = False
        for cell in range(room.mu.size):
            same = cell // K == j // K and can_beat(table, p, j, cell)
            room.can_beat[cell] = 1 if same else 0
            some = some or same
        if not some:
            continue
        piece = region_at(question, p, NONE, NONE, NONE)
        found = nearest_of(
            cost, piece, j, room.can_beat, room.base, room.state, room.spare, room.solver
        )
        if found < best:
            best = found
            copy(room.base, room.lam)
    return best


@apart(USUAL)
def nearest(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """Another arm is best in the segment of `first`; in some segment, where `first` is -1.

    Then the best arms are those with the highest of the means that are asked about.
    """
    question = question_of(problem)
    best = mark_infeasible(question.room.lam)
    if first >= 0:
        best = nearest_in_segment(question, cell_of(question.table, first), best)
    else:
        for c in range(question.table.S):  # room.lam: of the segments before c
            j = best_cell(question.room.mu, c, question.table.K)
            best = nearest_in_segment(question, j, best)
    hand_out(question, out)
    return best


@apart(USUAL)
def challenger_min(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """lam_k >= lam_j; if read by the top, in the pieces in which k can be the best arm."""
    question = question_of(problem)
    table = question.table
    if not table.by_top:
        return alt_min(problem, first, second, out)
    j = cell_of(table, first)
    k = cell_of(table, second)
    best = mark_infeasible(question.room.lam)
    for p in range(table.equalities.size):  # room.lam: the best of the pieces before p
        if table.leads[p * table.mu.size + k] == 1:
            best = keep_better(question, p, j, k, NONE, best)
    hand_out(question, out)
    return best


JOINT = Oracle(
    project=project,
    alt_min=alt_min,
    nearest=nearest,
    challenger_min=challenger_min,
)

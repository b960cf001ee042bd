"""Additive tables of Gaussian rewards whose rows are chains: few unknowns, solved by pivoting.

    minimise  sum_ck w_ck (x_ck - a_k - b_c)^2    over    lo_k <= a_{k+1} - a_k <= hi_k

with the arms in the order of the chain. The best b_c given a is an average, so that only the
differences d of neighbours are left. With W_c(.) the weight of some arms in segment c,

    H_ij = sum_c W_c(up to i) W_c(after j) / W_c(all)    for i <= j,
    g_i  = sum_c W_c(up to i) W_c(after i) / W_c(all) (mean after i - mean up to i).

These sums have no terms that cancel, so that weights may differ by many orders of magnitude. What
is singular (arms of which nothing is known yet), or fails its check, is left to the convex programs
of `joint`.
"""

from __future__ import annotations

from typing import NamedTuple

from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import largest
from armature.structures.oracles.records import OracleProblem, Work
from armature.structures.segments.joint import Joint, Question, question_of
from armature.structures.segments.pivoting import Pivots, begin, optimise


class Lines(NamedTuple):
    """The chains of a table's pieces: P of them."""

    order: Ints  # (K,): the arms along the line
    lo: Floats  # (P, K - 1)
    hi: Floats


@kernel
def lines_of(table: Joint) -> Lines:
    """The chains behind a table's arrays."""
    P = table.equalities.size
    n = table.K - 1
    return Lines(
        table.more_integers[: table.K],
        table.more[: P * n].reshape(P, n),
        table.more[P * n : 2 * P * n].reshape(P, n),
    )


class PivotRoom(NamedTuple):
    """Room to pivot in, beside that for the whole table's question."""

    pivots: Pivots
    spare: Pivots  # of the same program, to go on from there
    a: Floats  # (K,): what the arms are worth
    up: Floats  # (n,): of one segment: the weight up to each difference,
    after: Floats  # after it,
    sum_up: Floats  # and the weighted means
    sum_after: Floats


@kernel
def room_of(real: Floats, integer: Ints, K: int) -> PivotRoom:
    """Lay it over scratch space."""
    n = K - 1
    a = 3 * n * n
    b = a + 9 * n
    H = real[: n * n].reshape(n, n)
    g = real[a : a + n]
    return PivotRoom(
        Pivots(
            H,
            g,
            real[n * n : 2 * n * n].reshape(n, n),
            real[a + n : a + 2 * n],
            integer[:n],
            real[a + 2 * n : a + 3 * n],
            real[a + 3 * n : a + 4 * n],
            real[a + 4 * n : a + 5 * n],
        ),
        Pivots(
            H,
            g,
            real[2 * n * n : a].reshape(n, n),
            real[a + 5 * n : a + 6 * n],
            integer[n : 2 * n],
            real[a + 6 * n : a + 7 * n],
            real[a + 7 * n : a + 8 * n],
            real[a + 8 * n : b],
        ),
        real[b : b + K],
        real[b + K : b + K + n],
        real[b + K + n : b + K + 2 * n],
        real[b + K + 2 * n : b + K + 3 * n],
        real[b + K + 3 * n : b + K + 4 * n],
    )


@kernel
def extra_room(work: Work, K: int) -> PivotRoom:
    """The same, to be measured."""
    return room_of(work.real, work.integer, K)


class AdditiveProblem(NamedTuple):
    """A question, the chains it is about, and room to answer."""

    question: Question
    lines: Lines
    room: PivotRoom
    size: float  # of the means


@kernel
def setting_of(problem: OracleProblem) -> AdditiveProblem:
    """The question with H and g."""
    question = question_of(problem)
    table = question.table
    room = room_of(question.room.more, question.room.more_integers, table.K)
    lines = lines_of(table)
    for i in range(table.K - 1):  # H, g: of no segment yet
        room.pivots.g[i] = 0.0
        for j in range(table.K - 1):
            room.pivots.H[i, j] = 0.0
    for c in range(table.S):  # H, g: of the segments before c
        add_segment(question, lines.order, room, c)
    return AdditiveProblem(question, lines, room, largest(question.room.mu))


@kernel
def add_segment(question: Question, order: Ints, room: PivotRoom, c: int) -> None:
    """Add what a segment has to H and g, if it has any weight."""
    mu = question.room.mu
    w = question.room.w
    n = order.size - 1
    at = c * order.size
    weight = 0.0
    total = 0.0
    for i in range(n):  # weight, total: of the arms up to i
        cell = at + order[i]
        weight += w[cell]
        total += w[cell] * mu[cell]
        room.up[i] = weight
        room.sum_up[i] = total
    weight = 0.0
    total = 0.0
    for i in range(n - 1, -1, -1):  # of the arms after i
        cell = at + order[i + 1]
        weight += w[cell]
        total += w[cell] * mu[cell]
        room.after[i] = weight
        room.sum_after[i] = total
    everything = room.up[0] + room.after[0]
    if everything == 0.0:
        return
    for i in range(n):
        for j in range(i, n):
            cut = room.up[i] * room.after[j] / everything
            room.pivots.H[i, j] += cut
            if j > i:
                room.pivots.H[j, i] += cut
        if room.up[i] > 0.0 and room.after[i] > 0.0:
            rise = room.sum_after[i] / room.after[i] - room.sum_up[i] / room.up[i]
            room.pivots.g[i] += room.up[i] * room.after[i] / everything * rise


@kernel
def solve_piece(s: AdditiveProblem, p: int) -> bool:
    """The least squares of a piece, from where the piece before it has left the pivots."""
    pivots = s.room.pivots
    lo = s.lines.lo[p]
    hi = s.lines.hi[p]
    if p > 0 and optimise(pivots, lo, hi, s.size):
        return True
    return begin(pivots, lo, hi) and optimise(pivots, lo, hi, s.size)


@kernel
def write_worth(s: AdditiveProblem, d: Floats) -> None:
    """a = what the arms are worth, the first of the line 0."""
    order = s.lines.order
    value = 0.0
    s.room.a[order[0]] = value
    for i in range(d.size):  # a: of the arms up to i
        value += d[i]
        s.room.a[order[i + 1]] = value


@kernel
def write_table(s: AdditiveProblem, lam: Floats) -> float:
    """lam = a + the best b; its cost."""
    question = s.question
    mu = question.room.mu
    w = question.room.w
    K = question.table.K
    a = s.room.a
    for at in range(0, lam.size, K):  # lam: of the segments before
        weight = 0.0
        total = 0.0
        for k in range(K):
            weight += w[at + k]
            total += w[at + k] * (mu[at + k] - a[k])
        if weight == 0.0:  # of which nothing is known
            for k in range(K):
                weight += 1.0
                total += mu[at + k] - a[k]
        for k in range(K):
            lam[at + k] = a[k] + total / weight
    return total_divergence(question.family, w, mu, lam)

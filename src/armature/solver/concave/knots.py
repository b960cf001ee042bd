"""The nearest concave line for squared distances, by the arms at which it bends.

    minimise  sum_k h_k (lam_k - x_k)^2 / 2    over    lam concave along the positions,
                                                       low_k <= lam_k <= high_k,
                                                       lam_i = lam_j for one pair, if there is one

The places at which lam bends, its *knots*, are guessed; between two of them it is a straight line.
So its values at the knots are what to look for, and what they solve has three diagonals. The
guess is right where all bends are downwards and no place between two knots would rather bend: the
moment y, which begins and ends a piece with 0 and of which the second differences are the forces
h (lam - x) on the way, is the multiplier of the place's bend, and must not be negative. Of each
piece the place with the most negative moment becomes a knot; a knot without a bend is one no more.
That changes all pieces at once, and each guess is one pass along the line. From the knots of a
problem close by, few guesses are needed.
"""

from __future__ import annotations

from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel

BOLD = 15  # guesses that change everything at once, before they might go round
GUESSES = 400
ROUNDING = 1e-13  # of a bend, relative to the means; of a moment, relative to all forces on a piece


class Bends(NamedTuple):
    """Concave means along a line: the arms in its order, where they lie, bounds of their means."""

    order: Ints
    position: Floats  # (K,), along the line
    low: Floats
    high: Floats


class BendScratch(NamedTuple):
    """Room to compute in: by place, or by knot."""

    force: Floats  # (K,): h (lam - x), less what the pair adds
    moment: Floats  # (K,)
    rest: Floats  # (K,): what the multiplier of a bound has to make up for
    diagonal: Floats  # by knot
    beside: Floats
    right: Floats
    pair: Floats
    is_knot: Ints  # (K,)
    held: Ints  # (K,): 1 at its upper bound, -1 at its lower one
    at: Ints  # the places of the knots
    # The last projection: its means, cost, variance and piece, for which means and weights it is,
    # and its knots. What starts from it so does not depend on what was asked before.
    mu: Floats
    w: Floats
    base: Floats
    key: Floats  # (4,): the last is 1 if there is one
    knots: Ints
    holds: Ints


class LineTask(NamedTuple):
    """What to minimise; all along the line."""

    h: Floats
    x: Floats
    position: Floats
    low: Floats
    high: Floats
    j: int  # the places of the pair, -1 where there is none
    i: int
    size: float  # of the means
    steepest: float  # the largest h


@kernel
def make_bend_scratch(real: Floats, integer: Ints, K: int) -> BendScratch:
    """Lay the room over scratch space."""
    return BendScratch(
        real[:K],
        real[K : 2 * K],
        real[2 * K : 3 * K],
        real[3 * K : 4 * K],
        real[4 * K : 5 * K],
        real[5 * K : 6 * K],
        real[6 * K : 7 * K],
        integer[:K],
        integer[K : 2 * K],
        integer[2 * K : 3 * K],
        real[7 * K : 8 * K],
        real[8 * K : 9 * K],
        real[9 * K : 10 * K],
        real[10 * K : 10 * K + 4],
        integer[3 * K : 4 * K],
        integer[4 * K : 5 * K],
    )


@kernel
def forget_knots(s: BendScratch) -> None:
    """Guess a straight line, within no bounds."""
    for k in range(s.is_knot.size):
        s.is_knot[k] = 0
        s.held[k] = 0


@kernel
def assemble(task: LineTask, s: BendScratch) -> int:
    """What the values at the knots solve, as if none were held; how many knots there are."""
    h, x, position = task.h, task.x, task.position
    K = h.size
    m = 0
    for k in range(K):
        if k == 0 or k == K - 1 or s.is_knot[k] == 1:
            s.at[m] = k
            s.diagonal[m] = 0.0
            s.beside[m] = 0.0
            s.right[m] = 0.0
            s.pair[m] = 0.0
            m += 1
    for a in range(m - 1):  # the pieces before a are in
        start = s.at[a]
        stop = s.at[a + 1]
        scale = 1.0 / (position[stop] - position[start])
        for k in range(start, stop):
            u = (position[k] - position[start]) * scale
            v = (position[stop] - position[k]) * scale
            s.diagonal[a] += h[k] * v * v
            s.beside[a] += h[k] * u * v
            s.diagonal[a + 1] += h[k] * u * u
            s.right[a] += h[k] * x[k] * v
            s.right[a + 1] += h[k] * x[k] * u
            if k == task.i or k == task.j:
                sign = 1.0 if k == task.i else -1.0
                s.pair[a] += sign * v
                s.pair[a + 1] += sign * u
    s.diagonal[m - 1] += h[K - 1]
    s.right[m - 1] += h[K - 1] * x[K - 1]
    if task.i == K - 1 or task.j == K - 1:
        s.pair[m - 1] += 1.0 if task.i == K - 1 else -1.0
    return m


@kernel
def hold(task: LineTask, m: int, s: BendScratch) -> float:
    """Put held knots where they are held; what that leaves of the pair's condition."""
    left = 0.0
    for a in range(m):
        k = s.at[a]
        if s.held[k] == 0:
            continue
        value = task.high[k] if s.held[k] == 1 else task.low[k]
        left -= s.pair[a] * value
        s.pair[a] = 0.0
        if a > 0:
            s.right[a - 1] -= s.beside[a - 1] * value
            s.beside[a - 1] = 0.0
        if a < m - 1:
            s.right[a + 1] -= s.beside[a] * value
            s.beside[a] = 0.0
        s.diagonal[a] = 1.0
        s.right[a] = value
    return left


@kernel
def solve_tridiagonal(m: int, s: BendScratch, has_pair: bool) -> bool:
    """right, pair = the solutions with these right sides; False where that is not definite."""
    for a in range(1, m):  # the rows before a are eliminated
        if not s.diagonal[a - 1] > 0.0:
            return False
        factor = s.beside[a - 1] / s.diagonal[a - 1]
        s.diagonal[a] -= factor * s.beside[a - 1]
        s.right[a] -= factor * s.right[a - 1]
        if has_pair:
            s.pair[a] -= factor * s.pair[a - 1]
    if not s.diagonal[m - 1] > 0.0:
        return False
    for a in range(m - 1, -1, -1):  # the values after a are solved for
        if a < m - 1:
            s.right[a] -= s.beside[a] * s.right[a + 1]
            s.pair[a] -= s.beside[a] * s.pair[a + 1]
        s.right[a] /= s.diagonal[a]
        s.pair[a] /= s.diagonal[a]
    return True


@kernel
def write_line(task: LineTask, m: int, s: BendScratch, lam: Floats) -> None:
    """lam = the straight lines between the knots' values in `right`."""
    position = task.position
    for a in range(m - 1):
        start = s.at[a]
        stop = s.at[a + 1]
        slope = (s.right[a + 1] - s.right[a]) / (position[stop] - position[start])
        lam[start] = s.right[a]
        for k in range(start + 1, stop):
            lam[k] = s.right[a] + (position[k] - position[start]) * slope
    lam[s.at[m - 1]] = s.right[m - 1]


@kernel
def fit(task: LineTask, s: BendScratch, lam: Floats) -> tuple[int, float]:
    """lam = the best for these knots; how many there are (0: none found), the pair's multiplier."""
    m = assemble(task, s)
    has_pair = task.i >= 0
    if not has_pair:
        hold(task, m, s)
        if not solve_tridiagonal(m, s, False):
            return 0, 0.0
        write_line(task, m, s, lam)
        return m, 0.0
    left = hold(task, m, s)
    for a in range(m):  # the pair's row, which is solved with
        s.moment[a] = s.pair[a]
    if not solve_tridiagonal(m, s, True):
        return 0, 0.0
    bend = 0.0
    for a in range(m):
        left -= s.moment[a] * s.right[a] if s.held[s.at[a]] == 0 else 0.0
        bend += s.moment[a] * s.pair[a]
    if not bend > 0.0:
        return 0, 0.0
    nu = left / bend
    for a in range(m):
        if s.held[s.at[a]] == 0:
            s.right[a] += nu * s.pair[a]
    write_line(task, m, s, lam)
    return m, nu


@kernel
def write_forces(task: LineTask, nu: float, lam: Floats, s: BendScratch) -> None:
    """force = h (lam - x), less what the pair adds."""
    for k in range(lam.size):
        s.force[k] = task.h[k] * (lam[k] - task.x[k])
    if task.i >= 0:
        s.force[task.i] -= nu
        s.force[task.j] += nu


@kernel
def write_moments(position: Floats, m: int, s: BendScratch) -> None:
    """moment = the multipliers of the bends; rest = what is left at the knots."""
    K = position.size
    for k in range(K):
        s.rest[k] = 0.0
    s.moment[0] = 0.0
    for a in range(m - 1):
        start = s.at[a]
        stop = s.at[a + 1]
        length = position[stop] - position[start]
        slope = 0.0  # of the moment at the start of the piece: then it ends with 0
        for k in range(start + 1, stop):
            slope += s.force[k] * (position[stop] - position[k])
        slope /= length
        s.rest[start] += s.force[start] + slope
        for k in range(start + 1, stop):  # slope: that of the moment before k
            s.moment[k] = s.moment[k - 1] + slope * (position[k] - position[k - 1])
            slope -= s.force[k]
        s.moment[stop] = 0.0
        s.rest[stop] -= slope
    s.rest[K - 1] += s.force[K - 1]


@inlined
def bend_at(task: LineTask, lam: Floats, s: BendScratch, a: int) -> float:
    """How much steeper it is after a knot than before it, as a height over its shorter piece."""
    before = task.position[s.at[a]] - task.position[s.at[a - 1]]
    after = task.position[s.at[a + 1]] - task.position[s.at[a]]
    here = lam[s.at[a]]
    steeper = (lam[s.at[a + 1]] - here) / after - (here - lam[s.at[a - 1]]) / before
    return float(steeper * min(before, after))


@kernel
def correct(task: LineTask, m: int, lam: Floats, s: BendScratch, careful: bool) -> bool:
    """Change the guess where it is wrong; whether it was. If careful, at one place only.

    Knots without a bend go first, all of them.
    """
    near = ROUNDING * task.size
    wrong = False
    for a in range(m):
        k = s.at[a]
        inner = 0 < a < m - 1
        if s.held[k] != 0 and s.rest[k] * s.held[k] > near * task.steepest:
            s.held[k] = 0
            wrong = True
        elif inner and bend_at(task, lam, s, a) > (-near if s.held[k] == 0 else near):
            s.is_knot[k] = 0
            s.held[k] = 0
            wrong = True
        elif s.held[k] == 0 and lam[k] > task.high[k] + near:
            s.held[k] = 1
            wrong = True
        elif s.held[k] == 0 and lam[k] < task.low[k] - near and not inner:
            s.held[k] = -1
            wrong = True
        if wrong and careful:
            return True
    return wrong or add_knots(task, m, s, careful)


@kernel
def add_knots(task: LineTask, m: int, s: BendScratch, careful: bool) -> bool:
    """Of each piece (if careful, of the first one) let the most negative moment be a knot."""
    near = ROUNDING * task.size
    wrong = False
    for a in range(m - 1):
        start = s.at[a]
        stop = s.at[a + 1]
        weight = 0.0
        worst = -1
        for k in range(start + 1, stop):  # worst: of the places of the piece before k
            weight += task.h[k]
            if worst < 0 or s.moment[k] < s.moment[worst]:
                worst = k
        length = task.position[stop] - task.position[start]
        if worst >= 0 and s.moment[worst] < -near * weight * length:
            s.is_knot[worst] = 1
            wrong = True
            if careful:
                return True
    return wrong


@kernel
def nearest_bends(task: LineTask, s: BendScratch, lam: Floats) -> tuple[int, float]:
    """lam = the nearest concave line, from the knots in s on; how many knots it has (0: not found),
    and the multiplier of the pair.
    """
    for guess in range(GUESSES):
        m, nu = fit(task, s, lam)
        if m == 0:
            return 0, 0.0
        write_forces(task, nu, lam, s)
        write_moments(task.position, m, s)
        if not correct(task, m, lam, s, guess >= BOLD):
            return m, nu
    return 0, 0.0

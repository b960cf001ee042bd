"""Means that only have to be in order, more exactly: each is that of the arms it is tied to.

What minimises the cost under orders is the same for every family, so one quadratic program finds
it. But what is next to nothing in a quadratic cost is not so in others: with a mean of 0, Poisson
rewards make 3e-10 cost 3e-10 and not its square. Tied arms have the weighted mean of their own
means, which needs no program once it is known who is tied to whom. Where means are many orders of
magnitude apart, that is guessed at several scales.
"""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.vectors import largest
from armature.solver.rows import Limits, Rows, ordered_arms

TIED = 1e-10  # what is so near, relative to the means, may be equal but for rounding
CLOSER = 1e-2  # how much nearer it must be next: the least cost tells who is tied
GUESSES = 4


@kernel
def tie(lam: Floats, lower: int, upper: int, near: float, tied_to: Floats) -> bool:
    """Let both arms be tied to the first of those that either is tied to; whether that is new."""
    if abs(lam[upper] - lam[lower]) > near or tied_to[lower] == tied_to[upper]:
        return False
    first = min(tied_to[lower], tied_to[upper])
    tied_to[lower] = first
    tied_to[upper] = first
    return True


@kernel
def compares(rows: Rows, row: int) -> bool:
    """Whether a row compares two arms, and not one with a number."""
    return bool(rows.start[row + 1] - rows.start[row] == 2)


@kernel
def tie_all(rows: Rows, limits: Limits, lam: Floats, near: float, tied_to: Floats) -> None:
    """Each arm is tied to the first of those that orders connect it to, at nearly the same mean."""
    for i in range(lam.size):
        tied_to[i] = i
    is_new = True
    while is_new:
        is_new = False
        for row in range(rows.right.size):
            a = rows.start[row]
            if compares(rows, row) and tie(
                lam, rows.indices[a], rows.indices[a + 1], near, tied_to
            ):
                is_new = True
        for number in range(lam.size + 2):
            upper, lower = ordered_arms(limits, number)
            if upper >= 0 and lower >= 0:
                is_new = tie(lam, lower, upper, near, tied_to) or is_new


@kernel
def keep_within(rows: Rows, limits: Limits, tied_to: Floats, exact: Floats) -> None:
    """Move the means of tied arms, in the place of the first, to where limits and numbers allow."""
    for i in range(exact.size):
        first = int(tied_to[i])
        exact[first] = min(max(exact[first], limits.low[i]), limits.high[i])
    for row in range(rows.right.size):
        if not compares(rows, row):
            first = int(tied_to[rows.indices[rows.start[row]]])
            least, most = ends_of(rows, row)
            exact[first] = min(max(exact[first], least), most)


@kernel
def ends_of(rows: Rows, row: int) -> tuple[float, float]:
    """Between which numbers an arm has to be, by a row that compares it with one."""
    value = rows.values[rows.start[row]]
    number = rows.right[row] / value
    fixed = row < rows.equalities
    least = number if value > 0.0 or fixed else -math.inf
    most = number if value < 0.0 or fixed else math.inf
    return least, most


@kernel
def are_in_order(rows: Rows, limits: Limits, lam: Floats) -> bool:
    """Whether every order of two arms, limit and number holds, exactly."""
    for row in range(rows.right.size):
        a = rows.start[row]
        if compares(rows, row):
            first = rows.values[a] * lam[rows.indices[a]]
            second = -rows.values[a + 1] * lam[rows.indices[a + 1]]
            if first < second or (row < rows.equalities and first > second):
                return False
        else:
            least, most = ends_of(rows, row)
            if not least <= lam[rows.indices[a]] <= most:
                return False
    for i in range(lam.size):
        if not limits.low[i] <= lam[i] <= limits.high[i]:
            return False
    for number in range(lam.size + 2):
        upper, lower = ordered_arms(limits, number)
        if upper >= 0 and lower >= 0 and lam[upper] < lam[lower]:
            return False
    return True


@kernel
def settle(
    mu: Floats,
    w: Floats,
    rows: Rows,
    limits: Limits,
    lam: Floats,
    guess: int,
    exact: Floats,
    room: Floats,
) -> bool:
    """exact = the means of tied arms, for the ties of lam; whether all constraints hold.

    Every row compares two arms, or one with a number. Arms without any weight stay where they are.
    With each guess, from 0 to GUESSES - 1, fewer arms are tied. `room` takes 2 K floats.
    """
    K = lam.size
    tied_to = room[:K]
    weights = room[K : 2 * K]
    near = TIED * CLOSER**guess * max(largest(mu), largest(lam))
    tie_all(rows, limits, lam, near, tied_to)
    for i in range(K):
        exact[i] = 0.0
        weights[i] = 0.0
    for i in range(K):
        first = int(tied_to[i])
        weights[first] += w[i]
        exact[first] += w[i] * mu[i]
    for i in range(K):
        if weights[i] > 0.0:
            exact[i] /= weights[i]
    keep_within(rows, limits, tied_to, exact)
    for i in range(K - 1, -1, -1):  # the first of tied arms has their mean until the end
        first = int(tied_to[i])
        exact[i] = exact[first] if weights[first] > 0.0 else lam[i]
    return are_in_order(rows, limits, exact)

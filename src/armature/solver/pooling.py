"""Pooling: the common value of arms that are made equal, and isotonic regression made of it.

For every one-parameter exponential family the y that minimises sum_i w_i d(x_i, y) is the weighted
mean of the x_i. Only the cost depends on the family.

Isotonic regression pools adjacent violators. The arms of a run are visited as i = start,
start + step, ..., and the fit must not decrease along the run; a run is thus also a decreasing one,
read backwards. The fits of all prefixes of a run share their blocks: a fit is its last block and,
before that, the fit of a shorter prefix. So all of them together take O(K) room and time. Costs
follow from

    sum_A w_i d(x_i, y) = sum_A w_i d(x_i, m) + W d(m, y),   m the weighted mean of A, W its weight,

so that pooling two blocks only ever *adds* non-negative terms: nothing cancels.

*Tied arms* have the weighted mean of their own means. What minimises the cost under orders is the
same for every family, so one quadratic program finds it; but what is next to nothing in a quadratic
cost is not so in others: with a mean of 0, Poisson rewards make 3e-10 cost 3e-10 and not its
square. The weighted mean needs no program, once it is known which arms are tied. Where means are
many orders of magnitude apart, that is guessed at several scales.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import largest
from armature.solver.program import Region, Rows, ordered_arms

TIED = 1e-10  # what is so near, relative to the means, may be equal but for rounding
CLOSER = 1e-2  # how much nearer it must be next: the least cost tells who is tied
GUESSES = 4


@inlined
def pooled_mean(w: float, x: float, v: float, y: float) -> float:
    """The weighted mean of x (weight w) and y (weight v), between them even after rounding.

    Two weightless arms may meet anywhere; half-way treats them alike.
    """
    if w + v == 0.0:
        return 0.5 * x + 0.5 * y
    # From the heavier side: the correction is at most half of the distance, and tiny weights
    # beside large ones lose nothing.
    if w >= v:
        return x + (y - x) * (v / (w + v))
    return y + (x - y) * (w / (w + v))


@inlined
def pair_cost(family: FamilyRecord, w: float, x: float, v: float, y: float) -> float:
    """The cost to make y (weight v) as good as x (weight w) and change nothing else."""
    if y >= x:
        return 0.0
    z = pooled_mean(w, x, v, y)
    return weighted_divergence(family, w, x, z) + weighted_divergence(family, v, y, z)


class Prefixes(NamedTuple):
    """The non-decreasing fits to the first t arms of a run, for t = 0 .. n."""

    cost: Floats
    mean: Floats  # of the last block; -inf where there is none
    weight: Floats
    before: Ints  # how many arms are before that block


@kernel
def prefixes_of(real: Floats, integer: Ints, n: int) -> Prefixes:
    """Room for the fits to runs of at most n arms: 3 (n + 1) floats and n + 1 integers."""
    m = n + 1
    return Prefixes(real[:m], real[m : 2 * m], real[2 * m : 3 * m], integer[:m])


@kernel
def fit_prefixes(
    family: FamilyRecord, mu: Floats, w: Floats, start: int, step: int, n: int, run: Prefixes
) -> None:
    """Fit all prefixes of the run of n arms that begins at `start`.

    Paper: Appendix G.2, unimodal.
    """
    run.cost[0] = 0.0
    run.mean[0] = -math.inf
    run.weight[0] = 0.0
    run.before[0] = 0
    cost = 0.0
    # The fit to the first t arms is done. Arm t is a new block, which absorbs the block before it
    # until that one is no higher.
    for t in range(n):
        mean = mu[start + step * t]
        weight = w[start + step * t]
        at = t
        while run.mean[at] > mean:
            m = run.mean[at]
            v = run.weight[at]
            pooled = pooled_mean(v, m, weight, mean)
            cost += weighted_divergence(family, v, m, pooled)
            cost += weighted_divergence(family, weight, mean, pooled)
            mean = pooled
            weight += v
            at = run.before[at]
        run.mean[t + 1] = mean
        run.weight[t + 1] = weight
        run.before[t + 1] = at
        run.cost[t + 1] = cost


@kernel
def write_prefix(run: Prefixes, start: int, step: int, t: int, lam: Floats) -> None:
    """lam = the fit to the first t arms of a run, at these arms."""
    while t > 0:  # the arms of the run from t on have their values; then its last block's
        first = run.before[t]
        for a in range(first, t):
            lam[start + step * a] = run.mean[t]
        t = first


@kernel
def count_common(run: Prefixes, s: int, n: int, common: Ints) -> None:
    """common[t] = of how many arms the fits to the first s and to the first t of n arms agree.

    Where a block of the longer fit ends within the shorter one, one of that ends there, too: blocks
    that are pooled stay so.
    """
    end = s
    for t in range(s, -1, -1):  # end: where a block of the fit to s arms ends, at or before t + 1
        while end > t:
            end = run.before[end]
        common[t] = end
    for t in range(s + 1, n + 1):  # those before t are known
        end = run.before[t]
        common[t] = end if end <= s else common[end]


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
    """True if a row compares two arms, and not one with a number."""
    return bool(rows.start[row + 1] - rows.start[row] == 2)


@kernel
def tie_all(region: Region, lam: Floats, near: float, tied_to: Floats) -> None:
    """Each arm is tied to the first of those that orders connect it to, at nearly the same mean."""
    rows = region.rows
    for i in range(lam.size):
        tied_to[i] = i
    is_new = True
    # Arms with the same `tied_to` are connected; a round that finds no new pair is the last.
    while is_new:
        is_new = False
        for row in range(rows.right.size):
            a = rows.start[row]
            if compares(rows, row) and tie(
                lam, rows.indices[a], rows.indices[a + 1], near, tied_to
            ):
                is_new = True
        for number in range(lam.size + 2):
            upper, lower = ordered_arms(region.limits, number)
            if upper >= 0 and lower >= 0:
                is_new = tie(lam, lower, upper, near, tied_to) or is_new


@kernel
def keep_within(region: Region, tied_to: Floats, exact: Floats) -> None:
    """Move the means of tied arms, in the place of the first, to where limits and numbers allow."""
    rows = region.rows
    limits = region.limits
    for i in range(exact.size):  # clipped to the limits of the arms before i
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
def are_in_order(region: Region, lam: Floats) -> bool:
    """True if every order of two arms, limit and number holds, exactly."""
    rows = region.rows
    limits = region.limits
    for row in range(rows.right.size):  # all rows before this hold
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
    region: Region,
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
    tie_all(region, lam, near, tied_to)
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
    keep_within(region, tied_to, exact)
    for i in range(K - 1, -1, -1):  # the first of tied arms has their mean until the end
        first = int(tied_to[i])
        exact[i] = exact[first] if weights[first] > 0.0 else lam[i]
    return are_in_order(region, exact)

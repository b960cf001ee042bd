"""A few peaks along a line: the cheapest ways to divide the arms into hills.

A *hill* is a rising run of arms and a falling one, either of which may be empty. Nothing is asked
of the two arms where runs meet: whichever is higher is the peak between a rising and a falling run,
whichever is lower the valley between two hills. So a division costs what its runs cost one by one,
which `solver.runs` knows for all of them, and the cheapest division into at most m hills follows by
dynamic programming in O(m K^2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.solver.runs import RunFits, fit_runs, runs_of, write_run
from armature.structures.oracles.records import OracleProblem, Shape, Work

TABLES = 4


class Hills(NamedTuple):
    """The runs, and the cheapest divisions of the first and of the last arms.

    Of the latter, entry q (K + 1) + a is about at most q hills of the arms before a, or q further
    ones of the arms from a on: `*_rising` begins there with a rising run, or ends with one.
    """

    rising: RunFits  # row s: from s on; the last block is the highest
    falling: RunFits  # likewise; the last block is the lowest
    risen: RunFits  # row s: runs that end before s, read backwards; the last block is the lowest
    fallen: RunFits  # likewise; the last block is the highest
    before: Floats  # ((m + 1) (K + 1),): whole hills
    before_rising: Floats  # with the last one up to its peak
    after: Floats  # whole hills
    after_falling: Floats  # after the rest of one that falls


@kernel
def hills_of(work: Work, K: int, m: int) -> Hills:
    """Room in the scratch space."""
    n = (K + 1) * (K + 1)
    k = (m + 1) * (K + 1)
    real = work.real
    integer = work.integer
    a = 3 * n * TABLES
    return Hills(
        runs_of(real, integer, K),
        runs_of(real[3 * n :], integer[n:], K),
        runs_of(real[6 * n :], integer[2 * n :], K),
        runs_of(real[9 * n :], integer[3 * n :], K),
        real[a : a + k],
        real[a + k : a + 2 * k],
        real[a + 2 * k : a + 3 * k],
        real[a + 3 * k : a + 4 * k],
    )


@inlined
def rise(hills: Hills, K: int, a: int, b: int) -> float:
    """The cost that the arms from a to b - 1 rise."""
    return float(hills.rising.cost[a * (K + 1) + b - a])


@inlined
def fall(hills: Hills, K: int, a: int, b: int) -> float:
    """The cost that they fall."""
    return float(hills.falling.cost[a * (K + 1) + b - a])


@kernel
def divide_first(hills: Hills, K: int, m: int) -> None:
    """The cheapest divisions of the arms before each place."""
    n = K + 1
    for a in range(n):
        hills.before[a] = 0.0 if a == 0 else math.inf
        hills.before_rising[a] = math.inf
    for q in range(1, m + 1):  # those with fewer hills are there
        for a in range(n):
            least = math.inf
            for b in range(a + 1):
                least = min(least, hills.before[(q - 1) * n + b] + rise(hills, K, b, a))
            hills.before_rising[q * n + a] = least
        for a in range(n):
            least = math.inf
            for b in range(a + 1):
                least = min(least, hills.before_rising[q * n + b] + fall(hills, K, b, a))
            hills.before[q * n + a] = least


@kernel
def divide_last(hills: Hills, K: int, m: int) -> None:
    """The cheapest divisions of the arms from each place on."""
    n = K + 1
    for q in range(m + 1):  # those with fewer hills are there
        for a in range(K, -1, -1):
            least = 0.0 if a == K else math.inf
            if q > 0:
                for b in range(a, n):
                    least = min(least, rise(hills, K, a, b) + hills.after_falling[(q - 1) * n + b])
            hills.after[q * n + a] = least
        for a in range(K, -1, -1):
            least = math.inf
            for b in range(a, n):
                least = min(least, fall(hills, K, a, b) + hills.after[q * n + b])
            hills.after_falling[q * n + a] = least


@kernel
def fit_hills(family: FamilyRecord, mu: Floats, w: Floats, m: int, hills: Hills) -> None:
    """Fit all runs, and divide the arms."""
    fit_runs(family, mu, w, False, 1.0, hills.rising)
    fit_runs(family, mu, w, False, -1.0, hills.falling)
    divide_first(hills, mu.size, m)


@kernel
def fit_backwards(family: FamilyRecord, mu: Floats, w: Floats, m: int, hills: Hills) -> None:
    """The same from the other end: what only questions about two arms need."""
    fit_runs(family, mu, w, True, -1.0, hills.risen)
    fit_runs(family, mu, w, True, 1.0, hills.fallen)
    divide_last(hills, mu.size, m)


@kernel
def write_first(hills: Hills, K: int, q: int, a: int, lam: Floats) -> None:
    """lam = the cheapest q hills of the arms before a."""
    n = K + 1
    while a > 0:  # the arms from a on have their means
        b = a
        while hills.before_rising[q * n + b] + fall(hills, K, b, a) > hills.before[q * n + a]:
            b -= 1
        write_run(K, b, a - b, False, -math.inf, -1.0, lam, hills.falling)
        c = b
        q -= 1
        while hills.before[q * n + c] + rise(hills, K, c, b) > hills.before_rising[q * n + n + b]:
            c -= 1
        write_run(K, c, b - c, False, math.inf, 1.0, lam, hills.rising)
        a = c


@kernel
def write_last(hills: Hills, K: int, q: int, a: int, falls: bool, lam: Floats) -> None:
    """lam = the cheapest q hills of the arms from a on, perhaps after a run that falls."""
    n = K + 1
    while a < K:  # the arms before a have their means
        b = a
        if falls:
            while fall(hills, K, a, b) + hills.after[q * n + b] > hills.after_falling[q * n + a]:
                b += 1
            write_run(K, a, b - a, False, -math.inf, -1.0, lam, hills.falling)
        else:
            q -= 1
            while (
                rise(hills, K, a, b) + hills.after_falling[q * n + b] > hills.after[q * n + n + a]
            ):
                b += 1
            write_run(K, a, b - a, False, math.inf, 1.0, lam, hills.rising)
        a = b
        falls = not falls


@kernel
def scratch_of(work: Work, K: int, m: int) -> Hills:
    """The scratch space of `project` and `highest`."""
    return hills_of(work, K, m)


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The cheapest division; shape.integer[0] is how many peaks there may be."""
    K = lam.size
    m = problem.shape.integer[0]
    hills = hills_of(problem.work, K, m)
    fit_hills(problem.family, problem.mu, problem.w, m, hills)
    write_first(hills, K, m, K, lam)
    return total_divergence(problem.family, problem.w, problem.mu, lam)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper end of each arm at which a peak can be, with few enough others."""
    K = low.size
    n = K + 1
    fewest = work.real[:n]  # hills that the arms before a need
    rest = work.real[n : 2 * n]  # hills that the arms from a on need
    fewest_hills(low, high, 1, fewest)
    fewest_hills(low, high, -1, rest)
    possible = 0.0
    for p in range(K):
        left = fewest_around(low, high, p, -1, fewest)
        right = fewest_around(low, high, p, 1, rest)
        out[p] = -math.inf
        if left + 1.0 + right <= shape.integer[0]:
            out[p] = high[p]
            possible = 1.0
    return possible


@kernel
def fewest_around(low: Floats, high: Floats, p: int, step: int, others: Floats) -> float:
    """How many hills are needed beyond the side of the hill whose peak is p, as high as can be."""
    K = low.size
    least = math.inf
    most = high[p]
    i = p
    # The arms from p to i can fall away from it: none has to be above `most`.
    while 0 <= i < K and low[i] <= min(most, high[i]):
        most = min(most, high[i])
        least = min(least, others[i if step < 0 else i + 1])
        i += step
    return least


@kernel
def fewest_hills(low: Floats, high: Floats, step: int, fewest: Floats) -> None:
    """fewest[a] = how many hills the arms on one side of place a need; inf where there are none.

    Longer hills are better: what is left for the next one is less. So each one rises, and then
    falls, for as long as it can.
    """
    K = low.size
    a = 0 if step > 0 else K - 1
    fewest[0 if step > 0 else K] = 0.0
    hill = 0.0
    rises = False
    bound = -math.inf  # the least mean that the last arm can have while it rises, or the highest
    for _ in range(K):  # the arms up to a, seen from the end, need so many hills
        if rises and max(bound, low[a]) <= high[a]:
            bound = max(bound, low[a])
        elif not rises and hill > 0.0 and low[a] <= min(bound, high[a]):
            bound = min(bound, high[a])
        elif rises:
            rises = False
            bound = high[a]
        else:
            hill += 1.0
            rises = True
            bound = low[a]
        if low[a] > high[a]:
            hill = math.inf
        fewest[a + 1 if step > 0 else a] = hill
        a += step

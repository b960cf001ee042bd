"""A few peaks: what it costs that arm k is a peak and at least as good as arm j, for k before j.

Let t be the mean of k. Then k's hill is cut off at t (a neighbour is in it, else nothing would be
asked of the two), and j is at most t: it is in k's hill, or its
run has it below t anyhow (j is *free*), or it is at t (*tied*), and the run is cut off at t on its
side that is nearer to the peak from below, on the other from above. Given t, all runs cost what
they cost one by one, so that the cheapest division follows by dynamic programming.

The cost of one division is convex in the natural parameter of t, with slope W t - X if arms of
weight W and sum X are at t. So tangents at one t are a bound from below, for each division; the
cheapest division of tangents is concave in the parameter, as a least linear function. It is
therefore known on an interval to be at least what it is at both ends and between. What k costs
itself, and j where it is tied, is not replaced by a tangent. Intervals are divided until no part
can be cheaper than the best t found, by more than a ten-billionth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families import FamilyRecord
from armature.families.kernels import divergence, weighted_divergence
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.solver.runs import RunFits, cut_off, value_at
from armature.structures.oracles.hills.costs import (
    Hills,
    fall,
    fit_backwards,
    fit_hills,
    hills_of,
    rise,
)
from armature.structures.oracles.records import Work

PARTS = 400  # intervals that wait, at most


class Rivals(NamedTuple):
    """Room for the question about k and j; what is said of them is for one t at a time."""

    hills: Hills
    lam: Floats  # (K,)
    peak_left: Floats  # (K + 1,): the run from there up to k, without k
    peak_right: Floats  # the run from k down to before there
    up_left: Floats  # the run from there up to j, without j
    up_right: Floats  # from j up to before there
    down_left: Floats
    down_right: Floats
    tied_up: Floats  # (m,): from j on, in a run that rises, with so many further hills
    tied_down: Floats
    tied_rising: Floats  # (m (K + 1),): from there on, with a rising run first
    tied_falling: Floats
    free_rising: Floats
    free_falling: Floats
    mean_rising: Floats  # ((K + 1)^2,): of j in the run from there to there
    mean_falling: Floats
    least_rising: Floats  # (K + 1,): the least of these, of all runs from there on
    least_falling: Floats
    parts: Floats  # (8 PARTS,): intervals of t


class ArmPair(NamedTuple):
    """Two arms, k before j, and how many peaks there may be."""

    family: FamilyRecord
    mu: Floats
    w: Floats
    k: int
    j: int
    peaks: int
    low: float  # the least and the greatest mean
    high: float


@kernel
def rivals_of(work: Work, K: int, m: int) -> Rivals:
    """Room in the scratch space."""
    n = K + 1
    hills = hills_of(work, K, m)
    real = work.real[12 * n * n + 4 * (m + 1) * n :]
    a = 7 * n
    b = a + 2 * m
    c = b + 4 * m * n
    d = c + 2 * n * n
    return Rivals(
        hills,
        real[:K],
        real[n : 2 * n],
        real[2 * n : 3 * n],
        real[3 * n : 4 * n],
        real[4 * n : 5 * n],
        real[5 * n : 6 * n],
        real[6 * n : 7 * n],
        real[a : a + m],
        real[a + m : b],
        real[b : b + m * n],
        real[b + m * n : b + 2 * m * n],
        real[b + 2 * m * n : b + 3 * m * n],
        real[b + 3 * m * n : c],
        real[c : c + n * n],
        real[c + n * n : d],
        real[d : d + n],
        real[d + n : d + 2 * n],
        real[d + 2 * n : d + 2 * n + 8 * PARTS],
    )


@kernel
def prepare(family: FamilyRecord, mu: Floats, w: Floats, j: int, m: int, room: Rivals) -> None:
    """The common part of all questions about j."""
    K = mu.size
    n = K + 1
    hills = room.hills
    fit_hills(family, mu, w, m, hills)
    fit_backwards(family, mu, w, m, hills)
    for a in range(j + 1):
        room.least_rising[a] = math.inf
        room.least_falling[a] = math.inf
        for b in range(j + 1, n):
            rising = value_at(K, a, b - a, j - a, hills.rising)
            falling = value_at(K, a, b - a, j - a, hills.falling)
            room.mean_rising[a * n + b] = rising
            room.mean_falling[a * n + b] = falling
            room.least_rising[a] = min(room.least_rising[a], rising)
            room.least_falling[a] = min(room.least_falling[a], falling)


@inlined
def way(family: FamilyRecord, low: float, high: float, t: float, y: float) -> float:
    """The natural parameter of y less that of t; low and high are two means."""
    if t == y:
        return 0.0
    if family.gaussian:
        return (y - t) / family.parameter
    here = divergence(family, low, t) - divergence(family, high, t)
    there = divergence(family, low, y) - divergence(family, high, y)
    return (there - here) / (high - low)


@inlined
def tangent(
    family: FamilyRecord, K: int, s: int, n: int, t: float, move: float, sign: float, runs: RunFits
) -> float:
    """A lower bound on the cost of a fit cut off at t when t has moved; move is in its parameter.

    Where that is infinite: at least what it costs on the way there.
    """
    value, weight, total = cut_off(family, K, s, n, t, sign, runs)
    slope = weight * t - total
    if weight == 0.0 or move == 0.0:
        return value
    if abs(move) == math.inf:
        return float(runs.cost[s * (K + 1) + n]) if (slope < 0.0) == (move > 0.0) else value
    return value + slope * move


@kernel
def weigh_run_of_second(pair: ArmPair, t: float, move: float, room: Rivals) -> None:
    """The parts of the run of j where j is tied."""
    family, k, j, m = pair.family, pair.k, pair.j, pair.peaks
    K = pair.mu.size
    hills = room.hills
    for a in range(k + 1, j + 1):
        room.up_left[a] = tangent(family, K, a, j - a, t, move, 1.0, hills.rising)
        room.down_left[a] = tangent(family, K, a, j - a, t, move, -1.0, hills.falling)
    for p in range(m):
        room.tied_up[p] = math.inf
        room.tied_down[p] = math.inf
    for b in range(j + 1, K + 1):
        room.up_right[b] = tangent(family, K, b, b - j - 1, t, move, -1.0, hills.risen)
        room.down_right[b] = tangent(family, K, b, b - j - 1, t, move, 1.0, hills.fallen)
        for p in range(m):
            at = p * (K + 1) + b
            room.tied_up[p] = min(room.tied_up[p], room.up_right[b] + hills.after_falling[at])
            room.tied_down[p] = min(room.tied_down[p], room.down_right[b] + hills.after[at])


@kernel
def weigh_tied(pair: ArmPair, room: Rivals) -> None:
    """The cheapest divisions of the arms from each place on, after k and up to j, if j is tied."""
    k, j, m = pair.k, pair.j, pair.peaks
    K = pair.mu.size
    n = K + 1
    hills = room.hills
    for p in range(m):  # those with fewer hills are there
        for a in range(j, k, -1):
            least = math.inf
            if p > 0:
                least = room.up_left[a] + room.tied_up[p - 1]
                for b in range(a, j + 1):
                    rest = room.tied_falling[(p - 1) * n + b]
                    least = min(least, rise(hills, K, a, b) + rest)
            room.tied_rising[p * n + a] = least
        for a in range(j, k, -1):
            least = room.down_left[a] + room.tied_down[p]
            if p > 0:
                for b in range(a, j + 1):
                    least = min(least, fall(hills, K, a, b) + room.tied_rising[p * n + b])
            room.tied_falling[p * n + a] = least


@kernel
def weigh_free(pair: ArmPair, t: float, room: Rivals) -> None:
    """The same if j is free: its run has it at t or below anyhow."""
    k, j, m = pair.k, pair.j, pair.peaks
    K = pair.mu.size
    n = K + 1
    hills = room.hills
    none = True
    for a in range(j, k, -1):
        none = none and room.least_rising[a] > t and room.least_falling[a] > t
    for p in range(m):  # those with fewer hills are there
        for a in range(j, k, -1):
            least = math.inf
            if p > 0 and not none:
                for b in range(j + 1 if room.least_rising[a] <= t else n, n):
                    if room.mean_rising[a * n + b] <= t:
                        rest = hills.after_falling[(p - 1) * n + b]
                        least = min(least, rise(hills, K, a, b) + rest)
                for b in range(a, j + 1):
                    rest = room.free_falling[(p - 1) * n + b]
                    least = min(least, rise(hills, K, a, b) + rest)
            room.free_rising[p * n + a] = least
        for a in range(j, k, -1):
            least = math.inf
            if not none:
                for b in range(j + 1 if room.least_falling[a] <= t else n, n):
                    if room.mean_falling[a * n + b] <= t:
                        least = min(least, fall(hills, K, a, b) + hills.after[p * n + b])
                for b in range(a, j + 1):
                    least = min(least, fall(hills, K, a, b) + room.free_rising[p * n + b])
            room.free_falling[p * n + a] = least


class Divisions(NamedTuple):
    """The cost of a division without k itself, and without j where it is tied."""

    tied: float
    free: float


@kernel
def weigh(pair: ArmPair, t: float, move: float, room: Rivals) -> Divisions:
    """The cheapest divisions, or what tangents at t make of them."""
    family, k, m = pair.family, pair.k, pair.peaks
    K = pair.mu.size
    hills = room.hills
    weigh_run_of_second(pair, t, move, room)
    weigh_tied(pair, room)
    weigh_free(pair, t, room)
    for a in range(max(k, 1)):
        room.peak_left[a] = tangent(family, K, a, k - a, t, move, 1.0, hills.rising)
    for b in range(min(k + 2, K), K + 1):
        room.peak_right[b] = tangent(family, K, b, b - k - 1, t, move, 1.0, hills.fallen)
    tied = math.inf
    free = math.inf
    for q in range(m):  # the cheapest with fewer than q hills before that of k
        left = left_of_peak(pair, q, room)
        tied = min(tied, left + right_of_peak(pair, m - 1 - q, True, room))
        free = min(free, left + right_of_peak(pair, m - 1 - q, False, room))
    return Divisions(tied, free)


@kernel
def left_of_peak(pair: ArmPair, q: int, room: Rivals) -> float:
    """The arms before k, in q hills and that of k."""
    least = math.inf
    n = pair.mu.size + 1
    for a in range(max(pair.k, 1)):
        least = min(least, room.hills.before[q * n + a] + room.peak_left[a])
    return least


@kernel
def right_of_peak(pair: ArmPair, p: int, is_tied: bool, room: Rivals) -> float:
    """The arms after k, in its hill and p further ones."""
    least = math.inf
    K = pair.mu.size
    for b in range(min(pair.k + 2, K), K + 1):
        least = min(least, room.peak_right[b] + beyond_hill(pair, p, b, is_tied, room))
    return least


@inlined
def beyond_hill(pair: ArmPair, p: int, b: int, is_tied: bool, room: Rivals) -> float:
    """The arms from b on, which are not in the hill of k, in p hills."""
    at = p * (pair.mu.size + 1) + b
    if b > pair.j:
        return math.inf if is_tied else float(room.hills.after[at])
    return float(room.tied_rising[at] if is_tied else room.free_rising[at])


@inlined
def own_cost(pair: ArmPair, i: int, t: float) -> float:
    """The cost that arm i is at t."""
    return weighted_divergence(pair.family, pair.w[i], pair.mu[i], t)

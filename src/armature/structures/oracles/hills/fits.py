"""A few peaks: the fit behind what was weighed at one level (see `challengers`)."""

from __future__ import annotations

import math

from armature.families.kernels import total_divergence
from armature.kernels.kernel import kernel
from armature.solver.runs import write_run
from armature.structures.oracles.hills.challengers import (
    ArmPair,
    Divisions,
    Rivals,
    beyond_hill,
    left_of_peak,
    own_cost,
    right_of_peak,
    weigh,
)
from armature.structures.oracles.hills.costs import write_first, write_last


@kernel
def best_at(pair: ArmPair, t: float, room: Rivals) -> float:
    """room.lam = the best fit in which k is at t; its cost, without rounding in between."""
    found = weigh(pair, t, 0.0, room)
    tied = found.tied + own_cost(pair, pair.j, t)
    if own_cost(pair, pair.k, t) + min(tied, found.free) == math.inf:
        return math.inf
    trace(pair, t, tied < found.free, found, room)
    return total_divergence(pair.family, pair.w, pair.mu, room.lam)


@kernel
def trace(pair: ArmPair, t: float, is_tied: bool, found: Divisions, room: Rivals) -> None:
    """room.lam = the division that was weighed: each part is the first that costs as little."""
    k, j, m = pair.k, pair.j, pair.peaks
    K = pair.mu.size
    hills = room.hills
    lam = room.lam
    whole = found.tied if is_tied else found.free
    q = 0
    while left_of_peak(pair, q, room) + right_of_peak(pair, m - 1 - q, is_tied, room) > whole:
        q += 1
    p = m - 1 - q
    a = 0
    whole = left_of_peak(pair, q, room)
    while hills.before[q * (K + 1) + a] + room.peak_left[a] > whole:
        a += 1
    write_first(hills, K, q, a, lam)
    write_run(K, a, k - a, False, t, 1.0, lam, hills.rising)
    lam[k] = t
    b = min(k + 2, K)
    whole = right_of_peak(pair, p, is_tied, room)
    while room.peak_right[b] + beyond_hill(pair, p, b, is_tied, room) > whole:
        b += 1
    write_run(K, b, b - k - 1, True, t, 1.0, lam, hills.fallen)
    if b > j:
        write_last(hills, K, p, b, False, lam)
    else:
        trace_beyond(pair, t, is_tied, p, b, room)


@kernel
def trace_beyond(pair: ArmPair, t: float, is_tied: bool, p: int, a: int, room: Rivals) -> None:
    """The same from a on, where a hill begins, with j in one of p hills."""
    K = pair.mu.size
    n = K + 1
    hills = room.hills
    rises = True
    while a <= pair.j:  # the arms before a have their means
        if rises:
            whole = (room.tied_rising if is_tied else room.free_rising)[p * n + a]
            own = room.up_left[a] + room.tied_up[p - 1]
            runs = hills.rising
            p -= 1
        else:
            whole = (room.tied_falling if is_tied else room.free_falling)[p * n + a]
            own = room.down_left[a] + room.tied_down[p]
            runs = hills.falling
        if is_tied and own <= whole:
            trace_tied(pair, t, rises, p, a, room)
            return
        b = a
        while runs.cost[a * n + b - a] + after_run(pair, t, is_tied, rises, p, a, b, room) > whole:
            b += 1
        sign = 1.0 if rises else -1.0
        write_run(K, a, b - a, False, sign * math.inf, sign, room.lam, runs)
        a = b
        rises = not rises
    write_last(hills, K, p, a, not rises, room.lam)


@kernel
def after_run(
    pair: ArmPair, t: float, is_tied: bool, rises: bool, p: int, a: int, b: int, room: Rivals
) -> float:
    """The least cost after a run from a to before b that is not cut off, with p further hills."""
    n = pair.mu.size + 1
    at = p * n + b
    if b <= pair.j:
        if rises:
            return float((room.tied_falling if is_tied else room.free_falling)[at])
        return float((room.tied_rising if is_tied else room.free_rising)[at])
    mean = (room.mean_rising if rises else room.mean_falling)[a * n + b]
    if is_tied or mean > t:
        return math.inf
    return float(room.hills.after_falling[at] if rises else room.hills.after[at])


@kernel
def trace_tied(pair: ArmPair, t: float, rises: bool, p: int, a: int, room: Rivals) -> None:
    """The run from a on in which j is at t, and what follows with p further hills."""
    K = pair.mu.size
    n = K + 1
    j = pair.j
    hills = room.hills
    lam = room.lam
    b = j + 1
    if rises:
        write_run(K, a, j - a, False, t, 1.0, lam, hills.rising)
        while room.up_right[b] + hills.after_falling[p * n + b] > room.tied_up[p]:
            b += 1
        write_run(K, b, b - j - 1, True, t, -1.0, lam, hills.risen)
    else:
        write_run(K, a, j - a, False, t, -1.0, lam, hills.falling)
        while room.down_right[b] + hills.after[p * n + b] > room.tied_down[p]:
            b += 1
        write_run(K, b, b - j - 1, True, t, 1.0, lam, hills.fallen)
    lam[j] = t
    write_last(hills, K, p, b, rises, lam)

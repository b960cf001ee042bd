"""Least squares over neighbours' differences within bounds, by pivoting.

    minimise  1/2 d' H d - g' d    over    lo <= d <= hi

In a basis F of free differences, the others being at a bound, with y = H d - g,

    d_F = c_F + A_FF y_F + A_FB d_B,      y_B = c_B + A_BF y_F + A_BB d_B,

and y_F = 0. The basis is optimal where d_F is within its bounds and y_B has the sign that its bound
asks for. A pivot on the first difference for which that is not so exchanges it: as H is positive
definite, this ends (Murty, 1974). The next piece of a structure differs in few bounds, so that it
takes few pivots from there.

One more inequality, t' d >= 0 with t of one sign over a run of differences, is followed from the
minimiser without it by its multiplier nu: d and y are linear in nu until one reaches a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import copy

SINGULAR = 1e-12  # of the diagonal: what pivots on less leaves to other solvers
ROUNDING = 1e-12  # relative to the numbers that are added up
PROVED = 1e-11  # how far, likewise, an answer may be from optimal


class Pivots(NamedTuple):
    """The program and where its pivoting stands."""

    H: Floats  # (n, n)
    g: Floats  # (n,)
    A: Floats  # (n, n)
    c: Floats  # (n,)
    at: Ints  # (n,): -1 at lo, 1 at hi, 0 free
    d: Floats  # (n,): the differences
    z: Floats  # (n,): d where free, else y, for nu = 0
    tilt: Floats  # (n,): their change with nu


@kernel
def begin(s: Pivots, lo: Floats, hi: Floats) -> bool:
    """No pivots yet, but to free differences without bounds; False where H is singular."""
    n = s.c.size
    for i in range(n):
        s.at[i] = -1 if lo[i] > -math.inf else 1
        s.c[i] = -s.g[i]
        copy(s.H[i], s.A[i])
    return make_bounded(s, lo, hi)


@kernel
def make_bounded(s: Pivots, lo: Floats, hi: Floats) -> bool:
    """Put differences whose bound is gone at the other one, or free them where there is none."""
    for i in range(s.c.size):  # those before i are free or at a bound that is there
        if s.at[i] == -1 and lo[i] == -math.inf:
            s.at[i] = 1
        elif s.at[i] == 1 and hi[i] == math.inf:
            s.at[i] = -1
        there = lo[i] if s.at[i] == -1 else hi[i]
        if s.at[i] != 0 and abs(there) == math.inf:
            if not exchange(s, i):
                return False
            s.at[i] = 0
    return True


@kernel
def exchange(s: Pivots, i: int) -> bool:
    """Pivot on difference i: d_i and y_i change places. False where that can't be told from 0."""
    A = s.A
    c = s.c
    n = c.size
    p = A[i, i]
    if s.at[i] != 0 and not p > SINGULAR * s.H[i, i]:
        return False
    q = 1.0 / p
    for r in range(n):  # the rows before r, but for i, are those of the new basis
        if r != i:
            f = A[r, i] * q
            for k in range(n):
                A[r, k] -= f * A[i, k]
            A[r, i] = f
            c[r] -= f * c[i]
    for k in range(n):
        A[i, k] *= -q
    A[i, i] = q
    c[i] *= -q
    return True


@inlined
def bound_of(s: Pivots, lo: Floats, hi: Floats, i: int) -> float:
    """The value of a difference at its bound."""
    return float(lo[i] if s.at[i] < 0 else hi[i])


@kernel
def write_values(s: Pivots, lo: Floats, hi: Floats) -> None:
    """z = what the basis says of free differences, and of y where they are at a bound."""
    n = s.c.size
    copy(s.c, s.z)
    for k in range(n):  # z: with the bounds before k
        if s.at[k] != 0:
            value = bound_of(s, lo, hi, k)
            if value != 0.0:
                for i in range(n):
                    s.z[i] += s.A[i, k] * value


@kernel
def first_wrong(s: Pivots, lo: Floats, hi: Floats, size: float) -> int:
    """The first difference that should be exchanged, with where it goes noted; -1: none."""
    for i in range(s.c.size):  # none before i
        small = ROUNDING * size
        if s.at[i] == 0:
            if s.z[i] < lo[i] - small:
                s.at[i] = -2  # on its way to lo
                return i
            if s.z[i] > hi[i] + small:
                s.at[i] = 2
                return i
        elif lo[i] < hi[i]:
            small *= s.H[i, i]
            if (s.at[i] < 0 and s.z[i] < -small) or (s.at[i] > 0 and s.z[i] > small):
                return i
    return -1


@kernel
def optimise(s: Pivots, lo: Floats, hi: Floats, size: float) -> bool:
    """Pivot until the basis is optimal, and write d; False: it is not proved."""
    n = s.c.size
    if not make_bounded(s, lo, hi):
        return False
    for _ in range(20 * n + 20):
        write_values(s, lo, hi)
        i = first_wrong(s, lo, hi, size)
        if i < 0:
            write_differences(s, lo, hi, 0.0)
            return is_optimal(s, lo, hi, 0, 0, 0.0)
        goes = s.at[i] // 2 if abs(s.at[i]) == 2 else 0
        if abs(s.at[i]) == 2:
            s.at[i] = 0
        if not exchange(s, i):
            return False
        s.at[i] = goes
    return False


@kernel
def write_differences(s: Pivots, lo: Floats, hi: Floats, nu: float) -> None:
    """d = at the multiplier nu."""
    for i in range(s.c.size):
        if s.at[i] == 0:
            value = s.z[i] + nu * s.tilt[i] if nu > 0.0 else s.z[i]
            s.d[i] = min(max(value, lo[i]), hi[i])
        else:
            s.d[i] = bound_of(s, lo, hi, i)


@kernel
def is_optimal(s: Pivots, lo: Floats, hi: Floats, j: int, i: int, nu: float) -> bool:
    """Whether d is the minimiser, by its multipliers: from H and g themselves, not by pivots."""
    for r in range(s.c.size):  # all rows before r agree
        y = -s.g[r] - nu * sign_of(j, i, r)
        size = abs(s.g[r]) + nu
        for k in range(s.c.size):
            part = s.H[r, k] * s.d[k]
            y += part
            size += abs(part)
        if s.at[r] == 0 and abs(y) > PROVED * size:
            return False
        if s.at[r] != 0 and lo[r] < hi[r] and s.at[r] * y > PROVED * size:
            return False
    return True


@inlined
def sign_of(j: int, i: int, r: int) -> float:
    """The entry r of t: a_i - a_j = t' d."""
    if j <= r < i:
        return 1.0
    if i <= r < j:
        return -1.0
    return 0.0


@kernel
def write_tilt(s: Pivots, j: int, i: int) -> None:
    """tilt = how the values of the basis change with the multiplier of t' d >= 0."""
    n = s.c.size
    for r in range(n):
        s.tilt[r] = -sign_of(j, i, r) if s.at[r] != 0 else 0.0
    for k in range(min(i, j), max(i, j)):  # tilt: with the free differences before k
        if s.at[k] == 0:
            t = sign_of(j, i, k)
            for r in range(n):
                s.tilt[r] += s.A[r, k] * t


@inlined
def reaches(s: Pivots, lo: Floats, hi: Floats, r: int, nu: float) -> tuple[float, int]:
    """At which nu the basis is no longer optimal because of difference r, and where r goes then."""
    z = s.z[r]
    slope = s.tilt[r]
    if s.at[r] == 0:
        if slope < 0.0 and lo[r] > -math.inf:
            return max(nu, (lo[r] - z) / slope), -1
        if slope > 0.0 and hi[r] < math.inf:
            return max(nu, (hi[r] - z) / slope), 1
    elif lo[r] < hi[r] and s.at[r] * slope > 0.0:
        return max(nu, -z / slope), 0
    return math.inf, 0


@kernel
def lift(s: Pivots, lo: Floats, hi: Floats, j: int, i: int) -> int:
    """From an optimal basis to the minimiser with a_i >= a_j, in d: 1; -1: none; 0: not proved."""
    n = s.c.size
    nu = 0.0
    last = -1
    for _ in range(8 * n + 20):  # the basis is optimal at nu, and a_i < a_j there
        write_values(s, lo, hi)
        write_tilt(s, j, i)
        gap = 0.0
        rate = 0.0
        flat = 0.0
        for r in range(min(i, j), max(i, j)):  # gap, rate: of the differences before r
            t = sign_of(j, i, r)
            gap += t * (s.z[r] if s.at[r] == 0 else bound_of(s, lo, hi, r))
            if s.at[r] == 0:
                rate += t * s.tilt[r]
                flat += abs(s.A[r, r])
        there = -gap / rate if rate > ROUNDING * flat else math.inf
        event = -1
        goes = 0
        at = there
        for r in range(n):  # event: the first of those before r
            when, to = reaches(s, lo, hi, r, nu)
            if when < at and not (r == last and when <= nu):
                at = when
                event = r
                goes = to
        if event < 0:
            if there == math.inf:
                return -1
            write_differences(s, lo, hi, there)
            return 1 if is_optimal(s, lo, hi, j, i, there) else 0
        if not exchange(s, event):
            return 0
        s.at[event] = goes
        nu = at
        last = event
    return 0

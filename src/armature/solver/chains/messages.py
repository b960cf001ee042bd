"""The nearest point of a chain for squared distances, by one convex message along the line.

    minimise  sum_i h_i (lam_i - x_i)^2 / 2    over a chain,
                                               lo_i + down_i lam_i <= lam_{i+1} <= hi_i + up_i lam_i

The message f_i(y) is the least cost of the arms 0 .. i with lam_i = y:

    f_0(y) = h_0 (y - x_0)^2 / 2,
    f_{i+1}(y) = h_{i+1} (y - x_{i+1})^2 / 2 + min over z of f_i(z),

where z, as the mean of arm i, allows y as that of arm i + 1. Its derivative increases and is
piecewise linear. The minimum over z moves what is left of the minimisers of f_i by lo_i (stretched
by down_i), what is right of them by hi_i (and up_i), and puts a flat part between. So what is known
of a message are its minimisers, an interval, and a stack of knots on either side, with one offset
and one factor for all places on it: adding h (y - x)^2 / 2 changes the derivative everywhere, and
no knot. Each arm adds at most two knots, and only those that the minimiser passes are touched
again.

Both sides have the same code. Side 0 looks to the right, at f(y); side 1 to the left, at f(-y): its
places are -y. A *knot* is a place, by how much the slope of the derivative changes there
(outwards), and by how much the derivative jumps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.solver.chains.chain import factor

ROUNDING = 1e-13  # of bounds, relative to their size
FREE = 0  # how a difference is held: not at all,
AT_HIGH = 1  # it is as large as it may be,
AT_LOW = -1  # as small,
FIXED = 2  # or it may be one number only


class Messages(NamedTuple):
    """A message, and the minimisers of all messages before it.

    Beyond an edge the derivative begins at `value` >= 0 (seen outwards), with a slope. An edge that
    is the end of the domain has nothing beyond it.
    """

    place: Floats  # (2, 2 K + 2): of knots, less the offset; the last one is nearest to the edge
    bend: Floats
    jump: Floats
    edge: Floats  # (2,): where the minimisers end
    value: Floats  # (2,)
    slope: Floats  # (2,)
    end: Floats  # (2,): of the domain
    offset: Floats  # (2,)
    factor: Floats  # (2,): a place is what is stored times it, plus the offset
    first: Floats  # (K,): the minimisers of f_i
    last: Floats  # (K,)
    knots: Ints  # (2,): how many there are


@kernel
def make_messages(real: Floats, integer: Ints, K: int) -> Messages:
    """Lay the messages over scratch space."""
    n = 2 * K + 2
    a = 6 * n
    return Messages(
        real[: 2 * n].reshape(2, n),
        real[2 * n : 4 * n].reshape(2, n),
        real[4 * n : 6 * n].reshape(2, n),
        real[a : a + 2],
        real[a + 2 : a + 4],
        real[a + 4 : a + 6],
        real[a + 6 : a + 8],
        real[a + 8 : a + 10],
        real[a + 10 : a + 12],
        real[a + 12 : a + 12 + K],
        real[a + 12 + K : a + 12 + 2 * K],
        integer[:2],
    )


@inlined
def begin(m: Messages) -> None:
    """The message 0: every number is a minimiser."""
    for s in range(2):
        m.edge[s] = math.inf
        m.end[s] = math.inf
        m.value[s] = 0.0
        m.slope[s] = 0.0
        m.offset[s] = 0.0
        m.factor[s] = 1.0
        m.knots[s] = 0


@inlined
def shift(m: Messages, lo: float, down: float, hi: float, up: float) -> None:
    """The minimum over z with lo + down z <= y <= hi + up z."""
    for s in range(2):
        move = hi if s == 0 else -lo
        by = up if s == 0 else down
        if by != 1.0:
            m.edge[s] *= by
            m.end[s] *= by
            m.offset[s] *= by
            m.factor[s] *= by
            m.value[s] /= by
            m.slope[s] /= by * by
        m.edge[s] += move
        m.end[s] += move
        m.offset[s] += move
        if move == math.inf:
            m.knots[s] = 0
            m.offset[s] = 0.0
            m.factor[s] = 1.0


@inlined
def place_of(m: Messages, s: int, n: int) -> float:
    """Where a knot is."""
    return float(m.place[s, n] * m.factor[s] + m.offset[s])


@inlined
def bend_of(m: Messages, s: int, n: int) -> float:
    """How the slope changes there."""
    by = m.factor[s]
    return float(m.bend[s, n] if by == 1.0 else m.bend[s, n] / (by * by))


@inlined
def jump_of(m: Messages, s: int, n: int) -> float:
    """How the derivative jumps there."""
    by = m.factor[s]
    return float(m.jump[s, n] if by == 1.0 else m.jump[s, n] / by)


@inlined
def push(m: Messages, s: int, place: float, bend: float, jump: float) -> None:
    """One more knot, the nearest to the edge."""
    n = m.knots[s]
    by = m.factor[s]
    m.place[s, n] = place - m.offset[s]
    m.bend[s, n] = bend
    m.jump[s, n] = jump
    if by != 1.0:
        m.place[s, n] /= by
        m.bend[s, n] *= by * by
        m.jump[s, n] *= by
    m.knots[s] = n + 1


@inlined
def push_edge(m: Messages, s: int) -> None:
    """The edge becomes a knot, unless there is nothing beyond it."""
    if m.edge[s] < m.end[s]:
        push(m, s, m.edge[s], m.slope[s], m.value[s])


@inlined
def settle_at(m: Messages, s: int, place: float, value: float, slope: float) -> None:
    """The only minimiser is at a place of side s; what is beyond it on that side."""
    m.edge[s] = place
    m.edge[1 - s] = -place
    m.value[s] = value
    m.slope[s] = slope


@kernel
def cut(m: Messages, s: int) -> None:
    """Leave out what is beyond the domain's end on side s, where the other end is not passed."""
    o = 1 - s
    target = -m.end[s]
    m.knots[s] = 0
    if m.edge[o] >= target:
        m.edge[s] = m.end[s]
        return
    # All minimisers are beyond the end: it is the new one. Invariant: at `here`, on the way there
    # along side o, the derivative is `value` and has the slope `slope` further on.
    here = m.edge[o]
    value = m.value[o]
    slope = m.slope[o]
    while m.knots[o] > 0:
        n = m.knots[o] - 1
        place = place_of(m, o, n)
        if place >= target:
            break
        value += slope * max(place - here, 0.0) + jump_of(m, o, n)
        slope = max(slope + bend_of(m, o, n), 0.0)
        here = max(here, place)
        m.knots[o] = n
    settle_at(m, o, target, value + slope * (target - here), slope)


@kernel
def narrow(m: Messages, low: float, high: float, tolerance: float) -> bool:
    """Let the domain be from low to high at most; False where nothing is left of it."""
    m.end[0] = min(m.end[0], high)
    m.end[1] = min(m.end[1], -low)
    if -m.end[1] > m.end[0]:
        size = max(abs(m.end[0]), abs(m.end[1]))
        if -m.end[1] > m.end[0] + tolerance + ROUNDING * size:
            return False
        middle = 0.5 * (m.end[0] - m.end[1])
        m.end[0] = middle
        m.end[1] = -middle
    for s in range(2):
        if m.edge[s] > m.end[s]:
            cut(m, s)
    return True


@kernel
def add(m: Messages, h: float, x: float) -> None:
    """Add h (y - x)^2 / 2, h > 0, and find the minimiser."""
    s = 0
    goal = x
    if x <= m.edge[0]:
        if -x <= m.edge[1]:
            push_edge(m, 0)
            push_edge(m, 1)
            settle_at(m, 0, x, 0.0, h)
            settle_at(m, 1, -x, 0.0, h)
            return
        s = 1
        goal = -x
    o = 1 - s
    push_edge(m, o)
    here = m.edge[s]
    value = h * (here - goal)
    slope = h
    if here >= m.end[s]:
        settle_at(m, o, -here, -value, slope)
        return
    bend = m.slope[s]
    jump = m.value[s]
    # Invariant: the minimiser is at `here` or beyond it on side s. There is a knot at `here`, which
    # is on no stack; before it the derivative comes to value <= 0, with a slope. The stack of side
    # s has what is beyond it, that of side o what is before it.
    while True:
        beyond = max(slope + bend, h)
        if value + jump >= 0.0:
            settle_at(m, o, -here, -value, slope)
            settle_at(m, s, here, value + jump, beyond)
            return
        push(m, o, -here, slope - beyond, jump)
        value += jump
        slope = beyond
        root = here - value / slope
        n = m.knots[s] - 1
        place = m.end[s]
        is_end = True
        if n >= 0 and place_of(m, s, n) < place:
            place = max(place_of(m, s, n), here)
            is_end = False
        if root <= place and (root < place or not is_end):
            settle_at(m, o, -root, 0.0, slope)
            settle_at(m, s, root, 0.0, slope)
            return
        value = min(value + slope * (place - here), 0.0)
        here = place
        if is_end:
            m.knots[s] = 0
            settle_at(m, o, -here, -value, slope)
            return
        bend = bend_of(m, s, n)
        jump = jump_of(m, s, n)
        m.knots[s] = n


@inlined
def within(x: float, low: float, high: float) -> float:
    """The number between low and high that is nearest to x."""
    return min(max(x, low), high)


@kernel
def nearest_on_chain(
    h: Floats,
    x: Floats,
    lo: Floats,
    hi: Floats,
    low: Floats,
    high: Floats,
    down: Floats,
    up: Floats,
    tolerance: float,
    near: float,
    lam: Floats,
    held: Ints,
    m: Messages,
) -> bool:
    """lam = the nearest point; False where there is none.

    held[i] says how the difference of i and i + 1 is held. Weightless arms stay as near to x as the
    others let them. Bounds that contradict each other by no more than the tolerance are met
    half-way, and a difference that misses its bound by `near` at most is held by it.
    """
    K = h.size
    begin(m)
    for i in range(K):  # m is the message f_{i - 1}
        if i > 0:
            shift(m, lo[i - 1], factor(down, i - 1), hi[i - 1], factor(up, i - 1))
        if not narrow(m, low[i], high[i], tolerance):
            return False
        if h[i] > 0.0:
            add(m, h[i], x[i])
        m.first[i] = -m.edge[1]
        m.last[i] = m.edge[0]
    held[K - 1] = FREE
    lam[K - 1] = within(x[K - 1], m.first[K - 1], m.last[K - 1])
    for i in range(K - 2, -1, -1):  # the arms after i have their means
        least = lam[i + 1] - hi[i]
        most = lam[i + 1] - lo[i]
        if up.size > 0:
            least /= up[i]
            most /= down[i]
        best = within(x[i], m.first[i], m.last[i])
        held[i] = FREE
        if best <= least + near:
            held[i] = AT_HIGH
            best = least
            if lo[i] == hi[i] and factor(down, i) == factor(up, i):
                held[i] = FIXED
        elif best >= most - near:
            held[i] = AT_LOW
            best = most
        lam[i] = best
    return True

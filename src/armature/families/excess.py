"""The function u - ln(1 + u), which every divergence here is made of, and its two inverses.

Written as it stands, u - ln(1 + u) loses all its digits near 0, where divergences are small and
where learning happens. With `excess` each divergence is a sum of non-negative terms, each of them
accurate to a few units in the last place.
"""

from __future__ import annotations

import math

from armature.kernels.kernel import kernel


@kernel
def excess(x: float, y: float, step: float) -> float:
    """x (u - ln(1 + u)) at 1 + u = y / x, for x > 0 and y = x + step >= 0; infinite at y = 0.

    The caller knows the step exactly even where x and y are rounded, as 1 - x is for a tiny x.
    """
    if y <= 0.0:
        return math.inf
    if abs(step) > 0.25 * x:
        ratio = y / x
        # Where the ratio leaves the range of doubles, its logarithm does not.
        if 1e-300 < ratio < 1e300:
            return step - x * math.log(ratio)
        return step - x * (math.log(y) - math.log(x))
    return x * _excess_near_zero(step / x)


@kernel
def excess_of_log(z: float) -> float:
    """The same at 1 + u = exp(z): exp(z) - 1 - z, also where exp(z) underflows."""
    u = math.expm1(z)
    return u - z if abs(u) > 0.25 else _excess_near_zero(u)


@kernel
def _excess_near_zero(u: float) -> float:
    # ln(1 + u) = 2 artanh(s) with s = u / (2 + u), and u - 2 s = u s.
    s = u / (2.0 + u)
    s2 = s * s
    tail = 1.0 / 21.0
    for odd in range(19, 1, -2):
        tail = tail * s2 + 1.0 / odd
    return s * (u - 2.0 * s2 * tail)


@kernel
def excess_inverse_above(level: float) -> float:
    """The u >= 0 with u - ln(1 + u) = level, by Newton from the right, where it is monotone."""
    if level == math.inf:
        return math.inf
    u = level + math.sqrt(2.0 * level)
    for _ in range(60):
        if u == 0.0:
            break
        value = u - math.log1p(u) if u > 0.25 else _excess_near_zero(u)
        following = u - (value - level) * (1.0 + u) / u
        if following >= u or abs(following - u) <= 1e-16 * u:
            break
        u = following
    return u


@kernel
def excess_inverse_below(level: float) -> float:
    """The z <= 0 with exp(z) - 1 - z = level: then u = exp(z) - 1 has u - ln(1 + u) = level.

    The logarithm z = ln(1 + u) is returned since 1 + u underflows where z is an ordinary number.
    """
    if level == math.inf:
        return -math.inf
    z = -level - math.sqrt(2.0 * level)
    for _ in range(60):
        if z == 0.0:
            break
        following = z - (excess_of_log(z) - level) / math.expm1(z)
        if following <= z or abs(following - z) <= -1e-16 * z:
            break
        z = following
    return z

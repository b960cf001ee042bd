"""Functions that the families' formulas are made of.

*Excess*, u - ln(1 + u), which every divergence here is made of, and its two inverses. Written as it
stands, u - ln(1 + u) loses all its digits near 0, where divergences are small and where learning
happens. With `excess` each divergence is a sum of non-negative terms, each of them accurate to a
few units in the last place.

*Learning costs*: what it costs not to know a mean, for the evidence against a structure. The
rewards of an arm are likeliest at their own mean. Who does not know it, and has a prior instead,
gives them a marginal likelihood that is less; the logarithm of the ratio is the learning cost,
about half the logarithm of the number of rewards. The priors are conjugate, so that it is a closed
form. Where a prior needs a scale and none is known, it is a mixture over scales that are powers of
4, of which the i-th has the weight 1 / ((i + 1) (i + 2)), all of them together less than 1: means
that are a thousand times the first scale cost about ten more, and not half a million.
"""

from __future__ import annotations

import math

from armature.kernels.kernel import inlined, kernel
from armature.kernels.libm import log_gamma

SCALES = 16  # powers of 4 in a mixture: up to 4^15, about 1e9
LARGE = 1e5  # from which on Stirling's series has all digits
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
HALF_LOG_PI = 0.5 * math.log(math.pi)  # ln Gamma(1/2)


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
    for _ in range(60):  # u is at or above the root, and falls
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
    for _ in range(60):  # z is at or below the root, and rises
        if z == 0.0:
            break
        following = z - (excess_of_log(z) - level) / math.expm1(z)
        if following <= z or abs(following - z) <= -1e-16 * z:
            break
        z = following
    return z


@kernel
def log_gamma_half(s: float) -> float:
    """ln Gamma(s + 1/2) - (s ln s - s), without its cancellation where s is large."""
    if s <= 0.0:
        return HALF_LOG_PI
    if s < LARGE:
        return log_gamma(s + 0.5) - (s * math.log(s) - s)
    return HALF_LOG_TWO_PI - 1.0 / (24.0 * s)


@kernel
def log_factorial(n: float) -> float:
    """ln n! - (n ln n - n), likewise."""
    if n <= 0.0:
        return 0.0
    if n < LARGE:
        return log_gamma(n + 1.0) - (n * math.log(n) - n)
    return HALF_LOG_TWO_PI + 0.5 * math.log(n) + 1.0 / (12.0 * n)


@inlined
def log_weight(i: int) -> float:
    """The logarithm of the i-th scale's weight, less than 1 in all."""
    return -math.log((i + 1.0) * (i + 2.0))


@inlined
def log_sum(a: float, b: float) -> float:
    """ln(exp(a) + exp(b)), for numbers or minus infinity."""
    high = max(a, b)
    return high if high == -math.inf else high + math.log1p(math.exp(min(a, b) - high))

"""What it costs not to know a mean: for the evidence against a structure.

The rewards of an arm are likeliest at their own mean. Who does not know it, and has a prior
instead, gives them a marginal likelihood that is less; the logarithm of the ratio is the *learning
cost*, about half the logarithm of the number of rewards. The priors are conjugate, so that it is a
closed form. Where a prior needs a scale and none is known, it is a mixture over scales that are
powers of 4, of which the i-th has the weight 1 / ((i + 1) (i + 2)), all of them together less than
1: means that are a thousand times the first scale cost about ten more, and not half a million.
"""

from __future__ import annotations

import math

from armature.kernels.kernel import inlined, kernel

SCALES = 16  # powers of 4 in a mixture: up to 4^15, about 1e9
LARGE = 1e5  # from which on Stirling's series has all digits
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
HALF_LOG_PI = 0.5 * math.log(math.pi)  # ln Gamma(1/2)


@kernel
def log_gamma_half(s: float) -> float:
    """ln Gamma(s + 1/2) - (s ln s - s), without its cancellation where s is large."""
    if s <= 0.0:
        return HALF_LOG_PI
    if s < LARGE:
        return math.lgamma(s + 0.5) - (s * math.log(s) - s)
    return HALF_LOG_TWO_PI - 1.0 / (24.0 * s)


@kernel
def log_factorial(n: float) -> float:
    """ln n! - (n ln n - n), likewise."""
    if n <= 0.0:
        return 0.0
    if n < LARGE:
        return math.lgamma(n + 1.0) - (n * math.log(n) - n)
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

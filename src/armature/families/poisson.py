"""Rewards that count: 0, 1, 2, ..."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature.families.family import Family
from armature.families.record import Formulas, Interval
from armature.families.special_functions import (
    HALF_LOG_PI,
    SCALES,
    excess,
    excess_inverse_above,
    excess_inverse_below,
    log_gamma_half,
    log_sum,
    log_weight,
)
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.libm import log_gamma
from armature.kernels.streams import Source, Stream, more_units, next_gamma

LARGE_MEAN = 10.0  # from which on rewards are drawn by rejection


@kernel
def divergence(p: float, x: float, y: float) -> float:
    """y - x + x ln(x / y)."""
    if x == y:
        return 0.0
    if y <= 0.0:
        return math.inf
    if x <= 0.0:
        return y
    return excess(x, y, y - x)


@kernel
def upper(p: float, x: float, level: float) -> float:
    """The largest y with divergence(x, y) <= level."""
    if x <= 0.0:
        return level
    return x + x * excess_inverse_above(level / x)


@kernel
def lower(p: float, x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level; 0 only for x = 0 or an infinite level."""
    if x <= 0.0 or level == math.inf:
        return 0.0
    return max(x * math.exp(excess_inverse_below(level / x)), 5e-324)


@kernel
def slope(p: float, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if y == 0.0:
        return 1.0
    return (y - x) / y


@kernel
def curvature(p: float, x: float, y: float) -> float:
    """The second derivative, likewise."""
    return x / (y * y) if x > 0.0 and y > 0.0 else 0.0


@kernel
def variance(p: float, x: float) -> float:
    """The mean."""
    return x


@kernel
def by_inversion(mean: float, u: float) -> float:
    """The smallest k whose distribution function exceeds u."""
    k = 0.0
    probability = math.exp(-mean)
    total = probability
    while u >= total and probability > 0.0:  # total = P(X <= k)
        k += 1.0
        probability *= mean / k
        total += probability
    return k


@kernel
def by_rejection(mean: float, source: Source, i: int) -> float:
    """Transformed rejection with squeeze (Hörmann, 1993: PTRS), for means of at least 10."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    attempt = 0
    while True:
        u, v = more_units(source, i, attempt)
        attempt += 1
        u -= 0.5
        v = 1.0 - v  # never 0
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        accept = math.log(v * inverse_alpha / (a / (us * us) + b))
        if accept <= k * math.log(mean) - mean - log_gamma(k + 1.0):
            return float(k)


@kernel
def draw(p: float, mean: float, out: Floats, source: Source) -> None:
    """Counts, by inversion where the mean is small."""
    for i in range(out.size):
        if mean >= LARGE_MEAN:
            out[i] = by_rejection(mean, source, i)
        else:
            out[i] = by_inversion(mean, out[i])


@kernel
def posterior(p: float, pulls: float, total: float, stream: Stream) -> float:
    """A gamma number: the prior is Jeffreys's, Gamma(1/2, 0)."""
    return next_gamma(stream, 0.5 + total) / pulls


@kernel
def learning_cost(p: float, n: float, total: float) -> float:
    """Prior: the mean is Gamma(1/2) times a scale from 1 to 4^15."""
    if n <= 0.0:
        return 0.0
    found = -math.inf
    rate = 1.0
    for i in range(SCALES):  # found: ln of the sum before i; rate = 4^-i
        spread = 0.5 * math.log1p(n / rate) + total * math.log1p(rate / n)
        found = log_sum(found, log_weight(i) - spread)
        rate *= 0.25
    return HALF_LOG_PI - log_gamma_half(total) - found


@dataclass(frozen=True)
class Poisson(Family):
    """Counts with the given mean (0 included: then every reward is 0).

    Calls in an hour, items in a basket; d(x, y) = y - x + x ln(x / y), which is infinite where y is
    0 and x is not.

    It has no parameters. Means are non-negative.

    Guarantee
    ---------
    It is not sub-Gaussian, so that the paper's theorems do not cover it, and policies that need
    that (`UCB` and what is built on it) refuse it. Divergences and their inverses are compared in
    tests with arithmetic in sixty digits, rewards with their frequencies.

    >>> Poisson().divergence(0.0, 2.0), Poisson().divergence(2.0, 0.0)
    (2.0, inf)

    Limits
    ------
    Not sub-Gaussian, so the paper's theorems do not cover it.

    References
    ----------
    Cappé, Garivier, Maillard, Munos and Stoltz (2013), "Kullback-Leibler Upper Confidence Bounds
    for Optimal Sequential Allocation", for bandits with one-parameter exponential families.
    """

    domain: ClassVar[Interval] = Interval(0.0, math.inf)
    support: ClassVar[Interval] = Interval(0.0, math.inf, integer=True)
    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )
    learning_cost: ClassVar = learning_cost

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.poisson(mean, size)

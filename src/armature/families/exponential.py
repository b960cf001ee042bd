"""Positive rewards with an exponential tail, such as waiting times."""

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
from armature.kernels.streams import Source, Stream, next_gamma


@kernel
def divergence(p: float, x: float, y: float) -> float:
    """x / y - 1 - ln(x / y)."""
    return excess(y, x, x - y) / y


@kernel
def upper(p: float, x: float, level: float) -> float:
    """The largest y with divergence(x, y) <= level (infinite where it exceeds every double)."""
    z = -excess_inverse_below(level)
    return x * math.exp(z) if z < 709.0 else math.inf


@kernel
def lower(p: float, x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level."""
    return x / (1.0 + excess_inverse_above(level))


@kernel
def slope(p: float, x: float, y: float) -> float:
    """The derivative of y -> d(x, y)."""
    return (y - x) / (y * y)


@kernel
def curvature(p: float, x: float, y: float) -> float:
    """The second derivative: negative where y > 2 x."""
    return (2.0 * x - y) / (y * y * y)


@kernel
def variance(p: float, x: float) -> float:
    """The squared mean."""
    return x * x


@kernel
def draw(p: float, mean: float, out: Floats, source: Source) -> None:
    """By inversion."""
    for i in range(out.size):
        out[i] = -mean * math.log(1.0 - out[i])


@kernel
def posterior(p: float, pulls: float, total: float, stream: Stream) -> float:
    """An inverse gamma number: the prior is Jeffreys's, 1 / mean."""
    return total / next_gamma(stream, pulls)


@kernel
def learning_cost(p: float, n: float, total: float) -> float:
    """Prior: one over the mean is Gamma(1/2) times a scale from 4^-15 to 4^15."""
    if n <= 0.0:
        return 0.0
    if total <= 0.0:
        return math.inf
    found = -math.inf
    for i in range(1 - SCALES, SCALES):  # found: ln of the sum over scales before i
        rate = 4.0**i
        spread = 0.5 * math.log1p(total / rate) + n * math.log1p(rate / total)
        found = log_sum(found, log_weight(abs(i)) - math.log(1.5) - spread)
    return HALF_LOG_PI - log_gamma_half(n) - found


@dataclass(frozen=True)
class Exponential(Family):
    """Exponentially distributed rewards with the given positive mean.

    Waiting times; d(x, y) = x / y - 1 - ln(x / y). y -> d(x, y) is not convex. That does no harm
    where the structure only orders arms, makes them equal or bounds them; structures that add up
    means (linear, Lipschitz, ...) refuse this family.

    It has no parameters. Means are positive: at least 1e-30.

    Guarantee
    ---------
    It is not sub-Gaussian, so that the paper's theorems do not cover it, and policies that need
    that (`UCB` and what is built on it) refuse it. Divergences and their inverses are compared in
    tests with arithmetic in sixty digits, rewards with SciPy's distribution.

    >>> round(Exponential().divergence(1.0, 2.0), 6)
    0.193147

    Limits
    ------
    Not sub-Gaussian, so the paper's theorems do not cover it. Its divergence is not convex:
    structures that add up means refuse it.

    References
    ----------
    Cappé, Garivier, Maillard, Munos and Stoltz (2013), "Kullback-Leibler Upper Confidence Bounds
    for Optimal Sequential Allocation", for bandits with one-parameter exponential families.
    """

    domain: ClassVar[Interval] = Interval(0.0, math.inf, closed=False)
    support: ClassVar[Interval] = Interval(0.0, math.inf)
    convex: ClassVar[bool] = False
    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )
    learning_cost: ClassVar = learning_cost

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.exponential(mean, size)

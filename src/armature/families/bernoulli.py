"""Rewards that are 0 or 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.arrays import Floats
from armature.families._family import Family, Interval
from armature.families._formulas import Formulas
from armature.families.excess import excess, excess_of_log
from armature.streams import Source, Stream, next_gamma

LARGEST_BELOW_ONE = 1.0 - 2.0**-53
SMALLEST_ABOVE_ZERO = 5e-324


@kernel
def divergence(p: float, x: float, y: float) -> float:
    """x ln(x / y) + (1 - x) ln((1 - x) / (1 - y)), as a sum of two non-negative terms.

    With 1 + u = y / x and 1 + v = (1 - y) / (1 - x), the linear parts x u + (1 - x) v cancel.
    """
    if x == y:
        return 0.0
    if y <= 0.0 or y >= 1.0:
        return math.inf
    if x <= 0.0:
        return -math.log1p(-y)
    if x >= 1.0:
        return -math.log(y)
    return excess(x, y, y - x) + excess(1.0 - x, 1.0 - y, x - y)


@kernel
def shrink(a: float, b: float, level: float) -> float:
    """The z <= 0 at which moving mass a to a exp(z) costs `level`, where b = 1 - a.

    The cost -a z - b ln((1 - a exp(z)) / b) is convex and decreasing in z <= 0: Newton's method
    approaches from the left and needs no step control; a bracket guards the rounding.
    """
    if level == 0.0 or a == 0.0:
        return 0.0
    if level == math.inf:
        return -math.inf
    if b == 0.0:
        return -level / a
    low = -(level + 0.4) / a
    high = 0.0
    z = max(low, -math.sqrt(2.0 * level * b / a))
    for _ in range(100):
        growth = -a * math.expm1(z)
        surplus = a * excess_of_log(z) + excess(b, b + growth, growth) - level
        if surplus > 0.0:
            low = z
        else:
            high = z
        following = z + surplus * (b + growth) / growth if growth > 0.0 else 0.5 * (low + high)
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - z) <= -2e-16 * z:
            return following
        z = following
    return z


@kernel
def upper(p: float, x: float, level: float) -> float:
    """The largest y with divergence(x, y) <= level; 1 only for x = 1 or an infinite level."""
    if x == 1.0 or level == math.inf:
        return 1.0
    y = x - (1.0 - x) * math.expm1(shrink(1.0 - x, x, level))
    return min(y, LARGEST_BELOW_ONE)


@kernel
def lower(p: float, x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level; 0 only for x = 0 or an infinite level."""
    if x == 0.0 or level == math.inf:
        return 0.0
    y = x * math.exp(shrink(x, 1.0 - x, level))
    return max(y, SMALLEST_ABOVE_ZERO)


@kernel
def slope(p: float, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if y == 0.0 or y == 1.0:
        return 1.0 - 2.0 * y
    return (y - x) / (y * (1.0 - y))


@kernel
def curvature(p: float, x: float, y: float) -> float:
    """The second derivative, likewise."""
    first = x / (y * y) if x > 0.0 and y > 0.0 else 0.0
    return first + ((1.0 - x) / ((1.0 - y) * (1.0 - y)) if x < 1.0 and y < 1.0 else 0.0)


@kernel
def variance(p: float, x: float) -> float:
    """x (1 - x)."""
    return x * (1.0 - x)


@kernel
def draw(p: float, mean: float, out: Floats, source: Source) -> None:
    """1 with probability `mean`."""
    for i in range(out.size):
        out[i] = 1.0 if out[i] < mean else 0.0


@kernel
def posterior(
    p: float, pulls: Floats, sums: Floats, means: Floats, stream: Stream, out: Floats
) -> None:
    """A beta number for each arm: the prior is flat."""
    for k in range(pulls.size):
        a = next_gamma(stream, 1.0 + sums[k])
        b = next_gamma(stream, 1.0 + pulls[k] - sums[k])
        out[k] = a / (a + b)


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards that are 1 with probability `mean` and otherwise 0.

    Clicks, sales, cures; d(x, y) = x ln(x / y) + (1 - x) ln((1 - x) / (1 - y)), which is infinite
    where y is 0 or 1 and x is not.

    It has no parameters. Means lie in [0, 1], both ends included.

    Guarantee
    ---------
    It is sub-Gaussian, so that the paper's theorems cover it. Divergences and their inverses are
    compared in tests with arithmetic in sixty digits, rewards with their frequencies.

    >>> Bernoulli().divergence(0.0, 1.0), Bernoulli().divergence(0.0, 0.0)
    (inf, 0.0)
    >>> round(Bernoulli().upper(0.5, 0.1), 6)
    0.712879

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    """

    domain: ClassVar[Interval] = Interval(0.0, 1.0)
    support: ClassVar[Interval] = Interval(0.0, 1.0, integer=True)
    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )

    @property
    def mirror(self) -> float:
        return 1.0

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.random(np.broadcast_shapes(mean.shape) if size is None else size) < mean

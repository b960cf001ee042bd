"""Rewards that are 0 or 1, or 0 or a price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature.families.family import Family
from armature.families.record import Formulas, Interval
from armature.families.special_functions import excess, excess_of_log, log_factorial, log_gamma_half
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_scales, largest_of
from armature.kernels.kernel import kernel
from armature.kernels.streams import Source, Stream, next_gamma

LARGEST_BELOW_ONE = 1.0 - 2.0**-53
SMALLEST_ABOVE_ZERO = 5e-324


# p is the scale: a reward is 0 or p, and x / p the probability of the latter.


@kernel
def divergence(p: float, x: float, y: float) -> float:
    """a ln(a / b) + (1 - a) ln((1 - a) / (1 - b)) at a = x / p, b = y / p, without cancellation.

    With 1 + u = b / a and 1 + v = (1 - b) / (1 - a), the linear parts a u + (1 - a) v cancel, and
    two non-negative terms are left.
    """
    if x == y:
        return 0.0
    if y <= 0.0 or y >= p:
        return math.inf
    if x <= 0.0:
        return -math.log1p(-y / p)
    if x >= p:
        return -math.log(y / p)
    if p == 1.0:  # which saves six divisions
        return excess(x, y, y - x) + excess(1.0 - x, 1.0 - y, x - y)
    return excess(x / p, y / p, (y - x) / p) + excess((p - x) / p, (p - y) / p, (x - y) / p)


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
    for _ in range(100):  # the cost is above the level at low, not at high
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
    """The largest y with divergence(x, y) <= level; p only for x = p or an infinite level."""
    if x >= p or level == math.inf:
        return p
    y = x - (p - x) * math.expm1(shrink((p - x) / p, x / p, level))
    return min(y, p * LARGEST_BELOW_ONE)


@kernel
def lower(p: float, x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level; 0 only for x = 0 or an infinite level."""
    if x <= 0.0 or level == math.inf:
        return 0.0
    y = x * math.exp(shrink(x / p, (p - x) / p, level))
    return max(y, SMALLEST_ABOVE_ZERO)


@kernel
def slope(p: float, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if y == 0.0 or y == p:
        return (1.0 - 2.0 * y / p) / p
    return (y - x) / (y * (p - y))


@kernel
def curvature(p: float, x: float, y: float) -> float:
    """The second derivative, likewise."""
    first = x / (y * y) if x > 0.0 and y > 0.0 else 0.0
    return (first + ((p - x) / ((p - y) * (p - y)) if x < p and y < p else 0.0)) / p


@kernel
def variance(p: float, x: float) -> float:
    """x (p - x)."""
    return x * (p - x)


@kernel
def draw(p: float, mean: float, out: Floats, source: Source) -> None:
    """p with probability `mean` / p."""
    share = mean / p
    for i in range(out.size):
        out[i] = p if out[i] < share else 0.0


@kernel
def posterior(p: float, pulls: float, total: float, stream: Stream) -> float:
    """A beta number: the prior is flat."""
    a = next_gamma(stream, 1.0 + total / p)
    b = next_gamma(stream, 1.0 + max(pulls - total / p, 0.0))
    return p * (a / (a + b))


@kernel
def learning_cost(p: float, n: float, total: float) -> float:
    """Prior: Jeffreys's, Beta(1/2, 1/2)."""
    if n <= 0.0:
        return 0.0
    ones = total / p
    found = log_gamma_half(ones) + log_gamma_half(max(n - ones, 0.0))
    return math.log(math.pi) + log_factorial(n) - found


@dataclass(frozen=True)
class Bernoulli(Family):
    """Rewards that are `scale` with probability `mean` / `scale` and otherwise 0.

    Clicks, sales, cures; at a scale of 1, d(x, y) = x ln(x / y) + (1 - x) ln((1 - x) / (1 - y)),
    which is infinite where y is 0 or 1 and x is not. At other scales it is d(x / scale, y / scale).

    A sale at a price s is a reward of s or of nothing: `Bernoulli(scale=prices)` has a price for
    each arm. Arms that are made equal then meet at the y with sum_k w_k (y - x_k) / (s_k - y) = 0
    instead of at their mean.

    Parameters
    ----------
    scale : float or sequence of float
        What a reward is that is not 0: one number for all arms or one for each, from 1e-30 to 1e30.
        Means lie in [0, scale], both ends included.

    Guarantee
    ---------
    It is sub-Gaussian, so that the paper's theorems cover it. Divergences and their inverses are
    compared in tests with arithmetic in sixty digits, rewards with their frequencies.

    >>> Bernoulli().divergence(0.0, 1.0), Bernoulli().divergence(0.0, 0.0)
    (inf, 0.0)
    >>> round(Bernoulli().upper(0.5, 0.1), 6)
    0.712879
    >>> prices = Bernoulli(scale=[10.0, 20.0])
    >>> str(prices.for_arm(1).support), prices.upper(5.0, 0.1).round(6)
    ('{0, 20}', array([7.128786, 9.341221]))

    Limits
    ------
    With a scale for each arm, structures other than `Unconstrained`, `Unimodal` and `Monotone` take
    dense convex programs.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    """

    scale: float | Sequence[float] = 1.0

    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )
    learning_cost: ClassVar = learning_cost
    arm_field: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scales(self.scale, "scale"))

    def __repr__(self) -> str:
        if self.scale == 1.0:
            return f"{type(self).__name__}()"
        scale = list(self.scale) if isinstance(self.scale, tuple) else self.scale
        return f"{type(self).__name__}(scale={scale})"

    @classmethod
    def examples(cls) -> tuple[Bernoulli, ...]:
        return cls(), cls(scale=5.0), cls(scale=[1.0, 2.5, 4.0])

    @property
    def domain(self) -> Interval:
        return Interval(0.0, self.parameter)

    @property
    def support(self) -> Interval:
        return Interval(0.0, self.parameter, ends=True)

    @property
    def mirror(self) -> float | None:
        return self.parameter if self.alike else None

    @property
    def parameter(self) -> float:
        """The scale; the largest where each arm has one."""
        return largest_of(self.scale)

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        shape = np.broadcast_shapes(mean.shape) if size is None else size
        return self.parameter * (rng.random(shape) < mean / self.parameter)


def is_scaled(family: Family) -> bool:
    """True if rewards are 0 or a scale, and each arm has its own scale."""
    return isinstance(family, Bernoulli) and not family.alike

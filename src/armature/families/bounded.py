"""Rewards in an interval, of which nothing else is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from armature.errors import ArmatureError
from armature.families.bernoulli import (
    curvature,
    divergence,
    learning_cost,
    lower,
    posterior,
    slope,
    upper,
    variance,
)
from armature.families.family import Family
from armature.families.record import Formulas, Interval
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_finite, checked_scale
from armature.kernels.kernel import kernel
from armature.kernels.streams import Source, more_units

# The formulas are Bernoulli's, of means less `low`; p is the length of the interval.


@kernel
def beta_number(a: float, b: float, source: Source, i: int) -> float:
    """Reward i of a block: Beta(a, b) for a + b = 2, by rejection (Jöhnk, 1964).

    U^(1/a) / (U^(1/a) + V^(1/b)), given that the denominator is at most 1: in at least every other
    attempt on average.
    """
    attempt = 0
    while True:  # all attempts before were refused
        u, v = more_units(source, i, attempt)
        attempt += 1
        x = (1.0 - u) ** (1.0 / a)
        y = (1.0 - v) ** (1.0 / b)
        if 0.0 < x + y <= 1.0:
            return float(x / (x + y))


@kernel
def draw(p: float, mean: float, out: Floats, source: Source) -> None:
    """p times a Beta(2 m, 2 (1 - m)) number, with m = mean / p; the end itself at an end."""
    m = mean / p
    for i in range(out.size):
        if m <= 0.0 or m >= 1.0:
            out[i] = p * m
        else:
            out[i] = p * beta_number(2.0 * m, 2.0 * (1.0 - m), source, i)


@dataclass(frozen=True)
class Bounded(Family):
    """Rewards between `low` and `high`, however they are distributed there.

    Ratings, shares, scores; d(x, y) is Bernoulli's divergence of the means scaled to [0, 1], which
    no distribution on the interval exceeds in what it takes to tell means apart. That is safe for
    all of them, and explores more than need be where rewards vary little.

    In simulations rewards are low + (high - low) times a Beta(2 m, 2 (1 - m)) number, with m the
    scaled mean: uniform for a mean in the middle, of a third of the variance that 0 and 1 would
    have.

    Parameters
    ----------
    low : float
        The lower end of the interval, at least -1e30. It can be a reward, and a mean.
    high : float
        The upper end, above `low` and at most 1e30, likewise.

    Guarantee
    ---------
    It is sub-Gaussian (Hoeffding's lemma), so that the paper's theorems hold with that variance.
    Bounds and allocations are those of the worst distribution, whose rewards are low or high.
    Divergences are compared in tests with arithmetic in sixty digits, rewards with SciPy's
    distribution.

    >>> stars = Bounded(1.0, 5.0)
    >>> stars.divergence(3.0, 4.0) == Bounded(0.0, 1.0).divergence(0.5, 0.75)
    True
    >>> round(stars.upper(3.0, 0.1), 6)
    3.851515

    Limits
    ------
    It explores for the worst distribution on the interval: more than needed where rewards vary
    little.

    References
    ----------
    Garivier and Cappé (2011), "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond".
    """

    low: float
    high: float

    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )
    learning_cost: ClassVar = learning_cost  # a bound, which is what evidence needs

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checked_finite(getattr(self, name), name))
        if not self.low < self.high:
            raise ArmatureError(
                f"low = {self.low:g} must be below high = {self.high:g}: rewards lie between them."
            )
        checked_scale(self.high - self.low, "high - low")

    @classmethod
    def examples(cls) -> tuple[Bounded, ...]:
        return cls(0.0, 1.0), cls(-1.0, 3.0)

    @property
    def domain(self) -> Interval:
        return Interval(self.low, self.high)

    @property
    def support(self) -> Interval:
        return Interval(self.low, self.high)

    @property
    def mirror(self) -> float:
        return self.low + self.high

    @property
    def parameter(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    @property
    def shift(self) -> float:
        return self.low

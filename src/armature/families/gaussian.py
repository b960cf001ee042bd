"""Gaussian rewards of known standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import inlined, kernel
from armature.arrays import Floats
from armature.families._family import Family, FamilyRecord, Interval
from armature.families._formulas import Formulas
from armature.limits import checked_scale
from armature.streams import Source, Stream, fill_normals, normal_quantile

# Used in place where `FamilyRecord.gaussian` says so; the formulas by address are the same.


@inlined
def gaussian_divergence(variance: float, x: float, y: float) -> float:
    """(x - y)^2 / (2 variance)."""
    return (x - y) * (x - y) / (2.0 * variance)


@inlined
def gaussian_radius(variance: float, level: float) -> float:
    """How far from x the divergence reaches `level`."""
    return math.sqrt(2.0 * variance * level)


@kernel
def draw_gaussian(p: float, mean: float, out: Floats, source: Source) -> None:
    """By inversion."""
    sigma = math.sqrt(p)
    for i in range(out.size):
        out[i] = mean + sigma * normal_quantile(out[i])


@kernel
def posterior_gaussian(
    p: float, pulls: Floats, sums: Floats, means: Floats, stream: Stream, out: Floats
) -> None:
    """A normal number for each arm: the prior is flat."""
    fill_normals(stream, out)
    sigma = math.sqrt(p)
    for k in range(pulls.size):
        out[k] = means[k] + sigma * out[k] / math.sqrt(pulls[k])


@kernel
def upper(p: float, x: float, level: float) -> float:
    """x + the radius."""
    return x + gaussian_radius(p, level)


@kernel
def lower(p: float, x: float, level: float) -> float:
    """x - the radius."""
    return x - gaussian_radius(p, level)


@kernel
def divergence(p: float, x: float, y: float) -> float:
    """(x - y)^2 / (2 p)."""
    return gaussian_divergence(p, x, y)


@kernel
def slope(p: float, x: float, y: float) -> float:
    """The derivative of y -> d(x, y)."""
    return (y - x) / p


@kernel
def curvature(p: float, x: float, y: float) -> float:
    """The second derivative."""
    return 1.0 / p


@kernel
def variance(p: float, x: float) -> float:
    """The same for all means."""
    return p


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal rewards: any mean, standard deviation `sigma`.

    Measurements with noise of a known size; d(x, y) = (x - y)^2 / (2 sigma^2).

    Parameters
    ----------
    sigma : float
        The standard deviation of a reward, the same for all arms: from 1e-30 to 1e30. It must be
        known; one that is too large explores too much, one that is too small too little.

    Guarantee
    ---------
    The paper's theorems cover it. Divergences and their inverses are compared in tests with
    arithmetic in sixty digits, rewards with SciPy's distribution. Every policy and every structure
    takes it.

    >>> Gaussian(sigma=2.0).divergence(0.0, 2.0)
    0.5
    >>> Gaussian().upper(1.0, 2.0)
    3.0

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    """

    sigma: float = 1.0

    domain: ClassVar[Interval] = Interval(-math.inf, math.inf)
    support: ClassVar[Interval] = Interval(-math.inf, math.inf)
    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw_gaussian, posterior_gaussian
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checked_scale(self.sigma, "sigma"))

    @classmethod
    def examples(cls) -> tuple[Gaussian, ...]:
        return cls(), cls(sigma=0.1)

    @property
    def parameter(self) -> float:
        return self.sigma * self.sigma

    @property
    def sub_gaussian_variance(self) -> float:
        return self.parameter

    @property
    def mirror(self) -> float:
        return 0.0

    @property
    def record(self) -> FamilyRecord:
        v = self.parameter
        unused = [0] * len(Formulas._fields)
        return FamilyRecord(True, v, self.domain.low, self.domain.high, v, *unused)

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.normal(mean, self.sigma, size)

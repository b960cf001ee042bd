"""Gaussian rewards, of a standard deviation that is known or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families.family import Family
from armature.families.record import Formulas, Interval
from armature.families.special_functions import SCALES, log_sum, log_weight
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, SMALLEST, checked_scales, largest_of
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Source, Stream, next_unit, normal_quantile

# Used in place where `FamilyRecord.gaussian` says so; the formulas by address are the same.


@inlined
def gaussian_divergence(variance: float, x: float, y: float) -> float:
    """(x - y)^2 / (2 variance)."""
    return (x - y) * (x - y) / (2.0 * variance)


@inlined
def gaussian_radius(variance: float, level: float) -> float:
    """The distance from x at which the divergence reaches `level`."""
    return math.sqrt(2.0 * variance * level)


@kernel
def draw_gaussian(p: float, mean: float, out: Floats, source: Source) -> None:
    """By inversion."""
    sigma = math.sqrt(p)
    for i in range(out.size):
        out[i] = mean + sigma * normal_quantile(out[i])


@kernel
def posterior_gaussian(p: float, pulls: float, total: float, stream: Stream) -> float:
    """A normal number: the prior is flat."""
    return total / pulls + math.sqrt(p / pulls) * normal_quantile(next_unit(stream))


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


@kernel
def learning_cost(p: float, n: float, total: float) -> float:
    """Prior: the mean over sigma is normal about 0, of a standard deviation from 1 to 4^15."""
    if n <= 0.0:
        return 0.0
    z = total / n / math.sqrt(p)
    found = -math.inf
    square = 1.0
    for i in range(SCALES):  # found: ln of the sum before i; square = 16^i
        cost = 0.5 * math.log1p(n * square) + 0.5 * z * (z / (square + 1.0 / n))
        found = log_sum(found, log_weight(i) - cost)
        square *= 16.0
    return -found


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal rewards: any mean, standard deviation `sigma`.

    Measurements with noise; d(x, y) = (x - y)^2 / (2 sigma^2). Where the noise differs from arm to
    arm, a pull of arm k counts for 1 / sigma_k^2 in all that structures are asked.

    Parameters
    ----------
    sigma : float, sequence of float, or None
        The standard deviation of a reward: one for all arms or one for each, from 1e-30 to 1e30.
        One that is too large explores too much, one that is too small too little. None: it is not
        known, and one for all arms is estimated as rewards come (`estimate_variance`). In files,
        which have no word for None, that is "unknown".
    known : bool
        False keeps sigma, one number for all arms, from policies: rewards are drawn with it, bounds
        know it, policies have to estimate it. That is for simulations; a live bandit has None.

    Guarantee
    ---------
    The paper's theorems cover it where sigma is known. Divergences and their inverses are compared
    in tests with arithmetic in sixty digits, rewards with SciPy's distribution. Every policy and
    every structure takes it. What an unknown sigma costs was measured: `docs/rewards.md`.

    >>> Gaussian(sigma=2.0).divergence(0.0, 2.0)
    0.5
    >>> Gaussian().upper(1.0, 2.0)
    3.0
    >>> Gaussian(sigma=[1.0, 2.0]).divergence(0.0, 2.0)
    array([2. , 0.5])

    Limits
    ------
    An unknown sigma is one number for all arms. The theorems are for a known sigma.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    """

    sigma: float | Sequence[float] | None = 1.0
    known: bool = True

    domain: ClassVar[Interval] = Interval(-math.inf, math.inf)
    support: ClassVar[Interval] = Interval(-math.inf, math.inf)
    gaussian: ClassVar[bool] = True
    arm_field: ClassVar[str] = "sigma"
    formulas: ClassVar[Formulas] = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw_gaussian, posterior_gaussian
    )
    learning_cost: ClassVar = learning_cost

    def __post_init__(self) -> None:
        if not isinstance(self.known, (bool, np.bool_)):
            raise ArmatureError(f"known must be True or False; got {self.known!r}.")
        object.__setattr__(self, "known", bool(self.known))
        if isinstance(self.sigma, str) and self.sigma == "unknown":  # as files have it
            object.__setattr__(self, "sigma", None)
        if self.sigma is not None:
            object.__setattr__(self, "sigma", checked_scales(self.sigma, "sigma"))
        if not self.known and not isinstance(self.sigma, float):
            raise ArmatureError(
                f"known=False is for one sigma, which rewards are drawn with and policies are not "
                f"told; got sigma={self.sigma!r}."
            )

    def __repr__(self) -> str:
        sigma = list(self.sigma) if isinstance(self.sigma, tuple) else self.sigma
        return f"{type(self).__name__}(sigma={sigma}{'' if self.known else ', known=False'})"

    @classmethod
    def examples(cls) -> tuple[Gaussian, ...]:
        return (
            cls(),
            cls(sigma=0.1),
            cls(sigma=[0.5, 1.0, 4.0]),
            cls(sigma=None),
            cls(sigma=2.0, known=False),
        )

    @property
    def estimated(self) -> bool:
        return self.sigma is None

    @property
    def as_told(self) -> Gaussian:
        return self if self.known else Gaussian(sigma=None)

    def estimate(self, variance: float) -> Gaussian:
        if not self.as_told.estimated:
            return self
        return Gaussian(sigma=min(max(math.sqrt(variance), SMALLEST), LARGEST))

    def check_known(self) -> None:
        if self.sigma is None:
            raise ArmatureError(
                "Gaussian(sigma=None) has no divergence before sigma is estimated: give "
                "Gaussian(sigma=...), or Gaussian(sigma=..., known=False) for a simulation in "
                "which policies are not told."
            )

    @property
    def parameter(self) -> float:
        """The variance; 1 where it is not known, until there is an estimate."""
        if self.sigma is None:
            return 1.0
        largest = largest_of(self.sigma)
        return largest * largest

    @property
    def sub_gaussian_variance(self) -> float:
        return self.parameter

    @property
    def mirror(self) -> float:
        return 0.0

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        self.check_known()
        return rng.normal(mean, math.sqrt(self.parameter), size)

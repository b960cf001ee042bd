"""Gaussian rewards of known standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import inlined
from armature.families._family import Family, FamilyRecord, Floats, Interval
from armature.limits import checked_scale


@inlined
def gaussian_divergence(variance: float, x: float, y: float) -> float:
    """(x - y)^2 / (2 variance)."""
    return (x - y) * (x - y) / (2.0 * variance)


@inlined
def gaussian_radius(variance: float, level: float) -> float:
    """How far from x the divergence reaches `level`."""
    return math.sqrt(2.0 * variance * level)


@dataclass(frozen=True)
class Gaussian(Family):
    """Normal rewards: any mean, standard deviation `sigma`.

    >>> Gaussian(sigma=2.0).divergence(0.0, 2.0)
    0.5
    >>> Gaussian().upper(1.0, 2.0)
    3.0
    """

    sigma: float = 1.0

    code: ClassVar[int] = 0
    domain: ClassVar[Interval] = Interval(-math.inf, math.inf)
    support: ClassVar[Interval] = Interval(-math.inf, math.inf)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checked_scale(self.sigma, "sigma"))

    @classmethod
    def examples(cls) -> tuple[Gaussian, ...]:
        return cls(), cls(sigma=0.1)

    @property
    def record(self) -> FamilyRecord:
        return FamilyRecord(self.code, self.sigma * self.sigma)

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.normal(mean, self.sigma, size)

"""Rewards that count: 0, 1, 2, ..."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.families._excess import excess, excess_inverse_above, excess_inverse_below
from armature.families._family import Family, Floats, Interval


@kernel
def poisson_divergence(x: float, y: float) -> float:
    """y - x + x ln(x / y)."""
    if x == y:
        return 0.0
    if y <= 0.0:
        return math.inf
    if x <= 0.0:
        return y
    return excess(x, y, y - x)


@kernel
def poisson_upper(x: float, level: float) -> float:
    """The largest y with divergence(x, y) <= level."""
    if x <= 0.0:
        return level
    return x + x * excess_inverse_above(level / x)


@kernel
def poisson_lower(x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level; 0 only for x = 0 or an infinite level."""
    if x <= 0.0 or level == math.inf:
        return 0.0
    return max(x * math.exp(excess_inverse_below(level / x)), 5e-324)


@dataclass(frozen=True)
class Poisson(Family):
    """Counts with the given mean (0 included: then every reward is 0).

    >>> Poisson().divergence(0.0, 2.0), Poisson().divergence(2.0, 0.0)
    (2.0, inf)
    """

    code: ClassVar[int] = 2
    domain: ClassVar[Interval] = Interval(0.0, math.inf)
    support: ClassVar[Interval] = Interval(0.0, math.inf, integer=True)

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.poisson(mean, size)

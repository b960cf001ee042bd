"""Positive rewards with an exponential tail, such as waiting times."""

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
def exponential_divergence(x: float, y: float) -> float:
    """x / y - 1 - ln(x / y)."""
    return excess(y, x, x - y) / y


@kernel
def exponential_upper(x: float, level: float) -> float:
    """The largest y with divergence(x, y) <= level (infinite where it exceeds every double)."""
    z = -excess_inverse_below(level)
    return x * math.exp(z) if z < 709.0 else math.inf


@kernel
def exponential_lower(x: float, level: float) -> float:
    """The smallest y with divergence(x, y) <= level."""
    return x / (1.0 + excess_inverse_above(level))


@dataclass(frozen=True)
class Exponential(Family):
    """Exponentially distributed rewards with the given positive mean.

    y -> d(x, y) is not convex. That does no harm where the structure only orders arms or makes
    them equal; structures that add up means (linear, Lipschitz, ...) refuse this family.

    >>> round(Exponential().divergence(1.0, 2.0), 6)
    0.193147
    """

    code: ClassVar[int] = 3
    domain: ClassVar[Interval] = Interval(0.0, math.inf, closed=False)
    support: ClassVar[Interval] = Interval(0.0, math.inf)
    convex: ClassVar[bool] = False

    def _draw(
        self, mean: Floats, rng: np.random.Generator, size: int | tuple[int, ...] | None
    ) -> npt.ArrayLike:
        return rng.exponential(mean, size)

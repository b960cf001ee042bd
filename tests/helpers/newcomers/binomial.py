"""A reward family from outside of the package: how many of a few trials succeed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import armature as am
from armature.authoring import Floats, Formulas, Source, Stream, excess, kernel, next_gamma


@kernel
def divergence(n: float, x: float, y: float) -> float:
    """n times the divergence of one trial."""
    if x == y:
        return 0.0
    if y <= 0.0 or y >= n:
        return math.inf
    if x <= 0.0:
        return -n * math.log1p(-y / n)
    if x >= n:
        return -n * math.log(y / n)
    return excess(x, y, y - x) + excess(n - x, n - y, x - y)


@kernel
def edge(n: float, x: float, level: float, end: float) -> float:
    """The y between x and an end of the domain at which the divergence reaches a level."""
    if level == 0.0 or x == end:
        return x
    if level == math.inf:
        return end
    near = x
    far = end
    for _ in range(200):
        y = 0.5 * (near + far)
        if y == near or y == far:
            break
        if divergence(n, x, y) <= level:
            near = y
        else:
            far = y
    return near


@kernel
def upper(n: float, x: float, level: float) -> float:
    return edge(n, x, level, n)


@kernel
def lower(n: float, x: float, level: float) -> float:
    return edge(n, x, level, 0.0)


@kernel
def slope(n: float, x: float, y: float) -> float:
    if y == 0.0 or y == n:
        return 1.0 - 2.0 * y / n
    return n * (y - x) / (y * (n - y))


@kernel
def curvature(n: float, x: float, y: float) -> float:
    left = x / (y * y) if x > 0.0 and y > 0.0 else 0.0
    return left + ((n - x) / ((n - y) * (n - y)) if x < n and y < n else 0.0)


@kernel
def variance(n: float, x: float) -> float:
    return x * (1.0 - x / n)


@kernel
def draw(n: float, mean: float, out: Floats, source: Source) -> None:
    """By inversion."""
    p = mean / n
    for i in range(out.size):
        u = out[i]
        k = 0.0
        probability = (1.0 - p) ** n
        total = probability
        while u >= total and k < n:
            if p == 1.0:
                k = n
                break
            k += 1.0
            probability *= (n - k + 1.0) / k * p / (1.0 - p)
            total += probability
        out[i] = k


@kernel
def posterior(n: float, pulls: float, total: float, stream: Stream) -> float:
    """A beta number: the prior is flat."""
    a = next_gamma(stream, 1.0 + total)
    b = next_gamma(stream, 1.0 + n * pulls - total)
    return n * a / (a + b)


@dataclass(frozen=True)
class Binomial(am.Family):
    """The number of successes in `trials` independent trials, by its mean."""

    trials: int = 3

    formulas: ClassVar = Formulas(
        divergence, upper, lower, slope, curvature, variance, draw, posterior
    )

    @property
    def domain(self) -> am.Interval:
        return am.Interval(0.0, float(self.trials))

    @property
    def support(self) -> am.Interval:
        return am.Interval(0.0, float(self.trials), integer=True)

    @property
    def parameter(self) -> float:
        return float(self.trials)

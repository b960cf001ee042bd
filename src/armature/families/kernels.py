"""The families' formulas, selected by a `FamilyRecord`: one kernel serves all families.

A branch on the code costs nothing that can be measured, and keeps compile time independent of
the number of families.
"""

from __future__ import annotations

from armature._compile import inlined, kernel
from armature.families._family import FamilyRecord, Floats
from armature.families.bernoulli import (
    Bernoulli,
    bernoulli_divergence,
    bernoulli_lower,
    bernoulli_upper,
)
from armature.families.exponential import (
    exponential_divergence,
    exponential_lower,
    exponential_upper,
)
from armature.families.gaussian import Gaussian, gaussian_divergence, gaussian_radius
from armature.families.poisson import (
    Poisson,
    poisson_divergence,
    poisson_lower,
    poisson_upper,
)

GAUSSIAN = Gaussian.code
BERNOULLI = Bernoulli.code
POISSON = Poisson.code


@kernel
def other_divergence(code: int, x: float, y: float) -> float:
    """d(x, y) of the families but the Gaussian."""
    if code == BERNOULLI:
        return bernoulli_divergence(x, y)
    if code == POISSON:
        return poisson_divergence(x, y)
    return exponential_divergence(x, y)


@inlined
def divergence(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y)."""
    if family.code == GAUSSIAN:
        return gaussian_divergence(family.variance, x, y)
    return other_divergence(family.code, x, y)


@inlined
def weighted_divergence(family: FamilyRecord, w: float, x: float, y: float) -> float:
    """w d(x, y), where no weight means no cost, even at an infinite divergence."""
    if w == 0.0:
        return 0.0
    return w * divergence(family, x, y)


@kernel
def total_divergence(family: FamilyRecord, w: Floats, mu: Floats, lam: Floats) -> float:
    """sum_i w_i d(mu_i, lam_i): the objective of every oracle."""
    total = 0.0
    for i in range(mu.size):
        total += weighted_divergence(family, w[i], mu[i], lam[i])
    return total


@kernel
def slope(family: FamilyRecord, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if family.code == GAUSSIAN:
        return (y - x) / family.variance
    if family.code == BERNOULLI:
        if y == 0.0 or y == 1.0:
            return 1.0 - 2.0 * y
        return (y - x) / (y * (1.0 - y))
    if y == 0.0:
        return 1.0
    return (y - x) / y


@kernel
def curvature(family: FamilyRecord, x: float, y: float) -> float:
    """The second derivative of y -> d(x, y) for the convex families, likewise."""
    if family.code == GAUSSIAN:
        return 1.0 / family.variance
    first = x / (y * y) if x > 0.0 and y > 0.0 else 0.0
    if family.code == BERNOULLI:
        return first + ((1.0 - x) / ((1.0 - y) * (1.0 - y)) if x < 1.0 and y < 1.0 else 0.0)
    return first


@kernel
def variance(family: FamilyRecord, x: float) -> float:
    """The variance of rewards of mean x."""
    if family.code == GAUSSIAN:
        return family.variance
    if family.code == BERNOULLI:
        return x * (1.0 - x)
    return x if family.code == POISSON else x * x


@kernel
def other_upper(code: int, x: float, level: float) -> float:
    """The upper end for the families but the Gaussian."""
    if code == BERNOULLI:
        return bernoulli_upper(x, level)
    if code == POISSON:
        return poisson_upper(x, level)
    return exponential_upper(x, level)


@kernel
def other_lower(code: int, x: float, level: float) -> float:
    """The lower end for the families but the Gaussian."""
    if code == BERNOULLI:
        return bernoulli_lower(x, level)
    if code == POISSON:
        return poisson_lower(x, level)
    return exponential_lower(x, level)


@inlined
def upper(family: FamilyRecord, x: float, level: float) -> float:
    """sup { y : d(x, y) <= level }."""
    if family.code == GAUSSIAN:
        return x + gaussian_radius(family.variance, level)
    return other_upper(family.code, x, level)


@inlined
def lower(family: FamilyRecord, x: float, level: float) -> float:
    """inf { y : d(x, y) <= level }."""
    if family.code == GAUSSIAN:
        return x - gaussian_radius(family.variance, level)
    return other_lower(family.code, x, level)


@kernel
def divergences(family: FamilyRecord, x: Floats, y: Floats, out: Floats) -> None:
    """`divergence`, element by element."""
    for i in range(x.size):
        out[i] = divergence(family, x[i], y[i])


@kernel
def uppers(family: FamilyRecord, x: Floats, level: Floats, out: Floats) -> None:
    """`upper`, element by element."""
    for i in range(x.size):
        out[i] = upper(family, x[i], level[i])


@kernel
def lowers(family: FamilyRecord, x: Floats, level: Floats, out: Floats) -> None:
    """`lower`, element by element."""
    for i in range(x.size):
        out[i] = lower(family, x[i], level[i])

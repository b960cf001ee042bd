"""The families' formulas for compiled code: one kernel serves all families.

Gaussian formulas stand here in place; those of all other families are called by address.
"""

from __future__ import annotations

from armature._compile import inlined, kernel
from armature.arrays import Floats
from armature.families._family import FamilyRecord
from armature.families._formulas import draw_at, of_one_mean, of_two_means, posterior_at
from armature.families.gaussian import (
    draw_gaussian,
    gaussian_divergence,
    gaussian_radius,
    posterior_gaussian,
)
from armature.streams import Source, Stream


@inlined
def divergence(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y)."""
    if family.gaussian:
        return gaussian_divergence(family.parameter, x, y)
    return of_two_means(family.divergence, family.parameter, x, y)


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


@inlined
def upper(family: FamilyRecord, x: float, level: float) -> float:
    """sup { y : d(x, y) <= level }."""
    if family.gaussian:
        return x + gaussian_radius(family.parameter, level)
    return of_two_means(family.upper, family.parameter, x, level)


@inlined
def lower(family: FamilyRecord, x: float, level: float) -> float:
    """inf { y : d(x, y) <= level }."""
    if family.gaussian:
        return x - gaussian_radius(family.parameter, level)
    return of_two_means(family.lower, family.parameter, x, level)


@inlined
def slope(family: FamilyRecord, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if family.gaussian:
        return (y - x) / family.parameter
    return of_two_means(family.slope, family.parameter, x, y)


@inlined
def curvature(family: FamilyRecord, x: float, y: float) -> float:
    """The second derivative of y -> d(x, y), likewise."""
    if family.gaussian:
        return 1.0 / family.parameter
    return of_two_means(family.curvature, family.parameter, x, y)


@inlined
def variance(family: FamilyRecord, x: float) -> float:
    """The variance of rewards of mean x."""
    if family.gaussian:
        return family.parameter
    return of_one_mean(family.variance, family.parameter, x)


@kernel
def draw(family: FamilyRecord, mean: float, out: Floats, source: Source) -> None:
    """Turn uniform numbers into rewards of a mean; `source` has more of them."""
    if family.gaussian:
        draw_gaussian(family.parameter, mean, out, source)
    else:
        draw_at(family.draw)(family.parameter, mean, out, source)


@kernel
def draw_means(
    family: FamilyRecord, pulls: Floats, sums: Floats, means: Floats, stream: Stream, out: Floats
) -> None:
    """One posterior sample of each arm's mean; every arm has been pulled."""
    if family.gaussian:
        posterior_gaussian(family.parameter, pulls, sums, means, stream, out)
    else:
        posterior_at(family.posterior)(family.parameter, pulls, sums, means, stream, out)


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

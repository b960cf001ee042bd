"""The families' formulas for compiled code: one kernel serves all families.

Gaussian formulas stand here in place; those of all other families are called by address.

Most kernels are about one arm: where the arms have parameters of their own, they are given
`of_arm(family, k)`. Those with a vector of means, such as `total_divergence`, see to it themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armature.errors import ArmatureError
from armature.families.gaussian import draw_gaussian, gaussian_divergence, gaussian_radius
from armature.families.record import (
    FamilyRecord,
    draw_at,
    of_one_mean,
    of_two_means,
    posterior_at,
    signatures,
)
from armature.kernels.addresses import Address, Signature, address_of
from armature.kernels.arrays import Floats
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Source, Stream, fill_normals

if TYPE_CHECKING:
    from armature.families.family import Family


@inlined
def of_arm(family: FamilyRecord, k: int) -> FamilyRecord:
    """The family of arm k alone: the same one, unless the arms have parameters of their own."""
    if family.alike:
        return family
    arms = family.arms
    return FamilyRecord(
        family.gaussian,
        True,
        family.estimated,
        arms[k, 0],
        arms[k, 1],
        arms[k, 2],
        arms[k, 3],
        family.shift,
        arms,
        family.divergence,
        family.upper,
        family.lower,
        family.slope,
        family.curvature,
        family.variance,
        family.draw,
        family.posterior,
    )


@inlined
def inside(family: FamilyRecord, k: int, mean: float) -> float:
    """The mean of some rewards of arm k, in its domain even after rounding."""
    if family.alike:
        return min(max(mean, family.low), family.high)
    return float(min(max(mean, family.arms[k, 1]), family.arms[k, 2]))


@inlined
def unit_gaussian(family: FamilyRecord) -> FamilyRecord:
    """Gaussian rewards of variance 1, for as many arms."""
    return FamilyRecord(
        True, True, False, 1.0, -math.inf, math.inf, 1.0, 0.0, family.arms, 0, 0, 0, 0, 0, 0, 0, 0
    )  # fmt: skip


@inlined
def with_variance(family: FamilyRecord, variance: float) -> FamilyRecord:
    """Gaussian rewards of another variance, for as many arms."""
    return FamilyRecord(
        True, True, True, variance, -math.inf, math.inf, variance, 0.0, family.arms,
        0, 0, 0, 0, 0, 0, 0, 0,
    )  # fmt: skip


@kernel
def divide_by_variances(family: FamilyRecord, w: Floats, out: Floats) -> None:
    """out = what weights of Gaussian arms come to in units of variance 1."""
    for k in range(w.size):
        out[k] = w[k] / of_arm(family, k).parameter


@kernel
def write_ends(family: FamilyRecord, low: Floats, high: Floats) -> None:
    """low, high = the ends of each arm's domain."""
    for k in range(low.size):  # set for the arms before k
        own = of_arm(family, k)
        low[k] = own.low
        high[k] = own.high


@inlined
def divergence(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y)."""
    if family.gaussian:
        return gaussian_divergence(family.parameter, x, y)
    return of_two_means(family.divergence, family.parameter, x - family.shift, y - family.shift)


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
    for i in range(mu.size):  # total: over the arms before i
        total += weighted_divergence(of_arm(family, i), w[i], mu[i], lam[i])
    return total


@inlined
def below_end(y: float, x: float, high: float, level: float) -> float:
    """y, a bound that rounding has put past x or onto an end that it does not reach, mended."""
    if level == 0.0:
        return x
    if y >= high and x < high and level < math.inf:
        return float(np.nextafter(high, -math.inf))
    return max(y, x)


@inlined
def above_end(y: float, x: float, low: float, level: float) -> float:
    """The same from below."""
    if level == 0.0:
        return x
    if y <= low and x > low and level < math.inf:
        return float(np.nextafter(low, math.inf))
    return min(y, x)


@inlined
def upper(family: FamilyRecord, x: float, level: float) -> float:
    """sup { y : d(x, y) <= level }."""
    if family.gaussian:
        return x + gaussian_radius(family.parameter, level)
    y = of_two_means(family.upper, family.parameter, x - family.shift, level)
    if family.shift == 0.0:
        return y
    return below_end(family.shift + y, x, family.high, level)


@inlined
def lower(family: FamilyRecord, x: float, level: float) -> float:
    """inf { y : d(x, y) <= level }."""
    if family.gaussian:
        return x - gaussian_radius(family.parameter, level)
    y = of_two_means(family.lower, family.parameter, x - family.shift, level)
    if family.shift == 0.0:
        return y
    return above_end(family.shift + y, x, family.low, level)


@inlined
def slope(family: FamilyRecord, x: float, y: float) -> float:
    """The derivative of y -> d(x, y), for y inside the domain or y = x."""
    if family.gaussian:
        return (y - x) / family.parameter
    return of_two_means(family.slope, family.parameter, x - family.shift, y - family.shift)


@inlined
def curvature(family: FamilyRecord, x: float, y: float) -> float:
    """The second derivative of y -> d(x, y), likewise."""
    if family.gaussian:
        return 1.0 / family.parameter
    return of_two_means(family.curvature, family.parameter, x - family.shift, y - family.shift)


@inlined
def variance(family: FamilyRecord, x: float) -> float:
    """The variance of rewards of mean x."""
    if family.gaussian:
        return family.parameter
    return of_one_mean(family.variance, family.parameter, x - family.shift)


@kernel
def draw(family: FamilyRecord, mean: float, out: Floats, source: Source) -> None:
    """Turn uniform numbers into rewards of a mean; `source` has more of them."""
    if family.gaussian:
        draw_gaussian(family.parameter, mean, out, source)
        return
    draw_at(family.draw)(family.parameter, mean - family.shift, out, source)
    if family.shift != 0.0:
        for i in range(out.size):
            out[i] = min(max(out[i] + family.shift, family.low), family.high)


@kernel
def draw_means(
    family: FamilyRecord, pulls: Floats, sums: Floats, means: Floats, stream: Stream, out: Floats
) -> None:
    """One posterior sample of each arm's mean; every arm has been pulled."""
    if family.gaussian:
        fill_normals(stream, out)
        for k in range(out.size):  # out: means before k, normals from k on
            sigma = math.sqrt(of_arm(family, k).parameter)
            out[k] = means[k] + sigma * out[k] / math.sqrt(pulls[k])
        return
    shift = family.shift
    posterior = posterior_at(family.posterior)
    for k in range(out.size):
        p = of_arm(family, k).parameter
        out[k] = shift + posterior(p, pulls[k], sums[k] - pulls[k] * shift, stream)


@kernel
def divergences(family: FamilyRecord, x: Floats, y: Floats, out: Floats) -> None:
    """`divergence`, element by element; the arms' families in turns where they differ."""
    K = max(family.arms.shape[0], 1)
    for i in range(x.size):
        out[i] = divergence(of_arm(family, i % K), x[i], y[i])


@kernel
def uppers(family: FamilyRecord, x: Floats, level: Floats, out: Floats) -> None:
    """`upper`, likewise."""
    K = max(family.arms.shape[0], 1)
    for i in range(x.size):
        out[i] = upper(of_arm(family, i % K), x[i], level[i])


@kernel
def lowers(family: FamilyRecord, x: Floats, level: Floats, out: Floats) -> None:
    """`lower`, likewise."""
    K = max(family.arms.shape[0], 1)
    for i in range(x.size):
        out[i] = lower(of_arm(family, i % K), x[i], level[i])


def learning_address(family: Family) -> Address:
    """The number of the family's learning cost; refused where it has none."""
    cost = type(family).learning_cost
    if cost is None or not family.has_evidence:
        raise ArmatureError(no_evidence(family))
    return address_of(cost, Signature(signatures, "divergence"))


def no_evidence(family: Family) -> str:
    """The error for a family without a learning cost."""
    if family.as_told.estimated:
        return (
            "there is no evidence for or against a structure while sigma is not known: give "
            "Gaussian(sigma=...)."
        )
    return (
        f"there is no evidence for or against a structure with rewards of {family}: it needs a "
        "family that declares a `learning_cost`, all of whose parameters are known."
    )


@kernel
def total_learning_cost(
    address: Address, family: FamilyRecord, pulls: Floats, sums: Floats
) -> float:
    """The cost of not knowing the arms' means: the sum of the arms' learning costs."""
    total = 0.0
    for k in range(pulls.size):  # total: over the arms before k
        own = of_arm(family, k)
        n = pulls[k]
        total += of_two_means(address, own.parameter, n, sums[k] - n * own.shift)
    return total


SMALLEST = 1e-60  # of the variances that are supported
LARGEST = 1e60
ROUNDING = 1e-9  # a standard deviation, relative to the means, that can't be told from rounding


@kernel
def spread_of_means(pulls: Floats, means: Floats) -> float:
    """The variance of the means of the arms that have been pulled; of one alone, its square."""
    n = 0
    center = 0.0
    for k in range(pulls.size):  # center: of the n means before k
        if pulls[k] > 0.0:
            n += 1
            center += (means[k] - center) / n
    if n == 1:
        return center * center
    total = 0.0
    for k in range(pulls.size):  # total: over the arms before k
        if pulls[k] > 0.0:
            total += (means[k] - center) * (means[k] - center)
    return total / max(n - 1, 1)


@kernel
def inflation(freedom: float, rounds: float) -> float:
    """(exp(a) - 1) / a at a = 2 ln(1 + rounds) / freedom: by how much to enlarge a variance.

    With a variance estimated from so many degrees of freedom, the likelihood ratio of a deviation
    that costs c is not c but freedom / 2 ln(1 + 2 c / freedom). Where policies ask whether costs
    exceed ln(1 + rounds), this makes up for it exactly.
    """
    a = 2.0 * math.log(1.0 + rounds) / freedom
    return math.expm1(a) / a if a > 0.0 else 1.0


@kernel
def estimate_variance(pulls: Floats, means: Floats, squares: Floats) -> float:
    """One variance for all arms, from the squares of rewards about the arms' own means.

    With n rewards of K arms, these squares have n - K degrees of freedom. While they are few, the
    mean of an arm counts as one more reward of noise, as far from the others' as it is: so two
    equal rewards do not look like no noise. And the estimate is enlarged (`inflation`) by what few
    degrees of freedom are worth: it is an upper estimate, which comes down to the variance.

    Rewards in another unit give the estimate in that unit. It is never 0: where all rewards are
    equal, it is what rounding could hide; where all are 0, it is 1, and no arm differs from any.
    """
    freedom = 1.0
    rounds = 0.0
    total = spread_of_means(pulls, means)
    size = 0.0
    for k in range(pulls.size):  # all sums: over the arms before k
        if pulls[k] > 0.0:
            freedom += pulls[k] - 1.0
            rounds += pulls[k]
            total += max(squares[k], 0.0)
            size = max(size, abs(means[k]))
    least = ROUNDING * size * (ROUNDING * size)
    variance = max(total / freedom * inflation(freedom, rounds), least)
    return min(max(variance, SMALLEST), LARGEST) if variance > 0.0 else 1.0

"""The variance of rewards where it is not known."""

from __future__ import annotations

import math

from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel

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

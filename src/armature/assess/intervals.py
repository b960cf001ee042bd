"""Intervals for the mean of an arm.

Exact for the library's families at a number of rewards that was fixed in advance: normal or, where
sigma is estimated, Student's; Clopper and Pearson (1934) for Bernoulli; Garwood (1936) for Poisson;
from the gamma distribution of the sum for exponential rewards. For all others Chernoff's bound,
n d(mean, x) <= ln(2 / delta), which holds for every one-parameter exponential family and for
rewards of which only the range is known.

Where a bandit chose the arms, numbers of rewards were not fixed in advance. The wider intervals of
`at_any_time` hold then, too: all x with n d(mean, x) <= ln(1 / delta) + learning cost, by Ville's
inequality for the ratio of the marginal likelihood to the likelihood at x
(`armature.bounds.evidence`).
"""

from __future__ import annotations

import math

import numpy as np

from armature.assess.noise import Informed
from armature.families import Bernoulli, Exponential, Family, Gaussian, Poisson
from armature.families.kernels import learning_address, total_learning_cost
from armature.kernels.arrays import Floats

Bounds = tuple[Floats, Floats]


def intervals(informed: Informed, pulls: Floats, sums: Floats, delta: float) -> Bounds:
    """Low and high ends of the mean of each arm; the whole domain for one without rewards."""
    K = pulls.size
    low, high = np.empty(K), np.empty(K)
    for k in range(K):
        own = informed.family.for_arm(k)
        low[k], high[k] = own.domain.low, own.domain.high
        if pulls[k] > 0.0:
            low[k], high[k] = interval(
                own, float(pulls[k]), float(sums[k]), delta, informed.freedom
            )
    return low, high


def interval(
    family: Family, n: float, total: float, delta: float, freedom: float = math.inf
) -> tuple[float, float]:
    """The interval of one arm's mean, from n rewards of that total.

    >>> low, high = interval(Bernoulli(), 10.0, 0.0, 0.05)
    >>> low, round(high, 6) == round(1.0 - 0.025 ** (1 / 10), 6)
    (0.0, True)
    """
    from scipy import stats

    tail = 0.5 * delta
    if isinstance(family, Gaussian):
        quantile = stats.norm.isf(tail) if freedom == math.inf else stats.t.isf(tail, freedom)
        reach = float(quantile) * math.sqrt(family.parameter / n)
        return total / n - reach, total / n + reach
    if isinstance(family, Bernoulli):
        unit = family.parameter
        x = min(max(round(total / unit), 0), int(n))
        low = 0.0 if x == 0 else unit * float(stats.beta.ppf(tail, x, n - x + 1))
        high = unit if x == n else unit * float(stats.beta.isf(tail, x + 1, n - x))
        return low, high
    if isinstance(family, Poisson):
        x = round(total)
        low = 0.0 if x == 0 else float(stats.gamma.ppf(tail, x)) / n
        return low, float(stats.gamma.isf(tail, x + 1)) / n
    if isinstance(family, Exponential):
        return total / float(stats.gamma.isf(tail, n)), total / float(stats.gamma.ppf(tail, n))
    mean = min(max(total / n, family.domain.low), family.domain.high)
    level = math.log(2.0 / delta) / n
    return family.lower(mean, level), family.upper(mean, level)


def at_any_time(family: Family, pulls: Floats, sums: Floats, delta: float) -> Bounds | None:
    """Intervals that hold at any time and under any way of choosing arms; None: there are none."""
    if not family.has_evidence:
        return None
    address = learning_address(family)
    K = pulls.size
    low, high = np.empty(K), np.empty(K)
    for k in range(K):
        own = family.for_arm(k)
        low[k], high[k] = own.domain.low, own.domain.high
        n = float(pulls[k])
        if not n > 0.0:
            continue
        mean = min(max(float(sums[k]) / n, own.domain.low), own.domain.high)
        if mean not in own.domain:  # at an open end
            continue
        cost = total_learning_cost(address, own.record_for(1), pulls[k : k + 1], sums[k : k + 1])
        level = (math.log(1.0 / delta) + cost) / n
        low[k], high[k] = own.lower(mean, level), own.upper(mean, level)
    return low, high
